//! The commands that move the clusters that were found to the bus.

use std::collections::BTreeMap;

use super::{FoundQueue, Reader};
use crate::error::{Hint, listed, quoted};
use crate::model::hub::default_queue_prefix;
use crate::model::karpenter::RoleCandidates;
use crate::model::name::{ClusterName, QueueName, QueuePrefix, RoleName};
use crate::survey::{Saved, Survey};

/// The clusters that are not on the bus yet, each with its queues, and whether each queue exists.
type Moves<'a> = BTreeMap<&'a ClusterName, BTreeMap<&'a QueueName, bool>>;

/// What to run, in this order.
pub(super) fn moves(survey: &Survey, queues: &[FoundQueue]) -> Vec<Hint> {
    let moves = of_clusters(queues);
    let unnamed = unnamed(survey, queues);
    if moves.is_empty() && unnamed.is_none() {
        return Vec::new();
    }
    let mut hints = Vec::new();
    let prefix = match survey.saved() {
        Saved::Absent => {
            let (prefix, count) = most_common(&moves);
            hints.push(bootstrap(survey, &prefix, count, moves.len()));
            prefix
        }
        Saved::Kept(_) | Saved::Bad(_) | Saved::Unreadable(_) => survey.queue_prefix(),
    };
    let is_kept = |cluster: &&ClusterName| {
        let queue = survey.scope.cluster_queue(&prefix, cluster);
        moves[*cluster].get(&queue) == Some(&true)
    };
    let (kept, new): (Vec<_>, Vec<_>) = moves.keys().copied().partition(is_kept);
    let text = "Take over these queues, so that no Karpenter setting changes:";
    hints.extend(add(survey, &kept, " --adopt", text));
    let text = "Register these clusters. Each receives a new queue, which its Karpenter settings must name:";
    hints.extend(add(survey, &new, "", text));
    hints.extend(unnamed);
    hints
}

/// What to do about queues whose rules are replaced, and whose clusters neither a tag nor a usual name tells.
fn unnamed(survey: &Survey, queues: &[FoundQueue]) -> Option<Hint> {
    let unnamed = queues
        .iter()
        .filter(|queue| queue.cluster.is_none() && queue.is_replaced());
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
            let exists = queue.reader != Reader::NoQueue;
            moves.entry(cluster).or_default().insert(&queue.name, exists);
        }
    }
    moves
}

/// The prefix that the queues of most clusters have before their names, and how many these are; of several, the default if it
/// is among them.
fn most_common(moves: &Moves<'_>) -> (QueuePrefix, usize) {
    let mut counts: BTreeMap<QueuePrefix, usize> = BTreeMap::new();
    for (cluster, queues) in moves {
        for queue in queues.keys() {
            let prefix = queue.as_str().strip_suffix(cluster.as_str());
            if let Some(prefix) = prefix.and_then(|prefix| prefix.parse().ok()) {
                *counts.entry(prefix).or_default() += 1;
            }
        }
    }
    let default = default_queue_prefix();
    let most = counts
        .into_iter()
        .max_by_key(|(prefix, count)| (*count, *prefix == default));
    most.unwrap_or((default, 0))
}

/// The command for a hub with the prefix that the queues of this many of the clusters have.
fn bootstrap(survey: &Survey, prefix: &QueuePrefix, count: usize, clusters: usize) -> Hint {
    if *prefix == default_queue_prefix() {
        return Hint::command("Create the hub:", survey.scope.kibus("bootstrap-hub"));
    }
    let option = format!("bootstrap-hub --queue-prefix {}", quoted(prefix.as_str()));
    let of_all = match clusters {
        _ if count < clusters => format!("{count} of these {clusters} clusters use"),
        1 => "this cluster uses".to_owned(),
        _ => "these clusters use".to_owned(),
    };
    Hint::command(
        format!("Create the hub. With this prefix, its queues have the names that {of_all} already:"),
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
                survey.scope.kibus(format!(
                    "add-cluster {cluster} --controller-role {}{option}",
                    quoted(role.as_str())
                )),
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
    let candidates = RoleCandidates::of(cluster, survey.known.listed_roles.present()?);
    match candidates.suffixed.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}
