//! A cloud in memory that is at least as strict as AWS, fails on demand, and records every write that breaks a law. A
//! deleted queue answers some more reads (S9), until another queue with its name is created.

mod effect;
mod rules;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kibus::cloud::{Fault, FaultKind, ListedRole, Probe, Questions, Read, Snapshot, Waiting, Write};
use kibus::model::{
    Association, BusName, ClusterName, Document, FunctionSettings, HubOptions, Kind, KmsKey, ParameterName,
    QueueActivity, QueueName, Record, Resource, ResourceId, RoleName, Scope, Tags, hub, policy::InlinePolicy,
    resource::SETTINGS_PATH, tags::CLUSTER,
};
use kibus::plan::{Action, Change, Plan};
use serde_json::json;
use tokio::sync::watch;

use super::interruption::Desired;
use effect::{Published, half, marked, published, take};
use rules::{MessageKeys, allowed, can_use, locked_out, note_keys};

pub(super) use effect::halves;

/// The roles of the account that kibus does not manage.
const ROLES: &[&str] = &["KarpenterServiceAccount-base", "a", "b", "r-base", "r-two"];

/// The number of records per page.
const PAGE: usize = 10;

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It fails and changes nothing.
    Nothing,
    /// It fails after everything except the tags; a single call changes nothing.
    AllButTags,
    /// It fails after the tags, including those that mark a queue before its delete; a single call changes nothing.
    OnlyTags,
    /// It fails after everything except setting tags; old tags are removed.
    TagsRemoved,
    /// It succeeds, but its answer is lost.
    AnswerLost,
    /// The first call of a create succeeds, its answer is lost, and the SDK's retry is answered with "exists".
    AskedTwice,
    /// It succeeds, but the run is stopped.
    Stop,
}

/// When a write fails, and whether the whole process ends with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interruption {
    /// Which write, counted from 0.
    pub at: usize,
    pub trouble: Trouble,
    /// Whether no later write has any effect, as if the process was killed.
    pub killed: bool,
}

/// Resources that many accounts share.
type Resources = BTreeMap<ResourceId, Arc<Resource>>;

/// Everything that determines what a command does in an account: the time, the resources, the published versions, the
/// deleted queues that still answer, and the keys of messages.
pub(super) type Basis = (u64, Resources, Published, BTreeMap<ResourceId, usize>, MessageKeys);

#[derive(Clone, Default)]
struct State {
    /// The local clock, in Unix seconds.
    now: u64,
    resources: Resources,
    /// The published versions of each function.
    published: Published,
    shown: Vec<Change>,
    /// The writes of this run.
    writes: Vec<Arc<Change>>,
    /// The writes with which the run of a fork begins. Their effects already exist.
    prefix: VecDeque<Arc<Change>>,
    interruption: Option<Interruption>,
    breaches: Vec<String>,
    /// The clusters whose queues kibus may adopt, whatever their state.
    adopted: BTreeSet<ClusterName>,
    /// The resource that was answered with "exists": the rest of it may be written, as shown.
    unfinished: Option<Resource>,
    /// The deleted queues that still answer, with the number of reads.
    ghosts: BTreeMap<ResourceId, usize>,
    /// The number of reads that a deleted queue answers.
    ghost_reads: usize,
    /// The keys of the messages in each queue.
    keys: MessageKeys,
    rounds: usize,
}

/// The part of an account that matters to one bus.
pub(super) struct Account {
    scope: Scope,
    state: Mutex<State>,
    /// The state before each write of a run that is recorded.
    recorded: Mutex<Option<Vec<State>>>,
    stop: watch::Sender<bool>,
}

impl Account {
    /// An account with these resources.
    pub(super) fn new(scope: &Scope, resources: Desired) -> Self {
        let resources = resources.into_iter().map(|(id, resource)| (id, Arc::new(resource))).collect();
        let published = published(&resources);
        Self::of(scope, State { now: 1_800_000_000, published, resources, ghost_reads: 1, ..State::default() })
    }

    fn of(scope: &Scope, state: State) -> Self {
        let stop = watch::Sender::new(false);
        Self { scope: scope.clone(), state: Mutex::new(state), recorded: Mutex::default(), stop }
    }

    pub(super) fn copy(&self) -> Self {
        Self::of(&self.scope, self.state().clone())
    }

    /// This account, which can be forked after a run.
    pub(super) fn recording(self) -> Self {
        Self { recorded: Mutex::new(Some(Vec::new())), ..self }
    }

    /// The account before a write of the recorded run, in which the same plan is applied with the same concurrency. The
    /// writes before this one are made again, and have no effect of their own.
    pub(super) fn fork(&self, at: usize) -> Self {
        let mut state = self.recorded.lock().unwrap().as_ref().unwrap()[at].clone();
        state.prefix = std::mem::take(&mut state.writes).into();
        Self::of(&self.scope, state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Reads are answered after all others that were made with them.
    async fn call(&self) {
        let round = self.state().rounds + 1;
        tokio::task::yield_now().await;
        let mut state = self.state();
        state.rounds = state.rounds.max(round);
    }

    /// The number of rounds of reads since the last time.
    pub(super) fn take_rounds(&self) -> usize {
        std::mem::take(&mut self.state().rounds)
    }

    /// This account, in which a deleted queue answers this many reads.
    pub(super) fn with_ghosts(self, reads: usize) -> Self {
        self.state().ghost_reads = reads;
        self
    }

    /// The time in which SQS finishes the deletes of queues.
    pub(super) fn a_minute_passes(&self) {
        self.state().pass(Duration::from_secs(60));
    }

    pub(super) fn resources(&self) -> Desired {
        let state = self.state();
        let there = state.resources.iter().filter(|(id, _)| !state.ghosts.contains_key(id));
        there.map(|(id, resource)| (id.clone(), Resource::clone(resource))).collect()
    }

    /// The next run may adopt the queues of these clusters.
    pub(super) fn lets_adopt(&self, clusters: BTreeSet<ClusterName>) {
        self.state().adopted = clusters;
    }

    fn resources_of<T>(&self, pick: impl Fn(&Resource) -> Option<T>) -> Vec<T> {
        self.state().resources.values().filter_map(|resource| pick(resource)).collect()
    }

    pub(super) fn basis(&self) -> Basis {
        let state = self.state();
        (state.now, state.resources.clone(), state.published.clone(), state.ghosts.clone(), state.keys.clone())
    }

    /// Every id that the hub can have. They are created once, because a law creates thousands of accounts.
    fn hub(&self) -> Arc<BTreeSet<ResourceId>> {
        static OF_HUBS: Mutex<BTreeMap<String, Arc<BTreeSet<ResourceId>>>> = Mutex::new(BTreeMap::new());
        let every = || Arc::new(hub::ids(&self.scope, [&HubOptions::all_parts()]));
        let queue = self.scope.queue_arn(&self.scope.hub_queue());
        OF_HUBS.lock().unwrap().entry(queue).or_insert_with(every).clone()
    }

    /// Records the plan that was shown: only these writes may follow, once each.
    pub(super) fn show(&self, plan: &Plan, interruption: Option<Interruption>) -> watch::Receiver<bool> {
        let mut state = self.state();
        state.shown = plan.changes.clone();
        state.writes.clear();
        state.interruption = interruption;
        state.unfinished = None;
        self.stop.send_replace(false);
        self.stop.subscribe()
    }

    pub(super) fn writes(&self) -> Vec<Arc<Change>> {
        self.state().writes.clone()
    }

    pub(super) fn breaches(&self) -> Vec<String> {
        self.state().breaches.clone()
    }
}

impl Questions for Account {
    async fn tagged_queues(&self) -> Result<Option<BTreeMap<QueueName, Tags>>, Fault> {
        self.call().await;
        let tagged = |queue: &Resource| {
            let queue = queue.as_queue().filter(|queue| queue.tags.belong_to(&self.scope.bus))?;
            queue.tags.get(CLUSTER).map(|_| (queue.name.clone(), queue.tags.clone()))
        };
        Ok(Some(self.resources_of(tagged).into_iter().collect()))
    }

    async fn queues(&self, prefix: &String) -> Result<Option<BTreeSet<QueueName>>, Fault> {
        self.call().await;
        let names = self.resources_of(|queue| Some(queue.as_queue()?.name.clone()));
        Ok(Some(names.into_iter().filter(|name| name.as_str().starts_with(prefix)).collect()))
    }

    async fn buses(&self) -> Result<Option<BTreeSet<BusName>>, Fault> {
        self.call().await;
        let bus = |one: &Resource| one.as_parameter()?.name.as_str().strip_prefix(SETTINGS_PATH)?.parse().ok();
        Ok(Some(self.resources_of(bus).into_iter().collect()))
    }

    async fn listed_roles(&self) -> Result<Option<BTreeMap<RoleName, ListedRole>>, Fault> {
        self.call().await;
        let listed = |role: &RoleName| ListedRole { arn: self.scope.roles_arn(role.as_str()), web_trust: None };
        let roles = ROLES.iter().map(|role| role.parse().unwrap());
        Ok(Some(roles.map(|role: RoleName| (role.clone(), listed(&role))).collect()))
    }

    async fn eks_clusters(&self) -> Result<Option<BTreeSet<ClusterName>>, Fault> {
        self.call().await;
        Ok(Some(BTreeSet::new()))
    }

    async fn associations(&self, _: &ClusterName) -> Result<Option<BTreeSet<Association>>, Fault> {
        self.call().await;
        Ok(Some(BTreeSet::new()))
    }

    async fn oidc_issuers(&self, _: &ClusterName) -> Result<Option<String>, Fault> {
        self.call().await;
        Ok(None)
    }

    /// The caller is allowed to use any key.
    async fn key_policies(&self, _: &KmsKey) -> Result<Option<Document>, Fault> {
        self.call().await;
        let statement = json!({"Effect": "Allow", "Principal": "*", "Action": "kms:*", "Resource": "*"});
        Ok(Some(Document::new(json!({ "Statement": [statement] }))))
    }

    async fn versions(&self, version: &u64) -> Result<Option<FunctionSettings>, Fault> {
        self.call().await;
        let function = self.scope.router_function();
        Ok(self.state().published.get(&(function, *version)).cloned())
    }
}

impl Read for Account {
    async fn snapshot(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
        self.call().await;
        let mut state = self.state();
        match state.ghosts.get_mut(id) {
            Some(0) => state.forget(id),
            Some(left) => *left -= 1,
            None => {}
        }
        let resource = state.resources.get(id).map(|there| Resource::clone(there));
        Ok(resource.map(|resource| Snapshot { resource, status: None }))
    }

    async fn records(&self, names: &[ParameterName]) -> Result<Vec<Record>, Fault> {
        self.call().await;
        Ok(self.resources_of(|one| one.as_record().filter(|record| names.contains(&record.name)).cloned()))
    }

    async fn records_page(&self, token: Option<String>) -> Result<(Vec<Record>, Option<String>), Fault> {
        self.call().await;
        let (from, path) = (token.map_or(0, |token| token.parse().unwrap()), self.scope.records_path() + "/");
        let of_bus = |one: &Resource| one.as_record().filter(|one| one.name.as_str().starts_with(&path)).cloned();
        let all = self.resources_of(of_bus);
        let next = (from + PAGE < all.len()).then(|| (from + PAGE).to_string());
        Ok((all.into_iter().skip(from).take(PAGE).collect(), next))
    }

    async fn inline_policy_names(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        self.call().await;
        let of_role = |one: &Resource| one.as_role_policy().filter(|policy| policy.role == *role).cloned();
        let names = self.resources_of(of_role).into_iter().map(|policy| policy.name.to_string());
        Ok(ROLES.contains(&role.as_str()).then(|| names.collect()))
    }

    async fn inline_policy(&self, role: &RoleName, policy: &str) -> Result<Option<InlinePolicy>, Fault> {
        self.call().await;
        let id = ResourceId::RolePolicy(role.clone(), policy.parse().unwrap());
        let text = self.state().resources.get(&id).and_then(|one| Some(one.as_role_policy()?.document.compact()));
        Ok(text.map(|text| InlinePolicy { name: policy.to_owned(), text }))
    }

    async fn inline_policies(
        &self,
        roles: &BTreeSet<RoleName>,
    ) -> Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault> {
        self.call().await;
        let mut details = BTreeMap::new();
        for role in roles {
            let Some(names) = self.inline_policy_names(role).await? else {
                continue;
            };
            let mut found = Vec::new();
            for name in names {
                found.extend(self.inline_policy(role, &name).await?);
            }
            details.insert(role.clone(), found);
        }
        Ok(details)
    }

    async fn activity(&self, _: &BTreeSet<QueueName>) -> Result<BTreeMap<QueueName, QueueActivity>, Fault> {
        self.call().await;
        Ok(BTreeMap::new())
    }

    fn caller(&self) -> &str {
        ""
    }

    fn now(&self) -> u64 {
        self.state().now
    }

    async fn pause(&self, time: Duration) {
        self.state().now += time.as_secs();
    }
}

impl Probe for Account {}

impl Write for Account {
    async fn read_back(&self, id: &ResourceId, _: Waiting<'_>) -> Result<Option<Resource>, Fault> {
        self.read(id).await
    }

    async fn write(&self, change: &Change, waiting: Waiting<'_>) -> Result<(), Fault> {
        // Other tasks run between the call and its effect.
        tokio::task::yield_now().await;
        waiting.report("settling");
        tokio::task::yield_now().await;
        let mut state = self.state();
        if let Some(earlier) = state.prefix.pop_front() {
            assert_eq!(*earlier, *change, "a fork begins as the recorded run");
            assert!(state.made(change), "{} was not shown", change.id);
            state.writes.push(earlier);
            return Ok(());
        }
        if let Some(recorded) = &mut *self.recorded.lock().unwrap() {
            recorded.push(State { shown: Vec::new(), ..state.clone() });
        }
        // Nothing else determines who can use a queue.
        if !matches!(change.id.of_kind(), Kind::Queue | Kind::Role | Kind::RolePolicy) {
            return self.answer(&mut state, change);
        }
        let State { resources, keys, .. } = &mut *state;
        note_keys(keys, resources);
        let could = can_use(&self.scope, &state.resources, &state.keys, state.now);
        let answer = self.answer(&mut state, change);
        let can = can_use(&self.scope, &state.resources, &state.keys, state.now);
        let there = |id: &ResourceId| stands(&state.resources, id, state.now);
        let shut_out: Vec<String> = could
            .difference(&can)
            .filter(|(policy, queue, _)| there(policy) && there(queue))
            .map(|(policy, queue, _)| format!("{}: {policy} no longer has a key to {queue}", change.id))
            .collect();
        state.breaches.extend(shut_out);
        let locked_out = locked_out(&self.scope, &state.resources);
        let locked_out = locked_out.iter().map(|queue| format!("{}: the router may not send to {queue}", change.id));
        state.breaches.extend(locked_out);
        answer
    }
}

impl State {
    /// Whether this change was shown, and has not been made before.
    fn made(&mut self, change: &Change) -> bool {
        let place = self.shown.iter().position(|shown| shown == change);
        place.map(|place| self.shown.swap_remove(place)).is_some()
    }

    fn forget(&mut self, id: &ResourceId) {
        self.ghosts.remove(id);
        self.resources.remove(id);
    }

    /// Makes a complete write. A deleted queue stays for a while, with its mark.
    fn take(&mut self, change: &Change) {
        match marked(change, self.now) {
            Some(marked) => {
                self.ghosts.insert(change.id.clone(), self.ghost_reads);
                self.resources.insert(change.id.clone(), Arc::new(marked));
            }
            None => take(&mut self.resources, &mut self.published, change, self.now),
        }
    }

    /// Lets at least a minute pass, in which SQS finishes all deletes.
    fn pass(&mut self, time: Duration) {
        self.now += time.as_secs();
        for gone in std::mem::take(&mut self.ghosts).into_keys() {
            self.resources.remove(&gone);
        }
    }
}

/// Whether a resource exists and is not being deleted.
fn stands(resources: &Resources, id: &ResourceId, now: u64) -> bool {
    let tags = |resource: &Resource| resource.tags().cloned().unwrap_or_default();
    resources.get(id).is_some_and(|resource| !tags(resource).being_deleted(now))
}

impl Account {
    fn answer(&self, state: &mut State, change: &Change) -> Result<(), Fault> {
        let at = state.writes.len();
        state.writes.push(Arc::new(change.clone()));
        let creates = change.action == Action::Create;
        let now = state.interruption.filter(|now| now.at <= at);
        if now.is_some_and(|earlier| earlier.at < at && earlier.killed) {
            return Err(fault("killed"));
        }
        // Only one of two runs creates the settings or a record, and the other one is notified.
        let is_parameter = matches!(change.id.of_kind(), Kind::Parameter | Kind::Record);
        if creates && is_parameter && state.resources.contains_key(&change.id) {
            return Err(exists());
        }
        if let Err(breach) = allowed(&self.scope, &self.hub(), state, change) {
            let breach = format!("{}: {breach}", change.id);
            state.breaches.push(breach.clone());
            return Err(fault(&breach));
        }
        match now.filter(|now| now.at == at).map(|now| now.trouble) {
            None => state.take(change),
            Some(Trouble::Stop) => {
                state.take(change);
                self.stop.send_replace(true);
            }
            Some(Trouble::AskedTwice) if creates => {
                match half(change, Trouble::AllButTags, state.now) {
                    Some(half) => drop(state.resources.insert(half.id(), Arc::new(half))),
                    None => state.take(change),
                }
                state.unfinished = Some(change.resource().clone());
                return Err(exists());
            }
            Some(trouble) => {
                match trouble {
                    Trouble::AnswerLost => state.take(change),
                    Trouble::AllButTags | Trouble::OnlyTags | Trouble::TagsRemoved => {
                        let half = half(change, trouble, state.now);
                        state.resources.extend(half.map(|half| (half.id(), Arc::new(half))));
                    }
                    Trouble::Nothing | Trouble::Stop | Trouble::AskedTwice => {}
                }
                return Err(fault("injected"));
            }
        }
        Ok(())
    }
}

fn exists() -> Fault {
    Fault { kind: FaultKind::Exists, ..fault("exists") }
}

fn fault(message: &str) -> Fault {
    Fault::new(FaultKind::Rejected, "test:Write", message)
}
