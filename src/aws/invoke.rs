//! Invocations of the router that wait for its answer, and its self-test: for a published version before it receives
//! any event, and for the live version in `verify`.

use std::time::Duration;

use aws_sdk_lambda::error::SdkError;
use aws_sdk_lambda::operation::invoke::InvokeError;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::ThrottleReason;
use serde_json::Value;

use super::AwsCloud;
use super::error::{NOT_ASSUMABLE, failed, of_the_caller, rejected};
pub(super) use super::wait::INVOKE;
use super::wait::{WaitReason, Waiting, pause, settling};
use super::write::Writing;
use crate::cloud::{Fault, FaultKind};
use crate::error::excerpt;
use crate::model::{
    FunctionName, FunctionSettings, LiveTest, SelfTestReport, router_function::self_test_request, scope::LIVE,
};
use crate::wire::aws_code;

pub(super) enum Invoked {
    Answered(Vec<u8>),
    /// The function failed, with this message.
    Failed(String),
}

/// How many characters of a function's own message are shown.
const SHOWN: usize = 1_000;

/// Invokes a version or an alias of a function with this event, and waits for its answer. If Lambda cannot run a
/// version that has already been in use, that is a fault immediately.
pub(super) async fn invoke_once(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
    event: &Value,
) -> Result<Invoked, Fault> {
    let call = cloud.lambda.invoke().function_name(name).qualifier(qualifier).payload(Blob::new(event.to_string()));
    let attempt = || async {
        let answer = call.clone().send().await;
        let reason = match answer.as_ref().err().and_then(SdkError::as_service_error) {
            Some(InvokeError::TooManyRequestsException(e)) => e.reason().cloned(),
            _ => None,
        };
        answer.map_err(|e| used_up(failed(INVOKE, &e), reason.as_ref()))
    };
    let answer = cloud.paced(INVOKE, attempt).await.map_err(|fault| of_the_caller(fault, &cloud.caller))?;
    let payload = answer.payload.map(Blob::into_inner).unwrap_or_default();
    Ok(match answer.function_error {
        None => Invoked::Answered(payload),
        Some(_) => Invoked::Failed(message(&payload)),
    })
}

/// A throttled invocation, with the exhausted concurrency, if that was the reason (Lambda API reference, `Invoke`).
fn used_up(fault: Fault, reason: Option<&ThrottleReason>) -> Fault {
    let Some(reserved) = reason.and_then(used_up_concurrency) else {
        return fault;
    };
    let (whose, advice) = if reserved {
        let reserve = "wait until the router has routed the waiting events; if this persists, reserve more with --reserved-concurrency";
        ("reserved for the function", reserve)
    } else {
        ("of the account", "wait, or request more concurrency for the account in Service Quotas")
    };
    let message = format!("the concurrency {whose} is used up: {}", fault.message);
    Fault { kind: FaultKind::ConcurrencyUsedUp, message, ..fault.advised(advice) }
}

/// Whether the exhausted concurrency is reserved for the function or, if not, belongs to the account; `None` if the
/// invocation rate is too high.
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

/// How long a denial means "not yet": new permissions and tags take effect after seconds, rarely minutes. Terraform's
/// provider waits the same time for IAM.
const NOT_YET: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(3);
const NOT_ALLOWED: &str = "AWS does not yet allow the router's calls";

/// The result of one self-test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SelfTestResult {
    Passed,
    /// AWS denied calls of the router, with these codes.
    Denied(Vec<String>, String),
    /// The router does not work, or AWS refused its calls for another reason.
    Failed(String),
}

impl SelfTestResult {
    fn of(invoked: Invoked, expected: &FunctionSettings) -> Self {
        let report = match invoked {
            Invoked::Failed(message) => return Self::Failed(message),
            Invoked::Answered(payload) => SelfTestReport::read(&payload),
        };
        let report = match report {
            Ok(report) => report,
            Err(why) => return Self::Failed(why),
        };
        match report.check(expected) {
            Ok(()) => Self::Passed,
            Err(why) => {
                let codes: Vec<String> = report.problems.into_iter().map(|problem| problem.code).collect();
                let is_denied = !codes.is_empty() && codes.iter().all(|code| may_pass(code));
                if is_denied { Self::Denied(codes, why) } else { Self::Failed(why) }
            }
        }
    }
}

/// Whether a refusal may be caused by permissions, tags, a role or a queue that has not propagated everywhere yet.
fn may_pass(code: &str) -> bool {
    aws_code::is_denied(code) || aws_code::is_unauthenticated(code) || aws_code::is_absent(code)
}

/// Runs the self-test of a version with these settings. While AWS denies the router's calls, it repeats it for two minutes.
/// A failure states the current state.
pub(super) async fn pass_self_test(
    cloud: &Writing<'_>,
    (function, version): (&FunctionName, u64),
    settings: &FunctionSettings,
    state: &str,
) -> Result<(), Fault> {
    cloud.waiting.report("the published version runs its self-test");
    let (number, request) = (version.to_string(), self_test_request());
    let verdict = allowed(cloud.waiting, || async {
        // If Lambda cannot run a version that was just published, kibus waits for minutes.
        let invoke = || invoke_once(cloud, function, &number, &request);
        let invoked = cloud.until_seen(INVOKE, &[], invoke).await?;
        Ok(SelfTestResult::of(invoked, settings))
    })
    .await?;
    let failed = |why: &str| {
        let message = format!("version {version} did not pass its self-test: {why}; {state}");
        rejected(INVOKE, message)
    };
    match verdict {
        SelfTestResult::Passed => Ok(()),
        SelfTestResult::Denied(_, why) => Err(failed(&format!("{why}, for {} seconds", NOT_YET.as_secs()))),
        SelfTestResult::Failed(why) => Err(failed(&why)),
    }
}

/// Tests the live version once. `None` if it does not exist or is not ready: the state of the function shows that.
pub(super) async fn live_test(cloud: &AwsCloud) -> Result<Option<LiveTest>, Fault> {
    match invoke_once(cloud, &cloud.scope.router_function(), LIVE, &self_test_request()).await {
        Ok(Invoked::Answered(payload)) => Ok(Some(LiveTest::of_payload(&payload))),
        Ok(Invoked::Failed(message)) => Ok(Some(LiveTest::Failed(message))),
        Err(fault) => unable(fault),
    }
}

/// What a fault of an invocation means for the version, or the fault itself if it means nothing.
fn unable(fault: Fault) -> Result<Option<LiveTest>, Fault> {
    let key = |code: &str| aws_code::is_service_denied(code) || aws_code::is_unusable_key(code);
    if fault.code.as_deref().is_some_and(key) {
        Ok(Some(LiveTest::KeyDenied(fault.message)))
    } else if fault.message.contains(NOT_ASSUMABLE) {
        Ok(Some(LiveTest::RoleNotAssumable(fault.message)))
    } else if matches!(fault.kind, FaultKind::Throttled | FaultKind::ConcurrencyUsedUp) {
        Ok(Some(LiveTest::Throttled(fault.message)))
    } else if fault.kind == FaultKind::Gone || settling(&fault) == Some(WaitReason::FunctionBusy) {
        Ok(None)
    } else {
        Err(fault)
    }
}

/// Repeats a test until AWS no longer denies the router's calls, or [`NOT_YET`] is over. Reports every change of the codes.
async fn allowed<F>(waiting: Waiting<'_>, test: impl Fn() -> F) -> Result<SelfTestResult, Fault>
where
    F: Future<Output = Result<SelfTestResult, Fault>>,
{
    let mut reported = None;
    let mut waited = Duration::ZERO;
    loop {
        let verdict = test().await?;
        let SelfTestResult::Denied(codes, why) = &verdict else {
            return Ok(verdict);
        };
        if waited >= NOT_YET {
            return Ok(verdict);
        }
        if reported.as_ref() != Some(codes) {
            waiting.report(&format!("{NOT_ALLOWED}: {why}"));
            reported = Some(codes.clone());
        }
        pause(PAUSE, INVOKE, NOT_ALLOWED, waiting).await?;
        waited += PAUSE;
    }
}

#[cfg(test)]
mod tests;
