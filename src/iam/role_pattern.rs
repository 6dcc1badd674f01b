//! The roles that a document names: exactly, or by a pattern that a person has typed.

use std::collections::BTreeMap;

use crate::model::name::{RoleName, names};
use crate::model::scope::Scope;

names! {
    /// A role by its name, its path and name, or its ARN; or a pattern of these, with `*` and `?` as IAM reads them.
    RolePattern: "role",
        "a role's name, its path and name, or its ARN",
        |text| {
            let (resource, is_arn) = match text.strip_prefix(ARN) {
                Some(rest) => (rest.split_once(":role/").map_or("", |(_, role)| role), true),
                None => (text, false),
            };
            let name = resource.rsplit('/').next().unwrap_or_default();
            let known = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-/*?".contains(c) || is_arn && c == ':';
            !name.is_empty() && text.len() <= LONGEST && text.chars().all(known)
        };
}

impl RolePattern {
    /// Whether it may match more than one role. `*` matches `/` too.
    pub fn is_open(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// The ARN, or pattern of ARNs, for a document: of a name alone, the ARN in `known`, else that of the path `/`. `None`
    /// for the ARN of another account or partition.
    pub fn arn(&self, scope: &Scope, known: &BTreeMap<RoleName, String>) -> Option<String> {
        if self.0.starts_with(ARN) {
            return self.0.starts_with(&scope.roles_arn("")).then(|| self.0.clone());
        }
        let listed = self.0.parse().ok().and_then(|name: RoleName| known.get(&name));
        Some(
            listed
                .cloned()
                .unwrap_or_else(|| scope.roles_arn(self.0.trim_start_matches('/'))),
        )
    }
}

/// How an ARN begins.
const ARN: &str = "arn:";

/// An ARN with the longest path and name, and its longest prefix.
const LONGEST: usize = 640;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn a_role_becomes_the_arn_that_iam_gives() {
        let known = BTreeMap::from([(
            "listed".parse().unwrap(),
            "arn:aws:iam::111122223333:role/team/listed".to_owned(),
        )]);
        for (given, open, arn) in [
            ("listed", false, Some("arn:aws:iam::111122223333:role/team/listed")),
            ("other", false, Some("arn:aws:iam::111122223333:role/other")),
            ("team/x", false, Some("arn:aws:iam::111122223333:role/team/x")),
            ("/team/x", false, Some("arn:aws:iam::111122223333:role/team/x")),
            (
                "arn:aws:iam::111122223333:role/a/b",
                false,
                Some("arn:aws:iam::111122223333:role/a/b"),
            ),
            ("*-karpenter", true, Some("arn:aws:iam::111122223333:role/*-karpenter")),
            ("karpenter-?", true, Some("arn:aws:iam::111122223333:role/karpenter-?")),
            ("arn:aws:iam::444455556666:role/a", false, None),
            ("arn:aws:iam::*:role/a", true, None),
        ] {
            let role: RolePattern = given.parse().unwrap();
            assert_eq!(role.is_open(), open, "{given}");
            assert_eq!(role.arn(&scope(), &known).as_deref(), arn, "{given}");
        }
        for wrong in [
            "",
            "team/",
            "a b",
            "a:b",
            "arn:aws:iam::111122223333:user/x",
            "a\u{1b}[31m",
        ] {
            assert!(wrong.parse::<RolePattern>().is_err(), "{wrong:?}");
        }
    }
}
