//! Answers a query in as few round trips as possible: everything that depends on nothing is asked at once, with the
//! default queue prefix as a guess; what depends on an answer follows.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{OptionFuture, join_all};
use tokio::sync::Semaphore;

use super::{Fact, Policies, Query, RolePolicies, SavedOptions, Survey};
use crate::cloud::{Fault, Read, Snapshot};
use crate::model::cluster::Cluster;
use crate::model::controller_role::is_usual;
use crate::model::hub;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, QueueName, QueuePrefix, RoleName};
use crate::model::resource::{Resource, ResourceId};

/// What reads, and how many calls may run at once.
pub(super) struct Reader<'a, R> {
    cloud: &'a R,
    limit: u32,
    permits: Semaphore,
}

type Snapshots = Vec<(ResourceId, Result<Option<Snapshot>, Fault>)>;

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
        let hub = if query.hub {
            hub::ids(&survey.scope)
        } else {
            vec![ResourceId::Queue(survey.scope.dead_letter_queue())]
        };
        let guessed = queues(survey, &guess, &query.clusters);
        let unread = not_read(
            survey,
            hub.into_iter().chain(guessed.iter().chain(&query.resources).cloned()),
        );
        let discover = query.all_clusters && !survey.discovered.is_asked();
        let (read, roles, found, names, key, concurrency, versions) = tokio::join!(
            self.snapshots(unread),
            self.roles(survey, query.roles.clone()),
            OptionFuture::from(discover.then(|| self.call(|| self.cloud.cluster_queues(&guess)))),
            OptionFuture::from(
                ((query.role_names || query.orphans) && !survey.role_names.is_asked())
                    .then(|| self.call(|| self.cloud.role_names()))
            ),
            OptionFuture::from(query.key.as_ref().map(|key| self.call(|| self.cloud.key_policy(key)))),
            OptionFuture::from(
                query
                    .concurrency
                    .then(|| self.call(|| self.cloud.unreserved_concurrency()))
            ),
            self.versions(survey, &query.versions),
        );
        survey.take(read);
        survey.roles.extend(roles);
        survey.versions.extend(versions);
        if let Some(names) = names {
            survey.role_names = Fact::of(names);
        }
        if let (Some(id), Some(policy)) = (&query.key, key) {
            survey.key_policies.insert(id.clone(), Fact::of_option(policy));
        }
        if let Some(left) = concurrency {
            survey.unreserved_concurrency = Fact::of_option(left);
        }
        self.saved_options(survey).await;
        let prefix = survey.queue_prefix();
        if let Some(found) = found {
            survey.discovered = Fact::of(found);
        }
        if prefix != guess {
            // Queues under the default prefix are not those of the clusters that were asked about.
            for id in &guessed {
                survey.forget(id);
            }
            let unread = not_read(survey, queues(survey, &prefix, &query.clusters));
            let (read, found) = tokio::join!(
                self.snapshots(unread),
                OptionFuture::from(discover.then(|| self.call(|| self.cloud.cluster_queues(&prefix)))),
            );
            survey.take(read);
            if let Some(found) = found {
                survey.discovered = Fact::of(found);
            }
        }
        self.discovered_queues(survey).await;
        if let Some(policies) = query.controller_roles {
            self.controller_roles(survey, policies).await;
        }
        if query.orphans {
            self.orphans(survey).await;
        }
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

    /// The options: where the dead-letter queue is absent, the function has a copy.
    async fn saved_options(&self, survey: &mut Survey) {
        let memory = ResourceId::Queue(survey.scope.dead_letter_queue());
        if survey.observed.get(&memory) == Some(&Reading::Absent) {
            let function = ResourceId::Function(survey.scope.router_function());
            let read = self.snapshots(not_read(survey, [function])).await;
            survey.take(read);
        }
        survey.saved = SavedOptions::of(&survey.scope, &survey.observed);
    }

    /// Reads what discovery has found, and keeps what belongs to a cluster of this bus, or may.
    async fn discovered_queues(&self, survey: &mut Survey) {
        let Some(found) = survey.discovered.present() else {
            return;
        };
        let hub: BTreeSet<QueueName> = survey.scope.hub_queues().into();
        let found = found.difference(&hub).cloned().map(ResourceId::Queue);
        let unread = not_read(survey, found);
        let prefix = survey.queue_prefix();
        let mut read = self.snapshots(unread).await;
        let scope = survey.scope.clone();
        read.retain(|(_, answer)| match answer {
            Ok(Some(Snapshot {
                resource: Resource::Queue(queue),
                ..
            })) => {
                let cluster = queue.tags.cluster_of(&scope.bus);
                cluster.is_some_and(|cluster| scope.cluster_queue(&prefix, &cluster) == queue.name)
            }
            Ok(_) => false,
            Err(_) => true,
        });
        survey.take(read);
    }

    /// Reads the roles that the clusters' queues have saved.
    async fn controller_roles(&self, survey: &mut Survey, policies: Policies) {
        let saved: BTreeMap<ClusterName, RoleName> = survey
            .registered()
            .into_iter()
            .filter_map(|(cluster, tags)| Some((cluster, tags.controller_role()?)))
            .collect();
        let roles = saved.values().map(|role| (role.clone(), policies)).collect();
        let read = self.roles(survey, roles).await;
        survey.roles.extend(read);
        // Who may not list the policies of a role may still be allowed to read the one of kibus.
        let direct = saved
            .iter()
            .filter(|(_, role)| survey.roles.get(*role).is_some_and(|fact| fact.fault().is_some()))
            .map(|(cluster, role)| Cluster::policy_id(&survey.scope, cluster, role));
        let read = self.snapshots(not_read(survey, direct)).await;
        survey.take(read);
    }

    /// Reads the policies of this bus on every role that is named like a controller role.
    async fn orphans(&self, survey: &mut Survey) {
        let usual = survey
            .role_names
            .present()
            .into_iter()
            .flatten()
            .filter(|role| is_usual(role));
        let roles = usual.map(|role| (role.clone(), Policies::OfBus)).collect();
        let read = self.roles(survey, roles).await;
        survey.roles.extend(read);
    }

    async fn roles(&self, survey: &Survey, roles: BTreeMap<RoleName, Policies>) -> Vec<(RoleName, Fact<RolePolicies>)> {
        let prefix = survey.scope.controller_policies_prefix();
        let unread = roles
            .into_iter()
            .filter(|(role, policies)| match survey.roles.get(role) {
                None | Some(Fact::NotAsked) => true,
                Some(Fact::Present(known)) => *policies == Policies::All && known.all().is_none(),
                Some(Fact::Absent | Fact::Unreadable(_)) => false,
            });
        let reads = unread.map(|(role, policies)| {
            let known = survey.roles.get(&role).and_then(Fact::present).cloned();
            let prefix = prefix.as_str();
            async move {
                let wanted = |name: &str| policies == Policies::All || name.starts_with(prefix);
                let read = self.role(&role, known, wanted).await;
                (role, Fact::of_option(read))
            }
        });
        join_all(reads).await
    }

    async fn role(
        &self,
        role: &RoleName,
        known: Option<RolePolicies>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<RolePolicies>, Fault> {
        let mut policies = match known {
            Some(known) => known,
            None => match self.call(|| self.cloud.inline_policy_names(role)).await? {
                None => return Ok(None),
                Some(names) => RolePolicies {
                    names,
                    ..RolePolicies::default()
                },
            },
        };
        let unread = policies
            .names
            .iter()
            .filter(|name| wanted(name) && !policies.documents.contains_key(*name));
        let reads = unread.map(|name| self.call(|| self.cloud.inline_policy(role, name)));
        for policy in join_all(reads).await {
            // A policy that went between the two calls takes no space any more.
            if let Some(policy) = policy? {
                policies.documents.insert(policy.name.clone(), policy);
            }
        }
        let read = policies.documents.keys().cloned().collect::<BTreeSet<_>>();
        policies.names.retain(|name| !wanted(name) || read.contains(name));
        Ok(Some(policies))
    }

    async fn versions(
        &self,
        survey: &Survey,
        versions: &BTreeSet<u64>,
    ) -> Vec<(u64, Fact<crate::model::resource::FunctionSettings>)> {
        let function = survey.scope.router_function();
        let unread = versions.iter().filter(|version| !survey.versions.contains_key(version));
        let reads = unread.map(|version| {
            let call = || self.cloud.published_version(&function, *version);
            async move { (*version, Fact::of_option(self.call(call).await)) }
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

    fn forget(&mut self, id: &ResourceId) {
        self.observed.remove(id);
        self.status.remove(id);
    }
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
