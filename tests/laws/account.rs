//! A cloud in memory that is at least as strict as AWS, fails on demand, and records every write that breaks a law. A deleted
//! queue answers some more reads (S9), unless its delete is waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use kibus::cloud::{Fault, FaultKind, Read, Snapshot, Waiting, Write};
use kibus::model::document::Document;
use kibus::model::field::FieldValue;
use kibus::model::inline_policy::InlinePolicy;
use kibus::model::name::{BusName, FunctionName, KmsKey, QueueName, QueuePrefix, RoleName};
use kibus::model::policy;
use kibus::model::resource::{Encryption, FunctionSettings, Resource, ResourceId};
use kibus::model::scope::Scope;
use kibus::model::tags::{CLUSTER, DELETING, Tags};
use kibus::plan::{FieldChange, Op, Plan};
use tokio::sync::watch;

use crate::queue_policies::Sender;

/// The roles of the account that kibus does not manage.
const ROLES: &[&str] = &["KarpenterServiceAccount-base", "a", "b", "r-base", "r-two"];

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It fails and changes nothing.
    Nothing,
    /// It fails after everything except the tags; a single call changes nothing.
    AllButTags,
    /// It fails after the tags, also those that mark a queue before its delete; a single call changes nothing.
    OnlyTags,
    /// It fails after everything except setting tags; old tags are removed.
    TagsRemoved,
    /// It succeeds, and its answer is lost.
    AnswerLost,
    /// The first call of a create succeeds, its answer is lost, and the retry of the SDK is answered with "exists".
    AskedTwice,
    /// It succeeds, and the run is stopped.
    Stop,
}

/// When a write fails, and whether the whole process ends with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interruption {
    /// Which write, counted from 0.
    pub at: usize,
    /// How.
    pub trouble: Trouble,
    /// Whether no later write has any effect, as if the process was killed.
    pub killed: bool,
}

type Desired = BTreeMap<ResourceId, Resource>;

#[derive(Default)]
struct State {
    resources: Desired,
    shown: Vec<Op>,
    writes: usize,
    interruption: Option<Interruption>,
    breaches: Vec<String>,
    /// The resource that was answered to exist: the rest of it may be written, as it was shown.
    unfinished: Option<Resource>,
    /// The deleted queues that still answer, with the number of reads.
    ghosts: BTreeMap<ResourceId, usize>,
    /// How many reads a deleted queue answers.
    ghost_reads: usize,
}

/// The part of an account that matters to one bus.
pub(super) struct Account {
    scope: Scope,
    state: Mutex<State>,
    stop: watch::Sender<bool>,
}

impl Account {
    /// An account with these resources.
    pub(super) fn new(scope: &Scope, resources: Desired) -> Self {
        Self {
            scope: scope.clone(),
            state: Mutex::new(State {
                resources,
                ghost_reads: 1,
                ..State::default()
            }),
            stop: watch::Sender::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The same, in which a deleted queue answers this many reads.
    pub(super) fn with_ghosts(self, reads: usize) -> Self {
        self.state().ghost_reads = reads;
        self
    }

    /// All resources, without those that are deleted and still answer.
    pub(super) fn resources(&self) -> Desired {
        let state = self.state();
        let mut resources = state.resources.clone();
        resources.retain(|id, _| !state.ghosts.contains_key(id));
        resources
    }

    /// Records the plan that was shown: only these writes may follow, once each.
    pub(super) fn show(&self, plan: &Plan, interruption: Option<Interruption>) -> watch::Receiver<bool> {
        let mut state = self.state();
        state.shown = plan.steps.iter().map(|step| step.op.clone()).collect();
        state.writes = 0;
        state.interruption = interruption;
        state.unfinished = None;
        self.stop.send_replace(false);
        self.stop.subscribe()
    }

    /// The writes that broke a law.
    pub(super) fn breaches(&self) -> Vec<String> {
        self.state().breaches.clone()
    }
}

impl Read for Account {
    async fn snapshot(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
        let mut state = self.state();
        match state.ghosts.get_mut(id) {
            Some(0) => state.forget(id),
            Some(left) => *left -= 1,
            None => {}
        }
        let resource = state.resources.get(id).cloned();
        Ok(resource.map(|resource| Snapshot { resource, status: None }))
    }

    async fn cluster_queues(&self, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
        let state = self.state();
        Ok(state
            .resources
            .values()
            .filter_map(|resource| match resource {
                Resource::Queue(queue) => Some(queue),
                _ => None,
            })
            .filter(|queue| queue.name.as_str().starts_with(prefix.as_str()) || queue.tags.get(CLUSTER).is_some())
            .map(|queue| queue.name.clone())
            .collect())
    }

    async fn queues(&self, prefix: &str) -> Result<BTreeSet<QueueName>, Fault> {
        let state = self.state();
        let queues = state.resources.values().filter_map(Resource::as_queue);
        let names = queues.map(|queue| queue.name.clone());
        Ok(names.filter(|name| name.as_str().starts_with(prefix)).collect())
    }

    async fn buses(&self) -> Result<BTreeSet<BusName>, Fault> {
        Ok(BTreeSet::from([self.scope.bus.clone()]))
    }

    async fn role_arns(&self) -> Result<BTreeMap<RoleName, String>, Fault> {
        let arn = |role: &RoleName| format!("arn:aws:iam::{}:role/{role}", self.scope.account);
        let roles = ROLES.iter().map(|role| role.parse().unwrap());
        Ok(roles.map(|role: RoleName| (role.clone(), arn(&role))).collect())
    }

    async fn inline_policy_names(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        let state = self.state();
        let names = state.resources.values().filter_map(|resource| match resource {
            Resource::RolePolicy(policy) if policy.role == *role => Some(policy.name.to_string()),
            _ => None,
        });
        Ok(ROLES.contains(&role.as_str()).then(|| names.collect()))
    }

    async fn inline_policy(&self, role: &RoleName, policy: &str) -> Result<Option<InlinePolicy>, Fault> {
        let id = ResourceId::RolePolicy(role.clone(), policy.parse().unwrap());
        Ok(match self.state().resources.get(&id) {
            Some(Resource::RolePolicy(found)) => Some(InlinePolicy {
                name: policy.to_owned(),
                text: found.document.compact(),
            }),
            _ => None,
        })
    }

    async fn attached_policies(&self, _: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        Ok(Some(BTreeSet::new()))
    }

    async fn managed_policy(&self, _: &str) -> Result<Option<Document>, Fault> {
        Ok(None)
    }

    async fn unreserved_concurrency(&self) -> Result<Option<u32>, Fault> {
        Ok(None)
    }

    async fn key_policy(&self, _: &KmsKey) -> Result<Option<Document>, Fault> {
        Ok(None)
    }

    async fn published_version(&self, _: &FunctionName, _: u64) -> Result<Option<FunctionSettings>, Fault> {
        Ok(None)
    }

    fn caller_role(&self) -> Option<RoleName> {
        None
    }
}

impl Write for Account {
    async fn read_back(&self, id: &ResourceId) -> Result<Option<Resource>, Fault> {
        self.read(id).await
    }

    async fn write(&self, op: &Op, waiting: Waiting<'_>) -> Result<(), Fault> {
        // Other tasks run between the call and its effect.
        tokio::task::yield_now().await;
        waiting.report("settling");
        tokio::task::yield_now().await;
        let mut state = self.state();
        let could = can_use(&self.scope, &state.resources);
        let answer = self.answer(&mut state, op);
        let can = can_use(&self.scope, &state.resources);
        let there = |id: &ResourceId| stands(&state.resources, id);
        let shut_out: Vec<String> = could
            .difference(&can)
            .filter(|(policy, queue)| there(policy) && there(queue))
            .map(|(policy, queue)| format!("{}: {policy} has no key to {queue} any more", op.id()))
            .collect();
        state.breaches.extend(shut_out);
        let locked_out = locked_out(&self.scope, &state.resources);
        let locked_out = locked_out
            .iter()
            .map(|queue| format!("{}: the router may not send to {queue}", op.id()));
        state.breaches.extend(locked_out);
        answer
    }

    async fn gone(&self, id: &ResourceId, waiting: Waiting<'_>) -> Result<(), Fault> {
        if self.state().ghosts.contains_key(id) {
            waiting.report("leaving");
            tokio::task::yield_now().await;
        }
        let mut state = self.state();
        if state
            .interruption
            .is_some_and(|now| now.killed && now.at < state.writes)
        {
            return Err(fault("killed"));
        }
        if state.ghosts.contains_key(id) {
            state.forget(id);
        }
        Ok(())
    }
}

impl State {
    fn forget(&mut self, id: &ResourceId) {
        self.ghosts.remove(id);
        self.resources.remove(id);
    }

    /// Makes a whole write. A deleted queue stays for a while, with its mark.
    fn take(&mut self, op: &Op) {
        match marked(op) {
            Some(marked) => {
                self.ghosts.insert(op.id(), self.ghost_reads);
                self.resources.insert(op.id(), marked);
            }
            None => take(&mut self.resources, op),
        }
    }
}

/// The queue that a step deletes, with the mark that comes before the delete.
fn marked(op: &Op) -> Option<Resource> {
    let Op::Delete(Resource::Queue(queue)) = op else {
        return None;
    };
    let mut queue = queue.clone();
    queue.tags = queue.tags.with(DELETING, "1");
    Some(Resource::Queue(queue))
}

/// Whether a resource exists and is not being deleted.
fn stands(resources: &Desired, id: &ResourceId) -> bool {
    let tags = |resource: &Resource| resource.tags().cloned().unwrap_or_default();
    resources
        .get(id)
        .is_some_and(|resource| !tags(resource).being_deleted())
}

impl Account {
    fn answer(&self, state: &mut State, op: &Op) -> Result<(), Fault> {
        let at = state.writes;
        state.writes += 1;
        let now = state.interruption.filter(|now| now.at <= at);
        if now.is_some_and(|earlier| earlier.at < at && earlier.killed) {
            return Err(fault("killed"));
        }
        if let Err(breach) = allowed(&self.scope, state, op) {
            let breach = format!("{}: {breach}", op.id());
            state.breaches.push(breach.clone());
            return Err(fault(&breach));
        }
        match now.filter(|now| now.at == at).map(|now| now.trouble) {
            None => state.take(op),
            Some(Trouble::Stop) => {
                state.take(op);
                self.stop.send_replace(true);
            }
            Some(Trouble::AskedTwice) if matches!(op, Op::Create(_)) => {
                match half(op, Trouble::AllButTags) {
                    Some(half) => drop(state.resources.insert(half.id(), half)),
                    None => state.take(op),
                }
                state.unfinished = Some(op.resource().clone());
                return Err(Fault {
                    kind: FaultKind::Exists,
                    ..fault("exists")
                });
            }
            Some(trouble) => {
                match trouble {
                    Trouble::AnswerLost => state.take(op),
                    Trouble::AllButTags | Trouble::OnlyTags | Trouble::TagsRemoved => {
                        let half = half(op, trouble);
                        state.resources.extend(half.map(|half| (half.id(), half)));
                    }
                    Trouble::Nothing | Trouble::Stop | Trouble::AskedTwice => {}
                }
                return Err(fault("injected"));
            }
        }
        Ok(())
    }
}

/// Which policies allow which queues: the router policy all but the dead-letter queue, a controller policy its cluster queue.
fn can_use(scope: &Scope, resources: &Desired) -> BTreeSet<(ResourceId, ResourceId)> {
    let mut found = BTreeSet::new();
    for queue in resources.values() {
        let Resource::Queue(queue) = queue else { continue };
        if queue.name == scope.dead_letter_queue() || !queue.tags.belong_to(&scope.bus) || queue.tags.being_deleted() {
            continue;
        }
        let controller = queue
            .tags
            .cluster_of(&scope.bus)
            .map(|cluster| scope.controller_policy(&cluster));
        for policy in resources.values() {
            let Resource::RolePolicy(policy) = policy else { continue };
            let uses = policy.name == scope.router_policy() || Some(&policy.name) == controller.as_ref();
            let opens = match &queue.encryption {
                Encryption::Kms(key) => policy.document.compact().contains(key.as_str()),
                _ => true,
            };
            if uses && opens {
                let policy = ResourceId::RolePolicy(policy.role.clone(), policy.name.clone());
                found.insert((policy, ResourceId::Queue(queue.name.clone())));
            }
        }
    }
    found
}

/// The queues whose policies deny the router's messages, with the role as it is.
fn locked_out(scope: &Scope, resources: &Desired) -> Vec<QueueName> {
    let role = resources.get(&ResourceId::Role(scope.router_role()));
    let arn = role
        .and_then(Resource::as_role)
        .map(|role| scope.role_arn(&role.path, &role.name));
    let queues = resources.values().filter_map(Resource::as_queue);
    let delivered = queues.filter(|queue| queue.tags.belong_to(&scope.bus) && queue.tags.get(CLUSTER).is_some());
    let locked = delivered.filter(|queue| {
        let router = arn.clone().map(Sender::principal);
        router.is_some_and(|router| queue.policy.as_ref().is_some_and(|policy| !router.may_send(policy)))
    });
    locked.map(|queue| queue.name.clone()).collect()
}

fn fault(message: &str) -> Fault {
    Fault {
        kind: FaultKind::Rejected,
        action: "test:Write".to_owned(),
        code: None,
        message: message.to_owned(),
    }
}

/// Whether this write is allowed: it was shown, kibus manages the resource, and nothing depends on it.
fn allowed(scope: &Scope, state: &mut State, op: &Op) -> Result<(), String> {
    // Other tasks may run in between.
    let goes_on = matches!(op, Op::Update { to, .. } if Some(to) == state.unfinished.as_ref());
    match state.shown.iter().position(|shown| shown == op) {
        Some(place) => drop(state.shown.swap_remove(place)),
        None if goes_on => state.unfinished = None,
        None => return Err("was not shown, or is done twice".to_owned()),
    }
    let resources = &state.resources;
    let there = resources.get(&op.id());
    match (op, there) {
        (Op::Create(_), Some(_)) => return Err("exists".to_owned()),
        (Op::Create(after), None) => {
            if after.tags().is_some_and(|tags| !tags.belong_to(&scope.bus)) {
                return Err("would not be known as ours".to_owned());
            }
        }
        (Op::Update { .. } | Op::Delete(_), None) => return Err("is gone".to_owned()),
        (Op::Update { from, .. }, Some(there)) if from.as_ref() != there => {
            return Err("is not what was seen".to_owned());
        }
        (Op::Delete(_) | Op::Update { .. }, Some(there)) => {
            if !ours(scope, resources, there) {
                return Err("is not managed by kibus".to_owned());
            }
        }
    }
    match op {
        // Nothing works with a queue that is being deleted.
        Op::Delete(before) if !stands(resources, &before.id()) => Ok(()),
        Op::Delete(before) => match users(scope, resources, before).next() {
            Some(user) => Err(format!("goes while {user} needs it")),
            None => Ok(()),
        },
        Op::Create(after) | Op::Update { to: after, .. } => {
            match needed(scope, after).find(|id| !stands(resources, id)) {
                Some(missing) => Err(format!("needs {missing}, which is missing")),
                None => Ok(()),
            }
        }
    }
}

fn ours(scope: &Scope, resources: &Desired, resource: &Resource) -> bool {
    let tagged = |id: &ResourceId| {
        let tags = resources.get(id).and_then(Resource::tags);
        tags.is_some_and(|tags| tags.belong_to(&scope.bus))
    };
    match resource {
        Resource::RolePolicy(r) => policy::all_ours(&r.document) || tagged(&ResourceId::Role(r.role.clone())),
        Resource::Alias(r) => tagged(&ResourceId::Function(r.function.clone())),
        Resource::EventSourceMapping(r) => tagged(&ResourceId::Queue(r.queue.clone())),
        _ => tagged(&resource.id()),
    }
}

/// The resources that this one needs.
fn needed(scope: &Scope, resource: &Resource) -> impl Iterator<Item = ResourceId> {
    let dead_letters = ResourceId::Queue(scope.dead_letter_queue());
    let router_policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
    let ids = match resource {
        Resource::Queue(queue) if queue.redrive.is_some() => vec![dead_letters],
        Resource::Rule(_) => vec![dead_letters, ResourceId::Queue(scope.hub_queue())],
        Resource::RolePolicy(policy) if policy.role == scope.router_role() => {
            vec![ResourceId::Role(policy.role.clone())]
        }
        // The queue of the policy's cluster saves the role.
        Resource::RolePolicy(policy) => {
            let name = policy.name.as_str().rsplit('-').next().unwrap_or_default();
            vec![ResourceId::Queue(format!("karpenter-{name}").parse().unwrap())]
        }
        Resource::Function(_) => vec![
            ResourceId::Role(scope.router_role()),
            ResourceId::LogGroup(scope.router_log_group()),
        ],
        // Its self-test uses all of them.
        Resource::Alias(alias) => vec![
            ResourceId::Function(alias.function.clone()),
            ResourceId::Queue(scope.probe_queue()),
            router_policy,
        ],
        Resource::EventSourceMapping(mapping) => vec![
            ResourceId::Queue(mapping.queue.clone()),
            ResourceId::Alias(mapping.function.clone(), mapping.alias.clone()),
            router_policy,
        ],
        _ => Vec::new(),
    };
    ids.into_iter()
}

/// The managed resources that need this one. A role is replaced under its function, and its policy under the mapping. An
/// alias needs more only while it moves.
fn users(scope: &Scope, resources: &Desired, used: &Resource) -> impl Iterator<Item = ResourceId> {
    let users: Vec<ResourceId> = resources
        .values()
        .filter(|user| ours(scope, resources, user))
        .filter(|user| needed(scope, user).any(|id| id == used.id()))
        .filter(|user| {
            !matches!(
                (user, used),
                (Resource::Function(_), Resource::Role(_))
                    | (
                        Resource::EventSourceMapping(_) | Resource::Alias(_),
                        Resource::RolePolicy(_)
                    )
                    | (Resource::Alias(_), Resource::Queue(_))
            )
        })
        .map(Resource::id)
        .collect();
    users.into_iter()
}

fn take(resources: &mut Desired, op: &Op) {
    let after = match op {
        Op::Create(after) => after.clone(),
        Op::Update { from, to, fields } => updated(from, to, fields),
        Op::Delete(before) => {
            resources.remove(&before.id());
            return;
        }
    };
    let after = match after {
        // Publishing freezes the current settings, not the desired ones.
        Resource::Alias(mut alias) => {
            if let Some(Resource::Function(function)) = resources.get(&ResourceId::Function(alias.function.clone())) {
                alias.settings = function.settings.clone();
            }
            alias.version = Some(alias.version.unwrap_or(0) + 1);
            Resource::Alias(alias)
        }
        other => other,
    };
    resources.insert(after.id(), after);
}

/// A resource after an update: only the planned fields change.
fn updated(from: &Resource, to: &Resource, fields: &[FieldChange]) -> Resource {
    let named = |path: &str| fields.iter().any(|field| field.path == path);
    let mut after = to.clone();
    if let (Some(tags), Some(before)) = (tags_mut(&mut after), from.tags()) {
        let wanted = std::mem::replace(tags, before.clone());
        for (key, _) in before.0.iter().filter(|(key, _)| named(&format!("tags.{key}"))) {
            tags.0.remove(key);
        }
        tags.0
            .extend(wanted.0.into_iter().filter(|(key, _)| named(&format!("tags.{key}"))));
    }
    match (&mut after, from) {
        (Resource::Function(after), Resource::Function(before)) if !named("code") => {
            after.settings.code = before.settings.code.clone();
        }
        (Resource::Rule(after), Resource::Rule(before)) => after.foreign_targets = before.foreign_targets.clone(),
        (Resource::Alias(after), Resource::Alias(before)) => after.version = before.version,
        _ => {}
    }
    after
}

/// The ways in which this can be partly done.
pub(super) fn halves(op: &Op) -> Vec<Trouble> {
    match op {
        Op::Update { fields, .. } => {
            let tags = fields.iter().filter(|field| field.path.starts_with("tags."));
            let removes = tags.clone().any(|field| field.to == FieldValue::Unset);
            let mut halves = Vec::new();
            if (1..fields.len()).contains(&tags.count()) {
                halves.extend([Trouble::AllButTags, Trouble::OnlyTags]);
            }
            halves.extend(removes.then_some(Trouble::TagsRemoved));
            halves
        }
        _ => [Trouble::AllButTags, Trouble::OnlyTags]
            .into_iter()
            .find(|trouble| half(op, *trouble).is_some())
            .into_iter()
            .collect(),
    }
}

/// The resource after a part of an operation of several calls; `None` for a single call.
fn half(op: &Op, trouble: Trouble) -> Option<Resource> {
    match op {
        Op::Delete(Resource::Queue(_)) if trouble == Trouble::OnlyTags => marked(op),
        Op::Update { from, to, fields } => {
            let after = updated(from, to, fields);
            let (mut half, tags) = match trouble {
                Trouble::OnlyTags => (from.as_ref().clone(), after.tags().cloned()),
                Trouble::TagsRemoved => {
                    let stays = |key: &str| after.tags().is_some_and(|tags| tags.get(key).is_some());
                    let tags = from.tags().map(|tags| tags.0.clone()).unwrap_or_default();
                    let left = tags.into_iter().filter(|(key, _)| stays(key)).collect();
                    (after.clone(), Some(left))
                }
                _ => (after, from.tags().cloned()),
            };
            if let (Some(place), Some(tags)) = (tags_mut(&mut half), tags) {
                *place = tags;
            }
            Some(half)
        }
        // The target, the retention and the reserved concurrency are calls of their own.
        Op::Create(Resource::Rule(rule)) | Op::Delete(Resource::Rule(rule)) => {
            let mut rule = rule.clone();
            rule.target = None;
            Some(Resource::Rule(rule))
        }
        Op::Create(Resource::LogGroup(group)) => {
            let mut group = group.clone();
            group.retention_days = None;
            Some(Resource::LogGroup(group))
        }
        Op::Create(Resource::Function(function)) => {
            let mut function = function.clone();
            function.reserved_concurrency = None;
            Some(Resource::Function(function))
        }
        Op::Create(_) | Op::Delete(_) => None,
    }
}

/// The tags of a resource, to change.
pub(super) fn tags_mut(resource: &mut Resource) -> Option<&mut Tags> {
    match resource {
        Resource::Queue(r) => Some(&mut r.tags),
        Resource::Role(r) => Some(&mut r.tags),
        Resource::LogGroup(r) => Some(&mut r.tags),
        Resource::Function(r) => Some(&mut r.tags),
        Resource::Rule(r) => Some(&mut r.tags),
        Resource::RolePolicy(_) | Resource::Alias(_) | Resource::EventSourceMapping(_) => None,
    }
}
