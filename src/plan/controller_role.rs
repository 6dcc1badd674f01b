//! Whether a controller role has space for the policy of its cluster, and whether it already reads other queues.

use std::collections::BTreeSet;
use std::fmt;

use super::Refusal;
use crate::model::inline_policy::{InlinePolicy, matches, queues_received_from, space};
use crate::model::name::RoleName;
use crate::model::policy;
use crate::model::resource::RolePolicy;

/// The maximum size of all inline policies of a role together, in characters (IAM user guide, "IAM and STS character
/// quotas"); the quota cannot be raised.
pub const ROLE_SPACE: usize = 10_240;

/// A role may receive from queues of other tools. The cluster probably receives interruptions by other means already,
/// and would receive them twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherQueues {
    /// The role.
    pub role: RoleName,
    /// The inline policy that allows it.
    pub policy: String,
    /// The queues' ARNs, as the policy writes them.
    pub queues: BTreeSet<String>,
}

impl fmt::Display for OtherQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queues: Vec<&str> = self.queues.iter().map(String::as_str).collect();
        write!(
            f,
            "controller role `{}` may already receive from {}, by its inline policy `{}`: if that queue has rules of its \
             own, the cluster is set up twice",
            self.role,
            queues.join(", "),
            self.policy
        )
    }
}

/// The policies of a role that allow other queues than the desired policies do, without policies that kibus wrote for
/// other clusters or buses on a shared role.
#[must_use]
pub fn other_queues(role: &RoleName, wanted: &[&RolePolicy], live: &[InlinePolicy]) -> Vec<OtherQueues> {
    let own: BTreeSet<String> = wanted
        .iter()
        .flat_map(|policy| queues_received_from(&policy.document))
        .collect();
    live.iter()
        .filter(|policy| !wanted.iter().any(|wanted| wanted.name.as_str() == policy.name))
        .filter_map(|policy| {
            let document = policy.document()?;
            if policy::all_ours(&document) {
                return None;
            }
            let mut queues = queues_received_from(&document);
            queues.retain(|pattern| !own.iter().any(|queue| matches(pattern, queue)));
            (!queues.is_empty()).then(|| OtherQueues {
                role: role.clone(),
                policy: policy.name.clone(),
                queues,
            })
        })
        .collect()
}

/// Refuses desired policies for which a role has no space beside its other policies.
///
/// # Errors
/// When there is no space, and the desired policies are larger than the current ones of the same names.
pub fn check_space(role: &RoleName, wanted: &[&RolePolicy], live: &[InlinePolicy]) -> Result<(), Refusal> {
    let named = |policy: &&InlinePolicy| wanted.iter().any(|wanted| wanted.name.as_str() == policy.name);
    let sum = |policies: Vec<&InlinePolicy>| policies.iter().map(|policy| space(&policy.text)).sum::<usize>();
    let (before, others): (Vec<_>, Vec<_>) = live.iter().partition(named);
    let (before, others) = (sum(before), sum(others));
    let needed = wanted
        .iter()
        .map(|policy| space(&policy.document.compact()))
        .sum::<usize>();
    if needed > before && others + needed > ROLE_SPACE {
        return Err(Refusal::NoRoleSpace {
            role: role.clone(),
            needed,
            left: ROLE_SPACE.saturating_sub(others),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document::Document;
    use serde_json::json;

    const OURS: &str = "arn:aws:sqs:us-west-2:111122223333:karpenter-base";

    fn wanted() -> RolePolicy {
        RolePolicy {
            role: "r".parse().unwrap(),
            name: "kibus-us-west-2-base".parse().unwrap(),
            document: Document::new(opens("KibusReadInterruptions", OURS)),
        }
    }

    fn opens(sid: &str, queue: &str) -> serde_json::Value {
        json!({"Statement": [{"Sid": sid, "Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": queue}]})
    }

    fn live(name: &str, document: &serde_json::Value) -> InlinePolicy {
        InlinePolicy {
            name: name.to_owned(),
            text: format!("{document:#}"),
        }
    }

    #[test]
    fn another_set_up_of_the_cluster_is_seen() {
        let other = "arn:aws:sqs:us-west-2:111122223333:base";
        for (case, name, document, seen) in [
            ("another queue", "karpenter", opens("Interruption", other), true),
            ("the same queue", "karpenter", opens("Interruption", OURS), false),
            (
                "a pattern that holds the same queue",
                "karpenter",
                opens("Interruption", "arn:aws:sqs:*:111122223333:karpenter-*"),
                false,
            ),
            (
                "a cluster of ours on a shared role",
                "kibus-us-west-2-b",
                opens("KibusX", other),
                false,
            ),
            ("ours, edited", "kibus-us-west-2-base", opens("Theirs", other), false),
            ("no queue", "karpenter", json!({"Statement": []}), false),
        ] {
            let role = "r".parse().unwrap();
            let found = other_queues(&role, &[&wanted()], &[live(name, &document)]);
            assert_eq!(!found.is_empty(), seen, "{case}: {found:?}");
            if let [found] = found.as_slice() {
                assert!(
                    found.to_string().contains(other) && found.to_string().contains(name),
                    "{found}"
                );
            }
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
        let ours = live("kibus-us-west-2-base", wanted.document.value());
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
            let checked = check_space(&wanted.role, &[&wanted], &live);
            assert_eq!(checked.is_ok(), fits, "{case}: {checked:?}");
        }
        assert_eq!(
            check_space(&wanted.role, &[&wanted], &[filler(ROLE_SPACE)]),
            Err(Refusal::NoRoleSpace {
                role: wanted.role.clone(),
                needed,
                left: 0
            })
        );
    }
}
