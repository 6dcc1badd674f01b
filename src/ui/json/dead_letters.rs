//! The member that `dead-letters` adds to the document.

use super::object::{objects, words};
use crate::dead_letters::report::{DeadLetterReport, ReportedLetter};
use crate::dead_letters::treat::{LetterOutcome, Treated, Treatment};
use crate::dead_letters::{DeadLetterCause, DeliveryError, LetterEvent, RetryLine, Usefulness};
use crate::model::signal::Signal;
use crate::model::time::time_text;

objects! {
    /// What lies in the dead-letter queue, as far as it was seen.
    DeadLettersObject<'a>(
        DeadLetterReport {
            queue, about, letters,
            warnings: _, // among the warnings of the hub
        } in &'a DeadLetterReport,
        treated in Option<&'a Treated>
    ) {
        queue_name: &'a str = queue.as_str(),
        /// How many messages were seen.
        seen: usize = letters.len(),
        /// How many messages there are, as SQS counts.
        about: u64 = *about,
        /// What was done with the messages; null if they were only shown.
        action: Option<Treatment> = treated.map(|treated| treated.treatment),
        messages: Vec<LetterObject<'a>> = letters.iter().map(|letter| LetterObject::of(letter, treated)).collect(),
    }

    /// A message of the dead-letter queue.
    LetterObject<'a>(reported in &'a ReportedLetter, treated in Option<&'a Treated>) {
        message_id: &'a str = &reported.letter.id,
        /// When SQS first took the message, in UTC.
        sent: String = time_text(reported.letter.sent),
        /// Receives from both queues.
        receives: u32 = reported.letter.receives,
        cause: Cause = Cause::of(&reported.letter.cause),
        /// What EventBridge recorded; empty strings for what it did not.
        delivery_error: Option<&'a DeliveryError> = match &reported.letter.cause {
            DeadLetterCause::NotDelivered(error) => Some(error),
            DeadLetterCause::GivenUp | DeadLetterCause::Unknown => None,
        },
        /// The last line of the router's log about the message, if it was found.
        last_retry: Option<RetryObject<'a>> = reported.retry.as_ref().map(RetryObject::of),
        /// What the message says; null if it is not an event.
        event: Option<EventObject<'a>> = reported.event.as_ref().map(EventObject::of),
        /// What became of the message; null if it was only shown.
        result: Option<ResultObject> = treated.map(|treated| result(reported, treated)),
    }

    /// A line of the router's log about a message that returned to its queue.
    RetryObject<'a>(RetryLine { id: _, reason, cluster } in &'a RetryLine) {
        reason: &'a str = reason,
        cluster: Option<&'a str> = cluster.as_deref(),
    }

    /// What a message says.
    EventObject<'a>(LetterEvent { detail_type, signal, instances, usefulness } in &'a LetterEvent) {
        detail_type: &'a str = detail_type,
        /// The kind of event; null if Karpenter does not act on it.
        #[cfg_attr(test, schemars(schema_with = "super::tests::signal"))]
        signal: Option<&'static str> = signal.map(Signal::slug),
        instances: &'a [String] = instances,
        useful: Useful = Useful::of(usefulness),
        /// Until when it is useful, in UTC.
        useful_until: Option<String> = match usefulness {
            Usefulness::Until(end) => Some(time_text(*end)),
            Usefulness::Little(_) | Usefulness::Unknown(_) => None,
        },
        /// Why it is hardly useful, or why that is unknown.
        useful_reason: Option<&'static str> = match usefulness {
            Usefulness::Until(_) => None,
            Usefulness::Little(why) | Usefulness::Unknown(why) => Some(why),
        },
    }

    /// What became of a message.
    ResultObject(outcome in Outcome, reason in Option<String>) {
        status: Outcome = outcome,
        /// Why it failed, is left or is unknown.
        reason: Option<String> = reason,
    }
}

words! {
    /// Why a message is in the dead-letter queue.
    Cause(&DeadLetterCause) {
        /// EventBridge could not deliver the event to the hub queue.
        NotDelivered = DeadLetterCause::NotDelivered(_),
        /// The hub queue gave up.
        GivenUp = DeadLetterCause::GivenUp,
        /// Neither is recorded.
        Unknown = DeadLetterCause::Unknown,
    }

    /// Whether an event is still useful to Karpenter.
    Useful(&Usefulness) {
        /// It is, until `useful_until`.
        Until = Usefulness::Until(_),
        /// Hardly, or no longer.
        Little = Usefulness::Little(_),
        /// That is unknown.
        Unknown = Usefulness::Unknown(_),
    }
}

/// What became of a message.
#[derive(serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum Outcome {
    RoutedAndDeleted,
    Deleted,
    /// It stays in the queue.
    Failed,
    /// It was not touched and stays in the queue.
    Left,
    /// The command was stopped during its calls.
    Unknown,
}

/// What became of a dead letter, and why.
fn result(reported: &ReportedLetter, treated: &Treated) -> ResultObject {
    let (outcome, reason) = match (treated.treatment, treated.letters.get(&reported.letter.id)) {
        (Treatment::Redrive, Some(LetterOutcome::Done)) => (Outcome::RoutedAndDeleted, None),
        (Treatment::Purge, Some(LetterOutcome::Done)) => (Outcome::Deleted, None),
        (_, Some(LetterOutcome::Returned)) => (Outcome::Failed, Some("the router returned it".to_owned())),
        (_, Some(LetterOutcome::NotRouted(fault))) | (Treatment::Purge, Some(LetterOutcome::NotDeleted(fault))) => {
            (Outcome::Failed, Some(fault.to_string()))
        }
        (Treatment::Redrive, Some(LetterOutcome::NotDeleted(fault))) => {
            (Outcome::Failed, Some(format!("routed and not deleted: {fault}")))
        }
        (_, Some(LetterOutcome::Left)) => (Outcome::Left, Some(treated.why_left().to_owned())),
        (Treatment::Redrive, None) if reported.event.is_none() => (Outcome::Left, Some("not an event".to_owned())),
        (_, None) => (
            Outcome::Unknown,
            Some("the command was stopped during its calls".to_owned()),
        ),
    };
    ResultObject::of(outcome, reason)
}

#[cfg(test)]
mod tests;
