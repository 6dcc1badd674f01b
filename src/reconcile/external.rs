//! External queues: another tool manages the queue of a cluster, and the permission of its controller. The record
//! states it. Kibus compares such a queue with the hub's requirements, and never changes it.

use std::collections::BTreeSet;

use super::target::{Wish, checked_clusters};
use super::{Case, Say};
use crate::error::{Hint, listed};
use crate::iam::grants::{Opening, openings};
use crate::message::{Fix, Message, Subject};
use crate::model::{
    ClusterName, ClusterRecord, Fact, FieldName, FieldValue, FindingCode, Maker, Queue, QueueField, Resource,
    ResourceId, Scope, Settings, Severity, hub, policy,
    tags::{BUS, CLUSTER},
};
use crate::plan::{self, FieldChange};
use crate::survey::Survey;

/// Why a queue cannot be recorded as external.
pub(super) fn refusal(survey: &Survey, record: &ClusterRecord) -> Option<Message> {
    let (scope, name, queue) = (&survey.scope, &record.cluster, &record.queue);
    if survey.record(name).is_some_and(|before| before.external) {
        return None;
    }
    let refusal =
        |sentence| Message::refusal(FindingCode::NotManaged, queue.clone(), sentence).in_cluster(Some(name.clone()));
    match survey.resource(&ResourceId::Queue(queue.clone())) {
        Fact::Absent => Some(
            refusal(format!("queue `{queue}` of cluster `{name}` does not exist"))
                .then("its tool creates it and the record from the output of:", export(scope, record)),
        ),
        Fact::Present(found) => {
            let live = found.as_queue().filter(|live| !has_tags(scope, live, name))?;
            let other = live.tags.get(BUS).filter(|bus| *bus != scope.bus.as_str());
            let is = other.map_or(String::new(), |bus| format!(": its tag `{BUS}` is `{}`", bus.escape_debug()));
            let refused = refusal(format!("queue `{queue}` does not have the tags of cluster `{name}`{is}"));
            let refused = refused.advise(format!(
                "set `{BUS}` to `{}` and `{CLUSTER}` to `{name}` in the configuration of its tool, or make the tool \
                 ignore both (Terraform: `ignore_tags {{ key_prefixes = [\"kibus:\"] }}`): otherwise its next run \
                 removes them, and events stop",
                scope.bus
            ));
            // Tags of another bus must not be replaced by hand: that bus may deliver to the queue.
            if other.is_some() {
                return Some(refused);
            }
            let url = scope.queue_url(None, queue);
            let tag = format!(
                "sqs tag-queue --queue-url {url} --tags {BUS}={},{CLUSTER}={name} --region {}",
                scope.bus, scope.region
            );
            Some(refused.then("if no tool manages the queue, add them:", scope.aws(tag)))
        }
        Fact::NotAsked | Fact::Unreadable(_) => None,
    }
}

fn has_tags(scope: &Scope, queue: &Queue, cluster: &ClusterName) -> bool {
    queue.tags.cluster_of(&scope.bus).as_ref() == Some(cluster)
}

/// The external queues of clusters to remove, and the records that other tools created.
pub(super) fn left(case: &Case<'_>, say: &mut Say) {
    let then = if case.target.others == Wish::Remove {
        "it no longer receives events"
    } else {
        "the router delivers to it until its owner deletes it or removes its tags"
    };
    for (name, record) in case.survey.recorded() {
        if case.target.wants(&name) || record.has_own_queue() {
            continue;
        }
        let queue = &record.queue;
        say.warn(Hint::text(if record.is_of_kibus() {
            format!("queue `{queue}` of cluster `{name}` is external and stays: {then}")
        } else {
            format!(
                "{} created the record of cluster `{name}`, and queue `{queue}`: both stay until it removes them; {then}",
                record.made_by
            )
        }));
    }
}

/// External queues, which do not follow a change of the hub's key.
pub(super) fn left_behind(case: &Case<'_>, say: &mut Say) {
    let Case { survey, after, .. } = case;
    if case.before.as_ref().is_none_or(|before| before.options.key() == after.options.key()) {
        return;
    }
    let external = survey.recorded().into_values().filter(|record| !record.has_own_queue());
    let names: BTreeSet<&ClusterName> = external.map(|record| &record.cluster).collect();
    if !names.is_empty() {
        let text = format!(
            "the queues of external clusters do not follow; the owner of each must change its encryption: {}. \
             Afterwards, to see what is left to change:",
            listed(&names)
        );
        say.warn(Hint::command(text, survey.scope.kibus("verify")));
    }
}

/// Findings about the checked external queues.
pub(super) fn findings(case: &Case<'_>, say: &mut Say) {
    let Case { survey, target, after, .. } = case;
    for (name, record) in checked_clusters(survey, target) {
        if record.has_own_queue() {
            continue;
        }
        let Fact::Present(Resource::Queue(queue)) = survey.resource(&ResourceId::Queue(record.queue.clone())) else {
            say.findings.extend(missing(survey, record));
            continue;
        };
        let mut found = differences(survey, after, record, queue);
        found.extend(of_policy(case, record, queue));
        say.findings.extend(found.into_iter().map(|finding| finding.in_cluster(Some(name.clone()))));
    }
}

fn missing(survey: &Survey, record: &ClusterRecord) -> Option<Message> {
    let (scope, name) = (&survey.scope, &record.cluster);
    let is_absent = *survey.observed.get(&ResourceId::Queue(record.queue.clone())) == Fact::Absent;
    is_absent.then(|| {
        let finding = Message::finding(scope, FindingCode::ClusterQueueMissing, record.queue.clone(), "missing")
            .in_cluster(Some(name.clone()))
            .fixed_by(Hint::command("its owner creates it from the output of:", export(scope, record)));
        if record.is_of_kibus() {
            finding.then("if the cluster no longer exists:", scope.kibus(format!("remove-cluster {name}")))
        } else {
            finding
        }
    })
}

/// The command that prints the hub's requirements for a queue, for its owner.
fn export(scope: &Scope, record: &ClusterRecord) -> String {
    let format = match &record.made_by {
        Maker::Tool(tool) if tool == "cloudformation" => " --format cloudformation",
        _ => "",
    };
    scope.kibus(format!("export cluster {}{format}", record.cluster))
}

/// The step after which the router delivers to an external queue.
pub(super) fn apply_again(scope: &Scope, record: &ClusterRecord) -> Hint {
    let text = "the owner of the queue applies this output again; then repeat the probe:";
    Hint::command(text, export(scope, record))
}

/// Where the settings of an external queue differ from a queue that kibus would create.
fn differences(survey: &Survey, after: &Settings, record: &ClusterRecord, queue: &Queue) -> Vec<Message> {
    let scope = &survey.scope;
    let is_terraform = record.made_by == Maker::Tool("terraform".to_owned());
    let finding = |attribute: &str, message: String, severity| {
        let text = format!("its owner must change `{attribute}`; this prints the required settings:");
        Message::finding(scope, FindingCode::ExternalQueueDiffers, queue.name.clone(), message)
            .fixed_by(Hint::command(text, export(scope, record)))
            .at_most(severity)
    };
    let mut findings = Vec::new();
    if !has_tags(scope, queue, &record.cluster) {
        let message = "it lacks the tags of its cluster, so the router does not deliver to it".to_owned();
        findings.push(finding("tags", message, Severity::Critical));
    }
    let wanted = hub::cluster_queue(scope, queue.name.clone(), &after.options, queue.tags.clone());
    let has_key = wanted.encryption.key().is_some();
    let kept = after.old_keys();
    // The router is not allowed to use other keys.
    let has_other_key = queue.encryption.key().is_some_and(|key| kept.iter().all(|old| old.as_str() != key));
    let wanted = Queue { policy: queue.policy.clone(), ..wanted };
    let fields = plan::diff(&Resource::Queue(wanted), &Resource::Queue(queue.clone()), &BTreeSet::new());
    for FieldChange { path, from, to } in fields {
        let severity = match QueueField::at(&path) {
            // The attribute of the dead-letter queue.
            Some(QueueField::RedriveMaxReceives) | None => continue,
            Some(QueueField::Encryption) if has_other_key => Severity::Critical,
            Some(_) => Severity::Error,
        };
        let attribute = QueueField::at(&path).map_or("", |field| field.attribute(is_terraform, has_key));
        let message = format!("{path} is {}, but should be {}", text(&from), text(&to));
        findings.push(finding(attribute, message, severity));
    }
    findings
}

fn text(value: &FieldValue) -> String {
    match value {
        FieldValue::Text(text) => text.escape_debug().to_string(),
        FieldValue::Number(number, unit) => unit.text(*number),
        FieldValue::Document(document) => document.compact(),
        FieldValue::Unset | FieldValue::Flag(_) | FieldValue::List(_) | FieldValue::Code(_) => "not set".to_owned(),
    }
}

/// What the policy of an external queue should deny or not allow, and what cannot be judged.
fn of_policy(case: &Case<'_>, record: &ClusterRecord, queue: &Queue) -> Vec<Message> {
    let (survey, scope) = (case.survey, &case.survey.scope);
    let wanted = policy::cluster_queue_policy(scope, &queue.name);
    let live = queue.policy.as_ref();
    let [tls, lock] = policy::lacks(live, &wanted);
    let finding = |code, message: String| {
        Message::finding(scope, code, queue.name.clone(), message).fixed_by(Hint::command(
            "its owner must change its policy; this prints the required policy:",
            export(scope, record),
        ))
    };
    let differs = |message: &str| finding(FindingCode::ExternalQueueDiffers, message.to_owned());
    let mut findings = Vec::new();
    findings.extend(tls.then(|| differs("its policy does not deny requests without TLS")));
    findings.extend(lock.then(|| differs("its policy does not deny senders other than the router")));
    if live.is_some_and(|policy| policy::has_lock(scope, &queue.name, policy)) {
        let message = "its record says that it is external, but it has kibus's policy".to_owned();
        findings.push(
            Message::finding(scope, FindingCode::TwoOwners, queue.name.clone(), message)
                .fixed_by(Hint::command("its owner replaces the policy with this output:", export(scope, record)))
                .then(
                    "if kibus should manage it again:",
                    scope.kibus(format!("add-cluster {} --adopt", record.cluster)),
                ),
        );
    }
    let old_rules: Vec<_> = survey.rules_of_queue(&queue.name).into_keys().collect();
    for opening in live.map(|live| openings(live, &wanted, &scope.account)).unwrap_or_default() {
        findings.push(match opening {
            Opening::Foreign(who) => {
                differs(&format!("its policy lets others send or receive: {}", who.escape_debug()))
            }
            Opening::Service(who) if old_rules.is_empty() => {
                differs(&format!("its policy lets `{who}` send for any account, and no rule sends to it anymore"))
                    .at_most(Severity::Error)
            }
            Opening::Service(who) => {
                let message = format!(
                    "its policy lets `{who}` send for any account, and {} still sends to it",
                    listed(&old_rules)
                );
                differs(&message).at_most(Severity::Warning)
            }
            Opening::Unclear(what) => finding(
                FindingCode::ExternalPolicyUnclear,
                format!("unknown what its policy allows: {}", what.escape_debug()),
            )
            .then(
                "to check with a probe whether messages are delivered and read:",
                scope.kibus(format!("verify --probe {}", record.cluster)),
            ),
        });
    }
    findings
}

/// Gives findings about kibus's own resources of external clusters a fix other than `add-cluster`.
pub(super) fn fix_leftovers(survey: &Survey, findings: &mut [Message]) {
    for finding in findings.iter_mut().filter(|finding| finding.change.is_some()) {
        let is_external = |name: &&ClusterName| survey.record(name).is_some_and(|record| !record.has_own_queue());
        let is_alarm = matches!(&finding.about, Subject::Resource(ResourceId::Alarm(_)));
        if finding.cluster.as_ref().filter(is_external).is_some() && is_alarm {
            finding.fix = Fix::bootstrap_hub(&survey.scope);
        }
    }
}
