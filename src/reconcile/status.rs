//! `status`: traffic, problems and the first steps to take. The findings are those of a read-only check.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Blocked, ClusterSummary, Intent, Target, blocked, clusters, hub as hub_of_target, reconcile, router};
use crate::message::{Message, Subject, by_cause, explained};
use crate::model::{
    Alias, ClusterName, Fact, Fault, HubActivity, HubOptions, LastEvents, LoggedEvent, Moment, QueueName, ResourceId,
    Status, first_of, hub,
};
use crate::plan::Plan;
use crate::survey::{Query, Saved, Survey};

/// How many seconds later SQS may count a heartbeat than the router, whose metric others can write too.
const LATE: u64 = 900;
/// How many items with the same unknown reason are named.
const NAMED: usize = 2;
/// How many events of a named cluster are shown.
const EVENTS: usize = 5;

/// The state of the hub and its clusters. Null values are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "StatusObject"))]
pub struct StatusReport {
    pub router: Option<RouterReport>,
    /// The explanation if the live router is not the newest one.
    pub standing: Option<String>,
    /// Messages waiting in the hub queue.
    pub waiting: Option<u64>,
    pub dead_letters: Option<u64>,
    /// When the router last counted a heartbeat in the last day. Also null if there is none.
    pub last_heartbeat: Option<String>,
    /// When SQS last counted a message sent to the probe queue in the last day: a heartbeat or another probe. Also null if there is none.
    pub last_sent_to_probe_queue: Option<String>,
    /// The longest time from an event to its delivery in the last day, in milliseconds. Also null if there was no delivery.
    pub slowest_delivery: Option<i64>,
    pub alarms: AlarmReport,
    /// The clusters that are shown.
    pub traffic: Vec<ClusterTraffic>,
    /// What is unknown, and why: one line per cause.
    pub unknown: Vec<String>,
    /// The last heartbeat in words; `None` for a hub without one.
    #[serde(skip)]
    pub heartbeat: Option<String>,
    /// Whether the records of all clusters were read.
    #[serde(skip)]
    pub has_all_clusters: bool,
    /// Why the hub or a queue could not be read.
    #[serde(skip)]
    pub unread: Vec<Fault>,
}

/// The live router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RouterObject"))]
pub struct RouterReport {
    // Its kibus version; empty if kibus did not publish it.
    pub version: String,
    /// The version number that Lambda assigned.
    pub published: Option<u64>,
    /// The version that was live before `kibus rollback`.
    pub rolled_back_from: Option<u64>,
}

/// The alarms of the hub and of the clusters that are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "AlarmsObject"))]
pub struct AlarmReport {
    /// How many exist.
    pub count: usize,
    /// How many could not be read.
    pub unknown: usize,
    /// Those in the state ALARM, the longest first.
    pub firing: Vec<FiringAlarm>,
}

/// An alarm in the state ALARM.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "AlarmObject"))]
pub struct FiringAlarm {
    /// Since when, in UTC.
    pub since: Option<String>,
    pub name: String,
}

/// The traffic through the queue of a cluster. Null values are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "TrafficObject"))]
pub struct ClusterTraffic {
    pub cluster: ClusterName,
    #[serde(rename = "queue_name")]
    pub queue: QueueName,
    pub waiting: Option<u64>,
    pub in_flight: Option<u64>,
    /// Whether something polled the queue in the last hour.
    pub read: Option<bool>,
    /// When something last did so in the last day, to within five minutes. Also null if nothing did.
    pub last_read: Option<String>,
    /// Messages that were sent to the queue in the last day, as SQS counted them.
    pub sent: Option<u64>,
    /// The newest events of the last day, the newest first: one, or some of a named cluster.
    pub last_events: Vec<LoggedEvent>,
    /// Whether there may be a newer event that is not listed.
    pub events_unknown: bool,
    // For how many seconds nothing has read the queue.
    #[serde(skip)]
    pub unread_for: Option<u64>,
}

/// What [`listed`] will certainly request.
pub fn guess(survey: &Survey) -> Query {
    Query { resources: hub::ids(&survey.scope, None), records: true, ..Query::default() }
}

/// The clusters of a hub.
///
/// # Errors
/// If there is no hub, or it is unknown whether there is one.
pub fn listed(survey: &Survey) -> Result<Vec<ClusterSummary>, Blocked> {
    hub_of_target::readings(survey, survey.options());
    survey.records();
    match survey.saved() {
        Saved::Kept(_) => {}
        // The missing parameter is a finding.
        Saved::Absent if survey.has_lost_settings() => {}
        Saved::Absent => return Err(blocked::no_hub(&survey.scope)),
        Saved::Bad(bad) => {
            return Err(blocked::bad_settings(&survey.scope, bad, &hub_of_target::restoring(survey)));
        }
        Saved::Unreadable(fault) => {
            return Err(Message::unread(&survey.scope, [(survey.settings_id().into(), fault)]).into());
        }
    }
    Ok(survey.recorded().into_values().map(|record| ClusterSummary::with_damage(survey, record)).collect())
}

/// The status of a hub and of the clusters that the target checks, with the findings about them.
///
/// # Errors
/// If there is no hub, or it is unknown whether there is one, or a name matches nothing.
pub fn status(survey: &Survey, target: &Target) -> Result<(StatusReport, Intent), Blocked> {
    let mut listed = listed(survey)?;
    clusters::check_names(survey, &target.clusters.keys().cloned().collect())?;
    let intent = reconcile(survey, target)?;
    listed.retain(|cluster| target.checks(&cluster.name));
    let traffic = listed.iter().map(|cluster| traffic(survey, target, cluster)).collect();
    let hub_activity = survey.hub_activity().present().copied();
    let HubActivity { heartbeat, sent_to_probe_queue, slowest } = hub_activity.unwrap_or_default();
    let has_heartbeat = survey.options().is_some_and(HubOptions::has_heartbeat);
    let unread = intent.incomplete.iter().filter(|fault| !is_of_telemetry(fault));
    let report = StatusReport {
        router: router(survey),
        standing: router::why_not_newest(survey),
        waiting: survey.depth(&survey.scope.hub_queue()).map(|depth| depth.waiting),
        dead_letters: survey.depth(&survey.scope.dead_letter_queue()).map(|depth| depth.messages()),
        last_heartbeat: heartbeat.map(time),
        last_sent_to_probe_queue: sent_to_probe_queue.map(time),
        slowest_delivery: slowest,
        heartbeat: has_heartbeat.then(|| match (hub_activity, heartbeat) {
            (None, _) => "heartbeat ?".to_owned(),
            (_, None) => "no heartbeat in a day".to_owned(),
            (_, Some(at)) => {
                let ago = |at: u64| format!("{} ago", minutes(survey.now.saturating_sub(at)));
                let doubt = match sent_to_probe_queue {
                    Some(sent) if sent + LATE >= at => String::new(),
                    Some(sent) => format!(", but SQS counted the last {}", ago(sent)),
                    None => ", but SQS counted none".to_owned(),
                };
                format!("heartbeat {}{doubt}", ago(at))
            }
        }),
        alarms: alarms(survey),
        traffic,
        unknown: unknown(survey),
        has_all_clusters: survey.records().present().is_some(),
        unread: unread.cloned().collect(),
    };
    Ok((report, Intent { clusters: listed, plan: Plan::default(), ..intent }))
}

fn time(seconds: u64) -> String {
    Moment(seconds).into()
}

/// Seconds as a human-readable age.
pub fn minutes(seconds: u64) -> String {
    match seconds / 60 {
        minutes @ 0..120 => format!("{minutes} min"),
        minutes => format!("{} h", minutes / 60),
    }
}

/// Whether metrics or the log could not be read, which leaves the state of the hub known.
fn is_of_telemetry(fault: &Fault) -> bool {
    ["cloudwatch:", "logs:"].iter().any(|service| fault.action.starts_with(service))
}

fn router(survey: &Survey) -> Option<RouterReport> {
    let alias = router::live_alias(&survey.scope, &survey.observed)?;
    let live = survey.live_version();
    Some(RouterReport {
        version: alias.settings.code.version.clone(),
        published: alias.version.or(live.and_then(|version| version.version)),
        rolled_back_from: router::rolled_back(survey).and_then(Alias::later),
    })
}

fn alarms(survey: &Survey) -> AlarmReport {
    let states = survey.status.iter().filter_map(|(id, status)| match status {
        Status::Alarm(state) if state.fires => Some(FiringAlarm { since: state.since.map(time), name: id.name() }),
        _ => None,
    });
    let mut firing: Vec<FiringAlarm> = states.collect();
    firing.sort();
    let is_alarm = |id: &ResourceId| matches!(id, ResourceId::Alarm(_));
    AlarmReport {
        count: survey.observed.resources().filter(|resource| is_alarm(&resource.id())).count(),
        unknown: survey.observed.faults().filter(|(id, _)| is_alarm(id)).count(),
        firing,
    }
}

fn traffic(survey: &Survey, target: &Target, cluster: &ClusterSummary) -> ClusterTraffic {
    let depth = survey.depth(&cluster.queue);
    let activity = survey.activity(&cluster.queue).present();
    let last_read = activity.and_then(|seen| seen.last_receive);
    let read = activity.and_then(|seen| seen.receives_of_last_hour).map(|receives| receives > 0);
    let none = LastEvents::default();
    let events = survey.last_events().present().unwrap_or(&none);
    let shown = if target.clusters.contains_key(&cluster.name) { EVENTS } else { 1 };
    let of_cluster: Vec<LoggedEvent> =
        events.clusters.get(&cluster.name).into_iter().flatten().take(shown).cloned().collect();
    ClusterTraffic {
        cluster: cluster.name.clone(),
        queue: cluster.queue.clone(),
        waiting: depth.map(|depth| depth.waiting),
        in_flight: depth.map(|depth| depth.in_flight),
        read,
        last_read: last_read.map(time),
        sent: activity.map(|seen| seen.sent),
        events_unknown: of_cluster.is_empty() && !events.complete,
        last_events: of_cluster,
        unread_for: last_read.map(|at| survey.now.saturating_sub(at)),
    }
}

fn queues_are(count: usize) -> String {
    if count == 1 { "a queue is".to_owned() } else { format!("{count} queues are") }
}

/// Why something is unknown; each cause appears once.
fn unknown(survey: &Survey) -> Vec<String> {
    let known = &survey.known;
    let resources = survey.observed.faults().map(|(id, fault)| (Subject::from(id.clone()).to_string(), fault));
    let activity: BTreeMap<&QueueName, &Fault> =
        known.activity.iter().filter_map(|(queue, fact)| Some((queue, fact.fault()?))).collect();
    let activity = activity.into_iter().map(|(queue, fault)| (format!("metrics of queue `{queue}`"), fault));
    let lists = [
        ("the clusters", known.records.fault()),
        ("the metrics of the hub", known.hub_activity.fault()),
        ("the last events", known.last_events.fault()),
    ];
    let lists = lists.into_iter().filter_map(|(what, fault)| Some((what.to_owned(), fault?)));
    let why = |fault: &Fault| explained(&survey.scope, [(String::new(), fault)]).0.join("; ");
    let line = |(fault, whats): (&Fault, Vec<String>)| format!("{}: {}", first_of(whats, NAMED), why(fault));
    let mut lines: Vec<String> = by_cause(resources.chain(lists).chain(activity)).into_iter().map(line).collect();
    let silent = known.activity.values().filter(|fact| **fact == Fact::Absent).count();
    lines.extend((silent > 0).then(|| format!("whether {} read: CloudWatch has no metrics", queues_are(silent))));
    let log_is_long = known.last_events.present().is_some_and(|events| !events.complete);
    lines.extend(
        log_is_long
            .then(|| "the last events of some clusters: the newest page of the log has none for them".to_owned()),
    );
    lines
}
