//! The steps that are left to the user: the Karpenter settings of each cluster, policies to attach, commands to run.

use super::{Case, ClusterSetting, HubSetting, LISTED, RoleOption, Wish, queue_setting, removed_records, router};
use crate::error::Hint;
use crate::model::{ClusterRecord, QueueField, ResourceId, Standing, by_count, first_of, policy};
use crate::plan::{Action, Change};

/// The placeholder for the queue name in a text for several clusters.
const ANY_QUEUE: &str = "QUEUE";

/// The steps after the changes.
pub(super) fn after(case: &Case<'_>) -> Vec<Hint> {
    let scope = &case.survey.scope;
    let mut next: Vec<Hint> = after_hub(case).into_iter().collect();
    let removed = removed_records(case).filter(|record| record.has_own_queue() && record.role.is_none());
    let removed = in_order(removed);
    if !removed.is_empty() {
        next.push(Hint::text(format!(
            "Kibus does not manage the controller role of {}. If you attached the policy by hand (Sid \
             KibusReadInterruptions), remove it.",
            names(&removed)
        )));
    }
    let set = in_order(&case.set);
    let Some(first) = case.set.first() else {
        return next;
    };
    if case.target.set().any(|(_, setting)| changes_settings(case, setting)) {
        next.extend(policy_to_attach(case));
        next.extend(configure(&set));
        if case.target.set().any(|(_, setting)| setting.show_settings) {
            next.push(Hint::text(format!("Before Karpenter v0.33, the key is {}.", queue_setting::OLDER_KEY)));
        }
        let names: Vec<&str> = case.set.iter().map(|record| record.cluster.as_str()).collect();
        let named = if names.len() > LISTED { String::new() } else { format!(" {}", names.join(" ")) };
        next.push(Hint::command("Then check it:", scope.kibus(format!("verify --probe{named}"))));
    } else {
        next.extend(remind(&set));
        next.push(Hint::command("To see the commands:", scope.kibus(format!("add-cluster {} -v", first.cluster))));
    }
    // Shown once, with the first clusters.
    if case.survey.recorded().is_empty() {
        next.push(Hint::command(
            "Rules and queues of an earlier setup stay until you delete them. To find them:",
            scope.kibus("discover"),
        ));
    }
    next
}

fn after_hub(case: &Case<'_>) -> Option<Hint> {
    let scope = &case.survey.scope;
    match &case.target.hub {
        Wish::Set(HubSetting::Bootstrap(_)) if case.before.is_none() && case.survey.recorded().is_empty() => {
            Some(Hint::command("Next:", scope.kibus("add-cluster NAME")))
        }
        Wish::Set(HubSetting::Bootstrap(_)) if case.before.is_some() && changes_cluster_queues(case) => {
            Some(Hint::command(
                "The queues of clusters do not have this policy change yet; add-cluster applies it. To find these clusters:",
                scope.kibus("verify"),
            ))
        }
        Wish::Set(HubSetting::RollBack(_)) => Some(Hint::command(
            "bootstrap-hub keeps this version. To end the rollback and upgrade again:",
            scope.kibus(router::END_ROLLBACK),
        )),
        Wish::Set(_) | Wish::Leave | Wish::Keep | Wish::Remove => None,
    }
}

/// Whether the policies of cluster queues change too, like that of the probe queue.
fn changes_cluster_queues(case: &Case<'_>) -> bool {
    let probe = ResourceId::Queue(case.survey.scope.probe_queue());
    let policies = [QueueField::Policy, QueueField::RedriveAllow];
    let changes = |change: &Change| {
        change.action == Action::Update && change.id == probe && policies.iter().any(|field| change.touches(*field))
    };
    case.plan.changes.iter().any(changes)
}

/// Whether to show the Karpenter settings: for a new queue, or on request.
fn changes_settings(case: &Case<'_>, setting: &ClusterSetting) -> bool {
    let new_queue = |change: &Change| {
        change.action == Action::Create && matches!(change.id, ResourceId::Queue(_)) && change.cluster.is_some()
    };
    setting.show_settings || setting.role == RoleOption::Unmanaged || case.plan.changes.iter().any(new_queue)
}

/// The policy that controller roles need if kibus does not manage them. The clusters share it.
fn policy_to_attach(case: &Case<'_>) -> Option<Hint> {
    let clusters: Vec<_> = case.set.iter().filter(|record| record.role.is_none() && !record.external).collect();
    let queue = &clusters.first()?.queue;
    let document = policy::controller_policy(&case.survey.scope, queue, case.after.options.key());
    let roles = match clusters.as_slice() {
        [one] => format!("role of {}", one.cluster),
        _ => format!("roles of {}. For each cluster, replace {queue} with its own queue", names(&in_order(clusters))),
    };
    Some(Hint::command(format!("Attach this policy to the controller {roles}:"), document.pretty()))
}

/// The setting with the queue name: one text for all clusters.
fn configure(clusters: &[&ClusterRecord]) -> Vec<Hint> {
    let (whom, queue) = whom(clusters);
    let mut steps = vec![
        Hint::command(format!("Set the queue of {whom} in its Helm values:"), queue_setting::values(queue)),
        Hint::command(
            format!(
                "To apply it now, if its release is karpenter in {}, with the installed VERSION:",
                queue_setting::NAMESPACE
            ),
            queue_setting::helm_upgrade(queue),
        ),
    ];
    steps.extend(queues(clusters));
    steps
}

/// The expected setting.
fn remind(clusters: &[&ClusterRecord]) -> Vec<Hint> {
    let (whom, queue) = whom(clusters);
    let end = if clusters.len() == 1 { "." } else { "," };
    let setting = format!("{whom} should have {} in its Helm values{end}", queue_setting::assignment(queue));
    std::iter::once(Hint::text(setting)).chain(queues(clusters)).collect()
}

/// The clusters of a text, and the queue in it.
fn whom<'a>(clusters: &[&'a ClusterRecord]) -> (String, &'a str) {
    match clusters {
        [one] => (format!("Karpenter in {}", one.cluster), one.queue.as_str()),
        _ => ("Karpenter".to_owned(), ANY_QUEUE),
    }
}

/// The queue of each cluster, for a text for several clusters.
fn queues(clusters: &[&ClusterRecord]) -> Option<Hint> {
    let listed = clusters.iter().take(LISTED);
    let width = listed.clone().map(|one| one.cluster.as_str().len()).max().unwrap_or(0);
    let mut lines: Vec<String> = listed.map(|one| format!("{:width$}   {}", one.cluster.as_str(), one.queue)).collect();
    if clusters.len() > LISTED {
        lines.push(format!("and {} more", clusters.len() - LISTED));
    }
    (clusters.len() > 1).then(|| Hint::command(format!("with the {ANY_QUEUE} of each cluster:"), lines.join("\n")))
}

/// The step before queues are deleted: stop each Karpenter from using its queue.
pub(super) fn before(case: &Case<'_>) -> Option<Hint> {
    let is_deleted = |record: &&ClusterRecord| matches!(case.survey.own_queue(record), Some((_, Standing::Ours)));
    let clusters = in_order(removed_records(case).filter(is_deleted));
    (!clusters.is_empty()).then(|| {
        Hint::command(
            format!(
                "first remove the queue from the settings of Karpenter in {}: if its queue is missing, Karpenter v0.33 to \
                 v1.3 panics at its next start; other versions log an error and retry indefinitely",
                names(&clusters)
            ),
            queue_setting::helm_upgrade(""),
        )
    })
}

/// Clusters in natural order.
fn in_order<'a>(records: impl IntoIterator<Item = &'a ClusterRecord>) -> Vec<&'a ClusterRecord> {
    let mut records: Vec<_> = records.into_iter().collect();
    records.sort_by(|a, b| by_count(a.cluster.as_str(), b.cluster.as_str()));
    records
}

fn names(clusters: &[&ClusterRecord]) -> String {
    first_of(clusters.iter().map(|one| &one.cluster), LISTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HubOptions, Moment, scope::tests::scope};

    #[test]
    fn clusters_are_in_the_order_of_their_numbers() {
        let records = ["tenant-10", "tenant-2", "base"]
            .map(|cluster| ClusterRecord::new(&scope(), &HubOptions::default(), cluster.parse().unwrap(), Moment(0)));
        let ordered = in_order(&records).into_iter().map(|record| record.cluster.as_str());
        assert_eq!(ordered.collect::<Vec<_>>(), ["base", "tenant-2", "tenant-10"]);
    }
}
