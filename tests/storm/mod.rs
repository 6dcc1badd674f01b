//! A storm: more events than any account has in a minute, to many clusters, on services that fail in every way they
//! can, and an account at the end that must balance: nothing lost, nothing misrouted.
//!
//! The small one is a law that runs with all tests. The whole one, on a release build of the router:
//!
//! ```text
//! cargo test --test main storm::whole -- --ignored --nocapture
//! ```
//!
//! `KIBUS_STORM_CLUSTERS`, `KIBUS_STORM_EVENTS` and `KIBUS_STORM_ROUTER` (the router's binary) change it.

mod account;
mod bus;
mod collector;
mod faults;
mod proxy;
mod sender;
mod traffic;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use account::Account;
use bus::Bus;
use collector::Collector;
use faults::Faults;
use proxy::Proxy;
use traffic::Plan;

/// How long the bus may go without anything happening.
const PATIENCE: Duration = Duration::from_secs(120);

/// A storm.
struct Storm {
    clusters: usize,
    events: usize,
    /// How often the hub queue lets a message be received before it is a dead letter.
    receives: u32,
    router: PathBuf,
}

#[tokio::test]
async fn nothing_is_lost_in_a_small_one() {
    let storm = Storm {
        clusters: 10,
        events: 300,
        receives: 2,
        router: env!("CARGO_BIN_EXE_kibus-router").into(),
    };
    let account = storm.rage().await;
    assert_eq!(account.wrong(), [] as [&str; 0], "{account}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes all processors for minutes; the small one above holds the same law in every run"]
async fn whole() {
    let number = |variable: &str, default| std::env::var(variable).map_or(default, |text| text.parse().unwrap());
    let router = std::env::var_os("KIBUS_STORM_ROUTER");
    let storm = Storm {
        clusters: number("KIBUS_STORM_CLUSTERS", 200),
        events: number("KIBUS_STORM_EVENTS", 20_000),
        receives: 4,
        router: router.map_or_else(|| env!("CARGO_BIN_EXE_kibus-router").into(), PathBuf::from),
    };
    let account = storm.rage().await;
    println!("{account}");
    for wrong in account.wrong() {
        println!("missing: {wrong}");
    }
    assert!(account.wrong().is_empty(), "the account does not balance");
}

impl Storm {
    async fn rage(&self) -> Account {
        let plan = Arc::new(Plan::new(self.clusters, self.events));
        let faults = Arc::new(Faults::new(
            [plan.locked_queue(), plan.foreign_queue()],
            plan.doomed_queue(),
        ));
        let proxy = Proxy::listen(Arc::clone(&faults)).await;
        let bus = Bus::raise(&proxy, &plan, &self.router, self.receives).await;
        let collector = Collector::new(&bus, &plan);

        let begun = Instant::now();
        faults.begin();
        let bar = bar(self.events);
        let sent = sender::send(&bus, &plan, &collector, async || {
            // In the middle of it a queue goes: what is in it is taken out first, so that it can be told from what is lost.
            let closed = faults.close(&plan.doomed_queue()).await;
            collector.empty(&plan.doomed_queue()).await;
            bus.delete(&plan.doomed_queue()).await;
            drop(closed);
        });
        let (sent, ()) = tokio::join!(sent, self.watch(&bus, &collector, &faults, &bar));
        let took = begun.elapsed();
        bar.finish_and_clear();
        faults.end();
        collector.sweep(&plan).await;
        Account::new(
            &plan,
            &sent,
            collector.end(),
            &bus.dead_letters().await,
            &bus.said().await,
            took,
        )
        .with_faults(faults.told())
        .with_processor(bus.processor_time())
    }

    /// Takes out of the clusters' queues what comes in, until the hub queue has been emptied.
    async fn watch(&self, bus: &Bus, collector: &Collector<'_>, faults: &Faults, bar: &ProgressBar) {
        let (mut last, mut moved) = (0, Instant::now());
        loop {
            collector.collect(&faults.take_touched()).await;
            let waiting = bus.waiting_in_hub().await;
            collector.note_waiting(waiting);
            let handed = collector.handed_over();
            let done = handed.saturating_sub(waiting);
            bar.set_position(done as u64);
            bar.set_message(format!(
                "{} arrived, {waiting} in the hub queue, {} faults",
                collector.arrived(),
                faults.count()
            ));
            if handed == self.events && waiting == 0 {
                return;
            }
            if done != last {
                (last, moved) = (done, Instant::now());
            }
            assert!(
                moved.elapsed() < PATIENCE,
                "nothing moves: {done} of {} are through",
                self.events
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn bar(events: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed} {bar:30} {pos} of {len}: {msg}").unwrap();
    ProgressBar::new(events as u64).with_style(style)
}
