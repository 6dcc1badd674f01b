//! Why a message is in the dead-letter queue.

use serde::Serialize;

/// Why a message is in the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadLetterCause {
    /// EventBridge could not deliver the event to the hub queue.
    NotDelivered(DeliveryError),
    /// It was received from the hub queue as often as the queue allows, without success.
    GivenUp,
    /// Neither is recorded.
    Unknown,
}

/// What EventBridge recorded with an event that it could not deliver.
// EventBridge user guide, "Using dead-letter queues to process undelivered events". Members that are missing are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "DeliveryErrorObject", deny_unknown_fields)
)]
pub struct DeliveryError {
    pub code: String,
    pub message: String,
    pub rule_arn: String,
    pub target_arn: String,
    pub retry_attempts: String,
    pub exhausted_retry_condition: String,
}

impl DeadLetterCause {
    /// The cause, from the attributes of a message and the ARN of the queue that SQS moved it from, if it did.
    pub fn of<'a>(attribute: impl Fn(&str) -> Option<&'a str>, moved_from: Option<&str>) -> Self {
        let text = |name| attribute(name).unwrap_or_default().to_owned();
        let error = DeliveryError {
            code: text("ERROR_CODE"),
            message: text("ERROR_MESSAGE"),
            rule_arn: text("RULE_ARN"),
            target_arn: text("TARGET_ARN"),
            retry_attempts: text("RETRY_ATTEMPTS"),
            exhausted_retry_condition: text("EXHAUSTED_RETRY_CONDITION"),
        };
        match moved_from {
            _ if !error.code.is_empty() || !error.rule_arn.is_empty() => Self::NotDelivered(error),
            Some(_) => Self::GivenUp,
            None => Self::Unknown,
        }
    }
}
