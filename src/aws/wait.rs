//! Waits for AWS to come to terms with a change that it has already taken. Each has a bound and a reason that the
//! person in front of it sees.

use std::time::Duration;

use super::error::settling;
use crate::cloud::{Fault, FaultKind};

/// Hears why there is a wait.
pub(super) type Waiting<'a> = &'a (dyn Fn(&str) + Sync);

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// SQS keeps a name for a minute after its queue was deleted.
    QueueDeletedRecently,
    /// Lambda does not see a new role, or its trust, at once.
    RoleNotAssumable,
    /// Lambda does not see a role's new permissions at once.
    RolePermissions,
    /// IAM does not find a role that it has just made.
    RoleUnknown,
    /// A policy names a principal that IAM has just made.
    PrincipalUnknown,
    /// IAM still sees policies that it has just removed from a role.
    PoliciesLeaving,
    /// Lambda sets a function up, or changes it.
    FunctionBusy,
    /// Lambda sets a mapping up, or changes it.
    MappingBusy,
    /// Lambda lets go of a mapping.
    MappingLeaving,
    /// Another change is being made to the same thing.
    ConcurrentChange,
}

impl WaitReason {
    /// The reason in words, to stand after "waiting: ".
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::QueueDeletedRecently => "SQS gives a deleted queue's name away only after 60 seconds",
            Self::RoleNotAssumable => "the new role cannot be assumed by Lambda yet",
            Self::RolePermissions => "Lambda does not see the role's new permissions yet",
            Self::RoleUnknown => "IAM does not find the new role yet",
            Self::PrincipalUnknown => "IAM does not know a principal of the policy yet",
            Self::PoliciesLeaving => "IAM still sees the removed policies on the role",
            Self::FunctionBusy => "Lambda is still setting the function up",
            Self::MappingBusy => "Lambda is still setting the event source mapping up",
            Self::MappingLeaving => "Lambda is still removing the event source mapping",
            Self::ConcurrentChange => "another change of the same resource is under way",
        }
    }

    /// How long this usually takes at most, and some more.
    pub(super) fn bound(self) -> Duration {
        Duration::from_secs(match self {
            Self::QueueDeletedRecently => 70,
            Self::RoleNotAssumable | Self::RolePermissions | Self::ConcurrentChange => 60,
            Self::RoleUnknown | Self::PrincipalUnknown | Self::PoliciesLeaving => 20,
            Self::FunctionBusy | Self::MappingBusy | Self::MappingLeaving => 180,
        })
    }
}

/// What one try gave.
pub(super) enum Tried<T> {
    /// It is done.
    Done(T),
    /// It has to be tried again.
    NotYet(WaitReason),
}

/// Tries until it is done, fails for another reason than a wait, or takes longer than its reason's bound.
pub(super) async fn settled<T, F>(action: &str, waiting: Waiting<'_>, attempt: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<Tried<T>, Fault>>,
{
    settled_at(tokio::time::sleep, action, waiting, attempt).await
}

/// The same at another pace than the clock's.
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
    let mut told = None;
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
        if told.replace(reason) != Some(reason) {
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

/// The same for one call that is either taken or refused.
pub(super) async fn taken<T, F>(action: &str, waiting: Waiting<'_>, mut call: impl FnMut() -> F) -> Result<T, Fault>
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

    /// Tries against these answers, the last for ever; gives the result, the reasons heard, and the time slept.
    async fn run(answers: Vec<Result<Tried<()>, Fault>>) -> (Result<(), Fault>, Vec<String>, Duration) {
        let heard = Mutex::new(Vec::new());
        let slept = Mutex::new(Duration::ZERO);
        let answers = Mutex::new(answers.into_iter().rev().collect::<Vec<_>>());
        let result = settled_at(
            |pause| {
                *slept.lock().unwrap() += pause;
                std::future::ready(())
            },
            "x:Y",
            &|reason| heard.lock().unwrap().push(reason.to_owned()),
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
        (result, heard.into_inner().unwrap(), slept.into_inner().unwrap())
    }

    fn deleted_recently() -> Fault {
        refusal(
            "sqs:CreateQueue",
            Some("AWS.SimpleQueueService.QueueDeletedRecently"),
            "wait 60 seconds",
        )
    }

    #[tokio::test]
    async fn what_is_done_at_once_waits_for_nothing() {
        assert_eq!(run(vec![Ok(Tried::Done(()))]).await, (Ok(()), vec![], Duration::ZERO));
    }

    #[tokio::test]
    async fn each_reason_is_told_once() {
        let (result, heard, _) = run(vec![
            Err(deleted_recently()),
            Err(deleted_recently()),
            Ok(Tried::NotYet(WaitReason::FunctionBusy)),
            Ok(Tried::Done(())),
        ])
        .await;
        assert_eq!(result, Ok(()));
        assert_eq!(
            heard,
            [WaitReason::QueueDeletedRecently.text(), WaitReason::FunctionBusy.text()]
        );
    }

    #[tokio::test]
    async fn a_wait_ends_at_its_bound() {
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
    async fn a_refusal_that_will_not_settle_is_told_at_once() {
        let refused = refusal("sqs:CreateQueue", Some("InvalidAttributeValue"), "no");
        assert_eq!(
            run(vec![Err(refused.clone())]).await,
            (Err(refused), vec![], Duration::ZERO)
        );
    }
}
