//! What other tools set up on the default event bus for Karpenter: rules that send its events to queues, who created them, whether
//! anything reads the queues, and how to move the clusters to the bus. Pure: it reads nothing and changes nothing.

mod found;
mod origin;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::{Hint, listed, quoted};
use crate::export::Format;
use crate::model::{
    ClusterName, Fact, Fault, ListedTarget, QueueName, QueueTemplate, RoleCandidates, RoleName, default_queue_template,
    first_of, rule_limit, template_of,
};
use crate::survey::{Query, Saved, Survey};
use found::{concerning, found, is_of_kibus, queue, receivers, targets};

pub use found::{FoundQueue, FoundRule, Readership, Removal, Verdict};
pub use origin::Origin;

/// What other tools set up on the default event bus for Karpenter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveryObject"))]
pub struct Discovery {
    /// The number of rules of the default event bus, whoever created them.
    pub rules: usize,
    /// The number of rules that a bus may have by default.
    pub rule_limit: usize,
    /// The number of rules of kibus for Karpenter's events among them.
    pub rules_of_kibus: usize,
    /// The queues that receive Karpenter's events from other rules.
    pub queues: Vec<FoundQueue>,
    /// Rules that match Karpenter's events and send them to no queue of this account and Region.
    pub rules_elsewhere: Vec<FoundRule>,
    /// The commands that move the clusters to the bus, in this order.
    pub moves: Vec<Hint>,
    // What could not be read, and why: the document has an error then.
    #[serde(skip)]
    pub unread: Vec<(String, Fault)>,
    // Why the activity of queues could not be read: a warning.
    #[serde(skip)]
    pub unmeasured: Option<Fault>,
}

/// What [`discovery`] will certainly ask for.
pub fn guess() -> Query {
    Query { records: true, listed_roles: true, event_rules: true, ..Query::default() }
}

/// What was found, or why the rules of the bus are unknown. With a format, the commands export the clusters instead of adding them.
pub fn discovery(survey: &Survey, format: Option<Format>) -> Result<Discovery, Fault> {
    if let Fact::Unreadable(fault) = survey.event_rules() {
        return Err(fault.clone());
    }
    survey.records();
    survey.listed_roles();
    let receivers = receivers(survey);
    for (queue, receiver) in &receivers {
        survey.queue(queue);
        survey.activity(queue);
        // The rules of a queue are usually of one tool, so the tags of one are enough.
        if let Some(first) = receiver.senders.first() {
            survey.rule_tags(&first.rule.name);
        }
    }
    let queues = found(survey, &receivers);
    Ok(Discovery {
        rules: survey.event_rules().present().map_or(0, Vec::len),
        rule_limit: rule_limit(&survey.scope.region),
        rules_of_kibus: concerning(survey).filter(|(rule, _)| is_of_kibus(survey, rule)).count(),
        moves: moves(survey, &queues, format),
        queues,
        rules_elsewhere: elsewhere(survey),
        unread: unread(survey),
        unmeasured: survey.known.activity.values().find_map(Fact::fault).cloned(),
    })
}

/// The id of the target of a hub that was built by a blog post of AWS.
const ROUTER_TARGET: &str = "RouterLambda";

/// Rules whose events reach a queue of another kind or place, or another hub.
fn elsewhere(survey: &Survey) -> Vec<FoundRule> {
    let of_karpenter = concerning(survey).filter(|(_, pattern)| !pattern.signals.is_empty());
    let kept = of_karpenter.filter_map(|(rule, pattern)| {
        let targets = targets(survey, rule);
        let is_queue = |target: &&ListedTarget| target.arn.split(':').nth(2) == Some("sqs");
        if is_of_kibus(survey, rule) || targets.iter().any(|target| queue(&survey.scope, &target.arn).is_some()) {
            return None;
        }
        let reason = match targets.iter().find(is_queue) {
            Some(ListedTarget { arn, .. }) => format!("its target `{arn}` is FIFO, or in another account or Region"),
            None if targets.iter().any(|target| target.id == ROUTER_TARGET) => {
                "it belongs to another hub, which routes the same events".to_owned()
            }
            None => return None,
        };
        Some(FoundRule::new(rule, &pattern, Some(reason)))
    });
    kept.collect()
}

/// What could not be read. The same call that failed for many is named once.
fn unread(survey: &Survey) -> Vec<(String, Fault)> {
    let known = &survey.known;
    let each = [
        ("the targets of rules", known.rule_targets.values().find_map(Fact::fault)),
        ("the tags of rules", known.rule_tags.values().find_map(Fact::fault)),
        ("the clusters of the bus", survey.records().fault()),
    ];
    let each = each.into_iter().filter_map(|(what, fault)| Some((what.to_owned(), fault?.clone())));
    let (queues, faults): (Vec<_>, Vec<_>) = survey.observed.faults().unzip();
    let first = faults.first().map(|fault| (first_of(queues, 1), (*fault).clone()));
    each.chain(first).collect()
}

/// The clusters that are not on the bus yet, each with its queues, and whether each queue exists.
type Moves<'a> = BTreeMap<&'a ClusterName, BTreeMap<&'a QueueName, bool>>;

/// What to run, in this order.
fn moves(survey: &Survey, queues: &[FoundQueue], format: Option<Format>) -> Vec<Hint> {
    let moves = of_clusters(queues);
    let unnamed = unnamed(survey, queues);
    if moves.is_empty() && unnamed.is_none() {
        return Vec::new();
    }
    let mut hints = Vec::new();
    let template = match survey.saved() {
        Saved::Absent => {
            let (template, count) = most_common(&moves);
            hints.push(bootstrap(survey, &template, count, moves.len()));
            template
        }
        Saved::Kept(_) | Saved::Bad(_) | Saved::Unreadable(_) => survey.queue_template(),
    };
    let exported: Vec<_> = match format {
        Some(format) => moves.keys().map(|cluster| (format, *cluster)).collect(),
        None => by_code(queues, &moves).collect(),
    };
    if format.is_some() {
        hints.extend(export(survey, &exported, "Print these clusters for {}:"));
        hints.extend(unnamed);
        return hints;
    }
    let is_kept = |cluster: &&ClusterName| {
        let queue = survey.scope.cluster_queue(&template, cluster);
        moves[*cluster].get(&queue) == Some(&true)
    };
    let (kept, new): (Vec<_>, Vec<_>) = moves.keys().copied().partition(is_kept);
    let text = "Make these queues kibus's own: no Karpenter setting changes, and their old rules no longer send:";
    hints.extend(add(survey, &kept, " --adopt", text));
    let text = "Register these clusters. Each receives a new queue, which its Karpenter settings must name:";
    hints.extend(add(survey, &new, "", text));
    hints.extend(export(survey, &exported, "Or let {} own the queues of these clusters:"));
    hints.extend(unnamed);
    hints
}

/// What to do about queues whose rules are replaced, and whose clusters neither a tag nor a usual name tells.
fn unnamed(survey: &Survey, queues: &[FoundQueue]) -> Option<Hint> {
    let unnamed = queues.iter().filter(|queue| queue.cluster.is_none() && queue.is_replaced());
    let names: Vec<&QueueName> = unnamed.map(|queue| &queue.name).collect();
    let what = match names.len() {
        0 => return None,
        1 => "Find out which cluster uses queue",
        _ => "Find out which clusters use queues",
    };
    Some(Hint::command(
        format!("{what} {}, then register it by its name:", listed(names)),
        survey.scope.kibus("add-cluster NAME"),
    ))
}

/// The clusters that are known by name, with a rule to replace, and are not on the bus.
fn of_clusters(queues: &[FoundQueue]) -> Moves<'_> {
    let mut moves = Moves::new();
    for queue in queues.iter().filter(|queue| !queue.registered && queue.is_replaced()) {
        if let Some(cluster) = &queue.cluster {
            let exists = queue.reader != Readership::NoQueue;
            moves.entry(cluster).or_default().insert(&queue.name, exists);
        }
    }
    moves
}

/// The clusters that move and whose tool is infrastructure as code, each with the format of the tool.
fn by_code<'a>(queues: &'a [FoundQueue], moves: &Moves<'_>) -> impl Iterator<Item = (Format, &'a ClusterName)> {
    let found = queues.iter().filter_map(|queue| Some((queue.made_by.format()?, queue.cluster.as_ref()?)));
    let found: BTreeSet<_> = found.filter(|(_, cluster)| moves.contains_key(cluster)).collect();
    found.into_iter()
}

/// The commands that print clusters for their owner, for each format.
fn export(survey: &Survey, clusters: &[(Format, &ClusterName)], text: &str) -> Vec<Hint> {
    let each = clusters.chunk_by(|(one, _), (other, _)| one == other);
    let hint = |of_format: &[(Format, &ClusterName)]| {
        let command = |(format, cluster): &(Format, _)| format!("export cluster {cluster} --format {}", format.word());
        let commands: Vec<String> = of_format.iter().map(|one| survey.scope.kibus(command(one))).collect();
        Hint::command(text.replace("{}", &of_format[0].0.to_string()), commands.join("\n"))
    };
    each.map(hint).collect()
}

/// The template that names the queues of most clusters, and how many these are; of several, the default if it is among them.
fn most_common(moves: &Moves<'_>) -> (QueueTemplate, usize) {
    let mut counts: BTreeMap<QueueTemplate, usize> = BTreeMap::new();
    for (cluster, queues) in moves {
        for queue in queues.keys() {
            if let Some(template) = template_of(queue, cluster) {
                *counts.entry(template).or_default() += 1;
            }
        }
    }
    let default = default_queue_template();
    let most = counts.into_iter().max_by_key(|(template, count)| (*count, *template == default));
    most.unwrap_or((default, 0))
}

/// The command for a hub with the template that names the queues of this many of the clusters.
fn bootstrap(survey: &Survey, template: &QueueTemplate, count: usize, clusters: usize) -> Hint {
    if *template == default_queue_template() {
        return Hint::command("Create the hub:", survey.scope.kibus("bootstrap-hub"));
    }
    let option = format!("bootstrap-hub --queue-name {}", quoted(template.as_str()));
    let of_all = match clusters {
        _ if count < clusters => format!("{count} of these {clusters} clusters use"),
        1 => "this cluster uses".to_owned(),
        _ => "these clusters use".to_owned(),
    };
    Hint::command(
        format!("Create the hub. With this option, its queues have the names that {of_all} already:"),
        survey.scope.kibus(option),
    )
}

/// The commands that register clusters: one for all whose role `add-cluster` finds or asks for, and one for each whose role may
/// be known by a generated name.
fn add(survey: &Survey, clusters: &[&ClusterName], option: &str, text: &str) -> Vec<Hint> {
    let (mut plain, mut hints) = (Vec::new(), Vec::new());
    for cluster in clusters {
        match probable_role(survey, cluster) {
            Some(role) => hints.push(Hint::command(
                format!("If the controller of {cluster} runs as role `{role}`:"),
                survey
                    .scope
                    .kibus(format!("add-cluster {cluster} --controller-role {}{option}", quoted(role.as_str()))),
            )),
            None => plain.push(cluster.as_str()),
        }
    }
    if !plain.is_empty() {
        let command = survey.scope.kibus(format!("add-cluster {}{option}", plain.join(" ")));
        hints.insert(0, Hint::command(text, command));
    }
    hints
}

/// The only role whose name has a generated suffix after a usual name of the cluster's controller role. `add-cluster` uses such a
/// role only if a person names it.
fn probable_role(survey: &Survey, cluster: &ClusterName) -> Option<RoleName> {
    let candidates = RoleCandidates::among(cluster, survey.known.listed_roles.present()?);
    let [one] = candidates.suffixed.as_slice() else {
        return None;
    };
    Some(one.clone())
}

#[cfg(test)]
mod tests;
