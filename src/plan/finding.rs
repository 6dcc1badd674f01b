//! What `verify` reports: from a plan, its refusals, the message counts and what else was read to findings, each with a
//! stable code, its subject and a fix.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Change, FieldChange, Plan};
use crate::error::{Hint, quoted};
use crate::iam::grants::lets_anyone_send;
use crate::iam::service_access::LetsIn;
use crate::message::{Fix, Message, Subject, explanation};
use crate::model::{
    AliasField, ClusterName, Depth, Fault, FieldValue, FindingCode, FunctionField, FunctionMapping, FunctionPermission,
    KmsKey, LiveTest, MappingState, QueueField, QueueName, Resource, ResourceId, RoleName, Scope, Severity,
    VersionState, counted, first_of, policy,
    scope::LIVE,
    status::{is_standing, is_unread},
    tags::{BUS, CLUSTER, DELETING},
};

/// How many fields a message names one by one.
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
        let finding = Message::finding(scope, code, change.id.clone(), message).of(cluster).fixed_by(fix);
        let finding = Message { change: Some(place), ..finding };
        Some(if only_settings(code, change) { finding.at_most(Severity::Error) } else { finding })
    };
    plan.changes.iter().enumerate().filter_map(finding).collect()
}

/// Whether a queue is changed and neither its policy, its encryption nor a tag that decides differs: who can send and read is as
/// configured.
fn only_settings(code: FindingCode, change: &Change) -> bool {
    let decides = |field: &FieldChange| {
        let is_tag = field.tag().is_some_and(|key| [BUS, CLUSTER].contains(&key));
        is_tag || field.is_of(QueueField::Policy) || field.is_of(QueueField::Encryption)
    };
    matches!(code, FindingCode::HubQueueChanged | FindingCode::ClusterQueueChanged)
        && !change.fields.iter().any(decides)
}

/// Adding the cluster again fails if the saved role does not exist.
fn another_role(scope: &Scope, cluster: &ClusterName, role: &str) -> Fix {
    Fix::advice(Hint::command(
        format!("role `{}` does not exist; pass the role that Karpenter runs as", role.escape_debug()),
        scope.kibus(format!("add-cluster {cluster} --controller-role ROLE")),
    ))
}

/// Something that could not be read.
pub fn unreadable(scope: &Scope, subject: Subject, fault: &Fault) -> Message {
    let code = if fault.is_denied() { FindingCode::Denied } else { FindingCode::Unreadable };
    let (notes, hint) = explanation(fault, scope);
    let finding = Message::finding(scope, code, subject, notes.join("; "));
    match hint {
        Some(hint) => finding.fixed_by(Fix::advice(hint)),
        None => finding,
    }
}

/// A finding if the key policy of the queues does not allow EventBridge. `policy` is `None` if the key does not exist.
/// A policy that allows EventBridge, or may, is no finding.
pub fn key(scope: &Scope, key: &KmsKey, policy: Option<&LetsIn>) -> Option<Message> {
    let message = match policy {
        None => "the key does not exist".to_owned(),
        Some(LetsIn::No(missing)) => format!(
            "the key policy does not allow EventBridge to call {}",
            missing.iter().copied().collect::<Vec<_>>().join(" and ")
        ),
        Some(LetsIn::Yes | LetsIn::Unclear) => return None,
    };
    let advice =
        format!("add this statement to its policy, or use another key: {}", policy::key_statement(scope).compact());
    let message = format!("{message}; {}", policy::KEPT_DATA_KEY);
    let subject = Subject::Other(format!("key {key}"));
    Some(
        Message::finding(scope, FindingCode::KeyBlocksEventBridge, subject, message)
            .fixed_by(Fix::advice(Hint::text(advice))),
    )
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
    let tags: Vec<&str> = change.fields.iter().filter_map(FieldChange::tag).collect();
    // Without these two, the router does not deliver to the queue of a cluster.
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
        let word = field.tag().map_or_else(|| field.path.clone(), |key| format!("tag {key}"));
        // Deleted versions follow from the other fields.
        if !field.is_of(AliasField::Versions) && !same_code && !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { "record of the code".to_owned() } else { first_of(words, NAMED_FIELDS) }
}

/// The message flow of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many messages each queue held, in samples in the order of time.
    pub queues: BTreeMap<QueueName, Vec<Depth>>,
    /// Whether the samples cover the minute that SQS needs to count.
    pub watched: bool,
    /// The state of the mapping, if it exists.
    pub mapping: Option<MappingState>,
    /// The state of the router's live version, if it exists.
    pub version: Option<VersionState>,
    /// What became of a self-test of that version, if it was asked.
    pub live: Option<LiveTest>,
}

/// What is wrong with the message flow. `clusters` are the registered ones, by their queues.
pub fn traffic(scope: &Scope, seen: &Traffic, clusters: &BTreeMap<QueueName, ClusterName>) -> Vec<Message> {
    let mut findings = Vec::new();
    findings.extend(seen.version.as_ref().and_then(|version| of_version(scope, version)));
    findings.extend(seen.mapping.as_ref().and_then(|mapping| of_mapping(scope, mapping)));
    findings.extend(seen.live.as_ref().and_then(|live| of_live(scope, live)));
    for (queue, samples) in &seen.queues {
        let finding = if *queue == scope.dead_letter_queue() {
            dead_letters(scope, samples)
        } else if *queue == scope.hub_queue() {
            backlog(scope, samples)
        } else {
            clusters.get(queue).and_then(|cluster| unread(scope, queue, cluster, samples))
        };
        findings.extend(finding.map(|finding| if seen.watched { finding } else { unwatched(finding) }));
    }
    findings
}

/// A finding whose counts may be a minute old. Messages that wait may be received now; dead letters stay until someone
/// acts.
fn unwatched(mut finding: Message) -> Message {
    finding.sentence.push_str("; the counts may be stale");
    let severity = match finding.code {
        Some(FindingCode::DeadLetters) => Severity::Error,
        _ => Severity::Warning,
    };
    finding.at_most(severity)
}

fn dead_letters(scope: &Scope, samples: &[Depth]) -> Option<Message> {
    let depth = samples.last()?;
    let count = depth.waiting + depth.in_flight;
    (count > 0).then(|| {
        let queue = ResourceId::Queue(scope.dead_letter_queue());
        let message = format!("about {}", counted(count, "dead letter"));
        Message::finding(scope, FindingCode::DeadLetters, queue, message)
            .instead("read the reason of each", scope.kibus("dead-letters"))
    })
}

fn backlog(scope: &Scope, samples: &[Depth]) -> Option<Message> {
    let last = samples.last()?;
    is_standing(samples).then(|| {
        let message = format!("about {} waiting, and not decreasing", counted(last.waiting, "message"));
        let queue = ResourceId::Queue(scope.hub_queue());
        let (group, region) = (scope.router_log_group(), &scope.region);
        let log = scope.aws(format!("logs tail {group} --region {region} --since 15m"));
        Message::finding(scope, FindingCode::HubQueueNotDraining, queue, message)
            .instead("read the reason in the router's log", log)
    })
}

fn unread(scope: &Scope, queue: &QueueName, cluster: &ClusterName, samples: &[Depth]) -> Option<Message> {
    let last = samples.last()?;
    is_unread(samples).then(|| {
        let message = format!("about {} waiting and none in flight", counted(last.waiting, "message"));
        let advice = format!(
            "check that Karpenter of {cluster} runs, has `{queue}` as its interruption queue, and is allowed to read it"
        );
        Message::finding(scope, FindingCode::QueueUnread, ResourceId::Queue(queue.clone()), message)
            .of(Some(cluster.clone()))
            .fixed_by(Fix::advice(Hint::text(advice)))
    })
}

fn of_mapping(scope: &Scope, mapping: &MappingState) -> Option<Message> {
    let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    let message = format!("in state {}", mapping.state);
    (!mapping.has_settled()).then(|| Message::finding(scope, FindingCode::MappingInTransition, id, message))
}

/// A finding about a mapping of the router, unless it is one of the hub queue to the live version. Of these, the plan
/// knows the duplicates.
pub fn foreign_mapping(scope: &Scope, mapping: &FunctionMapping) -> Option<Message> {
    let FunctionMapping { uuid, source, target } = mapping;
    let function = scope.router_function();
    if *source == scope.queue_arn(&scope.hub_queue()) && *target == scope.alias_arn(&function, LIVE) {
        return None;
    }
    let source = match source.as_str() {
        "" => "a source without ARN",
        source => source,
    };
    let function = scope.function_arn(&function);
    let message = match target.strip_prefix(&function).and_then(|rest| rest.strip_prefix(':')) {
        Some(qualifier) => format!("passes messages of {source} to `{qualifier}` of the router"),
        None => format!("passes messages of {source} to the router's unpublished version"),
    };
    let subject = Subject::Other(format!("mapping {uuid}"));
    let delete = format!("lambda delete-event-source-mapping --uuid {} --region {}", quoted(uuid), scope.region);
    Some(
        Message::finding(scope, FindingCode::ForeignMapping, subject, message).instead(
            "find out who created it (CloudTrail, CreateEventSourceMapping), then delete it:",
            scope.aws(delete),
        ),
    )
}

/// A finding about a statement of the router's resource policies: kibus adds none.
pub fn invoke_permission(scope: &Scope, permission: &FunctionPermission) -> Message {
    let FunctionPermission { qualifier, sid, action, principal } = permission;
    let function = scope.router_function();
    let at = match qualifier {
        Some(qualifier) => format!("`{qualifier}`"),
        None => "its unpublished version".to_owned(),
    };
    let whom = match principal.as_str() {
        "*" => "anyone",
        principal => principal,
    };
    let message = format!("statement `{sid}` of its resource policy lets {whom} call {action} on {at}");
    let qualified =
        qualifier.as_ref().map_or_else(String::new, |qualifier| format!(" --qualifier {}", quoted(qualifier)));
    let remove = format!(
        "lambda remove-permission --function-name {function}{qualified} --statement-id {} --region {}",
        quoted(sid),
        scope.region
    );
    let function = ResourceId::Function(function);
    Message::finding(scope, FindingCode::InvokePermission, function, message)
        .instead("find out who added it (CloudTrail, AddPermission), then remove it:", scope.aws(remove))
}

fn of_live(scope: &Scope, live: &LiveTest) -> Option<Message> {
    let (code, message) = match live {
        LiveTest::Passed => return None,
        LiveTest::Failed(why) => (FindingCode::SelfTestFailed, format!("the self-test failed: {why}")),
        LiveTest::KeyDenied(why) => (FindingCode::RouterKeyDenied, format!("Lambda reports: {why}")),
        LiveTest::RoleNotAssumable(why) => (FindingCode::RouterRoleUnusable, format!("Lambda reports: {why}")),
        LiveTest::Throttled(why) => (FindingCode::RouterThrottled, format!("Lambda throttled an invocation: {why}")),
    };
    let id = ResourceId::Alias(scope.router_function(), LIVE.to_owned());
    Some(Message::finding(scope, code, id, message))
}

fn of_version(scope: &Scope, version: &VersionState) -> Option<Message> {
    if version.can_run() {
        return None;
    }
    let reason = version.reason.iter().map(|reason| format!(": {reason}"));
    let message = format!("in state {}{}", version.state, reason.collect::<String>());
    let function = ResourceId::Function(scope.router_function());
    Some(Message::finding(scope, FindingCode::RouterNotActive, function, message))
}

#[cfg(test)]
mod tests;
