//! The model of the hub queue, its pollers, the routers and EC2's bucket.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};

/// EC2's bucket for `DescribeTags`: tokens, and tokens a second (EC2 developer guide, request throttling).
const BUCKET: (f64, f64) = (100.0, 20.0);
/// Lambda's pollers: batches at once in the beginning, and more of them each second (Lambda developer guide, scaling of
/// SQS mappings).
const POLLERS: (f64, f64) = (5.0, 5.0);
/// To receive a batch, to invoke the function, and to delete the messages. An assumption.
const POLL: f64 = 0.03;
/// The processor time of an invocation, and of each of its messages: what the benchmark of the router measures beyond two
/// round trips.
const COMPUTE: (f64, f64) = (0.006, 0.000_05);
/// How long an invocation may make calls: the function's timeout less what the router keeps.
const CALLS: f64 = 8.5;
/// The first and the longest wait before a throttled call is repeated, and how much of it is not random.
const BACKOFF: (f64, f64, f64) = (0.05, 1.0, 0.5);
/// How often the hub queue hands out a message.
const RECEIVES: u32 = 20;
/// How many messages Lambda passes, and one call takes.
const BATCH: usize = 10;
/// How often the router receives more after a full batch, and how many calls it makes at once besides those about tags
/// of queues.
const OWN_RECEIVES: usize = 19;
const CONCURRENT_CALLS: usize = 30;
/// From this receive on, a message is routed in a batch of Lambda only.
const ALONE_FROM: u32 = 10;
/// A receive without waiting asks only some of the servers of SQS. It gives fewer messages than ten from a queue of fewer
/// than this (SQS API reference, ReceiveMessage); how many fewer is an assumption: a hundredth of what waits.
const SAMPLED: usize = 1_000;

/// A storm and a mapping.
#[derive(Clone, Copy)]
pub struct Setup {
    pub events: usize,
    /// How many instances the events are about, in turn.
    pub instances: usize,
    /// The time in which the events arrive.
    pub spread: f64,
    /// How many clusters the instances belong to, in turn.
    pub clusters: usize,
    /// Whether the router receives more after a full batch.
    pub receives: bool,
    pub concurrency: usize,
    /// Of a call to EC2 or SQS.
    pub latency: f64,
}

/// What became of a storm.
#[derive(Debug, Default)]
pub struct Drained {
    /// When the last event was delivered.
    pub after: f64,
    pub median_delay: f64,
    pub longest_delay: f64,
    /// Calls of `DescribeTags`, including those that were throttled.
    pub calls: usize,
    pub throttled: usize,
    /// Messages that returned to the hub queue, each time.
    pub retried: usize,
    pub dead: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    /// SQS keeps no order.
    order: u64,
    instance: usize,
    arrived: Micros,
    receives: u32,
}

/// A time that can be ordered, in microseconds.
type Micros = u64;

/// What happens next in an environment of the function.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It is free to take a batch.
    Free,
    /// It has a batch of Lambda.
    Invoked,
    /// It calls `DescribeTags`, after this many tries.
    Ask(u32),
    /// It has an answer from EC2.
    Answered,
}

/// An environment of the function. Each has its own cache.
#[derive(Default)]
struct Environment {
    known: HashSet<usize>,
    batch: Vec<Message>,
    /// How many messages of the batch the router received itself.
    own: usize,
    calls_until: f64,
}

struct Simulation {
    setup: Setup,
    steps: BinaryHeap<Reverse<(Micros, usize, Step)>>,
    /// Messages that are hidden or still to come, by the time when they can be received.
    hidden: BinaryHeap<Reverse<(Micros, Message)>>,
    visible: VecDeque<Message>,
    environments: Vec<Environment>,
    tokens: (f64, f64),
    random: Random,
    delays: Vec<f64>,
    drained: Drained,
}

/// Simulates a storm until every event is delivered or a dead letter.
pub fn simulate(setup: Setup) -> Drained {
    let arrival = |event: usize| micros(setup.spread * event as f64 / setup.events as f64);
    let mut order = Random(1);
    let hidden = (0..setup.events).map(|event| {
        let arrived = arrival(event);
        let message = Message { order: order.next(), instance: event % setup.instances, arrived, receives: 0 };
        Reverse((arrived, message))
    });
    let steps = (0..setup.concurrency).map(|environment| {
        let starts = (environment as f64 + 1.0 - POLLERS.0).max(0.0) / POLLERS.1;
        Reverse((micros(starts), environment, Step::Free))
    });
    let mut simulation = Simulation {
        setup,
        steps: steps.collect(),
        hidden: hidden.collect(),
        visible: VecDeque::new(),
        environments: (0..setup.concurrency).map(|_| Environment::default()).collect(),
        tokens: (BUCKET.0, 0.0),
        random: Random(2),
        delays: Vec::with_capacity(setup.events),
        drained: Drained::default(),
    };
    while simulation.delays.len() + simulation.drained.dead < setup.events {
        let Some(Reverse((at, environment, step))) = simulation.steps.pop() else {
            break;
        };
        let now = at as f64 / 1e6;
        match step {
            Step::Free => simulation.take_batch(now, environment),
            Step::Invoked => simulation.route(now, environment),
            Step::Ask(tries) => simulation.ask(now, environment, tries),
            Step::Answered => simulation.answered(now, environment),
        }
    }
    simulation.delays.sort_by(f64::total_cmp);
    let mut drained = simulation.drained;
    drained.median_delay = simulation.delays[simulation.delays.len() / 2];
    drained.longest_delay = *simulation.delays.last().expect("an event was delivered");
    drained
}

fn micros(seconds: f64) -> Micros {
    (seconds * 1e6).round() as Micros
}

impl Simulation {
    fn then(&mut self, at: f64, environment: usize, step: Step) {
        self.steps.push(Reverse((micros(at), environment, step)));
    }

    fn take_batch(&mut self, now: f64, number: usize) {
        self.show(now);
        if self.visible.is_empty() {
            let next = self.hidden.peek().map_or(now, |Reverse((at, _))| *at as f64 / 1e6);
            return self.then(next.max(now + 0.01), number, Step::Free);
        }
        let batch = self.receive(BATCH);
        let invoked = now + POLL;
        let environment = &mut self.environments[number];
        environment.calls_until = invoked + CALLS;
        environment.batch = batch;
        environment.own = 0;
        self.then(invoked, number, Step::Invoked);
    }

    /// What is hidden until now can be received.
    fn show(&mut self, now: f64) {
        while self.hidden.peek().is_some_and(|Reverse((at, _))| *at <= micros(now)) {
            self.visible.extend(self.hidden.pop().map(|Reverse((_, message))| message));
        }
    }

    /// Takes at most this many messages out of the queue. They return only if they are hidden again.
    fn receive(&mut self, most: usize) -> Vec<Message> {
        let taken = most.min(self.visible.len());
        let received = self.visible.drain(..taken);
        received.map(|message| Message { receives: message.receives + 1, ..message }).collect()
    }

    fn route(&mut self, now: f64, number: usize) {
        let latency = self.setup.latency;
        let mut begun = now;
        let batch = &self.environments[number].batch;
        let is_young = batch.iter().all(|message| message.receives < ALONE_FROM);
        if self.setup.receives && batch.len() == BATCH && is_young {
            self.show(now);
            begun += latency;
            let sample = (BATCH * self.visible.len() / SAMPLED).clamp(1, BATCH);
            let more = self.receive(OWN_RECEIVES * sample);
            let environment = &mut self.environments[number];
            environment.own = more.len();
            environment.batch.extend(more);
        }
        let environment = &mut self.environments[number];
        let known = &environment.known;
        let (ready, unknown): (Vec<_>, Vec<_>) =
            environment.batch.drain(..).partition(|message| known.contains(&message.instance));
        environment.batch = unknown;
        if environment.batch.is_empty() {
            return self.deliver_all(begun, number, ready);
        }
        // What is known waits for the first answer of EC2 only.
        let sent = self.sent(begun + latency, &ready);
        self.delivered(sent, ready);
        self.then(begun, number, Step::Ask(0));
    }

    fn ask(&mut self, now: f64, number: usize, tries: u32) {
        self.drained.calls += 1;
        let (tokens, since) = self.tokens;
        let tokens = (tokens + (now - since) * BUCKET.1).min(BUCKET.0);
        let answered = now + self.setup.latency;
        if tokens >= 1.0 {
            self.tokens = (tokens - 1.0, now);
            return self.then(answered, number, Step::Answered);
        }
        self.tokens = (tokens, now);
        self.drained.throttled += 1;
        let (first, longest, fixed) = BACKOFF;
        let wait = (first * f64::from(2_u32.saturating_pow(tries))).min(longest)
            * (fixed + (1.0 - fixed) * self.random.fraction());
        if answered + wait < self.environments[number].calls_until {
            return self.then(answered + wait, number, Step::Ask(tries + 1));
        }
        for message in std::mem::take(&mut self.environments[number].batch) {
            self.drained.retried += 1;
            if message.receives == RECEIVES {
                self.drained.dead += 1;
            } else {
                let hidden = f64::from(2_u32.pow(message.receives.min(5)).min(30));
                self.hidden.push(Reverse((micros(answered + hidden), message)));
            }
        }
        // The call about visibility.
        self.then(answered + self.setup.latency, number, Step::Free);
    }

    fn answered(&mut self, now: f64, number: usize) {
        let batch = std::mem::take(&mut self.environments[number].batch);
        self.environments[number].known.extend(batch.iter().map(|message| message.instance));
        self.deliver_all(now, number, batch);
    }

    /// Delivers the last messages of a batch, deletes what the router received itself, and ends the invocation.
    fn deliver_all(&mut self, now: f64, number: usize, messages: Vec<Message>) {
        let sent = self.sent(now, &messages);
        let deletes = self.environments[number].own.div_ceil(BATCH);
        self.delivered(sent, messages);
        self.then(sent + self.calls(deletes), number, Step::Free);
    }

    /// When messages are sent that are decided now: up to ten to one queue in one call.
    fn sent(&self, now: f64, messages: &[Message]) -> f64 {
        let mut queues = vec![0_usize; self.setup.clusters];
        for message in messages {
            queues[message.instance % self.setup.clusters] += 1;
        }
        let sends = queues.iter().map(|messages| messages.div_ceil(BATCH)).sum();
        now + self.compute(messages.len()) + self.calls(sends)
    }

    /// How long so many calls take.
    fn calls(&self, calls: usize) -> f64 {
        calls.div_ceil(CONCURRENT_CALLS) as f64 * self.setup.latency
    }

    fn delivered(&mut self, at: f64, messages: Vec<Message>) {
        if !messages.is_empty() {
            self.drained.after = self.drained.after.max(at);
        }
        self.delays.extend(messages.iter().map(|message| at - message.arrived as f64 / 1e6));
    }

    fn compute(&self, messages: usize) -> f64 {
        COMPUTE.0 + COMPUTE.1 * messages as f64
    }
}

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        self.next() as f64 / f64::from(u32::MAX >> 1)
    }
}
