//! Checks of controller roles: queues of other tools, and the space for policies.

use std::collections::BTreeMap;

use crate::error::Hint;
use crate::model::inventory::Desired;
use crate::model::name::RoleName;
use crate::model::resource::{Resource, RolePolicy};
use crate::plan::{Refusal, check_space, other_queues};
use crate::survey::{Fact, Survey};

/// The results of the checks.
#[derive(Default)]
pub(super) struct RoleCheck {
    /// Roles without space for the policies of their clusters.
    pub(super) refusals: Vec<Refusal>,
    /// Warnings.
    pub(super) warnings: Vec<Hint>,
}

/// Checks the role of every controller policy in a desired inventory.
pub(super) fn check(survey: &Survey, desired: &Desired) -> RoleCheck {
    let mut by_role: BTreeMap<&RoleName, Vec<&RolePolicy>> = BTreeMap::new();
    let router = survey.scope.router_role();
    for resource in desired.resources() {
        if let Resource::RolePolicy(policy) = resource
            && policy.role != router
        {
            by_role.entry(&policy.role).or_default().push(policy);
        }
    }
    let mut check = RoleCheck::default();
    if let Some(role) = survey.caller_role.as_ref().filter(|role| by_role.contains_key(role)) {
        check.warnings.push(Hint::text(format!(
            "controller role `{role}` is the role that this command runs as: check that Karpenter runs as it too"
        )));
    }
    for (role, policies) in by_role {
        match survey.roles.get(role) {
            Some(Fact::Unreadable(fault)) => check.warnings.push(Hint::text(format!(
                "the other policies of role `{role}` could not be read, so it is unknown whether it has space: {fault}"
            ))),
            Some(Fact::Present(live)) => {
                let live: Vec<_> = live.documents.values().cloned().collect();
                let others = other_queues(role, &policies, &live);
                check
                    .warnings
                    .extend(others.iter().map(|other| Hint::text(other.to_string())));
                check.refusals.extend(check_space(role, &policies, &live).err());
            }
            Some(Fact::Absent | Fact::NotAsked) | None => {}
        }
    }
    check
}
