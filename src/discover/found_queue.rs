//! One queue that receives Karpenter's events: its cluster, the tool that created its rules, its reader, and what can go.

use std::collections::{BTreeMap, BTreeSet};

use super::origin::{Attribution, Marks, Origin, attribution};
use super::reader::{Reader, reader};
use super::removal::{OwnedRules, Removal, way};
use super::sender::{Sender, queue};
use super::verdict::{Verdict, verdict};
use crate::model::answer::Fact;
use crate::model::event_rule::ListedTarget;
use crate::model::name::{ClusterName, QueueName, RuleName};
use crate::model::notation::counted;
use crate::model::resource::ResourceId;
use crate::model::signal::Signal;
use crate::model::status::QueueActivity;
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
    /// How to remove the rules that are replaced, for each tool that created some. Rules that queues share are among those of
    /// the first.
    pub removals: Vec<Removal>,
}

impl FoundQueue {
    /// What a person should know about the reader of the queue, if something may be wrong.
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
                "about {} waited in `{queue}` for a minute, and none was received: probably nothing reads it",
                counted(messages, "message")
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

/// Which program the rules of a queue, or its name, say that it is for.
struct Use {
    attributed: Vec<Attribution>,
    origin: Origin,
    is_for_karpenter: bool,
}

impl Use {
    fn of(survey: &Survey, name: &QueueName, senders: &[Sender<'_>]) -> Self {
        let attributed: Vec<Attribution> = senders.iter().map(|sender| attributed(survey, name, sender)).collect();
        let origin = match is_of_handler(name, senders) {
            true => Origin::NodeTerminationHandler,
            false => most(&attributed),
        };
        let is_for_karpenter = origin.is_for_karpenter() || names_karpenter(name, senders);
        Self {
            attributed,
            origin,
            is_for_karpenter: is_for_karpenter && origin != Origin::NodeTerminationHandler,
        }
    }
}

/// The queues that receive Karpenter's events, with the rules that send to them.
pub(super) fn found(survey: &Survey, queues: BTreeMap<QueueName, Vec<Sender<'_>>>) -> Vec<FoundQueue> {
    let uses: BTreeMap<&QueueName, Use> = queues
        .iter()
        .map(|(name, senders)| (name, Use::of(survey, name, senders)))
        .collect();
    let each = queues.iter().map(|(name, senders)| one(survey, name, senders, &uses));
    each.collect()
}

fn one(survey: &Survey, name: &QueueName, senders: &[Sender<'_>], uses: &BTreeMap<&QueueName, Use>) -> FoundQueue {
    let Use {
        attributed,
        origin,
        is_for_karpenter,
    } = &uses[name];
    let saved = survey.observed.queue(name.clone());
    let saved = saved.and_then(|queue| queue.tags.cluster_of(&survey.scope.bus));
    let is_of_bus = saved.is_some();
    let cluster = saved.or_else(|| attributed.iter().find_map(|one| one.cluster.clone()));
    let cluster = cluster.filter(|_| *is_for_karpenter);
    // The hub replaces a rule for all queues of Karpenter that it sends to.
    let others = |sender: &Sender<'_>| {
        let others = sender.others.iter();
        let others = others.filter(|other| queue_of_karpenter(survey, other, uses).is_none());
        others.map(|other| other.arn.clone()).collect()
    };
    let rules: Vec<FoundRule> = senders
        .iter()
        .map(|sender| FoundRule {
            name: sender.rule.name.clone(),
            signals: sender.pattern.signals.clone(),
            enabled: sender.rule.enabled,
            verdict: verdict(sender.rule, &sender.pattern, others(sender), *origin, *is_for_karpenter),
        })
        .collect();
    FoundQueue {
        removals: removals(survey, name, senders, &rules, uses),
        reader: of_queue(survey, name),
        sent: activity(survey, name).present().map(|activity| activity.sent),
        is_registered: cluster
            .as_ref()
            .is_some_and(|cluster| survey.registered().contains_key(cluster)),
        cluster,
        is_of_bus,
        origin: *origin,
        rules,
        name: name.clone(),
    }
}

/// The queue of a target, if it is for a Karpenter.
fn queue_of_karpenter(survey: &Survey, target: &ListedTarget, uses: &BTreeMap<&QueueName, Use>) -> Option<QueueName> {
    queue(&survey.scope, &target.arn).filter(|name| uses.get(name).is_some_and(|of| of.is_for_karpenter))
}

/// What the name of a rule, its target and tags say.
pub(super) fn attributed(survey: &Survey, queue: &QueueName, sender: &Sender<'_>) -> Attribution {
    let none = Tags::default();
    let of_rule = survey.known.rule_tags.get(&sender.rule.name).and_then(Fact::present);
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
    if *survey.observed.get(&id) == Fact::Absent {
        return Reader::NoQueue;
    }
    let later = survey.tried.later.get(queue).into_iter().flatten();
    let samples: Vec<_> = survey.depth(queue).iter().chain(later).copied().collect();
    reader(activity(survey, queue), &samples)
}

fn activity<'a>(survey: &'a Survey, queue: &QueueName) -> &'a Fact<QueueActivity> {
    survey.known.queue_activity.get(queue).unwrap_or(&Fact::NotAsked)
}

/// How to remove the rules that are replaced, without those that are among the removals of an earlier queue. Each tool has its
/// own way.
fn removals(
    survey: &Survey,
    name: &QueueName,
    senders: &[Sender<'_>],
    rules: &[FoundRule],
    uses: &BTreeMap<&QueueName, Use>,
) -> Vec<Removal> {
    let mut owners: BTreeMap<(Origin, BTreeSet<QueueName>), OwnedRules<'_>> = BTreeMap::new();
    for ((sender, attribution), rule) in senders.iter().zip(&uses[name].attributed).zip(rules) {
        let others = sender.others.iter();
        let mut queues: BTreeSet<QueueName> = others
            .filter_map(|other| queue_of_karpenter(survey, other, uses))
            .collect();
        queues.insert(name.clone());
        if rule.verdict != Verdict::Replace || queues.first() != Some(name) {
            continue;
        }
        let owned = owners
            .entry((attribution.origin, queues))
            .or_insert_with(|| OwnedRules {
                origin: attribution.origin,
                stacks: BTreeSet::new(),
                rules: Vec::new(),
            });
        owned.stacks.extend(attribution.stack.clone());
        let targets = std::iter::once(sender.target).chain(sender.others.iter().map(|other| other.id.as_str()));
        owned.rules.push((&sender.rule.name, targets.collect()));
    }
    let removal = |((_, queues), owned): ((Origin, BTreeSet<QueueName>), OwnedRules<'_>)| Removal {
        queues,
        rules: owned.rules.len(),
        way: way(&owned, &survey.scope, name),
    };
    owners.into_iter().map(removal).collect()
}
