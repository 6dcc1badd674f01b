//! Queues that redrive into the queues of a bus: SQS moves their dead letters past the queue policies.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Hint, Invocation};
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, QueueName};
use crate::model::resource::ResourceId;
use crate::plan::finding::{self, Finding, Subject};
use crate::survey::Survey;

/// What is known of the queues that redrive into those of a bus.
#[derive(Default)]
pub(super) struct RedriveCheck {
    /// A finding for each of them that kibus does not manage.
    pub(super) findings: Vec<Finding>,
    /// A finding for each queue of the bus whose answer failed.
    pub(super) unreadable: Vec<Finding>,
    /// The warning, if the caller may not ask: an older document of `kibus policy operator` does not allow it.
    pub(super) denied: Option<Hint>,
}

/// The queues to ask about: those of the hub and of these clusters that exist.
pub(super) fn to_read(survey: &Survey, clusters: impl Iterator<Item = QueueName>) -> BTreeSet<QueueName> {
    let queues = survey.scope.hub_queues().into_iter().chain(clusters);
    let exists = |queue: &QueueName| survey.observed.queue(queue.clone()).is_some();
    queues.filter(exists).collect()
}

/// Judges the answers. The redrive policies of the queues asked about are compared as their settings: the hub queue has its
/// dead-letter queue, and any other is drift.
pub(super) fn check(survey: &Survey, clusters: &BTreeMap<QueueName, ClusterName>) -> RedriveCheck {
    let scope = &survey.scope;
    let mut checked = RedriveCheck::default();
    for (queue, sources) in &survey.dead_letter_sources {
        match sources {
            Fact::Present(sources) => {
                let foreign = sources
                    .iter()
                    .filter(|source| !survey.dead_letter_sources.contains_key(*source));
                let cluster = clusters.get(queue);
                let found = foreign.map(|source| finding::redriven(scope, queue.clone(), cluster.cloned(), source));
                checked.findings.extend(found);
            }
            Fact::Unreadable(fault) if fault.is_denied() => checked.denied = Some(denied(&fault.action)),
            Fact::Unreadable(fault) => {
                let subject = Subject::Resource(ResourceId::Queue(queue.clone()));
                checked.unreadable.push(finding::unreadable(scope, subject, fault));
            }
            Fact::Absent | Fact::NotAsked => {}
        }
    }
    checked
}

fn denied(action: &str) -> Hint {
    Hint::command(
        format!(
            "queues that redrive into the queues of this bus are not reported: AWS denied {action}. Grant the permissions \
             that this command prints:"
        ),
        Invocation::kibus("policy operator"),
    )
}
