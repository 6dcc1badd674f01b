//! What happens around each call: its line in the log, which answers are final, and what is not an answer.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use aws_sdk_lambda::types::ThrottleReason;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
    InterceptorContext,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata};
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use aws_smithy_types::date_time::Format;
use aws_types::request_id::RequestId;
use serde_json::Value;
use tracing::Level;

use super::document::decoded;
use super::error::{EMPTY, THROTTLED, chain};
use super::invoke::used_up_concurrency;
use super::locked;
use crate::model::{Kind, calls::request_members};
use crate::wire::aws_code;

const TARGET: &str = "kibus::call";
/// In bytes. A longer request contains an archive, which is not worth parsing for a name.
const PARSED: usize = 65_536;
/// The member that names a customer key, which is not a resource of kibus.
const KEY: &str = "KeyId";

/// Logs each call once, regardless of retries, in a line that `-vv` shows: `sqs:CreateQueue karpenter-base 45 ms ok
/// 1a2b3c4d-0000-1111-2222-333344445555`.
///
/// The line has the action as named in IAM, the resource if the request names one, the time including retries, the
/// result and the AWS request id.
#[derive(Debug)]
pub(super) struct CallLog;

#[derive(Debug)]
struct Begun {
    at: Instant,
    /// The name of the resource, if the request contains it.
    resource: String,
}

impl Storable for Begun {
    type Storer = StoreReplace<Self>;
}

#[dyn_dispatch_hint]
impl Intercept for CallLog {
    fn name(&self) -> &'static str {
        "kibus calls"
    }

    fn read_after_serialization(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if tracing::enabled!(target: TARGET, Level::DEBUG) {
            let request = context.request();
            let resource = resource(request.uri(), request.body().bytes().unwrap_or_default());
            let at = Instant::now();
            config.interceptor_state().store_put(Begun { at, resource });
        }
        Ok(())
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (Some(call), Some(Begun { at, resource })) = (config.load::<Metadata>(), config.load::<Begun>()) else {
            return Ok(());
        };
        let answer = context.response();
        let result = match (context.output_or_error(), answer) {
            (Some(Ok(_)), _) => "ok".to_owned(),
            (_, Some(answer)) => {
                let code = code(answer.headers(), answer.body().bytes().unwrap_or_default());
                code.unwrap_or_else(|| format!("HTTP {}", answer.status()))
            }
            (_, None) => "no answer".to_owned(),
        };
        let id = answer.and_then(HttpResponse::request_id).unwrap_or_default();
        let line = [
            format!("{}:{}", iam_prefix(call.service()), call.name()),
            resource.clone(),
            format!("{} ms", at.elapsed().as_millis()),
            result,
            id.to_owned(),
        ];
        let words: Vec<_> = line.into_iter().filter(|word| !word.is_empty()).collect();
        tracing::debug!(target: TARGET, "{}", words.join(" "));
        Ok(())
    }
}

/// The name of the resource of a request; empty if it names none.
fn resource(uri: &str, body: &[u8]) -> String {
    let members = || Kind::ALL.iter().copied().flat_map(request_members).chain([&KEY]);
    let path = uri.split_once("://").map_or(uri, |(_, rest)| rest).split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    // EKS: `/clusters/NAME`. Lambda: `/DATE/functions/NAME`, `/DATE/tags/ARN`.
    let named = match parts.as_slice() {
        [_, "clusters", name, ..] => Some(name),
        parts => parts.get(3),
    };
    let name = match named {
        Some(name) => Some(decoded(name)),
        None if body.len() > PARSED => None,
        None => match serde_json::from_slice::<Value>(body) {
            Ok(input) => members().find_map(|member| input[member].as_str().map(str::to_owned)),
            Err(_) => {
                let form = std::str::from_utf8(body).unwrap_or_default();
                let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
                let named = pairs.find(|(key, _)| members().any(|member| member == key));
                named.map(|(_, value)| decoded(value))
            }
        },
    };
    let name = name.unwrap_or_default();
    match name.strip_prefix("arn:").and_then(|arn| arn.splitn(5, ':').nth(4)) {
        Some(resource) => resource.to_owned(),
        None if name.contains("://") => name.rsplit('/').next().unwrap_or_default().to_owned(),
        None => name,
    }
}

/// The error code in an answer: in a header, in a JSON document, or in an XML one.
fn code(headers: &Headers, body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let document = serde_json::from_str(&text).unwrap_or_default();
    aws_code::of_json(headers, &document).or_else(|| {
        let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
        Some(code.to_owned())
    })
}

/// The prefix of a service's actions in a policy, from the name that its client uses.
fn iam_prefix(service: &str) -> String {
    match service {
        "EventBridge" => "events".to_owned(),
        "monitoring" => "cloudwatch".to_owned(),
        "tagging" => "tag".to_owned(),
        other => other.to_lowercase(),
    }
}

/// Forbids retries of answers that do not change within the seconds of a retry. The SDK treats an exhausted quota as
/// throttling (`LimitExceededException`), and Lambda uses HTTP status 502 for a key that it was denied. A host that does not
/// exist, as for a service without a FIPS endpoint, looks like a broken connection. A throttled call is repeated at the pace
/// of its service ([`super::pace`]); an invocation without free concurrency is not treated as throttled.
#[derive(Debug)]
pub(super) struct FinalAnswers;

/// The C library resolver's message about a name that does not exist. Without an answer, its message is "Temporary
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

/// Prefixes of the names of operations that return a document.
const READS: [&str; 4] = ["Describe", "Filter", "Get", "List"];

/// The reads whose document has only optional members. SQS reportedly sends no body if it has nothing to return
/// (async-aws/aws, pull request 1708), so an empty answer means: no queue, no tag, nothing reserved. For the same
/// reason, `ReceiveMessage` is not one of the reads.
const MAY_BE_EMPTY: [&str; 3] = ["GetFunctionConcurrency", "ListQueueTags", "ListQueues"];

/// Fails each read that succeeds without a body: such an answer comes from something in between, not from AWS. The SDK
/// would treat it as a document without members, an empty list.
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

/// Keeps the `Date` header of an answer, in Unix seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerDate(Arc<Mutex<Option<i64>>>);

impl AnswerDate {
    pub(super) fn seconds(&self) -> Option<i64> {
        *locked(&self.0)
    }
}

#[dyn_dispatch_hint]
impl Intercept for AnswerDate {
    fn name(&self) -> &'static str {
        "kibus date of an answer"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|date| DateTime::from_str(date, Format::HttpDate).ok());
        *locked(&self.0) = date.map(|date| date.secs());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::client::interceptors::context::Input;
    use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
    use aws_smithy_runtime_api::client::result::ConnectorError;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;

    use super::*;
    use crate::model::table::{cell, rows};

    #[test]
    fn a_line_names_the_resource() {
        let table = r#"
            / | {"QueueUrl": "http://127.0.0.1:1/111122223333/karpenter-base"}             | karpenter-base
            https://sqs.us-west-2.amazonaws.com/ | {"QueueName": "kibus-hub"}              | kibus-hub
            / | {"ResourceARN": "arn:aws:events:us-west-2:111122223333:rule/kibus-probe"}  | rule/kibus-probe
            / | Action=GetRole&RoleName=a%2Bb&Version=1                                    | a+b
            /2015-03-31/functions/kibus-router/versions?x=y                            |   | kibus-router
            /2017-03-31/tags/arn%3Aaws%3Alambda%3Aus-west-2%3A111122223333%3Afunction%3Akibus-router | | function:kibus-router
            /2015-03-31/functions | {"FunctionName": "kibus-router"}                       | kibus-router
            /clusters/base/pod-identity-associations?serviceAccount=karpenter          |   | base
            /clusters                                                                  |   |
            / | Action=GetCallerIdentity&Version=1                                         |
            /                                                                          |   |"#;
        for [uri, body, name] in rows(table) {
            assert_eq!(resource(uri, body.as_bytes()), name, "{uri} {body}");
        }
    }

    #[test]
    fn a_line_says_with_which_code_a_call_failed() {
        let table = r#"
            -                  | {"__type": "com.amazonaws.sqs#QueueDoesNotExist"} | QueueDoesNotExist
            x-amzn-query-error: AWS.SimpleQueueService.NonExistentQueue;Sender | {"__type": "com.amazonaws.sqs#QueueDoesNotExist"} | AWS.SimpleQueueService.NonExistentQueue
            x-amzn-errortype: ResourceNotFoundException:http://internal/ | {} | ResourceNotFoundException
            -                  | <ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse> | NoSuchEntity
            -                  | upstream is down                                  | -"#;
        for [header, body, expected] in rows(table) {
            let mut headers = Headers::new();
            if let Some((name, value)) = header.split_once(": ") {
                headers.insert(name.to_owned(), value.to_owned());
            }
            assert_eq!(code(&headers, body.as_bytes()).as_deref(), cell(expected), "{body}");
        }
    }

    fn verdict(answer: impl FnOnce(&mut InterceptorContext)) -> RetryAction {
        let mut context = InterceptorContext::new(Input::erase(()));
        answer(&mut context);
        FinalAnswers.classify_retry(&context)
    }

    #[test]
    fn a_host_that_does_not_exist_is_not_asked_again() {
        for (why, expected) in [
            ("Name or service not known", RetryAction::RetryForbidden),
            ("Temporary failure in name resolution", RetryAction::NoActionIndicated),
        ] {
            let cause = std::io::Error::other(format!("failed to lookup address information: {why}"));
            let error = ConnectorError::io(format!("dns error: {cause}").into());
            let found = verdict(|context| context.set_output_or_error(Err(OrchestratorError::connector(error))));
            assert_eq!(found, expected, "{why}");
        }
    }

    /// E3, L18; the SDK's own classifiers decide about the others, like L17.
    #[test]
    fn a_used_up_quota_a_denied_key_and_a_throttled_call_are_not_retried() {
        let table = r#"
            400 | {"__type": "LimitExceededException"}   | RetryForbidden
            502 | {"__type": "KMSAccessDeniedException"} | RetryForbidden
            400 | {"__type": "ThrottlingException"}      | RetryForbidden
            429 | {"__type": "TooManyRequestsException", "Reason": "CallerRateLimitExceeded"}           | RetryForbidden
            429 | {"__type": "TooManyRequestsException", "Reason": "ConcurrentInvocationLimitExceeded"} | NoActionIndicated
            429 | {"__type": "TooManyRequestsException", "Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"} | NoActionIndicated
            429 | <html>slow down</html>                 | RetryForbidden
            503 | <ErrorResponse><Error><Code>SlowDown</Code></Error></ErrorResponse>           | RetryForbidden
            503 | <ErrorResponse><Error><Code>ServiceUnavailable</Code></Error></ErrorResponse> | NoActionIndicated
            502 |                                        | NoActionIndicated
            200 | {"__type": "LimitExceededException"}   | NoActionIndicated"#;
        for [status, body, expected] in rows(table) {
            let status = StatusCode::try_from(status.parse::<u16>().unwrap()).unwrap();
            let found = verdict(|context| context.set_response(Response::new(status, SdkBody::from(body))));
            assert_eq!(format!("{found:?}"), expected, "{status} {body}");
        }
    }

    #[test]
    fn only_reads_that_always_return_a_document_must_have_one() {
        for (operations, expected) in [
            ("GetQueueAttributes GetResources DescribeRule ListEventSourceMappings", true),
            ("ListQueues ListQueueTags ReceiveMessage DeleteMessage SetQueueAttributes", false),
        ] {
            for operation in operations.split(' ') {
                assert_eq!(has_document(operation), expected, "{operation}");
            }
        }
    }
}
