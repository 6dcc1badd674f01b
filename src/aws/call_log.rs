//! One log line for each call, which `-vv` shows:
//! `sqs:CreateQueue karpenter-base 45 ms ok 1a2b3c4d-0000-1111-2222-333344445555`.
//!
//! That is the action as IAM names it, the resource if the request names one, the time with all retries, the result
//! and the request id that AWS gave.

use std::time::Instant;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, Metadata};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::Headers;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use aws_types::request_id::RequestId;
use serde_json::Value;
use tracing::Level;

use super::document::decoded;
use crate::model::resource::Kind;
use crate::model::resource::calls::request_members;
use crate::wire::aws_code;

const TARGET: &str = "kibus::call";
/// A longer request holds an archive, which is not worth parsing for a name. In bytes.
const PARSED: usize = 65_536;
/// The member that names a customer key, which is no resource of kibus.
const KEY: &str = "KeyId";

/// Logs each call once, however often it is tried.
#[derive(Debug)]
pub(super) struct CallLog;

#[derive(Debug)]
struct Begun {
    at: Instant,
    /// The name of the resource, where the request holds it.
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

/// The name of the resource that a request is about; empty if it names none.
fn resource(uri: &str, body: &[u8]) -> String {
    let members = || Kind::ALL.iter().copied().flat_map(request_members).chain([&KEY]);
    let path = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let path = path.split('?').next().unwrap_or_default();
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
pub(super) fn code(headers: &Headers, body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let document = serde_json::from_str(&text).unwrap_or_default();
    aws_code::of_json(headers, &document).or_else(|| {
        let (code, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
        Some(code.to_owned())
    })
}

/// The prefix of a service's actions in a policy, from the name that its client has for it.
fn iam_prefix(service: &str) -> String {
    match service {
        "EventBridge" => "events".to_owned(),
        "monitoring" => "cloudwatch".to_owned(),
        "tagging" => "tag".to_owned(),
        other => other.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_resource() {
        for (uri, body, name) in [
            (
                "/",
                r#"{"QueueUrl": "http://127.0.0.1:1/111122223333/karpenter-base"}"#,
                "karpenter-base",
            ),
            (
                "https://sqs.us-west-2.amazonaws.com/",
                r#"{"QueueName": "kibus-hub"}"#,
                "kibus-hub",
            ),
            (
                "/",
                r#"{"ResourceARN": "arn:aws:events:us-west-2:111122223333:rule/kibus-probe"}"#,
                "rule/kibus-probe",
            ),
            ("/", "Action=GetRole&RoleName=a%2Bb&Version=1", "a+b"),
            ("/2015-03-31/functions/kibus-router/versions?x=y", "", "kibus-router"),
            (
                "/2017-03-31/tags/arn%3Aaws%3Alambda%3Aus-west-2%3A111122223333%3Afunction%3Akibus-router",
                "",
                "function:kibus-router",
            ),
            (
                "/2015-03-31/functions",
                r#"{"FunctionName": "kibus-router"}"#,
                "kibus-router",
            ),
            (
                "/clusters/base/pod-identity-associations?serviceAccount=karpenter",
                "",
                "base",
            ),
            ("/clusters", "", ""),
            ("/", "Action=GetCallerIdentity&Version=1", ""),
            ("/", "", ""),
        ] {
            assert_eq!(resource(uri, body.as_bytes()), name, "{uri} {body}");
        }
    }

    #[test]
    fn a_line_says_with_which_code_a_call_failed() {
        for (header, body, expected) in [
            (
                None,
                r#"{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}"#,
                Some("QueueDoesNotExist"),
            ),
            (
                Some(("x-amzn-query-error", "AWS.SimpleQueueService.NonExistentQueue;Sender")),
                r#"{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}"#,
                Some("AWS.SimpleQueueService.NonExistentQueue"),
            ),
            (
                Some(("x-amzn-errortype", "ResourceNotFoundException:http://internal/")),
                "{}",
                Some("ResourceNotFoundException"),
            ),
            (
                None,
                "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>",
                Some("NoSuchEntity"),
            ),
            (None, "upstream is down", None),
        ] {
            let mut headers = Headers::new();
            if let Some((name, value)) = header {
                headers.insert(name, value);
            }
            assert_eq!(code(&headers, body.as_bytes()).as_deref(), expected, "{body}");
        }
    }
}
