//! Findings of a plan: differences, refusals, and resources that could not be read.

use std::collections::BTreeSet;

use super::{Finding, FindingCode, Fix, Severity, Subject};
use crate::advice::explanation;
use crate::error::{Hint, listed};
use crate::iam::grants::{LetsIn, lets_anyone_send};
use crate::model::answer::Fault;
use crate::model::name::{ClusterName, KmsKey, QueueName, RoleName, RuleName};
use crate::model::notation::first_of;
use crate::model::policy;
use crate::model::resource::{AliasField, FieldValue, FunctionField, QueueField, Resource, ResourceId};
use crate::model::scope::Scope;
use crate::plan::{Action, Change, Plan, Refusal};

/// How many fields a message names one by one.
const NAMED_FIELDS: usize = 3;

/// A finding for every change of a plan that is not refused. `absent_roles` are the controller roles that are known not
/// to exist.
pub fn changed(scope: &Scope, plan: &Plan, refusals: &[Refusal], absent_roles: &BTreeSet<RoleName>) -> Vec<Finding> {
    let refused: BTreeSet<ResourceId> = refusals.iter().filter_map(|refusal| refusal.resource(scope)).collect();
    plan.changes
        .iter()
        .enumerate()
        .filter(|(_, change)| !refused.contains(&change.id))
        .filter_map(|(place, change)| {
            let cluster = change.cluster.clone();
            let unconfirmed = refusals.iter().find(|refusal| refusal.is_unconfirmed(cluster.as_ref()));
            // Which resource is not part of the configuration depends on the tag.
            if unconfirmed.is_some() && change.action == Action::Delete {
                return None;
            }
            let (code, message) = judge(change, cluster.is_some());
            let finding = Finding {
                code,
                subject: Subject::Resource(change.id.clone()),
                cluster: cluster.clone(),
                message,
                fix: match (unconfirmed, cluster, &change.id) {
                    (Some(refusal), ..) => Fix::Advice(refusal.advice(scope, false)),
                    (_, Some(cluster), ResourceId::RolePolicy(role, _)) if absent_roles.contains(role) => {
                        another_role(scope, &cluster, role)
                    }
                    (_, Some(cluster), _) => Fix::add_cluster(scope, cluster),
                    (_, None, _) => Fix::bootstrap_hub(scope),
                },
                change: Some(place),
                severity: code.severity(),
            };
            Some(match only_settings(code, change) {
                true => finding.at_most(Severity::Error),
                false => finding,
            })
        })
        .collect()
}

/// Whether a queue is changed and neither its policy nor its encryption differs: who can send and read is as configured.
fn only_settings(code: FindingCode, change: &Change) -> bool {
    let mut fields = change.fields.iter();
    matches!(code, FindingCode::HubQueueChanged | FindingCode::ClusterQueueChanged)
        && !fields.any(|field| field.is_of(QueueField::Policy) || field.is_of(QueueField::Encryption))
}

/// Adding the cluster again fails if the saved role does not exist.
fn another_role(scope: &Scope, cluster: &ClusterName, role: &RoleName) -> Fix {
    Fix::Advice(Hint::command(
        format!("role `{role}` does not exist; pass the role that Karpenter runs as"),
        scope.kibus(format!("add-cluster {cluster} --controller-role ROLE")),
    ))
}

/// The refusals of a plan: one finding each.
pub fn refused(scope: &Scope, refusals: &[Refusal]) -> Vec<Finding> {
    refusals
        .iter()
        .map(|refusal| {
            let id = refusal.resource(scope);
            let sentence = refusal.to_string();
            // The line of a finding begins with its subject.
            let start = id.as_ref().map(|id| format!("{id} "));
            let message = start.and_then(|start| sentence.strip_prefix(&start).map(str::to_owned));
            let subject = id.map_or_else(|| Subject::Other("options".to_owned()), Subject::Resource);
            let fix = Fix::Advice(refusal.advice(scope, false));
            Finding::new(scope, refusal.code(), subject, message.unwrap_or(sentence)).fixed_by(fix)
        })
        .collect()
}

/// Something that could not be read.
pub fn unreadable(scope: &Scope, subject: Subject, fault: &Fault) -> Finding {
    let code = match fault.is_denied() {
        true => FindingCode::Denied,
        false => FindingCode::Unreadable,
    };
    let (notes, hint) = explanation(fault, scope);
    let finding = Finding::new(scope, code, subject, notes.join("; "));
    match hint {
        Some(hint) => finding.fixed_by(Fix::Advice(hint)),
        None => finding,
    }
}

/// A finding if the key policy of the queues does not allow EventBridge. `policy` is `None` if the key does not exist.
/// A policy that allows EventBridge, or may, is no finding.
pub fn key(scope: &Scope, key: &KmsKey, policy: Option<&LetsIn>) -> Option<Finding> {
    let message = match policy {
        None => "the key does not exist".to_owned(),
        Some(LetsIn::No(missing)) => format!(
            "the key policy does not allow EventBridge to call {}",
            missing.iter().copied().collect::<Vec<_>>().join(" and ")
        ),
        Some(LetsIn::Yes | LetsIn::Unclear) => return None,
    };
    let advice = format!(
        "add this statement to its policy, or use another key: {}",
        policy::key_statement(scope).compact()
    );
    let message = format!("{message}; {}", policy::KEPT_DATA_KEY);
    let subject = Subject::Other(format!("key {key}"));
    Some(
        Finding::new(scope, FindingCode::KeyBlocksEventBridge, subject, message)
            .fixed_by(Fix::Advice(Hint::text(advice))),
    )
}

/// A requested cluster that is not registered. `similar` are clusters that may have been meant.
pub fn not_registered(scope: &Scope, cluster: ClusterName, similar: &BTreeSet<ClusterName>, fix: Fix) -> Finding {
    let message = match similar.is_empty() {
        true => "not registered".to_owned(),
        false => format!("not registered; did you mean {}?", listed(similar)),
    };
    Finding::new(
        scope,
        FindingCode::ClusterNotRegistered,
        Subject::Cluster(cluster),
        message,
    )
    .fixed_by(fix)
}

/// A cluster whose queue is missing, while this role still has the policy that kibus wrote for it.
pub fn orphan(scope: &Scope, role: &RoleName, cluster: ClusterName) -> Finding {
    let message = format!("queue missing; role `{role}` still has its policy");
    let subject = Subject::Cluster(cluster.clone());
    Finding::new(scope, FindingCode::OrphanedPolicy, subject, message).fixed_by(Fix::add_or_remove(scope, cluster))
}

/// An adopted queue that keeps these senders. `permissions` are statements that allow more than its old rules need.
pub fn old_senders(
    scope: &Scope,
    queue: QueueName,
    cluster: ClusterName,
    senders: &BTreeSet<String>,
    permissions: &BTreeSet<String>,
) -> Finding {
    let (message, advice) = match permissions.is_empty() {
        true => (
            format!("also accepts messages from {}", listed(senders)),
            "when the old rules are removed, drop these senders:",
        ),
        false => (
            format!("its policy allows more than EventBridge needs: {}", listed(permissions)),
            "remove these statements from its policy; or, to drop all senders that are not of the bus:",
        ),
    };
    let advice = Hint::command(advice, scope.kibus(format!("add-cluster {cluster} --drop-old-senders")));
    let subject = Subject::Resource(ResourceId::Queue(queue));
    let finding = Finding {
        cluster: Some(cluster),
        ..Finding::new(scope, FindingCode::OldSenders, subject, message)
    }
    .fixed_by(Fix::Advice(advice));
    match permissions.is_empty() {
        true => finding.at_most(Severity::Warning),
        false => finding,
    }
}

/// A queue with the tags of a cluster of the bus, and without a statement of kibus in its policy.
pub fn only_tagged(scope: &Scope, queue: QueueName, cluster: ClusterName, fix: Fix) -> Finding {
    let subject = Subject::Resource(ResourceId::Queue(queue));
    let message = "has tags of the bus, and no statement of it in its policy";
    Finding {
        cluster: Some(cluster),
        ..Finding::new(scope, FindingCode::OnlyTagged, subject, message)
    }
    .fixed_by(fix)
}

/// A queue that is of the bus by a policy of kibus, and not by its tags. `other` is the bus that its tag names.
pub fn fallen(scope: &Scope, queue: QueueName, cluster: Option<ClusterName>, other: Option<&str>, fix: Fix) -> Finding {
    let subject = Subject::Resource(ResourceId::Queue(queue));
    let message = match other {
        Some(bus) => format!(
            "a policy says that it is of this bus, and its tag names bus `{}`",
            bus.escape_debug()
        ),
        None => "a policy says that it is of this bus, and it lacks the tags of its cluster".to_owned(),
    };
    Finding {
        cluster,
        ..Finding::new(scope, FindingCode::FellOffTheBus, subject, message)
    }
    .fixed_by(fix)
}

/// Rules of others that send Karpenter's events to a queue of the bus. `keeps_senders` says that the queue accepts them.
pub fn duplicate_rules(
    scope: &Scope,
    queue: QueueName,
    cluster: ClusterName,
    rules: &BTreeSet<RuleName>,
    keeps_senders: bool,
) -> Finding {
    let (state, then) = match keeps_senders {
        true => (
            "also receives events from",
            format!("add-cluster {cluster} --drop-old-senders"),
        ),
        false => ("rejects the events of", "discover".to_owned()),
    };
    let message = format!("{state} {}", in_words(rules));
    let advice = match keeps_senders {
        true => "remove these rules where they were created; then drop their senders:",
        false => "remove these rules where they were created; to see how:",
    };
    let subject = Subject::Resource(ResourceId::Queue(queue));
    Finding {
        cluster: Some(cluster),
        ..Finding::new(scope, FindingCode::DuplicateRule, subject, message)
    }
    .fixed_by(Fix::Advice(Hint::command(advice, scope.kibus(then))))
}

/// How many rules a message names one by one.
const NAMED_RULES: usize = 2;

fn in_words(rules: &BTreeSet<RuleName>) -> String {
    let named = listed(rules.iter().take(NAMED_RULES));
    match rules.len() {
        1 => format!("rule {named}"),
        ..=NAMED_RULES => format!("rules {named}"),
        count => format!("{count} rules like {}", listed(rules.first())),
    }
}

fn judge(change: &Change, of_cluster: bool) -> (FindingCode, String) {
    let [missing, changed] = change.id.of_kind().codes(of_cluster);
    match (change.action, &change.before) {
        (Action::Create, _) => (missing, "missing".to_owned()),
        (Action::Update, Some(before)) => different(change, before, changed),
        _ => (FindingCode::NotConfigured, "not part of the configuration".to_owned()),
    }
}

/// The most urgent difference: what the kind finds, then the code, then other fields, then tags.
fn different(change: &Change, before: &Resource, changed: FindingCode) -> (FindingCode, String) {
    if let Some(found) = before.particulars().trouble().or_else(|| code_changed(change)) {
        return found;
    }
    let code = match change.fields.iter().all(|field| field.tag().is_some()) {
        true => FindingCode::TagsChanged,
        false => changed,
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
    // The same code, but something other than kibus published it.
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
        // Deleted versions follow from the other fields.
        if field.is_of(AliasField::Versions) || same_code {
            continue;
        }
        let word = match field.tag() {
            Some(key) => format!("tag {key}"),
            None => field.path.clone(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() {
        return "record of the code".to_owned();
    }
    first_of(words, NAMED_FIELDS)
}
