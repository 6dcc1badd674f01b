//! Answers a query in as few round trips as possible: everything that depends on nothing is asked at once, with the
//! default queue prefix as a guess; what depends on an answer follows.

mod eks;
mod event_rules;
mod roles;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{OptionFuture, join_all};
use tokio::sync::Semaphore;

use super::{Query, Survey};
use crate::cloud::{Fault, Read, Snapshot};
use crate::model::dropped_clusters::DroppedClusters;
use crate::model::fact::Fact;
use crate::model::hub;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, FunctionName, QueueName, QueuePrefix};
use crate::model::other_setup::usual_queues;
use crate::model::resource::{FunctionMapping, FunctionPermission, FunctionSettings, Resource, ResourceId};
use crate::model::scope::Scope;

/// Up to this many clusters, queues are looked up by name. For more, one list of all queues needs fewer calls.
const LISTED_BY_NAME: usize = 10;

/// Settings are lost if they are still missing after this many further reads, which take ten seconds.
const LOST_AFTER_READS: u32 = 5;
const LOST_PAUSE: Duration = Duration::from_secs(2);

/// What reads, and how many calls may run at once.
pub(super) struct Reader<'a, R> {
    cloud: &'a R,
    limit: u32,
    permits: Semaphore,
}

type Snapshots = Vec<(ResourceId, Result<Option<Snapshot>, Fault>)>;
type OfRouter = (
    Option<Result<BTreeSet<FunctionMapping>, Fault>>,
    Option<Result<BTreeSet<FunctionPermission>, Fault>>,
    Option<Result<DroppedClusters, Fault>>,
);
/// The queues that discovery has found, and what was read of them.
type Discovered = (Fact<BTreeSet<QueueName>>, Snapshots);

impl<'a, R: Read> Reader<'a, R> {
    pub(super) fn new(cloud: &'a R, limit: usize) -> Self {
        let limit = u32::try_from(limit.max(1)).unwrap_or(u32::MAX);
        Self {
            cloud,
            limit,
            permits: Semaphore::new(limit as usize),
        }
    }

    pub(super) async fn answer(&self, survey: &mut Survey, query: &Query) {
        let guess = survey.queue_prefix();
        let function = survey.scope.router_function();
        let hub = match query.hub {
            true => hub::ids(&survey.scope),
            false => vec![ResourceId::Parameter(survey.scope.settings_parameter())],
        };
        let guessed = queues(survey, &guess, &query.clusters);
        let unread = not_read(
            survey,
            hub.into_iter().chain(guessed.iter().chain(&query.resources).cloned()),
        );
        let discover = query.all_clusters && !survey.discovered.is_asked();
        let list_roles = query.orphans || query.role_names;
        let usual_queues = || self.usual_queues(&query.usual_queues);
        let known_rules = survey.event_rules.clone();
        // What other calls depend on comes first.
        let (
            found,
            usual_queues,
            listed,
            read,
            roles,
            all_policies,
            key,
            concurrency,
            sources,
            versions,
            router,
            eks,
            rules,
        ) = tokio::join!(
            when(discover, || self.discover(survey, &guess, &unread)),
            when(!query.usual_queues.is_empty(), usual_queues),
            when(list_roles, || self.listed_roles(survey, query)),
            self.snapshots(unread.clone()),
            self.roles(survey, query.roles.clone()),
            self.all_policies(&query.all_policies),
            OptionFuture::from(query.key.as_ref().map(|key| self.call(|| self.cloud.key_policy(key)))),
            when(query.concurrency, || self.call(|| self.cloud.unreserved_concurrency())),
            self.dead_letter_sources(&query.dead_letter_sources),
            self.versions(&function, &query.versions),
            Box::pin(self.router(&survey.scope, query)),
            // Few queries have these parts, and their futures would add to the stack of each.
            Box::pin(self.eks(&query.eks)),
            Box::pin(self.event_rules(known_rules, query)),
        );
        survey.event_rules = rules;
        survey.take(read);
        survey.roles.extend(roles);
        survey.all_policies.extend(all_policies);
        survey.dead_letter_sources.extend(sources);
        survey.versions.extend(versions);
        if let Some(queues) = usual_queues {
            survey.usual_queues = Fact::of(queues);
        }
        if let Some((listed, orphans)) = listed {
            survey.take_listed(listed);
            survey.roles.extend(orphans);
        }
        if let (Some(id), Some(policy)) = (&query.key, key) {
            survey.key_policies.insert(id.clone(), Fact::of_option(policy));
        }
        if let Some(left) = concurrency {
            survey.unreserved_concurrency = Fact::of_option(left);
        }
        let (mappings, permissions, dropped) = router;
        if let Some(mappings) = mappings {
            survey.function_mappings = Fact::of(mappings);
        }
        if let Some(permissions) = permissions {
            survey.function_permissions = Fact::of(permissions);
        }
        if let Some(dropped) = dropped {
            survey.dropped_clusters = Fact::of(dropped);
        }
        survey.eks.take(eks);
        // After the read, or a mark could be from the future.
        survey.now = self.cloud.now();
        self.believe_lost_settings(survey).await;
        self.clusters(survey, query, &guess, found).await;
        if query.controller_roles {
            self.controller_roles(survey).await;
        }
        Box::pin(self.controller_access(survey, query)).await;
    }

    /// Takes what discovery found under the guessed prefix. If the hub has another one, reads the clusters again.
    async fn clusters(&self, survey: &mut Survey, query: &Query, guess: &QueuePrefix, found: Option<Discovered>) {
        let prefix = survey.queue_prefix();
        if prefix == *guess {
            survey.take_discovered(found);
            return;
        }
        // Queues under the default prefix are not those of the clusters that were asked about.
        for id in queues(survey, guess, &query.clusters) {
            survey.forget(&id);
        }
        let discover = found.is_some();
        if let Some((names, mut read)) = found {
            read.retain(|(_, answer)| answer.is_ok());
            survey.take_discovered(Some((names, read)));
        }
        let unread = not_read(survey, queues(survey, &prefix, &query.clusters));
        let (read, found) = tokio::join!(
            self.snapshots(unread.clone()),
            when(discover, || self.discover(survey, &prefix, &unread)),
        );
        survey.take(read);
        survey.take_discovered(found);
    }

    /// Makes a call when there is room for it. What waits for room takes little memory.
    async fn call<F: Future>(&self, call: impl FnOnce() -> F) -> F::Output {
        self.calls(1, call).await
    }

    async fn calls<F: Future>(&self, at_once: u32, call: impl FnOnce() -> F) -> F::Output {
        // The semaphore is never closed.
        let _permits = self.permits.acquire_many(at_once.min(self.limit)).await;
        Box::pin(call()).await
    }

    async fn snapshots(&self, ids: Vec<ResourceId>) -> Snapshots {
        let reads = ids.into_iter().map(|id| async {
            // A queue has its attributes and its tags.
            let at_once = if matches!(id, ResourceId::Queue(_)) { 2 } else { 1 };
            let answer = self.calls(at_once, || self.cloud.snapshot(&id)).await;
            (id, answer)
        });
        join_all(reads).await
    }

    /// Reads missing settings of an existing hub again: whether a read shows a parameter right after its write is documented
    /// nowhere (Systems Manager API reference, `PutParameter`).
    async fn believe_lost_settings(&self, survey: &mut Survey) {
        for _ in 0..LOST_AFTER_READS {
            if !survey.has_lost_settings() {
                return;
            }
            self.cloud.pause(LOST_PAUSE).await;
            let parameter = ResourceId::Parameter(survey.scope.settings_parameter());
            let read = self.snapshots(vec![parameter]).await;
            survey.take(read);
        }
    }

    /// What invokes the router, who else may, and which clusters' events it dropped.
    async fn router(&self, scope: &Scope, query: &Query) -> OfRouter {
        let (function, log) = (scope.router_function(), scope.router_log_group());
        let mappings = || self.call(|| self.cloud.function_mappings(&function));
        let permissions = || self.call(|| self.cloud.function_permissions(&function));
        let dropped = || self.call(|| self.cloud.dropped_clusters(&log));
        tokio::join!(
            when(query.function_mappings, mappings),
            when(query.function_permissions, permissions),
            when(query.dropped_clusters, dropped)
        )
    }

    /// Finds the queues that may be those of clusters, and reads them, but for those that are being read already.
    async fn discover(&self, survey: &Survey, prefix: &QueuePrefix, reading: &[ResourceId]) -> Discovered {
        let found = self.call(|| self.cloud.cluster_queues(prefix)).await;
        let hub = survey.scope.hub_queues();
        let queues = found.iter().flatten().filter(|queue| !hub.contains(queue));
        let mut unread = not_read(survey, queues.cloned().map(ResourceId::Queue));
        let reading: BTreeSet<&ResourceId> = reading.iter().collect();
        unread.retain(|id| !reading.contains(id));
        (Fact::of(found), self.snapshots(unread).await)
    }

    /// The queues that exist, among those with the usual names of the clusters' interruption queues.
    async fn usual_queues(&self, clusters: &BTreeSet<ClusterName>) -> Result<BTreeSet<QueueName>, Fault> {
        let usual: BTreeSet<QueueName> = clusters.iter().flat_map(usual_queues).collect();
        let prefixes = match clusters.len() {
            ..=LISTED_BY_NAME => usual.iter().map(QueueName::as_str).collect(),
            _ => vec![""],
        };
        let lists = prefixes
            .into_iter()
            .map(|prefix| self.call(|| self.cloud.queues(prefix)));
        let mut existing = BTreeSet::new();
        for list in join_all(lists).await {
            existing.extend(list?);
        }
        existing.retain(|queue| usual.contains(queue));
        Ok(existing)
    }

    async fn dead_letter_sources(&self, queues: &BTreeSet<QueueName>) -> Vec<(QueueName, Fact<BTreeSet<QueueName>>)> {
        let reads = queues.iter().map(|queue| async move {
            let sources = self.call(|| self.cloud.dead_letter_sources(queue)).await;
            (queue.clone(), Fact::of_option(sources))
        });
        join_all(reads).await
    }

    async fn versions(&self, function: &FunctionName, versions: &BTreeSet<u64>) -> Vec<(u64, Fact<FunctionSettings>)> {
        let reads = versions.iter().map(|version| async move {
            let settings = self.call(|| self.cloud.published_version(function, *version)).await;
            (*version, Fact::of_option(settings))
        });
        join_all(reads).await
    }
}

impl Survey {
    fn take(&mut self, snapshots: Snapshots) {
        for (id, answer) in snapshots {
            let reading = match answer {
                Ok(Some(Snapshot { resource, status })) => {
                    self.status.extend(status.map(|status| (id.clone(), status)));
                    Reading::Present(Box::new(resource))
                }
                Ok(None) => Reading::Absent,
                Err(fault) => Reading::Unreadable(fault),
            };
            self.observed.insert(id, reading);
        }
    }

    /// Keeps of the queues that discovery has found those that belong to a cluster of this bus, or may, and those with a
    /// statement of kibus, which may have lost their tags.
    fn take_discovered(&mut self, found: Option<Discovered>) {
        let Some((found, mut read)) = found else { return };
        self.discovered = found;
        let prefix = self.queue_prefix();
        read.retain(|(_, answer)| match answer {
            Ok(Some(Snapshot {
                resource: Resource::Queue(queue),
                ..
            })) => {
                let cluster = queue.tags.cluster_of(&self.scope.bus);
                queue.origin(&self.scope).is_some()
                    || cluster.is_some_and(|cluster| self.scope.cluster_queue(&prefix, &cluster) == queue.name)
            }
            Ok(_) => false,
            Err(_) => true,
        });
        self.take(read);
    }

    fn forget(&mut self, id: &ResourceId) {
        self.observed.remove(id);
        self.status.remove(id);
    }
}

/// What `read` gives, if it is needed.
async fn when<F: Future>(needed: bool, read: impl FnOnce() -> F) -> Option<F::Output> {
    OptionFuture::from(needed.then(read)).await
}

fn queues(survey: &Survey, prefix: &QueuePrefix, clusters: &BTreeSet<ClusterName>) -> Vec<ResourceId> {
    clusters
        .iter()
        .map(|cluster| ResourceId::Queue(survey.scope.cluster_queue(prefix, cluster)))
        .collect()
}

fn not_read(survey: &Survey, ids: impl IntoIterator<Item = ResourceId>) -> Vec<ResourceId> {
    let ids: BTreeSet<ResourceId> = ids.into_iter().collect();
    ids.into_iter().filter(|id| survey.observed.get(id).is_none()).collect()
}
