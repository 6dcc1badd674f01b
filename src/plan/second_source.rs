//! Queues of other tools by which a cluster may receive the same events a second time.

use std::collections::{BTreeMap, BTreeSet};

use crate::iam::grants::queues_received_from;
use crate::iam::pattern::matches;
use crate::model::document::Document;
use crate::model::fault::Fault;
use crate::model::inline_policy::InlinePolicy;
use crate::model::name::{ClusterName, RoleName};
use crate::model::policy;
use crate::model::resource::RolePolicy;

/// A policy that allows a controller to receive from a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    pub role: RoleName,
    pub kind: PolicyKind,
    /// The name of an inline policy, the ARN of a managed one.
    pub policy: String,
}

/// The two kinds of policies of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKind {
    Inline,
    Managed,
}

/// A queue that is not the one of kibus, and that a cluster's Karpenter may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondSource {
    /// Its ARN. A policy may have written it with wildcards.
    pub queue: String,
    /// The policies that allow it.
    pub grants: BTreeSet<Grant>,
    /// The clusters of which it has a usual name, if it is known to exist.
    pub named_after: BTreeSet<ClusterName>,
}

/// Something that could not be read, where a second source may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// Which managed policies the role has.
    AttachedPolicies(RoleName, Fault),
    /// The document of the managed policy with this ARN.
    Policy(String, Fault),
    /// Which queues exist.
    Queues(Fault),
}

/// The second sources of some clusters, as far as they could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondSources {
    pub found: Vec<SecondSource>,
    pub unseen: Vec<Unseen>,
}

impl SecondSources {
    /// Adds a policy that allows a queue.
    pub fn granted(&mut self, queue: String, grant: Grant) {
        self.of(queue).grants.insert(grant);
    }

    /// Adds a queue that exists and has a usual name of a cluster's queue.
    pub fn named(&mut self, queue: String, cluster: ClusterName) {
        self.of(queue).named_after.insert(cluster);
    }

    fn of(&mut self, queue: String) -> &mut SecondSource {
        let known = self.found.iter().position(|source| source.queue == queue);
        let at = known.unwrap_or(self.found.len());
        if known.is_none() {
            self.found.push(SecondSource {
                queue,
                ..SecondSource::default()
            });
        }
        &mut self.found[at]
    }
}

/// The policies of a role that allow other queues than the desired policies do, without policies that kibus wrote for
/// other clusters or buses on a shared role; each with a queue that it allows.
#[must_use]
pub fn other_queues(
    role: &RoleName,
    wanted: &[&RolePolicy],
    inline: &[InlinePolicy],
    managed: &BTreeMap<&str, &Document>,
) -> Vec<(String, Grant)> {
    let own: BTreeSet<String> = wanted
        .iter()
        .flat_map(|policy| queues_received_from(&policy.document))
        .collect();
    let inline = inline
        .iter()
        .filter(|policy| !wanted.iter().any(|wanted| wanted.name.as_str() == policy.name))
        .filter_map(|policy| Some((PolicyKind::Inline, policy.name.as_str(), policy.document()?)));
    let managed = managed
        .iter()
        .map(|(arn, document)| (PolicyKind::Managed, *arn, (*document).clone()));
    let mut found = Vec::new();
    for (kind, policy, document) in inline.chain(managed) {
        if policy::all_ours(&document) {
            continue;
        }
        let mut queues = queues_received_from(&document);
        queues.retain(|pattern| !own.iter().any(|queue| matches(pattern, queue)));
        found.extend(queues.into_iter().map(|queue| {
            let (role, policy) = (role.clone(), policy.to_owned());
            (queue, Grant { role, kind, policy })
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const OURS: &str = "arn:aws:sqs:us-west-2:111122223333:karpenter-base";
    const OTHER: &str = "arn:aws:sqs:us-west-2:111122223333:base";

    fn opens(sid: &str, queue: &str) -> Value {
        json!({"Statement": [{"Sid": sid, "Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": queue}]})
    }

    #[test]
    fn another_set_up_of_the_cluster_is_seen() {
        let wanted = RolePolicy {
            role: "r".parse().unwrap(),
            name: "kibus-us-west-2-base".parse().unwrap(),
            document: Document::new(opens("KibusReadInterruptions", OURS)),
        };
        for (case, name, document, seen) in [
            ("another queue", "karpenter", opens("Interruption", OTHER), true),
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
                opens("KibusX", OTHER),
                false,
            ),
            ("no queue", "karpenter", json!({"Statement": []}), false),
        ] {
            let role = "r".parse().unwrap();
            let inline = InlinePolicy {
                name: name.to_owned(),
                text: format!("{document:#}"),
            };
            let document = Document::new(document);
            let managed = BTreeMap::from([(name, &document)]);
            for (kind, found) in [
                (
                    PolicyKind::Inline,
                    other_queues(&role, &[&wanted], &[inline], &BTreeMap::new()),
                ),
                (PolicyKind::Managed, other_queues(&role, &[&wanted], &[], &managed)),
            ] {
                let grant = Grant {
                    role: role.clone(),
                    kind,
                    policy: name.to_owned(),
                };
                let expected = if seen {
                    vec![(OTHER.to_owned(), grant)]
                } else {
                    Vec::new()
                };
                assert_eq!(found, expected, "{case}");
            }
        }
        let edited = InlinePolicy {
            name: wanted.name.to_string(),
            text: opens("Theirs", OTHER).to_string(),
        };
        let found = other_queues(&wanted.role, &[&wanted], &[edited], &BTreeMap::new());
        assert_eq!(found, [], "ours, edited, is drift and no second source");
    }
}
