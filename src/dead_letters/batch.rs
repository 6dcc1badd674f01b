//! Dead letters as a batch that Lambda would pass to the router.

use serde_json::{Value, json};

use super::letter::DeadLetter;
use crate::model::router_batch::{SqsAttributes, SqsEvent, SqsRecord};

/// The longest payload of an invocation that is waited for, in bytes (Lambda developer guide, "Lambda quotas": 6 MB).
const PAYLOAD: usize = 6_000_000;

/// The event with which Lambda would pass these messages to the router. It names no queue, so the router changes the
/// visibility of none. A dead letter was received before: the router must not wait for the tags of a new instance.
pub fn batch_event(letters: &[&DeadLetter]) -> Value {
    let records = letters.iter().map(|letter| SqsRecord {
        message_id: letter.id.clone(),
        body: letter.body.clone(),
        attributes: SqsAttributes {
            approximate_receive_count: letter.receives.max(2).to_string(),
            sent_timestamp: letter.sent.to_string(),
        },
        ..SqsRecord::default()
    });
    json!(SqsEvent {
        records: records.collect(),
    })
}

/// How many of these messages, from the first, one invocation takes. It takes at least one: SQS has messages of at most
/// 1 MiB, which JSON can double.
pub(super) fn fitting<'a>(letters: impl IntoIterator<Item = &'a DeadLetter>) -> usize {
    let mut length = 0;
    let fits = |letter: &&DeadLetter| {
        length += batch_event(&[letter]).to_string().len();
        length <= PAYLOAD
    };
    letters.into_iter().take_while(fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letters::DeadLetterCause;

    /// A test of the router reads the same file.
    #[test]
    fn a_batch_is_what_the_router_reads() {
        let letter = DeadLetter {
            id: "m".to_owned(),
            sent: 5,
            receives: 1,
            cause: DeadLetterCause::GivenUp,
            body: "{}".to_owned(),
            receipt: String::new(),
        };
        let expected: Value = serde_json::from_str(include_str!("batch.json")).unwrap();
        assert_eq!(batch_event(&[&letter]), expected);
    }
}
