//! Checks of controller roles: queues of other tools, and the space for policies.

use std::collections::BTreeMap;

use super::second_source;
use super::target::Target;
use crate::error::Hint;
use crate::model::cluster::Cluster;
use crate::model::fact::Fact;
use crate::model::inventory::Desired;
use crate::model::name::RoleName;
use crate::model::resource::{Resource, RolePolicy};
use crate::plan::{Refusal, SecondSources, check_space};
use crate::survey::Survey;

/// The results of the checks.
#[derive(Default)]
pub(super) struct RoleCheck {
    /// Roles without space for the policies of their clusters.
    pub(super) refusals: Vec<Refusal>,
    /// Warnings.
    pub(super) warnings: Vec<Hint>,
    /// Other queues that the roles may read.
    pub(super) second_sources: SecondSources,
}

/// Checks the role of every controller policy in a desired inventory. Of clusters that are neither set nor checked, only
/// the space is.
pub(super) fn check(survey: &Survey, target: &Target, set: &[Cluster], desired: &Desired) -> RoleCheck {
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
                second_source::by_policies(&mut check.second_sources, role, &policies, live);
                let space = live.all().map(|inline| check_space(role, &policies, &inline));
                check.refusals.extend(space.and_then(Result::err));
            }
            Some(Fact::Absent | Fact::NotAsked) | None => {}
        }
    }
    if set.is_empty() && !target.is_check() {
        return RoleCheck {
            refusals: check.refusals,
            ..RoleCheck::default()
        };
    }
    second_source::by_name(&mut check.second_sources, survey, set);
    check
}
