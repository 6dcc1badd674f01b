//! Which changes of a plan belong together: the hub's own, and each cluster's.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::model::name::ClusterName;
use crate::plan::{Change, Plan};

/// Changes that belong together, in the order of the plan.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// The cluster; `None` for the hub.
    pub(super) cluster: Option<&'a ClusterName>,
    pub(super) changes: Vec<&'a Change>,
}

/// The groups of a plan, the hub's first, the clusters' in natural order.
pub(super) fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
    for change in &plan.changes {
        let cluster = change.cluster.as_ref();
        let place = cluster.map(|name| counted(name.as_str()));
        let new = || Group {
            cluster,
            changes: Vec::new(),
        };
        groups.entry(place).or_insert_with(new).changes.push(change);
    }
    groups.into_values().collect()
}

/// The order of two names as people count: `tenant-2` before `tenant-10`.
pub(super) fn by_count(a: &str, b: &str) -> Ordering {
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
