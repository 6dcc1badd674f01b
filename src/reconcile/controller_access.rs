//! What a controller role may do, beside the policy of kibus on it: for each cluster whose Karpenter is known to be v1.12 or later,
//! IAM is asked once, if that is allowed. What it answers is a warning at most.

use std::collections::{BTreeMap, BTreeSet};

use super::clusters::{self, RoleDecision};
use super::role_search::{self, Found};
use super::target::Target;
use crate::error::Hint;
use crate::model::karpenter::{ASKS_EC2, KarpenterVersion};
use crate::model::name::{ClusterName, RoleName};
use crate::model::simulation::Decision;
use crate::model::tags::Tags;
use crate::survey::{Query, Survey};

const ASK_OTHERS: &str = "Let those who manage that allow it";

/// What to read next: the ARNs of the roles, which the list of roles has, and then what they may do.
pub(super) fn to_read(survey: &Survey, target: &Target) -> Query {
    let wanted = wanted(survey, target);
    Query {
        role_names: !wanted.is_empty(),
        controller_access: wanted,
        ..Query::default()
    }
}

/// The clusters of a target whose Karpenter also asks EC2, with their roles.
fn wanted(survey: &Survey, target: &Target) -> BTreeSet<(ClusterName, RoleName)> {
    let asks_ec2 = |version: Option<KarpenterVersion>| version.is_some_and(KarpenterVersion::asks_ec2);
    let set = target.set().into_iter().filter_map(|(name, setting)| {
        let saved = || survey.saved_tags(name).and_then(Tags::karpenter_version);
        match asks_ec2(setting.karpenter_version.or_else(saved)).then(|| clusters::decide(survey, name, setting))? {
            RoleDecision::Role(role) => Some((name.clone(), role)),
            _ => None,
        }
    });
    let kept = clusters::kept(survey, target).into_iter().filter_map(|(name, tags)| {
        match asks_ec2(tags.karpenter_version()).then(|| role_search::find(survey, &name))? {
            Found::One(role, _) => Some((name, role)),
            _ => None,
        }
    });
    set.chain(kept).collect()
}

/// What the roles lack, as far as IAM said it.
pub(super) fn warnings(survey: &Survey) -> Vec<Hint> {
    let of = |((cluster, role), decisions): (&(ClusterName, RoleName), _)| of_role(survey, cluster, role, decisions);
    survey.controller_access.iter().flat_map(of).collect()
}

fn of_role(
    survey: &Survey,
    cluster: &ClusterName,
    role: &RoleName,
    decisions: &BTreeMap<String, Decision>,
) -> Vec<Hint> {
    let mut warnings = Vec::new();
    let mut of_queue: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (action, decision) in decisions {
        let Some(why) = decision.denial("the role") else {
            continue;
        };
        if action == ASKS_EC2 {
            let (unless, advice) = match decision {
                Decision::NoPolicy { keys } => (
                    unless(keys),
                    "Allow it in a policy of the role, as Karpenter's own policies do",
                ),
                _ => (String::new(), ASK_OTHERS),
            };
            warnings.push(Hint::text(format!(
                "role `{role}` of cluster `{cluster}` lacks {action}: {why}{unless}. Karpenter asks EC2 with it for maintenance and \
                 failed status checks from v1.12 on, and stops asking when it is denied. {advice}"
            )));
        // The policy of kibus, which may not be written yet, can change anything else.
        } else if matches!(decision, Decision::Boundary | Decision::Organization) {
            of_queue.entry(why).or_default().push(action);
        }
    }
    let queue = survey.cluster_queue(cluster);
    warnings.extend(of_queue.into_iter().map(|(why, actions)| {
        Hint::text(format!(
            "role `{role}` of cluster `{cluster}` cannot use queue `{queue}`, whatever its policies allow: {why} ({}). {ASK_OTHERS}",
            actions.join(", ")
        ))
    }));
    warnings
}

/// The keys that may decide about a call without a resource. Policies of Karpenter have many others, about tags and resources.
fn unless(keys: &BTreeSet<String>) -> String {
    let others = ["aws:RequestTag/", "aws:ResourceTag/", "aws:TagKeys"];
    let keys = keys.iter().filter(|key| {
        let is_other = others.iter().any(|other| key.starts_with(other));
        key.starts_with("aws:") && !is_other
    });
    match keys.cloned().collect::<Vec<_>>().join(", ") {
        keys if keys.is_empty() => keys,
        keys => format!(", unless one that depends on {keys} does"),
    }
}
