//! `status`: what exists, what runs, and how many messages wait. It makes no judgment.

use std::collections::BTreeSet;

use super::{Blocked, ClusterSummary, clusters, hub as hub_of_target, router};
use crate::model::answer::Fact;
use crate::model::answer::Fault;
use crate::model::hub;
use crate::model::name::{ClusterName, QueueName, RuleName};
use crate::model::resource::{Alias, Architecture, ResourceId};
use crate::model::signal::Signal;
use crate::model::status::{Depth, MappingState};
use crate::survey::{Query, Saved, Survey};

/// The status of a hub and its clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReport {
    pub router: Option<RouterReport>,
    /// Why the live router is not the newest, as after a rollback.
    pub standing: Option<String>,
    pub mapping: Option<MappingState>,
    /// Every queue that could be counted, the hub's first, without the probe queue.
    pub queues: Vec<(QueueName, Depth)>,
    pub dead_letter_queue: Option<QueueName>,
    /// The rules that exist, and whether each is enabled.
    pub rules: Vec<(RuleName, bool)>,
    /// The missing resources of the hub.
    pub missing: Vec<ResourceId>,
    /// The resources that could not be read, and why.
    pub unreadable: Vec<(ResourceId, Fault)>,
    /// Why the clusters are unknown, if they are.
    pub undiscovered: Option<Fault>,
}

/// The live router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterReport {
    /// Its version, of kibus; empty if kibus did not publish it.
    pub version: String,
    /// Its version number in Lambda.
    pub published: Option<u64>,
    pub architecture: Architecture,
    /// Lambda's word for its state.
    pub state: Option<String>,
    /// The version number that was live before a rollback.
    pub rolled_back_from: Option<u64>,
}

/// What [`status`] will certainly ask for.
pub fn guess(survey: &Survey) -> Query {
    Query {
        resources: hub::ids(&survey.scope).into_iter().collect(),
        cluster_queues: [survey.queue_prefix()].into(),
        ..Query::default()
    }
}

/// The status of a hub, and its clusters; of these names only, unless there are none.
///
/// # Errors
/// When there is no hub, or it is unknown whether there is one, or nothing has one of the names.
pub fn status(survey: &Survey, names: &BTreeSet<ClusterName>) -> Result<(StatusReport, Vec<ClusterSummary>), Blocked> {
    hub_of_target::readings(survey);
    survey.discover();
    match survey.saved() {
        Saved::Kept(_) => {}
        // The missing parameter is among what is missing.
        Saved::Absent if survey.has_lost_settings() => {}
        Saved::Absent => return Err(Blocked::NoHub),
        Saved::Bad(bad) => return Err(Blocked::bad_settings(survey, bad.clone())),
        Saved::Unreadable(fault) => return Err(Blocked::unreadable(survey.settings_id(), fault)),
    }
    if survey.discovered().fault().is_none() {
        let registered = survey.registered().into_keys().collect();
        clusters::all_known(survey, &(names - &registered), BTreeSet::new())?;
    }
    let mut summaries = clusters::summaries(survey);
    summaries.retain(|cluster| names.is_empty() || names.contains(&cluster.name));
    let scope = &survey.scope;
    // What waits in the probe queue is kibus's own and expires.
    let hub_queues = [scope.hub_queue(), scope.dead_letter_queue()];
    let queues = hub_queues
        .into_iter()
        .chain(summaries.iter().map(|cluster| cluster.queue.clone()));
    let depth = |queue| survey.depth(&queue).map(|depth| (queue, depth));
    let rule = |signal| {
        let rule = survey.observed.rule(scope.rule(signal))?;
        Some((rule.name.clone(), rule.enabled))
    };
    let report = StatusReport {
        dead_letter_queue: Some(scope.dead_letter_queue()),
        router: router(survey),
        standing: router::why_not_newest(survey),
        mapping: survey.mapping().cloned(),
        queues: queues.filter_map(depth).collect(),
        rules: Signal::ALL.into_iter().filter_map(rule).collect(),
        missing: missing(survey),
        unreadable: survey
            .observed
            .faults()
            .map(|(id, fault)| (id.clone(), fault.clone()))
            .collect(),
        undiscovered: survey.discovered().fault().cloned(),
    };
    Ok((report, summaries))
}

/// The missing resources of the hub. An optional rule counts only if its option is set.
fn missing(survey: &Survey) -> Vec<ResourceId> {
    let options = survey.options().cloned().unwrap_or_default();
    let optional = Signal::ALL
        .into_iter()
        .filter(|signal| !hub::has_rule(&options, *signal));
    let unset: Vec<_> = optional
        .map(|signal| ResourceId::Rule(survey.scope.rule(signal)))
        .collect();
    let mut missing = hub::ids(&survey.scope);
    missing.retain(|id| *survey.observed.get(id) == Fact::Absent && !unset.contains(id));
    missing
}

fn router(survey: &Survey) -> Option<RouterReport> {
    let alias = router::live_alias(&survey.scope, &survey.observed)?;
    let version = survey.live_version();
    Some(RouterReport {
        version: alias.settings.code.version.clone(),
        published: alias.version.or(version.and_then(|version| version.version)),
        architecture: alias.settings.architecture,
        state: version.map(|version| version.state.clone()),
        rolled_back_from: router::rolled_back(survey).and_then(Alias::later),
    })
}
