//! Notices: human-readable messages about deliveries, for the SNS topic of the hub. A notice is tried once, after
//! everything else, and never delays or fails a delivery
//! (docs/decisions/0020-parts-are-optional-and-cost-no-delivery.md).

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::batch::Notified;
use super::clock::{Clock, Deadline};
use super::services::Services;
use super::{InvocationContext, locked, side_by_side};
use crate::wire::sns::Notice;

/// The maximum total time that an invocation spends on publishing.
const TIME: Duration = Duration::from_millis(300);
/// How many consecutive invocations must fail before the router pauses notices for some time.
const FAILURES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(60);
/// The maximum number of notices per invocation, and per call.
const MOST: usize = 100;
const BATCH: usize = 10;

#[derive(Debug)]
pub(super) struct NoticeTopic {
    arn: String,
    failed: Mutex<Failed>,
}

/// The failures since the last success, and the end of the pause after them.
#[derive(Debug, Default)]
struct Failed {
    in_a_row: u32,
    until: Option<Instant>,
}

impl NoticeTopic {
    pub(super) fn new(arn: String) -> Self {
        Self { arn, failed: Mutex::default() }
    }

    fn is_paused(&self, now: Instant) -> bool {
        locked(&self.failed).until.is_some_and(|until| now < until)
    }

    fn note(&self, worked: bool, now: Instant) {
        let mut failed = locked(&self.failed);
        failed.in_a_row = if worked { 0 } else { failed.in_a_row + 1 };
        failed.until = (failed.in_a_row >= FAILURES).then(|| now + PAUSE);
    }
}

/// Publishes notices, unless a storm or failures leave no time for them.
pub(super) async fn publish<S: Services>(
    context: &Arc<InvocationContext<S, Deadline>>,
    notices: Vec<Notice>,
    in_storm: bool,
) -> Notified {
    let (all, clock) = (notices.len(), context.clock.at_most(TIME));
    let not_taken = |why: &str| Notified { taken: 0, not_taken: all, why: Some(why.to_owned()) };
    let Some(topic) = context.router.topic.as_ref().filter(|_| all > 0) else {
        return Notified::default();
    };
    if in_storm {
        return not_taken("storm");
    }
    if topic.is_paused(clock.now()) {
        return not_taken("failed before");
    }
    let calls = notices[..all.min(MOST)].chunks(BATCH).map(|batch| {
        let (context, batch) = (Arc::clone(context), batch.to_vec());
        let arn = topic.arn.clone();
        async move {
            let call = context.router.services.publish(&arn, &batch);
            clock.within(context.router.permitted(call)).await
        }
    });
    let answers: Vec<Option<Result<usize, String>>> =
        side_by_side(calls).await.into_iter().map(Option::flatten).collect();
    let taken = answers.iter().flatten().flatten().sum();
    let why = answers.into_iter().find_map(|answer| match answer {
        None => Some("out of time".to_owned()),
        Some(Err(code)) => Some(code),
        Some(Ok(_)) => None,
    });
    topic.note(taken > 0, clock.now());
    Notified { taken, not_taken: all - taken, why: why.or_else(|| (taken < all).then(|| "refused".to_owned())) }
}
