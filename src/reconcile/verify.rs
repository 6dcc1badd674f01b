//! `verify`: what differs from the saved options, what blocks events, and what could not be read.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::{of_clusters, of_hub};
use super::names::{self, Evidence};
use super::old_key::Leaves;
use super::orphan::{self, Stray};
use super::probe::Probed;
use super::{
    Blocked, Intent, OfferedRouter, Recipe, cluster, confirm, controllers, key, live_version, old_key, redrive,
    role_search, router_code,
};
use crate::error::{Hint, Invocation};
use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::hub::Hub;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::options::HubOptions;
use crate::model::resource::{Architecture, ResourceId};
use crate::model::scope::LIVE;
use crate::model::self_test::LiveTest;
use crate::model::status::{Depth, Status, VersionState};
use crate::model::tags::Tags;
use crate::plan;
use crate::plan::finding::{self, Finding, FindingCode, Subject, Traffic};
use crate::survey::{Policies, Query, SavedOptions, Survey};

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The router of this kibus.
    pub router: OfferedRouter,
    /// The clusters to check with the hub; empty for all.
    pub names: BTreeSet<ClusterName>,
    /// Further samples of queues with waiting messages, after that of the survey.
    pub later: BTreeMap<QueueName, Vec<Depth>>,
    /// Whether these samples cover a minute.
    pub watched: bool,
    /// What became of a self-test of the live router.
    pub live: Fact<LiveTest>,
    /// The results of probes.
    pub probed: Vec<Probed>,
}

impl Request {
    /// A check of these clusters, or of all if there are none, with this router.
    #[must_use]
    pub fn new(router: OfferedRouter, names: BTreeSet<ClusterName>) -> Self {
        Self {
            router,
            names,
            later: BTreeMap::new(),
            watched: false,
            live: Fact::NotAsked,
            probed: Vec::new(),
        }
    }

    /// Whether there is deployed code to compare with the archive of the router.
    #[must_use]
    pub fn compares_code(survey: &Survey) -> bool {
        survey.observed.function(survey.scope.router_function()).is_some()
    }

    /// The architecture that the router should run on.
    #[must_use]
    pub fn architecture(survey: &Survey) -> Architecture {
        let options = options(survey).ok().flatten().cloned();
        options.unwrap_or_default().architecture()
    }

    /// The queues that are read again: a message may just have arrived. What waits in the probe queue is kibus's own.
    #[must_use]
    pub fn queues_to_watch(survey: &Survey) -> Vec<QueueName> {
        let waiting = survey.status.iter().filter_map(|(id, status)| match (id, status) {
            (ResourceId::Queue(queue), Status::Queue(state)) if state.depth.waiting > 0 => Some(queue.clone()),
            _ => None,
        });
        waiting.filter(|queue| *queue != survey.scope.probe_queue()).collect()
    }

    /// Whether there is a live router that can be asked for its self-test. If it cannot run, its state says why.
    #[must_use]
    pub fn asks_live_router(survey: &Survey) -> bool {
        survey.live_version().is_some_and(VersionState::can_run)
    }

    /// The registered clusters that are checked, with the tags of their queues.
    #[must_use]
    pub fn clusters<'a>(&self, survey: &'a Survey) -> BTreeMap<ClusterName, &'a Tags> {
        let mut registered = survey.registered();
        registered.retain(|name, _| self.names.is_empty() || self.names.contains(name));
        registered
    }

    /// The queues of these clusters.
    fn cluster_queues(&self, survey: &Survey) -> BTreeMap<QueueName, ClusterName> {
        let clusters = self.clusters(survey).into_keys();
        clusters.map(|name| (survey.cluster_queue(&name), name)).collect()
    }
}

impl Recipe for Request {
    fn query(&self) -> Query {
        Query {
            hub: true,
            all_clusters: true,
            controller_roles: Some(Policies::All),
            orphans: true,
            function_mappings: true,
            ..Query::default()
        }
    }

    fn more(&self, survey: &Survey) -> Query {
        let key = options(survey)
            .ok()
            .flatten()
            .and_then(|options| options.key().cloned());
        let names = names::query(survey, &self.names);
        let mut clusters = orphan::not_read(survey);
        clusters.extend(self.names.iter().cloned());
        clusters.retain(|name| {
            let queue = ResourceId::Queue(survey.cluster_queue(name));
            survey.observed.get(&queue).is_none()
        });
        let mut roles = names.roles;
        roles.retain(|role, _| !survey.roles.contains_key(role));
        Query {
            key: key::to_read(survey, key.as_ref()).cloned(),
            clusters,
            roles,
            dead_letter_sources: redrive::to_read(survey, &self.cluster_queues(survey)),
            versions: live_version::rolled_back(survey),
            ..Query::default()
        }
    }

    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked> {
        let scope = &survey.scope;
        let saved = options(survey)?;
        let hub = saved.cloned().unwrap_or_default();
        let clusters = self.clusters(survey);
        let mut findings = self.missing(survey)?;

        let code = router_code::expected(&self.router, survey);
        let mut desired = Hub::new(scope, hub.clone(), code).desired();
        router_code::expect_live(&self.router, survey, &mut desired);
        desired.extend(cluster::desired(survey, &clusters, &hub)?);
        let mut observed = of_hub(survey);
        observed.extend(of_clusters(survey, &clusters));
        let old_keys = old_key::keep(survey, &observed, &mut desired, Leaves::Never);
        let roles = controllers::check(survey, &desired);
        let plan = plan::plan(scope, &desired, &observed);
        let mut refusals = plan::check(scope, &plan, &observed);
        refusals.extend(plan::check_empty_prefix(scope, &hub.queue_prefix()).err());
        refusals.extend(roles.refusals);
        refusals.extend(role_search::check(survey, &plan));
        let given = HubOptions::default();
        refusals.extend(confirm::check(survey, &given, &hub));
        refusals.extend(confirm::locks(survey, &given, &plan));
        findings.extend(finding::changed(
            scope,
            &plan,
            &refusals,
            &absent_roles(survey),
            survey.now,
        ));
        router_code::fix_by_name(&self.router, &mut findings);
        findings.extend(finding::refused(scope, &refusals));

        let mut warnings = roles.warnings;
        if self.names.is_empty() && confirm::prefix(survey).is_ok() {
            for stray in orphan::strays(survey) {
                match stray.orphan {
                    Some(ref orphan) => findings.push(finding::orphan(orphan.resource.id(), orphan.cluster.clone())),
                    None => warnings.push(not_managed(&stray)),
                }
            }
            warnings.extend(orphan::unread(survey));
        }
        let deleted = survey.being_deleted().into_keys();
        let asked = deleted.filter(|name| self.names.is_empty() || self.names.contains(name));
        findings.extend(asked.map(|name| {
            let queue = ResourceId::Queue(survey.cluster_queue(&name));
            finding::being_deleted(queue, name)
        }));
        let mappings = survey.function_mappings.present().into_iter().flatten();
        findings.extend(mappings.filter_map(|mapping| finding::foreign_mapping(scope, mapping)));
        let mut unreadable = unreadable(survey, &observed);
        match self.live.fault() {
            Some(fault) if fault.is_denied() => warnings.push(not_asked()),
            Some(fault) => {
                let id = ResourceId::Alias(scope.router_function(), LIVE.to_owned());
                unreadable.push(finding::unreadable(scope, Subject::Resource(id), fault));
            }
            None => {}
        }
        let by_queue = self.cluster_queues(survey);
        let redrive = redrive::check(survey, &by_queue);
        findings.extend(redrive.findings);
        warnings.extend(redrive.denied);
        unreadable.extend(redrive.unreadable);
        let incomplete = unreadable.len();
        let traffic = self.traffic(survey, &by_queue);
        warnings.extend(self.stale_counts(&traffic));
        findings.extend(traffic);
        findings.extend(unreadable);
        findings.extend(self.probed.iter().filter_map(Probed::finding));
        let key = key::check(survey, hub.key());
        findings.extend(key.finding);
        warnings.extend(key.unclear);
        warnings.extend(old_keys.warnings);
        warnings.extend(live_version::warning(scope, &survey.observed).map(Hint::text));
        warnings.extend(router_code::warning(&self.router, survey, &desired));
        finding::sort(&mut findings);
        Ok(Intent {
            plan,
            findings,
            warnings,
            second_sources: roles.second_sources,
            incomplete,
            clusters: cluster::summaries(survey)
                .into_iter()
                .filter(|cluster| clusters.contains_key(&cluster.name))
                .collect(),
            ..Intent::default()
        })
    }
}

impl Request {
    /// Findings for clusters that are not registered, but of which some resource exists.
    fn missing(&self, survey: &Survey) -> Result<Vec<Finding>, Blocked> {
        if survey.discovered.fault().is_some() || confirm::prefix(survey).is_err() {
            return Ok(Vec::new());
        }
        let (mut findings, mut unknown) = (Vec::new(), Vec::new());
        for name in names::unregistered(survey, &self.names) {
            match names::evidence(survey, &name) {
                Evidence::Exists => findings.push(finding::not_registered(name)),
                Evidence::Nothing => unknown.push(names::unknown(survey, &name)),
            }
        }
        if unknown.is_empty() {
            Ok(findings)
        } else {
            Err(Blocked::UnknownClusters(unknown))
        }
    }

    fn traffic(&self, survey: &Survey, by_queue: &BTreeMap<QueueName, ClusterName>) -> Vec<Finding> {
        let hub = survey.scope.hub_queues().into_iter();
        let queues = hub.chain(by_queue.keys().cloned()).filter_map(|queue| {
            let first = survey.depth(&queue)?;
            let later = self.later.get(&queue).into_iter().flatten();
            let samples = std::iter::once(first).chain(later.copied()).collect();
            Some((queue, samples))
        });
        let traffic = Traffic {
            queues: queues.collect(),
            watched: self.watched,
            mapping: survey.mapping().cloned(),
            version: survey.live_version().cloned(),
            live: self.live.present().cloned(),
        };
        finding::traffic(&survey.scope, &traffic, by_queue)
    }

    /// How to judge counts that may be stale, if a finding rests on them.
    fn stale_counts(&self, traffic: &[Finding]) -> Option<Hint> {
        let counted = [
            FindingCode::DeadLetters,
            FindingCode::QueueUnread,
            FindingCode::HubQueueNotDraining,
        ];
        let rests = |finding: &Finding| counted.contains(&finding.code);
        (!self.watched && traffic.iter().any(rests)).then(|| {
            Hint::command(
                "SQS counts messages up to a minute late; to watch the counts for a minute:",
                Invocation::kibus("verify --probe"),
            )
        })
    }
}

/// Not a finding: a caller who only reads may not invoke the router, which would also route any event.
fn not_asked() -> Hint {
    Hint::text(
        "the live router was not asked for its self-test: AWS denied lambda:InvokeFunction, which the read-only policy does \
         not contain",
    )
}

/// The saved options; `None` if the hub exists and the queue that saves them is missing.
fn options(survey: &Survey) -> Result<Option<&HubOptions>, Blocked> {
    match &survey.saved {
        SavedOptions::Absent if super::inventory::hub_exists(survey) => Ok(None),
        _ => super::inventory::saved_options(survey).map(Some),
    }
}

/// The controller roles that certainly do not exist.
fn absent_roles(survey: &Survey) -> BTreeSet<RoleName> {
    let absent = survey.roles.iter().filter(|(_, policies)| **policies == Fact::Absent);
    absent.map(|(role, _)| role.clone()).collect()
}

fn not_managed(stray: &Stray) -> Hint {
    Hint::text(format!(
        "role `{}` has an inline policy `{}` with a name of this bus that belongs to no cluster of it",
        stray.role, stray.policy
    ))
}

/// Everything that could not be read, each once.
fn unreadable(survey: &Survey, observed: &crate::model::inventory::Observed) -> Vec<Finding> {
    let mut findings = Vec::new();
    let direct = survey.faults().map(|(id, fault)| (id.clone(), fault));
    let derived = observed.iter().filter_map(|(id, reading)| match reading {
        Reading::Unreadable(fault) => Some((id.clone(), fault)),
        Reading::Absent | Reading::Present(_) => None,
    });
    let all: BTreeMap<ResourceId, &Fault> = direct.chain(derived).collect();
    for (id, fault) in all {
        findings.push(finding::unreadable(&survey.scope, Subject::Resource(id), fault));
    }
    for (number, version) in &survey.versions {
        if let Fact::Unreadable(fault) = version {
            let subject = Subject::Other(format!("version {number} of the router"));
            findings.push(finding::unreadable(&survey.scope, subject, fault));
        }
    }
    if let Fact::Unreadable(fault) = &survey.discovered {
        let subject = Subject::Other("clusters".to_owned());
        findings.push(finding::unreadable(&survey.scope, subject, fault));
    }
    if let Fact::Unreadable(fault) = &survey.function_mappings {
        let subject = Subject::Other("mappings of the router".to_owned());
        findings.push(finding::unreadable(&survey.scope, subject, fault));
    }
    findings
}
