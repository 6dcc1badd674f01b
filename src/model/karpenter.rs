//! What kibus knows about Karpenter: the usual names of its controller roles (in its getting-started guide and its
//! CloudFormation templates, in the terraform-aws-eks module, and by eksctl), and the queues that other tools create for it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::model::{ClusterName, NameError, QueueName, QueueTemplate, RoleName, Scope, name::PLACEHOLDER};

/// The service account of a Karpenter controller, if the Helm chart's `serviceAccount.name` is not set: the name of the
/// release, which every guide calls `karpenter` (aws/karpenter-provider-aws, `charts/karpenter/templates/_helpers.tpl`).
pub const SERVICE_ACCOUNT: &str = "karpenter";

/// The namespaces of that service account in Karpenter's guides: `kube-system` from v0.33 on, `karpenter` before.
pub const NAMESPACES: [&str; 2] = ["kube-system", "karpenter"];

/// An EKS pod identity association of Karpenter's service account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Association {
    pub namespace: String,
    /// The role whose credentials the pods receive.
    pub role_arn: String,
}

/// A controller role by its name, its path and name, or its ARN, with `{cluster}` for the cluster's name. The name
/// alone identifies a role in an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleTemplate {
    roles_arn: Option<String>,
    name: String,
}

impl RoleTemplate {
    pub fn names_the_cluster(&self) -> bool {
        self.name.contains(PLACEHOLDER)
    }

    /// Whether the role can be in this account and partition.
    pub fn is_of(&self, scope: &Scope) -> bool {
        self.roles_arn.as_ref().is_none_or(|arn| *arn == scope.roles_arn(""))
    }

    /// The role of a cluster, unless its name is too long for one.
    pub fn role(&self, cluster: &ClusterName) -> Result<RoleName, NameError> {
        self.name.replace(PLACEHOLDER, cluster.as_str()).parse()
    }
}

impl fmt::Display for RoleTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.roles_arn.as_deref().unwrap_or_default(), self.name)
    }
}

impl FromStr for RoleTemplate {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        const ROLE: &str = ":role/";
        let expected = "a role's name, its path and name, or its ARN, with `{cluster}` for the cluster's name";
        let wrong = || NameError::new("role", text, expected);
        let (roles_arn, path) = match text.split_once(ROLE) {
            Some((before, path)) if before.starts_with("arn:") => (Some(format!("{before}{ROLE}")), path),
            _ => (None, text),
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_path = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
        let is_role = name.replace(PLACEHOLDER, "cluster").parse::<RoleName>().is_ok();
        let name = name.to_owned();
        (is_path && is_role).then_some(Self { roles_arn, name }).ok_or_else(wrong)
    }
}

/// The text before and after the cluster's name.
const USUAL_ROLES: [(&str, &str); 6] = [
    ("KarpenterServiceAccount-", ""),
    ("", "-karpenter"),
    ("KarpenterControllerRole-", ""),
    ("KarpenterController-", ""),
    ("KarpenterIRSA-", ""),
    ("eksctl-", "-iamservice-role"),
];

pub fn usual_roles(cluster: &ClusterName) -> Vec<RoleName> {
    // A role with a name that is too long cannot exist, so it is not looked up.
    let role = |(before, after): &(&str, &str)| format!("{before}{cluster}{after}").parse().ok();
    USUAL_ROLES.iter().filter_map(role).collect()
}

/// The roles in an account that a cluster's controller may run as, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleCandidates {
    pub usual: Vec<RoleName>,
    /// If there is none: roles with such a name and a generated suffix. The suffix may be a part of another cluster's name:
    /// `KarpenterIRSA-base-1A2B3C4D5E6F` has a usual name of cluster `base-1A2B3C4D5E6F`. So only the user can confirm one.
    pub suffixed: Vec<RoleName>,
}

impl RoleCandidates {
    pub fn among<V>(cluster: &ClusterName, all: &BTreeMap<RoleName, V>) -> Self {
        let names = usual_roles(cluster);
        let usual: Vec<RoleName> = names.iter().filter(|role| all.contains_key(role)).cloned().collect();
        let is_generated = |role: &&RoleName| {
            let name = without_suffix(role.as_str());
            names.iter().any(|usual| name == Some(usual.as_str()))
        };
        let suffixed = if usual.is_empty() { all.keys().filter(is_generated).cloned().collect() } else { Vec::new() };
        Self { usual, suffixed }
    }
}

/// Whether a role is named like the controller role of some cluster.
pub fn is_usual_role(role: &RoleName) -> bool {
    let usual = |name: &str| {
        USUAL_ROLES.iter().any(|(before, after)| {
            let cluster = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            cluster.is_some_and(|cluster| cluster.parse::<ClusterName>().is_ok())
        })
    };
    usual(role.as_str()) || without_suffix(role.as_str()).is_some_and(usual)
}

/// At most ten roles that the user may have meant for a cluster: those whose names contain it.
pub fn similar_roles<'a, V>(cluster: &ClusterName, all: &'a BTreeMap<RoleName, V>) -> Vec<&'a RoleName> {
    let cluster = cluster.as_str().to_lowercase();
    let names_it = |role: &&RoleName| {
        role.as_str()
            .to_lowercase()
            .match_indices(&cluster)
            .any(|(at, _)| stands_alone(role.as_str(), at, cluster.len()))
    };
    all.keys().filter(names_it).take(10).collect()
}

/// Whether part of a name is a whole word: `base` in `my-base-role`, not in `database`.
fn stands_alone(name: &str, at: usize, length: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !letter(name[..at].chars().next_back()) && !letter(name[at + length..].chars().next())
}

/// A name without the suffix that Terraform (`name_prefix`: 26 digits) or CloudFormation (12 or 13 capitals and digits)
/// generates. Any other suffix is assumed to be part of another cluster's name.
fn without_suffix(name: &str) -> Option<&str> {
    let (name, suffix) = name.rsplit_once('-')?;
    let terraform = suffix.len() == 26 && suffix.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    let cloudformation =
        matches!(suffix.len(), 12 | 13) && suffix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    (terraform || cloudformation).then_some(name)
}

/// The template that gives the queue of a cluster its name. If the cluster's name occurs several times as a whole word,
/// the last one counts.
pub fn template_of(queue: &QueueName, cluster: &ClusterName) -> Option<QueueTemplate> {
    let (name, cluster) = (queue.as_str(), cluster.as_str());
    let (at, _) = name.rmatch_indices(cluster).find(|(at, _)| stands_alone(name, *at, cluster.len()))?;
    format!("{}{PLACEHOLDER}{}", &name[..at], &name[at + cluster.len()..]).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{scope::tests::scope, table::rows};

    fn roles(names: &str) -> BTreeMap<RoleName, ()> {
        names.split_whitespace().map(|name| (name.parse().unwrap(), ())).collect()
    }

    #[test]
    fn a_role_is_found_by_its_name_and_a_suffix_only_makes_it_a_candidate() {
        let table = "
            KarpenterServiceAccount-base other           | KarpenterServiceAccount-base      |
            base-karpenter KarpenterIRSA-base            | base-karpenter KarpenterIRSA-base |
            KarpenterIRSA-base-20230918120501234500000001 | | KarpenterIRSA-base-20230918120501234500000001
            KarpenterIRSA-base-20230918120501234500000001 KarpenterIRSA-base-1A2B3C4D5E6F | | KarpenterIRSA-base-1A2B3C4D5E6F KarpenterIRSA-base-20230918120501234500000001
            KarpenterIRSA-base-2                         |                                   |
            KarpenterIRSA-base2                          |                                   |
            KarpenterIRSA-base KarpenterIRSA-base-1A2B3C4D5E6F | KarpenterIRSA-base          |
                                                         |                                   |";
        for [all, usual, suffixed] in rows(table) {
            let found = RoleCandidates::among(&"base".parse().unwrap(), &roles(all));
            let names = |roles: Vec<RoleName>| roles.iter().map(RoleName::as_str).collect::<Vec<_>>().join(" ");
            assert_eq!([names(found.usual), names(found.suffixed)], [usual, suffixed], "{all}");
        }
    }

    #[test]
    fn a_template_names_a_role_for_each_cluster() {
        let template: RoleTemplate = "team-{cluster}-karpenter".parse().unwrap();
        assert!(template.names_the_cluster());
        assert_eq!(template.role(&"base".parse().unwrap()), "team-base-karpenter".parse());
        assert!(template.role(&"c".repeat(60).parse().unwrap()).is_err());
        assert!("{name}".parse::<RoleTemplate>().is_err());
        assert!(!"role".parse::<RoleTemplate>().unwrap().names_the_cluster());
    }

    #[test]
    fn a_role_is_given_by_its_name_its_path_or_its_arn() {
        let others = "arn:aws:sts::111122223333:assumed-role/x/y arn:aws:iam::111122223333:user/x arn:aws:iam::111122223333:role/ ";
        assert!("a b/x".parse::<RoleTemplate>().is_err());
        for (all, name, is_ours) in [
            ("base-karpenter team/{cluster}-karpenter", Some("base-karpenter"), true),
            ("/team/x arn:aws:iam::111122223333:role/x", Some("x"), true),
            ("arn:aws:iam::111122223333:role/team/{cluster}", Some("base"), true),
            ("arn:aws:iam::444455556666:role/x arn:aws-cn:iam::111122223333:role/x", Some("x"), false),
            (others, None, false),
        ] {
            for given in all.split(' ') {
                let template = given.parse::<RoleTemplate>().ok();
                let role = template.as_ref().map(|template| template.role(&"base".parse().unwrap()).unwrap());
                assert_eq!(role.as_ref().map(RoleName::as_str), name, "{given}");
                assert_eq!(template.is_some_and(|template| template.is_of(&scope())), is_ours, "{given}");
            }
        }
    }

    #[test]
    fn every_usual_name_is_usual_and_a_long_cluster_name_has_fewer() {
        let base = usual_roles(&"base".parse().unwrap());
        assert_eq!(base.len(), USUAL_ROLES.len());
        for role in base {
            let generated = format!("{role}-1A2B3C4D5E6F").parse().unwrap();
            assert!(is_usual_role(&role) && is_usual_role(&generated), "{role}");
        }
        for other in ["admin", "KarpenterNodeRole-base", "-karpenter"] {
            assert!(!is_usual_role(&other.parse().unwrap()), "{other}");
        }
        assert!(usual_roles(&"c".repeat(60).parse().unwrap()).is_empty());
    }

    #[test]
    fn similar_roles_name_the_cluster() {
        let all = roles("team-base-controller database KarpenterIRSA-other Base");
        let found = similar_roles(&"base".parse().unwrap(), &all);
        assert_eq!(found.into_iter().map(RoleName::as_str).collect::<Vec<_>>(), ["Base", "team-base-controller"]);
    }

    #[test]
    fn the_name_of_a_queue_tells_the_template() {
        for (queue, cluster, expected) in [
            ("base", "base", Some("{cluster}")),
            ("Karpenter-base", "base", Some("Karpenter-{cluster}")),
            ("base-karpenter", "base", Some("{cluster}-karpenter")),
            ("team_base-events", "base", Some("team_{cluster}-events")),
            ("karpenter-a", "a", Some("karpenter-{cluster}")),
            ("a-karpenter", "a", Some("{cluster}-karpenter")),
            ("karpenter-karpenter", "karpenter", Some("karpenter-{cluster}")),
            ("database", "base", None),
            ("karpenter", "base", None),
            (&format!("{}-base", "x".repeat(50)), "base", None),
        ] {
            let template = template_of(&queue.parse().unwrap(), &cluster.parse().unwrap());
            assert_eq!(template.as_ref().map(QueueTemplate::as_str), expected, "{queue} {cluster}");
        }
    }
}
