//! Asks a query: all that it holds at once, with a limit of calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

use super::{Query, SlowStep, Survey};
use crate::cloud::{Fault, Probe, Read, RolePolicies, Snapshot};
use crate::model::answer::{AccessDecision, Answered, Fact, Simulation};
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::policy::{self, InlinePolicy};
use crate::model::resource::ResourceId;
use crate::model::status::{Depth, Probed, QueueActivity};
use crate::probe;

/// From this many roles on, one report about all roles of the account takes less time than the calls about each: IAM
/// accepts about 20 calls a second, and each role takes one or two.
const READ_AT_ONCE: usize = 20;

/// Settings are lost if they are still missing after this many further reads, which take ten seconds.
const LOST_AFTER_READS: u32 = 5;
const LOST_PAUSE: Duration = Duration::from_secs(2);

/// How often a probe says that it goes on.
const STILL_PROBING: Duration = Duration::from_secs(10);

/// What reads, and how many calls may run at once.
pub(super) struct Reader<'a, R> {
    pub(super) cloud: &'a R,
    limit: u32,
    permits: Semaphore,
    report: &'a dyn Fn(SlowStep),
}

type Snapshots = Vec<(ResourceId, Result<Option<Snapshot>, Fault>)>;

impl<'a, R: Read + Probe> Reader<'a, R> {
    pub(super) fn new(cloud: &'a R, limit: usize, report: &'a dyn Fn(SlowStep)) -> Self {
        let limit = u32::try_from(limit.max(1)).unwrap_or(u32::MAX);
        Self {
            cloud,
            limit,
            permits: Semaphore::new(limit as usize),
            report,
        }
    }

    pub(super) async fn answer(&self, survey: &mut Survey, query: &Query) {
        self.ask(survey, query).await;
        // After the read, or a mark could be from the future.
        survey.now = self.cloud.now();
        self.believe_lost_settings(survey).await;
    }

    /// Makes a call when there is room for it. What waits for room takes little memory.
    pub(super) async fn call<F: Future>(&self, call: impl FnOnce() -> F) -> F::Output {
        self.calls(1, call).await
    }

    async fn calls<F: Future>(&self, at_once: u32, call: impl FnOnce() -> F) -> F::Output {
        // The semaphore is never closed.
        let _permits = self.permits.acquire_many(at_once.min(self.limit)).await;
        Box::pin(call()).await
    }

    pub(super) async fn snapshots(&self, ids: &BTreeSet<ResourceId>) -> Snapshots {
        let reads = ids.iter().map(async |id| {
            // A queue has its attributes and its tags.
            let at_once = if matches!(id, ResourceId::Queue(_)) { 2 } else { 1 };
            let answer = self.calls(at_once, || self.cloud.snapshot(id)).await;
            (id.clone(), answer)
        });
        join_all(reads).await
    }

    pub(super) async fn each<'k, K: Clone + 'k, T>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        read: impl AsyncFn(&K) -> Result<Option<T>, Fault>,
    ) -> Vec<(K, Fact<T>)> {
        let reads = keys.into_iter().map(async |key| {
            let answer = self.call(|| read(key)).await;
            (key.clone(), Fact::of_option(answer))
        });
        join_all(reads).await
    }

    /// If the first is denied, so are the others.
    pub(super) async fn first<K: Clone + Ord, T>(
        &self,
        keys: &BTreeSet<K>,
        read: impl AsyncFn(&K) -> Result<Option<T>, Fault>,
    ) -> Vec<(K, Fact<T>)> {
        let mut answers = self.each(keys.first(), &read).await;
        let denied = answers.iter().find_map(|(_, answer)| answer.fault()).cloned();
        let others = keys.iter().skip(1);
        answers.extend(match denied.filter(Fault::is_denied) {
            Some(fault) => others
                .map(|key| (key.clone(), Fact::Unreadable(fault.clone())))
                .collect(),
            None => self.each(others, read).await,
        });
        answers
    }

    /// Reads missing settings of an existing hub again: whether a read shows a parameter right after its write is documented
    /// nowhere (Systems Manager API reference, `PutParameter`).
    async fn believe_lost_settings(&self, survey: &mut Survey) {
        for _ in 0..LOST_AFTER_READS {
            if survey.settings_are_lost || !survey.has_lost_settings() {
                return;
            }
            self.cloud.pause(LOST_PAUSE).await;
            let read = self.snapshots(&[survey.settings_id()].into()).await;
            survey.take(read);
        }
        survey.settings_are_lost = survey.has_lost_settings();
    }

    pub(super) async fn roles(
        &self,
        survey: &Survey,
        roles: &BTreeSet<RoleName>,
    ) -> Vec<(RoleName, Fact<RolePolicies>)> {
        let prefix = survey.scope.controller_policies_prefix();
        // A fault that is no denial is reported by the calls about each role.
        let details = match roles.len() < READ_AT_ONCE {
            true => None,
            false => self.call(|| self.cloud.inline_policies(roles)).await.ok(),
        };
        let Some(mut details) = details else {
            return self.policies(roles, &prefix).await;
        };
        let read = roles.iter().map(|role| {
            let found = details.remove(role).map(|found| named(found.into_iter(), &prefix));
            (role.clone(), Fact::of_option(Ok(found)))
        });
        read.collect()
    }

    pub(super) async fn all_policies(
        &self,
        _: &Survey,
        roles: &BTreeSet<RoleName>,
    ) -> Vec<(RoleName, Fact<RolePolicies>)> {
        self.policies(roles, "").await
    }

    /// The policies of each role whose names begin with this.
    async fn policies(&self, roles: &BTreeSet<RoleName>, prefix: &str) -> Vec<(RoleName, Fact<RolePolicies>)> {
        let reads = roles.iter().map(async |role| {
            let read = self.role(role, prefix).await;
            (role.clone(), Fact::of_option(read))
        });
        join_all(reads).await
    }

    async fn role(&self, role: &RoleName, prefix: &str) -> Result<Option<RolePolicies>, Fault> {
        let Some(mut names) = self.call(|| self.cloud.inline_policy_names(role)).await? else {
            return Ok(None);
        };
        names.retain(|name| name.starts_with(prefix));
        let reads = names
            .iter()
            .map(|name| self.call(|| self.cloud.inline_policy(role, name)));
        let read: Result<Vec<_>, Fault> = join_all(reads).await.into_iter().collect();
        // A policy that went between the two calls is gone.
        Ok(Some(named(read?.into_iter().flatten(), prefix)))
    }

    /// Who gets no answer about the first is not let ask about the others.
    pub(super) async fn controller_access(
        &self,
        survey: &Survey,
        controllers: &BTreeSet<(ClusterName, RoleName)>,
    ) -> Vec<((ClusterName, RoleName), Fact<BTreeMap<String, AccessDecision>>)> {
        let listed = survey.known.listed_roles.present();
        let ask = async |of: &(ClusterName, RoleName)| {
            let calls = policy::controller_calls(&survey.scope, &survey.cluster_queue(&of.0));
            let role = listed.and_then(|roles| roles.get(&of.1));
            let arn = role.map_or("", |role| role.arn.as_str());
            let answered = self.call(|| self.cloud.simulate(arn, &calls)).await;
            let decided = answered.into_iter().filter_map(|answered| answered.decisions.ok());
            let decided = decided.flatten().filter(|(call, _)| calls.calls.contains(call));
            let decided: BTreeMap<_, _> = decided.map(|(call, decision)| (call.action, decision)).collect();
            (
                of.clone(),
                Fact::of_option(Ok((!decided.is_empty()).then_some(decided))),
            )
        };
        let mut answers = join_all(controllers.first().map(ask)).await;
        let others = controllers.iter().skip(1);
        answers.extend(match answers.iter().all(|(_, answer)| *answer == Fact::Absent) {
            true => others.map(|of| (of.clone(), Fact::Absent)).collect(),
            false => join_all(others.map(ask)).await,
        });
        answers
    }

    pub(super) async fn simulated(
        &self,
        _: &Survey,
        simulations: &BTreeSet<(String, Simulation)>,
    ) -> Vec<((String, Simulation), Fact<Vec<Answered>>)> {
        if !simulations.is_empty() {
            (self.report)(SlowStep::Simulate);
        }
        self.each(simulations, async |(principal, simulation)| {
            Ok(Some(self.cloud.simulate(principal, simulation).await))
        })
        .await
    }

    pub(super) async fn queue_activity(
        &self,
        _: &Survey,
        queues: &BTreeSet<QueueName>,
    ) -> Vec<(QueueName, Fact<QueueActivity>)> {
        if queues.is_empty() {
            return Vec::new();
        }
        let answer = self.call(|| self.cloud.activity(queues)).await;
        let of = |queue: &QueueName| {
            answer
                .as_ref()
                .map(|found| found.get(queue).copied())
                .map_err(Fault::clone)
        };
        queues
            .iter()
            .map(|queue| (queue.clone(), Fact::of_option(of(queue))))
            .collect()
    }
}

/// What takes long.
impl<R: Read + Probe> Reader<'_, R> {
    pub(super) async fn glance(
        &self,
        survey: &Survey,
        queues: &BTreeSet<QueueName>,
    ) -> Vec<(QueueName, Fact<Vec<Depth>>)> {
        if queues.is_empty() {
            return Vec::new();
        }
        (self.report)(SlowStep::Glance);
        samples(queues, probe::glance(self.cloud, &survey.scope, queues).await)
    }

    pub(super) async fn watch(&self, _: &Survey, queues: &BTreeSet<QueueName>) -> Vec<(QueueName, Fact<Vec<Depth>>)> {
        if queues.is_empty() {
            return Vec::new();
        }
        (self.report)(SlowStep::Watch);
        samples(queues, probe::watch_counts(self.cloud, queues).await)
    }

    /// Probes all at once, and says how far it is.
    pub(super) async fn probes(
        &self,
        survey: &Survey,
        probed: &BTreeSet<Option<ClusterName>>,
    ) -> Vec<(Option<ClusterName>, Fact<Probed>)> {
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

/// The further samples of each queue; one that could not be read has none.
fn samples(
    queues: &BTreeSet<QueueName>,
    mut found: BTreeMap<QueueName, Vec<Depth>>,
) -> Vec<(QueueName, Fact<Vec<Depth>>)> {
    let mut of = |queue: &QueueName| Fact::Present(found.remove(queue).unwrap_or_default());
    queues.iter().map(|queue| (queue.clone(), of(queue))).collect()
}

impl Survey {
    pub(super) fn take(&mut self, snapshots: Snapshots) {
        for (id, answer) in snapshots {
            let answer = Fact::of_option(answer.map(|found| {
                found.map(|Snapshot { resource, status }| {
                    self.status.extend(status.map(|status| (id.clone(), status)));
                    resource
                })
            }));
            self.observed.insert(id, answer);
        }
    }
}

/// What `read` gives, if it is needed.
pub(super) async fn when<F: Future>(needed: bool, read: impl FnOnce() -> F) -> Option<F::Output> {
    OptionFuture::from(needed.then(read)).await
}

fn named(policies: impl Iterator<Item = InlinePolicy>, prefix: &str) -> RolePolicies {
    let named = policies.filter(|policy| policy.name.starts_with(prefix));
    named.map(|policy| (policy.name.clone(), policy)).collect()
}
