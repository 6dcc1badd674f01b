//! Invocations of a function that wait for its answer.

use aws_sdk_lambda::error::SdkError;
use aws_sdk_lambda::operation::invoke::InvokeError;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::ThrottleReason;
use serde_json::Value;

use super::AwsCloud;
use super::error::{failed, of_the_caller};
pub(super) use super::wait::INVOKE;
use super::wait::{Waiting, seen};
use crate::cloud::{Fault, FaultKind};
use crate::error::excerpt;
use crate::model::name::FunctionName;

/// How an invocation ended.
pub(super) enum Invoked {
    /// With this answer.
    Answered(Vec<u8>),
    /// With an error of the function, with its message.
    Failed(String),
}

/// How many characters of a function's own message are shown.
const SHOWN: usize = 1_000;

/// Invokes a version or an alias of a function with this event, and waits for its answer. What Lambda cannot do with a
/// version that was just published is a reason to wait for minutes; see [`invoke_once`].
pub(super) async fn invoke(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
    event: &Value,
    waiting: Waiting<'_>,
) -> Result<Invoked, Fault> {
    seen(INVOKE, &[], waiting, || invoke_once(cloud, name, qualifier, event)).await
}

/// The same for a version that has been in use: what Lambda cannot do with it is a fault at once.
pub(super) async fn invoke_once(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
    event: &Value,
) -> Result<Invoked, Fault> {
    let call = cloud.lambda.invoke().function_name(name).qualifier(qualifier);
    let call = call.payload(Blob::new(event.to_string()));
    let attempt = || async {
        let answer = call.clone().send().await;
        let reason = match answer.as_ref().err().and_then(SdkError::as_service_error) {
            Some(InvokeError::TooManyRequestsException(e)) => e.reason().cloned(),
            _ => None,
        };
        answer.map_err(|e| used_up(failed(INVOKE, &e), reason.as_ref()))
    };
    let answer = cloud.paced(INVOKE, attempt).await;
    let answer = answer.map_err(|fault| of_the_caller(fault, &cloud.caller))?;
    let payload = answer.payload.map(Blob::into_inner).unwrap_or_default();
    Ok(match answer.function_error {
        None => Invoked::Answered(payload),
        Some(_) => Invoked::Failed(message(&payload)),
    })
}

/// A throttled invocation, with the concurrency that was used up, if it was that (Lambda API reference, `Invoke`).
fn used_up(fault: Fault, reason: Option<&ThrottleReason>) -> Fault {
    let Some(reserved) = reason.and_then(used_up_concurrency) else {
        return fault;
    };
    let whose = if reserved {
        "reserved for the function"
    } else {
        "of the account"
    };
    Fault {
        kind: FaultKind::ConcurrencyUsedUp { reserved },
        message: format!("the concurrency {whose} is used up: {}", fault.message),
        ..fault
    }
}

/// Whether the concurrency that is used up is reserved for the function, else it is that of the account; `None` if
/// invocations come too often.
pub(super) fn used_up_concurrency(reason: &ThrottleReason) -> Option<bool> {
    match reason {
        ThrottleReason::ReservedFunctionConcurrentInvocationLimitExceeded => Some(true),
        ThrottleReason::ConcurrentInvocationLimitExceeded => Some(false),
        _ => None,
    }
}

/// The message in Lambda's error document, or the payload; cut.
fn message(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    serde_json::from_str::<Value>(&text)
        .ok()
        .and_then(|document| document["errorMessage"].as_str().map(str::to_owned))
        .map_or_else(|| excerpt(&text, SHOWN), |message| excerpt(&message, SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::error::refusal;

    /// L17: retries of kibus do not help, and a slower pace does not either.
    #[test]
    fn a_throttled_invocation_names_the_concurrency_that_is_used_up() {
        for (reason, message, kind) in [
            (
                Some("ReservedFunctionConcurrentInvocationLimitExceeded"),
                "the concurrency reserved for the function is used up: Rate Exceeded.",
                FaultKind::ConcurrencyUsedUp { reserved: true },
            ),
            (
                Some("ConcurrentInvocationLimitExceeded"),
                "the concurrency of the account is used up: Rate Exceeded.",
                FaultKind::ConcurrencyUsedUp { reserved: false },
            ),
            (Some("CallerRateLimitExceeded"), "Rate Exceeded.", FaultKind::Throttled),
            (None, "Rate Exceeded.", FaultKind::Throttled),
        ] {
            let reason = reason.map(ThrottleReason::from);
            let fault = used_up(
                refusal(INVOKE, Some("TooManyRequestsException"), "Rate Exceeded."),
                reason.as_ref(),
            );
            assert_eq!((fault.message.as_str(), fault.kind), (message, kind));
        }
    }

    #[test]
    fn a_failed_function_has_its_own_message() {
        for (payload, expected) in [
            (
                r#"{"errorType": "Runtime.ExitError", "errorMessage": "exit status 1"}"#,
                "exit status 1",
            ),
            (r#"{"errorType": "x"}"#, r#"{"errorType": "x"}"#),
            ("gone", "gone"),
            ("", ""),
        ] {
            assert_eq!(message(payload.as_bytes()), expected);
        }
    }
}
