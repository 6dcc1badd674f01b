//! A drill: AWS FIS interrupts one Spot instance of a cluster, and kibus shows each step until the instance has
//! terminated. It receives no messages from queues.
//!
//! Kibus finds the resources of a drill again without a file: the role has a computed name and the tags of the bus, and
//! the template has those tags and this role. The role is created first and deleted last, so it leads to the rest, and
//! a second drill stops when it finds the role.

pub mod choice;
pub mod steps;

use std::collections::BTreeMap;
use std::mem::replace;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep};

use crate::cloud::{Fault, FaultKind, Probe, Waiting};
use crate::events::{self, EventLine, RouterLog, Wanted};
use crate::model::{
    ClusterName, Document, HubOptions, Instance, InstanceId, QueueName, Resource, ResourceId, Role, RolePolicy, Scope,
    Tags,
    calls::{fis, iam},
    now,
    policy::{drill_policy, drill_trust, of_bus},
    tags::CLUSTER,
};
use crate::plan::Change;
use choice::RUNNING;
use steps::{Step, StepReport, StepResult, Story};

/// An experiment of FIS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Experiment {
    pub id: String,
    /// The role that it runs as; empty in a list.
    #[serde(rename = "roleArn")]
    pub role: String,
    pub state: ExperimentState,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExperimentState {
    /// The state as FIS names it, like `running`.
    pub status: String,
    /// Text that may change.
    pub reason: String,
    /// The `code` of a failure and its `location` (FIS API reference, `ExperimentError`).
    pub error: BTreeMap<String, String>,
}

impl ExperimentState {
    /// Why it failed, as far as FIS reports it: the code, the location and the reason.
    fn why(&self) -> String {
        let error = ["code", "location"].into_iter().filter_map(|member| self.error.get(member));
        let parts = error.chain([&self.reason]).filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }
}

impl Experiment {
    fn has_begun(&self) -> bool {
        !matches!(self.state.status.as_str(), "pending" | "initiating")
    }

    fn has_ended(&self) -> bool {
        matches!(self.state.status.as_str(), "completed" | "stopped" | "failed" | "cancelled")
    }
}

/// A template of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Template {
    pub id: String,
    /// The role of its experiments; empty in a list.
    #[serde(rename = "roleArn")]
    pub role: String,
    pub tags: BTreeMap<String, String>,
}

/// What a drill needs from AWS, in addition to the router's log and the counts of a queue.
pub trait DrillCloud: RouterLog + Probe {
    /// The instances that a filter of EC2 selects, by its name and value.
    fn instances(&self, filter: (&str, &str)) -> impl Future<Output = Result<Vec<Instance>, Fault>> + Send;
    fn resource(&self, id: &ResourceId) -> impl Future<Output = Result<Option<Resource>, Fault>> + Send;
    fn change(&self, change: &Change, waiting: Waiting<'_>) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Returns the id. The document has a token, so that a repeated call creates no second template.
    fn create_template(&self, template: &Document) -> impl Future<Output = Result<String, Fault>> + Send;
    /// All templates in the account and Region, whoever created them.
    fn templates(&self) -> impl Future<Output = Result<Vec<Template>, Fault>> + Send;
    fn template(&self, id: &str) -> impl Future<Output = Result<Option<Template>, Fault>> + Send;
    /// An absent resource is not a fault.
    fn delete_template(&self, id: &str) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Starts an experiment with these tags. With the same token, a repeated call starts no second experiment.
    fn start_experiment(
        &self,
        template: &str,
        token: String,
        tags: &Tags,
    ) -> impl Future<Output = Result<Experiment, Fault>> + Send;
    fn experiment(&self, id: &str) -> impl Future<Output = Result<Experiment, Fault>> + Send;
    /// The experiments of a template; finished ones stay listed.
    fn experiments(&self, template: &str) -> impl Future<Output = Result<Vec<Experiment>, Fault>> + Send;
    /// A finished experiment is not a fault.
    fn stop_experiment(&self, id: &str) -> impl Future<Output = Result<(), Fault>> + Send;
    /// How many messages were deleted from a queue since a time in Unix seconds, as far as CloudWatch reports.
    fn deleted(&self, queue: &QueueName, since: i64) -> impl Future<Output = Result<u64, Fault>> + Send;
    /// How many messages SQS counted as sent to a queue since then. Others may write to the log, but no one can forge this count.
    fn sent(&self, _queue: &QueueName, _since: i64) -> impl Future<Output = Result<u64, Fault>> + Send {
        std::future::ready(Ok(0))
    }
    /// The time of the local clock, in milliseconds of the Unix epoch.
    fn clock(&self) -> i64 {
        now()
    }
}

/// The target: an instance of a cluster on a bus.
#[derive(Clone, Debug)]
pub struct Drill {
    pub scope: Scope,
    /// The options of the hub: the drill role has its path, its boundary and its tags.
    pub options: HubOptions,
    pub cluster: ClusterName,
    pub queue: QueueName,
    pub instance: InstanceId,
    /// The time from the start to the interruption, in minutes.
    pub minutes: u64,
}

/// How a drill ended.
#[derive(Debug, Default)]
pub struct Ended {
    pub steps: Vec<StepReport>,
    /// Why it ended before all steps were known: a call failed, or the user requested a stop.
    pub fault: Option<Fault>,
    /// Why some resources of the drill are left.
    pub left: Option<Fault>,
}

impl Ended {
    pub fn has_failed(&self) -> bool {
        self.steps.iter().any(|report| report.result == StepResult::Failed)
    }
}

/// The leftovers of drills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub role: Option<Role>,
    pub templates: Vec<String>,
    /// The experiments of the templates that have not ended.
    pub experiments: Vec<String>,
}

impl Left {
    /// The kind and name of each, in the order of removal.
    pub fn parts(&self) -> Vec<(&'static str, &str)> {
        let experiments = self.experiments.iter().map(|id| ("running experiment", id.as_str()));
        let templates = self.templates.iter().map(|id| ("experiment template", id.as_str()));
        experiments.chain(templates).chain(self.role.iter().map(|role| ("role", role.name.as_str()))).collect()
    }
}

/// How long FIS may be unable to use a new role, or may fail by itself.
const STARTS_IN: Duration = Duration::from_secs(2 * 60);
/// How long a started experiment may stay silent.
const BEGINS_IN: Duration = Duration::from_secs(60);
/// Signs of a temporary failure in FIS: codes for a role whose policy is not in effect yet, and for faults of AWS (FIS
/// user guide, "Troubleshooting"); and the word with which it refuses a role that it does not know yet.
const PASSING: [&str; 4] = ["AuthorizationFailure", "DependentServiceFailure", "InternalFailure", "assume"];
/// How long an experiment may take to stop.
const STOPS_IN: Duration = Duration::from_secs(5 * 60);
/// The pause between two checks, and between checks once only Karpenter is pending.
const PAUSE: Duration = Duration::from_secs(2);
const LATE_PAUSE: Duration = Duration::from_secs(10);

/// How far before the start the log read begins, in milliseconds: clocks differ.
const CLOCKS: i64 = 60_000;

/// The leftovers of drills on this bus. A role with that name but without the tags belongs to someone else, which is a fault.
pub async fn find(cloud: &impl DrillCloud, scope: &Scope) -> Result<Left, Fault> {
    let id = ResourceId::Role(scope.drill_role());
    let role = match cloud.resource(&id).await? {
        Some(Resource::Role(role)) if role.tags.belong_to(&scope.bus) => Some(role),
        Some(_) => {
            let message = format!("{id} lacks the tag of bus `{}`; it was not changed", scope.bus);
            return Err(Fault::new(FaultKind::NotManaged, iam::GET_ROLE, message)
                .advised("use another bus, or delete the role if nothing needs it"));
        }
        None => None,
    };
    let mut left = Left { role, ..Left::default() };
    for tagged in cloud.templates().await? {
        // Anyone who can tag could tag another team's template. Its role shows who created it.
        if Tags(tagged.tags).belong_to(&scope.bus)
            && let Some(template) = cloud.template(&tagged.id).await?
            && is_of_drill(scope, &template.role)
        {
            left.experiments.extend(running(cloud, scope, &template.id).await?);
            left.templates.push(template.id);
        }
    }
    Ok(left)
}

/// Whether a template or an experiment with this role belongs to a drill on this bus.
fn is_of_drill(scope: &Scope, role: &str) -> bool {
    scope.own_role(role) == Some(scope.drill_role())
}

/// The experiments of a drill's template that have not ended.
async fn running(cloud: &impl DrillCloud, scope: &Scope, template: &str) -> Result<Vec<String>, Fault> {
    let mut running = Vec::new();
    for listed in cloud.experiments(template).await? {
        if !listed.has_ended() && is_of_drill(scope, &cloud.experiment(&listed.id).await?.role) {
            running.push(listed.id);
        }
    }
    Ok(running)
}

/// Removes the leftovers of drills: stops the experiments and waits until they end, then deletes the templates and the role.
pub async fn remove(cloud: &impl DrillCloud, scope: &Scope, left: &Left) -> Result<(), Fault> {
    for template in &left.templates {
        for experiment in running(cloud, scope, template).await? {
            stop(cloud, &experiment).await?;
        }
        cloud.delete_template(template).await?;
    }
    let Some(role) = &left.role else {
        return Ok(());
    };
    // The waits for IAM are short, and are not stopped.
    let policy = ResourceId::RolePolicy(role.name.clone(), scope.drill_policy());
    if let Some(policy) = cloud.resource(&policy).await? {
        let delete = Change::delete(None, policy);
        cloud.change(&delete, Waiting::unattended()).await?;
    }
    let delete = Change::delete(None, Resource::Role(role.clone()));
    cloud.change(&delete, Waiting::unattended()).await
}

async fn stop(cloud: &impl DrillCloud, id: &str) -> Result<(), Fault> {
    let clock = Instant::now();
    cloud.stop_experiment(id).await?;
    loop {
        let experiment = cloud.experiment(id).await?;
        if experiment.has_ended() {
            return Ok(());
        }
        if clock.elapsed() >= STOPS_IN {
            let message = format!("experiment {id} is still {}", experiment.state.status);
            return Err(Fault::new(FaultKind::Unsettled, fis::GET_EXPERIMENT, message));
        }
        sleep(PAUSE).await;
    }
}

/// Interrupts the instance, watches until every step is known, and removes its resources. `tell` receives each step,
/// `wait` the reason for a wait. A request to stop ends the watch.
pub async fn run(
    cloud: &impl DrillCloud,
    drill: &Drill,
    tell: &(dyn Fn(&StepReport) + Sync),
    wait: &(dyn Fn(&str) + Sync),
    stop: &Receiver<bool>,
) -> Ended {
    let (mut ended, role, waiting) = (Ended::default(), drill.role(), Waiting::new(wait, stop));
    let create = Change::create(None, Resource::Role(role.clone()));
    if let Err(fault) = cloud.change(&create, waiting).await {
        // An existing role belongs to another drill and is not removed. A create whose response was lost also leaves one.
        ended.fault = Some(fault);
        return ended;
    }
    let mut left = Left { role: Some(role), ..Left::default() };
    // Earlier warnings about the instance do not belong to this drill, nor do messages that are already in flight.
    let old = lines(cloud, drill, cloud.clock()).await.unwrap_or_default();
    let held = cloud.depth(&drill.queue).await.unwrap_or_default().unwrap_or_default();
    match begin(cloud, drill, &mut left, waiting).await {
        Ok(mut story) => {
            (story.old, story.held) = (old, held.in_flight);
            ended.fault = watch(cloud, &mut story, tell, waiting).await.err();
            ended.steps = story.steps;
        }
        Err(fault) => ended.fault = Some(fault),
    }
    let removed = async {
        // This includes resources created by a call whose response was lost.
        if left.templates.is_empty() {
            left.templates = find(cloud, &drill.scope).await?.templates;
        }
        remove(cloud, &drill.scope, &left).await
    };
    ended.left = removed.await.err();
    ended
}

/// Creates the resources for the experiment, and starts it. FIS may be unable to use a new role for a while.
async fn begin<'a>(
    cloud: &impl DrillCloud,
    drill: &'a Drill,
    left: &mut Left,
    waiting: Waiting<'_>,
) -> Result<Story<'a>, Fault> {
    let policy = Change::create(None, Resource::RolePolicy(drill.policy()));
    cloud.change(&policy, waiting).await?;
    let (clock, mut is_reported) = (Instant::now(), false);
    loop {
        let started = start(cloud, drill, left, waiting).await;
        let why = match &started {
            Ok(story) => story.experiment.state.why(),
            Err(fault) => fault.message.clone(),
        };
        let passes = PASSING.iter().any(|text| why.contains(text));
        // An experiment that has already interrupted the instance is not repeated.
        if !passes || clock.elapsed() >= STARTS_IN || (started.is_ok() && state(cloud, drill).await? != RUNNING) {
            return started;
        }
        if !replace(&mut is_reported, true) {
            waiting.report(&format!("FIS cannot start the experiment yet: {}", why.trim_end_matches('.')));
        }
        pause(PAUSE, waiting).await?;
    }
}

/// The state of the instance as EC2 names it; empty if there is no instance.
async fn state(cloud: &impl DrillCloud, drill: &Drill) -> Result<String, Fault> {
    let found = cloud.instances(("instance-id", drill.instance.as_str())).await?.into_iter();
    Ok(found.filter(|one| one.id == drill.instance).map(|one| one.state).next().unwrap_or_default())
}

/// Creates the template, unless it exists, and starts the experiment. Returns as soon as it is known whether the experiment begins.
async fn start<'a>(
    cloud: &impl DrillCloud,
    drill: &'a Drill,
    left: &mut Left,
    waiting: Waiting<'_>,
) -> Result<Story<'a>, Fault> {
    if left.templates.is_empty() {
        let template = cloud.create_template(&drill.template(cloud.clock())).await?;
        left.templates.push(template);
    }
    let (clock, begun) = (Instant::now(), cloud.clock());
    let (template, token) = (&left.templates[0], begun.to_string());
    let mut experiment = cloud.start_experiment(template, token, &drill.tags()).await?;
    while !experiment.has_begun() && clock.elapsed() < BEGINS_IN {
        pause(PAUSE / 2, waiting).await?;
        experiment = cloud.experiment(&experiment.id).await?;
    }
    Ok(Story::new(drill, begun, experiment))
}

async fn pause(time: Duration, waiting: Waiting<'_>) -> Result<(), Fault> {
    tokio::select! {
        biased;
        () = waiting.stopped() => Err(Fault::new(FaultKind::Stopped, fis::GET_EXPERIMENT, "the drill")),
        () = sleep(time) => Ok(()),
    }
}

/// The lines about the instance in the router's log, from some time before this one.
async fn lines(cloud: &impl DrillCloud, drill: &Drill, since: i64) -> Result<Vec<EventLine>, Fault> {
    let (group, wanted) = (drill.scope.router_log_group(), drill.wanted());
    let read = events::read(cloud, &group, &wanted, (since - CLOCKS, cloud.clock()), &|_, _| {}).await;
    read.map(|report| report.lines)
}

/// Keeps checking until every step is known, and reports each new one.
async fn watch(
    cloud: &impl DrillCloud,
    story: &mut Story<'_>,
    tell: &(dyn Fn(&StepReport) + Sync),
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    loop {
        let at = story.since(cloud.clock());
        story.judge(at).iter().for_each(tell);
        if story.is_over() {
            return Ok(());
        }
        let is_late = !story.awaits(Step::Warning) && !story.awaits(Step::Terminated);
        pause(if is_late { LATE_PAUSE } else { PAUSE }, waiting).await?;
        look(cloud, story).await;
    }
}

/// Reads whatever can show a pending step. Failed reads are retried; an overdue step reports why.
async fn look(cloud: &impl DrillCloud, story: &mut Story<'_>) {
    let (drill, mut fault) = (story.drill, None);
    let mut known = |error: Fault| fault = Some(error.to_string());
    if story.awaits(Step::Experiment)
        && let Ok(experiment) = cloud.experiment(&story.experiment.id).await.map_err(&mut known)
    {
        story.experiment = experiment;
    }
    if story.awaits(Step::Terminated) {
        let found = state(cloud, drill).await.map_err(&mut known).unwrap_or_default();
        if !found.is_empty() {
            story.state = found;
        }
    }
    if story.awaits(Step::Warning) {
        let lines = lines(cloud, drill, story.begun).await;
        story.lines = lines.map_err(&mut known).unwrap_or_default();
        story.lines.retain(|line| story.old.iter().all(|old| old.text != line.text));
    }
    if let Some(delivered) = story.delivered().filter(|_| story.awaits(Step::Karpenter)) {
        let depth = cloud.depth(&drill.queue).await.map_err(&mut known).unwrap_or_default();
        let at = story.since(cloud.clock());
        story.depths.extend(depth.map(|depth| (at, depth)));
        // Metrics lag by minutes.
        if !story.awaits(Step::Terminated) {
            let since = story.begun / 1000 + i64::try_from(delivered.as_secs()).unwrap_or_default();
            let deleted = cloud.deleted(&drill.queue, since).await;
            story.deleted = deleted.map_err(&mut known).unwrap_or_default();
        }
    }
    story.fault = fault;
}

impl Drill {
    fn tags(&self) -> Tags {
        Tags::of_bus(&self.scope.bus).with_all(&self.options.tags()).with(CLUSTER, self.cluster.as_str())
    }

    pub fn role(&self) -> Role {
        Role {
            name: self.scope.drill_role(),
            path: self.options.role_path(),
            trust: drill_trust(&self.scope),
            permissions_boundary: Some(self.scope.drill_boundary(&self.options)),
            tags: self.tags(),
        }
    }

    fn policy(&self) -> RolePolicy {
        RolePolicy {
            role: self.scope.drill_role(),
            name: self.scope.drill_policy(),
            document: drill_policy(&self.scope, &self.instance),
        }
    }

    /// The template of the experiment (FIS API reference, `CreateExperimentTemplate`).
    fn template(&self, clock: i64) -> Document {
        let role = self.scope.role_arn(&self.options.role_path(), &self.scope.drill_role());
        let values = [
            ("token", format!("{}-{clock}", self.instance).into()),
            ("cluster", self.cluster.as_str().into()),
            ("instance_arn", self.scope.instance_arn(&self.instance).into()),
            ("minutes", self.minutes.to_string().into()),
            ("role_arn", role.into()),
            ("tags", json!(self.tags().0)),
        ];
        of_bus(&self.scope, include_str!("../templates/drill-experiment.json"), &values)
    }

    /// All lines about the instance in the router's log.
    fn wanted(&self) -> Wanted {
        Wanted { names: self.instance.as_str().parse().into_iter().collect(), limit: 100, ..Wanted::default() }
    }
}

#[cfg(test)]
mod tests;
