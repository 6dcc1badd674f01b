//! The queues that receive Karpenter's events from the rules of others: the cluster, the tool that created the rules, the reader,
//! and which rules the hub replaces.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::origin::{Attribution, Origin, OwnedRule, attribution, way};
use crate::error::{Hint, listed};
use crate::model::{
    ClusterName, EventRule, Fact, ListedTarget, QueueActivity, QueueName, ResourceId, RuleName, RulePattern, Scope,
    Tags,
};
use crate::survey::Survey;

/// A Karpenter polls without pause. Whoever did for less than two hours of a day, in periods of five minutes, may be a person, or a
/// Karpenter that ran briefly.
const POLLED: u64 = 24;

/// A queue that receives Karpenter's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveredQueueObject"))]
pub struct FoundQueue {
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: QueueName,
    /// Its cluster. Null if neither a tag nor a usual name tells.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub cluster: Option<ClusterName>,
    /// Whether this cluster is registered on the bus.
    pub registered: bool,
    pub made_by: Origin,
    pub reader: Readership,
    /// What may be wrong with the reader of the queue. Null if nothing is.
    pub warning: Option<String>,
    /// The number of messages that were sent to it in the last day. Null if it is unknown.
    pub messages_sent: Option<u64>,
    pub rules: Vec<FoundRule>,
    /// How to remove the rules that are replaced, for each tool that created some. Rules that queues share are among those
    /// of the first.
    #[cfg_attr(test, schemars(with = "Vec<Hint>"))]
    pub removals: Vec<Removal>,
}

/// A rule that matches Karpenter's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveredRuleObject"))]
pub struct FoundRule {
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: RuleName,
    /// Karpenter's events that it matches, each by the name of the rule of kibus.
    pub events: Vec<&'static str>,
    pub enabled: bool,
    pub verdict: Verdict,
    /// Why it stays. Null if the hub replaces it.
    pub reason: Option<String>,
}

/// What to do with a rule once its cluster is on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "VerdictWord"))]
pub enum Verdict {
    /// The hub receives the same events.
    Replace,
    /// It has another use, or may have one.
    Keep,
}

/// What is known of the reader of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ReaderWord"))]
pub enum Readership {
    /// Something reads it.
    Reads,
    /// Something received in the last day, but deleted nothing and did not poll for hours, as a running Karpenter does.
    // A look of a person or a probe is a receive too (S30).
    Seldom,
    /// Nothing has read it in the last day.
    Nothing,
    /// The queue does not exist.
    NoQueue,
    /// There is no evidence.
    Unknown,
}

/// The rules that one tool created for the same queues, and how to remove them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Removal {
    pub way: Hint,
    #[serde(skip)]
    pub queues: BTreeSet<QueueName>,
    // How many rules.
    #[serde(skip)]
    pub rules: usize,
}

impl FoundQueue {
    pub fn is_replaced(&self) -> bool {
        self.rules.iter().any(|rule| rule.verdict == Verdict::Replace)
    }
}

impl FoundRule {
    /// A rule that stays for a reason, or is replaced.
    pub(super) fn new(rule: &EventRule, pattern: &RulePattern, reason: Option<String>) -> Self {
        Self {
            name: rule.name.clone(),
            events: pattern.signals.iter().map(|signal| signal.slug()).collect(),
            enabled: rule.enabled,
            verdict: match reason {
                None => Verdict::Replace,
                Some(_) => Verdict::Keep,
            },
            reason,
        }
    }
}

/// The rules of others that match events of Karpenter, or of the node termination handler.
pub(super) fn concerning(survey: &Survey) -> impl Iterator<Item = (&EventRule, RulePattern)> {
    let all = survey.event_rules().present().into_iter().flatten();
    all.filter_map(|rule| {
        let pattern = RulePattern::from_document(rule.pattern.as_ref()?);
        pattern.may_concern_karpenter().then_some((rule, pattern))
    })
}

/// A rule that sends to a queue.
pub(super) struct Sender<'a> {
    pub(super) rule: &'a EventRule,
    pub(super) pattern: RulePattern,
    /// The id of the target that is the queue.
    target: &'a str,
    /// Its other targets.
    others: Vec<&'a ListedTarget>,
    pub(super) attribution: Attribution,
}

/// A queue of this account and Region, by the rules of others that send to it, in the order of their names.
pub(super) struct Receiver<'a> {
    pub(super) senders: Vec<Sender<'a>>,
    origin: Origin,
    is_for_karpenter: bool,
}

/// The queues that rules of others send Karpenter's events to.
pub(super) fn receivers(survey: &Survey) -> BTreeMap<QueueName, Receiver<'_>> {
    let mut queues: BTreeMap<QueueName, Vec<Sender<'_>>> = BTreeMap::new();
    for (rule, pattern) in concerning(survey).filter(|(rule, _)| !is_of_kibus(survey, rule)) {
        let targets = targets(survey, rule);
        for target in targets {
            let Some(queue) = queue(&survey.scope, &target.arn) else {
                continue;
            };
            let sender = Sender {
                rule,
                pattern: pattern.clone(),
                target: &target.id,
                others: targets.iter().filter(|other| other.id != target.id).collect(),
                attribution: attributed(survey, &queue, rule, &target.id),
            };
            queues.entry(queue).or_default().push(sender);
        }
    }
    // A queue that only receives events of EC2 Auto Scaling is none of Karpenter's.
    queues.retain(|_, senders| senders.iter().any(|sender| !sender.pattern.signals.is_empty()));
    let receivers = queues.into_iter();
    receivers.map(|(name, senders)| (name.clone(), Receiver::new(&name, senders))).collect()
}

impl<'a> Receiver<'a> {
    fn new(name: &QueueName, mut senders: Vec<Sender<'a>>) -> Self {
        senders.sort_by(|a, b| a.rule.name.cmp(&b.rule.name));
        let text = name.as_str().to_lowercase();
        // The queue of the node termination handler has a usual name, or also receives events of EC2 Auto Scaling.
        let is_of_handler = text.ends_with("-nth")
            || text.contains("termination-handler")
            || senders.iter().any(|sender| sender.pattern.of_auto_scaling);
        let origin = if is_of_handler { Origin::NodeTerminationHandler } else { most(&senders) };
        let is_for_karpenter = origin.is_for_karpenter() || names_karpenter(name, &senders);
        Self { senders, origin, is_for_karpenter: is_for_karpenter && origin != Origin::NodeTerminationHandler }
    }
}

pub(super) fn targets<'a>(survey: &'a Survey, rule: &EventRule) -> &'a [ListedTarget] {
    let read = survey.rule_targets(&rule.name).present();
    read.map(Vec::as_slice).unwrap_or_default()
}

/// Whether a rule is of a bus of kibus. Anyone may give a target the id of kibus's.
pub(super) fn is_of_kibus(survey: &Survey, rule: &EventRule) -> bool {
    let targets = targets(survey, rule).iter().map(|target| target.arn.as_str());
    survey.scope.is_rule_of_kibus(&rule.name, targets)
}

/// The queue of an ARN, if it is in this account and Region and not FIFO.
pub(super) fn queue(scope: &Scope, arn: &str) -> Option<QueueName> {
    let queue: QueueName = arn.rsplit(':').next()?.parse().ok()?;
    (scope.queue_arn(&queue) == arn).then_some(queue)
}

/// What the name of a rule, its target and tags say.
fn attributed(survey: &Survey, queue: &QueueName, rule: &EventRule, target: &str) -> Attribution {
    let none = Tags::default();
    let of_rule = survey.known.rule_tags.get(&rule.name).and_then(Fact::present);
    let of_queue = survey.observed.queue(queue.clone()).map(|queue| &queue.tags);
    attribution(&rule.name, target, queue, &[of_rule.unwrap_or(&none), of_queue.unwrap_or(&none)])
}

/// The tool that created most rules. A tool that is known comes before one that is not.
fn most(senders: &[Sender<'_>]) -> Origin {
    let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
    for sender in senders {
        *counts.entry(sender.attribution.origin).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(origin, count)| (*origin != Origin::Unknown, *count));
    most.map_or(Origin::Unknown, |(origin, _)| origin)
}

/// Whether some name says that a queue is for Karpenter.
fn names_karpenter(queue: &QueueName, senders: &[Sender<'_>]) -> bool {
    let names = senders.iter().flat_map(|sender| [sender.rule.name.as_str(), sender.target]);
    let mut names = names.chain([queue.as_str()]);
    names.any(|name| name.to_lowercase().contains("karpenter"))
}

/// Rules that are replaced, by the tool that created them and the queues that they send to, with the stacks that are known.
type OwnedRules<'a> = BTreeMap<(Origin, BTreeSet<QueueName>), (BTreeSet<String>, Vec<OwnedRule<'a>>)>;

pub(super) fn found(survey: &Survey, receivers: &BTreeMap<QueueName, Receiver<'_>>) -> Vec<FoundQueue> {
    let each = receivers.iter().map(|(name, receiver)| one(survey, name, receiver, receivers));
    let mut queues: Vec<FoundQueue> = each.collect();
    queues.sort_by(|a, b| (a.cluster.is_none(), &a.cluster, &a.name).cmp(&(b.cluster.is_none(), &b.cluster, &b.name)));
    queues
}

fn one(
    survey: &Survey,
    name: &QueueName,
    receiver: &Receiver<'_>,
    receivers: &BTreeMap<QueueName, Receiver<'_>>,
) -> FoundQueue {
    let mut recorded = survey.recorded().into_iter();
    let saved = recorded.find_map(|(cluster, record)| (record.queue == *name).then_some(cluster));
    let is_of_bus = saved.is_some();
    let mut by_tool = receiver.senders.iter().map(|sender| &sender.attribution.cluster);
    let cluster = saved.or_else(|| by_tool.find_map(Clone::clone));
    let cluster = cluster.filter(|_| receiver.is_for_karpenter);
    let is_registered = |cluster| survey.record(cluster).is_some();
    let registered = cluster.as_ref().is_some_and(is_registered);
    let (mut rules, mut owned) = (Vec::new(), OwnedRules::new());
    for sender in &receiver.senders {
        // The hub replaces a rule for all queues of Karpenter that it sends to.
        let (mut queues, mut others) = (BTreeSet::from([name.clone()]), Vec::new());
        for target in &sender.others {
            let is_for_karpenter = |name: &QueueName| receivers.get(name).is_some_and(|of| of.is_for_karpenter);
            match queue(&survey.scope, &target.arn).filter(is_for_karpenter) {
                Some(queue) => drop(queues.insert(queue)),
                None => others.push(target.arn.as_str()),
            }
        }
        let rule = FoundRule::new(sender.rule, &sender.pattern, why_kept(sender, &others, receiver));
        // Rules that queues share are removed once, after all of their clusters moved.
        if rule.verdict == Verdict::Replace && queues.first() == Some(name) {
            let Attribution { origin, stack, .. } = &sender.attribution;
            let (stacks, rules) = owned.entry((*origin, queues)).or_default();
            stacks.extend(stack.clone());
            let targets = std::iter::once(sender.target).chain(sender.others.iter().map(|other| other.id.as_str()));
            rules.push((&sender.rule.name, targets.collect()));
        }
        rules.push(rule);
    }
    let removals = owned.into_iter().map(|((origin, queues), (stacks, rules))| Removal {
        queues,
        rules: rules.len(),
        way: way(origin, &stacks, &rules, &survey.scope, name),
    });
    let activity = survey.known.activity.get(name).and_then(Fact::present);
    let (reader, count) = match survey.observed.get(&ResourceId::Queue(name.clone())) {
        Fact::Absent => (Readership::NoQueue, 0),
        _ => activity.map_or((Readership::Unknown, 0), weigh),
    };
    FoundQueue {
        removals: removals.collect(),
        warning: warning(name, reader, count, cluster.is_some(), registered && !is_of_bus),
        messages_sent: activity.map(|activity| activity.sent),
        reader,
        registered,
        cluster,
        made_by: receiver.origin,
        rules,
        name: name.clone(),
    }
}

/// Why a rule stays once its cluster is on the bus, if it does. `others` are the ARNs of its other targets.
fn why_kept(Sender { rule, pattern, .. }: &Sender<'_>, others: &[&str], receiver: &Receiver<'_>) -> Option<String> {
    Some(if let Some(service) = &rule.managed_by {
        format!("`{service}` manages it")
    } else if receiver.origin == Origin::NodeTerminationHandler {
        "the node termination handler reads its queue".to_owned()
    } else if !others.is_empty() {
        format!("it has other targets: {}", listed(others))
    } else if !pattern.filters.is_empty() {
        format!("its pattern has further filters: {}", listed(&pattern.filters))
    } else if pattern.is_broad {
        "its pattern also matches events that Karpenter does not know".to_owned()
    } else if !receiver.is_for_karpenter {
        "nothing shows that a Karpenter reads its queue".to_owned()
    } else {
        return None;
    })
}

/// What the activity of the last day says of the reader, and how often the queue was received from if that is seldom.
fn weigh(activity: &QueueActivity) -> (Readership, u64) {
    match activity.receives {
        // Karpenter deletes each message that it receives.
        _ if activity.deleted > 0 || activity.polled >= POLLED => (Readership::Reads, 0),
        0 => (Readership::Nothing, 0),
        receives => (Readership::Seldom, receives),
    }
}

/// What a person should know about the reader of a queue, if something may be wrong. `is_old` is a queue whose cluster has another
/// one on the bus.
fn warning(queue: &QueueName, reader: Readership, count: u64, has_cluster: bool, is_old: bool) -> Option<String> {
    Some(match reader {
        Readership::Reads | Readership::Unknown => return None,
        Readership::Nothing if is_old => {
            format!("nothing has read `{queue}` in the last day: when its rules are removed, it can be deleted")
        }
        Readership::Nothing if has_cluster => format!(
            "nothing has read `{queue}` in the last day: its Karpenter receives no Spot warnings. Check that its Helm values \
             have `settings.interruptionQueue: {queue}`, which Karpenter from v0.33 reads"
        ),
        Readership::Nothing => format!("nothing has read `{queue}` in the last day"),
        Readership::Seldom => format!(
            "`{queue}` was received from {count} times in the last day, but no message was deleted and nothing polled it for \
             hours, as a running Karpenter does"
        ),
        Readership::NoQueue => format!("queue `{queue}` does not exist: the events of its rules are lost"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Document;

    #[test]
    fn s30_the_last_day_tells_who_reads_a_queue() {
        for (case, receives, deleted, polled, expected) in [
            ("a Karpenter on a quiet day", 4_320, 0, 288, (Readership::Reads, 0)),
            ("a Karpenter", 4_800, 900, 288, (Readership::Reads, 0)),
            ("a Karpenter that has just started", 65, 5, 4, (Readership::Reads, 0)),
            ("nothing", 0, 0, 0, (Readership::Nothing, 0)),
            ("a person looked once", 11, 0, 0, (Readership::Seldom, 11)),
            ("a person polled for an hour", 180, 0, 12, (Readership::Seldom, 180)),
        ] {
            let activity = QueueActivity { receives, deleted, polled, ..QueueActivity::default() };
            assert_eq!(weigh(&activity), expected, "{case}");
        }
    }

    #[test]
    fn a_rule_with_another_use_stays() {
        let plain = json!({"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]});
        let with = |member: &str, value: Value| {
            let mut pattern = plain.clone();
            pattern[member] = value;
            pattern
        };
        let queue = || vec!["arn:aws:sns:us-west-2:111122223333:audit"];
        let tool = Origin::TerraformAwsEks;
        for (case, pattern, managed_by, others, origin, is_for_karpenter, expected) in [
            ("a rule of a tool", plain.clone(), None, vec![], tool, true, None),
            (
                "a managed rule",
                plain.clone(),
                Some("autoscaling.amazonaws.com"),
                vec![],
                tool,
                true,
                Some("`autoscaling.amazonaws.com` manages it"),
            ),
            (
                "another target",
                plain.clone(),
                None,
                queue(),
                tool,
                true,
                Some("it has other targets: `arn:aws:sns:us-west-2:111122223333:audit`"),
            ),
            (
                "another reader",
                plain.clone(),
                None,
                vec![],
                Origin::NodeTerminationHandler,
                true,
                Some("the node termination handler reads its queue"),
            ),
            (
                "a filter",
                with("detail", json!({"instance-id": ["i-1"]})),
                None,
                vec![],
                tool,
                true,
                Some("its pattern has further filters: `detail`"),
            ),
            (
                "more events",
                with("detail-type", json!([{"prefix": "EC2 "}])),
                None,
                vec![],
                tool,
                true,
                Some("its pattern also matches events that Karpenter does not know"),
            ),
            (
                "an unknown queue",
                plain.clone(),
                None,
                vec![],
                Origin::Unknown,
                false,
                Some("nothing shows that a Karpenter reads its queue"),
            ),
            ("an unknown tool", plain.clone(), None, vec![], Origin::Unknown, true, None),
        ] {
            let rule = EventRule {
                name: "r".parse().unwrap(),
                pattern: Some(Document::new(pattern.clone())),
                enabled: true,
                managed_by: managed_by.map(str::to_owned),
            };
            let sender = Sender {
                rule: &rule,
                pattern: RulePattern::from_document(&Document::new(pattern)),
                target: "1",
                others: Vec::new(),
                attribution: Attribution { origin, cluster: None, stack: None },
            };
            let receiver = Receiver { senders: Vec::new(), origin, is_for_karpenter };
            assert_eq!(why_kept(&sender, &others, &receiver).as_deref(), expected, "{case}");
        }
    }
}
