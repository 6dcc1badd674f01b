//! The calls of the access test, to EC2 and SQS themselves.

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::{CallError, TestedCalls};
use crate::model::name::QueueName;
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::wire::aws_code;
use crate::wire::ec2::{self, Ec2Error, describe_tags};

/// EC2 and SQS themselves.
pub(in crate::router) struct AwsCalls<'a> {
    pub(in crate::router) ec2: &'a ec2::Client,
    pub(in crate::router) sqs: &'a aws_sdk_sqs::Client,
    pub(in crate::router) scope: &'a Scope,
    /// A custom endpoint of SQS.
    pub(in crate::router) endpoint: Option<String>,
}

impl AwsCalls<'_> {
    fn url(&self, queue: &QueueName) -> String {
        self.scope.queue_url(self.endpoint.as_deref(), queue)
    }
}

impl TestedCalls for AwsCalls<'_> {
    async fn instance_tags(&self, id: &str) -> Result<(), CallError> {
        let tags = describe_tags(self.ec2, &[id], || {}).await;
        tags.map(drop).map_err(|error| CallError {
            is_transient: error.is_transient(),
            code: error.code().unwrap_or("NoAnswer").to_owned(),
            message: match error {
                Ec2Error::Refused { message, .. } => message,
                Ec2Error::Unreachable(_) | Ec2Error::Unreadable(_) => error.to_string(),
            },
        })
    }

    async fn send(&self, queue: &QueueName, body: &str) -> Result<(), CallError> {
        let entry = SendMessageBatchRequestEntry::builder().id("0").message_body(body);
        let entry = entry.build().map_err(|e| CallError {
            code: "InvalidRequest".to_owned(),
            message: e.to_string(),
            is_transient: false,
        })?;
        let call = self.sqs.send_message_batch().queue_url(self.url(queue)).entries(entry);
        let answer = call.send().await.map_err(|e| error(&e))?;
        match answer.failed().first() {
            Some(failed) => Err(refusal(
                failed.code(),
                failed.message().unwrap_or_default(),
                !failed.sender_fault(),
            )),
            None => Ok(()),
        }
    }

    async fn queue_tags(&self, queue: &QueueName) -> Result<Tags, CallError> {
        let call = self.sqs.list_queue_tags().queue_url(self.url(queue));
        let answer = call.send().await.map_err(|e| error(&e))?;
        Ok(answer.tags.unwrap_or_default().into_iter().collect())
    }
}

fn error<E: ProvideErrorMetadata + std::error::Error + 'static>(e: &SdkError<E, HttpResponse>) -> CallError {
    match e {
        SdkError::ServiceError(answer) => refusal(
            answer.err().code().unwrap_or("NoCode"),
            answer.err().message().unwrap_or_default(),
            answer.raw().status().is_server_error(),
        ),
        _ => CallError {
            code: "NoAnswer".to_owned(),
            message: DisplayErrorContext(e).to_string(),
            is_transient: true,
        },
    }
}

/// A refusal of AWS with this code and message.
pub(in crate::router) fn refusal(code: &str, message: &str, is_server_fault: bool) -> CallError {
    let code = aws_code::bare(code);
    let passes = [
        aws_code::is_throttled,
        aws_code::is_limit,
        aws_code::is_expired,
        aws_code::is_server_error,
    ];
    CallError {
        code: code.to_owned(),
        message: message.to_owned(),
        is_transient: is_server_fault || passes.iter().any(|is| is(code)),
    }
}
