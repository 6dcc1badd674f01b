//! The measurements.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kibus_harness::hub_queue::Hub;
use kibus_harness::runtime_api::Invocation;
use kibus_harness::tls::Authority;
use tempfile::TempDir;
use tokio::process::Child;

use crate::events::Events;
use crate::fake_services::{CLUSTERS, FakeServices};
use crate::function::{Program, Services, Share, resident, start};
use crate::runtime_api::RuntimeApi;

/// The latency of EC2 and SQS in the slow rows.
pub const LATENCY: Duration = Duration::from_millis(40);

/// The conditions of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Events in a batch.
    pub batch: usize,
    /// Events that wait in the hub queue for each batch. Only kibus receives them.
    pub waiting: usize,
    /// The latency of every answer.
    pub latency: Duration,
    /// Whether the function uses TLS.
    pub tls: bool,
    /// Whether it has only 0.15 CPU.
    pub small: bool,
}

/// The results of a load.
#[derive(Clone, Copy, Debug)]
pub struct Warm {
    /// Events per second.
    pub rate: f64,
    /// The median invocation, in milliseconds.
    pub invocation: f64,
    /// Calls to EC2 and SQS per event.
    pub calls: f64,
    /// Resident memory afterwards and at its peak, in KiB.
    pub resident: (u64, u64),
}

/// The results of one program, each a list of runs.
#[derive(Default)]
pub struct Measured {
    /// From exec to the first answer in milliseconds, by TLS and CPU limit.
    pub cold: Vec<((bool, bool), Vec<f64>)>,
    /// By load.
    pub warm: Vec<(Load, Vec<Warm>)>,
}

/// The local servers.
pub struct Bench {
    fakes: Arc<FakeServices>,
    http: Services,
    https: Services,
    share: Option<Share>,
    _files: TempDir,
}

impl Bench {
    pub async fn new() -> Result<Self, Box<dyn Error>> {
        let files = tempfile::tempdir()?;
        let bundle = files.path().join("roots.pem");
        // Both routers use TLS with all checks. A function in Lambda loads about the same number of certificates as this machine has.
        let authority = Authority::new("benchmark authority");
        let system = std::fs::read_to_string("/etc/ssl/certs/ca-certificates.crt").unwrap_or_default();
        std::fs::write(&bundle, format!("{system}\n{}", authority.pem()))?;
        let fakes = Arc::new(FakeServices::default());
        let services = |endpoint| Services { endpoint, bundle: bundle.clone() };
        let (http, https) = (services(fakes.listen(None).await), services(fakes.listen(Some(&authority)).await));
        let share = Share::new();
        if share.is_none() {
            eprintln!("cannot create a control group: skipping the rows with 0.15 CPU");
        }
        Ok(Self { fakes, http, https, share, _files: files })
    }

    /// Measures all programs in turn, so that a disturbance affects all of them.
    pub async fn run(&self, programs: &[Program; 2], runs: usize) -> Result<[Measured; 2], Box<dyn Error>> {
        let mut measured = [Measured::default(), Measured::default()];
        let mut events = Events::default();
        let shares: &[bool] = if self.share.is_some() { &[false, true] } else { &[false] };
        for run in 1..=runs {
            eprintln!("run {run} of {runs}");
            for (program, measured) in programs.iter().zip(&mut measured) {
                for &small in shares {
                    for tls in [false, true] {
                        // The first start has a cold page cache.
                        let times = if run == 1 { 4 } else { 3 };
                        for _ in 0..times {
                            let cold = self.cold(program, tls, small, &mut events).await?;
                            note(&mut measured.cold, (tls, small), cold);
                        }
                    }
                }
                let storms = storms().filter(|_| program.name == "kibus-router");
                for load in loads().chain(storms).filter(|load| !load.small || self.share.is_some()) {
                    let warm = self.warm(program, load, &mut events).await?;
                    note(&mut measured.warm, load, warm);
                }
            }
        }
        Ok(measured)
    }

    fn start(&self, program: &Program, api: &RuntimeApi, tls: bool, small: bool) -> std::io::Result<Child> {
        let services = if tls { &self.https } else { &self.http };
        start(program, &api.address, services, self.share.as_ref().filter(|_| small))
    }

    async fn cold(
        &self,
        program: &Program,
        tls: bool,
        small: bool,
        events: &mut Events,
    ) -> Result<f64, Box<dyn Error>> {
        let mut api = RuntimeApi::listen().await;
        self.fakes.set_latency(Duration::ZERO);
        let event = events.batches(1, 1);
        let begun = Instant::now();
        let mut child = self.start(program, &api, tls, small)?;
        let answered = api.invoke(&event).await?;
        let took = answered[0].ended.duration_since(begun);
        self.ended(&mut child, 1).await?;
        Ok(millis(took))
    }

    async fn warm(&self, program: &Program, load: Load, events: &mut Events) -> Result<Warm, Box<dyn Error>> {
        let mut api = RuntimeApi::listen().await;
        let mut child = self.start(program, &api, load.tls, load.small)?;
        self.fakes.set_latency(Duration::ZERO);
        // One large batch warms everything.
        let warming = if load.batch == 1 { 3 } else { 1 };
        api.invoke(&events.batches(warming, load.batch)).await?;
        self.fakes.take();
        self.fakes.set_latency(load.latency);
        // A measurement should take seconds, so the fast program gets more events.
        let count = count(program, load);
        let batches = events.batches(count, load.batch);
        *self.fakes.hub.lock().unwrap() = Hub { bodies: events.bodies(count * load.waiting), ..Hub::default() };
        let answered = api.invoke(&batches).await?;
        let resident = resident(&child).ok_or("the function's memory is not readable")?;
        let sent = count * (load.batch + load.waiting);
        let calls = self.ended(&mut child, sent).await?;
        let (first, last) = (answered.first().ok_or("none")?, answered.last().ok_or("none")?);
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        Ok(Warm {
            rate: sent as f64 / last.ended.duration_since(first.begun).as_secs_f64(),
            invocation: median(answered.iter().map(invocation).collect()),
            calls: calls as f64 / sent as f64,
            resident,
        })
    }

    /// Kills a function, and checks that every event is in one queue and every queue has its share.
    async fn ended(&self, child: &mut Child, sent: usize) -> Result<u64, Box<dyn Error>> {
        child.kill().await?;
        let (calls, queues) = self.fakes.take();
        let hub = std::mem::take(&mut *self.fakes.hub.lock().unwrap());
        let left = hub.bodies.len() - hub.deleted.len();
        if left > 0 {
            return Err(format!("{left} events are still in the hub queue").into());
        }
        let messages: u64 = queues.values().sum();
        let even = sent as u64 / CLUSTERS;
        if messages != sent as u64 || queues.values().any(|got| got.abs_diff(even) > 1) {
            return Err(format!("{sent} events were sent, but the queues have {queues:?}").into());
        }
        Ok(calls)
    }
}

/// All loads for a warm function.
pub fn loads() -> impl Iterator<Item = Load> {
    let load = |batch, latency| Load { batch, waiting: 0, latency, tls: false, small: false };
    let plain =
        [Duration::ZERO, LATENCY].into_iter().flat_map(move |latency| [1, 10, 100].map(|batch| load(batch, latency)));
    let tls = [Duration::ZERO, LATENCY].map(|latency| Load { tls: true, ..load(100, latency) });
    let small = [Duration::ZERO, LATENCY].map(|latency| Load { tls: true, small: true, ..load(100, latency) });
    plain.chain(tls).chain(small)
}

/// The loads of a storm, in which each full batch of Lambda becomes one of 200.
pub fn storms() -> impl Iterator<Item = Load> {
    [(Duration::ZERO, false), (LATENCY, false), (LATENCY, true)].into_iter().map(|(latency, small)| Load {
        batch: 10,
        waiting: 190,
        latency,
        tls: true,
        small,
    })
}

/// How many batches are sent.
fn count(program: &Program, load: Load) -> usize {
    let ours = program.name == "kibus-router";
    match (ours, load.small, load.latency.is_zero(), load.batch) {
        (true, true, true, _) => 50,
        (true, true, false, _) => 20,
        (true, false, true, 100) => 1000,
        (true, false, true, _) if load.waiting > 0 => 500,
        (true, false, true, _) => 3000,
        (true, false, false, _) => 30,
        (false, true, ..) => 1,
        (false, false, true, 100) => 10,
        (false, false, true, 10) => 100,
        (false, false, true, _) => 1000,
        (false, false, false, 1) => 10,
        (false, false, false, _) => 1,
    }
}

fn note<K: PartialEq, V>(all: &mut Vec<(K, Vec<V>)>, key: K, value: V) {
    match all.iter_mut().find(|(known, _)| *known == key) {
        Some((_, values)) => values.push(value),
        None => all.push((key, vec![value])),
    }
}

fn invocation(answered: &Invocation) -> f64 {
    millis(answered.ended.duration_since(answered.begun))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 0 { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] }
}
