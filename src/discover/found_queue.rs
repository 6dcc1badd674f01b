//! One queue that receives Karpenter's events: its cluster, the tool that created its rules, its reader, and what can go.

use std::collections::{BTreeMap, BTreeSet};

use super::origin::{Attribution, Marks, Origin, attribution};
use super::reader::{Reader, reader};
use super::removal::{OwnedRules, removal};
use super::sender::Sender;
use super::verdict::{Verdict, verdict};
use crate::error::Hint;
use crate::model::fact::Fact;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, QueueName, RuleName};
use crate::model::queue_activity::QueueActivity;
use crate::model::resource::ResourceId;
use crate::model::signal::Signal;
use crate::model::tags::Tags;
use crate::survey::Survey;

/// A queue that receives Karpenter's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundQueue {
    pub name: QueueName,
    /// Its cluster, if a tag or a usual name tells.
    pub cluster: Option<ClusterName>,
    /// Whether this cluster is registered on the bus.
    pub is_registered: bool,
    /// Whether it is the queue of the bus for this cluster.
    pub is_of_bus: bool,
    /// The tool that created its rules.
    pub origin: Origin,
    pub rules: Vec<FoundRule>,
    pub reader: Reader,
    /// How many messages were sent to it in the last day, if that is known.
    pub sent: Option<u64>,
    /// How to remove the rules that are replaced, for each tool that created some.
    pub removals: Vec<Hint>,
}

impl FoundQueue {
    /// What a person should know about the reader of the queue, if something may be wrong.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let queue = &self.name;
        let is_old = self.is_registered && !self.is_of_bus;
        Some(match &self.reader {
            Reader::Reads | Reader::Unknown(_) => return None,
            Reader::Nothing if is_old => {
                format!("nothing has read `{queue}` in the last day: when its rules are removed, it can be deleted")
            }
            Reader::Nothing if self.cluster.is_some() => format!(
                "nothing has read `{queue}` in the last day: its Karpenter receives no Spot warnings. Check that its Helm values \
                 have `settings.interruptionQueue: {queue}`, which Karpenter from v0.33 reads"
            ),
            Reader::Nothing => format!("nothing has read `{queue}` in the last day"),
            Reader::Seldom(receives) => format!(
                "`{queue}` was received from {receives} times in the last day, but no message was deleted and nothing polled it for \
                 hours, as a running Karpenter does"
            ),
            Reader::Waiting(messages) => format!(
                "about {messages} messages waited in `{queue}` for a minute, and none was received: probably nothing reads it"
            ),
            Reader::NoQueue => format!("queue `{queue}` does not exist: the events of its rules are lost"),
        })
    }

    /// The rules that the hub replaces.
    pub fn replaced(&self) -> impl Iterator<Item = &FoundRule> {
        self.rules.iter().filter(|rule| rule.verdict == Verdict::Replace)
    }
}

/// A rule that matches Karpenter's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRule {
    pub name: RuleName,
    /// The signals that it matches.
    pub signals: BTreeSet<Signal>,
    pub enabled: bool,
    pub verdict: Verdict,
}

/// What is known of a queue, with the rules that send to it.
pub(super) fn found(survey: &Survey, name: QueueName, senders: &[Sender<'_>]) -> FoundQueue {
    let queue = survey.observed.queue(name.clone());
    let attributed: Vec<Attribution> = senders.iter().map(|sender| attributed(survey, &name, sender)).collect();
    let origin = most(&attributed);
    let reads = match is_of_handler(&name, senders) {
        true => Origin::NodeTerminationHandler,
        false => origin,
    };
    let karpenter = reads.is_for_karpenter() || names_karpenter(&name, senders);
    let is_of_bus = queue.is_some_and(|queue| queue.tags.cluster_of(&survey.scope.bus).is_some());
    let saved = queue.and_then(|queue| queue.tags.cluster_of(&survey.scope.bus));
    let cluster = saved.or_else(|| attributed.iter().find_map(|one| one.cluster.clone()));
    let cluster = cluster.filter(|_| karpenter && reads != Origin::NodeTerminationHandler);
    let is_registered = cluster
        .as_ref()
        .is_some_and(|cluster| survey.registered().contains_key(cluster));
    let rules: Vec<FoundRule> = senders
        .iter()
        .map(|sender| FoundRule {
            name: sender.rule.name.clone(),
            signals: sender.pattern.signals.clone(),
            enabled: sender.rule.enabled,
            verdict: verdict(sender.rule, &sender.pattern, sender.others.clone(), reads, karpenter),
        })
        .collect();
    FoundQueue {
        removals: removals(survey, &name, senders, &attributed, &rules),
        reader: of_queue(survey, &name),
        sent: activity(survey, &name).present().map(|activity| activity.sent),
        cluster,
        is_registered,
        is_of_bus,
        origin: reads,
        rules,
        name,
    }
}

/// What the name of a rule, its target and tags say.
pub(super) fn attributed(survey: &Survey, queue: &QueueName, sender: &Sender<'_>) -> Attribution {
    let none = Tags::default();
    let of_rule = survey.event_rules.tags.get(&sender.rule.name).and_then(Fact::present);
    let of_queue = survey.observed.queue(queue.clone()).map(|queue| &queue.tags);
    attribution(Marks {
        rule: &sender.rule.name,
        target: sender.target,
        queue,
        tags: &[of_rule.unwrap_or(&none), of_queue.unwrap_or(&none)],
    })
}

/// The tool that created most rules. A tool that is known comes before one that is not.
fn most(attributed: &[Attribution]) -> Origin {
    let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
    for one in attributed {
        *counts.entry(one.origin).or_default() += 1;
    }
    let known = |origin: Origin| origin != Origin::Unknown;
    let most = counts
        .into_iter()
        .max_by_key(|(origin, count)| (known(*origin), *count));
    most.map_or(Origin::Unknown, |(origin, _)| origin)
}

/// Whether the node termination handler reads a queue: it has a usual name, or also receives events of EC2 Auto Scaling.
pub(super) fn is_of_handler(queue: &QueueName, senders: &[Sender<'_>]) -> bool {
    let name = queue.as_str().to_lowercase();
    name.ends_with("-nth")
        || name.contains("termination-handler")
        || senders.iter().any(|sender| sender.pattern.of_auto_scaling)
}

/// Whether some name says that a queue is for Karpenter.
fn names_karpenter(queue: &QueueName, senders: &[Sender<'_>]) -> bool {
    let names_it = |text: &str| text.to_lowercase().contains("karpenter");
    let by_rule = |sender: &Sender<'_>| names_it(sender.rule.name.as_str()) || names_it(sender.target);
    names_it(queue.as_str()) || senders.iter().any(by_rule)
}

fn of_queue(survey: &Survey, queue: &QueueName) -> Reader {
    let id = ResourceId::Queue(queue.clone());
    if survey.observed.get(&id) == Some(&Reading::Absent) {
        return Reader::NoQueue;
    }
    let later = survey.tried.later.get(queue).into_iter().flatten();
    let samples: Vec<_> = survey.depth(queue).iter().chain(later).copied().collect();
    reader(activity(survey, queue), &samples)
}

fn activity<'a>(survey: &'a Survey, queue: &QueueName) -> &'a Fact<QueueActivity> {
    survey.event_rules.activity.get(queue).unwrap_or(&Fact::NotAsked)
}

/// How to remove the rules that are replaced. Each tool has its own way.
fn removals(
    survey: &Survey,
    queue: &QueueName,
    senders: &[Sender<'_>],
    attributed: &[Attribution],
    rules: &[FoundRule],
) -> Vec<Hint> {
    let mut owners: BTreeMap<Origin, OwnedRules<'_>> = BTreeMap::new();
    for ((sender, attribution), rule) in senders.iter().zip(attributed).zip(rules) {
        if rule.verdict != Verdict::Replace {
            continue;
        }
        let owned = owners.entry(attribution.origin).or_insert_with(|| OwnedRules {
            origin: attribution.origin,
            stacks: BTreeSet::new(),
            rules: Vec::new(),
        });
        owned.stacks.extend(attribution.stack.clone());
        owned.rules.push((&sender.rule.name, sender.target));
    }
    owners
        .values()
        .map(|owned| removal(owned, &survey.scope.region, queue))
        .collect()
}
