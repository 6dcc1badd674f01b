//! The outcome of events, from the router's log: reads the log, the newest part first, and counts for each cluster.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval};

use crate::model::{
    ClusterName, Fault, LogGroupName, NodePoolName, RouterLine, Signal, as_time,
    router_line::{DELIVERED, DROPPED, RETRIED},
    short_name, time_text,
};

/// The pause between two calls: CloudWatch Logs accepts five per second from an account, and other callers need some of them.
const PAUSE: Duration = Duration::from_millis(500);
/// The length of the first part of the log that is read, in milliseconds. Each earlier part is at most [`GROWTH`] times as long.
const FIRST_PART: i64 = 10 * 60 * 1000;
const GROWTH: i64 = 6;

/// What `events` needs: the router's log.
pub trait RouterLog: Send + Sync {
    /// A page of the lines that match a pattern, the oldest first, from one time to another, both included, in milliseconds of
    /// the Unix epoch. An empty page need not be the last one. A log group that does not exist has no lines.
    fn page(
        &self,
        group: &LogGroupName,
        pattern: &str,
        times: (i64, Option<i64>),
        token: Option<&str>,
    ) -> impl Future<Output = Result<LogPage, Fault>> + Send;
}

/// A page as CloudWatch Logs returns it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogPage {
    pub events: Vec<EventLine>,
    pub next_token: Option<String>,
}

/// Which lines are wanted.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Wanted {
    /// Names of EKS clusters, including removed ones, or instance ids [default: all].
    #[arg(value_name = "NAME")]
    pub names: Vec<ClusterName>,
    /// Show only events of this kind. Kibus's own probes are shown only with `probe`.
    #[arg(long, value_name = "SIGNAL", value_parser = signal(Some(Signal::Probe)))]
    pub signal: Option<Signal>,
    /// Show only events about instances in this Karpenter node pool.
    #[arg(long, value_name = "NAME")]
    pub node_pool: Option<NodePoolName>,
    /// Show only dropped events, including those of unknown clusters.
    #[arg(long)]
    pub dropped: bool,
    /// Maximum number of events to show; the newest ones are shown.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub limit: u32,
}

/// A signal about instances, or this one.
pub(crate) fn signal(other: Option<Signal>) -> impl TypedValueParser<Value = Signal> {
    let all = Signal::ALL.into_iter().filter(move |signal| signal.names_instances() || other == Some(*signal));
    let all = all.map(|signal| PossibleValue::new(short_name(signal.slug())).alias(signal.slug()));
    PossibleValuesParser::new(all).try_map(|text| {
        let is = |signal: &Signal| [short_name(signal.slug()), signal.slug()].contains(&text.as_str());
        Signal::ALL.into_iter().find(is).ok_or("expected a signal")
    })
}

/// Whether this is the id of an instance, and not the name of a cluster.
pub fn is_instance(name: &ClusterName) -> bool {
    let digits = name.as_str().strip_prefix("i-").unwrap_or_default();
    matches!(digits.len(), 8 | 17) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Wanted {
    /// Whether it selects only instances, so that everything that the router logs about them counts.
    pub fn is_story(&self) -> bool {
        !self.names.is_empty() && self.names.iter().all(is_instance)
    }

    /// The messages of lines with the outcome of an event.
    fn messages(&self) -> &'static [&'static str] {
        &[DROPPED, DELIVERED, RETRIED][..if self.dropped { 1 } else { 3 }]
    }

    /// Selects all requested lines, and possibly others: the pattern has at most 1024 characters (CloudWatch Logs API reference,
    /// `FilterLogEvents`).
    fn pattern(&self) -> String {
        let is = |member: &str, value: &str| format!("$.{member} = \"{value}\"");
        let mut parts =
            vec![self.messages().iter().map(|message| is("message", message)).collect::<Vec<_>>().join(" || ")];
        parts.extend(self.signal.map(|signal| is("signal", signal.slug())));
        parts.extend(self.node_pool.iter().map(|pool| is("nodepool", pool.as_str())));
        match self.names.as_slice() {
            // A term matches anywhere in a line.
            [id] if is_instance(id) => return format!("\"{id}\""),
            _ if self.is_story() => return "instances".to_owned(),
            [name] => parts.push(is("cluster", name.as_str())),
            _ => {}
        }
        format!("{{ ({}) }}", parts.join(") && ("))
    }

    fn has(&self, line: &RouterLine<'_>) -> bool {
        let is_named = |name: &ClusterName| {
            // The name of a cluster may look like an instance.
            line.cluster == name.as_str() || is_instance(name) && line.instances.iter().any(|id| id == name.as_str())
        };
        let is_signal = |signal: Signal| line.signal.as_deref() == Some(signal.slug());
        let is_own = [Signal::Probe, Signal::Heartbeat].into_iter().any(is_signal);
        (!is_own || self.signal.is_some())
            && ((self.is_story() && !self.dropped) || self.messages().contains(&line.message.as_ref()))
            && (self.names.is_empty() || self.names.iter().any(is_named))
            && self.signal.is_none_or(is_signal)
            && self.node_pool.as_ref().is_none_or(|pool| line.nodepool == pool.as_str())
    }
}

/// A requested line of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "LoggedEventObject"))]
pub struct EventLine {
    /// When the router wrote it, in UTC.
    // In milliseconds of the Unix epoch.
    #[serde(rename(deserialize = "timestamp"), serialize_with = "as_time")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub logged: i64,
    /// The log line, with all of its members.
    // There may be a million, so only the text is kept.
    #[serde(rename(deserialize = "message", serialize = "line"), serialize_with = "as_object")]
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
    pub text: String,
    /// True for a retry with a later line about the same event.
    #[serde(skip_deserializing)]
    pub settled: bool,
}

fn as_object<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    serde_json::from_str::<Value>(text).unwrap_or_default().serialize(to)
}

impl EventLine {
    pub fn line(&self) -> RouterLine<'_> {
        RouterLine::read(&self.text).unwrap_or_default()
    }
}

/// The outcome of the events of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "EventsObject"))]
pub struct EventReport {
    /// The start of the period, in UTC.
    pub since: String,
    /// Whether the period has earlier events that are not in the list.
    pub more: bool,
    /// The number of log lines that could not be read.
    pub unreadable: usize,
    pub clusters: Vec<ClusterEvents>,
    // The oldest first.
    #[serde(rename = "events")]
    pub lines: Vec<EventLine>,
}

/// The events of a cluster. Settled retries do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ClusterEventsObject"))]
pub struct ClusterEvents {
    /// Empty for events of unknown clusters.
    pub name: String,
    pub events: usize,
    pub spot_interruptions: usize,
    pub dropped: usize,
    /// The longest time from an event to its delivery, in milliseconds; null if the log has none.
    pub slowest_delivery: Option<i64>,
    /// The lines of the report that belong to it, the newest first.
    #[serde(skip)]
    pub lines: Vec<usize>,
}

/// Reads the requested lines since a time, the newest part of the log first. `now` is the time of the local clock,
/// which may differ from the log's clock, so the newest part has no end. `progress` receives the number of lines read,
/// and the time since which all were read.
pub async fn read(
    log: &impl RouterLog,
    group: &LogGroupName,
    wanted: &Wanted,
    (since, now): (i64, i64),
    progress: &dyn Fn(usize, i64),
) -> Result<EventReport, Fault> {
    let (pattern, limit) = (wanted.pattern(), wanted.limit as usize);
    let mut report = EventReport { since: time_text(since), ..EventReport::default() };
    let (mut parts, mut found, mut all): (Vec<VecDeque<EventLine>>, _, _) = (Vec::new(), 0, 0);
    let (mut begin, mut end, mut length) = (now.max(since + 1), None, FIRST_PART);
    let mut pause = interval(PAUSE);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while begin > since && found <= limit {
        let start = since.max(begin.saturating_sub(length));
        let (mut part, mut token) = (VecDeque::new(), None);
        loop {
            pause.tick().await;
            let page = log.page(group, &pattern, (start, end), token.as_deref()).await?;
            all += page.events.len();
            for event in page.events {
                match RouterLine::read(&event.text).map(|line| wanted.has(&line)) {
                    Some(true) => part.push_back(event),
                    // Metrics, and lines that Lambda writes, are not about events.
                    None if event.text.starts_with('{') && !event.text.contains("\"_aws\"") => report.unreadable += 1,
                    _ => {}
                }
            }
            // The newest lines are at the end. One line above the limit shows that there are more.
            let surplus = (found + part.len()).saturating_sub(limit + 1);
            part.drain(..surplus.min(part.len()));
            progress(all, begin);
            if page.next_token.is_none() || page.next_token == token {
                break;
            }
            token = page.next_token;
        }
        found += part.len();
        // The next part is as long as needed, plus a tenth, if lines are as dense as in this one.
        let missing = (limit + 1).saturating_sub(found) * 11;
        let ratio = missing.checked_div(part.len()).and_then(|ratio| i64::try_from(ratio).ok()).unwrap_or(i64::MAX);
        parts.push(part);
        (begin, end) = (start, Some(start - 1));
        length = (length.saturating_mul(ratio.min(GROWTH * 10)) / 10).max(FIRST_PART / 10);
    }
    report.more = found > limit;
    let lines = parts.into_iter().rev().flatten();
    report.lines = lines.skip(usize::from(report.more)).collect();
    report.count();
    Ok(report)
}

impl EventReport {
    /// Counts the lines of each cluster, and marks retries with a later line about the same message and one of its instances.
    fn count(&mut self) {
        let mut clusters: BTreeMap<String, ClusterEvents> = BTreeMap::new();
        // By message, the instances of each later line.
        let mut later: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        for (at, event) in self.lines.iter_mut().enumerate().rev() {
            let line = RouterLine::read(&event.text).unwrap_or_default();
            let ids: Vec<String> = line.instances.iter().map(|id| id.to_string()).collect();
            let is_same = |other: &Vec<String>| {
                [&ids, other].iter().any(|ids| ids.is_empty()) || ids.iter().any(|id| other.contains(id))
            };
            let later = later.entry(line.message_id.to_string());
            let settled =
                line.message == RETRIED && matches!(&later, Entry::Occupied(later) if later.get().iter().any(is_same));
            // Nothing precedes the first receive.
            if line.receives != Some(1) {
                later.or_default().push(ids);
            }
            if !settled {
                let cluster = clusters.entry(line.cluster.to_string()).or_default();
                let items = line.items.max(1);
                cluster.name = line.cluster.to_string();
                cluster.events = cluster.events.saturating_add(items);
                if line.signal.as_deref() == Some(Signal::SpotInterruption.slug()) {
                    cluster.spot_interruptions = cluster.spot_interruptions.saturating_add(items);
                }
                if line.message == DROPPED {
                    cluster.dropped = cluster.dropped.saturating_add(items);
                }
                // Clocks differ, so an event may appear to be in the future.
                cluster.slowest_delivery = cluster.slowest_delivery.max(line.delay.filter(|delay| *delay >= 0));
                cluster.lines.push(at);
            }
            event.settled = settled;
        }
        self.clusters = clusters.into_values().collect();
    }
}
