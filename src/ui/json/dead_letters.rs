//! The member that `dead-letters` adds to the document.

use serde_json::{Value, json};

use crate::model::dead_letter::{DeadLetterCause, DeliveryError, Usefulness, time_text};
use crate::model::signal::Signal;
use crate::recipe::dead_letters::{DeadLetterReport, ReportedLetter};

/// The dead letters of a hub.
pub(super) fn to_json(report: &DeadLetterReport) -> Value {
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
        "messages": letters.iter().map(letter_json).collect::<Vec<_>>(),
    })
}

fn letter_json(reported: &ReportedLetter) -> Value {
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
    })
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
