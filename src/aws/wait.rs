//! Waits until AWS has applied a change that it has accepted. Each wait has a limit and a reason, which the user sees
//! with the time. A request to stop ends it.

mod reason;

use std::time::{Duration, Instant};

use super::error::fault;
pub(super) use crate::cloud::Waiting;
use crate::cloud::{Fault, FaultKind};
use crate::model::notation::duration_text;
pub(super) use reason::{INVOKE, WaitReason, settling};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// The longest pause of a wait that has taken minutes: a call may upload an archive.
const LATE_PAUSE: Duration = Duration::from_secs(10);
/// How often a wait is reported.
const REPORT: Duration = Duration::from_secs(60);

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
    settled_at((clock(), tokio::time::sleep), action, &[], waiting, attempt).await
}

/// The same for one call, which may be too early for one of these reasons: then "not found" or "denied" means not yet. What
/// stays absent or denied to the end of the wait is absent or denied.
pub(super) async fn seen<T, F>(
    action: &str,
    unseen: &[WaitReason],
    waiting: Waiting<'_>,
    mut call: impl FnMut() -> F,
) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    settled_at((clock(), tokio::time::sleep), action, unseen, waiting, || {
        let answer = call();
        async { answer.await.map(Tried::Done) }
    })
    .await
}

/// The time since now.
fn clock() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}

/// [`settled`] or [`seen`] with any clock. Attempts take time too: the SDK repeats some calls before it gives up.
async fn settled_at<T, F, S>(
    (now, sleep): (impl Fn() -> Duration, impl Fn(Duration) -> S),
    action: &str,
    unseen: &[WaitReason],
    waiting: Waiting<'_>,
    mut attempt: impl FnMut() -> F,
) -> Result<T, Fault>
where
    F: Future<Output = Result<Tried<T>, Fault>>,
    S: Future<Output = ()>,
{
    let mut current = None;
    let mut since = Duration::ZERO;
    let mut report_at = Duration::ZERO;
    let mut length = FIRST_PAUSE;
    loop {
        let (reason, refusal) = match attempt().await {
            Ok(Tried::Done(done)) => return Ok(done),
            Ok(Tried::NotYet(reason)) => (reason, None),
            Err(fault) => match settling(&fault).or_else(|| too_early(unseen, &fault)) {
                Some(reason) => (reason, Some(fault)),
                None => return Err(fault),
            },
        };
        if current.replace(reason) != Some(reason) {
            waiting.report(reason.text());
            (since, report_at, length) = (now(), REPORT, FIRST_PAUSE);
        }
        let waited = now() - since;
        if waited >= reason.bound() {
            return Err(unsettled(action, reason, refusal));
        }
        if waited >= report_at {
            waiting.report(&reason.text_after(waited));
            report_at += REPORT;
        }
        pause(sleep(length), action, reason.text(), waiting).await?;
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

/// Pauses for this reason.
///
/// # Errors
/// With [`FaultKind::Stopped`] on a request to stop.
pub(super) async fn pause(
    sleep: impl Future<Output = ()>,
    action: &str,
    reason: &str,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    tokio::select! {
        biased;
        () = waiting.stopped() => Err(fault(FaultKind::Stopped, action, reason)),
        () = sleep => Ok(()),
    }
}

fn unsettled(action: &str, reason: WaitReason, refusal: Option<Fault>) -> Fault {
    let waited = format!("{}, after {}", reason.text(), duration_text(reason.bound().as_secs()));
    let kind = FaultKind::Unsettled {
        advice: reason.advice(),
    };
    match refusal {
        Some(fault) if fault.kind == FaultKind::Gone || fault.is_denied() => fault,
        Some(fault) => Fault {
            kind,
            message: format!("{waited}: {}", fault.message),
            ..fault
        },
        None => fault(kind, action, waited),
    }
}

#[cfg(test)]
mod tests;
