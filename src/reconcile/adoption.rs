//! Queues that another tool created: what taking one over needs, which senders it keeps, and how it is handed back.

use std::collections::BTreeSet;

use super::target::Target;
use super::{Blocked, Case};
use crate::error::{Hint, listed};
use crate::iam::grants::{other_senders, statements_of_other_senders};
use crate::model::cluster::Cluster;
use crate::model::fact::Fact;
use crate::model::inventory::{Desired, Observed, Reading};
use crate::model::name::{ClusterName, QueueName, QueuePrefix, RoleName};
use crate::model::options::ClusterOptions;
use crate::model::other_setup::usual_queues;
use crate::model::queue_policy::is_locked;
use crate::model::resource::{Queue, Resource, ResourceId};
use crate::model::settings::Settings;
use crate::model::tags::Tags;
use crate::plan::finding::{self, Finding};
use crate::plan::{Action, Change, Refusal};
use crate::survey::Survey;

/// A cluster without a queue of the expected name to take over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NothingToAdopt {
    pub cluster: ClusterName,
    /// The expected name.
    pub queue: QueueName,
    /// Queues with usual names that exist, each with the prefix that the hub would need.
    pub others: Vec<(QueueName, QueuePrefix)>,
}

/// Fails if a queue that is to be taken over does not exist.
pub(super) fn check_queues(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let is_absent = |queue: &QueueName| {
        let id = ResourceId::Queue(queue.clone());
        survey.observed.get(&id) == Some(&Reading::Absent)
    };
    let clusters = target.adopting().map(|name| (name, survey.cluster_queue(name)));
    let absent = clusters.filter(|(_, queue)| is_absent(queue)).map(|(cluster, queue)| {
        let existing = survey.usual_queues.present().into_iter().flatten();
        let usual = usual_queues(cluster);
        let others = existing.filter(|other| usual.contains(other)).filter_map(|other| {
            let prefix = other.as_str().strip_suffix(cluster.as_str())?.parse().ok()?;
            Some((other.clone(), prefix))
        });
        NothingToAdopt {
            cluster: cluster.clone(),
            queue,
            others: others.collect(),
        }
    });
    let absent: Vec<_> = absent.collect();
    match absent.is_empty() {
        true => Ok(()),
        false => Err(Blocked::NothingToAdopt(absent)),
    }
}

/// The options of a cluster that is set. A queue that this bus created stays one that it deletes.
pub(super) fn options(
    survey: &Survey,
    name: &ClusterName,
    given: ClusterOptions,
    saved: ClusterOptions,
) -> ClusterOptions {
    let is_ours = survey
        .queue_tags(name)
        .is_some_and(|tags| tags.belong_to(&survey.scope.bus));
    let was_created = is_ours && !saved.adopt();
    let mut options = given.or(saved);
    if was_created || !options.adopt() {
        options.adopt = None;
        options.drop_old_senders = None;
    }
    options
}

/// A cluster with these options. The senders that its adopted queue keeps are those that the queue has now. A queue that is
/// locked or missing has none, so a tag alone neither removes a lock nor adds a sender.
pub(super) fn cluster(
    survey: &Survey,
    hub: &Settings,
    name: ClusterName,
    role: Option<RoleName>,
    options: ClusterOptions,
) -> Cluster {
    let mut cluster = Cluster::new(&survey.scope, &hub.options.queue_prefix(), name, role, options);
    if cluster.options.adopt() && !cluster.options.drop_old_senders() {
        let live = survey.observed.queue(cluster.queue.clone());
        let policy = live.and_then(|queue| queue.policy.as_ref());
        let unlocked = policy.filter(|policy| !is_locked(policy));
        cluster.old_senders = unlocked.map(statements_of_other_senders).unwrap_or_default();
    }
    cluster
}

/// The adopted queues among these, without what kibus has added.
pub(super) fn handed_back(survey: &Survey, observed: &Observed) -> Desired {
    let queues = observed.resources().filter_map(Resource::as_queue);
    let adopted = queues.filter(|queue| is_adopted(&queue.tags) && !queue.tags.being_deleted(survey.now));
    adopted.map(|queue| Resource::Queue(queue.handed_back())).collect()
}

/// Takes the queues of removed clusters that have nothing of kibus from the readings, and gives them: they were handed back
/// before, or were never taken over.
pub(super) fn take_left_behind(survey: &Survey, target: &Target, observed: &mut Observed) -> Vec<ResourceId> {
    let queues = target.removed().into_keys().map(|name| survey.cluster_queue(name));
    let is_left = |queue: &QueueName| {
        let queue = observed.queue(queue.clone());
        queue.is_some_and(|queue| !queue.has_anything_of_kibus())
    };
    let left: Vec<ResourceId> = queues.filter(is_left).map(ResourceId::Queue).collect();
    for id in &left {
        observed.remove(id);
    }
    left
}

pub(super) fn is_adopted(tags: &Tags) -> bool {
    ClusterOptions::saved(tags).adopt()
}

/// The queues that a plan may take over: those of clusters for which that is asked, without any tag of kibus.
pub(super) fn may_take_over(case: &Case<'_>) -> BTreeSet<ResourceId> {
    let adopting = case.target.adopting();
    let queues = adopting.filter_map(|name| case.survey.observed.queue(case.survey.cluster_queue(name)));
    let untagged = queues.filter(|queue| !queue.tags.has_any_of_kibus());
    untagged.map(|queue| ResourceId::Queue(queue.name.clone())).collect()
}

/// The changes that take a queue over, with the queue before and after.
fn taken_over<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (&'a Queue, &'a Queue)> {
    let may = may_take_over(case);
    case.plan.changes.iter().filter_map(move |change| {
        let queues = (change.before.as_ref()?.as_queue()?, change.after.as_ref()?.as_queue()?);
        may.contains(&change.id).then_some(queues)
    })
}

/// Queues whose messages would be lost, or that would receive messages past the router. Applies to queues that are taken over.
pub(super) fn unfit_queues(case: &Case<'_>) -> Vec<Refusal> {
    let refusal = |(before, after): (&Queue, &Queue)| {
        if let Some(key) = before
            .encryption
            .key()
            .filter(|key| after.encryption.key() != Some(key))
        {
            return Some(Refusal::AdoptedKey {
                queue: before.name.clone(),
                key: key.to_owned(),
            });
        }
        let sources = case.survey.dead_letter_sources.get(&before.name)?.present()?;
        (!sources.is_empty()).then(|| Refusal::AdoptedDeadLetters {
            queue: before.name.clone(),
            sources: sources.clone(),
        })
    };
    taken_over(case).filter_map(refusal).collect()
}

/// What else may manage a queue that is taken over, which senders it keeps, and what could not be read of it.
pub(super) fn warnings(case: &Case<'_>) -> Vec<Hint> {
    let mut warnings = Vec::new();
    for (before, after) in taken_over(case) {
        warnings.push(Hint::text(other_owner(before)));
        let senders = after.policy.as_ref().map(other_senders).unwrap_or_default();
        if !senders.is_empty() {
            warnings.push(Hint::text(format!(
                "queue `{}` keeps its senders ({}) and is not locked: events arrive from its old rules and from the router. \
                 When the old rules are removed, pass --drop-old-senders",
                after.name,
                listed(&senders)
            )));
        }
        if let Some(Fact::Unreadable(fault)) = case.survey.dead_letter_sources.get(&before.name) {
            warnings.push(Hint::text(format!(
                "unknown whether other queues redrive into queue `{}`: {fault}",
                before.name
            )));
        }
    }
    let hands_back = |change: &&Change| {
        let before = change.before.as_ref().and_then(Resource::as_queue);
        change.action == Action::Update && before.is_some() && change.after.as_ref().is_some_and(has_left)
    };
    let has_left = case
        .plan
        .changes
        .iter()
        .filter(hands_back)
        .filter(|_| !case.target.is_check());
    warnings.extend(has_left.map(|change| {
        Hint::text(format!(
            "{} was adopted, and is handed back, not deleted: the router stops delivering to it. If Karpenter still reads it, \
             restore its old rules and the old permission of the controller role first. To delete it instead, pass \
             --delete-adopted",
            change.id
        ))
    }));
    warnings
}

/// The adopted queues that keep their senders.
pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let queues = case.desired.resources().filter_map(Resource::as_queue);
    let findings = queues.filter_map(|queue| {
        let senders = other_senders(queue.policy.as_ref()?);
        let cluster = queue.tags.cluster_of(&case.survey.scope.bus)?;
        (!senders.is_empty()).then(|| finding::old_senders(queue.name.clone(), cluster, &senders))
    });
    findings.collect()
}

/// Whether a desired queue is no longer one of the bus.
fn has_left(queue: &Resource) -> bool {
    queue.tags().is_some_and(|tags| !tags.has_any_of_kibus())
}

/// What a person should know about the tool that created a queue.
fn other_owner(queue: &Queue) -> String {
    let name = &queue.name;
    match queue.tags.get("aws:cloudformation:stack-name") {
        Some(stack) => format!(
            "CloudFormation stack `{stack}` created queue `{name}`, and deletes it with the stack, or if the queue is removed \
             from the template. First set `DeletionPolicy: Retain` there, on the queue and on its queue policy"
        ),
        None => format!(
            "another tool created queue `{name}`, and may delete it or revert these changes. Release it and its queue policy \
             there first: `DeletionPolicy: Retain` in CloudFormation, `terraform state rm` or a `removed` block in Terraform"
        ),
    }
}
