//! Cluster to queue: outgoing messages in batches, to many queues at once, and the handling of refusals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::clock::{Backoff, Clock};
use super::decision::{Decision, DropReason, RetryReason};
use super::decode::LARGEST;
use super::registry::{Destination, Registration};
use super::services::{CallError, CallFailure, Services};
use super::{InvocationContext, side_by_side};

/// The maximum number of messages per call.
const BATCH: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Its number among the outgoing messages of this invocation.
    pub(super) number: usize,
    pub(super) body: String,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SendResult {
    pub(super) number: usize,
    pub(super) decision: Decision,
    pub(super) at: Instant,
}

/// Sends messages to their destinations and gives the result of each. A message without a result was not sent in time.
pub(super) async fn deliver<S: Services, C: Clock>(
    context: &Arc<InvocationContext<S, C>>,
    outgoing: BTreeMap<Destination, Vec<Outgoing>>,
) -> Vec<SendResult> {
    let mut results = Vec::new();
    let mut senders = Vec::new();
    // Queues that dropped the last event come last, so that an unregistered cluster takes no time from the others.
    let is_other = |(to, _): &(Destination, _)| !context.router.registry.drops(&to.queue);
    let (mut others, dropping): (Vec<_>, Vec<_>) = outgoing.into_iter().partition(is_other);
    // Messages from Lambda have the lowest numbers.
    others.sort_by_key(|(_, messages)| messages.first().map(|message| message.number));
    for (to, messages) in others.into_iter().chain(dropping) {
        let (large, messages): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| message.body.len() > LARGEST);
        results.extend(large.iter().map(|message| SendResult {
            number: message.number,
            decision: Decision::Dropped(DropReason::TooLarge),
            at: context.clock.now(),
        }));
        for batch in batches(messages) {
            let sender =
                BatchSender { context: Arc::clone(context), to: to.clone(), results: Vec::with_capacity(batch.len()) };
            senders.push(sender.run(batch));
        }
    }
    let sent = side_by_side(senders).await;
    results.extend(sent.into_iter().flatten().flatten());
    results
}

/// The messages in order, in as few batches as the limits of a call allow.
fn batches(messages: Vec<Outgoing>) -> Vec<Vec<Outgoing>> {
    let mut batches: Vec<Vec<Outgoing>> = Vec::new();
    let mut bytes = 0;
    for message in messages {
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH && bytes + message.body.len() <= LARGEST => {
                bytes += message.body.len();
                batch.push(message);
            }
            _ => {
                bytes = message.body.len();
                batches.push(vec![message]);
            }
        }
    }
    batches
}

/// Sends one batch to one queue until every message in it has a result.
struct BatchSender<S, C> {
    context: Arc<InvocationContext<S, C>>,
    to: Destination,
    results: Vec<SendResult>,
}

impl<S: Services, C: Clock> BatchSender<S, C> {
    async fn run(mut self, batch: Vec<Outgoing>) -> Vec<SendResult> {
        let mut waiting = vec![batch];
        let mut backoff = Backoff::default();
        loop {
            let mut again: Vec<Outgoing> = Vec::new();
            let mut why = RetryReason::OutOfTime;
            while let Some(batch) = waiting.pop() {
                let answers = match self.send(&batch).await {
                    None => {
                        again.extend(batch);
                        continue;
                    }
                    // One message must not keep its neighbors from their queue.
                    Some(Err(CallFailure::TooLong | CallFailure::Refused)) if batch.len() > 1 => {
                        let (left, right) = batch.split_at(batch.len() / 2);
                        waiting.extend([left.to_vec(), right.to_vec()]);
                        continue;
                    }
                    Some(Err(failure)) => vec![Err(failure); batch.len()],
                    Some(Ok(answers)) => answers,
                };
                // A message that the answer does not mention may not have been accepted.
                let missing = std::iter::repeat(Err(CallFailure::Again(RetryReason::SendUnavailable)));
                let mut denied = Vec::new();
                for (message, answer) in batch.into_iter().zip(answers.into_iter().chain(missing)) {
                    let decision = match answer {
                        Ok(()) => Decision::Delivered,
                        Err(CallFailure::TooLong) => Decision::Dropped(DropReason::TooLarge),
                        Err(CallFailure::Refused) => Decision::Retried(RetryReason::SendRefused),
                        Err(CallFailure::Absent) => Decision::Dropped(DropReason::Unregistered),
                        Err(CallFailure::Denied) => {
                            denied.push(message);
                            continue;
                        }
                        Err(CallFailure::Again(reason)) => {
                            why = reason;
                            again.push(message);
                            continue;
                        }
                    };
                    self.decide([message], decision);
                }
                self.decide_denied(denied).await;
            }
            if again.is_empty() {
                return self.results;
            }
            if !backoff.again(&self.context.clock).await {
                self.decide(again, Decision::Retried(why));
                return self.results;
            }
            waiting = batches(again);
        }
    }

    /// The result of a call, with the result of each message.
    async fn send(&self, batch: &[Outgoing]) -> Option<Result<Vec<Result<(), CallFailure>>, CallFailure>> {
        let bodies: Vec<&str> = batch.iter().map(|message| message.body.as_str()).collect();
        let InvocationContext { router, calls, clock, .. } = &*self.context;
        let call = async {
            calls.send.add(1);
            clock.within(router.services.send(&self.to.queue, &bodies)).await
        };
        let answer = router.permitted(call).await?;
        let failure = |e: CallError| e.failure;
        let entries = |entries: Vec<Result<(), CallError>>| entries.into_iter().map(|entry| entry.map_err(failure));
        Some(answer.map(|answers| entries(answers).collect()).map_err(failure))
    }

    /// The queue denied access, so its registration decides. SQS may also deny access to a queue that does not exist.
    async fn decide_denied(&mut self, messages: Vec<Outgoing>) {
        if messages.is_empty() {
            return;
        }
        let decision = match self.context.registration(&self.to).await {
            Ok(Registration::Absent) => Decision::Dropped(DropReason::Unregistered),
            Ok(Registration::NotOurs) => Decision::Dropped(DropReason::QueueNotOurs),
            Ok(Registration::Ours | Registration::Denied) => Decision::Retried(RetryReason::QueueDenied),
            Err(why) => Decision::Retried(why),
        };
        self.decide(messages, decision);
    }

    fn decide(&mut self, messages: impl IntoIterator<Item = Outgoing>, decision: Decision) {
        let at = self.context.clock.now();
        self.results.extend(messages.into_iter().map(|message| SendResult { number: message.number, decision, at }));
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
            let messages =
                sizes.iter().enumerate().map(|(number, size)| Outgoing { number, body: "x".repeat(*size) }).collect();
            let batches: Vec<usize> = batches(messages).iter().map(Vec::len).collect();
            assert_eq!(batches, expected, "{sizes:?}");
        }
    }
}
