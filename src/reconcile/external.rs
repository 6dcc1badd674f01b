//! External queues: another tool manages the queue of a cluster, and the permission of its controller. Kibus compares such a queue
//! with what the hub needs, and writes nothing to it.

use std::collections::BTreeSet;

use super::target::{Target, Trial, Wish, checked_clusters};
use super::{Case, Say, roles};
use crate::error::{Hint, listed};
use crate::iam::grants::other_senders;
use crate::message::{Fix, Message, Subject};
use crate::model::{
    Cluster, ClusterName, Desired, Fact, FieldName, FieldValue, FindingCode, Observed, Queue, QueueField, QueueOwner,
    Resource, ResourceId, Scope, Senders, Settings, Severity, Tags, policy,
    tags::{BUS, CLUSTER, EXTERNAL},
};
use crate::plan::{self, FieldChange};
use crate::survey::Survey;

/// Why a cluster is not set, if its queue is external.
pub(super) fn refusal(survey: &Survey, name: &ClusterName) -> Option<Message> {
    let queue = survey.observed.queue(survey.cluster_queue(name))?;
    let sentence = format!(
        "queue `{}` of cluster `{name}` is external: its owner manages it and the permission of the controller, so there is \
         nothing to add",
        queue.name
    );
    let refusal = Message::refusal(FindingCode::NotManaged, queue.name.clone(), sentence).then(
        format!(
            "to let kibus manage it instead, its owner releases it and removes its tag `{EXTERNAL}`; then take it over:"
        ),
        survey.scope.kibus(format!("add-cluster {name} --adopt")),
    );
    queue.is_external(&survey.scope.bus).then_some(refusal)
}

/// Whether this is a policy that kibus wrote on a role, before the queue was handed over.
pub(super) fn is_leftover(policy: &Fact<Resource>) -> bool {
    let policy = policy.present().and_then(Resource::as_role_policy);
    policy.is_some_and(|policy| policy::all_ours(&policy.document))
}

/// What stays of an external cluster: its queue as it is; its alarm, unless the cluster is removed; and a leftover policy, unless
/// that is removed or checked.
pub(super) fn desired(
    survey: &Survey,
    target: &Target,
    hub: &Settings,
    name: &ClusterName,
    observed: &Observed,
) -> Desired {
    let wanted = target.wants(name);
    let cluster = Cluster::new(&survey.scope, &hub.options.queue_prefix(), name.clone(), None);
    let (queue, policy) = (survey.cluster_queue(name), survey.scope.controller_policy(name));
    let stays = |resource: &&Resource| match resource {
        Resource::Queue(live) => live.name == queue,
        Resource::RolePolicy(leftover) => wanted && !target.is_check() && leftover.name == policy,
        _ => false,
    };
    let all = cluster.desired(&survey.scope, hub);
    let alarm = all.resources().filter(|resource| wanted && resource.as_alarm().is_some());
    observed.resources().filter(stays).chain(alarm).cloned().collect()
}

/// Refuses to remove a cluster of which kibus has nothing.
pub(super) fn removals(case: &Case<'_>, say: &mut Say) {
    let has_change = |name: &ClusterName| {
        let mut changes = case.plan.changes.iter();
        changes.any(|change| change.cluster.as_ref() == Some(name))
    };
    let nothing = case.target.removed().filter(|name| !has_change(name));
    say.refusals.extend(nothing.filter_map(|name| {
        let queue = &case.survey.external_queue(name)?.name;
        let sentence =
            format!("queue `{queue}` of cluster `{name}` is external, and kibus has nothing else of the cluster");
        let refusal = Message::refusal(FindingCode::NotManaged, queue.clone(), sentence);
        let refusal = refusal.notes(unread_role(case.survey, name));
        Some(refusal.advise("delete the queue with the tool that owns it"))
    }));
}

fn unread_role(survey: &Survey, name: &ClusterName) -> Option<String> {
    let role = survey.external_queue(name)?.tags.controller_role()?;
    let unread = roles::is_unread(survey, name, &role);
    unread.then(|| format!("role `{role}` could not be read, and may have a policy of kibus"))
}

/// The external queues of clusters that are removed.
pub(super) fn left(case: &Case<'_>, say: &mut Say) {
    let then = if case.target.others == Wish::Remove {
        "it receives nothing any more"
    } else {
        "the router delivers to it until the tool that owns it deletes it"
    };
    let removed = case.survey.clusters().into_keys();
    for name in removed.filter(|name| !case.target.wants(name)) {
        if let Some(Queue { name: queue, .. }) = case.survey.external_queue(&name) {
            let stays = format!("queue `{queue}` of cluster `{name}` is external and stays: {then}");
            say.warn(Hint::text(stays));
            say.warn_all(unread_role(case.survey, &name).map(Hint::text));
        }
    }
}

/// The external queues that do not follow a change of the hub.
pub(super) fn left_behind(case: &Case<'_>, say: &mut Say) {
    let Case { survey, after, .. } = case;
    let Some(before) = &case.before else { return };
    let (was, is) = (&before.options, &after.options);
    let changed = [
        (was.queue_prefix() != is.queue_prefix(), "name"),
        (was.key() != is.key(), "encryption"),
        (was.senders() != is.senders(), "policy"),
    ];
    let changed: Vec<&str> = changed.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect();
    if changed.is_empty() {
        return;
    }
    survey.discover();
    let mut names: BTreeSet<ClusterName> = survey.registered().into_keys().collect();
    names.retain(|name| survey.external_queue(name).is_some());
    if !names.is_empty() {
        let text = format!(
            "the queues of external clusters do not follow, and the owner of each must change its {}: {}. Afterwards, to see \
             what is left to change:",
            changed.join(" and "),
            listed(&names)
        );
        say.warn(Hint::command(text, survey.scope.kibus("verify")));
    }
}

/// Gives what kibus itself has of external clusters another fix than `add-cluster`.
pub(super) fn fix_leftovers(survey: &Survey, findings: &mut [Message]) {
    for finding in findings.iter_mut().filter(|finding| finding.change.is_some()) {
        let is_external = |name: &&ClusterName| survey.external_queue(name).is_some();
        let Some(name) = finding.cluster.as_ref().filter(is_external) else {
            continue;
        };
        finding.fix = match &finding.about {
            Subject::Resource(ResourceId::RolePolicy(..)) => Fix::advice(Hint::command(
                "once the owner of the queue grants the role the permission, remove this policy of kibus:",
                survey.scope.kibus(format!("remove-cluster {name}")),
            )),
            _ => Fix::bootstrap_hub(&survey.scope),
        };
    }
}

/// What is wrong with the external queues that are checked, and with queues that are not external and say so.
pub(super) fn findings(case: &Case<'_>, say: &mut Say) {
    let Case { survey, target, .. } = case;
    let scope = &survey.scope;
    let checked = checked_clusters(survey, target);
    for (name, queue) in checked.keys().filter_map(|name| Some((name, survey.external_queue(name)?))) {
        say.findings.extend(differences(case, name, queue));
        // A probe tells more.
        if target.trial != Trial::Probe {
            permission(survey, name, queue, say);
        }
    }
    for queue in survey.observed.resources().filter_map(Resource::as_queue) {
        let cluster = queue.tags.cluster_of(&scope.bus);
        if queue.tags.get(EXTERNAL).is_none() || !target.checks_queue(cluster.as_ref()) {
            continue;
        }
        let is_of_hub = scope.hub_queues().contains(&queue.name);
        if is_of_hub || queue.origin(scope).is_some() {
            say.findings.push(two_owners(scope, queue, cluster));
        } else if let Some(name) = cluster.filter(|_| queue.is_external(&scope.bus)) {
            say.findings.extend(other_name(survey, queue, name));
        }
    }
}

/// An external queue with another name than the hub gives it: after a change of the prefix, or because its tool has another one.
fn other_name(survey: &Survey, queue: &Queue, cluster: ClusterName) -> Option<Message> {
    let (scope, wanted) = (&survey.scope, survey.cluster_queue(&cluster));
    let severity = match survey.registration(&cluster) {
        Some(_) => Severity::Warning,
        None => Severity::Critical,
    };
    (queue.name != wanted).then(|| {
        let message = format!("is external, and the queue of cluster `{cluster}` is `{wanted}`");
        let text = format!("its owner must name it `{wanted}`, or delete it; this prints what the hub needs:");
        Message::finding(scope, FindingCode::ExternalQueueName, queue.name.clone(), message)
            .instead(text, export(scope, &cluster, &queue.tags))
            .of(Some(cluster))
            .at_most(severity)
    })
}

/// A queue that kibus manages, and that says another tool does.
fn two_owners(scope: &Scope, queue: &Queue, cluster: Option<ClusterName>) -> Message {
    let message = format!("has the tag `{EXTERNAL}`, and is managed by kibus");
    let (url, region) = (scope.queue_url(None, &queue.name), &scope.region);
    let untag = format!("sqs untag-queue --queue-url {url} --tag-keys {EXTERNAL} --region {region}");
    let finding = Message::finding(scope, FindingCode::TwoOwners, queue.name.clone(), message)
        .instead("if no other tool manages it, remove the tag:", scope.aws(untag));
    let finding = match &cluster {
        Some(name) => finding.then(
            "otherwise, its owner must replace its policy with the one that this prints:",
            export(scope, name, &queue.tags),
        ),
        None => finding,
    };
    finding.of(cluster)
}

/// What to do about an external queue that has lost the tags of its cluster.
pub(super) fn tags_lost(scope: &Scope, queue: &Queue, cluster: Option<&ClusterName>) -> Fix {
    let tags = format!("its owner must set its tag `{BUS}` to `{}`", scope.bus);
    Fix::advice(match cluster {
        Some(name) => Hint::command(
            format!("{tags} and `{CLUSTER}` to `{name}`; this prints what the hub needs:"),
            export(scope, name, &queue.tags),
        ),
        None => Hint::text(format!("{tags}, and `{CLUSTER}` to its cluster")),
    })
}

/// The step after which the router delivers to an external queue.
pub(super) fn apply_again(scope: &Scope, cluster: &ClusterName, tags: &Tags) -> Hint {
    let text = "the owner of the queue applies again what this prints, then repeat the probe:";
    Hint::command(text, export(scope, cluster, tags))
}

/// The command that prints what the hub needs of a queue, for its owner.
fn export(scope: &Scope, cluster: &ClusterName, tags: &Tags) -> String {
    let words = QueueOwner::of(tags).words();
    let format = words.map_or_else(String::new, |[format, _]| format!(" --format {format}"));
    scope.kibus(format!("export cluster {cluster}{format}"))
}

/// Where an external queue differs from one that kibus would create. What its owner's policy says besides is the owner's.
fn differences(case: &Case<'_>, name: &ClusterName, queue: &Queue) -> Vec<Message> {
    let Case { survey, after, .. } = case;
    let (prefix, role) = (after.options.queue_prefix(), queue.tags.controller_role());
    let cluster = Cluster::new(&survey.scope, &prefix, name.clone(), role);
    let desired = cluster.desired(&survey.scope, after);
    let Some(wanted) = desired.resources().find_map(Resource::as_queue) else {
        return Vec::new();
    };
    let owner = QueueOwner::of(&queue.tags);
    let finding = |attribute: &str, message: String, severity| {
        let place = owner.words().map_or_else(String::new, |[_, place]| format!(" in {place}"));
        let text = format!("its owner must change `{attribute}`{place}; this prints what the hub needs:");
        Message::finding(&survey.scope, FindingCode::ExternalQueueDiffers, queue.name.clone(), message)
            .instead(text, export(&survey.scope, name, &queue.tags))
            .of(Some(name.clone()))
            .at_most(severity)
    };
    let policy = QueueField::Policy.attribute(owner, false);
    let of_policy = of_policy(queue, wanted, after.options.senders()).into_iter();
    let of_policy = of_policy.map(|message| finding(policy, message, Severity::Critical));
    let has_key = wanted.encryption.key().is_some();
    let kept = after.old_keys();
    // The router may use no other keys.
    let has_other_key = queue.encryption.key().is_some_and(|key| kept.iter().all(|old| old.as_str() != key));
    let wanted = Queue { policy: queue.policy.clone(), ..wanted.clone() };
    let fields = plan::diff(&Resource::Queue(wanted), &Resource::Queue(queue.clone()), &BTreeSet::new());
    let of_fields = fields.into_iter().filter_map(|FieldChange { path, from, to }| {
        let (attribute, severity) = match QueueField::at(&path) {
            // The attribute of the dead-letter queue.
            Some(QueueField::RedriveMaxReceives) => return None,
            Some(QueueField::Encryption) if has_other_key => {
                (QueueField::Encryption.attribute(owner, has_key), Severity::Critical)
            }
            Some(field) => (field.attribute(owner, has_key), Severity::Error),
            None if owner == QueueOwner::CloudFormation => ("Tags", Severity::Warning),
            None => ("tags", Severity::Warning),
        };
        let message = format!("{path} is {}, and should be {}", text(&from), text(&to));
        Some(finding(attribute, message, severity))
    });
    of_policy.chain(of_fields).collect()
}

/// What the policy of an external queue should deny or not allow.
fn of_policy(queue: &Queue, wanted: &Queue, senders: Senders) -> Vec<String> {
    let live = queue.policy.as_ref();
    let ours = wanted.policy.as_ref();
    let [tls, lock] = ours.map_or([false; 2], |ours| policy::lacks(live, ours));
    let others = live.filter(|_| senders != Senders::Locked).map(other_senders);
    let others = others.filter(|others| !others.is_empty());
    let found = [
        tls.then(|| "its policy does not deny requests without TLS".to_owned()),
        lock.then(|| "its policy does not deny other senders than the router".to_owned()),
        others.map(|others| {
            let others: Vec<String> = others.iter().map(|one| one.escape_debug().to_string()).collect();
            format!("its policy lets others send: {}", listed(&others))
        }),
    ];
    found.into_iter().flatten().collect()
}

fn text(value: &FieldValue) -> String {
    match value {
        FieldValue::Text(text) => text.escape_debug().to_string(),
        FieldValue::Number(number, unit) => unit.text(*number),
        FieldValue::Document(document) => document.compact(),
        FieldValue::Unset | FieldValue::Flag(_) | FieldValue::List(_) | FieldValue::Code(_) => "not set".to_owned(),
    }
}

/// Whether the controller reads its queue, by what was deleted from it.
fn permission(survey: &Survey, name: &ClusterName, queue: &Queue, say: &mut Say) {
    let activity = survey.queue_activity(&queue.name);
    if activity.is_asked() && activity.present().is_none_or(|seen| seen.deleted == 0) {
        say.warn(Hint::text(format!(
            "unknown whether Karpenter of `{name}` may read external queue `{}`: its metrics show no delete in the last day",
            queue.name
        )));
    }
}
