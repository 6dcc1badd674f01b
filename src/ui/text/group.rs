//! Which changes of a plan belong together: the hub's own, and each cluster's.

use std::cmp::Ordering;
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
    groups.sort_by(|a, b| {
        let key = |group: &Group<'_>| group.owner.as_ref().map(|owner| owner.name().to_owned());
        let (a, b) = (key(a), key(b));
        a.as_deref().map(counted).cmp(&b.as_deref().map(counted))
    });
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

/// The order of two names as people count: `tenant-2` before `tenant-10`.
#[must_use]
pub fn by_count(a: &str, b: &str) -> Ordering {
    counted(a).cmp(&counted(b))
}

/// A name taken apart into text and the number after it, so that names sort as people count; the name itself
/// decides between `a-1` and `a-01`.
fn counted(name: &str) -> (Vec<(&str, u64)>, &str) {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (text, after) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let (number, after) = after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()));
        parts.push((text, number.parse().unwrap_or(0)));
        rest = after;
    }
    (parts, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["t-10", "t-2", "base", "t-1", "t-1-b", "t", "t-01"];
        names.sort_by_key(|name| counted(name));
        assert_eq!(names, ["base", "t", "t-01", "t-1", "t-1-b", "t-2", "t-10"]);
    }
}
