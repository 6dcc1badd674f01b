//! Other owners' rules that match Karpenter's events, and their target queues: which cluster a queue belongs to,
//! whether anything reads it, and which rules the hub replaces.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::listed;
use crate::iam::grants::other_senders;
use crate::model::{
    ClusterName, EventRule, Fact, ListedTarget, QueueActivity, QueueName, ResourceId, RuleName, RulePattern, Scope,
    Tags,
    tags::{BUS, CLUSTER},
    template_of, usual_roles,
};
use crate::survey::Survey;

/// Karpenter polls continuously. A reader that polled for less than two hours of a day, in periods of five minutes, may
/// be a person, or a Karpenter that ran briefly.
const POLLED: u64 = 24;
/// Part of some name of everything made for Karpenter.
const KARPENTER: &str = "karpenter";

/// A queue that receives Karpenter's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveredQueueObject"))]
pub struct FoundQueue {
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: QueueName,
    /// Its cluster, found by a record, a tag, EKS or a controller role. Null if none of them names one.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub cluster: Option<ClusterName>,
    /// Whether this cluster is registered on the bus.
    pub registered: bool,
    /// Whether a rule for Karpenter's events sends to it.
    pub has_rule: bool,
    pub reader: Readership,
    pub tags: BTreeMap<String, String>,
    // Whether there is evidence that only Karpenter reads it.
    #[serde(skip)]
    pub is_for_karpenter: bool,
}

/// A rule that matches Karpenter's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveredRuleObject"))]
pub struct FoundRule {
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: RuleName,
    /// The Karpenter events that it matches, each named by the suffix of kibus's rule.
    pub events: Vec<&'static str>,
    pub enabled: bool,
    /// Empty if they could not be read.
    pub targets: Vec<FoundTarget>,
    pub tags: BTreeMap<String, String>,
    pub verdict: Verdict,
    /// Why it stays. Null if the hub replaces it.
    pub reason: Option<String>,
    /// Why its pattern matches no event at all. Null if it matches some.
    pub matches_nothing: Option<String>,
    // The parts that clusters on the bus no longer need.
    #[serde(skip)]
    pub removal: Option<Removal>,
}

/// The parts of a rule that clusters on the bus no longer need: their targets, and the rule itself if there is no reason to keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    pub rule: RuleName,
    /// The ids of the targets.
    pub targets: Vec<String>,
    /// Why the rule stays.
    pub kept: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveredTargetObject"))]
pub struct FoundTarget {
    pub id: String,
    pub arn: String,
    /// The queue, if the target is a queue in this account and Region, and not FIFO.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub queue: Option<QueueName>,
}

/// What to do with a rule once its clusters are on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "VerdictWord"))]
pub enum Verdict {
    /// The hub receives the same events.
    Replace,
    /// The rule has another use, or may have one.
    Keep,
}

/// What is known about a queue's reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ReaderWord"))]
pub enum Readership {
    /// Something reads it.
    Reads,
    /// Something received messages in the last day, but deleted none and did not poll for hours, as a running Karpenter does.
    // A person's look or a probe is also a receive (S30).
    Seldom,
    /// Nothing has read it in the last day.
    Nothing,
    /// The queue does not exist.
    NoQueue,
    /// There is no evidence.
    Unknown,
}

/// Another owner's rule that matches events for Karpenter or from EC2 Auto Scaling, with its targets.
pub(super) struct Sender<'a> {
    rule: &'a EventRule,
    pattern: RulePattern,
    /// Empty if they could not be read.
    targets: Vec<FoundTarget>,
}

pub(super) type Queues = BTreeMap<QueueName, FoundQueue>;

/// Other owners' rules that match events for Karpenter or from EC2 Auto Scaling and have or may have targets, and the
/// number of kibus's rules.
pub(super) fn senders(survey: &Survey) -> (Vec<Sender<'_>>, usize) {
    let (mut senders, mut of_kibus) = (Vec::new(), 0);
    for rule in survey.event_rules().present().into_iter().flatten() {
        let hubs = survey.scope.hubs_of_rule(&rule.name);
        let concerns_karpenter = rule.matched(&survey.scope.account).may_concern_karpenter();
        if !concerns_karpenter && hubs.is_empty() {
            continue;
        }
        let sender = Sender::new(survey, rule);
        // Anyone can give a target the id that kibus uses.
        if sender.targets.iter().any(|target| hubs.contains(&target.arn)) {
            of_kibus += 1;
        } else if concerns_karpenter && *survey.rule_targets(&rule.name) != Fact::Present(Vec::new()) {
            senders.push(sender);
        }
    }
    (senders, of_kibus)
}

fn found_target(scope: &Scope, ListedTarget { id, arn }: &ListedTarget) -> FoundTarget {
    let name = arn.rsplit(':').next().and_then(|name| name.parse().ok());
    let queue = name.filter(|name| scope.queue_arn(name) == *arn);
    FoundTarget { id: id.clone(), arn: arn.clone(), queue }
}

/// The queues that receive Karpenter's events from these rules.
pub(super) fn queues(survey: &Survey, senders: &[Sender<'_>]) -> Queues {
    let recorded: BTreeMap<_, _> =
        survey.recorded().into_iter().map(|(cluster, record)| (&record.queue, cluster)).collect();
    let of_karpenter = senders.iter().filter(|sender| sender.pattern.is_of_karpenter());
    let of_rules: BTreeSet<&QueueName> = of_karpenter.flat_map(|sender| queues_of(&sender.targets)).collect();
    let names = of_rules.into_iter().chain(without_rule(survey, senders).filter(|name| !recorded.contains_key(name)));
    let found = |name: &QueueName| {
        let senders: Vec<&Sender<'_>> =
            senders.iter().filter(|sender| queues_of(&sender.targets).any(|queue| queue == name)).collect();
        let tags = survey.queue(name).map(|queue| queue.tags.clone()).unwrap_or_default();
        let recorded = recorded.get(name).cloned();
        let is_for_karpenter = recorded.is_some() || senders.is_empty() || names_karpenter(name, &tags, &senders);
        let cluster = recorded.or_else(|| cluster(survey, name, &tags, &senders, is_for_karpenter));
        let activity = survey.activity(name);
        FoundQueue {
            reader: match survey.observed.get(&ResourceId::Queue(name.clone())) {
                Fact::Absent => Readership::NoQueue,
                _ => readership(activity),
            },
            has_rule: !senders.is_empty(),
            registered: cluster.as_ref().is_some_and(|cluster| survey.record(cluster).is_some()),
            name: name.clone(),
            tags: tags.0,
            cluster,
            is_for_karpenter,
        }
    };
    let found = names.map(found).filter(|queue| queue.has_rule || !queue.registered);
    found.map(|queue| (queue.name.clone(), queue)).collect()
}

/// The queues with a Karpenter-like name that accept messages from a service but are no rule's target. None while the
/// targets of a rule are unknown.
fn without_rule<'a>(survey: &'a Survey, senders: &[Sender<'_>]) -> impl Iterator<Item = &'a QueueName> {
    let all = survey.queues(&String::new()).present().into_iter().flatten();
    let is_known = senders.iter().all(|sender| !sender.targets.is_empty());
    let sent_to: BTreeSet<QueueName> = senders.iter().flat_map(|sender| queues_of(&sender.targets)).cloned().collect();
    let is_open = |name: &QueueName| {
        let queue = survey.queue(name).filter(|queue| queue.tags.get(BUS).is_none());
        let policy = queue.and_then(|queue| queue.policy.as_ref());
        policy.is_some_and(|policy| other_senders(policy).iter().any(|who| who.contains(".amazonaws.com")))
    };
    all.filter(move |name| {
        let has_name = name.as_str().to_lowercase().contains(KARPENTER);
        is_known && has_name && !sent_to.contains(*name) && is_open(name)
    })
}

fn readership(activity: &Fact<QueueActivity>) -> Readership {
    match activity.present() {
        None => Readership::Unknown,
        // Karpenter deletes each message that it receives.
        Some(activity) if activity.deleted > 0 || activity.polled >= POLLED => Readership::Reads,
        Some(activity) if activity.receives == 0 => Readership::Nothing,
        Some(_) => Readership::Seldom,
    }
}

/// Whether some name indicates that a queue is for Karpenter, and no rule sends it events that only others read.
fn names_karpenter(queue: &QueueName, tags: &Tags, senders: &[&Sender<'_>]) -> bool {
    let targets = senders.iter().flat_map(|sender| &sender.targets);
    let ids = targets.filter(|target| target.queue.as_ref() == Some(queue)).map(|target| target.id.as_str());
    let rules = senders.iter().map(|sender| sender.rule.name.as_str());
    let mut names = ids.chain(rules).chain(tags.0.keys().map(String::as_str)).chain([queue.as_str()]);
    names.any(|name| name.to_lowercase().contains(KARPENTER))
        && !senders.iter().any(|sender| sender.pattern.of_auto_scaling)
}

/// The only cluster named in the tags of a queue and of its own rules. Without such a tag, EKS decides, or else a role.
fn cluster(
    survey: &Survey,
    queue: &QueueName,
    tags: &Tags,
    senders: &[&Sender<'_>],
    is_for_karpenter: bool,
) -> Option<ClusterName> {
    // The tag of a rule with several queues may refer to another queue.
    let own = senders.iter().filter(|sender| queues_of(&sender.targets).count() == 1);
    let of_rules = own.filter_map(|sender| survey.rule_tags(&sender.rule.name).present());
    let tagged: BTreeSet<ClusterName> = of_rules.chain([tags]).flat_map(tagged).collect();
    if !tagged.is_empty() || !is_for_karpenter {
        return only(tagged);
    }
    match survey.eks_clusters().present().filter(|all| !all.is_empty()) {
        Some(all) => by_eks(queue, all),
        None => by_role(survey, queue),
    }
}

fn only(names: BTreeSet<ClusterName>) -> Option<ClusterName> {
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none())
}

/// The clusters that tags name: those of kibus, of Terraform modules, of Kubernetes and of Karpenter.
fn tagged(tags: &Tags) -> impl Iterator<Item = ClusterName> {
    let by_value = [CLUSTER, "ClusterName", "karpenter.sh/discovery"].into_iter().filter_map(|key| tags.get(key));
    let by_key = tags.0.keys().filter_map(|key| key.strip_prefix("kubernetes.io/cluster/"));
    by_value.chain(by_key).filter_map(|name| name.parse().ok())
}

/// The only EKS cluster whose name is part of the queue's name. `prod` in `team-prod` does not count as another one.
fn by_eks(queue: &QueueName, all: &BTreeSet<ClusterName>) -> Option<ClusterName> {
    let named = all.iter().filter(|cluster| template_of(queue, cluster).is_some());
    let named: BTreeSet<&ClusterName> = named.collect();
    let is_part = |name: &ClusterName| {
        named.iter().any(|other| other.as_str() != name.as_str() && other.as_str().contains(name.as_str()))
    };
    only(named.iter().filter(|name| !is_part(name)).map(|name| (*name).clone()).collect())
}

/// The only cluster for which both the queue and a role have a usual name. A queue `id-karpenter` does not count: a
/// tool may give the role the same name, whatever the cluster's name is.
fn by_role(survey: &Survey, queue: &QueueName) -> Option<ClusterName> {
    let roles = survey.listed_roles().present()?;
    let starts = ["", "karpenter-", "Karpenter-"].into_iter();
    let names = starts.filter_map(|start| queue.as_str().strip_prefix(start)?.parse().ok());
    only(names.filter(|cluster| usual_roles(cluster).iter().any(|role| roles.contains_key(role))).collect())
}

/// The queues among targets.
pub(super) fn queues_of(targets: &[FoundTarget]) -> impl Iterator<Item = &QueueName> {
    targets.iter().filter_map(|target| target.queue.as_ref())
}

/// What clusters on the bus no longer need of the rules that send to a queue of one of them.
pub fn removals(survey: &Survey, queue: &QueueName) -> Vec<Removal> {
    let recorded = survey.recorded();
    let is_recorded = |name: &QueueName| recorded.values().any(|record| record.queue == *name);
    let rules = survey.rules_of_queue(queue).into_values();
    rules.filter_map(|rule| Sender::new(survey, rule).removal(is_recorded)).collect()
}

impl<'a> Sender<'a> {
    fn new(survey: &'a Survey, rule: &'a EventRule) -> Self {
        let listed = survey.rule_targets(&rule.name).present().into_iter().flatten();
        Self {
            rule,
            pattern: rule.matched(&survey.scope.account),
            targets: listed.map(|target| found_target(&survey.scope, target)).collect(),
        }
    }

    /// What was found, if the rule is for Karpenter's events.
    pub(super) fn found(self, survey: &Survey, queues: &Queues) -> Option<FoundRule> {
        if !self.pattern.is_of_karpenter() {
            return None;
        }
        let queue = |name: &QueueName| queues.get(name).filter(|queue| queue.is_for_karpenter);
        let reason = self.why_kept(|name| queue(name).is_some());
        let removal = self.removal(|name| queue(name).is_some_and(|queue| queue.registered));
        let Self { rule, pattern, targets } = self;
        let tags = if targets.is_empty() { None } else { survey.rule_tags(&rule.name).present() };
        Some(FoundRule {
            name: rule.name.clone(),
            events: pattern.signals.iter().map(|signal| signal.slug()).collect(),
            enabled: rule.enabled,
            targets,
            tags: tags.cloned().unwrap_or_default().0,
            verdict: if reason.is_some() { Verdict::Keep } else { Verdict::Replace },
            reason,
            matches_nothing: pattern.nothing,
            removal,
        })
    }

    /// The parts of the rule that clusters on the bus no longer need.
    fn removal(&self, is_moved: impl Fn(&QueueName) -> bool) -> Option<Removal> {
        let moved = self.targets.iter().filter(|target| target.queue.as_ref().is_some_and(&is_moved));
        let targets: Vec<String> = moved.map(|target| target.id.clone()).collect();
        let is_removed = !targets.is_empty() && self.rule.managed_by.is_none();
        is_removed.then(|| Removal { rule: self.rule.name.clone(), targets, kept: self.why_kept(is_moved) })
    }

    /// Why the rule stays if it no longer sends to these queues.
    fn why_kept(&self, is_of_karpenter: impl Fn(&QueueName) -> bool) -> Option<String> {
        let Self { rule, pattern, targets } = self;
        let others = targets.iter().filter(|target| !target.queue.as_ref().is_some_and(&is_of_karpenter));
        let others: Vec<&FoundTarget> = others.collect();
        let arns = || listed(others.iter().map(|target| target.arn.escape_debug()));
        Some(if let Some(service) = &rule.managed_by {
            format!("`{service}` manages it")
        } else if targets.is_empty() {
            "its targets could not be read".to_owned()
        } else if queues_of(targets).next().is_none() {
            format!("kibus cannot follow events to {}", arns())
        } else if others.len() == targets.len() {
            "there is no evidence that only Karpenter reads its queue".to_owned()
        } else if !others.is_empty() {
            let ids = targets.iter().filter(|target| !others.contains(target)).map(|target| target.id.escape_debug());
            format!("it has other targets than {}: {}", listed(ids), arns())
        } else if !pattern.further.is_empty() {
            format!("its pattern matches events that the hub does not receive, because of {}", listed(&pattern.further))
        } else if pattern.is_broad && pattern.nothing.is_none() {
            "its pattern also matches events that Karpenter does not handle".to_owned()
        } else {
            return None;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s30_a_reader_deletes_or_polls() {
        for (case, [receives, deleted, polled], expected) in [
            ("a Karpenter on a quiet day", [4_320, 0, 288], Readership::Reads),
            ("a Karpenter", [4_800, 900, 288], Readership::Reads),
            ("a Karpenter that has just started", [65, 5, 4], Readership::Reads),
            ("events that nothing reads", [0, 0, 0], Readership::Nothing),
            ("a person looked once", [11, 0, 0], Readership::Seldom),
            ("looks at a queue that nothing reads", [412, 0, 0], Readership::Seldom),
            ("a person polled for an hour", [180, 0, 12], Readership::Seldom),
        ] {
            let activity = QueueActivity { receives, deleted, polled, ..QueueActivity::default() };
            assert_eq!(readership(&Fact::Present(activity)), expected, "{case}");
        }
        assert_eq!(readership(&Fact::Absent), Readership::Unknown);
    }
}
