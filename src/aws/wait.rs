//! Waits until AWS has applied a change that it has accepted. Each wait has a reason, which the user sees with the
//! elapsed time. A reason defines its limit, its text, the refusal that shows it, and what to check if it lasts. A
//! request to stop ends the wait.
//!
//! The limits are those of Terraform's provider, which waits for the same answers. For a new role, AWS support says
//! that Lambda may need up to 15 minutes (terraform-provider-aws, pull request 44517).

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::error::{NOT_ASSUMABLE, ROLE_PERMISSIONS, is_busy, is_service_denial};
pub(super) use crate::cloud::Waiting;
use crate::cloud::{Fault, FaultKind};
use crate::model::{calls::lambda, duration_text};
use crate::wire::aws_code as code;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// The longest pause in a wait that has taken minutes: a call may upload an archive.
const LATE_PAUSE: Duration = Duration::from_secs(10);
/// How often a wait is reported.
const REPORT: Duration = Duration::from_secs(60);

/// Retries while an attempt returns a reason, or a refusal shows one, up to the limit of the reason. Attempts take time
/// too: the SDK repeats some calls before it gives up. Each of these reasons means that a call may be too early.
pub(super) async fn retried<T, F>(
    action: &str,
    unseen: &[WaitReason],
    waiting: Waiting<'_>,
    attempt: impl Fn() -> F,
) -> Result<T, Fault>
where
    F: Future<Output = Result<Result<T, WaitReason>, Fault>>,
{
    let mut current = None;
    let mut since = Instant::now();
    let mut report_at = Duration::ZERO;
    let mut length = FIRST_PAUSE;
    loop {
        let (reason, refusal) = match attempt().await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(reason)) => (reason, None),
            Err(fault) => match settling(&fault).or_else(|| too_early(unseen, &fault)) {
                Some(reason) => (reason, Some(fault)),
                None => return Err(fault),
            },
        };
        if current.replace(reason) != Some(reason) {
            waiting.report(reason.text());
            (since, report_at, length) = (Instant::now(), REPORT, FIRST_PAUSE);
        }
        let waited = since.elapsed();
        if waited >= reason.bound() {
            return Err(unsettled(action, reason, refusal));
        }
        if waited >= report_at {
            waiting.report(&reason.text_after(waited));
            report_at += REPORT;
        }
        pause(length, action, reason.text(), waiting).await?;
        let longest = if waited < REPORT { LONGEST_PAUSE } else { LATE_PAUSE };
        length = (length * 2).min(longest);
    }
}

/// The first of these reasons that explains a fault which is final for any other call.
fn too_early(unseen: &[WaitReason], fault: &Fault) -> Option<WaitReason> {
    unseen.iter().copied().find(|reason| match reason {
        WaitReason::BoundaryUnknown | WaitReason::TagsUnknown => fault.is_denied(),
        _ => fault.kind == FaultKind::Gone,
    })
}

/// Pauses for this reason; fails with [`FaultKind::Stopped`] on a request to stop.
pub(super) async fn pause(time: Duration, action: &str, reason: &str, waiting: Waiting<'_>) -> Result<(), Fault> {
    tokio::select! {
        biased;
        () = waiting.stopped() => Err(Fault::new(FaultKind::Stopped, action, reason)),
        () = sleep(time) => Ok(()),
    }
}

fn unsettled(action: &str, reason: WaitReason, refusal: Option<Fault>) -> Fault {
    let waited = format!("{}, after {}", reason.text(), duration_text(reason.bound().as_secs()));
    let (kind, advice) = (FaultKind::Unsettled, reason.advice());
    match refusal {
        Some(fault) if fault.kind == FaultKind::Gone || fault.is_denied() => fault,
        Some(fault) => Fault { kind, message: format!("{waited}: {}", fault.message), advice, ..fault },
        None => Fault { advice, ..Fault::new(kind, action, waited) },
    }
}

/// The call of an invocation, as IAM names it. Its refusals pass sooner than those of a deployment.
pub(super) const INVOKE: &str = lambda::INVOKE_FUNCTION;

const TRUST: &str = "check that the role's trust policy allows `lambda.amazonaws.com` to assume it, and that no \
     organization policy denies this";
const KEY: &str = "check that the key policy allows the role to use the function's key";
const PERMISSIONS: &str = "check that the role's permissions boundary and the organization policies allow what the \
                           role policy allows";

/// A refusal that may go away by itself.
struct Refusal<'a> {
    code: &'a str,
    fault: &'a Fault,
}

impl Refusal<'_> {
    fn is(&self, code: fn(&str) -> bool) -> bool {
        code(self.code)
    }

    fn says(&self, text: &str) -> bool {
        self.fault.message.contains(text)
    }

    /// Whether AWS denies Lambda the use of a function's role, with this message.
    fn denies_lambda(&self, text: &str) -> bool {
        is_service_denial(self.code, &self.fault.message) && self.says(text)
    }
}

macro_rules! wait_reasons {
    ($($reason:ident, $seconds:expr, $text:literal $(, if $symptom:expr)? $(, then $advice:ident)?;)*) => {
        /// What is being waited for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum WaitReason {
            $($reason,)*
        }

        impl WaitReason {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$reason,)*];

            /// The reason as text that follows "waiting: ", the longest wait in seconds, and what to check if the wait fails.
            fn row(self) -> (&'static str, u64, Option<&'static str>) {
                match self {
                    $(Self::$reason => ($text, $seconds, None::<&str>$(.or(Some($advice)))?),)*
                }
            }
        }

        /// Why a retry may succeed soon, if it may: AWS has not finished an earlier change.
        pub(super) fn settling(fault: &Fault) -> Option<WaitReason> {
            let code = fault.code.as_deref()?;
            let shows = |symptom: fn(&Refusal<'_>) -> bool| symptom(&Refusal { code, fault });
            $($(if shows($symptom) { return Some(WaitReason::$reason); })?)*
            None
        }
    };
}

// Each reason with its longest wait in seconds: the usual maximum plus a margin. The first reason whose symptom a refusal shows counts.
wait_reasons! {
    ParameterLeaving, 60, "Parameter Store does not reuse the name of a deleted parameter for 30 seconds";
    RecordsLeaving, 10, "Parameter Store still lists records of this hub";
    RecordUnknown, 10, "Parameter Store does not find the record of the cluster";
    QueueDeletedRecently, 70, "SQS does not reuse the name of a deleted queue for 60 seconds",
        if |it| it.is(code::is_deleted_recently);
    QueueUnknown, 20, "SQS does not find the new queue yet";
    MarkUnknown, 20, "SQS does not show the queue's deletion mark yet";
    VersionWithoutRole, 5 * 60, "the new version cannot assume its role yet",
        if |it| it.fault.action == INVOKE && it.denies_lambda(NOT_ASSUMABLE), then TRUST;
    // Lambda does not see a new role or its trust policy immediately.
    RoleNotAssumable, 15 * 60, "Lambda cannot assume the new role yet",
        if |it| it.denies_lambda(NOT_ASSUMABLE), then TRUST;
    RolePermissions, 2 * 60, "Lambda does not see the role's new permissions yet",
        if |it| it.denies_lambda(ROLE_PERMISSIONS), then PERMISSIONS;
    VersionWithoutKey, 5 * 60, "the new version cannot decrypt its environment variables yet",
        if |it| it.is(code::is_service_denied), then KEY;
    // KMS does not see a new role immediately, and Lambda needs a grant for it.
    RoleWithoutGrant, 15 * 60, "KMS does not accept the new role in a grant yet",
        if |it| it.is(code::is_invalid_parameter)
            && (it.says("invalid for CreateGrant") || it.says("does not refer to a valid principal")),
        then KEY;
    SourceUnknown, 2 * 60, "Lambda does not find the new queue yet",
        if |it| it.is(code::is_invalid_parameter) && it.says("NonExistentQueue");
    // SQS's message about a redrive policy with an unknown dead-letter queue (serverless, issue 5215).
    DeadLetterQueueUnknown, 2 * 60, "SQS does not find the new dead-letter queue yet",
        if |it| (it.is(code::is_invalid_attribute) || it.is(code::is_absent))
            && it.says("Dead letter target does not exist");
    RoleUnknown, 2 * 60, "IAM does not find the new role yet";
    // A condition does not see the role's new boundary yet.
    BoundaryUnknown, 2 * 60, "denied; AWS may not see the new permissions boundary of the role yet";
    // A condition does not see the queue's new tags yet.
    TagsUnknown, 2 * 60, "denied; AWS may not see the new tags of the queue yet";
    PrincipalUnknown, 2 * 60, "IAM does not find a principal of the policy yet",
        if |it| (it.is(code::is_invalid_parameter) || it.is(code::is_malformed_policy)) && it.says("nvalid principal");
    PoliciesLeaving, 2 * 60, "IAM has not removed the policies of the role yet",
        if |it| it.is(code::is_delete_conflict) && it.says("must delete policies first");
    RuleUnknown, 2 * 60, "EventBridge does not find the new rule yet";
    FunctionUnknown, 2 * 60, "Lambda does not find the new function yet";
    FunctionBusy, 3 * 60, "Lambda is still setting the function up",
        if |it| it.is(code::is_conflict) && is_busy(&it.fault.message) || it.is(code::is_not_ready);
    FunctionLeaving, 5 * 60, "Lambda is still deleting the function";
    MappingUnknown, 2 * 60, "Lambda does not find the new event source mapping yet";
    MappingBusy, 10 * 60, "Lambda is still setting the event source mapping up";
    MappingInUse, 5 * 60, "Lambda has not finished an earlier change of the event source mapping",
        if |it| it.is(code::is_in_use);
    MappingLeaving, 5 * 60, "Lambda is still removing the event source mapping";
    TargetsLeaving, 5 * 60, "EventBridge has not removed the targets of the rule yet",
        if |it| it.is(code::is_invalid) && it.says("since it has targets");
    ConcurrentChange, 2 * 60, "another change of the same resource is in progress",
        if |it| it.is(code::is_concurrent_change);
}

impl WaitReason {
    pub(super) fn text(self) -> &'static str {
        self.row().0
    }

    pub(super) fn bound(self) -> Duration {
        Duration::from_secs(self.row().1)
    }

    fn advice(self) -> Option<&'static str> {
        self.row().2
    }

    /// The reason again after some minutes, with the expected limit.
    fn text_after(self, waited: Duration) -> String {
        let minutes = |time: Duration| duration_text(time.as_secs() / 60 * 60);
        let (waited, bound) = (minutes(waited), minutes(self.bound()));
        format!("{}, after {waited}; this can take up to {bound}, and Ctrl-C is safe", self.text())
    }
}

#[cfg(test)]
mod tests;
