//! Sends the events: those of AWS's own to the hub queue, as the rules do, and the probes to the event bus.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use kibus::cloud::Probe;

use super::bus::Bus;
use super::collector::Collector;
use super::traffic::Plan;

/// How many messages the hub queue holds at most: the emulator gets slow with depth.
const DEPTH: usize = 300;

/// The events by the ids that the hub queue gave to their messages.
pub(super) type Sent = BTreeMap<String, usize>;

/// Sends everything, and does something else in the middle.
pub(super) async fn send(bus: &Bus, plan: &Plan, collector: &Collector<'_>, middle: impl AsyncFnOnce()) -> Sent {
    let mut sent = Sent::new();
    let all: Vec<usize> = (0..plan.events).collect();
    let mut middle = Some(middle);
    for batch in all.chunks(10) {
        while collector.waiting() > DEPTH {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if batch[0] >= plan.events / 2
            && let Some(middle) = middle.take()
        {
            middle().await;
        }
        let (probes, events): (Vec<usize>, Vec<usize>) = batch.iter().partition(|event| Plan::is_probe(**event));
        if !events.is_empty() {
            sent.extend(put(bus, plan, &events).await);
        }
        for probe in probes {
            let event = serde_json::from_str(&plan.body(probe)).unwrap();
            bus.cloud.put_event(&event).await.unwrap();
        }
        collector.note_sent(batch.len());
    }
    sent
}

async fn put(bus: &Bus, plan: &Plan, events: &[usize]) -> Sent {
    let mut call = bus.sqs.send_message_batch().queue_url(bus.hub());
    for event in events {
        let entry = SendMessageBatchRequestEntry::builder()
            .id(event.to_string())
            .message_body(plan.body(*event));
        call = call.entries(entry.build().unwrap());
    }
    let answer = call.send().await.unwrap();
    assert!(answer.failed().is_empty(), "the hub queue takes everything");
    answer
        .successful()
        .iter()
        .map(|entry| (entry.message_id().to_owned(), entry.id().parse().unwrap()))
        .collect()
}
