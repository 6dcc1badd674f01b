//! Cluster to queue: copies in batches, as many queues at the same time as calls are allowed, and what a queue
//! that does not take them means.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;

use super::clock::{Backoff, Clock};
use super::decode::LARGEST;
use super::registry::Registration;
use super::services::{Fault, InstanceTags, Queues};
use super::verdict::{Drop, GiveBack, Verdict};
use super::{Calls, Router};
use crate::model::name::{ClusterName, QueueName};

/// How many messages one call takes.
const BATCH: usize = 10;

/// A queue, and whose it is; nobody's is the queue of probes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Destination {
    pub(super) queue: QueueName,
    pub(super) cluster: Option<ClusterName>,
}

/// One message to one queue.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    /// Which of the copies of this invocation it is.
    pub(super) number: usize,
    pub(super) body: String,
}

/// What became of a copy, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) copy: usize,
    pub(super) verdict: Verdict,
    pub(super) at: Instant,
}

/// Sends copies, each to its destination, and says what became of each. A copy that is not spoken of did not get
/// its turn.
pub(super) async fn deliver<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    calls: &Arc<Calls>,
    clock: &Arc<C>,
    copies: BTreeMap<Destination, Vec<Copy>>,
) -> Vec<Told> {
    let mut told = Vec::new();
    let mut tasks = JoinSet::new();
    for (to, copies) in copies {
        let (large, copies): (Vec<_>, Vec<_>) = copies.into_iter().partition(|copy| copy.body.len() > LARGEST);
        told.extend(large.iter().map(|copy| Told {
            copy: copy.number,
            verdict: Verdict::Dropped(Drop::TooLarge),
            at: clock.now(),
        }));
        for batch in batches(copies) {
            let delivery = Delivery {
                router: Arc::clone(router),
                calls: Arc::clone(calls),
                clock: Arc::clone(clock),
                to: to.clone(),
                told: Vec::with_capacity(batch.len()),
            };
            tasks.spawn(delivery.run(batch));
        }
    }
    while let Some(joined) = tasks.join_next().await {
        told.extend(joined.unwrap_or_default());
    }
    told
}

/// Copies in as few batches as the limits of a call allow, in order.
fn batches(copies: Vec<Copy>) -> Vec<Vec<Copy>> {
    let mut batches: Vec<Vec<Copy>> = Vec::new();
    let mut bytes = 0;
    for copy in copies {
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH && bytes + copy.body.len() <= LARGEST => {
                bytes += copy.body.len();
                batch.push(copy);
            }
            _ => {
                bytes = copy.body.len();
                batches.push(vec![copy]);
            }
        }
    }
    batches
}

struct Delivery<T, Q, C> {
    router: Arc<Router<T, Q>>,
    calls: Arc<Calls>,
    clock: Arc<C>,
    to: Destination,
    told: Vec<Told>,
}

impl<T: InstanceTags, Q: Queues, C: Clock> Delivery<T, Q, C> {
    async fn run(mut self, batch: Vec<Copy>) -> Vec<Told> {
        let mut waiting = vec![batch];
        let mut backoff = Backoff::default();
        loop {
            let mut again: Vec<Copy> = Vec::new();
            let mut why = GiveBack::OutOfTime;
            while let Some(batch) = waiting.pop() {
                match self.send(&batch).await {
                    None => again.extend(batch),
                    Some(Ok(answers)) => {
                        // An answer that is missing is no answer.
                        let missing = std::iter::repeat(Err(Fault::Again(GiveBack::SendUnavailable)));
                        let mut closed = Vec::new();
                        for (copy, answer) in batch.into_iter().zip(answers.into_iter().chain(missing)) {
                            match answer {
                                Ok(()) => self.tell([copy], Verdict::Delivered),
                                Err(Fault::Again(reason)) => {
                                    why = reason;
                                    again.push(copy);
                                }
                                Err(Fault::TooLong) => self.tell([copy], Verdict::Dropped(Drop::TooLarge)),
                                Err(Fault::Refused) => self.tell([copy], Verdict::GivenBack(GiveBack::SendRefused)),
                                Err(Fault::Denied | Fault::Absent) => closed.push(copy),
                            }
                        }
                        self.closed(closed).await;
                    }
                    Some(Err(Fault::Again(reason))) => {
                        why = reason;
                        again.extend(batch);
                    }
                    Some(Err(Fault::Denied | Fault::Absent)) => self.closed(batch).await,
                    // One message must not keep its neighbours from their queue.
                    Some(Err(Fault::TooLong | Fault::Refused)) if batch.len() > 1 => {
                        let (left, right) = batch.split_at(batch.len() / 2);
                        waiting.extend([left.to_vec(), right.to_vec()]);
                    }
                    Some(Err(Fault::TooLong)) => self.tell(batch, Verdict::Dropped(Drop::TooLarge)),
                    Some(Err(Fault::Refused)) => self.tell(batch, Verdict::GivenBack(GiveBack::SendRefused)),
                }
            }
            if again.is_empty() {
                return self.told;
            }
            if !backoff.again(&*self.clock).await {
                self.tell(again, Verdict::GivenBack(why));
                return self.told;
            }
            waiting = batches(again);
        }
    }

    async fn send(&self, batch: &[Copy]) -> Option<Result<Vec<Result<(), Fault>>, Fault>> {
        let bodies: Vec<&str> = batch.iter().map(|copy| copy.body.as_str()).collect();
        let _permit = self.router.permit().await;
        self.calls.send();
        self.clock
            .within(self.router.queues.send(&self.to.queue, &bodies))
            .await
    }

    /// The queue is shut or not there: whose it is decides.
    async fn closed(&mut self, copies: Vec<Copy>) {
        if copies.is_empty() {
            return;
        }
        let registration = self.router.registration(&self.to, &self.calls, &*self.clock).await;
        let verdict = match registration {
            Ok(Registration::Absent) => Verdict::Dropped(Drop::Unregistered),
            Ok(Registration::NotOurs) => Verdict::Dropped(Drop::QueueNotOurs),
            Ok(Registration::Ours | Registration::Denied) => Verdict::GivenBack(GiveBack::QueueDenied),
            Err(why) => Verdict::GivenBack(why),
        };
        self.tell(copies, verdict);
    }

    fn tell(&mut self, copies: impl IntoIterator<Item = Copy>, verdict: Verdict) {
        let at = self.clock.now();
        self.told.extend(copies.into_iter().map(|copy| Told {
            copy: copy.number,
            verdict,
            at,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_both_limits() {
        let mib = LARGEST;
        for (sizes, expected) in [
            (vec![], vec![]),
            (vec![1; 10], vec![10]),
            (vec![1; 21], vec![10, 10, 1]),
            (vec![mib, 1], vec![1, 1]),
            (vec![mib / 2, mib / 2, 1], vec![2, 1]),
        ] {
            let copies = sizes
                .iter()
                .enumerate()
                .map(|(number, size)| Copy {
                    number,
                    body: "x".repeat(*size),
                })
                .collect();
            let batches: Vec<usize> = batches(copies).iter().map(Vec::len).collect();
            assert_eq!(batches, expected, "{sizes:?}");
        }
    }
}
