//! What must be known before anything is planned: nothing is planned from a resource that could not be read, or that SQS may
//! still be deleting.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::{of_hub as hub_readings, readable};
use super::target::{HubTarget, Others, Target};
use super::{Blocked, role_search};
use crate::model::name::{ClusterName, QueueName};
use crate::survey::Survey;

/// Fails if the hub is unknown, as far as a target changes it. A check reports what could not be read.
pub(super) fn of_hub(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let scope = &survey.scope;
    match target.hub {
        HubTarget::Set(_) => {
            readable(&hub_readings(survey))?;
            none_being_deleted(survey, scope.hub_queues())
        }
        HubTarget::RollBack(_) | HubTarget::Remove => readable(&hub_readings(survey)),
        HubTarget::Leave if !target.set().is_empty() => none_being_deleted(survey, [scope.dead_letter_queue()]),
        HubTarget::Leave | HubTarget::Keep(_) => Ok(()),
    }
}

/// Fails if it is unknown which clusters exist, and the target is about all of them, or if a wanted queue may be being
/// deleted.
pub(super) fn of_clusters(survey: &Survey, target: &Target, follow: bool) -> Result<(), Blocked> {
    if follow || target.others == Others::Remove {
        if let Some(fault) = survey.discovered.fault() {
            return Err(Blocked::call_failed("list the queues of clusters", fault));
        }
        readable(&survey.observed)?;
    }
    // A denial is a warning: who may not read IAM may still remove a cluster whose role kibus does not manage.
    if let Some((_, fault)) = role_search::not_listed(survey, target.removed().into_keys())
        && !fault.is_denied()
    {
        return Err(Blocked::call_failed("list the roles", fault));
    }
    let mut wanted: BTreeSet<ClusterName> = target.set().into_keys().cloned().collect();
    if follow {
        wanted.extend(survey.clusters().into_keys().filter(|name| target.wants(name)));
    }
    none_being_deleted(survey, wanted.iter().map(|name| survey.cluster_queue(name)))
}

/// Fails if SQS may be deleting one of these queues, which are wanted: whether it exists is known only once it is gone or
/// its mark is old.
fn none_being_deleted(survey: &Survey, queues: impl IntoIterator<Item = QueueName>) -> Result<(), Blocked> {
    let marked = queues.into_iter().filter_map(|queue| {
        let left = survey.observed.queue(queue.clone())?.tags.mark_counts_for(survey.now)?;
        Some((queue, left))
    });
    let marked: BTreeMap<_, _> = marked.collect();
    match marked.is_empty() {
        true => Ok(()),
        false => Err(Blocked::BeingDeleted(marked)),
    }
}
