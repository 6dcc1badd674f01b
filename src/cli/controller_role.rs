//! Finding the role that a cluster's Karpenter controller runs as.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use crate::error::Error;
use crate::model::cluster::controller_role_candidates;
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::ResourceId;

/// With more clusters than this, listing all roles once takes fewer calls than asking by name.
const ASK_BY_NAME_UP_TO: usize = 10;

/// Finds the controller role of each cluster: the one candidate that exists, or the one role whose name is a
/// candidate with a generated suffix.
pub(super) async fn find(
    context: &Context<'_>,
    clusters: &[ClusterName],
) -> Result<BTreeMap<ClusterName, RoleName>, Error> {
    let mut found = BTreeMap::new();
    let mut open: Vec<&ClusterName> = clusters.iter().collect();
    if clusters.len() <= ASK_BY_NAME_UP_TO {
        let asked = clusters
            .iter()
            .flat_map(controller_role_candidates)
            .map(ResourceId::Role);
        let observed = context.read(asked.collect::<BTreeSet<_>>()).await?;
        let exists = |role: &RoleName| observed.resource(&ResourceId::Role(role.clone())).is_some();
        let mut left = Vec::new();
        for cluster in open {
            let roles: Vec<RoleName> = controller_role_candidates(cluster)
                .into_iter()
                .filter(&exists)
                .collect();
            match roles.as_slice() {
                [] => left.push(cluster),
                [one] => drop(found.insert(cluster.clone(), one.clone())),
                several => return Err(ambiguous(context, cluster, several)),
            }
        }
        open = left;
    }
    if !open.is_empty() {
        let all = context.role_names().await?;
        for cluster in open {
            match matching(cluster, &all).as_slice() {
                [] => return Err(none(context, cluster, &all)),
                [one] => drop(found.insert(cluster.clone(), one.clone())),
                several => return Err(ambiguous(context, cluster, several)),
            }
        }
    }
    Ok(found)
}

/// Checks that roles that were named exist.
pub(super) async fn check(context: &Context<'_>, cluster: &ClusterName, role: &RoleName) -> Result<(), Error> {
    let id = ResourceId::Role(role.clone());
    if context.read([id.clone()]).await?.resource(&id).is_some() {
        return Ok(());
    }
    let all = context.role_names().await?;
    Err(with_near(
        Error::failed(format!("there is no role `{role}`")).note("nothing was changed"),
        cluster,
        &all,
    )
    .hint("name the role that the Karpenter controller runs as with --controller-role"))
}

/// The roles that can be meant: a candidate's own name, else a candidate's name with a generated suffix.
fn matching(cluster: &ClusterName, all: &BTreeSet<RoleName>) -> Vec<RoleName> {
    let candidates = controller_role_candidates(cluster);
    let exact: Vec<RoleName> = candidates.iter().filter(|role| all.contains(role)).cloned().collect();
    if !exact.is_empty() {
        return exact;
    }
    let generated = |role: &&RoleName| {
        candidates.iter().any(|candidate| {
            role.as_str()
                .strip_prefix(candidate.as_str())
                .and_then(|rest| rest.strip_prefix('-'))
                .is_some_and(is_generated)
        })
    };
    all.iter().filter(generated).cloned().collect()
}

/// Whether a suffix is one that Terraform (`name_prefix`: 26 digits) or CloudFormation (12 or 13 capitals and
/// digits) makes up. Anything else may be part of another cluster's name.
fn is_generated(suffix: &str) -> bool {
    let terraform = suffix.len() == 26 && suffix.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    let cloudformation =
        matches!(suffix.len(), 12 | 13) && suffix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    terraform || cloudformation
}

fn ambiguous(context: &Context<'_>, cluster: &ClusterName, roles: &[RoleName]) -> Error {
    let names = roles
        .iter()
        .map(|role| format!("`{role}`"))
        .collect::<Vec<_>>()
        .join(", ");
    Error::failed(format!(
        "several roles could be the controller role of cluster `{cluster}`: {names}"
    ))
    .note("nothing was changed")
    .hint_command(
        "to say which one it is:",
        context.command(&format!("add-cluster {cluster} --controller-role {}", roles[0])),
    )
}

fn none(context: &Context<'_>, cluster: &ClusterName, all: &BTreeSet<RoleName>) -> Error {
    let error = Error::failed(format!("no controller role was found for cluster `{cluster}`"))
        .note("nothing was changed")
        .note(format!(
            "looked for {}",
            controller_role_candidates(cluster)
                .iter()
                .map(|role| format!("`{role}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ));
    with_near(error, cluster, all)
        .hint_command(
            "to name the role that the Karpenter controller runs as:",
            context.command(&format!("add-cluster {cluster} --controller-role NAME")),
        )
        .hint_command(
            "to leave IAM alone and add the permission by other means:",
            context.command(&format!("add-cluster {cluster} --no-controller-role")),
        )
}

/// Adds the roles that come near: those that name the cluster or Karpenter, at most ten.
fn with_near(error: Error, cluster: &ClusterName, all: &BTreeSet<RoleName>) -> Error {
    let near = |role: &&RoleName| {
        let name = role.as_str().to_lowercase();
        name.contains("karpenter") || name.contains(&cluster.as_str().to_lowercase())
    };
    let near: Vec<String> = all
        .iter()
        .filter(near)
        .take(10)
        .map(|role| format!("`{role}`"))
        .collect();
    if near.is_empty() {
        error
    } else {
        error.note(format!("roles that come near: {}", near.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_found_by_its_name() {
        for (cluster, roles, found) in [
            (
                "base",
                vec!["KarpenterServiceAccount-base", "other"],
                vec!["KarpenterServiceAccount-base"],
            ),
            (
                "base",
                vec!["base-karpenter", "KarpenterIRSA-base"],
                vec!["KarpenterIRSA-base", "base-karpenter"],
            ),
            (
                "base",
                vec!["KarpenterIRSA-base-20230918120501234500000001"],
                vec!["KarpenterIRSA-base-20230918120501234500000001"],
            ),
            (
                "base",
                vec!["KarpenterIRSA-base-1A2B3C4D5E6F"],
                vec!["KarpenterIRSA-base-1A2B3C4D5E6F"],
            ),
            // The role of a cluster named base-2.
            ("base", vec!["KarpenterIRSA-base-2"], vec![]),
            ("base", vec!["KarpenterIRSA-base2"], vec![]),
            (
                "base",
                vec!["KarpenterIRSA-base", "KarpenterIRSA-base-1A2B3C4D5E6F"],
                vec!["KarpenterIRSA-base"],
            ),
            ("base", vec![], vec![]),
        ] {
            let all: BTreeSet<RoleName> = roles.iter().map(|role| role.parse().unwrap()).collect();
            let mut names: Vec<String> = matching(&cluster.parse().unwrap(), &all)
                .iter()
                .map(ToString::to_string)
                .collect();
            names.sort();
            assert_eq!(names, found, "{cluster} in {roles:?}");
        }
    }
}
