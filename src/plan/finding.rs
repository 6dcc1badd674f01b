//! What `verify` reports of a plan: a finding for each change, with a stable code, its subject and a fix.

use std::collections::BTreeSet;

use super::{Action, Change, FieldChange, Plan};
use crate::error::Hint;
use crate::iam::grants::lets_anyone_send;
use crate::message::{Fix, Message, Subject, explained};
use crate::model::{
    AliasField, ClusterName, Fault, FieldValue, FindingCode, FunctionField, QueueField, Resource, ResourceId, RoleName,
    RuleField, Scope, Severity, first_of,
    tags::{BUS, CLUSTER, DELETING},
};

/// The maximum number of fields that a message lists.
const NAMED_FIELDS: usize = 3;

/// A finding for every change of a plan that is not refused. `absent_roles` are the controller roles that are known not
/// to exist.
pub fn changed(scope: &Scope, plan: &Plan, refusals: &[Message], absent_roles: &BTreeSet<RoleName>) -> Vec<Message> {
    let is_refused =
        |change: &Change| refusals.iter().any(|refusal| refusal.about == Subject::Resource(change.id.clone()));
    let finding = |(place, change): (usize, &Change)| {
        if is_refused(change) {
            return None;
        }
        let cluster = change.cluster.clone();
        let (code, message) = judge(change, cluster.is_some());
        let fix = match (&cluster, &change.id) {
            (Some(cluster), ResourceId::RolePolicy(role, _)) if absent_roles.contains(role) => {
                another_role(scope, cluster, role.as_str())
            }
            (Some(cluster), ResourceId::Queue(_)) if change.action == Action::Create => {
                Fix::add_or_remove(scope, cluster.clone())
            }
            (Some(cluster), _) => Fix::add_cluster(scope, cluster.clone()),
            (None, _) => Fix::bootstrap_hub(scope),
        };
        let finding = Message::finding(scope, code, change.id.clone(), message).in_cluster(cluster).fixed_by(fix);
        let finding = Message { change: Some(place), ..finding };
        Some(if only_settings(code, change) { finding.at_most(Severity::Error) } else { finding })
    };
    plan.changes.iter().enumerate().filter_map(finding).collect()
}

/// Whether a queue has changed, but not its policy, its encryption or a deciding tag: who can send and read is as configured.
fn only_settings(code: FindingCode, change: &Change) -> bool {
    let decides = |field: &FieldChange| {
        let is_tag = field.tag().is_some_and(|key| [BUS, CLUSTER].contains(&key));
        is_tag || field.is_of(QueueField::Policy) || field.is_of(QueueField::Encryption)
    };
    matches!(code, FindingCode::HubQueueChanged | FindingCode::ClusterQueueChanged)
        && !change.fields.iter().any(decides)
}

/// Adding the cluster again would fail, because the saved role does not exist.
fn another_role(scope: &Scope, cluster: &ClusterName, role: &str) -> Fix {
    Fix::from(Hint::command(
        format!("role `{}` does not exist; pass the role that Karpenter runs as", role.escape_debug()),
        scope.kibus(format!("add-cluster {cluster} --controller-role ROLE")),
    ))
}

/// A resource that could not be read.
pub fn unreadable(scope: &Scope, subject: Subject, fault: &Fault) -> Message {
    let code = if fault.is_denied() { FindingCode::Denied } else { FindingCode::Unreadable };
    let (notes, hints) = explained(scope, [(String::new(), fault)]);
    let finding = Message::finding(scope, code, subject, notes.join("; "));
    if hints.is_empty() { finding } else { finding.fixed_by(Fix::Advice(hints)) }
}

fn judge(change: &Change, of_cluster: bool) -> (FindingCode, String) {
    let [missing, changed] = change.id.of_kind().codes(of_cluster);
    match (change.action, &change.before) {
        (Action::Create, _) => (missing, "missing".to_owned()),
        (Action::Update, Some(before)) => different(change, before, changed),
        _ => (FindingCode::NotConfigured, "not part of the configuration".to_owned()),
    }
}

/// The most urgent difference: what the kind reports, then the code, then other fields, then tags.
fn different(change: &Change, before: &Resource, changed: FindingCode) -> (FindingCode, String) {
    if let Some((code, found)) = before.particulars().trouble().or_else(|| code_changed(change)) {
        let is_other = matches!(before, Resource::Rule(rule) if !rule.enabled && change.fields.len() > 1);
        return (code, if is_other { format!("{found}, and {} changed", fields(change)) } else { found });
    }
    let tags: Vec<&str> = change.fields.iter().filter_map(FieldChange::tag).collect();
    // Without these two tags, the router does not deliver to the queue of a cluster.
    let decides =
        |key: &&&str| matches!(before, Resource::Queue(_)) && change.cluster.is_some() && [BUS, CLUSTER].contains(key);
    let code = match tags.as_slice() {
        tags if tags.contains(&DELETING) => FindingCode::QueueMarked,
        tags if tags.len() == change.fields.len() && !tags.iter().any(|key| decides(&key)) => FindingCode::TagsChanged,
        _ => changed,
    };
    let lets_anyone = change.fields.iter().any(|field| match &field.from {
        FieldValue::Document(policy) => field.is_of(QueueField::Policy) && lets_anyone_send(policy),
        _ => false,
    });
    let start = if lets_anyone { "lets anyone send: " } else { "" };
    (code, format!("{start}{} changed", fields(change)))
}

fn code_changed(change: &Change) -> Option<(FindingCode, String)> {
    let field = change.fields.iter().find(|field| field.is_of(FunctionField::Code))?;
    let (FieldValue::Code(live), FieldValue::Code(wanted)) = (&field.from, &field.to) else {
        return None;
    };
    // The same code, but not published by kibus.
    (live.sha256 != wanted.sha256).then(|| (FindingCode::CodeChanged, "code changed".to_owned()))
}

/// The fields that differ, as a plan names them.
fn fields(change: &Change) -> String {
    let mut words: Vec<String> = Vec::new();
    for field in &change.fields {
        let same_code = matches!(
            (&field.from, &field.to),
            (FieldValue::Code(live), FieldValue::Code(wanted)) if live.sha256 == wanted.sha256
        );
        let word = field.tag().map_or_else(|| field.path.clone(), |key| format!("tag {key}"));
        // Deleted versions follow from the other fields, and a disabled rule has its own message.
        if !field.is_of(AliasField::Versions)
            && !field.is_of(RuleField::Enabled)
            && !same_code
            && !words.contains(&word)
        {
            words.push(word);
        }
    }
    if words.is_empty() { "record of the code".to_owned() } else { first_of(words, NAMED_FIELDS) }
}
