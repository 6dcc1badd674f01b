//! A load test with faults: more events than any account has in a minute, to many clusters, while the services fail in
//! every possible way. At the end, the balance must show that nothing was lost or misrouted.
//!
//! The small storm runs with all tests. The whole storm, on a release build of the router:
//!
//! ```text
//! cargo test --test main storm::whole -- --ignored --nocapture
//! ```
//!
//! `KIBUS_STORM_CLUSTERS`, `KIBUS_STORM_EVENTS` and `KIBUS_STORM_ROUTER` (the router's binary) change its size.

mod balance;
mod faults;
mod proxy;
mod receive;
mod send;
mod test_bus;
mod workload;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use balance::Balance;
use faults::FaultInjector;
use proxy::Proxy;
use receive::Receiver;
use test_bus::TestBus;
use workload::{ExpectedResult, Workload};

/// How long the storm may stall.
const STALLED: Duration = Duration::from_secs(120);

struct Storm {
    clusters: usize,
    events: usize,
    /// The hub queue's receive count, after which a message becomes a dead letter.
    receives: u32,
    router: PathBuf,
}

#[tokio::test]
async fn nothing_is_lost_in_a_small_storm() {
    let storm = Storm { clusters: 10, events: 300, receives: 2, router: env!("CARGO_BIN_EXE_kibus-router").into() };
    let balance = storm.run().await;
    assert_eq!(balance.wrong, [""; 0], "{:#?}", balance.report);
}

/// The router ends between its receives and its deletes. Messages that it received itself return soon after the
/// invocation's time, and those from Lambda after the hub queue's visibility timeout.
#[tokio::test]
async fn what_a_killed_router_had_received_arrives() {
    let storm = Storm { clusters: 10, events: 170, receives: 20, router: env!("CARGO_BIN_EXE_kibus-router").into() };
    let (workload, faults, bus) = storm.open().await;
    bus.hide_in_hub(5).await;
    // Those for one cluster.
    let events: Vec<usize> = (0..workload.events).filter(|event| event % 100 < 70).collect();
    faults.halt_deletes(true);
    for batch in events.chunks(10) {
        send::put(&bus, &workload, batch).await;
    }
    tokio::time::timeout(STALLED, faults.halted()).await.unwrap();
    assert!(bus.kill_functions() > 0);
    faults.halt_deletes(false);

    let begun = Instant::now();
    while bus.waiting_in_hub().await > 0 {
        assert!(begun.elapsed() < STALLED, "the hub queue does not drain");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let receiver = Receiver::new(&bus, &workload);
    receiver.sweep(&workload).await;
    let received = receiver.end();
    assert_eq!(received.unexpected, [] as [&str; 0]);
    for event in events {
        let got = received.events.get(&event).into_iter().flatten();
        let queues = got.map(|(queue, _)| queue.clone()).collect();
        let clusters = workload.expected(event);
        let ExpectedResult::Delivered(clusters) = clusters else { panic!("event {event} should be {clusters:?}") };
        let expected: BTreeSet<String> = clusters.iter().map(|cluster| workload.queue(*cluster)).collect();
        assert_eq!(expected, queues, "event {event}");
    }
    assert_eq!(bus.dead_letters().await, [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes all processors for minutes; the small storm checks the same in every run"]
async fn whole() {
    let number = |variable: &str, default| std::env::var(variable).map_or(default, |text| text.parse().unwrap());
    let router = std::env::var_os("KIBUS_STORM_ROUTER");
    let storm = Storm {
        clusters: number("KIBUS_STORM_CLUSTERS", 200),
        events: number("KIBUS_STORM_EVENTS", 20_000),
        receives: 4,
        router: router.map_or_else(|| env!("CARGO_BIN_EXE_kibus-router").into(), PathBuf::from),
    };
    let balance = storm.run().await;
    println!("{:#?}", balance.report);
    assert_eq!(balance.wrong, [""; 0]);
}

impl Storm {
    async fn open(&self) -> (Arc<Workload>, Arc<FaultInjector>, TestBus) {
        let workload = Arc::new(Workload::new(self.clusters, self.events));
        let shut = [workload.locked_queue(), workload.foreign_queue()];
        let faults = Arc::new(FaultInjector::new(shut, workload.doomed_queue()));
        let proxy = Proxy::listen(Arc::clone(&faults)).await;
        let bus = TestBus::start(&proxy, &workload, &self.router, self.receives).await;
        (workload, faults, bus)
    }

    async fn run(&self) -> Balance {
        let (workload, faults, bus) = self.open().await;
        let receiver = Receiver::new(&bus, &workload);

        let begun = Instant::now();
        faults.begin();
        let sent = send::send(&bus, &workload, &receiver, async || {
            // Halfway through, a queue is deleted. It is emptied first, so that its messages do not count as lost.
            let closed = faults.close(&workload.doomed_queue()).await;
            receiver.empty(&workload.doomed_queue()).await;
            bus.delete(&workload.doomed_queue()).await;
            drop(closed);
        });
        let (sent, ()) = tokio::join!(sent, self.watch(&bus, &receiver, &faults));
        let took = begun.elapsed();
        faults.end();
        receiver.sweep(&workload).await;
        let (dead_letters, log) = (bus.dead_letters().await, bus.router_log().await);
        Balance::new(&workload, &sent, receiver.end(), &dead_letters, &log, &faults.counts())
            .with_times(took, bus.processor_time())
    }

    /// Receives from the clusters' queues until the hub queue is empty.
    async fn watch(&self, bus: &TestBus, receiver: &Receiver<'_>, faults: &FaultInjector) {
        let (mut last, mut moved) = (0, Instant::now());
        loop {
            receiver.collect(&faults.take_touched()).await;
            let waiting = bus.waiting_in_hub().await;
            receiver.note_waiting(waiting);
            let sent = receiver.sent();
            let done = sent.saturating_sub(waiting);
            if sent == self.events && waiting == 0 {
                return;
            }
            if done != last {
                (last, moved) = (done, Instant::now());
            }
            assert!(moved.elapsed() < STALLED, "no progress: {done} of {} events are routed", self.events);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
