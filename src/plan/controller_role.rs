//! Whether a controller role has space for the policy of its cluster.

use super::Refusal;
use crate::model::inline_policy::{InlinePolicy, space};
use crate::model::name::RoleName;
use crate::model::resource::RolePolicy;

/// The maximum size of all inline policies of a role together, in characters (IAM user guide, "IAM and STS character
/// quotas"); the quota cannot be raised.
pub const ROLE_SPACE: usize = 10_240;

/// Refuses desired policies for which a role has no space beside its other policies.
///
/// # Errors
/// When there is no space, and the desired policies are larger than the current ones of the same names.
pub fn check_space(role: &RoleName, wanted: &[&RolePolicy], live: &[InlinePolicy]) -> Result<(), Refusal> {
    let named = |policy: &&InlinePolicy| wanted.iter().any(|wanted| wanted.name.as_str() == policy.name);
    let sum = |policies: Vec<&InlinePolicy>| policies.iter().map(|policy| space(&policy.text)).sum::<usize>();
    let (before, others): (Vec<_>, Vec<_>) = live.iter().partition(named);
    let (before, others) = (sum(before), sum(others));
    let needed = wanted.iter().map(|policy| space(&policy.document.compact())).sum();
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
