//! Problems with the flow of messages: the router, what else passes it messages or can invoke it, and whether queues are read.

use std::collections::BTreeMap;

use super::blocked::unanswered;
use super::{Case, Check, LISTED, Say};
use crate::error::{Hint, quoted};
use crate::message::{Message, Subject};
use crate::model::{
    ClusterName, Depth, Fact, FindingCode, FunctionMapping, FunctionPermission, LiveTest, MappingState, QueueName,
    ResourceId, Scope, VersionState, counted, first_of, scope::LIVE,
};
use crate::survey::Survey;

/// The findings of a check about the router, the queues of the hub, and those of the clusters that are checked.
pub(super) fn findings(case: &Case<'_>, clusters: &BTreeMap<QueueName, ClusterName>, say: &mut Say) {
    let survey = case.survey;
    let scope = &survey.scope;
    let mappings = survey.function_mappings().present().into_iter().flatten();
    say.findings.extend(mappings.filter_map(|mapping| of_foreign_mapping(scope, mapping)));
    say.findings.extend(survey.live_version().and_then(|version| of_version(scope, version)));
    say.findings.extend(survey.mapping().and_then(|mapping| of_mapping(scope, mapping)));
    say.findings.extend(survey.known.live_test.present().and_then(|live| of_live(scope, live)));
    say.findings.extend(survey.depth(&scope.dead_letter_queue()).and_then(|depth| of_dead_letters(scope, depth)));
    if case.target.check >= Check::Test {
        say.findings.extend(backlog(survey));
    }
    // A probe shows more.
    if case.target.check < Check::Probe {
        readers(survey, clusters, say);
    }
}

fn of_dead_letters(scope: &Scope, depth: Depth) -> Option<Message> {
    let count = depth.messages();
    (count > 0).then(|| {
        let queue = ResourceId::Queue(scope.dead_letter_queue());
        let message = format!("about {}", counted(count, "dead letter"));
        Message::finding(scope, FindingCode::DeadLetters, queue, message)
            .fixed_by(Hint::command("read the reason for each", scope.kibus("dead-letters")))
    })
}

/// Messages that wait in the hub queue, and whose number does not decrease.
fn backlog(survey: &Survey) -> Option<Message> {
    let (scope, queue) = (&survey.scope, survey.scope.hub_queue());
    let first = survey.depth(&queue).filter(|depth| depth.waiting > 0)?;
    let later = survey.depth_later(&queue).present().filter(|later| later.waiting >= first.waiting)?;
    let message = format!("about {} waiting, and not decreasing", counted(later.waiting, "message"));
    let (group, region) = (scope.router_log_group(), &scope.region);
    let log = scope.aws(format!("logs tail {group} --region {region} --since 15m"));
    let finding = Message::finding(scope, FindingCode::HubQueueNotDraining, ResourceId::Queue(queue), message);
    Some(finding.fixed_by(Hint::command("if this persists, read the reason in the router's log:", log)))
}

/// The maximum number of clusters that a warning lists.
const NAMED: usize = 3;
/// How long a new cluster lacks metrics for a whole hour, in seconds.
const NEW: u64 = 3_600;

/// The clusters whose queues nothing has read for an hour, and those for which that is unknown.
fn readers(survey: &Survey, clusters: &BTreeMap<QueueName, ClusterName>, say: &mut Say) {
    let scope = &survey.scope;
    let (mut unknown, mut denied) = (Vec::new(), None);
    for (queue, cluster) in clusters {
        let (Some(record), Some(found)) = (survey.record(cluster), survey.queue(queue)) else { continue };
        if record.since.map_or(found.created, |since| since.0) + NEW > survey.now {
            continue;
        }
        match survey.activity(queue) {
            Fact::Present(seen) if seen.receives_of_last_hour == Some(0) => {
                let message = "nothing has read it for an hour";
                let finding = Message::finding(scope, FindingCode::QueueNotReadForAnHour, queue.clone(), message);
                let check = format!(
                    "check that Karpenter in {cluster} is running and has `{queue}` as its interruption queue; then probe it:"
                );
                let probe = scope.kibus(format!("verify --probe {cluster}"));
                say.findings.push(finding.in_cluster(Some(cluster.clone())).fixed_by(Hint::command(check, probe)));
            }
            // Kibus does not know the permission of an external cluster; only a delete proves it.
            Fact::Present(seen) if seen.receives_of_last_hour.is_some() && (!record.external || seen.deleted > 0) => {}
            Fact::Present(_) | Fact::Absent => unknown.push(cluster),
            Fact::Unreadable(fault) => denied = Some(fault),
            Fact::NotAsked => {}
        }
    }
    if !unknown.is_empty() {
        let text = format!(
            "unknown whether Karpenter in {} can read its queue: the CloudWatch metrics do not show it. To find out:",
            first_of(unknown.iter().map(|cluster| format!("`{cluster}`")), NAMED)
        );
        let names = unknown.iter().take_while(|_| unknown.len() <= LISTED).map(|cluster| format!(" {cluster}"));
        say.warn(Hint::command(text, scope.kibus(format!("verify --probe{}", names.collect::<String>()))));
    }
    say.warn_all(denied.map(|fault| unanswered(scope, "unknown whether the queues of clusters are read", fault)));
}

fn of_mapping(scope: &Scope, mapping: &MappingState) -> Option<Message> {
    let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    let message = format!("in state {}", mapping.state);
    (!mapping.has_settled()).then(|| Message::finding(scope, FindingCode::MappingInTransition, id, message))
}

/// A finding about a mapping of the router, unless it maps the hub queue to the live version; the plan finds duplicates of that mapping.
fn of_foreign_mapping(scope: &Scope, mapping: &FunctionMapping) -> Option<Message> {
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
        Some(qualifier) => format!("passes messages from {source} to `{qualifier}` of the router"),
        None => format!("passes messages from {source} to the router's unpublished version"),
    };
    let subject = Subject::Other(format!("mapping {uuid}"));
    let delete = format!("lambda delete-event-source-mapping --uuid {} --region {}", quoted(uuid), scope.region);
    Some(Message::finding(scope, FindingCode::ForeignMapping, subject, message).fixed_by(Hint::command(
        "find out who created it (CloudTrail, CreateEventSourceMapping), then delete it:",
        scope.aws(delete),
    )))
}

/// A finding about a statement of the router's resource policies: kibus adds none.
pub(super) fn invoke_permission(scope: &Scope, permission: &FunctionPermission) -> Message {
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
    Message::finding(scope, FindingCode::InvokePermission, function, message).fixed_by(Hint::command(
        "find out who added it (CloudTrail, AddPermission), then remove it:",
        scope.aws(remove),
    ))
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
