//! Samples of queues' message counts over time.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use super::clock::{Clock, WallClock};
use crate::cloud::Probe;
use crate::model::name::QueueName;
use crate::model::scope::Scope;
use crate::model::status::Depth;

/// How long a watch takes: the counts are right about a minute after producers stop (SQS API reference,
/// `GetQueueAttributes`).
const WATCH: Duration = Duration::from_secs(60);
/// The pause between two samples of a watch.
const PAUSE: Duration = Duration::from_secs(10);
/// The pause before a single further sample.
const GLANCE: Duration = Duration::from_secs(2);

/// One more sample of these queues, a moment later. A queue that cannot be read has none.
pub async fn glance(cloud: &impl Probe, scope: &Scope, queues: &[QueueName]) -> BTreeMap<QueueName, Vec<Depth>> {
    sample(cloud, Some(scope), queues, &WallClock::start(), GLANCE, GLANCE).await
}

/// Samples of these queues over a minute, each until it is empty, without a receive: probes of kibus count as messages.
pub async fn watch(cloud: &impl Probe, queues: &[QueueName]) -> BTreeMap<QueueName, Vec<Depth>> {
    sample(cloud, None, queues, &WallClock::start(), WATCH, PAUSE).await
}

/// Samples of queues. With a scope, probes that wait in the queues of its clusters do not count.
async fn sample(
    cloud: &impl Probe,
    scope: Option<&Scope>,
    queues: &[QueueName],
    clock: &impl Clock,
    time: Duration,
    pause: Duration,
) -> BTreeMap<QueueName, Vec<Depth>> {
    let mut samples: BTreeMap<QueueName, Vec<Depth>> = BTreeMap::new();
    let mut left: Vec<QueueName> = queues.to_vec();
    while !left.is_empty() && clock.elapsed() < time {
        clock.sleep(pause).await;
        let read = left.into_iter().map(|queue| async {
            let mut depth = cloud.depth(&queue).await.ok().flatten()?;
            // Only probes that were interrupted may wait. A receive from a queue of the hub could make a dead letter.
            let may_have_probes = scope.is_some_and(|scope| !scope.hub_queues().contains(&queue));
            if depth.waiting > 0 && may_have_probes {
                let seen = cloud.look(&queue).await.unwrap_or_default().0;
                let probes = seen.into_values().filter(|is_probe| *is_probe).count();
                if probes as u64 >= depth.waiting {
                    depth.waiting = 0;
                }
            }
            Some((queue, depth))
        });
        left = Vec::new();
        for (queue, depth) in join_all(read).await.into_iter().flatten() {
            samples.entry(queue.clone()).or_default().push(depth);
            if depth != Depth::default() {
                left.push(queue);
            }
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::super::fake::LateCloud;
    use super::*;
    use crate::model::scope::tests::scope;

    /// S12: a watch takes a minute, or ends when the queue is empty or unreadable.
    #[tokio::test]
    async fn a_watch_takes_samples_over_a_minute_while_messages_wait() {
        let queue: QueueName = "kibus-hub".parse().unwrap();
        for (name, counts, time, pause, taken) in [
            ("messages that stay", vec![3; 9], WATCH, PAUSE, (6, 60)),
            ("messages that are received", vec![3, 1, 0, 3], WATCH, PAUSE, (3, 30)),
            ("a queue that is gone", vec![], WATCH, PAUSE, (0, 10)),
            ("a glance", vec![3; 9], GLANCE, GLANCE, (1, 2)),
        ] {
            let cloud = LateCloud::counts(&counts, 0);
            let samples = sample(
                &cloud,
                Some(&scope()),
                std::slice::from_ref(&queue),
                &cloud,
                time,
                pause,
            )
            .await;
            let found = samples.get(&queue).map_or(0, Vec::len);
            assert_eq!(
                (found, cloud.elapsed()),
                (taken.0, Duration::from_secs(taken.1)),
                "{name}"
            );
        }
    }

    #[tokio::test]
    async fn probes_alone_in_a_cluster_queue_do_not_count_and_no_hub_queue_is_received_from() {
        for (queue, probes, waiting) in [
            ("karpenter-base", 2, 3),
            ("karpenter-base", 3, 0),
            ("kibus-hub", 3, 3),
            ("kibus-hub-dlq", 3, 3),
        ] {
            let queue: QueueName = queue.parse().unwrap();
            let cloud = LateCloud::counts(&[3], probes);
            let samples = sample(
                &cloud,
                Some(&scope()),
                std::slice::from_ref(&queue),
                &cloud,
                GLANCE,
                GLANCE,
            )
            .await;
            assert_eq!(samples[&queue], [Depth { waiting, in_flight: 0 }], "{queue}");
        }
    }
}
