//! What the SDK must not retry, although its defaults say so, and what it must not take for an answer: an empty one is not that
//! of AWS, but of something on the way. For the SDK it is a document without members: a list of nothing.

use aws_sdk_lambda::types::ThrottleReason;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    AfterDeserializationInterceptorContextRef, InterceptorContext,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use serde_json::Value;

use super::call_log::code;
use super::error::{EMPTY, THROTTLED, chain};
use super::invoke::used_up_concurrency;
use crate::wire::aws_code;

/// Forbids retries of answers that do not change within the seconds of a retry.
/// A quota that is used up counts as throttling for the SDK (`LimitExceededException`), and Lambda has HTTP status 502 for a
/// key that it was denied. A host that does not exist, like that of a service without a FIPS endpoint, counts as a broken
/// connection. A throttled call is repeated at the pace of its service ([`super::pace`]); an invocation without free
/// concurrency is not one.
#[derive(Debug)]
pub(super) struct FinalAnswers;

/// What the resolver of the C library says of a name that does not exist. While it has no answer, it says "Temporary
/// failure in name resolution".
const NO_HOST: &str = "Name or service not known";

impl ClassifyRetry for FinalAnswers {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        if let Some(Err(e)) = context.output_or_error()
            && chain(e).iter().any(|text| text.contains(NO_HOST))
        {
            return RetryAction::RetryForbidden;
        }
        let Some(answer) = context.response().filter(|answer| !answer.status().is_success()) else {
            return RetryAction::NoActionIndicated;
        };
        let body = answer.body().bytes().unwrap_or_default();
        let code = code(answer.headers(), body).unwrap_or_default();
        let is_throttled = aws_code::is_throttled(&code) || answer.status().as_u16() == THROTTLED;
        if aws_code::is_limit(&code) || aws_code::is_service_denied(&code) || is_throttled && !uses_up_concurrency(body)
        {
            RetryAction::RetryForbidden
        } else {
            RetryAction::NoActionIndicated
        }
    }

    fn name(&self) -> &'static str {
        "kibus final answers"
    }
}

/// Whether Lambda refuses an invocation because no concurrency is free.
fn uses_up_concurrency(body: &[u8]) -> bool {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let reason = document["Reason"].as_str().map(ThrottleReason::from);
    reason.as_ref().and_then(used_up_concurrency).is_some()
}

/// How the names of operations begin that return a document.
const READS: [&str; 4] = ["Describe", "Filter", "Get", "List"];

/// The reads whose document has optional members only. SQS is reported to send no body where it has nothing to say
/// (async-aws/aws, pull request 1708), so an empty answer means: no queue, no tag, nothing reserved. `ReceiveMessage` is none
/// of the reads for the same reason.
const MAY_BE_EMPTY: [&str; 3] = ["GetFunctionConcurrency", "ListQueueTags", "ListQueues"];

/// Fails each read whose answer is a success without a body.
#[derive(Debug)]
pub(super) struct NoEmptyAnswer;

#[dyn_dispatch_hint]
impl Intercept for NoEmptyAnswer {
    fn name(&self) -> &'static str {
        "kibus empty answers"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let name = config.load::<Metadata>().map_or("", Metadata::name);
        let answer = context.response();
        let is_empty = answer.body().bytes().is_some_and(<[u8]>::is_empty);
        if is_empty && answer.status().is_success() && has_document(name) {
            return Err(EMPTY.into());
        }
        Ok(())
    }
}

/// Whether AWS returns a document for each success of an operation.
fn has_document(operation: &str) -> bool {
    READS.iter().any(|read| operation.starts_with(read)) && !MAY_BE_EMPTY.contains(&operation)
}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::client::interceptors::context::Input;
    use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
    use aws_smithy_runtime_api::client::result::ConnectorError;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;

    use super::has_document;
    use super::*;

    #[test]
    fn a_host_that_does_not_exist_is_not_asked_again() {
        for (why, expected) in [
            ("Name or service not known", RetryAction::RetryForbidden),
            ("Temporary failure in name resolution", RetryAction::NoActionIndicated),
        ] {
            let cause = std::io::Error::other(format!("failed to lookup address information: {why}"));
            let error = ConnectorError::io(format!("dns error: {cause}").into());
            let mut context = InterceptorContext::new(Input::erase(()));
            context.set_output_or_error(Err(OrchestratorError::connector(error)));
            assert_eq!(FinalAnswers.classify_retry(&context), expected, "{why}");
        }
    }

    /// E3, L18; the SDK's own classifiers decide about the others, like L17.
    #[test]
    fn a_used_up_quota_a_denied_key_and_a_throttled_call_are_not_retried() {
        for (status, body, expected) in [
            (
                400,
                r#"{"__type": "LimitExceededException"}"#,
                RetryAction::RetryForbidden,
            ),
            (
                502,
                r#"{"__type": "KMSAccessDeniedException"}"#,
                RetryAction::RetryForbidden,
            ),
            (400, r#"{"__type": "ThrottlingException"}"#, RetryAction::RetryForbidden),
            (
                429,
                r#"{"__type": "TooManyRequestsException", "Reason": "CallerRateLimitExceeded"}"#,
                RetryAction::RetryForbidden,
            ),
            (
                429,
                r#"{"__type": "TooManyRequestsException", "Reason": "ConcurrentInvocationLimitExceeded"}"#,
                RetryAction::NoActionIndicated,
            ),
            (
                429,
                r#"{"__type": "TooManyRequestsException", "Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}"#,
                RetryAction::NoActionIndicated,
            ),
            (429, "<html>slow down</html>", RetryAction::RetryForbidden),
            (
                503,
                "<ErrorResponse><Error><Code>SlowDown</Code></Error></ErrorResponse>",
                RetryAction::RetryForbidden,
            ),
            (
                503,
                "<ErrorResponse><Error><Code>ServiceUnavailable</Code></Error></ErrorResponse>",
                RetryAction::NoActionIndicated,
            ),
            (502, "", RetryAction::NoActionIndicated),
            (
                200,
                r#"{"__type": "LimitExceededException"}"#,
                RetryAction::NoActionIndicated,
            ),
        ] {
            let mut context = InterceptorContext::new(Input::erase(()));
            let status = StatusCode::try_from(status).unwrap();
            context.set_response(Response::new(status, SdkBody::from(body)));
            assert_eq!(FinalAnswers.classify_retry(&context), expected, "{body}");
        }
    }

    #[test]
    fn only_reads_that_always_return_a_document_must_have_one() {
        for (operation, expected) in [
            ("GetQueueAttributes", true),
            ("GetResources", true),
            ("DescribeRule", true),
            ("ListEventSourceMappings", true),
            ("ListQueues", false),
            ("ListQueueTags", false),
            ("ReceiveMessage", false),
            ("DeleteMessage", false),
            ("SetQueueAttributes", false),
        ] {
            assert_eq!(has_document(operation), expected, "{operation}");
        }
    }
}
