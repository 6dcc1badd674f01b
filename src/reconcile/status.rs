//! `status`: what exists, what runs, and how many messages wait. It makes no judgment.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Blocked, ClusterSummary, blocked, clusters, hub as hub_of_target, router};
use crate::message::Message;
use crate::model::{
    Alias, Architecture, ClusterName, Depth, Fact, HubOptions, LastHeartbeat, MappingState, Moment, QueueName,
    ResourceId, RuleName, Signal, hub,
};
use crate::survey::{Query, Saved, Survey};

/// The state of the hub and its clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "StatusObject"))]
pub struct StatusReport {
    pub router: Option<RouterReport>,
    /// An explanation if the live router is not the newest one.
    pub standing: Option<String>,
    pub mapping: Option<MappingState>,
    // Every queue that could be counted, the hub's first, without the probe queue.
    pub queues: Vec<QueueReport>,
    #[serde(skip)]
    pub dead_letter_queue: Option<QueueName>,
    pub rules: Vec<RuleReport>,
    /// When the router last counted a heartbeat, of the last day. Null if there is none, or it is unknown.
    pub last_heartbeat: Option<String>,
    /// When SQS last counted a message sent to the probe queue, of the last day: a heartbeat or another probe. Null if there is none, or
    /// it is unknown.
    pub last_sent_to_probe_queue: Option<String>,
    /// The last heartbeat in words; `None` for a hub without one.
    #[serde(skip)]
    pub heartbeat: Option<String>,
    pub missing: Vec<ResourceId>,
    pub unreadable: Vec<ResourceId>,
    /// What is unknown, and why.
    #[serde(skip)]
    pub unknown: Vec<String>,
}

/// The live router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RouterObject"))]
pub struct RouterReport {
    // Its version, of kibus; empty if kibus did not publish it.
    pub version: String,
    /// The version number that Lambda assigned.
    pub published: Option<u64>,
    #[cfg_attr(test, schemars(with = "String"))]
    pub architecture: Architecture,
    pub state: Option<String>,
    /// The version that was live before `kibus rollback`.
    pub rolled_back_from: Option<u64>,
}

/// A queue and the number of its messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "QueueObject"))]
pub struct QueueReport {
    pub name: QueueName,
    #[serde(flatten)]
    pub depth: Depth,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RuleObject"))]
pub struct RuleReport {
    pub name: RuleName,
    pub enabled: bool,
}

/// What [`status`] will certainly ask for.
pub fn guess(survey: &Survey) -> Query {
    Query { resources: hub::ids(&survey.scope, None), records: true, ..Query::default() }
}

/// The status of a hub, and its clusters; of these names only, unless there are none.
///
/// # Errors
/// When there is no hub, or it is unknown whether there is one, or nothing has one of the names.
pub fn status(survey: &Survey, names: &BTreeSet<ClusterName>) -> Result<(StatusReport, Vec<ClusterSummary>), Blocked> {
    hub_of_target::readings(survey, survey.options());
    survey.records();
    match survey.saved() {
        Saved::Kept(_) => {}
        // The missing parameter is among what is missing.
        Saved::Absent if survey.has_lost_settings() => {}
        Saved::Absent => return Err(blocked::no_hub(&survey.scope)),
        Saved::Bad(bad) => {
            return Err(blocked::bad_settings(&survey.scope, bad, &hub_of_target::restoring(survey)));
        }
        Saved::Unreadable(fault) => {
            return Err(Message::unread(&survey.scope, [(survey.settings_id().into(), fault)]).into());
        }
    }
    clusters::check_names(survey, names)?;
    let shown = survey.recorded().into_iter().filter(|(name, _)| names.is_empty() || names.contains(name));
    let summaries: Vec<_> = shown.map(|(_, record)| ClusterSummary::with_damage(survey, record)).collect();
    let scope = &survey.scope;
    // What waits in the probe queue is kibus's own and expires.
    let hub_queues = [scope.hub_queue(), scope.dead_letter_queue()];
    let queues = hub_queues.into_iter().chain(summaries.iter().map(|cluster| cluster.queue.clone()));
    let report = |name: QueueName| {
        let depth = survey.depth(&name)?;
        Some(QueueReport { name, depth })
    };
    let rule = |signal| {
        let rule = survey.observed.rule(scope.rule(signal))?;
        let (name, enabled) = (rule.name.clone(), rule.enabled);
        Some(RuleReport { name, enabled })
    };
    let unread = survey.observed.faults().map(|(id, fault)| format!("{id} could not be read: {fault}"));
    let unlisted = survey.records().fault().map(|fault| format!("the clusters are unknown: {fault}"));
    let unusable = clusters::unusable(survey).into_iter().map(|(_, message)| message.sentence);
    let has_heartbeat = survey.options().is_some_and(HubOptions::has_heartbeat);
    let last_heartbeat = has_heartbeat.then(|| survey.last_heartbeat());
    let time = |seconds: u64| String::from(Moment(seconds));
    let last = |seconds: Option<u64>| {
        seconds.map_or("none in the last day".to_owned(), |at| format!("the last at {}", time(at)))
    };
    let heartbeat = last_heartbeat.and_then(|found| match found {
        Fact::Present(LastHeartbeat { counted, sent }) => {
            Some(format!("{}; messages to {}, counted by SQS: {}", last(*counted), scope.probe_queue(), last(*sent)))
        }
        Fact::Unreadable(fault) => Some(format!("unknown: {fault}")),
        Fact::Absent | Fact::NotAsked => None,
    });
    let last_heartbeat = last_heartbeat.and_then(Fact::present).copied().unwrap_or_default();
    let report = StatusReport {
        last_heartbeat: last_heartbeat.counted.map(time),
        last_sent_to_probe_queue: last_heartbeat.sent.map(time),
        heartbeat,
        dead_letter_queue: Some(scope.dead_letter_queue()),
        router: router(survey),
        standing: router::why_not_newest(survey),
        mapping: survey.mapping().cloned(),
        queues: queues.filter_map(report).collect(),
        rules: Signal::ALL.into_iter().filter_map(rule).collect(),
        missing: missing(survey),
        unreadable: survey.observed.faults().map(|(id, _)| id.clone()).collect(),
        unknown: unread.chain(unlisted).chain(unusable).collect(),
    };
    Ok((report, summaries))
}

/// The missing resources of the hub. An optional rule counts only if its option is set.
fn missing(survey: &Survey) -> Vec<ResourceId> {
    let options = survey.options().cloned().unwrap_or_default();
    let optional = Signal::ALL.into_iter().filter(|signal| !options.has_rule(*signal));
    let unset: Vec<_> = optional.map(|signal| ResourceId::Rule(survey.scope.rule(signal))).collect();
    let missing = hub::ids(&survey.scope, [&options]).into_iter();
    missing.filter(|id| *survey.observed.get(id) == Fact::Absent && !unset.contains(id)).collect()
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
