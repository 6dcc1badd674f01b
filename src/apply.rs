//! Runs a plan through [`Write`] and emits events. It makes no decisions: the plan contains the changes and their
//! order. Apply limits how many changes run at once. After a failure or a request to stop, it finishes the changes in
//! progress, but ends their waits.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;

use crate::cloud::{Fault, FaultKind, Waiting, Write};
use crate::error::Progress;
use crate::model::{FieldValue, Resource, tags::BUS};
use crate::plan::{Action, Change, FieldChange, Plan, diff};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeEvent {
    Started,
    Waiting(String),
    Done(Duration),
    Failed(Fault),
}

/// Receives the events.
pub trait Listener: Sync {
    /// An event of the change at index `place` of [`Plan::changes`].
    fn event(&self, place: usize, change: &Change, event: ChangeEvent);
}

/// The result of a run. At any time, each change is in exactly one of its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub done: BTreeSet<usize>,
    pub failed: Vec<(usize, Fault)>,
    /// The changes that were started and not finished: AWS may have applied them fully or partly.
    pub unknown: BTreeSet<usize>,
    /// The changes that were not started.
    pub not_tried: BTreeSet<usize>,
    /// Why changes in these two lists were waiting for AWS when the user requested a stop.
    pub given_up: Vec<(usize, String)>,
    pub stopped: bool,
}

impl Outcome {
    /// Before the first change of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self { not_tried: (0..plan.changes.len()).collect(), ..Self::default() }
    }

    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.unknown.is_empty() && self.not_tried.is_empty()
    }

    fn untried(&mut self, place: usize) {
        self.unknown.remove(&place);
        self.not_tried.insert(place);
    }

    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done.len(),
            failed: self.failed.len(),
            unknown: self.unknown.len(),
            not_tried: self.not_tried.len(),
        }
    }
}

/// Runs a plan, at most `limit` changes at once. After a failure, or once `stop` is true, no new change starts; changes
/// in flight are finished, but their waits end. After a denied change, only the changes that wait for it do not start,
/// so that one run finds everything that is denied. `outcome` starts as the outcome of the plan before its first
/// change; it is correct at any time, so this future can be dropped.
pub async fn apply(
    plan: &Plan,
    cloud: &impl Write,
    limit: usize,
    stop: watch::Receiver<bool>,
    listener: &impl Listener,
    outcome: &mut Outcome,
) {
    let failed = AtomicBool::new(false);
    // From then on, no new change starts.
    let is_over = || failed.load(Ordering::Relaxed) || *stop.borrow();
    let report = |place: usize, event| listener.event(place, &plan.changes[place], event);
    // Makes a change, and in parallel the reads for the changes that wait only for this one.
    let make = async |place: usize, next: Vec<usize>| {
        let began = Instant::now();
        // Another change may have failed since this one was picked.
        if is_over() {
            return (place, began, None);
        }
        report(place, ChangeEvent::Started);
        let waits = |reason: &str| report(place, ChangeEvent::Waiting(reason.to_owned()));
        let write = completed(cloud, &plan.changes[place], Waiting::new(&waits, &stop));
        let ahead = join_all(next.into_iter().map(|next| cloud.read_ahead(&plan.changes[next])));
        let (answer, _) = tokio::join!(write, ahead);
        let ends = answer.as_ref().is_err_and(|fault| !fault.is_denied());
        failed.fetch_or(ends, Ordering::Relaxed);
        (place, began, Some(answer))
    };
    let (mut schedule, mut in_flight) = (Schedule::of(plan), FuturesUnordered::new());
    loop {
        while in_flight.len() < limit.max(1) && !is_over() {
            let Some(place) = schedule.next() else { break };
            outcome.not_tried.remove(&place);
            outcome.unknown.insert(place);
            in_flight.push(make(place, schedule.waiting_for_only(place)));
        }
        let Some((place, began, answer)) = in_flight.next().await else {
            break;
        };
        match answer {
            None => outcome.untried(place),
            Some(Ok(())) => {
                schedule.finished(place);
                outcome.unknown.remove(&place);
                outcome.done.insert(place);
                report(place, ChangeEvent::Done(began.elapsed()));
            }
            Some(Err(fault)) if matches!(fault.kind, FaultKind::Stopped | FaultKind::NotBegun) => {
                if fault.kind == FaultKind::NotBegun {
                    outcome.untried(place);
                }
                outcome.given_up.push((place, fault.message));
            }
            Some(Err(fault)) => {
                outcome.unknown.remove(&place);
                outcome.failed.push((place, fault.clone()));
                report(place, ChangeEvent::Failed(fault));
            }
        }
    }
    outcome.stopped = *stop.borrow() && !outcome.is_complete();
}

// If the response to a create is lost, the SDK repeats the call, and AWS answers "exists". Then the first call created
// the existing resource.

/// Makes one change. If AWS answers a create with "exists", and the existing resource has no settings that differ from
/// the desired ones, the missing settings are added. Otherwise the fault is returned.
///
/// The missing settings are part of the planned create, so only changes that were shown are made. The resource may not
/// be in effect yet; a later change that needs it waits.
async fn completed(cloud: &impl Write, change: &Change, waiting: Waiting<'_>) -> Result<(), Fault> {
    let fault = match cloud.write(change, waiting).await {
        Err(fault) if fault.kind == FaultKind::Exists && change.action == Action::Create => fault,
        answer => return answer,
    };
    let wanted = change.resource();
    let there = match cloud.read_back(&change.id, waiting).await {
        Ok(Some(there)) => there,
        Err(stopped) if stopped.kind == FaultKind::Stopped => return Err(stopped),
        Ok(None) | Err(_) => return Err(fault),
    };
    match missing(wanted, &there) {
        None => Err(fault),
        Some(fields) if fields.is_empty() => Ok(()),
        Some(fields) => {
            let rest = Change::update(change.cluster.clone(), there, wanted.clone(), fields);
            cloud.write(&rest, waiting).await
        }
    }
}

/// The missing settings of a partly created resource; `None` if kibus does not manage it, or if its settings differ.
fn missing(wanted: &Resource, there: &Resource) -> Option<Vec<FieldChange>> {
    let fields = diff(wanted, there, &BTreeSet::new());
    let ours = match (wanted.tags(), there.tags()) {
        // One call writes a whole parameter: different content comes from another run.
        _ if is_of_parameter(wanted) => fields.is_empty(),
        (Some(wanted), Some(there)) => wanted.get(BUS).is_some() && wanted.get(BUS) == there.get(BUS),
        // A resource without tags counts only if it has all settings.
        _ => fields.is_empty(),
    };
    let only_missing = fields.iter().all(|field| field.from == FieldValue::Unset);
    (ours && only_missing).then_some(fields)
}

/// Which change of a plan is next.
struct Schedule {
    /// The changes that no longer wait for anything, each with whether it never waited. Those that waited come first:
    /// otherwise a thousand queues would be created before the first policy is written, and calls with separate rate
    /// limits would run one after another. Changes that hand over a permission come last: they wait for IAM, and one
    /// wait is long enough for all of them.
    free: BTreeSet<(bool, bool, usize)>,
    hands_over: Vec<bool>,
    /// How many changes each change waits for.
    waits_for: Vec<usize>,
    /// The changes that still wait for each change.
    followers: Vec<Vec<usize>>,
}

impl Schedule {
    fn of(plan: &Plan) -> Self {
        let waits_for: Vec<usize> = plan.changes.iter().map(|change| change.waits_for.len()).collect();
        let mut followers = vec![Vec::new(); plan.changes.len()];
        for (at, change) in plan.changes.iter().enumerate() {
            for earlier in &change.waits_for {
                followers[*earlier].push(at);
            }
        }
        let free = (0..plan.changes.len()).filter(|at| waits_for[*at] == 0);
        Self {
            free: free.map(|at| (plan.changes[at].hands_over, true, at)).collect(),
            hands_over: plan.changes.iter().map(|change| change.hands_over).collect(),
            waits_for,
            followers,
        }
    }

    /// Takes a change whose predecessors are done.
    fn next(&mut self) -> Option<usize> {
        self.free.pop_first().map(|(.., change)| change)
    }

    /// The changes that wait only for this one.
    fn waiting_for_only(&self, change: usize) -> Vec<usize> {
        let followers = self.followers[change].iter().copied();
        followers.filter(|follower| self.waits_for[*follower] == 1).collect()
    }

    fn finished(&mut self, change: usize) {
        for follower in std::mem::take(&mut self.followers[change]) {
            self.waits_for[follower] -= 1;
            if self.waits_for[follower] == 0 {
                self.free.insert((self.hands_over[follower], false, follower));
            }
        }
    }
}

/// Whether the plan failed only because of another run, which created something with different settings, or wrote a
/// parameter that this run then overwrote.
pub fn is_raced(plan: &Plan, outcome: &Outcome) -> bool {
    let is_raced = |(place, fault): &(usize, Fault)| {
        let change = &plan.changes[*place];
        match change.action {
            Action::Create => fault.kind == FaultKind::Exists,
            Action::Update => fault.kind == FaultKind::Changed && is_of_parameter(change.resource()),
            Action::Delete => false,
        }
    };
    !outcome.failed.is_empty() && outcome.failed.iter().all(is_raced)
}

/// Whether another run has overwritten the settings that this plan wrote last. A stale read shows an older version.
pub async fn settings_are_lost(plan: &Plan, cloud: &impl Write) -> bool {
    let written = |change: &&Change| matches!(change.after, Some(Resource::Parameter(_)));
    let Some(change) = plan.changes.iter().rfind(written) else { return false };
    let before = change.before.as_ref().and_then(Resource::as_parameter).map_or(0, |before| before.version);
    match (cloud.read_back(&change.id, Waiting::unattended()).await, &change.after) {
        (Ok(Some(Resource::Parameter(found))), Some(Resource::Parameter(wrote))) => {
            found.version > before + 1 && found.settings != wrote.settings
        }
        _ => false,
    }
}

fn is_of_parameter(resource: &Resource) -> bool {
    matches!(resource, Resource::Parameter(_) | Resource::Record(_))
}

#[cfg(test)]
mod tests;
