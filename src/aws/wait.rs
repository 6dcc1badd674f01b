//! Waits until AWS has applied a change that it has accepted. Each wait has a limit and a reason, which the user sees.

use std::time::Duration;

use super::error::settling;
use crate::cloud::{Fault, FaultKind};

/// Receives the reason of a wait.
pub(super) type Waiting<'a> = &'a (dyn Fn(&str) + Sync);

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// SQS keeps a name for a minute after its queue was deleted.
    QueueDeletedRecently,
    /// SQS does not find a queue that was just created.
    QueueUnknown,
    /// Lambda does not see a new role or its trust policy immediately.
    RoleNotAssumable,
    /// Lambda does not see a role's new permissions immediately.
    RolePermissions,
    /// IAM does not find a role that was just created.
    RoleUnknown,
    /// A policy names a principal that was just created.
    PrincipalUnknown,
    /// IAM still sees policies that were just deleted from a role.
    PoliciesLeaving,
    /// Lambda is setting up or updating a function.
    FunctionBusy,
    /// Lambda is setting up or updating a mapping.
    MappingBusy,
    /// Lambda is deleting a mapping.
    MappingLeaving,
    /// Another change of the same resource is in progress.
    ConcurrentChange,
}

impl WaitReason {
    /// The reason as text that follows "waiting: ".
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::QueueDeletedRecently => "SQS does not reuse the name of a deleted queue for 60 seconds",
            Self::QueueUnknown => "SQS does not find the new queue yet",
            Self::RoleNotAssumable => "Lambda cannot assume the new role yet",
            Self::RolePermissions => "Lambda does not see the role's new permissions yet",
            Self::RoleUnknown => "IAM does not find the new role yet",
            Self::PrincipalUnknown => "IAM does not find a principal of the policy yet",
            Self::PoliciesLeaving => "IAM has not removed the policies of the role yet",
            Self::FunctionBusy => "Lambda is still setting the function up",
            Self::MappingBusy => "Lambda is still setting the event source mapping up",
            Self::MappingLeaving => "Lambda is still removing the event source mapping",
            Self::ConcurrentChange => "another change of the same resource is in progress",
        }
    }

    /// The longest wait: what this usually takes at most, with a margin.
    pub(super) fn bound(self) -> Duration {
        Duration::from_secs(match self {
            Self::QueueDeletedRecently => 70,
            Self::RoleNotAssumable | Self::RolePermissions | Self::ConcurrentChange => 60,
            Self::QueueUnknown | Self::RoleUnknown | Self::PrincipalUnknown | Self::PoliciesLeaving => 20,
            Self::FunctionBusy | Self::MappingBusy | Self::MappingLeaving => 180,
        })
    }
}

/// The result of one attempt.
pub(super) enum Tried<T> {
    /// Finished.
    Done(T),
    /// To be retried, for this reason.
    NotYet(WaitReason),
}

/// Retries until an attempt finishes, fails for a reason that waiting does not solve, or exceeds the limit of its
/// reason.
pub(super) async fn settled<T, F>(action: &str, waiting: Waiting<'_>, attempt: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<Tried<T>, Fault>>,
{
    settled_at(tokio::time::sleep, action, waiting, attempt).await
}

/// The same with another clock, for tests.
async fn settled_at<T, F, S>(
    sleep: impl Fn(Duration) -> S,
    action: &str,
    waiting: Waiting<'_>,
    mut attempt: impl FnMut() -> F,
) -> Result<T, Fault>
where
    F: Future<Output = Result<Tried<T>, Fault>>,
    S: Future<Output = ()>,
{
    let mut reported = None;
    let mut waited = Duration::ZERO;
    let mut pause = FIRST_PAUSE;
    loop {
        let (reason, refusal) = match attempt().await {
            Ok(Tried::Done(done)) => return Ok(done),
            Ok(Tried::NotYet(reason)) => (reason, None),
            Err(fault) => match settling(&fault) {
                Some(reason) => (reason, Some(fault)),
                None => return Err(fault),
            },
        };
        if reported.replace(reason) != Some(reason) {
            waiting(reason.text());
            (waited, pause) = (Duration::ZERO, FIRST_PAUSE);
        }
        if waited >= reason.bound() {
            return Err(unsettled(action, reason, refusal));
        }
        sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The same for one call that is either accepted or refused.
pub(super) async fn accepted<T, F>(action: &str, waiting: Waiting<'_>, mut call: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    settled(action, waiting, || {
        let answer = call();
        async { answer.await.map(Tried::Done) }
    })
    .await
}

fn unsettled(action: &str, reason: WaitReason, refusal: Option<Fault>) -> Fault {
    let waited = format!("{}, after {} seconds", reason.text(), reason.bound().as_secs());
    match refusal {
        Some(fault) => Fault {
            kind: FaultKind::Unsettled,
            message: format!("{waited}: {}", fault.message),
            ..fault
        },
        None => Fault {
            kind: FaultKind::Unsettled,
            action: action.to_owned(),
            code: None,
            message: waited,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::aws::error::refusal;

    /// Runs against these answers, repeating the last; returns the result, the reported reasons, and the time slept.
    async fn run(answers: Vec<Result<Tried<()>, Fault>>) -> (Result<(), Fault>, Vec<String>, Duration) {
        let reported = Mutex::new(Vec::new());
        let slept = Mutex::new(Duration::ZERO);
        let answers = Mutex::new(answers.into_iter().rev().collect::<Vec<_>>());
        let result = settled_at(
            |pause| {
                *slept.lock().unwrap() += pause;
                std::future::ready(())
            },
            "x:Y",
            &|reason| reported.lock().unwrap().push(reason.to_owned()),
            || async {
                let mut answers = answers.lock().unwrap();
                match answers.as_slice() {
                    [Ok(Tried::NotYet(reason))] => Ok(Tried::NotYet(*reason)),
                    [Err(fault)] => Err(fault.clone()),
                    _ => answers.pop().unwrap(),
                }
            },
        )
        .await;
        (result, reported.into_inner().unwrap(), slept.into_inner().unwrap())
    }

    fn deleted_recently() -> Fault {
        refusal(
            "sqs:CreateQueue",
            Some("AWS.SimpleQueueService.QueueDeletedRecently"),
            "wait 60 seconds",
        )
    }

    #[tokio::test]
    async fn a_finished_attempt_waits_for_nothing() {
        assert_eq!(run(vec![Ok(Tried::Done(()))]).await, (Ok(()), vec![], Duration::ZERO));
    }

    #[tokio::test]
    async fn each_reason_is_reported_once() {
        let (result, reported, _) = run(vec![
            Err(deleted_recently()),
            Err(deleted_recently()),
            Ok(Tried::NotYet(WaitReason::FunctionBusy)),
            Ok(Tried::Done(())),
        ])
        .await;
        assert_eq!(result, Ok(()));
        assert_eq!(
            reported,
            [WaitReason::QueueDeletedRecently.text(), WaitReason::FunctionBusy.text()]
        );
    }

    #[tokio::test]
    async fn a_wait_ends_at_its_limit() {
        for (answer, reason, code) in [
            (
                Err(deleted_recently()),
                WaitReason::QueueDeletedRecently,
                Some("QueueDeletedRecently"),
            ),
            (
                Ok(Tried::NotYet(WaitReason::MappingBusy)),
                WaitReason::MappingBusy,
                None,
            ),
        ] {
            let (result, _, slept) = run(vec![answer]).await;
            let fault = result.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Unsettled, "{reason:?}");
            assert_eq!(fault.code.as_deref(), code, "{reason:?}");
            assert!(fault.message.starts_with(reason.text()), "{}", fault.message);
            let bound = reason.bound();
            assert!(
                bound <= slept && slept < bound + LONGEST_PAUSE,
                "{reason:?} took {slept:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_refusal_that_waiting_does_not_solve_is_returned_immediately() {
        let refused = refusal("sqs:CreateQueue", Some("InvalidAttributeValue"), "no");
        assert_eq!(
            run(vec![Err(refused.clone())]).await,
            (Err(refused), vec![], Duration::ZERO)
        );
    }
}
