//! The self-test of a version: of a published one before it receives any event, and of the live one for `verify`.

use std::time::Duration;

use super::AwsCloud;
use super::error::{rejected, settling};
use super::invoke::{INVOKE, Invoked, invoke, invoke_once};
use super::wait::{WaitReason, Waiting, pause};
use crate::aws_code;
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::{Alias, FunctionSettings};
use crate::model::self_test::{LiveTest, SelfTestReport, question};

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
    /// AWS refused calls of the router for another reason, so its code is not at fault.
    Refused(String),
    /// The router does not work.
    Broken(String),
}

impl Verdict {
    fn of(invoked: Invoked, expected: &FunctionSettings) -> Self {
        let report = match invoked {
            Invoked::Failed(message) => return Self::Broken(message),
            Invoked::Answered(payload) => SelfTestReport::read(&payload),
        };
        let report = match report {
            Ok(report) => report,
            Err(why) => return Self::Broken(why),
        };
        match (report.check(expected), report.refusals()) {
            (Ok(()), _) => Self::Passed,
            (Err(why), Some(codes)) if codes.iter().all(|code| may_pass(code)) => Self::Denied(codes.to_vec(), why),
            (Err(why), Some(_)) => Self::Refused(why),
            (Err(why), None) => Self::Broken(why),
        }
    }
}

/// Whether a refusal may be about permissions, tags, a role or a queue that AWS does not see everywhere yet.
fn may_pass(code: &str) -> bool {
    aws_code::is_denied(code) || aws_code::is_unauthenticated(code) || aws_code::is_absent(code)
}

/// Runs the self-test of a version. While AWS denies the router's calls, it repeats it for two minutes. The alias still
/// points to version `live`, if it exists.
///
/// # Errors
/// The outer fault is one of a call: of the invocation, or of those that the router makes. The inner one is the router's.
pub(super) async fn pass(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    live: Option<u64>,
    waiting: Waiting<'_>,
) -> Result<Result<(), Fault>, Fault> {
    waiting.report("the published version runs its self-test");
    let verdict = allowed(tokio::time::sleep, waiting, || async {
        let invoked = invoke(cloud, &alias.function, &version.to_string(), &question(), waiting).await?;
        Ok(Verdict::of(invoked, &alias.settings))
    })
    .await?;
    let state = match live {
        Some(live) => format!("alias `{}` stays at version {live}", alias.name),
        None => format!("alias `{}` points to no version yet", alias.name),
    };
    let failed = |why: &str| {
        let message = format!("version {version} did not pass its self-test: {why}; {state}");
        rejected(INVOKE, message)
    };
    match verdict {
        Verdict::Passed => Ok(Ok(())),
        Verdict::Denied(_, why) => Err(failed(&format!("{why}, for {} seconds", NOT_YET.as_secs()))),
        Verdict::Refused(why) => Err(failed(&why)),
        Verdict::Broken(why) => Ok(Err(failed(&why))),
    }
}

/// Asks the version behind an alias once. `None` if it does not exist or is not ready: the state of the function says so.
pub(super) async fn live(cloud: &AwsCloud, function: &FunctionName, alias: &str) -> Result<Option<LiveTest>, Fault> {
    match invoke_once(cloud, function, alias, &question()).await {
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
    } else if fault.kind == FaultKind::Throttled {
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
mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};
    use tokio::sync::watch;

    use super::*;
    use crate::aws::error::refusal;
    use crate::model::resource::{Architecture, Code, Extras, Logging};

    fn verdict(payload: &Value) -> Verdict {
        let expected = FunctionSettings {
            role: String::new(),
            runtime: String::new(),
            architecture: Architecture::X86_64,
            handler: "kibus/".to_owned(),
            memory: 0,
            timeout: 0,
            environment: [("KIBUS_BUS", "kibus"), ("KIBUS_QUEUE_PREFIX", "")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            code: Code::of_archive("1.0.0", "aa"),
            logging: Logging::default(),
            extras: Extras::default(),
        };
        Verdict::of(Invoked::Answered(payload.to_string().into_bytes()), &expected)
    }

    fn report(codes: &[&str]) -> Value {
        let problems: Vec<String> = codes.iter().map(|code| format!("refused: {code}")).collect();
        json!({
            "ok": codes.is_empty(), "version": "1.0.0", "handler": "kibus/",
            "environment": {"KIBUS_BUS": "kibus", "KIBUS_QUEUE_PREFIX": ""},
            "problems": problems, "codes": codes,
        })
    }

    /// S14, S15, L18: only what AWS may allow soon is waited for, and only what the router does is its fault.
    #[test]
    fn a_verdict_says_whose_fault_it_is() {
        let denied = |codes: &[&str]| {
            let why: Vec<String> = codes.iter().map(|code| format!("refused: {code}")).collect();
            Verdict::Denied(codes.iter().map(|code| (*code).to_owned()).collect(), why.join("; "))
        };
        let refused = |code: &str| Verdict::Refused(format!("refused: {code}"));
        for (codes, expected) in [
            (&[][..], Verdict::Passed),
            (&["AccessDenied"], denied(&["AccessDenied"])),
            (&["UnauthorizedOperation"], denied(&["UnauthorizedOperation"])),
            (&["AuthFailure"], denied(&["AuthFailure"])),
            (&["KMS.AccessDeniedException"], denied(&["KMS.AccessDeniedException"])),
            (&["NonExistentQueue"], denied(&["NonExistentQueue"])),
            (&["KMS.DisabledException"], refused("KMS.DisabledException")),
            (&["KMS.NotFoundException"], refused("KMS.NotFoundException")),
            (&["RequestTimeout"], refused("RequestTimeout")),
            (&[""], Verdict::Broken("refused:".to_owned())),
            (
                &["AccessDenied", ""],
                Verdict::Broken("refused: AccessDenied; refused:".to_owned()),
            ),
        ] {
            assert_eq!(verdict(&report(codes)), expected, "{codes:?}");
        }
        // A router of kibus 0.1.0 reports no codes.
        let mut older = report(&[]);
        older.as_object_mut().unwrap().remove("codes");
        assert_eq!(verdict(&older), Verdict::Passed);
    }

    /// The verdict, what was reported, and the time slept, if the tests end like this. The last one repeats.
    async fn run(verdicts: &[Verdict]) -> (Verdict, Vec<String>, Duration) {
        let (reported, slept) = (Mutex::new(Vec::new()), Mutex::new(Duration::ZERO));
        let tests = Mutex::new(verdicts.iter());
        let report = |reason: &str| reported.lock().unwrap().push(reason.to_owned());
        let (_ask, asked) = watch::channel(false);
        let verdict = allowed(
            |pause| {
                *slept.lock().unwrap() += pause;
                std::future::ready(())
            },
            Waiting::new(&report, &asked),
            || {
                let verdict = tests.lock().unwrap().next().unwrap_or(&verdicts[verdicts.len() - 1]);
                std::future::ready(Ok(verdict.clone()))
            },
        )
        .await;
        (
            verdict.unwrap(),
            reported.into_inner().unwrap(),
            slept.into_inner().unwrap(),
        )
    }

    /// M5, L17, L18, L19: each answer of Lambda to an invocation that it cannot make.
    #[test]
    fn an_invocation_that_lambda_cannot_make_says_why() {
        let key = "Lambda was unable to decrypt the environment variables because KMS access was denied.";
        let role = "The role defined for the function cannot be assumed by Lambda.";
        let caller = "User: arn:aws:iam::111122223333:user/reader is not authorized to perform: lambda:InvokeFunction";
        for (code, message, expected) in [
            (
                "KMSAccessDeniedException",
                key,
                Some(Some(LiveTest::KeyDenied(key.to_owned()))),
            ),
            (
                "KMSDisabledException",
                key,
                Some(Some(LiveTest::KeyDenied(key.to_owned()))),
            ),
            (
                "AccessDeniedException",
                role,
                Some(Some(LiveTest::RoleNotAssumable(role.to_owned()))),
            ),
            (
                "TooManyRequestsException",
                "Rate Exceeded.",
                Some(Some(LiveTest::Throttled("Rate Exceeded.".to_owned()))),
            ),
            ("ResourceNotFoundException", "Function not found", Some(None)),
            (
                "ResourceConflictException",
                "currently in the following state: Pending",
                Some(None),
            ),
            ("AccessDeniedException", caller, None),
            ("ServiceException", "no", None),
        ] {
            let found = unable(refusal(INVOKE, Some(code), message));
            assert_eq!(found.ok(), expected, "{code} {message}");
        }
    }

    /// S15, P12, L18: a denial right after a write means "not yet", for two minutes.
    #[tokio::test]
    async fn a_denial_is_waited_for_and_reported_once() {
        let denied = || Verdict::Denied(vec!["AccessDenied".to_owned()], "no send".to_owned());
        let reported = ["AWS does not allow the router's calls yet: no send".to_owned()];
        let (verdict, said, slept) = run(&[denied(), denied(), Verdict::Passed]).await;
        assert_eq!(
            (verdict, said.as_slice(), slept),
            (Verdict::Passed, &reported[..], PAUSE * 2)
        );
        let (verdict, said, slept) = run(&[denied()]).await;
        assert_eq!((verdict, said.as_slice(), slept), (denied(), &reported[..], NOT_YET));
        let broken = Verdict::Broken("x".to_owned());
        let (verdict, said, slept) = run(&[denied(), broken.clone()]).await;
        assert_eq!((verdict, said.len(), slept), (broken, 1, PAUSE));
        for verdict in [
            Verdict::Refused("x".to_owned()),
            Verdict::Broken("x".to_owned()),
            Verdict::Passed,
        ] {
            assert_eq!(
                run(std::slice::from_ref(&verdict)).await,
                (verdict, vec![], Duration::ZERO)
            );
        }
    }
}
