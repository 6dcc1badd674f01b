//! The self-test of a version: of a published one before it receives any event, and of the live one for `verify`.

use std::time::Duration;

use super::AwsCloud;
use super::error::rejected;
use super::invoke::{INVOKE, Invoked, invoke, invoke_once};
use super::wait::{WaitReason, Waiting, pause, settling};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::FunctionSettings;
use crate::model::router_function::{LiveTest, SelfTestReport, self_test_request};
use crate::model::scope::LIVE;
use crate::wire::aws_code;

/// How long a denial means "not yet": new permissions and tags are in force after seconds, rarely minutes. Terraform's
/// provider waits as long for IAM.
const NOT_YET: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(3);

/// The result of one self-test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// Every check passed.
    Passed,
    /// AWS denied calls of the router, with these codes.
    Denied(Vec<String>, String),
    /// The router does not work, or AWS refused its calls for another reason.
    Failed(String),
}

impl Verdict {
    fn of(invoked: Invoked, expected: &FunctionSettings) -> Self {
        let report = match invoked {
            Invoked::Failed(message) => return Self::Failed(message),
            Invoked::Answered(payload) => SelfTestReport::read(&payload),
        };
        let report = match report {
            Ok(report) => report,
            Err(why) => return Self::Failed(why),
        };
        match (report.check(expected), report.refusals()) {
            (Ok(()), _) => Self::Passed,
            (Err(why), Some(codes)) if codes.iter().all(|code| may_pass(code)) => Self::Denied(codes.to_vec(), why),
            (Err(why), _) => Self::Failed(why),
        }
    }
}

/// Whether a refusal may be about permissions, tags, a role or a queue that AWS does not see everywhere yet.
fn may_pass(code: &str) -> bool {
    aws_code::is_denied(code) || aws_code::is_unauthenticated(code) || aws_code::is_absent(code)
}

/// Runs the self-test of a version with these settings. While AWS denies the router's calls, it repeats it for two minutes.
/// A failure says what state things are in.
pub(super) async fn pass(
    cloud: &AwsCloud,
    (function, version): (&FunctionName, u64),
    settings: &FunctionSettings,
    state: &str,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    waiting.report("the published version runs its self-test");
    let verdict = allowed(tokio::time::sleep, waiting, || async {
        let invoked = invoke(cloud, function, &version.to_string(), &self_test_request(), waiting).await?;
        Ok(Verdict::of(invoked, settings))
    })
    .await?;
    let failed = |why: &str| {
        let message = format!("version {version} did not pass its self-test: {why}; {state}");
        rejected(INVOKE, message)
    };
    match verdict {
        Verdict::Passed => Ok(()),
        Verdict::Denied(_, why) => Err(failed(&format!("{why}, for {} seconds", NOT_YET.as_secs()))),
        Verdict::Failed(why) => Err(failed(&why)),
    }
}

/// Asks the live version once. `None` if it does not exist or is not ready: the state of the function says so.
pub(super) async fn live_test(cloud: &AwsCloud) -> Result<Option<LiveTest>, Fault> {
    match invoke_once(cloud, &cloud.scope.router_function(), LIVE, &self_test_request()).await {
        Ok(Invoked::Answered(payload)) => Ok(Some(LiveTest::of_payload(&payload))),
        Ok(Invoked::Failed(message)) => Ok(Some(LiveTest::Failed(message))),
        Err(fault) => unable(fault),
    }
}

/// What a fault of an invocation says about the version; the fault itself, if it says nothing.
fn unable(fault: Fault) -> Result<Option<LiveTest>, Fault> {
    let key = |code: &str| aws_code::is_service_denied(code) || aws_code::is_unusable_key(code);
    if fault.code.as_deref().is_some_and(key) {
        Ok(Some(LiveTest::KeyDenied(fault.message)))
    } else if fault.message.contains("cannot be assumed") {
        Ok(Some(LiveTest::RoleNotAssumable(fault.message)))
    } else if matches!(fault.kind, FaultKind::Throttled | FaultKind::ConcurrencyUsedUp { .. }) {
        Ok(Some(LiveTest::Throttled(fault.message)))
    } else if fault.kind == FaultKind::Gone || settling(&fault) == Some(WaitReason::FunctionBusy) {
        Ok(None)
    } else {
        Err(fault)
    }
}

/// Repeats a test until AWS does not deny the router's calls any more, or [`NOT_YET`] is over. Every change of the codes is
/// reported.
async fn allowed<S, F>(
    sleep: impl Fn(Duration) -> S,
    waiting: Waiting<'_>,
    test: impl Fn() -> F,
) -> Result<Verdict, Fault>
where
    S: Future<Output = ()>,
    F: Future<Output = Result<Verdict, Fault>>,
{
    let mut reported = None;
    let mut waited = Duration::ZERO;
    loop {
        let verdict = test().await?;
        let Verdict::Denied(codes, why) = &verdict else {
            return Ok(verdict);
        };
        if waited >= NOT_YET {
            return Ok(verdict);
        }
        if reported.as_ref() != Some(codes) {
            waiting.report(&format!("AWS does not allow the router's calls yet: {why}"));
            reported = Some(codes.clone());
        }
        pause(
            sleep(PAUSE),
            INVOKE,
            "AWS does not allow the router's calls yet",
            waiting,
        )
        .await?;
        waited += PAUSE;
    }
}

#[cfg(test)]
mod tests;
