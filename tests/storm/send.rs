//! Sends the events: those of AWS to the hub queue, as the rules do, and the probes to the event bus.

use kibus::cloud::Probe;
use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::receive::Receiver;
use super::test_bus::TestBus;
use super::workload::Workload;

/// How many messages may be in the hub queue: the emulator is slow with long queues.
const DEPTH: usize = 300;

/// The event numbers by the message ids of the hub queue.
pub(super) type SentEvents = BTreeMap<String, usize>;

/// Sends all events, and runs `middle` after half of them.
pub(super) async fn send(
    bus: &TestBus,
    workload: &Workload,
    receiver: &Receiver<'_>,
    middle: impl AsyncFnOnce(),
) -> SentEvents {
    let mut sent = SentEvents::new();
    let all: Vec<usize> = (0..workload.events).collect();
    let mut middle = Some(middle);
    for batch in all.chunks(10) {
        while receiver.waiting() > DEPTH {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if batch[0] >= workload.events / 2
            && let Some(middle) = middle.take()
        {
            middle().await;
        }
        let (probes, events): (Vec<usize>, Vec<usize>) = batch.iter().partition(|event| Workload::is_probe(**event));
        if !events.is_empty() {
            sent.extend(put(bus, workload, &events).await);
        }
        for probe in probes {
            let event = serde_json::from_str(&workload.body(probe)).unwrap();
            bus.cloud.put_event(&event).await.unwrap();
        }
        receiver.note_sent(batch.len());
    }
    sent
}

/// Puts events into the hub queue, up to ten at a time.
pub(super) async fn put(bus: &TestBus, workload: &Workload, events: &[usize]) -> SentEvents {
    let mut call = bus.sqs.send_message_batch().queue_url(bus.hub());
    for event in events {
        let entry = SendMessageBatchRequestEntry::builder().id(event.to_string()).message_body(workload.body(*event));
        call = call.entries(entry.build().unwrap());
    }
    let answer = call.send().await.unwrap();
    assert!(answer.failed().is_empty(), "the hub queue refuses a message");
    answer.successful().iter().map(|entry| (entry.message_id().to_owned(), entry.id().parse().unwrap())).collect()
}
