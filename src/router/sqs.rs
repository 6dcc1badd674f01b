//! SQS and EC2 themselves, and what their answers mean to the router.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{ChangeMessageVisibilityBatchRequestEntry, SendMessageBatchRequestEntry};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::Calls;
use super::instance::InstanceId;
use super::services::{Fault, InstanceTags, Queues};
use super::verdict::GiveBack;
use crate::aws_code;
use crate::ec2;
use crate::ec2::describe_tags::describe_tags;
use crate::model::name::QueueName;
use crate::model::scope::Scope;
use crate::model::tags::Tags;

impl InstanceTags for ec2::Client {
    async fn tags_of(&self, ids: &[InstanceId], calls: &Calls) -> Result<HashMap<InstanceId, Tags>, Fault> {
        let ids: Vec<&str> = ids.iter().map(InstanceId::as_str).collect();
        let tags = describe_tags(self, &ids, || calls.describe_tags()).await.map_err(|e| {
            if e.is_throttled() {
                Fault::Again(GiveBack::TagsThrottled)
            } else if e.is_transient() {
                Fault::Again(GiveBack::TagsUnavailable)
            } else if e.is_denied() {
                Fault::Denied
            } else {
                Fault::Refused
            }
        })?;
        Ok(tags
            .into_iter()
            .filter_map(|(id, tags)| Some((InstanceId::parse(&id)?, tags)))
            .collect())
    }
}

/// The queues of one account and Region.
#[derive(Clone, Debug)]
pub(super) struct Sqs {
    client: Client,
    scope: Scope,
    endpoint: Option<String>,
}

impl Sqs {
    /// The queues of a scope; `endpoint` is SQS's, if it is not AWS's own.
    pub(super) fn new(client: Client, scope: Scope, endpoint: Option<String>) -> Self {
        Self {
            client,
            scope,
            endpoint,
        }
    }

    fn url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }
}

impl Queues for Sqs {
    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let mut call = self.client.send_message_batch().queue_url(self.url(queue));
        for (number, body) in bodies.iter().enumerate() {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .message_body(*body);
            call = call.entries(entry.build().map_err(|_| Fault::Refused)?);
        }
        let answer = call.send().await.map_err(|e| fault(&e))?;
        // What is neither in one list nor in the other has no answer.
        let mut entries = vec![Err(Fault::Again(GiveBack::SendUnavailable)); bodies.len()];
        let mut put = |id: &str, entry| {
            if let Some(place) = id.parse().ok().and_then(|n: usize| entries.get_mut(n)) {
                *place = entry;
            }
        };
        for sent in answer.successful() {
            put(sent.id(), Ok(()));
        }
        for failed in answer.failed() {
            put(failed.id(), Err(code_fault(failed.code(), failed.sender_fault())));
        }
        Ok(entries)
    }

    async fn tags(&self, queue: &QueueName) -> Result<Tags, Fault> {
        let call = self.client.list_queue_tags().queue_url(self.url(queue));
        let answer = call.send().await.map_err(|e| fault(&e))?;
        Ok(answer
            .tags()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect())
    }

    async fn hide(&self, queue: &QueueName, receipts: &[(&str, u32)]) -> Result<(), Fault> {
        let mut call = self.client.change_message_visibility_batch().queue_url(self.url(queue));
        for (number, (receipt, seconds)) in receipts.iter().enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(*receipt)
                .visibility_timeout(i32::try_from(*seconds).unwrap_or(i32::MAX));
            call = call.entries(entry.build().map_err(|_| Fault::Refused)?);
        }
        call.send().await.map(|_| ()).map_err(|e| fault(&e))
    }
}

fn fault<E: ProvideErrorMetadata>(e: &SdkError<E, HttpResponse>) -> Fault {
    match e {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status();
            code_fault(
                answer.err().code().unwrap_or_default(),
                status.is_client_error() && status.as_u16() != 429,
            )
        }
        SdkError::ConstructionFailure(_) => Fault::Refused,
        _ => Fault::Again(GiveBack::SendUnavailable),
    }
}

/// What a code means, of a call or of one entry. A throttled request counts as the sender's fault, so the code is
/// asked first. Credentials that have run out are new with the next try.
fn code_fault(code: &str, senders: bool) -> Fault {
    let code = aws_code::bare(code);
    if aws_code::is_absent(code) {
        Fault::Absent
    } else if aws_code::is_denied(code) || aws_code::is_unusable_key(code) {
        Fault::Denied
    } else if aws_code::is_too_long(code) {
        Fault::TooLong
    } else if aws_code::is_throttled(code) || aws_code::is_limit(code) {
        Fault::Again(GiveBack::SendThrottled)
    } else if senders && !aws_code::is_expired(code) && !aws_code::is_server_error(code) {
        Fault::Refused
    } else {
        Fault::Again(GiveBack::SendUnavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_protocols_mean_the_same() {
        let throttled = Fault::Again(GiveBack::SendThrottled);
        let unavailable = Fault::Again(GiveBack::SendUnavailable);
        for (code, senders, expected) in [
            ("QueueDoesNotExist", true, Fault::Absent),
            ("AWS.SimpleQueueService.NonExistentQueue", true, Fault::Absent),
            ("com.amazonaws.sqs#QueueDoesNotExist", true, Fault::Absent),
            ("AccessDenied", true, Fault::Denied),
            ("AccessDeniedException", true, Fault::Denied),
            ("KMS.AccessDeniedException", true, Fault::Denied),
            ("KMS.DisabledException", true, Fault::Denied),
            ("KMS.InvalidStateException", true, Fault::Denied),
            ("KMS.NotFoundException", true, Fault::Denied),
            ("KMS.OptInRequired", true, Fault::Denied),
            ("KMS.InvalidKeyUsageException", true, Fault::Denied),
            ("KMS.ThrottlingException", true, throttled),
            ("OverLimit", true, throttled),
            ("AWS.SimpleQueueService.BatchRequestTooLong", true, Fault::TooLong),
            ("RequestThrottled", true, throttled),
            ("ThrottlingException", true, throttled),
            ("InternalError", false, unavailable),
            ("", false, unavailable),
            ("ExpiredToken", true, unavailable),
            ("InvalidMessageContents", true, Fault::Refused),
        ] {
            assert_eq!(code_fault(code, senders), expected, "{code}");
        }
    }
}
