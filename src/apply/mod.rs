//! Runs a plan through [`Write`] and emits events. It makes no decision: the plan has the steps and their order. Apply
//! limits how many steps run at once, and finishes started steps after a failure or a request to stop, which ends only
//! their waits. Waits for accepted deletes do not count toward the limit, and only a create under the same name waits for
//! them: the deletes of many queues take as long as the delete of one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::watch;

mod deleted_queue;
mod lost_answer;

pub use deleted_queue::gone_or_old;

use crate::cloud::{Fault, FaultKind, Waiting, Write};
use crate::error::Progress;
use crate::plan::{Change, Op, Plan};

/// An event of a change while a plan runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its first step started.
    Started,
    /// It waits, for this reason.
    Waiting(String),
    /// It was applied, in this time.
    Done(Duration),
    /// It failed.
    Failed(Fault),
}

/// Receives the events.
pub trait Listener: Sync {
    /// An event of the change at index `place` of [`Plan::changes`].
    fn event(&self, place: usize, change: &Change, event: Event);
}

/// What can be done next for a step, by its place in [`Plan::steps`].
enum Turn {
    /// Its write: the steps that it waits for are finished.
    Write(usize),
    /// What it reads before its write: the steps that it waits for have begun.
    Prepare(usize),
}

/// How a turn ended.
enum Ended {
    Written(usize, Result<(), Fault>, Instant),
    Prepared(usize),
    /// Another step had failed since the turn was selected.
    NotBegun,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The applied changes, by index.
    pub done: BTreeSet<usize>,
    /// The failed changes, with their faults.
    pub failed: Vec<(usize, Fault)>,
    /// The changes that were not started, or not continued.
    pub not_tried: BTreeSet<usize>,
    /// Why those of them that were waiting for AWS were waiting, when someone asked to stop.
    pub given_up: Vec<(usize, String)>,
    /// Whether the run was stopped on request.
    pub stopped: bool,
}

impl Outcome {
    /// Whether every change was applied.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.not_tried.is_empty()
    }

    /// The counts of changes.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done.len(),
            failed: self.failed.len(),
            not_tried: self.not_tried.len(),
        }
    }
}

/// Runs a plan, at most `limit` steps at once. After a failure, or once `stop` is true, no new step
/// starts; steps in flight are finished, or not waited for any more.
pub async fn apply(
    plan: &Plan,
    cloud: &impl Write,
    limit: usize,
    stop: watch::Receiver<bool>,
    listener: &impl Listener,
) -> Outcome {
    let mut run = Run::new(plan);
    let failed = AtomicBool::new(false);
    let over = || failed.load(Ordering::Relaxed) || *stop.borrow();
    let (mut in_flight, mut leaving) = (FuturesUnordered::new(), FuturesUnordered::new());
    let report = |place: usize| {
        move |reason: &str| listener.event(place, &plan.changes[place], Event::Waiting(reason.to_owned()))
    };
    loop {
        while in_flight.len() < limit.max(1) && !over() {
            let Some(turn) = run.next() else { break };
            let (Turn::Write(step) | Turn::Prepare(step)) = turn;
            let (op, place) = (&plan.steps[step].op, plan.steps[step].change);
            let prepares = matches!(turn, Turn::Prepare(_));
            let is_first = !prepares && run.begun.insert(place);
            let (failed, over, stop) = (&failed, &over, &stop);
            in_flight.push(async move {
                if over() {
                    return Ended::NotBegun;
                }
                if prepares {
                    cloud.prepare(op).await;
                    return Ended::Prepared(step);
                }
                if is_first {
                    listener.event(place, &plan.changes[place], Event::Started);
                }
                let began = Instant::now();
                let report = report(place);
                let waiting = Waiting::new(&report, stop);
                let answer = lost_answer::write(cloud, op, waiting).await;
                failed.fetch_or(answer.is_err(), Ordering::Relaxed);
                Ended::Written(step, answer, began)
            });
        }
        let (step, mut answer, began, is_gone) = tokio::select! {
            Some(ended) = in_flight.next() => match ended {
                Ended::Written(step, answer, began) => (step, answer, began, false),
                Ended::Prepared(step) => {
                    run.release(vec![step]);
                    continue;
                }
                Ended::NotBegun => continue,
            },
            Some((step, answer, began)) = leaving.next() => (step, answer, began, true),
            else => break,
        };
        let place = plan.steps[step].change;
        if answer.is_ok() && !is_gone && matches!(plan.steps[step].op, Op::Delete(_)) {
            let (failed, stop) = (&failed, &stop);
            let mut gone = Box::pin(async move {
                let report = report(place);
                let answer = cloud.gone(&plan.changes[place].id, Waiting::new(&report, stop)).await;
                failed.fetch_or(answer.is_err(), Ordering::Relaxed);
                (step, answer, began)
            });
            // Most resources are gone when their delete is accepted.
            match gone.as_mut().now_or_never() {
                Some(ended) => answer = ended.1,
                None => {
                    run.accepted(step);
                    leaving.push(gone);
                    continue;
                }
            }
        }
        let event = match answer {
            Ok(()) => run.finished(step, began.elapsed()).map(Event::Done),
            Err(fault) if fault.kind == FaultKind::Stopped => {
                run.outcome.given_up.push((place, fault.message));
                None
            }
            Err(fault) => {
                run.outcome.failed.push((place, fault.clone()));
                Some(Event::Failed(fault))
            }
        };
        if let Some(event) = event {
            listener.event(place, &plan.changes[place], event);
        }
    }
    let stopped = *stop.borrow();
    run.end(stopped)
}

/// The state of a run.
struct Run<'a> {
    plan: &'a Plan,
    /// The steps that wait for nothing any more.
    free: BTreeSet<usize>,
    /// How many steps each step waits for.
    waits_for: Vec<usize>,
    /// How many of these have not begun.
    not_begun: Vec<usize>,
    /// The steps that wait only for steps that have begun, and were not prepared.
    ahead: BTreeSet<usize>,
    /// The steps that still wait for each step.
    followers: Vec<Vec<usize>>,
    /// How many steps of each change are left.
    left: Vec<usize>,
    begun: BTreeSet<usize>,
    took: Vec<Duration>,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Self {
        let waits_for: Vec<usize> = plan.steps.iter().map(|step| step.after.len()).collect();
        let mut followers = vec![Vec::new(); plan.steps.len()];
        let mut left = vec![0; plan.changes.len()];
        for (at, step) in plan.steps.iter().enumerate() {
            left[step.change] += 1;
            for earlier in &step.after {
                followers[*earlier].push(at);
            }
        }
        Self {
            plan,
            free: (0..plan.steps.len()).filter(|at| waits_for[*at] == 0).collect(),
            not_begun: waits_for.clone(),
            waits_for,
            ahead: BTreeSet::new(),
            followers,
            left,
            begun: BTreeSet::new(),
            took: vec![Duration::ZERO; plan.changes.len()],
            outcome: Outcome::default(),
        }
    }

    /// Takes the first step whose predecessors are finished. Only if there is none, one is prepared: then it waits for that
    /// too.
    fn next(&mut self) -> Option<Turn> {
        let Some(step) = self.free.pop_first() else {
            let step = self.ahead.pop_first()?;
            self.waits_for[step] += 1;
            return Some(Turn::Prepare(step));
        };
        self.ahead.remove(&step);
        for follower in &self.followers[step] {
            self.not_begun[*follower] -= 1;
            if self.not_begun[*follower] == 0 {
                self.ahead.insert(*follower);
            }
        }
        Some(Turn::Write(step))
    }

    /// Records a delete that AWS has accepted and not finished. Only the next step of its change needs the name.
    fn accepted(&mut self, step: usize) {
        let place = self.plan.steps[step].change;
        let followers = std::mem::take(&mut self.followers[step]).into_iter();
        let (same, others) = followers.partition(|follower| self.plan.steps[*follower].change == place);
        self.followers[step] = same;
        self.release(others);
    }

    /// Records that these steps wait for one step less.
    fn release(&mut self, followers: Vec<usize>) {
        for follower in followers {
            self.waits_for[follower] -= 1;
            if self.waits_for[follower] == 0 {
                self.free.insert(follower);
            }
        }
    }

    /// Records a finished step. Returns the duration of its change if it was the change's last step.
    fn finished(&mut self, step: usize, took: Duration) -> Option<Duration> {
        let followers = std::mem::take(&mut self.followers[step]);
        self.release(followers);
        let place = self.plan.steps[step].change;
        self.took[place] += took;
        self.left[place] -= 1;
        if self.left[place] > 0 {
            return None;
        }
        self.outcome.done.insert(place);
        Some(self.took[place])
    }

    fn end(mut self, stopped: bool) -> Outcome {
        let failed: BTreeSet<usize> = self.outcome.failed.iter().map(|(place, _)| *place).collect();
        self.outcome.not_tried = (0..self.plan.changes.len())
            .filter(|place| !self.outcome.done.contains(place) && !failed.contains(place))
            .collect();
        self.outcome.stopped = stopped && !self.outcome.not_tried.is_empty();
        self.outcome
    }
}

#[cfg(test)]
mod tests;
