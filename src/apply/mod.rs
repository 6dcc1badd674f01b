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
mod run;
pub mod settings_race;

pub use deleted_queue::gone_or_old;

use crate::cloud::{Fault, FaultKind, Waiting, Write};
use crate::error::Progress;
use crate::plan::{Change, Op, Plan};
use run::{Run, Turn};

/// An event of a change while a plan runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its first step started.
    Started,
    /// It waits, for this reason.
    Waiting(String),
    /// It was applied, in this time.
    Done(Duration),
    Failed(Fault),
}

/// Receives the events.
pub trait Listener: Sync {
    /// An event of the change at index `place` of [`Plan::changes`].
    fn event(&self, place: usize, change: &Change, event: Event);
}

/// How a turn ended.
enum Ended {
    Written(Written),
    Prepared(usize),
    /// Another step had failed since the turn was selected.
    NotBegun(Turn),
}

/// The answer to a step, and when the step began.
struct Written {
    step: usize,
    answer: Result<(), Fault>,
    began: Instant,
}

/// The result of a run. At any time, each change is in one of its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The applied changes, by index.
    pub done: BTreeSet<usize>,
    /// The failed changes, with their faults.
    pub failed: Vec<(usize, Fault)>,
    /// The changes that were started and not finished: AWS may have applied them, or a part of them.
    pub unknown: BTreeSet<usize>,
    /// The changes of which nothing was applied.
    pub not_tried: BTreeSet<usize>,
    /// Why changes of these two lists were waiting for AWS, when someone asked to stop.
    pub given_up: Vec<(usize, String)>,
    /// Whether the run was stopped on request.
    pub stopped: bool,
}

impl Outcome {
    /// Before the first step of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self {
            not_tried: (0..plan.changes.len()).collect(),
            ..Self::default()
        }
    }

    /// Whether every change was applied.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.unknown.is_empty() && self.not_tried.is_empty()
    }

    /// The counts of changes.
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done.len(),
            failed: self.failed.len(),
            unknown: self.unknown.len(),
            not_tried: self.not_tried.len(),
        }
    }
}

/// Runs a plan, at most `limit` steps at once. After a failure, or once `stop` is true, no new step
/// starts; steps in flight are finished, or not waited for any more. `outcome` is that of the plan before its first step; it
/// is right at any time, so this may be dropped.
pub async fn apply(
    plan: &Plan,
    cloud: &impl Write,
    limit: usize,
    stop: watch::Receiver<bool>,
    listener: &impl Listener,
    outcome: &mut Outcome,
) {
    let mut run = Run::new(plan, outcome);
    let steps = Steps {
        plan,
        cloud,
        stop: &stop,
        listener,
        failed: AtomicBool::new(false),
    };
    let (mut in_flight, mut leaving) = (FuturesUnordered::new(), FuturesUnordered::new());
    loop {
        while in_flight.len() < limit.max(1) && !steps.are_over() {
            let Some(turn) = run.next() else { break };
            let is_first = matches!(turn, Turn::Write(step) if run.begin(step));
            in_flight.push(steps.take(turn, is_first));
        }
        let (mut written, is_gone) = tokio::select! {
            Some(ended) = in_flight.next() => match ended {
                Ended::Written(written) => (written, false),
                Ended::Prepared(step) => {
                    run.release(vec![step]);
                    continue;
                }
                Ended::NotBegun(turn) => {
                    run.put_back(&turn);
                    continue;
                }
            },
            Some(written) = leaving.next() => (written, true),
            else => break,
        };
        if written.answer.is_ok() {
            run.written.insert(plan.steps[written.step].change);
        }
        let is_delete = matches!(plan.steps[written.step].op, Op::Delete(_));
        if written.answer.is_ok() && is_delete && !is_gone {
            let step = written.step;
            let mut gone = Box::pin(steps.gone(step, written.began));
            // Most resources are gone when their delete is accepted.
            match gone.as_mut().now_or_never() {
                Some(ended) => written = ended,
                None => {
                    run.accepted(step);
                    leaving.push(gone);
                    continue;
                }
            }
        }
        steps.record(&mut run, written);
    }
    outcome.stopped = *stop.borrow() && !outcome.is_complete();
}

/// What the steps of a plan share while it runs.
struct Steps<'a, W, L> {
    plan: &'a Plan,
    cloud: &'a W,
    stop: &'a watch::Receiver<bool>,
    listener: &'a L,
    failed: AtomicBool,
}

impl<W: Write, L: Listener> Steps<'_, W, L> {
    /// Whether no new step starts.
    fn are_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || *self.stop.borrow()
    }

    async fn take(&self, turn: Turn, is_first: bool) -> Ended {
        if self.are_over() {
            return Ended::NotBegun(turn);
        }
        let step = match turn {
            Turn::Prepare(step) => {
                self.cloud.prepare(&self.plan.steps[step].op).await;
                return Ended::Prepared(step);
            }
            Turn::Write(step) => step,
        };
        let place = self.plan.steps[step].change;
        if is_first {
            self.report(place, Event::Started);
        }
        let began = Instant::now();
        let waits = |reason: &str| self.report(place, Event::Waiting(reason.to_owned()));
        let waiting = Waiting::new(&waits, self.stop);
        let answer = lost_answer::write(self.cloud, &self.plan.steps[step].op, waiting).await;
        self.failed.fetch_or(answer.is_err(), Ordering::Relaxed);
        Ended::Written(Written { step, answer, began })
    }

    /// Waits until what a step has deleted is gone.
    async fn gone(&self, step: usize, began: Instant) -> Written {
        let place = self.plan.steps[step].change;
        let waits = |reason: &str| self.report(place, Event::Waiting(reason.to_owned()));
        let waiting = Waiting::new(&waits, self.stop);
        let answer = self.cloud.gone(&self.plan.changes[place].id, waiting).await;
        self.failed.fetch_or(answer.is_err(), Ordering::Relaxed);
        Written { step, answer, began }
    }

    /// Records the answer to a step, and reports its change if that has ended.
    fn record(&self, run: &mut Run<'_>, written: Written) {
        let place = self.plan.steps[written.step].change;
        match written.answer {
            Ok(()) => {
                if let Some(took) = run.finished(written.step, written.began.elapsed()) {
                    self.report(place, Event::Done(took));
                }
            }
            Err(fault) if matches!(fault.kind, FaultKind::Stopped | FaultKind::NotBegun) => run.given_up(place, fault),
            Err(fault) => {
                run.outcome.unknown.remove(&place);
                run.outcome.failed.push((place, fault.clone()));
                self.report(place, Event::Failed(fault));
            }
        }
    }

    fn report(&self, place: usize, event: Event) {
        self.listener.event(place, &self.plan.changes[place], event);
    }
}

#[cfg(test)]
mod tests;
