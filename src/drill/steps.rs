//! The steps of a drill, and what each check shows about them.

use std::time::Duration;

use serde::Serialize;

use super::choice::RUNNING;
use super::{Drill, Experiment};
use crate::events::EventLine;
use crate::model::{
    Depth, Signal, duration_text,
    router_line::{DELIVERED, DROPPED},
};

/// How long an experiment may take to begin.
const BEGINS: Duration = Duration::from_secs(2 * 60);
/// How long before the interruption EC2 sends the warning.
const WARNED: Duration = Duration::from_secs(2 * 60);
/// How long after the warning its delivery may appear in the log: log lines lag.
const DELIVERED_IN: Duration = Duration::from_secs(6 * 60);
/// How long it may take until it is known that Karpenter took the warning: metrics lag even more.
const TAKEN_IN: Duration = Duration::from_secs(15 * 60);
/// How long after its interruption an instance may take to terminate.
const TERMINATES_IN: Duration = Duration::from_secs(5 * 60);
/// How long after a delivery the counts of a queue are accurate, and until when an empty queue shows that the message
/// was taken; after that, it may have expired.
const COUNTED: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(4 * 60)];

/// In the expected order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Step {
    /// The experiment is running.
    Experiment,
    /// A rebalance recommendation precedes the warning, and is not part of the result.
    RebalanceRecommendation,
    /// The warning is at the hub and delivered.
    Warning,
    /// Karpenter took it from the queue.
    Karpenter,
    ShuttingDown,
    Terminated,
}

impl Step {
    const ALL: [Self; 6] = [
        Self::Experiment,
        Self::RebalanceRecommendation,
        Self::Warning,
        Self::Karpenter,
        Self::ShuttingDown,
        Self::Terminated,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum StepResult {
    Done,
    /// It failed or is overdue.
    Failed,
    /// The result is unknown, which is not a failure.
    NotKnown,
    /// It was expected, and is not part of the result.
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

/// The steps of a drill so far, and the observations. A failed read shows nothing.
#[derive(Debug)]
pub(super) struct Story<'a> {
    pub(super) drill: &'a Drill,
    /// When the experiment was started, in milliseconds of the Unix epoch.
    pub(super) begun: i64,
    /// The lines of the router from before it.
    pub(super) old: Vec<EventLine>,
    /// How many messages of the queue were in flight before it.
    pub(super) held: u64,
    pub(super) steps: Vec<StepReport>,
    pub(super) experiment: Experiment,
    /// The lines of the router about the instance.
    pub(super) lines: Vec<EventLine>,
    /// What the queue held after the delivery, and when.
    pub(super) depths: Vec<(Duration, Depth)>,
    /// How many messages were deleted from the queue since the delivery.
    pub(super) deleted: u64,
    /// The state of the instance as EC2 names it.
    pub(super) state: String,
    /// Why the last read failed, if it did.
    pub(super) fault: Option<String>,
}

/// The result of a step, its time, and the message.
type Found = (StepResult, Duration, String);

impl<'a> Story<'a> {
    pub(super) fn new(drill: &'a Drill, begun: i64, experiment: Experiment) -> Self {
        Self {
            drill,
            begun,
            old: Vec::new(),
            held: 0,
            steps: Vec::new(),
            experiment,
            lines: Vec::new(),
            depths: Vec::new(),
            deleted: 0,
            state: RUNNING.to_owned(),
            fault: None,
        }
    }

    /// How long after the start a time in milliseconds of the Unix epoch is.
    pub(super) fn since(&self, time: i64) -> Duration {
        Duration::from_millis(u64::try_from(time - self.begun).unwrap_or_default())
    }

    fn is_open(&self, step: Step) -> bool {
        self.steps.iter().all(|report| report.step != step)
    }

    /// When the step reached this result.
    fn time(&self, step: Step, result: StepResult) -> Option<Duration> {
        let mut reports = self.steps.iter();
        let report = reports.find(|report| report.step == step && report.result == result);
        report.map(|report| Duration::from_secs(report.seconds))
    }

    /// When the warning was delivered.
    pub(super) fn delivered(&self) -> Option<Duration> {
        self.time(Step::Warning, StepResult::Done)
    }

    /// Whether the step can still be observed. A failed experiment sends no warning.
    pub(super) fn awaits(&self, step: Step) -> bool {
        let is_open = |step| self.is_open(step);
        self.time(Step::Experiment, StepResult::Failed).is_none()
            && match step {
                Step::Experiment => is_open(step) || is_open(Step::Warning),
                Step::RebalanceRecommendation => is_open(step) && is_open(Step::Warning),
                Step::Karpenter => is_open(step) && self.delivered().is_some(),
                Step::ShuttingDown => is_open(step) && is_open(Step::Terminated),
                Step::Warning | Step::Terminated => is_open(step),
            }
    }

    pub(super) fn is_over(&self) -> bool {
        !Step::ALL.into_iter().any(|step| self.awaits(step))
    }

    /// Evaluates the observations this long after the start. Returns the new steps.
    pub(super) fn judge(&mut self, at: Duration) -> &[StepReport] {
        let before = self.steps.len();
        for step in Step::ALL {
            let found = match step {
                _ if !self.awaits(step) => continue,
                Step::Experiment => self.experiment(at),
                Step::RebalanceRecommendation | Step::Warning => self.delivery(step, at),
                Step::Karpenter => self.karpenter(at),
                Step::ShuttingDown => self.instance("shutting-down", at),
                Step::Terminated => self.instance("terminated", at),
            };
            if let Some((result, at, message)) = found.or_else(|| self.overdue(step, at)) {
                self.steps.push(StepReport { step, result, seconds: at.as_secs(), message });
            }
        }
        &self.steps[before..]
    }

    fn experiment(&self, at: Duration) -> Option<Found> {
        let state = &self.experiment.state;
        match state.status.as_str() {
            "running" | "completed" | "stopping" if self.is_open(Step::Experiment) => {
                Some((StepResult::Done, at, "experiment runs".to_owned()))
            }
            // Once the instance is terminating, the state of the experiment no longer matters.
            "failed" | "cancelled" | "stopped" if self.state == RUNNING => {
                let message = format!("experiment {}: {}", state.status, state.why());
                Some((StepResult::Failed, at, message.trim_end_matches(": ").to_owned()))
            }
            _ => None,
        }
    }

    /// The outcome of this step's event, according to the router's log.
    fn delivery(&self, step: Step, at: Duration) -> Option<Found> {
        let (signal, what) = match step {
            Step::Warning => (Signal::SpotInterruption, "warning"),
            _ => (Signal::Rebalance, "rebalance recommendation"),
        };
        self.lines.iter().find_map(|event| {
            let line = event.line();
            let is_about = line.instances.iter().any(|id| id == self.drill.instance.as_str());
            if !is_about || line.signal.as_deref() != Some(signal.slug()) {
                return None;
            }
            let is_ours = line.cluster == self.drill.cluster.as_str();
            let (result, end) = match line.message.as_ref() {
                DELIVERED if is_ours => {
                    let took = line.delay.filter(|delay| *delay >= 0);
                    let took = took.map_or(String::new(), |millis| format!(" in {millis} ms"));
                    (StepResult::Done, format!("delivered to {}{took}", self.drill.queue))
                }
                DELIVERED => (StepResult::Failed, format!("delivered to cluster `{}`", line.cluster)),
                DROPPED => {
                    let reason = line.reason.as_deref().unwrap_or("unknown");
                    (StepResult::Failed, format!("dropped: {reason}"))
                }
                _ => return None,
            };
            let result = match step {
                Step::Warning => result,
                _ => StepResult::Noted,
            };
            // The log lags, so the time comes from the line itself. Clocks differ.
            let then = self.since(event.logged).min(at);
            Some((result, then, format!("{what} at the hub, {end}")))
        })
    }

    /// SQS counts lag, so an empty queue is meaningful only after a minute, or if the message was seen in it.
    fn karpenter(&self, at: Duration) -> Option<Found> {
        let (delivered, depths, deleted) = (self.delivered()?, &self.depths, self.deleted);
        let is_empty = |depth: &Depth| depth.messages() == 0;
        let waited = depths.iter().any(|(_, depth)| depth.waiting > 0);
        let late = depths.iter().filter(|(time, _)| *time >= delivered + COUNTED[0]);
        let counts = (waited || late.filter(|(_, depth)| is_empty(depth)).count() > 1) && at < delivered + COUNTED[1];
        let how = match depths.last() {
            Some((_, depth)) if depth.in_flight > self.held => "a message of its queue is in flight".to_owned(),
            Some((_, depth)) if counts && is_empty(depth) => "its queue is empty".to_owned(),
            _ if deleted > 0 => format!("{deleted} deleted from its queue"),
            _ => return None,
        };
        Some((StepResult::Done, at, format!("taken by Karpenter: {how}")))
    }

    fn instance(&self, state: &str, at: Duration) -> Option<Found> {
        let message = || format!("instance {}", state.replace('-', " "));
        (self.state == state).then(|| (StepResult::Done, at, message()))
    }

    /// The result of an overdue step, and its possible cause.
    fn overdue(&self, step: Step, at: Duration) -> Option<Found> {
        let interrupted = Duration::from_secs(self.drill.minutes * 60);
        let (limit, what) = match step {
            Step::Experiment if self.is_open(step) => {
                (BEGINS, format!("experiment still {}", self.experiment.state.status))
            }
            Step::Warning => {
                let what = "no delivery of the warning in the router's log".to_owned();
                (interrupted - WARNED + DELIVERED_IN, what)
            }
            Step::Karpenter => (TAKEN_IN, "unknown whether Karpenter took it".to_owned()),
            Step::Terminated => (interrupted + TERMINATES_IN, format!("instance still {}", self.state)),
            _ => return None,
        };
        let result = match step {
            Step::Karpenter => StepResult::NotKnown,
            _ => StepResult::Failed,
        };
        let why = self.fault.as_ref().map_or(String::new(), |fault| format!("; {fault}"));
        let message = format!("{what} after {}{why}", duration_text(limit.as_secs()));
        (at >= limit).then_some((result, at, message))
    }
}
