//! The output of an invocation: a JSON line for each loss, retry and delivery, one line of metrics in CloudWatch's embedded
//! metric format, and one more for each cluster with a delivery. No line contains text from a message, and the number and
//! size of lines are limited.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::{Map, Value, json};

use super::batch::{Item, Message, Notified, Origin, RoutedBatch};
use super::decision::Decision;
use super::owner::Placement;
use crate::model::{
    BusName, ClusterMetrics, ClusterName, InstanceId, RouterDecision, RouterHandler, RouterLine, Scope, Signal,
    router_line::DELIVERED,
};
use crate::wire::sns::Notice;

/// The maximum number of instances in a line.
const NAMED: usize = 10;
/// The maximum number of lines about losses, retries and deliveries per invocation.
const LINES: usize = 200;
const NAMESPACE: &str = "Kibus";
/// The maximum number of values per metric (CloudWatch embedded metric format specification).
const VALUES: usize = 100;

/// The calls of one invocation, including retries and further pages, and the outcome of calls to the hub queue.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    pub(super) describe_tags: Count,
    pub(super) send: Count,
    pub(super) list_queue_tags: Count,
    /// Messages that the router received itself.
    pub(super) received: Count,
    /// Messages that the router could not delete, so they will be routed again.
    pub(super) not_deleted: Count,
}

#[derive(Debug, Default)]
pub(super) struct Count(AtomicU32);

impl Count {
    pub(super) fn add(&self, more: usize) {
        self.0.fetch_add(size(more), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

fn size(messages: usize) -> u32 {
    u32::try_from(messages).unwrap_or(u32::MAX)
}

/// The lines of an invocation that ended at `now`, in milliseconds of the Unix epoch: losses, retries and deliveries, then
/// metrics.
pub(super) fn lines(
    handler: &RouterHandler,
    request: &str,
    messages: &[Message],
    routed: &RoutedBatch,
    calls: &CallCounts,
    notified: &Notified,
    now: i64,
) -> Vec<String> {
    let decisions = decisions(request, messages, routed).into_iter();
    // All keys in a line are text, so serialization cannot fail.
    let decisions = decisions.filter_map(|line| serde_json::to_string(&line).ok());
    let copies = copies(routed);
    let counts = counts(messages, routed, &copies, calls, notified);
    let others = contradictions(request, &routed.contradictions).into_iter().chain(not_notified(request, notified));
    let others = others.chain([metrics(&handler.bus, request, &counts, &copies, now)]);
    let others = others.chain(metrics_of_clusters(handler, request, routed, now));
    decisions.chain(others.map(|line| line.to_string())).collect()
}

/// The lines about decisions: losses and retries first, because at most [`LINES`] are written.
fn decisions<'a>(request: &'a str, messages: &'a [Message], routed: &'a RoutedBatch) -> Vec<RouterLine<'a>> {
    type Group<'a> = (bool, usize, Option<&'static str>, Option<&'a Placement>);
    let mut groups: BTreeMap<Group<'_>, Vec<&Item>> = BTreeMap::new();
    let is_logged = |item: &&Item| match item.decision {
        Decision::Dropped(why) => why.loses(),
        Decision::Retried(_) => true,
        Decision::Delivered => !routed.is_heartbeat(item.message),
    };
    for item in routed.items.iter().filter(is_logged) {
        let is_delivered = item.decision == Decision::Delivered;
        let (_, why) = item.decision.words();
        let group = (is_delivered, item.message, why, item.placement.as_deref());
        groups.entry(group).or_default().push(item);
    }
    let line = |((is_delivered, number, _, placement), items): (Group<'a>, Vec<&'a Item>)| {
        let (message, first) = (&messages[number], items.first()?);
        let (what, reason) = first.decision.words();
        let facts = routed.events.get(number).copied().unwrap_or_default();
        let instances = items.iter().filter_map(|item| item.instance.as_ref());
        Some(RouterLine {
            level: if is_delivered { "info" } else { "warn" }.into(),
            message: what.into(),
            reason: reason.map(Into::into),
            signal: first.signal.map(Signal::slug).map(Into::into),
            urgency: first.signal.map(Signal::urgency).map(Into::into),
            state: facts.state.map(Into::into),
            cluster: placement.map_or("", |placement| placement.cluster.as_str()).into(),
            nodepool: placement.map_or("", |placement| &placement.node_pool).into(),
            instance_type: placement.and_then(|placement| placement.instance_type.as_deref().map(Into::into)),
            instances: instances.take(NAMED).map(|id| id.as_str().into()).collect(),
            items: items.len(),
            time: facts.time.and_then(rfc_3339).map(Into::into),
            delay: first.delay,
            receives: message.receives,
            message_id: message.id.as_str().into(),
            request: request.into(),
        })
    };
    groups.into_iter().take(LINES).filter_map(line).collect()
}

fn rfc_3339(millis: i64) -> Option<String> {
    DateTime::from_millis(millis).fmt(Format::DateTime).ok()
}

/// A notice for each line about a delivery to a cluster. A probe interrupts nothing. The text has the shape that AWS's chat
/// integration requires for custom messages (Amazon Q Developer in chat applications, "Custom notifications").
pub(super) fn notices(scope: &Scope, messages: &[Message], routed: &RoutedBatch) -> Vec<Notice> {
    let lines = decisions("", messages, routed).into_iter();
    let lines = lines.filter(|line| line.message == DELIVERED && !line.instances.is_empty());
    let notice = |line: RouterLine<'_>| {
        let text = |value: &str| value.to_owned();
        let given = |value: &Option<Cow<'_, str>>| text(value.as_deref().unwrap_or_default());
        let filters = [
            ("cluster", text(&line.cluster)),
            ("nodepool", text(&line.nodepool)),
            ("signal", given(&line.signal)),
            ("urgency", given(&line.urgency)),
        ];
        let facts = [
            ("bus", scope.bus.to_string()),
            ("account", scope.account.to_string()),
            ("region", scope.region.to_string()),
            ("state", given(&line.state)),
            ("type", given(&line.instance_type)),
            ("items", line.items.to_string()),
            ("time", given(&line.time)),
            ("delay", line.delay.map_or_else(String::new, |delay| delay.to_string())),
        ];
        let facts = filters.iter().chain(&facts).filter(|(_, value)| !value.is_empty());
        let facts: BTreeMap<&str, &String> = facts.map(|(name, value)| (*name, value)).collect();
        let (what, cluster) = (&filters[2].1, &line.cluster);
        let instances = &line.instances;
        let message = json!({
            "version": "1.0",
            "source": "custom",
            "content": {
                "title": format!("{what}: {cluster}"),
                "description": format!("{} of cluster {cluster}: {what}", instances.join(", ")),
            },
            "metadata": { "eventType": what, "relatedResources": instances, "additionalContext": facts },
        });
        Notice { message: message.to_string(), attributes: filters.into() }
    };
    lines.map(notice).collect()
}

/// The delivered copies except heartbeats, each as one of its items.
type Copies<'a> = BTreeMap<usize, &'a Item>;

fn copies(routed: &RoutedBatch) -> Copies<'_> {
    let items = routed.items.iter().filter(|item| !routed.is_heartbeat(item.message));
    items.filter_map(|item| Some((item.copy?, item))).collect()
}

/// One line if the topic did not accept all notices.
fn not_notified(request: &str, notified: &Notified) -> Option<Value> {
    notified.why.as_ref().map(|why| {
        json!({
            "level": "warn",
            "message": "not notified",
            "reason": why,
            "items": notified.not_taken,
            "request": request,
        })
    })
}

/// One line for the instances with tags that contradict AWS's own tag. Their events go to the cluster in AWS's tag.
fn contradictions(request: &str, instances: &BTreeSet<InstanceId>) -> Option<Value> {
    (!instances.is_empty()).then(|| {
        json!({
            "level": "warn",
            "message": "contradicting tags",
            "instances": instances.iter().take(NAMED).collect::<Vec<_>>(),
            "items": instances.len(),
            "request": request,
        })
    })
}

/// The outcome of each message that did not come from a queue, by its id: the distinct decisions about its items. Only
/// operators pass such messages; Lambda passes messages from the hub queue, and ignores this member.
pub(super) fn answered<'a>(messages: &'a [Message], items: &[Item]) -> BTreeMap<&'a str, BTreeSet<RouterDecision>> {
    let mut all: BTreeMap<&str, BTreeSet<RouterDecision>> = BTreeMap::new();
    for item in items {
        let message = &messages[item.message];
        if message.origin == Origin::Invocation {
            let (decision, reason) = item.decision.words();
            all.entry(&message.id).or_default().insert(RouterDecision {
                decision: decision.to_owned(),
                reason: reason.map(str::to_owned),
                cluster: item.cluster().map(ClusterName::to_string),
            });
        }
    }
    all
}

/// Each metric with its count. Metrics of storms, heartbeats and notices are omitted if they are zero. Heartbeats have
/// their own metric, so an invocation with nothing else has no event metrics, which would be billed.
fn counts(
    messages: &[Message],
    routed: &RoutedBatch,
    copies: &Copies<'_>,
    calls: &CallCounts,
    notified: &Notified,
) -> BTreeMap<&'static str, u32> {
    let beats = routed.events.iter().filter(|event| event.is_heartbeat).count();
    let delivered = |item: &&Item| item.decision == Decision::Delivered;
    let heard = routed.items.iter().filter(delivered).filter(|item| routed.is_heartbeat(item.message)).count();
    if heard > 0 && heard == messages.len() {
        return BTreeMap::from([("Heartbeat", size(heard))]);
    }
    let dropped = |item: &&Item| matches!(item.decision, Decision::Dropped(_));
    let mut counts = BTreeMap::from([
        ("Received", size(messages.len() - beats)),
        ("Delivered", size(copies.len())),
        ("Dropped", size(routed.items.iter().filter(dropped).count())),
        ("Retried", size(routed.retried().len())),
        ("Repaired", size(routed.repairs)),
        ("ContradictingTags", size(routed.contradictions.len())),
        ("DescribeTagsCalls", calls.describe_tags.get()),
        ("SendCalls", calls.send.get()),
        ("ListQueueTagsCalls", calls.list_queue_tags.get()),
    ]);
    let at_times = [
        ("ReceivedByRouter", calls.received.get()),
        ("NotDeleted", calls.not_deleted.get()),
        ("Heartbeat", size(heard)),
        ("Notified", size(notified.taken)),
        ("NotNotified", size(notified.not_taken)),
    ];
    counts.extend(at_times.into_iter().filter(|(_, count)| *count > 0));
    for item in &routed.items {
        let reason = match item.decision {
            Decision::Delivered => continue,
            Decision::Dropped(why) => why.metric(),
            Decision::Retried(why) => why.metric(),
        };
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

fn metrics(bus: &BusName, request: &str, counts: &BTreeMap<&'static str, u32>, copies: &Copies<'_>, now: i64) -> Value {
    let mut names: Vec<Value> = counts.keys().map(|name| json!({"Name": name, "Unit": "Count"})).collect();
    let values = counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count)));
    let mut line: Map<String, Value> = values.collect();
    let delays = delays(copies);
    if !delays.is_empty() {
        names.push(json!({"Name": "Delay", "Unit": "Milliseconds"}));
        line.insert("Delay".to_owned(), json!(delays));
    }
    line.insert("bus".to_owned(), json!(bus));
    line.insert("request".to_owned(), json!(request));
    line.insert("_aws".to_owned(), directive(&[&["bus"]], &names, now));
    Value::Object(line)
}

/// The delays, longest first. If there are more than a metric can have, this picks some at equal steps, so the maximum
/// stays and the median hardly changes.
fn delays(copies: &Copies<'_>) -> Vec<i64> {
    let mut delays: Vec<i64> = copies.values().filter_map(|item| item.delay).collect();
    delays.sort_unstable_by(|a, b| b.cmp(a));
    let all = delays.len();
    let kept = all.min(VALUES);
    (0..kept).map(|n| delays[n * all / kept]).collect()
}

/// A line for each cluster with a delivery, or for each of its node pools, because a line can have only one value per
/// dimension. A copy about instances of two node pools counts for both.
fn metrics_of_clusters(
    handler: &RouterHandler,
    request: &str,
    routed: &RoutedBatch,
    now: i64,
) -> impl Iterator<Item = Value> {
    let of_pools = handler.metrics == ClusterMetrics::NodePool;
    let items = routed.items.iter().filter(|_| handler.metrics != ClusterMetrics::None);
    let copies: BTreeSet<(&ClusterName, &str, usize)> = items
        .filter_map(|item| {
            let (copy, placement) = (item.copy?, item.placement.as_ref()?);
            let pool = if of_pools { placement.node_pool.as_str() } else { "" };
            Some((&placement.cluster, pool, copy))
        })
        .collect();
    let mut delivered: BTreeMap<(&ClusterName, &str), u32> = BTreeMap::new();
    for (cluster, pool, _) in copies {
        *delivered.entry((cluster, pool)).or_default() += 1;
    }
    let names = [json!({"Name": "Delivered", "Unit": "Count"})];
    delivered.into_iter().map(move |((cluster, pool), copies)| {
        let dimensions: &[&[&str]] = match pool {
            "" => &[&["bus", "cluster"]],
            _ => &[&["bus", "cluster"], &["bus", "cluster", "nodepool"]],
        };
        let mut line = json!({
            "_aws": directive(dimensions, &names, now),
            "bus": handler.bus,
            "cluster": cluster,
            "Delivered": copies,
            "request": request,
        });
        if !pool.is_empty() {
            line["nodepool"] = json!(pool);
        }
        line
    })
}

/// The member that makes CloudWatch read metrics from the line.
fn directive(dimensions: &[&[&str]], metrics: &[Value], now: i64) -> Value {
    json!({
        "Timestamp": now,
        "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics}],
    })
}

#[cfg(test)]
mod tests;
