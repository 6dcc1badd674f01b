//! Which step of a plan is next.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Outcome;
use crate::cloud::{Fault, FaultKind};
use crate::plan::Plan;

/// What can be done next for a step, by its place in [`Plan::steps`].
pub(super) enum Turn {
    /// Its write: the steps that it waits for are finished.
    Write(usize),
    /// What it reads before its write: the steps that it waits for have begun.
    Prepare(usize),
}

/// Whether a step continues what other steps have begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Begins {
    /// It waited for others.
    Later,
    /// It waits for nothing.
    AtOnce,
}

/// The state of a run.
pub(super) struct Run<'a> {
    plan: &'a Plan,
    /// The steps that wait for nothing any more. Those that waited come first: else a thousand queues would be created
    /// before the first policy is written, and the calls that AWS counts apart would follow each other.
    free: BTreeSet<(Begins, usize)>,
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
    /// The changes of which AWS has accepted a step.
    pub(super) written: BTreeSet<usize>,
    took: Vec<Duration>,
    pub(super) outcome: &'a mut Outcome,
}

impl<'a> Run<'a> {
    pub(super) fn new(plan: &'a Plan, outcome: &'a mut Outcome) -> Self {
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
            free: (0..plan.steps.len())
                .filter(|at| waits_for[*at] == 0)
                .map(|at| (Begins::AtOnce, at))
                .collect(),
            not_begun: waits_for.clone(),
            waits_for,
            ahead: BTreeSet::new(),
            followers,
            left,
            written: BTreeSet::new(),
            took: vec![Duration::ZERO; plan.changes.len()],
            outcome,
        }
    }

    /// Takes a step whose predecessors are finished. Only if there is none, one is prepared: then it waits for that
    /// too.
    pub(super) fn next(&mut self) -> Option<Turn> {
        let Some((_, step)) = self.free.pop_first() else {
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

    /// Records that a step begins. Returns whether it is the first of its change.
    pub(super) fn begin(&mut self, step: usize) -> bool {
        let place = self.plan.steps[step].change;
        self.outcome.not_tried.remove(&place) && self.outcome.unknown.insert(place)
    }

    /// Records a turn that was not taken.
    pub(super) fn put_back(&mut self, turn: &Turn) {
        if let Turn::Write(step) = turn {
            self.not_tried(self.plan.steps[*step].change);
        }
    }

    /// Records that a step has changed nothing.
    fn not_tried(&mut self, place: usize) {
        if !self.written.contains(&place) {
            self.outcome.unknown.remove(&place);
            self.outcome.not_tried.insert(place);
        }
    }

    /// Records a step that was not waited for to its end, because someone asked to stop.
    pub(super) fn given_up(&mut self, place: usize, fault: Fault) {
        if fault.kind == FaultKind::NotBegun {
            self.not_tried(place);
        }
        self.outcome.given_up.push((place, fault.message));
    }

    /// Records a delete that AWS has accepted and not finished. Only the next step of its change needs the name.
    pub(super) fn accepted(&mut self, step: usize) {
        let place = self.plan.steps[step].change;
        let followers = std::mem::take(&mut self.followers[step]).into_iter();
        let (same, others) = followers.partition(|follower| self.plan.steps[*follower].change == place);
        self.followers[step] = same;
        self.release(others);
    }

    /// Records that these steps wait for one step less.
    pub(super) fn release(&mut self, followers: Vec<usize>) {
        for follower in followers {
            self.waits_for[follower] -= 1;
            if self.waits_for[follower] == 0 {
                self.free.insert((Begins::Later, follower));
            }
        }
    }

    /// Records a finished step. Returns the duration of its change if it was the change's last step.
    pub(super) fn finished(&mut self, step: usize, took: Duration) -> Option<Duration> {
        let followers = std::mem::take(&mut self.followers[step]);
        self.release(followers);
        let place = self.plan.steps[step].change;
        self.took[place] += took;
        self.left[place] -= 1;
        if self.left[place] > 0 {
            return None;
        }
        self.outcome.unknown.remove(&place);
        self.outcome.done.insert(place);
        Some(self.took[place])
    }
}
