//! Queues of other tools by which a cluster may receive the same events a second time.

use std::collections::BTreeSet;

use crate::iam::grants::queues_received_from;
use crate::iam::pattern::matches;
use crate::model::cluster::Cluster;
use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::name::{ClusterName, RoleName};
use crate::model::other_setup::usual_queues;
use crate::model::policy::all_ours;
use crate::model::resource::{ResourceId, RolePolicy};
use crate::model::tags::CLUSTER;
use crate::survey::{RolePolicies, Survey};

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
    /// Part of the role.
    Inline,
    /// Attached to the role.
    Managed,
}

/// A queue that is not the one of kibus, and that a cluster's Karpenter may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecondSource {
    /// Its ARN. A policy may have written it with wildcards.
    pub queue: String,
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
    /// Adds the queues that the policies of a role allow and the desired ones do not. Policies that kibus wrote for other
    /// clusters or buses on a shared role do not count.
    pub(super) fn by_policies(&mut self, role: &RoleName, wanted: &[&RolePolicy], live: &RolePolicies) {
        let others = live.documents.values();
        let others = others.filter(|policy| !wanted.iter().any(|wanted| wanted.name.as_str() == policy.name));
        let inline = others.filter_map(|policy| Some((PolicyKind::Inline, &policy.name, policy.document()?)));
        let mut policies: Vec<_> = inline.collect();
        if let Fact::Unreadable(fault) = &live.managed {
            self.unseen.push(Unseen::AttachedPolicies(role.clone(), fault.clone()));
        }
        for (arn, document) in live.managed.present().into_iter().flatten() {
            match document {
                Fact::Present(document) => policies.push((PolicyKind::Managed, arn, document.clone())),
                Fact::Unreadable(fault) => self.unseen.push(Unseen::Policy(arn.clone(), fault.clone())),
                Fact::Absent | Fact::NotAsked => {}
            }
        }
        let own = wanted.iter().flat_map(|policy| queues_received_from(&policy.document));
        let own: BTreeSet<String> = own.collect();
        for (kind, policy, document) in policies.into_iter().filter(|(.., document)| !all_ours(document)) {
            let mut queues = queues_received_from(&document);
            queues.retain(|pattern| !own.iter().any(|queue| matches(pattern, queue)));
            for queue in queues {
                let (role, policy) = (role.clone(), policy.clone());
                self.of(queue).grants.insert(Grant { role, kind, policy });
            }
        }
    }

    /// Adds the queues with usual names. A queue of another cluster on a bus is no second source, whatever its name.
    pub(super) fn by_name(&mut self, survey: &Survey, clusters: &[Cluster]) {
        if let Fact::Unreadable(fault) = &survey.usual_queues {
            self.unseen.push(Unseen::Queues(fault.clone()));
        }
        let Some(existing) = survey.usual_queues.present() else {
            return;
        };
        for cluster in clusters {
            for queue in usual_queues(&cluster.name) {
                let tags = survey.observed.queue(queue.clone()).map(|queue| &queue.tags);
                let serves_another = tags.is_some_and(|tags| {
                    let serves = tags.get(CLUSTER);
                    tags.belong_to(&survey.scope.bus) || serves.is_some_and(|serves| serves != cluster.name.as_str())
                });
                if queue != cluster.queue && existing.contains(&queue) && !serves_another {
                    let source = self.of(survey.scope.queue_arn(&queue));
                    source.named_after.insert(cluster.name.clone());
                }
            }
        }
    }

    fn of(&mut self, queue: String) -> &mut SecondSource {
        let at = self.found.iter().position(|source| source.queue == queue);
        let at = at.unwrap_or_else(|| {
            self.found.push(SecondSource {
                queue,
                ..SecondSource::default()
            });
            self.found.len() - 1
        });
        &mut self.found[at]
    }
}

/// The queues with usual names that may be queues of this bus, by their prefix: their tags decide.
pub(super) fn to_read(survey: &Survey) -> impl Iterator<Item = ResourceId> {
    let prefix = survey.queue_prefix();
    let existing = survey.usual_queues.present().into_iter().flatten();
    existing
        .filter(move |queue| queue.as_str().starts_with(prefix.as_str()))
        .map(|queue| ResourceId::Queue(queue.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document::Document;
    use crate::model::inline_policy::InlinePolicy;
    use serde_json::{Value, json};

    const OURS: &str = "arn:aws:sqs:us-west-2:111122223333:karpenter-base";
    const OTHER: &str = "arn:aws:sqs:us-west-2:111122223333:base";

    fn opens(sid: &str, queue: &str) -> Value {
        json!({"Statement": [{"Sid": sid, "Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": queue}]})
    }

    fn inline(name: &str, text: String) -> RolePolicies {
        let name = name.to_owned();
        RolePolicies {
            names: [name.clone()].into(),
            documents: [(name.clone(), InlinePolicy { name, text })].into(),
            ..RolePolicies::default()
        }
    }

    fn found(wanted: &RolePolicy, live: &RolePolicies) -> Vec<SecondSource> {
        let mut sources = SecondSources::default();
        sources.by_policies(&wanted.role, &[wanted], live);
        assert_eq!(sources.unseen, []);
        sources.found
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
            let inline = inline(name, format!("{document:#}"));
            let managed = Fact::Present([(name.to_owned(), Fact::Present(Document::new(document)))].into());
            let managed = RolePolicies {
                managed,
                ..RolePolicies::default()
            };
            for (kind, live) in [(PolicyKind::Inline, inline), (PolicyKind::Managed, managed)] {
                let grant = Grant {
                    role: wanted.role.clone(),
                    kind,
                    policy: name.to_owned(),
                };
                let source = SecondSource {
                    queue: OTHER.to_owned(),
                    grants: [grant].into(),
                    named_after: BTreeSet::new(),
                };
                let expected: Vec<_> = seen.then_some(source).into_iter().collect();
                assert_eq!(found(&wanted, &live), expected, "{case}");
            }
        }
        let edited = inline(wanted.name.as_str(), opens("Theirs", OTHER).to_string());
        assert_eq!(
            found(&wanted, &edited),
            [],
            "ours, edited, is drift and no second source"
        );
    }
}
