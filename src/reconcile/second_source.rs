//! Second sources of a cluster's events: queues of other tools that its controller may read.

use std::collections::BTreeMap;

use crate::model::cluster::Cluster;
use crate::model::fact::Fact;
use crate::model::name::RoleName;
use crate::model::other_setup::usual_queues;
use crate::model::resource::{ResourceId, RolePolicy};
use crate::model::tags::CLUSTER;
use crate::plan::{SecondSources, Unseen, other_queues};
use crate::survey::{RolePolicies, Survey};

/// Adds what the policies of a role allow besides the desired ones.
pub(super) fn by_policies(sources: &mut SecondSources, role: &RoleName, wanted: &[&RolePolicy], live: &RolePolicies) {
    let inline: Vec<_> = live.documents.values().cloned().collect();
    let mut managed = BTreeMap::new();
    match &live.managed {
        Fact::Unreadable(fault) => sources
            .unseen
            .push(Unseen::AttachedPolicies(role.clone(), fault.clone())),
        Fact::Present(policies) => {
            for (arn, document) in policies {
                match document {
                    Fact::Present(document) => drop(managed.insert(arn.as_str(), document)),
                    Fact::Unreadable(fault) => sources.unseen.push(Unseen::Policy(arn.clone(), fault.clone())),
                    Fact::Absent | Fact::NotAsked => {}
                }
            }
        }
        Fact::Absent | Fact::NotAsked => {}
    }
    for (queue, grant) in other_queues(role, wanted, &inline, &managed) {
        sources.granted(queue, grant);
    }
}

/// Adds the queues with usual names. A queue of another cluster on a bus is no second source, whatever its name.
pub(super) fn by_name(sources: &mut SecondSources, survey: &Survey, clusters: &[Cluster]) {
    let existing = match &survey.usual_queues {
        Fact::Present(existing) => existing,
        Fact::Unreadable(fault) => {
            sources.unseen.push(Unseen::Queues(fault.clone()));
            return;
        }
        Fact::Absent | Fact::NotAsked => return,
    };
    for cluster in clusters {
        for queue in usual_queues(&cluster.name) {
            let tags = survey.observed.queue(queue.clone()).map(|queue| &queue.tags);
            let serves_another = tags.is_some_and(|tags| {
                let serves = tags.get(CLUSTER);
                tags.belong_to(&survey.scope.bus) || serves.is_some_and(|serves| serves != cluster.name.as_str())
            });
            if queue != cluster.queue && existing.contains(&queue) && !serves_another {
                sources.named(survey.scope.queue_arn(&queue), cluster.name.clone());
            }
        }
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
