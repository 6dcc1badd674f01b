//! A cloud that answers each change as its script says.

use std::sync::Mutex;

use tokio::sync::watch;

use crate::apply::{ChangeEvent, Listener};
use crate::cloud::{Fault, FaultKind, Waiting, Write};
use crate::model::{Resource, ResourceId};
use crate::plan::{Change, Plan};

/// What happened, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Called(usize),
    /// The cloud answered: it was done, or it failed.
    Answered(usize, Option<Failure>),
    /// An event was reported for a change.
    Event(usize, &'static str),
    ReadAhead(usize),
    Stop,
}

/// What a change does in the cloud.
#[derive(Clone, Debug)]
pub(super) struct Behavior {
    /// How often other tasks run before the answer; each time a reason to wait is emitted.
    pub(super) turns: usize,
    pub(super) fails: Option<Failure>,
    /// Whether it waits until someone asks to stop.
    pub(super) waits: bool,
    /// Whether someone asks to stop while it runs.
    pub(super) stops: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Rejected,
    /// It ends no other change than those that wait for this one.
    Denied,
}

/// A cloud that follows the behaviors of the changes, and records what happens.
pub(super) struct Scripted<'a> {
    pub(super) plan: &'a Plan,
    pub(super) script: Vec<Behavior>,
    pub(super) moments: Mutex<Vec<Moment>>,
    pub(super) stop: watch::Sender<bool>,
}

impl Scripted<'_> {
    fn add(&self, moment: Moment) {
        self.moments.lock().unwrap().push(moment);
    }
}

impl Write for Scripted<'_> {
    async fn read_back(&self, _: &ResourceId, _: Waiting<'_>) -> Result<Option<Resource>, Fault> {
        unreachable!("no create is answered with \"exists\"")
    }

    async fn read_ahead(&self, change: &Change) {
        let at = self.plan.changes.iter().position(|planned| planned == change);
        self.add(Moment::ReadAhead(at.unwrap()));
    }

    async fn write(&self, change: &Change, waiting: Waiting<'_>) -> Result<(), Fault> {
        let at = self.plan.changes.iter().position(|planned| planned == change).unwrap();
        self.add(Moment::Called(at));
        for turn in 0..self.script[at].turns {
            waiting.report(&format!("turn {turn}"));
            tokio::task::yield_now().await;
        }
        if self.script[at].stops {
            self.add(Moment::Stop);
            self.stop.send_replace(true);
        }
        if self.script[at].waits {
            waiting.stopped().await;
            self.add(Moment::Answered(at, Some(Failure::Rejected)));
            return Err(Fault { kind: FaultKind::Stopped, ..fault() });
        }
        let fails = self.script[at].fails;
        self.add(Moment::Answered(at, fails));
        match fails {
            None => Ok(()),
            Some(Failure::Rejected) => Err(fault()),
            Some(Failure::Denied) => Err(Fault::denied("test:Write")),
        }
    }
}

impl Listener for Scripted<'_> {
    fn event(&self, place: usize, change: &Change, event: ChangeEvent) {
        assert_eq!(self.plan.changes[place], *change);
        self.add(Moment::Event(
            place,
            match event {
                ChangeEvent::Started => "started",
                ChangeEvent::Waiting(_) => "waiting",
                ChangeEvent::Done(_) => "done",
                ChangeEvent::Failed(_) => "failed",
            },
        ));
    }
}

pub(super) fn fault() -> Fault {
    Fault::new(FaultKind::Rejected, "test:Write", "no")
}
