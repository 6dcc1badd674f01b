//! What others set up on the default event bus for Karpenter: rules that match its events, their target queues, the
//! clusters of these queues, and the order in which to move them to the bus. Pure: it reads nothing and changes
//! nothing.

mod found;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::{Hint, listed, quoted};
use crate::iam::operator_policy::printing;
use crate::model::{
    ClusterName, Fact, Fault, QueueName, QueueTemplate, Scope, default_queue_template, first_of, rule_limit,
    template_of,
};
use crate::survey::{Query, Saved, Survey};

pub use found::{FoundQueue, FoundRule, FoundTarget, Readership, Removal, Verdict, removals};

/// How many clusters or queues a sentence names.
const NAMED: usize = 3;

/// What others set up on the default event bus for Karpenter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveryObject"))]
pub struct Discovery {
    /// The number of rules on the default event bus, whoever created them.
    pub rule_count: usize,
    /// The default quota for rules on an event bus.
    pub rule_limit: usize,
    /// How many of them belong to kibus.
    pub rules_of_kibus: usize,
    /// The other rules that match Karpenter's events, or try to.
    pub rules: Vec<FoundRule>,
    /// Their target queues, and Karpenter queues without a rule.
    pub queues: Vec<FoundQueue>,
    /// What to do, in order.
    pub steps: Vec<Hint>,
    // What could not be read, and why. The document then has an error.
    #[serde(skip)]
    pub unread: Vec<(String, Fault)>,
    // Why the activity of queues could not be read: a warning.
    #[serde(skip)]
    pub unmeasured: Option<Fault>,
}

/// What [`discovery`] will certainly request.
pub fn guess() -> Query {
    let queues = [String::new()].into();
    Query { records: true, event_rules: true, eks_clusters: true, queues, ..Query::default() }
}

/// The findings, or why the rules of the bus are unknown.
pub fn discovery(survey: &Survey) -> Result<Discovery, Fault> {
    let rule_count = match survey.event_rules() {
        Fact::Unreadable(fault) => return Err(fault.clone()),
        rules => rules.present().map_or(0, Vec::len),
    };
    survey.records();
    survey.eks_clusters();
    let (senders, rules_of_kibus) = found::senders(survey);
    let queues = found::queues(survey, &senders);
    let rules: Vec<FoundRule> = senders.into_iter().filter_map(|sender| sender.found(survey, &queues)).collect();
    let queues: Vec<FoundQueue> = queues.into_values().collect();
    Ok(Discovery {
        rule_count,
        rule_limit: rule_limit(&survey.scope.region),
        rules_of_kibus,
        steps: steps(survey, &rules, &queues),
        rules,
        queues,
        unread: unread(survey),
        unmeasured: survey.known.activity.values().find_map(Fact::fault).cloned(),
    })
}

/// What could not be read. A call that failed for many resources is named once.
fn unread(survey: &Survey) -> Vec<(String, Fault)> {
    let known = &survey.known;
    let each = [
        ("the targets of rules", known.rule_targets.values().find_map(Fact::fault)),
        ("the tags of rules", known.rule_tags.values().find_map(Fact::fault)),
        ("the clusters of the bus", survey.records().fault()),
        ("the names of queues", survey.queues(&String::new()).fault()),
    ];
    let each = each.into_iter().filter_map(|(what, fault)| Some((what.to_owned(), fault?.clone())));
    let (queues, faults): (Vec<_>, Vec<_>) = survey.observed.faults().unzip();
    let first = faults.first().map(|fault| (first_of(queues, 1), (*fault).clone()));
    each.chain(first).collect()
}

/// The clusters that are not on the bus yet, each with its queues.
type Moves<'a> = BTreeMap<&'a ClusterName, Vec<&'a FoundQueue>>;

/// How to move clusters to the bus, and what registered clusters no longer need. Removals come last.
fn steps(survey: &Survey, rules: &[FoundRule], queues: &[FoundQueue]) -> Vec<Hint> {
    let scope = &survey.scope;
    let (named, unnamed): (Vec<_>, Vec<_>) =
        queues.iter().filter(|queue| queue.is_for_karpenter).partition(|queue| queue.cluster.is_some());
    let mut moves = Moves::new();
    for queue in named.iter().filter(|queue| !queue.registered) {
        if let Some(cluster) = &queue.cluster {
            moves.entry(cluster).or_default().push(queue);
        }
    }
    let mut steps = Vec::new();
    let unnamed = unnamed.iter().filter(|queue| queue.reader != Readership::Nothing);
    let unnamed = listed_first(unnamed.map(|queue| &queue.name));
    if let (Some(queues), Some(denied)) = (&unnamed, survey.known.eks_clusters.fault()) {
        let text = format!("Grant access to EKS, which names the clusters of {queues}; then repeat this:");
        steps.extend(printing(scope, [denied]).into_iter().map(|command| Hint::command(&text, scope.kibus(command))));
    }
    let mut template = survey.queue_template();
    if survey.saved() == Saved::Absent && !(moves.is_empty() && unnamed.is_none()) {
        template = most_common(&moves);
        let option = format!(" --queue-name {}", quoted(template.as_str()));
        let option = if template == default_queue_template() { String::new() } else { option };
        steps.push(Hint::command("Create the hub:", scope.kibus(format!("bootstrap-hub{option}"))));
    }
    let has_its_name = |cluster: &&ClusterName| {
        let name = scope.cluster_queue(&template, cluster);
        moves[*cluster].iter().any(|queue| queue.name == name && queue.reader != Readership::NoQueue)
    };
    let (kept, new): (Vec<_>, Vec<_>) = moves.keys().copied().partition(has_its_name);
    for (clusters, queues, option) in [(kept, "its own queue", " --external"), (new, "a new queue", "")] {
        let names = joined(clusters.iter().copied());
        if !names.is_empty() {
            let text = format!("Register {}, each with {queues}:", first_of(clusters, NAMED));
            let text = if names.contains(' ') { text } else { text.replace(", each", "") };
            steps.push(Hint::command(text, scope.kibus(format!("add-cluster {names}{option}"))));
        }
    }
    if let (Some(queues), None) = (unnamed, survey.known.eks_clusters.fault()) {
        steps.push(Hint::command(format!("Name the cluster that reads {queues}:"), scope.kibus("add-cluster NAME")));
    }
    steps.extend(last_steps(survey, rules, &named, &moves));
    steps
}

/// The check, and what may be removed after it: targets of clusters that are now on the bus, and rules without another use.
fn last_steps(survey: &Survey, rules: &[FoundRule], named: &[&FoundQueue], moves: &Moves<'_>) -> Vec<Hint> {
    let scope = &survey.scope;
    let removals: Vec<&Removal> = rules.iter().filter_map(|rule| rule.removal.as_ref()).collect();
    let moved = named.iter().filter(|queue| queue.registered && !removals.is_empty());
    let moved: BTreeSet<&ClusterName> = moved.filter_map(|queue| queue.cluster.as_ref()).collect();
    let checked = joined(moves.keys().chain(&moved).copied().collect::<BTreeSet<_>>());
    let mut steps = Vec::new();
    if !checked.is_empty() {
        steps.push(Hint::command("Check it:", scope.kibus(format!("verify --probe {checked}"))));
    }
    if !moves.is_empty() {
        let text = format!("Then repeat this for the rules of {}:", first_of(moves.keys(), NAMED));
        steps.push(Hint::command(text, scope.kibus("discover")));
    }
    if !removals.is_empty() {
        let text = format!(
            "Only then remove what {} no longer needs, with the tool that created it, else:",
            first_of(&moved, NAMED)
        );
        let commands: Vec<String> = removals.into_iter().flat_map(|removal| removal_of(scope, removal)).collect();
        steps.push(Hint::command(text, commands.join("\n")));
    }
    // The permission for an external queue must stay.
    let records = moved.into_iter().filter_map(|cluster| survey.record(cluster)).filter(|one| one.has_own_queue());
    let roles = records.filter_map(|record| record.role.as_ref());
    let roles: Vec<String> =
        roles.map(|role| scope.aws(format!("iam list-role-policies --role-name {}", quoted(role.as_str())))).collect();
    if !roles.is_empty() {
        let text = "Look for an old permission too, such as the inline policy `KarpenterSQSInterruptionPolicy`:";
        steps.push(Hint::command(text, roles.join("\n")));
    }
    steps
}

/// The names of clusters, as arguments.
fn joined<'a>(clusters: impl IntoIterator<Item = &'a ClusterName>) -> String {
    clusters.into_iter().map(ClusterName::as_str).collect::<Vec<_>>().join(" ")
}

/// The first names, each in backticks; `None` if there are none.
fn listed_first<'a>(names: impl Iterator<Item = &'a QueueName>) -> Option<String> {
    let names: Vec<String> = names.map(|name| listed([name])).collect();
    (!names.is_empty()).then(|| first_of(names, NAMED))
}

/// The template that fits the queues of most clusters; if several do, the default if it is one of them.
fn most_common(moves: &Moves<'_>) -> QueueTemplate {
    let mut counts: BTreeMap<QueueTemplate, usize> = BTreeMap::new();
    for (cluster, queues) in moves {
        for template in queues.iter().filter_map(|queue| template_of(&queue.name, cluster)) {
            *counts.entry(template).or_default() += 1;
        }
    }
    let default = default_queue_template();
    let most = counts.into_iter().max_by_key(|(template, count)| (*count, *template == default));
    most.map_or(default, |(template, _)| template)
}

/// A rule can be deleted when it has no target.
fn removal_of(scope: &Scope, Removal { rule, targets, kept }: &Removal) -> impl Iterator<Item = String> {
    let region = &scope.region;
    let ids: Vec<String> = targets.iter().map(|id| quoted(&id.escape_debug().to_string())).collect();
    let ids = ids.join(" ");
    let remove = scope.aws(format!("events remove-targets --region {region} --rule {rule} --ids {ids}"));
    let delete = scope.aws(format!("events delete-rule --region {region} --name {rule}"));
    std::iter::once(remove).chain(kept.is_none().then_some(delete))
}

#[cfg(test)]
mod tests;
