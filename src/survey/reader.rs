//! The questions and answers of a survey, generated from the table of questions: a query contains the requested keys,
//! and the survey the answers. An accessor of the survey records its question if there is no answer yet. The reader
//! answers a query: all questions at once, with a limit on concurrent calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

use super::{SlowStep, Survey};
use crate::cloud::{Fault, ListedRole, Probe, Read, RolePolicies, Snapshot, questions};
use crate::model::{
    Association, BusName, ClusterName, Depth, Document, DroppedClusters, EventRule, Fact, FunctionMapping,
    FunctionPermission, FunctionSettings, HubActivity, KmsKey, LastEvents, ListedTarget, LiveTest, MOST_PAGES,
    ParameterName, Probed, Queue, QueueActivity, QueueName, Record, Resource, ResourceId, RoleName, RuleName, Tags,
    Topic, TopicAttributes, TopicKey, calls::ssm, policy::InlinePolicy, tags::MARK_COUNTS,
};
use crate::probe;

macro_rules! survey {
    (
        once { $($(#[$once_doc:meta])* $once:ident -> $one:ty;)* }
        each { $($(#[$each_doc:meta])* $each:ident($each_key:ty) -> $each_answer:ty;)* }
        first { $($(#[$first_doc:meta])* $first:ident($first_key:ty) -> $first_answer:ty;)* }
        composed { $($(#[$doc:meta])* $composed:ident($key:ty) -> $answer:ty;)* }
    ) => {
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Query {
            pub resources: BTreeSet<ResourceId>,
            /// All records of clusters of the bus, and the queue of each.
            pub records: bool,
            /// With the records: the queues that redrive into the queue of each.
            pub sources_of_recorded: bool,
            $($(#[$once_doc])* pub $once: bool,)*
            $($(#[$each_doc])* pub $each: BTreeSet<$each_key>,)*
            $($(#[$first_doc])* pub $first: BTreeSet<$first_key>,)*
            $($(#[$doc])* pub $composed: BTreeSet<$key>,)*
        }

        /// The answers to questions about one hub. A key that was not requested is missing.
        #[derive(Clone, Debug, Default)]
        pub struct Known {
            /// The parameters with the records of clusters of the bus; the records themselves are part of the resources.
            pub records: Fact<BTreeSet<ParameterName>>,
            $($(#[$once_doc])* pub $once: Fact<$one>,)*
            $($(#[$each_doc])* pub $each: BTreeMap<$each_key, Fact<$each_answer>>,)*
            $($(#[$first_doc])* pub $first: BTreeMap<$first_key, Fact<$first_answer>>,)*
            $($(#[$doc])* pub $composed: BTreeMap<$key, Fact<$answer>>,)*
        }

        impl Survey {
            /// The parameters with the records of clusters of the bus.
            pub fn records(&self) -> &Fact<BTreeSet<ParameterName>> {
                self.open.borrow_mut().records |= !self.known.records.is_asked();
                &self.known.records
            }

            $(
                $(#[$once_doc])*
                pub fn $once(&self) -> &Fact<$one> {
                    self.open.borrow_mut().$once |= !self.known.$once.is_asked();
                    &self.known.$once
                }
            )*
            keyed! { $($(#[$each_doc])* $each($each_key) -> $each_answer;)* }
            keyed! { $($(#[$first_doc])* $first($first_key) -> $first_answer;)* }
            keyed! { $($(#[$doc])* $composed($key) -> $answer;)* }
        }

        impl<R: Read + Probe> Reader<'_, R> {
            async fn ask(&self, survey: &mut Survey, query: &Query) {
                let asked = &*survey;
                // Boxed, because the futures of all questions would add to the stack.
                let (snapshots, records, $($once,)* $($each,)* $($first,)* $($composed,)*) = tokio::join!(
                    Box::pin(self.snapshots(&query.resources)),
                    Box::pin(when(query.records, || self.all_records(query.sources_of_recorded))),
                    $(Box::pin(when(query.$once, || self.call(|| self.cloud.$once()))),)*
                    $(Box::pin(self.each(&query.$each, async |key| self.cloud.$each(key).await)),)*
                    $(Box::pin(self.first(&query.$first, async |key| self.cloud.$first(key).await)),)*
                    $(Box::pin(self.$composed(asked, &query.$composed)),)*
                );
                survey.take(snapshots);
                if let Some(All { names, snapshots, sources }) = records {
                    survey.known.records = names;
                    survey.known.dead_letter_sources.extend(sources);
                    survey.take(snapshots);
                }
                $(
                    if let Some(answer) = $once {
                        survey.known.$once = Fact::from_optional(answer);
                    }
                )*
                $(survey.known.$each.extend($each);)*
                $(survey.known.$first.extend($first);)*
                $(survey.known.$composed.extend($composed);)*
            }
        }
    };
}

macro_rules! keyed {
    ($($(#[$doc:meta])* $name:ident($key:ty) -> $answer:ty;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(&self, key: &$key) -> &Fact<$answer> {
                self.known.$name.get(key).unwrap_or_else(|| {
                    self.open.borrow_mut().$name.insert(key.clone());
                    const { &Fact::NotAsked }
                })
            }
        )*
    };
}

questions!(survey);

impl Query {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// From this many roles on, one report about all roles of the account takes less time than the calls about each: IAM
/// accepts about 20 calls per second, and each role needs one or two.
const READ_AT_ONCE: usize = 20;

/// Settings count as lost if they are still missing after this many further reads, which take ten seconds.
const LOST_AFTER_READS: u32 = 5;
const LOST_PAUSE: Duration = Duration::from_secs(2);

/// How long a queue that was marked for deletion may still answer, and the pause between two reads. Terraform's
/// provider also waits for several consecutive answers, because the SQS servers do not agree immediately.
const LEAVING_PAUSE: Duration = Duration::from_secs(3);
const GONE_IN_A_ROW: u32 = 3;

/// The pause before the messages of a queue are counted again.
const LATER: Duration = Duration::from_secs(2);

/// How often the progress of a probe is reported.
const STILL_PROBING: Duration = Duration::from_secs(10);

pub(super) struct Reader<'a, R> {
    cloud: &'a R,
    limit: u32,
    permits: Semaphore,
    report: &'a dyn Fn(SlowStep),
}

type SnapshotOf = (ResourceId, Result<Option<Snapshot>, Fault>);
type Snapshots = Vec<SnapshotOf>;
type Answers<K, T> = Vec<(K, Fact<T>)>;

/// All cluster records, and the reads that belong to them.
struct All {
    names: Fact<BTreeSet<ParameterName>>,
    snapshots: Snapshots,
    /// The queues that redrive into the queue of each record, if requested.
    sources: Answers<QueueName, BTreeSet<QueueName>>,
}

impl<'a, R: Read + Probe> Reader<'a, R> {
    pub(super) fn new(cloud: &'a R, limit: usize, report: &'a dyn Fn(SlowStep)) -> Self {
        let limit = u32::try_from(limit.max(1)).unwrap_or(u32::MAX);
        Self { cloud, limit, permits: Semaphore::new(limit as usize), report }
    }

    pub(super) async fn answer(&self, survey: &mut Survey, query: &Query) {
        self.ask(survey, query).await;
        // Taken after the read; otherwise a mark could be from the future.
        survey.now = self.cloud.now();
        survey.take_leaving(&query.leaving_queues);
        self.believe_lost_settings(survey).await;
    }

    /// Makes a call when the limit allows it. Waiting calls take little memory.
    async fn call<F: Future>(&self, call: impl FnOnce() -> F) -> F::Output {
        self.calls(1, call).await
    }

    async fn calls<F: Future>(&self, at_once: u32, call: impl FnOnce() -> F) -> F::Output {
        // The semaphore is never closed.
        let _permits = self.permits.acquire_many(at_once.min(self.limit)).await;
        Box::pin(call()).await
    }

    async fn snapshots(&self, ids: &BTreeSet<ResourceId>) -> Snapshots {
        let (records, others): (Vec<&ResourceId>, Vec<&ResourceId>) =
            ids.iter().partition(|id| matches!(id, ResourceId::Record(_)));
        let reads = others.into_iter().map(async |id| (id.clone(), self.snapshot(id).await));
        let (mut snapshots, records) = tokio::join!(join_all(reads), self.named_records(&records));
        snapshots.extend(records);
        snapshots
    }

    async fn snapshot(&self, id: &ResourceId) -> Result<Option<Snapshot>, Fault> {
        // A queue needs two calls: attributes and tags.
        let at_once = if matches!(id, ResourceId::Queue(_)) { 2 } else { 1 };
        self.calls(at_once, || self.cloud.snapshot(id)).await
    }

    /// Records of clusters, several per call.
    async fn named_records(&self, ids: &[&ResourceId]) -> Snapshots {
        let names = ids.iter().filter_map(|id| match id {
            ResourceId::Record(name) => Some(name.clone()),
            _ => None,
        });
        let names: Vec<ParameterName> = names.collect();
        if names.is_empty() {
            return Vec::new();
        }
        let answer = self.call(|| self.cloud.records(&names)).await;
        let one = |name: ParameterName| {
            let found = answer.as_ref().map(|found| found.iter().find(|record| record.name == name).cloned());
            let found = found.map(|found| found.map(of_record)).map_err(Fault::clone);
            (ResourceId::Record(name), found)
        };
        names.into_iter().map(one).collect()
    }

    /// All records of clusters, with the queue of each: the queues of a page are read while the next page is loading.
    async fn all_records(&self, with_sources: bool) -> All {
        let (mut names, mut snapshots) = (BTreeSet::new(), Vec::new());
        let (mut reads, mut sources) = (FuturesUnordered::new(), Vec::new());
        let mut token = None;
        // One permit for all pages, which are sequential: no page waits behind the queues of the previous ones.
        let permit = self.permits.acquire().await;
        let names = 'pages: {
            for _ in 0..MOST_PAGES {
                let asked = token.take();
                let mut page = Box::pin(self.cloud.records_page(asked));
                let answer = loop {
                    tokio::select! {
                        answer = &mut page => break answer,
                        Some((queue, of_queue)) = reads.next() => {
                            snapshots.push(queue);
                            sources.extend(of_queue);
                        }
                    }
                };
                let (records, next) = match answer {
                    Ok(page) => page,
                    Err(fault) => break 'pages Fact::Unreadable(fault),
                };
                for record in records {
                    names.insert(record.name.clone());
                    if let Some(content) = record.record() {
                        reads.push(self.recorded(content.queue.clone(), with_sources));
                    }
                    snapshots.push((ResourceId::Record(record.name.clone()), Ok(Some(of_record(record)))));
                }
                token = next;
                if token.is_none() {
                    break 'pages Fact::Present(names);
                }
            }
            Fact::Unreadable(Fault::endless(ssm::GET_PARAMETERS_BY_PATH))
        };
        drop(permit);
        while let Some((queue, of_queue)) = reads.next().await {
            snapshots.push(queue);
            sources.extend(of_queue);
        }
        All { names, snapshots, sources }
    }

    /// The queue of a record, and the queues that redrive into it.
    async fn recorded(
        &self,
        queue: QueueName,
        with_sources: bool,
    ) -> (SnapshotOf, Answers<QueueName, BTreeSet<QueueName>>) {
        let id = ResourceId::Queue(queue.clone());
        let asked = with_sources.then_some(&queue);
        let sources = self.each(asked, async |queue| self.cloud.dead_letter_sources(queue).await);
        let (answer, sources) = tokio::join!(self.snapshot(&id), sources);
        ((id, answer), sources)
    }

    /// Waits until a marked queue is gone, or its mark is too old to come from a delete.
    async fn leaving_queues(&self, _: &Survey, queues: &BTreeSet<QueueName>) -> Answers<QueueName, Queue> {
        if !queues.is_empty() {
            (self.report)(SlowStep::QueueLeaves);
        }
        let wait = async |queue: &QueueName| {
            let id = ResourceId::Queue(queue.clone());
            let began = self.cloud.now();
            let mut gone = 0;
            loop {
                let found = match self.snapshot(&id).await {
                    Ok(found) => found.and_then(|found| found.resource.as_queue().cloned()),
                    Err(fault) => return (queue.clone(), Fact::Unreadable(fault)),
                };
                gone = if found.is_none() { gone + 1 } else { 0 };
                match found {
                    None if gone == GONE_IN_A_ROW => return (queue.clone(), Fact::Absent),
                    // A renewed mark does not extend the wait.
                    Some(stays)
                        if !stays.tags.being_deleted(self.cloud.now())
                            || self.cloud.now() >= began + MARK_COUNTS.as_secs() =>
                    {
                        return (queue.clone(), Fact::Present(stays));
                    }
                    _ => self.cloud.pause(LEAVING_PAUSE).await,
                }
            }
        };
        join_all(queues.iter().map(wait)).await
    }

    async fn absent_records(&self, survey: &Survey, clusters: &BTreeSet<ClusterName>) -> Answers<ClusterName, bool> {
        let (mut absent, mut answers) = (clusters.clone(), Vec::new());
        for _ in 0..LOST_AFTER_READS {
            if absent.is_empty() {
                break;
            }
            self.cloud.pause(LOST_PAUSE).await;
            let ids: Vec<ResourceId> = absent.iter().map(|cluster| survey.record_id(cluster)).collect();
            for (id, answer) in self.named_records(&ids.iter().collect::<Vec<_>>()).await {
                let cluster = absent.iter().find(|cluster| survey.record_id(cluster) == id).cloned();
                if let (Some(cluster), false) = (cluster, matches!(answer, Ok(None))) {
                    absent.remove(&cluster);
                    answers.push((cluster, Fact::from_answer(answer.map(|_| false))));
                }
            }
        }
        answers.extend(absent.into_iter().map(|cluster| (cluster, Fact::Present(true))));
        answers
    }

    async fn each<'k, K: Clone + 'k, T>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        read: impl AsyncFn(&K) -> Result<Option<T>, Fault>,
    ) -> Answers<K, T> {
        let reads = keys.into_iter().map(async |key| {
            let answer = self.call(|| read(key)).await;
            (key.clone(), Fact::from_optional(answer))
        });
        join_all(reads).await
    }

    /// If the first call is denied, so are the others.
    async fn first<K: Clone + Ord, T>(
        &self,
        keys: &BTreeSet<K>,
        read: impl AsyncFn(&K) -> Result<Option<T>, Fault>,
    ) -> Answers<K, T> {
        let mut answers = self.each(keys.first(), &read).await;
        let denied = answers.iter().find_map(|(_, answer)| answer.fault()).cloned();
        let others = keys.iter().skip(1);
        answers.extend(match denied.filter(Fault::is_denied) {
            Some(fault) => {
                let refused = |key: &K| (key.clone(), Fact::Unreadable(fault.clone()));
                others.map(refused).collect()
            }
            None => self.each(others, read).await,
        });
        answers
    }

    /// Reads missing settings of an existing hub again, and its existing resources: it is not documented whether a read
    /// shows a parameter right after its write (Systems Manager API reference, `PutParameter`), and a resource that was
    /// just deleted may still answer.
    async fn believe_lost_settings(&self, survey: &mut Survey) {
        for _ in 0..LOST_AFTER_READS {
            let mut ids = survey.parts_without_settings();
            if survey.settings_are_lost || ids.is_empty() {
                return;
            }
            self.cloud.pause(LOST_PAUSE).await;
            ids.insert(survey.settings_id());
            let read = self.snapshots(&ids).await;
            survey.take(read);
        }
        survey.settings_are_lost = survey.has_lost_settings();
    }

    async fn roles(&self, survey: &Survey, roles: &BTreeSet<RoleName>) -> Answers<RoleName, RolePolicies> {
        let prefix = survey.scope.controller_policies_prefix();
        // Faults other than denials are reported by the calls about each role.
        let details =
            if roles.len() < READ_AT_ONCE { None } else { self.call(|| self.cloud.inline_policies(roles)).await.ok() };
        let Some(mut details) = details else {
            let reads = roles.iter().map(async |role| {
                let read = self.role(role, &prefix).await;
                (role.clone(), Fact::from_optional(read))
            });
            return join_all(reads).await;
        };
        let read = roles.iter().map(|role| {
            let found = details.remove(role).map(|found| named(found.into_iter(), &prefix));
            (role.clone(), Fact::from_optional(Ok(found)))
        });
        read.collect()
    }

    async fn role(&self, role: &RoleName, prefix: &str) -> Result<Option<RolePolicies>, Fault> {
        let Some(mut names) = self.call(|| self.cloud.inline_policy_names(role)).await? else {
            return Ok(None);
        };
        names.retain(|name| name.starts_with(prefix));
        let reads = names.iter().map(|name| self.call(|| self.cloud.inline_policy(role, name)));
        let read: Result<Vec<_>, Fault> = join_all(reads).await.into_iter().collect();
        // A policy that was deleted between the two calls is gone.
        Ok(Some(named(read?.into_iter().flatten(), prefix)))
    }

    async fn activity(&self, _: &Survey, queues: &BTreeSet<QueueName>) -> Answers<QueueName, QueueActivity> {
        if queues.is_empty() {
            return Vec::new();
        }
        let answer = self.call(|| self.cloud.activity(queues)).await;
        let of = |queue: &QueueName| {
            let found = answer.as_ref().map(|found| found.get(queue).copied());
            Fact::from_optional(found.map_err(Fault::clone))
        };
        queues.iter().map(|queue| (queue.clone(), of(queue))).collect()
    }

    async fn depth_later(&self, _: &Survey, queues: &BTreeSet<QueueName>) -> Answers<QueueName, Depth> {
        if !queues.is_empty() {
            self.cloud.pause(LATER).await;
        }
        self.each(queues, async |queue| self.cloud.depth(queue).await).await
    }

    /// Runs all probes at once, and reports progress.
    async fn probes(
        &self,
        survey: &Survey,
        probed: &BTreeSet<Option<ClusterName>>,
    ) -> Answers<Option<ClusterName>, Probed> {
        if probed.is_empty() {
            return Vec::new();
        }
        let bus = probed.contains(&None);
        let clusters = probed.len() - usize::from(bus);
        (self.report)(SlowStep::Probe { bus, clusters });
        let turns = &Semaphore::new(self.limit as usize);
        let probe = async |cluster: Option<ClusterName>| match cluster {
            None => probe::bus(self.cloud, &survey.scope).await,
            Some(name) => {
                let queue = survey.cluster_queue(&name);
                probe::cluster(self.cloud, &survey.scope, turns, name, queue).await
            }
        };
        let mut running: FuturesUnordered<_> = probed.iter().cloned().map(probe).collect();
        let began = Instant::now();
        let mut ticks = interval_at(began + STILL_PROBING, STILL_PROBING);
        let mut results = Vec::new();
        loop {
            tokio::select! {
                next = running.next() => match next {
                    Some(one) => results.push((one.cluster.clone(), Fact::Present(one))),
                    None => return results,
                },
                _ = ticks.tick() => (self.report)(SlowStep::ProbeGoesOn {
                    missing: running.len(),
                    all: probed.len(),
                    after: began.elapsed(),
                }),
            }
        }
    }
}

fn of_record(record: Record) -> Snapshot {
    Snapshot { resource: Resource::Record(record), status: None }
}

impl Survey {
    /// Uses the answers about marked queues, after the wait, as the state of these queues.
    fn take_leaving(&mut self, queues: &BTreeSet<QueueName>) {
        for queue in queues {
            let answer = self.known.leaving_queues.get(queue).cloned().unwrap_or_default();
            let answer = match answer {
                Fact::Present(queue) => Fact::Present(Resource::Queue(queue)),
                Fact::Absent => Fact::Absent,
                Fact::NotAsked => Fact::NotAsked,
                Fact::Unreadable(fault) => Fact::Unreadable(fault),
            };
            self.observed.insert(ResourceId::Queue(queue.clone()), answer);
        }
    }

    fn take(&mut self, snapshots: Snapshots) {
        for (id, answer) in snapshots {
            let answer = Fact::from_optional(answer.map(|found| {
                found.map(|Snapshot { resource, status }| {
                    self.status.extend(status.map(|status| (id.clone(), status)));
                    resource
                })
            }));
            self.observed.insert(id, answer);
        }
    }
}

/// The result of `read`, if it is needed.
async fn when<F: Future>(needed: bool, read: impl FnOnce() -> F) -> Option<F::Output> {
    OptionFuture::from(needed.then(read)).await
}

fn named(policies: impl Iterator<Item = InlinePolicy>, prefix: &str) -> RolePolicies {
    let named = policies.filter(|policy| policy.name.starts_with(prefix));
    named.map(|policy| (policy.name.clone(), policy)).collect()
}
