//! The steps of a drill, and what each look says of them.

use std::time::Duration;

use serde::Serialize;

use super::choice::RUNNING;
use super::{Drill, Experiment};
use crate::events::EventLine;
use crate::model::notation::duration_text;
use crate::model::router_line::{DELIVERED, DROPPED};
use crate::model::signal::Signal;
use crate::model::status::Depth;

/// How long an experiment may take to begin.
const BEGINS: Duration = Duration::from_secs(2 * 60);
/// EC2 warns so long before it interrupts.
const WARNED: Duration = Duration::from_secs(2 * 60);
/// How long after the warning its delivery may be in the log: lines are late.
const DELIVERED_IN: Duration = Duration::from_secs(6 * 60);
/// How long it may take until it is known that Karpenter took the warning: metrics are later.
const TAKEN_IN: Duration = Duration::from_secs(15 * 60);
/// How long after its interruption an instance may take to terminate.
const TERMINATES_IN: Duration = Duration::from_secs(5 * 60);
/// How long after a delivery the counts of a queue are right, and until when an empty queue shows that the message was taken: then it
/// may have expired.
const COUNTED: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(4 * 60)];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Step {
    /// The experiment runs.
    Experiment,
    /// A rebalance recommendation precedes the warning, and is no part of the result.
    RebalanceRecommendation,
    /// The warning is at the hub and delivered.
    Warning,
    /// Karpenter took it from the queue.
    Karpenter,
    ShuttingDown,
    Terminated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum StepResult {
    Done,
    /// It failed, or stayed away.
    Failed,
    /// It is not known, which is no failure.
    NotKnown,
    /// It was expected, and is no part of the result.
    Noted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DrillStepObject"))]
pub struct StepReport {
    pub step: Step,
    pub result: StepResult,
    /// The time since the experiment was started.
    pub seconds: u64,
    pub message: String,
}

/// What was seen at one moment; what was not asked for, or could not be read, is absent.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    pub experiment: Option<Experiment>,
    /// The lines of the router about the instance.
    pub lines: Vec<EventLine>,
    pub depth: Option<Depth>,
    /// How many messages were deleted from the queue since the delivery.
    pub deleted: u64,
    /// EC2's word for the state of the instance.
    pub state: Option<String>,
    /// Why something could not be read.
    pub fault: Option<String>,
}

/// The steps so far.
#[derive(Debug)]
pub struct Story {
    drill: Drill,
    /// When the experiment was started, in milliseconds of the Unix epoch.
    begun: i64,
    pub steps: Vec<StepReport>,
    /// After the delivery, from when on it counts: what the queue held.
    depths: Vec<(Duration, Depth)>,
    state: String,
    fault: Option<String>,
    /// Whether the experiment ended before it could warn, so that nothing else is expected.
    is_cut: bool,
}

impl Story {
    pub(super) fn new(drill: &Drill, begun: i64) -> Self {
        Self {
            drill: drill.clone(),
            begun,
            steps: Vec::new(),
            depths: Vec::new(),
            state: RUNNING.to_owned(),
            fault: None,
            is_cut: false,
        }
    }

    /// How long after the start the instance is interrupted.
    fn interrupted(&self) -> Duration {
        Duration::from_secs(self.drill.minutes * 60)
    }

    fn result(&self, step: Step) -> Option<StepResult> {
        self.steps
            .iter()
            .rev()
            .find(|report| report.step == step)
            .map(|report| report.result)
    }

    pub(super) fn is_open(&self, step: Step) -> bool {
        self.result(step).is_none()
    }

    /// Whether Karpenter may have the warning, and that is not known.
    pub(super) fn awaits_karpenter(&self) -> bool {
        self.result(Step::Warning) == Some(StepResult::Done) && self.is_open(Step::Karpenter)
    }

    pub(super) fn is_over(&self) -> bool {
        let open = [Step::Experiment, Step::Warning, Step::Terminated]
            .iter()
            .any(|step| self.is_open(*step));
        self.is_cut || !open && !self.awaits_karpenter()
    }

    pub fn has_failed(&self) -> bool {
        self.steps.iter().any(|report| report.result == StepResult::Failed)
    }

    fn add(&mut self, step: Step, result: StepResult, at: Duration, message: impl Into<String>) {
        self.steps.push(StepReport {
            step,
            result,
            seconds: at.as_secs(),
            message: message.into(),
        });
    }

    /// A step that stayed away for too long, and what may be why.
    fn stayed_away(&mut self, step: Step, result: StepResult, at: Duration, message: String) {
        let message = match &self.fault {
            Some(fault) => format!("{message}; {fault}"),
            None => message,
        };
        self.add(step, result, at, message);
    }

    /// Takes what was seen this long after the start. Gives the new steps.
    pub fn see(&mut self, at: Duration, sight: Sight) -> &[StepReport] {
        let before = self.steps.len();
        self.state = sight.state.unwrap_or_else(|| self.state.clone());
        self.fault = sight.fault;
        if let Some(experiment) = &sight.experiment {
            self.experiment(at, experiment);
        }
        self.warning(at, &sight.lines);
        if self.awaits_karpenter() {
            self.karpenter(at, sight.depth, sight.deleted);
        }
        self.termination(at);
        &self.steps[before..]
    }

    fn experiment(&mut self, at: Duration, experiment: &Experiment) {
        let state = &experiment.state;
        match state.status.as_str() {
            "running" | "completed" | "stopping" if self.is_open(Step::Experiment) => {
                self.add(Step::Experiment, StepResult::Done, at, "experiment runs");
            }
            // What the experiment says after the instance is being terminated is no news.
            "failed" | "cancelled" | "stopped" if self.is_open(Step::Warning) && self.state == RUNNING => {
                let reason = Some(state.reason.as_str()).filter(|reason| !reason.is_empty());
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                let message = format!("experiment {}{reason}", state.status);
                self.add(Step::Experiment, StepResult::Failed, at, message);
                self.is_cut = true;
            }
            status if self.is_open(Step::Experiment) && at >= BEGINS => {
                let message = format!("experiment still {status} after {}", text(BEGINS));
                self.add(Step::Experiment, StepResult::Failed, at, message);
                self.is_cut = true;
            }
            _ => {}
        }
    }

    fn warning(&mut self, at: Duration, lines: &[EventLine]) {
        for event in lines {
            let line = event.line();
            let is_about = line.instances.iter().any(|id| id == self.drill.instance.as_str());
            let step = match line.signal.as_deref() {
                Some(slug) if slug == Signal::SpotInterruption.slug() => Step::Warning,
                Some(slug) if slug == Signal::Rebalance.slug() => Step::RebalanceRecommendation,
                _ => continue,
            };
            if !is_about || !self.is_open(step) {
                continue;
            }
            // The log is late, so it says itself when that was. Clocks differ.
            let since = u64::try_from(event.logged.saturating_sub(self.begun)).unwrap_or_default();
            let then = Duration::from_millis(since).min(at);
            let what = match step {
                Step::Warning => "warning",
                _ => "rebalance recommendation",
            };
            let (result, message) = match (line.message.as_ref(), &line.reason) {
                (DELIVERED, _) if line.cluster != self.drill.cluster.as_str() => (
                    StepResult::Failed,
                    format!("{what} at the hub, delivered to cluster `{}`", line.cluster),
                ),
                (DELIVERED, _) => {
                    let took = line.delay.filter(|delay| *delay >= 0);
                    let took = took.map_or(String::new(), |millis| format!(" in {millis} ms"));
                    let message = format!("{what} at the hub, delivered to {}{took}", self.drill.queue);
                    (StepResult::Done, message)
                }
                (DROPPED, reason) => {
                    let reason = reason.as_deref().unwrap_or("unknown");
                    (StepResult::Failed, format!("{what} at the hub, dropped: {reason}"))
                }
                _ => continue,
            };
            let result = if step == Step::Warning {
                result
            } else {
                StepResult::Noted
            };
            self.add(step, result, then, message);
        }
        let limit = self.interrupted() - WARNED + DELIVERED_IN;
        if self.is_open(Step::Warning) && !self.is_cut && at >= limit {
            let message = format!("no delivery of the warning in the router's log after {}", text(limit));
            self.stayed_away(Step::Warning, StepResult::Failed, at, message);
        }
    }

    /// Counts of SQS are late, so an empty queue says something only after a minute, or if the message was seen in it.
    fn karpenter(&mut self, at: Duration, depth: Option<Depth>, deleted: u64) {
        let delivered = *self.depths.first().map_or(&at, |(first, _)| first);
        self.depths.extend(depth.map(|depth| (at, depth)));
        let is_empty = |depth: &Depth| depth.messages() == 0;
        let waited = self.depths.iter().any(|(_, depth)| depth.waiting > 0);
        let empty = self
            .depths
            .iter()
            .filter(|(time, depth)| *time >= delivered + COUNTED[0] && is_empty(depth));
        let counts = (waited || empty.count() > 1) && at < delivered + COUNTED[1];
        let how = match self.depths.last() {
            Some((_, depth)) if depth.in_flight > 0 => "its message is in flight".to_owned(),
            Some((_, depth)) if counts && is_empty(depth) => "its queue is empty".to_owned(),
            _ if deleted > 0 => format!("{deleted} deleted from its queue"),
            _ if at >= TAKEN_IN => {
                let message = format!("not known after {} whether Karpenter took it", text(TAKEN_IN));
                return self.stayed_away(Step::Karpenter, StepResult::NotKnown, at, message);
            }
            _ => return,
        };
        self.add(
            Step::Karpenter,
            StepResult::Done,
            at,
            format!("taken by Karpenter: {how}"),
        );
    }

    fn termination(&mut self, at: Duration) {
        let limit = self.interrupted() + TERMINATES_IN;
        match self.state.as_str() {
            "shutting-down" if self.is_open(Step::ShuttingDown) => {
                self.add(Step::ShuttingDown, StepResult::Done, at, "instance shutting down");
            }
            "terminated" if self.is_open(Step::Terminated) => {
                self.add(Step::Terminated, StepResult::Done, at, "instance terminated");
            }
            state if self.is_open(Step::Terminated) && !self.is_cut && at >= limit => {
                let message = format!("instance still {state} after {}", text(limit));
                self.stayed_away(Step::Terminated, StepResult::Failed, at, message);
            }
            _ => {}
        }
    }
}

fn text(time: Duration) -> String {
    duration_text(time.as_secs())
}
