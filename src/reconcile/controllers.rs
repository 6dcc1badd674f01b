//! Checks of controller roles: queues of other tools, and the space for policies.

use std::collections::BTreeMap;

use super::SecondSources;
use super::target::Target;
use crate::error::Hint;
use crate::model::cluster::Cluster;
use crate::model::fact::Fact;
use crate::model::inline_policy::{InlinePolicy, space};
use crate::model::inventory::Desired;
use crate::model::name::RoleName;
use crate::model::resource::{Resource, RolePolicy};
use crate::plan::{ROLE_SPACE, Refusal};
use crate::survey::Survey;

/// The results of the checks.
#[derive(Default)]
pub(super) struct RoleCheck {
    /// Roles without space for the policies of their clusters.
    pub(super) refusals: Vec<Refusal>,
    pub(super) warnings: Vec<Hint>,
    pub(super) second_sources: SecondSources,
}

/// Checks the role of every controller policy in a desired inventory. Of clusters that are neither set nor checked, only
/// the space is.
pub(super) fn check(survey: &Survey, target: &Target, set: &[Cluster], desired: &Desired) -> RoleCheck {
    let mut by_role: BTreeMap<&RoleName, Vec<&RolePolicy>> = BTreeMap::new();
    let policies = desired.resources().filter_map(Resource::as_role_policy);
    for policy in policies.filter(|policy| policy.role != survey.scope.router_role()) {
        by_role.entry(&policy.role).or_default().push(policy);
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
                check.second_sources.by_policies(role, &policies, live);
                let full = live.all().and_then(|inline| full(role, &policies, &inline));
                check.refusals.extend(full);
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
    check.second_sources.by_name(survey, set);
    check
}

/// The refusal of desired policies for which a role has no space beside its other policies. Policies that are no larger
/// than the current ones of the same names are not refused.
fn full(role: &RoleName, wanted: &[&RolePolicy], live: &[InlinePolicy]) -> Option<Refusal> {
    let named = |policy: &&InlinePolicy| wanted.iter().any(|wanted| wanted.name.as_str() == policy.name);
    let sum = |policies: Vec<&InlinePolicy>| policies.iter().map(|policy| space(&policy.text)).sum::<usize>();
    let (before, others) = live.iter().partition(named);
    let (before, others) = (sum(before), sum(others));
    let needed = wanted.iter().map(|policy| space(&policy.document.compact())).sum();
    (needed > before && others + needed > ROLE_SPACE).then(|| Refusal::NoRoleSpace {
        role: role.clone(),
        needed,
        left: ROLE_SPACE.saturating_sub(others),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document::Document;
    use serde_json::json;

    fn wanted() -> RolePolicy {
        let statement = json!({
            "Sid": "KibusReadInterruptions",
            "Effect": "Allow",
            "Action": "sqs:ReceiveMessage",
            "Resource": "arn:aws:sqs:us-west-2:111122223333:karpenter-base",
        });
        RolePolicy {
            role: "r".parse().unwrap(),
            name: "kibus-us-west-2-base".parse().unwrap(),
            document: Document::new(json!({"Statement": [statement]})),
        }
    }

    #[test]
    fn a_full_role_is_seen_before_anything_is_written() {
        let wanted = wanted();
        let needed = space(&wanted.document.compact());
        let filler = |characters: usize| InlinePolicy {
            name: "theirs".to_owned(),
            text: format!("{}   \n", "x".repeat(characters)),
        };
        let ours = InlinePolicy {
            name: wanted.name.to_string(),
            text: format!("{:#}", wanted.document.value()),
        };
        for (case, live, fits) in [
            ("an empty role", vec![], true),
            ("just enough", vec![filler(ROLE_SPACE - needed)], true),
            ("one too many", vec![filler(ROLE_SPACE - needed + 1)], false),
            (
                "over the limit with ours there already",
                vec![filler(ROLE_SPACE), ours],
                true,
            ),
        ] {
            let refused = full(&wanted.role, &[&wanted], &live);
            assert_eq!(refused.is_none(), fits, "{case}: {refused:?}");
        }
        assert_eq!(
            full(&wanted.role, &[&wanted], &[filler(ROLE_SPACE)]),
            Some(Refusal::NoRoleSpace {
                role: wanted.role.clone(),
                needed,
                left: 0
            })
        );
    }
}
