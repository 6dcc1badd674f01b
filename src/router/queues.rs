//! The queues, on SQS itself.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Builder;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message as SqsMessage,
    MessageSystemAttributeName, SendMessageBatchRequestEntry,
};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::batch::{Message, Origin};
use super::decision::RetryReason;
use super::services::{CallFailure, Queues};
use crate::model::name::QueueName;
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::wire::aws_code;

/// The queues of one account and Region.
#[derive(Clone, Debug)]
pub(super) struct SqsQueues {
    client: Client,
    /// The HTTP client for messages that the router receives.
    receiving: SharedHttpClient,
    scope: Scope,
    endpoint: Option<String>,
}

impl SqsQueues {
    /// The queues of a scope; `receiving` limits the answers with messages, and `endpoint` is a custom endpoint of SQS.
    pub(super) fn new(client: Client, receiving: SharedHttpClient, scope: Scope, endpoint: Option<String>) -> Self {
        Self {
            client,
            receiving,
            scope,
            endpoint,
        }
    }

    fn url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }
}

impl Queues for SqsQueues {
    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), CallFailure>>, CallFailure> {
        let mut call = self.client.send_message_batch().queue_url(self.url(queue));
        for (number, body) in bodies.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .message_body(*body);
            call = call.entries(entry.build().map_err(|_| CallFailure::Refused)?);
        }
        let answer = call.send().await.map_err(|e| failure(&e))?;
        // An entry that is in neither list has no answer.
        let mut entries = vec![Err(CallFailure::Again(RetryReason::SendUnavailable)); bodies.len()];
        let mut put = |id: &str, entry| {
            if let Some(place) = id.parse().ok().and_then(|n: usize| entries.get_mut(n)) {
                *place = entry;
            }
        };
        for sent in answer.successful() {
            put(sent.id(), Ok(()));
        }
        for failed in answer.failed() {
            put(failed.id(), Err(code_failure(failed.code(), failed.sender_fault())));
        }
        Ok(entries)
    }

    async fn tags(&self, queue: &QueueName) -> Result<Tags, CallFailure> {
        let call = self.client.list_queue_tags().queue_url(self.url(queue));
        let answer = call.send().await.map_err(|e| failure(&e))?;
        Ok(answer.tags.unwrap_or_default().into_iter().collect())
    }

    async fn receive(&self, queue: &QueueName, hidden: u32) -> Result<Vec<Message>, CallFailure> {
        let call = self
            .client
            .receive_message()
            .queue_url(self.url(queue))
            .max_number_of_messages(10)
            .wait_time_seconds(0)
            .visibility_timeout(i32::try_from(hidden).unwrap_or(i32::MAX))
            .message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
        let limited = Builder::new().http_client(self.receiving.clone());
        let answer = call.customize().config_override(limited).send().await;
        let messages = answer.map_err(|e| failure(&e))?.messages.unwrap_or_default();
        Ok(messages.into_iter().filter_map(received).collect())
    }

    async fn delete(&self, queue: &QueueName, receipts: &[&str]) -> Result<usize, CallFailure> {
        let mut call = self.client.delete_message_batch().queue_url(self.url(queue));
        for (number, receipt) in receipts.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(*receipt);
            call = call.entries(entry.build().map_err(|_| CallFailure::Refused)?);
        }
        let answer = call.send().await.map_err(|e| failure(&e))?;
        Ok(answer.successful().len())
    }

    async fn hide(&self, queue: &QueueName, receipts: &[(&str, u32)]) -> Result<(), CallFailure> {
        let mut call = self.client.change_message_visibility_batch().queue_url(self.url(queue));
        for (number, (receipt, seconds)) in receipts.iter().enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(*receipt)
                .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX));
            call = call.entries(entry.build().map_err(|_| CallFailure::Refused)?);
        }
        call.send().await.map(|_| ()).map_err(|e| failure(&e))
    }
}

/// A message that the router received. One that lacks something is not routed: it returns, and Lambda passes it on.
fn received(message: SqsMessage) -> Option<Message> {
    let attributes = message.attributes?;
    Some(Message {
        id: message.message_id?,
        origin: Origin::HubQueue {
            receipt: message.receipt_handle?,
        },
        body: message.body?,
        receives: Some(
            attributes
                .get(&MessageSystemAttributeName::ApproximateReceiveCount)?
                .parse()
                .ok()?,
        ),
        arrived: attributes
            .get(&MessageSystemAttributeName::SentTimestamp)?
            .parse()
            .ok()?,
    })
}

fn failure<E: ProvideErrorMetadata>(e: &SdkError<E, HttpResponse>) -> CallFailure {
    match e {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status();
            code_failure(
                answer.err().code().unwrap_or_default(),
                status.is_client_error() && status.as_u16() != 429,
            )
        }
        SdkError::ConstructionFailure(_) => CallFailure::Refused,
        _ => CallFailure::Again(RetryReason::SendUnavailable),
    }
}

/// The failure with this code, of a call or of one entry. SQS calls throttling a sender fault too, so the code decides
/// first. Expired credentials are new at the next try.
fn code_failure(code: &str, sender_fault: bool) -> CallFailure {
    let code = aws_code::bare(code);
    if aws_code::is_absent(code) {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_protocols_mean_the_same() {
        let throttled = CallFailure::Again(RetryReason::SendThrottled);
        let unavailable = CallFailure::Again(RetryReason::SendUnavailable);
        for (code, sender_fault, expected) in [
            ("QueueDoesNotExist", true, CallFailure::Absent),
            ("AWS.SimpleQueueService.NonExistentQueue", true, CallFailure::Absent),
            ("com.amazonaws.sqs#QueueDoesNotExist", true, CallFailure::Absent),
            ("AccessDenied", true, CallFailure::Denied),
            ("AccessDeniedException", true, CallFailure::Denied),
            ("KMS.AccessDeniedException", true, CallFailure::Denied),
            ("KMS.DisabledException", true, CallFailure::Denied),
            ("KMS.InvalidStateException", true, CallFailure::Denied),
            ("KMS.NotFoundException", true, CallFailure::Denied),
            ("KMS.OptInRequired", true, CallFailure::Denied),
            ("KMS.InvalidKeyUsageException", true, CallFailure::Denied),
            ("KMS.ThrottlingException", true, throttled),
            ("OverLimit", true, throttled),
            ("AWS.SimpleQueueService.BatchRequestTooLong", true, CallFailure::TooLong),
            ("RequestThrottled", true, throttled),
            ("ThrottlingException", true, throttled),
            ("InternalError", false, unavailable),
            ("", false, unavailable),
            ("ExpiredToken", true, unavailable),
            ("InvalidMessageContents", true, CallFailure::Refused),
        ] {
            assert_eq!(code_failure(code, sender_fault), expected, "{code}");
        }
    }
}
