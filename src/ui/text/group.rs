//! Which changes of a plan belong together: the hub's own, and each cluster's.

use std::collections::BTreeMap;

use super::summary::queue_of;
use crate::model::name::ClusterName;
use crate::model::resource::{Resource, ResourceId};
use crate::model::tags::CLUSTER;
use crate::plan::{Change, Plan};

/// Changes that belong together, in the order of the plan.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// The cluster, or its queue where only that is known; nothing for the hub.
    pub(super) owner: Option<Owner>,
    /// The changes.
    pub(super) changes: Vec<&'a Change>,
}

/// Whose changes they are. Clusters sort as people count: `tenant-2` before `tenant-10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A cluster.
    Cluster(String),
    /// A cluster of which the plan shows only the name of the queue.
    Queue(String),
}

impl Owner {
    /// The words for it.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Cluster(name) => format!("cluster {name}"),
            Self::Queue(name) => format!("cluster of queue {name}"),
        }
    }

    /// The bare name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Cluster(name) | Self::Queue(name) => name,
        }
    }
}

/// The groups of a plan, the hub's first.
pub(super) fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let clusters = clusters_by_queue(plan);
    let mut groups: Vec<Group<'_>> = Vec::new();
    for change in &plan.changes {
        let owner = owner(change, &clusters);
        match groups.iter_mut().find(|group| group.owner == owner) {
            Some(group) => group.changes.push(change),
            None => groups.push(Group {
                owner,
                changes: vec![change],
            }),
        }
    }
    groups.sort_by_cached_key(|group| group.owner.as_ref().map(|owner| counted(owner.name())));
    groups
}

fn clusters_by_queue(plan: &Plan) -> BTreeMap<String, String> {
    let mut clusters = BTreeMap::new();
    for change in &plan.changes {
        for resource in [&change.before, &change.after].into_iter().flatten() {
            if let Resource::Queue(queue) = resource
                && let Some(cluster) = queue.tags.get(CLUSTER)
                // What carries the tag and no cluster's name is the hub's own probe queue.
                && let Ok(cluster) = cluster.parse::<ClusterName>()
            {
                clusters.insert(queue.name.to_string(), cluster.to_string());
            }
        }
    }
    clusters
}

fn owner(change: &Change, clusters: &BTreeMap<String, String>) -> Option<Owner> {
    let queue = match (&change.id, change.after.as_ref().or(change.before.as_ref())) {
        (ResourceId::Queue(name), _) => {
            return clusters.get(name.as_str()).cloned().map(Owner::Cluster);
        }
        // The router's own policy has its role's name; every other one is for a cluster's queue.
        (ResourceId::RolePolicy(role, policy), Some(Resource::RolePolicy(found)))
            if role.as_str() != policy.as_str() =>
        {
            queue_of(found)
        }
        _ => return None,
    }?;
    Some(
        clusters
            .get(&queue)
            .cloned()
            .map_or(Owner::Queue(queue), Owner::Cluster),
    )
}

/// A name taken apart into text and numbers, so that names sort as people count.
fn counted(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0)];
    let mut number = String::new();
    for c in name.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        if !number.is_empty() {
            parts.push((String::new(), 0));
            let before = parts.len() - 2;
            parts[before].1 = number.parse().unwrap_or(u64::MAX);
            number.clear();
        }
        if let Some(part) = parts.last_mut() {
            part.0.push(c);
        }
    }
    if let Some(part) = parts.last_mut() {
        part.1 = number.parse().unwrap_or(0);
    }
    // The name itself decides between `a-1` and `a-01`.
    parts.push((name.to_owned(), 0));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["t-10", "t-2", "base", "t-1", "t-1-b", "t", "t-01"];
        names.sort_by_cached_key(|name| counted(name));
        assert_eq!(names, ["base", "t", "t-01", "t-1", "t-1-b", "t-2", "t-10"]);
    }
}
