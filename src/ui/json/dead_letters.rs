//! The member that `dead-letters` adds to the document.

use serde_json::{Value, json};

use crate::dead_letters::report::{DeadLetterReport, ReportedLetter};
use crate::dead_letters::treat::{LetterOutcome, Treated, Treatment};
use crate::dead_letters::{DeadLetterCause, DeliveryError, Usefulness};
use crate::model::signal::Signal;
use crate::model::time::time_text;

/// The dead letters of a hub, and what became of them if they were treated.
pub(super) fn to_json(report: &DeadLetterReport, treated: Option<&Treated>) -> Value {
    let DeadLetterReport {
        queue,
        about,
        letters,
        warnings: _, // among the warnings of the hub
    } = report;
    json!({
        "queue_name": queue.as_str(),
        "seen": letters.len(),
        "about": about,
        "action": treated.map(|treated| match treated.treatment {
            Treatment::Redrive => "redrive",
            Treatment::Purge => "purge",
        }),
        "messages": letters.iter().map(|letter| letter_json(letter, treated)).collect::<Vec<_>>(),
    })
}

fn letter_json(reported: &ReportedLetter, treated: Option<&Treated>) -> Value {
    let ReportedLetter { letter, event, retry } = reported;
    json!({
        "message_id": letter.id,
        "sent": time_text(letter.sent),
        "receives": letter.receives,
        "cause": letter.cause.as_str(),
        "delivery_error": match &letter.cause {
            DeadLetterCause::NotDelivered(error) => delivery_error(error),
            DeadLetterCause::GivenUp | DeadLetterCause::Unknown => Value::Null,
        },
        "last_retry": retry.as_ref().map(|retry| json!({ "reason": retry.reason, "cluster": retry.cluster })),
        "event": event.as_ref().map(|event| {
            let (useful, until, reason) = match &event.usefulness {
                Usefulness::Until(end) => ("until", Some(time_text(*end)), None),
                Usefulness::Little(why) => ("little", None, Some(why)),
                Usefulness::Unknown(why) => ("unknown", None, Some(why)),
            };
            json!({
                "detail_type": event.detail_type,
                "signal": event.signal.map(Signal::slug),
                "instances": event.instances,
                "useful": useful,
                "useful_until": until,
                "useful_reason": reason,
            })
        }),
        "result": treated.map(|treated| result(reported, treated)),
    })
}

/// What became of a dead letter: one of four words, and the reason.
fn result(reported: &ReportedLetter, treated: &Treated) -> Value {
    let (status, reason) = match (treated.treatment, treated.letters.get(&reported.letter.id)) {
        (Treatment::Redrive, Some(LetterOutcome::Done)) => ("routed-and-deleted", None),
        (Treatment::Purge, Some(LetterOutcome::Done)) => ("deleted", None),
        (_, Some(LetterOutcome::Returned)) => ("failed", Some("the router returned it".to_owned())),
        (_, Some(LetterOutcome::NotRouted(fault))) => ("failed", Some(fault.to_string())),
        (Treatment::Redrive, Some(LetterOutcome::NotDeleted(fault))) => {
            ("failed", Some(format!("routed and not deleted: {fault}")))
        }
        (Treatment::Purge, Some(LetterOutcome::NotDeleted(fault))) => ("failed", Some(fault.to_string())),
        (_, Some(LetterOutcome::Left)) if treated.stopped || treated.fault.is_some() => {
            ("left", Some("not tried".to_owned()))
        }
        (_, Some(LetterOutcome::Left)) => ("left", Some("no longer found".to_owned())),
        (Treatment::Redrive, None) if reported.event.is_none() => ("left", Some("not an event".to_owned())),
        (_, None) => ("unknown", Some("the command was stopped during its calls".to_owned())),
    };
    json!({ "status": status, "reason": reason })
}

fn delivery_error(error: &DeliveryError) -> Value {
    let DeliveryError {
        code,
        message,
        rule,
        target,
        attempts,
        exhausted,
    } = error;
    json!({
        "code": code,
        "message": message,
        "rule_arn": rule,
        "target_arn": target,
        "retry_attempts": attempts,
        "exhausted_retry_condition": exhausted,
    })
}

#[cfg(test)]
mod tests;
