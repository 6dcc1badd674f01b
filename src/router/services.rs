//! The calls from the router to EC2 and SQS, and the possible answers. The laws of routing are tested against every
//! possible answer, which no local service could produce.

use std::collections::HashMap;
use std::fmt::Display;

use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message as SqsMessage,
    MessageSystemAttributeName, SendMessageBatchRequestEntry,
};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::batch::{Message, Origin};
use super::decision::RetryReason;
use super::report::CallCounts;
use crate::model::{InstanceId, QueueName, Scope, Tags};
use crate::wire::aws_code;
use crate::wire::ec2::{self, describe_tags};
use crate::wire::query::QueryError;
use crate::wire::sns::{self, Notice, publish_batch};

/// Why a call, or one entry of it, has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallError {
    pub(super) failure: CallFailure,
    /// The error code of AWS; never empty.
    pub(super) code: String,
    /// The message from AWS, or why there is no answer.
    pub(super) message: String,
}

/// What a failed call means for its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// The call may succeed soon.
    Again(RetryReason),
    Denied,
    Absent,
    /// The request as a whole is too large.
    TooLong,
    /// AWS does not accept the request, and will not accept it later.
    Refused,
}

type Answer<T> = Result<T, CallError>;

pub(super) trait Services: Send + Sync + 'static {
    /// The tags of up to 200 instances; instances without tags are left out. Counts every call.
    fn instance_tags(
        &self,
        ids: &[InstanceId],
        calls: &CallCounts,
    ) -> impl Future<Output = Answer<HashMap<InstanceId, Tags>>> + Send;

    /// Sends up to ten messages to a queue. Returns one result for each message, in order.
    fn send(&self, queue: &QueueName, bodies: &[&str]) -> impl Future<Output = Answer<Vec<Answer<()>>>> + Send;

    fn queue_tags(&self, queue: &QueueName) -> impl Future<Output = Answer<Tags>> + Send;

    /// Receives up to ten messages from a queue without waiting, and hides them for this number of seconds.
    fn receive(&self, queue: &QueueName, hidden: u32) -> impl Future<Output = Answer<Vec<Message>>> + Send;

    /// Deletes up to ten messages from a queue, by their receipt handles. Returns how many were deleted.
    fn delete(&self, queue: &QueueName, receipts: &[&str]) -> impl Future<Output = Answer<usize>> + Send;

    /// Hides up to ten messages in a queue for a number of seconds each, by their receipt handles.
    fn hide(&self, queue: &QueueName, receipts: &[(&str, u32)]) -> impl Future<Output = Answer<()>> + Send;

    /// Publishes up to ten notices to a topic, by its ARN. Returns how many it accepted, or the error code of AWS.
    fn publish(&self, topic: &str, notices: &[Notice]) -> impl Future<Output = Result<usize, String>> + Send;
}

#[derive(Clone, Debug)]
pub(super) struct AwsServices {
    pub(super) ec2: ec2::Client,
    pub(super) sqs: aws_sdk_sqs::Client,
    pub(super) sns: sns::Client,
    /// The HTTP client for messages that the router receives, which limits the answers.
    pub(super) receiving: SharedHttpClient,
    pub(super) scope: Scope,
    pub(super) endpoint: Option<String>,
}

impl AwsServices {
    fn url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }
}

impl Services for AwsServices {
    async fn instance_tags(&self, ids: &[InstanceId], calls: &CallCounts) -> Answer<HashMap<InstanceId, Tags>> {
        let ids: Vec<&str> = ids.iter().map(InstanceId::as_str).collect();
        let tags = describe_tags(&self.ec2, &ids, || calls.describe_tags.add(1)).await;
        let tags = tags.map_err(of_ec2)?.into_iter();
        Ok(tags.filter_map(|(id, tags)| Some((id.parse().ok()?, tags))).collect())
    }

    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Answer<Vec<Answer<()>>> {
        let mut call = self.sqs.send_message_batch().queue_url(self.url(queue));
        for (number, body) in bodies.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder().id(number.to_string()).message_body(*body).build();
            call = call.entries(entry.map_err(unbuilt)?);
        }
        let answer = call.send().await.map_err(|e| of_sqs(&e))?;
        // An entry can be missing from both lists.
        let mut entries =
            vec![Err(CallError::unanswered("the answer does not mention the message".to_owned())); bodies.len()];
        let mut put = |id: &str, entry| {
            if let Some(place) = id.parse().ok().and_then(|n: usize| entries.get_mut(n)) {
                *place = entry;
            }
        };
        for sent in answer.successful() {
            put(sent.id(), Ok(()));
        }
        for failed in answer.failed() {
            let message = failed.message().unwrap_or_default();
            let error = CallError::of_code(failed.code(), message, failed.sender_fault());
            put(failed.id(), Err(error));
        }
        Ok(entries)
    }

    async fn queue_tags(&self, queue: &QueueName) -> Answer<Tags> {
        let call = self.sqs.list_queue_tags().queue_url(self.url(queue));
        let answer = call.send().await.map_err(|e| of_sqs(&e))?;
        Ok(answer.tags.unwrap_or_default().into_iter().collect())
    }

    async fn receive(&self, queue: &QueueName, hidden: u32) -> Answer<Vec<Message>> {
        let call = self
            .sqs
            .receive_message()
            .queue_url(self.url(queue))
            .max_number_of_messages(10)
            .wait_time_seconds(0)
            .visibility_timeout(i32::try_from(hidden).unwrap_or(i32::MAX))
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let limited = Builder::new().http_client(self.receiving.clone());
        let answer = call.customize().config_override(limited).send().await;
        let messages = answer.map_err(|e| of_sqs(&e))?.messages.unwrap_or_default();
        Ok(messages.into_iter().filter_map(received).collect())
    }

    async fn delete(&self, queue: &QueueName, receipts: &[&str]) -> Answer<usize> {
        let mut call = self.sqs.delete_message_batch().queue_url(self.url(queue));
        for (number, receipt) in receipts.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder();
            let entry = entry.id(number.to_string()).receipt_handle(*receipt).build();
            call = call.entries(entry.map_err(unbuilt)?);
        }
        let answer = call.send().await.map_err(|e| of_sqs(&e))?;
        Ok(answer.successful().len())
    }

    async fn hide(&self, queue: &QueueName, receipts: &[(&str, u32)]) -> Answer<()> {
        let mut call = self.sqs.change_message_visibility_batch().queue_url(self.url(queue));
        for (number, (receipt, seconds)) in receipts.iter().enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(*receipt)
                .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX));
            call = call.entries(entry.build().map_err(unbuilt)?);
        }
        call.send().await.map(drop).map_err(|e| of_sqs(&e))
    }

    async fn publish(&self, topic: &str, notices: &[Notice]) -> Result<usize, String> {
        publish_batch(&self.sns, topic, notices).await.map_err(|e| code(&e))
    }
}

/// A message that the router received. An incomplete message is not routed: it returns to the queue, and Lambda passes it on.
fn received(message: SqsMessage) -> Option<Message> {
    let attributes = message.attributes?;
    let number = |name| attributes.get(&name);
    Some(Message {
        id: message.message_id?,
        origin: Origin::HubQueue { receipt: message.receipt_handle? },
        body: message.body?,
        receives: Some(number(MessageSystemAttributeName::ApproximateReceiveCount)?.parse().ok()?),
        arrived: number(MessageSystemAttributeName::SentTimestamp)?.parse().ok()?,
    })
}

impl CallError {
    /// No answer, or an unreadable one.
    fn unanswered(message: String) -> Self {
        Self { failure: CallFailure::Again(RetryReason::SendUnavailable), code: "NoAnswer".to_owned(), message }
    }

    /// SQS's refusal of a call or an entry with this code. SQS also calls throttling a sender fault, so the code
    /// decides first. Expired credentials are renewed for the next try.
    pub(super) fn of_code(code: &str, message: &str, sender_fault: bool) -> Self {
        let code = aws_code::bare(code);
        let failure = if aws_code::is_absent(code) {
            CallFailure::Absent
        } else if aws_code::is_denied(code) || aws_code::is_unusable_key(code) {
            CallFailure::Denied
        } else if aws_code::is_too_long(code) {
            CallFailure::TooLong
        } else if aws_code::is_throttled(code) || aws_code::is_limit(code) {
            CallFailure::Again(RetryReason::SendThrottled)
        } else if sender_fault && !aws_code::is_expired(code) && !aws_code::is_server_error(code) {
            CallFailure::Refused
        } else {
            CallFailure::Again(RetryReason::SendUnavailable)
        };
        Self { failure, code: if code.is_empty() { "NoCode" } else { code }.to_owned(), message: message.to_owned() }
    }
}

/// A request that the SDK rejects.
fn unbuilt(e: impl Display) -> CallError {
    CallError { failure: CallFailure::Refused, code: "InvalidRequest".to_owned(), message: e.to_string() }
}

fn of_sqs<E: ProvideErrorMetadata + std::error::Error + 'static>(e: &SdkError<E, HttpResponse>) -> CallError {
    match e {
        SdkError::ServiceError(answer) => {
            let (status, error) = (answer.raw().status(), answer.err());
            let sender_fault = status.is_client_error() && status.as_u16() != 429;
            let message = error.message().unwrap_or_default();
            CallError::of_code(error.code().unwrap_or_default(), message, sender_fault)
        }
        SdkError::ConstructionFailure(_) => unbuilt(DisplayErrorContext(e)),
        _ => CallError::unanswered(DisplayErrorContext(e).to_string()),
    }
}

fn code(e: &QueryError) -> String {
    e.code().unwrap_or("NoAnswer").to_owned()
}

fn of_ec2(e: QueryError) -> CallError {
    let failure = if e.is_throttled() {
        CallFailure::Again(RetryReason::TagsThrottled)
    } else if e.is_transient() {
        CallFailure::Again(RetryReason::TagsUnavailable)
    } else if e.is_denied() {
        CallFailure::Denied
    } else {
        CallFailure::Refused
    };
    CallError {
        failure,
        code: code(&e),
        message: match e {
            QueryError::Refused { message, .. } => message,
            QueryError::Unreachable(_) | QueryError::Unreadable(_) => e.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure whose code does not matter.
    impl From<CallFailure> for CallError {
        fn from(failure: CallFailure) -> Self {
            Self { failure, code: "Code".to_owned(), message: "said".to_owned() }
        }
    }

    #[test]
    fn codes_of_both_protocols_mean_the_same() {
        use CallFailure::{Absent, Again, Denied, Refused, TooLong};
        let (throttled, unavailable) = (Again(RetryReason::SendThrottled), Again(RetryReason::SendUnavailable));
        for (codes, sender_fault, expected) in [
            (
                "QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue com.amazonaws.sqs#QueueDoesNotExist",
                true,
                Absent,
            ),
            ("AccessDenied AccessDeniedException KMS.AccessDeniedException KMS.DisabledException", true, Denied),
            (
                "KMS.InvalidStateException KMS.NotFoundException KMS.OptInRequired KMS.InvalidKeyUsageException",
                true,
                Denied,
            ),
            ("KMS.ThrottlingException OverLimit RequestThrottled ThrottlingException", true, throttled),
            ("AWS.SimpleQueueService.BatchRequestTooLong", true, TooLong),
            ("InternalError", false, unavailable),
            ("", false, unavailable),
            ("ExpiredToken", true, unavailable),
            ("InvalidMessageContents", true, Refused),
        ] {
            for code in codes.split(' ') {
                assert_eq!(CallError::of_code(code, "", sender_fault).failure, expected, "{code}");
            }
        }
    }
}
