//! The member that `dead-letters` adds to the document.

use super::object::{objects, words};
use crate::dead_letters::report::{DeadLetterReport, ReportedLetter};
use crate::dead_letters::treat::{LetterOutcome, Routing, Treated, Treatment};
use crate::dead_letters::{DeadLetterCause, DeliveryError, LetterEvent, RetryLine, Usefulness};
use crate::model::notation::time_text;
use crate::model::signal::Signal;
use crate::ui::text::{became, receivers};

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
        result: Option<ResultObject<'a>> = treated.map(|treated| ResultObject::of(reported, treated)),
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
    ResultObject<'a>(reported in &ReportedLetter, treated in &'a Treated) {
        status: Outcome = Outcome::of(reported, treated),
        /// What the router decided, or why it failed, is left or is unknown. Null if it was deleted without routing.
        reason: Option<String> = became(reported, treated),
        /// The clusters that it was routed to, if the router says so.
        clusters: Vec<&'a str> = receivers(treated, &reported.letter.id),
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
    /// At least one cluster received it.
    RoutedAndDeleted,
    /// The router dropped it, so no cluster received it.
    DroppedAndDeleted,
    /// The router routed or dropped it; which one its answer does not say.
    RoutedOrDroppedAndDeleted,
    Deleted,
    /// It stays in the queue.
    Failed,
    /// It was not touched and stays in the queue.
    Left,
    /// The command was stopped during its calls.
    Unknown,
}

impl Outcome {
    fn of(reported: &ReportedLetter, treated: &Treated) -> Self {
        let id = &reported.letter.id;
        match (treated.treatment, treated.letters.get(id)) {
            (Treatment::Purge, Some(LetterOutcome::Done)) => Self::Deleted,
            (Treatment::Redrive, Some(LetterOutcome::Done)) => match treated.routing(id) {
                Routing::Routed => Self::RoutedAndDeleted,
                Routing::Dropped => Self::DroppedAndDeleted,
                Routing::Unknown => Self::RoutedOrDroppedAndDeleted,
            },
            (_, Some(LetterOutcome::Returned | LetterOutcome::NotRouted(_) | LetterOutcome::NotDeleted(_))) => {
                Self::Failed
            }
            (_, Some(LetterOutcome::Left)) => Self::Left,
            (Treatment::Redrive, None) if reported.event.is_none() => Self::Left,
            (_, None) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests;
