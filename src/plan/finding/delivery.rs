//! Findings of the message flow: messages that nobody receives, dead letters, a router that cannot run, and one that
//! something else feeds too.

use std::collections::BTreeMap;

use super::{Finding, FindingCode, Fix, Severity, Subject};
use crate::error::{Hint, quoted};
use crate::model::name::{ClusterName, QueueName};
use crate::model::notation::counted;
use crate::model::resource::{FunctionMapping, FunctionPermission, ResourceId};
use crate::model::router_function::LiveTest;
use crate::model::scope::{LIVE, Scope};
use crate::model::status::{Depth, DroppedEvents, MappingState, VersionState, is_standing, is_unread};

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
pub fn traffic(scope: &Scope, seen: &Traffic, clusters: &BTreeMap<QueueName, ClusterName>) -> Vec<Finding> {
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
            clusters
                .get(queue)
                .and_then(|cluster| unread(scope, queue, cluster, samples))
        };
        findings.extend(finding.map(|finding| if seen.watched { finding } else { unwatched(finding) }));
    }
    findings
}

/// A finding whose counts may be a minute old. Messages that wait may be received now; dead letters stay until someone
/// acts.
fn unwatched(mut finding: Finding) -> Finding {
    finding.message.push_str("; the counts may be stale");
    let severity = match finding.code {
        FindingCode::DeadLetters => Severity::Error,
        _ => Severity::Warning,
    };
    finding.at_most(severity)
}

fn dead_letters(scope: &Scope, samples: &[Depth]) -> Option<Finding> {
    let depth = samples.last()?;
    let count = depth.waiting + depth.in_flight;
    (count > 0).then(|| {
        let queue = ResourceId::Queue(scope.dead_letter_queue());
        let message = format!("about {}", counted(count, "dead letter"));
        let advice = Hint::command("read the reason of each", scope.kibus("dead-letters"));
        found(scope, FindingCode::DeadLetters, queue, message).fixed_by(Fix::Advice(advice))
    })
}

fn backlog(scope: &Scope, samples: &[Depth]) -> Option<Finding> {
    let last = samples.last()?;
    is_standing(samples).then(|| {
        let message = format!("about {} waiting, and not decreasing", counted(last.waiting, "message"));
        let queue = ResourceId::Queue(scope.hub_queue());
        let advice = Hint::command("read the reason in the router's log", router_log(scope));
        found(scope, FindingCode::HubQueueNotDraining, queue, message).fixed_by(Fix::Advice(advice))
    })
}

fn unread(scope: &Scope, queue: &QueueName, cluster: &ClusterName, samples: &[Depth]) -> Option<Finding> {
    let last = samples.last()?;
    is_unread(samples).then(|| {
        let message = format!("about {} waiting and none in flight", counted(last.waiting, "message"));
        let advice = format!(
            "check that Karpenter of {cluster} runs, has `{queue}` as its interruption queue, and is allowed to read it"
        );
        Finding {
            cluster: Some(cluster.clone()),
            ..found(
                scope,
                FindingCode::QueueUnread,
                ResourceId::Queue(queue.clone()),
                message,
            )
        }
        .fixed_by(Fix::Advice(Hint::text(advice)))
    })
}

fn of_mapping(scope: &Scope, mapping: &MappingState) -> Option<Finding> {
    let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    let message = format!("in state {}", mapping.state);
    (!mapping.has_settled()).then(|| found(scope, FindingCode::MappingInTransition, id, message))
}

/// A finding about a mapping of the router, unless it is one of the hub queue to the live version. Of these, the plan
/// knows the duplicates.
pub fn foreign_mapping(scope: &Scope, mapping: &FunctionMapping) -> Option<Finding> {
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
    let advice = Hint::command(
        "find out who created it (CloudTrail, CreateEventSourceMapping), then delete it:",
        scope.aws(format!(
            "lambda delete-event-source-mapping --uuid {} --region {}",
            quoted(uuid),
            scope.region
        )),
    );
    Some(Finding::new(scope, FindingCode::ForeignMapping, subject, message).fixed_by(Fix::Advice(advice)))
}

/// A finding about a statement of the router's resource policies: kibus adds none.
pub fn invoke_permission(scope: &Scope, permission: &FunctionPermission) -> Finding {
    let FunctionPermission {
        qualifier,
        sid,
        action,
        principal,
    } = permission;
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
    let qualified = qualifier
        .as_ref()
        .map_or_else(String::new, |qualifier| format!(" --qualifier {}", quoted(qualifier)));
    let advice = Hint::command(
        "find out who added it (CloudTrail, AddPermission), then remove it:",
        scope.aws(format!(
            "lambda remove-permission --function-name {function}{qualified} --statement-id {} --region {}",
            quoted(sid),
            scope.region
        )),
    );
    let subject = Subject::Resource(ResourceId::Function(function));
    Finding::new(scope, FindingCode::InvokePermission, subject, message).fixed_by(Fix::Advice(advice))
}

/// A finding about a cluster whose events the router dropped because it is not on the bus.
pub fn dropped(scope: &Scope, cluster: &ClusterName, events: &DroppedEvents) -> Finding {
    let DroppedEvents { count, reason } = events;
    let counted = counted(count, "event");
    let message = format!("the router dropped {counted} of it in the last day: `{reason}`");
    let subject = Subject::Cluster(cluster.clone());
    Finding::new(scope, FindingCode::EventsDropped, subject, message).fixed_by(Fix::add_cluster(scope, cluster.clone()))
}

fn of_live(scope: &Scope, live: &LiveTest) -> Option<Finding> {
    let (code, message) = match live {
        LiveTest::Passed => return None,
        LiveTest::Failed(why) => (FindingCode::SelfTestFailed, format!("the self-test failed: {why}")),
        LiveTest::KeyDenied(why) => (FindingCode::RouterKeyDenied, format!("Lambda reports: {why}")),
        LiveTest::RoleNotAssumable(why) => (FindingCode::RouterRoleUnusable, format!("Lambda reports: {why}")),
        LiveTest::Throttled(why) => (
            FindingCode::RouterThrottled,
            format!("Lambda throttled an invocation: {why}"),
        ),
    };
    let id = ResourceId::Alias(scope.router_function(), LIVE.to_owned());
    Some(found(scope, code, id, message))
}

fn of_version(scope: &Scope, version: &VersionState) -> Option<Finding> {
    if version.can_run() {
        return None;
    }
    let reason = version.reason.iter().map(|reason| format!(": {reason}"));
    let message = format!("in state {}{}", version.state, reason.collect::<String>());
    let function = ResourceId::Function(scope.router_function());
    Some(found(scope, FindingCode::RouterNotActive, function, message))
}

/// A queue that kibus does not manage, with a queue of the bus as its dead-letter queue.
pub fn redriven(scope: &Scope, queue: QueueName, cluster: Option<ClusterName>, source: &QueueName) -> Finding {
    let (url, region) = (scope.queue_url(None, source), &scope.region);
    let command = scope.aws(format!(
        "sqs set-queue-attributes --queue-url {url} --attributes '{{\"RedrivePolicy\":\"\"}}' --region {region}"
    ));
    let advice = format!("find out who uses queue `{source}`, and remove its redrive policy");
    let message = format!("receives the dead letters of queue `{source}`");
    Finding {
        cluster,
        ..found(scope, FindingCode::ForeignRedrive, ResourceId::Queue(queue), message)
    }
    .fixed_by(Fix::Advice(Hint::command(advice, command)))
}

fn found(scope: &Scope, code: FindingCode, id: ResourceId, message: String) -> Finding {
    Finding::new(scope, code, Subject::Resource(id), message)
}

fn router_log(scope: &Scope) -> String {
    let (group, region) = (scope.router_log_group(), &scope.region);
    scope.aws(format!("logs tail {group} --region {region} --since 15m"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    fn depth(waiting: u64, in_flight: u64) -> Depth {
        Depth { waiting, in_flight }
    }

    #[test]
    fn only_the_hub_queue_may_be_mapped_and_only_to_the_live_version() {
        const QUEUES: &str = "arn:aws:sqs:us-west-2:111122223333";
        const ROUTER: &str = "arn:aws:lambda:us-west-2:111122223333:function:kibus-router";
        let (hub, mine) = (format!("{QUEUES}:kibus-hub"), format!("{QUEUES}:mine"));
        let of_mine = "K516 passes messages of arn:aws:sqs:us-west-2:111122223333:mine to";
        let of_hub = "K516 passes messages of arn:aws:sqs:us-west-2:111122223333:kibus-hub to";
        for (source, target, found) in [
            (hub.as_str(), format!("{ROUTER}:live"), None),
            (
                &mine,
                format!("{ROUTER}:live"),
                Some(format!("{of_mine} `live` of the router")),
            ),
            (
                &mine,
                format!("{ROUTER}:7"),
                Some(format!("{of_mine} `7` of the router")),
            ),
            (&hub, format!("{ROUTER}:7"), Some(format!("{of_hub} `7` of the router"))),
            (
                &hub,
                ROUTER.to_owned(),
                Some(format!("{of_hub} the router's unpublished version")),
            ),
            (
                "",
                format!("{ROUTER}:live"),
                Some("K516 passes messages of a source without ARN to `live` of the router".to_owned()),
            ),
        ] {
            let mapping = FunctionMapping {
                uuid: "u".to_owned(),
                source: source.to_owned(),
                target,
            };
            let finding = foreign_mapping(&scope(), &mapping);
            let words = finding.map(|finding| format!("{} {}", finding.code, finding.message));
            assert_eq!(words, found, "{mapping:?}");
        }
    }

    fn findings(seen: &Traffic) -> Vec<Finding> {
        let clusters = BTreeMap::from([("karpenter-base".parse().unwrap(), "base".parse().unwrap())]);
        traffic(&scope(), seen, &clusters)
    }

    fn codes(seen: &Traffic) -> Vec<&'static str> {
        findings(seen).iter().map(|finding| finding.code.as_str()).collect()
    }

    /// S12: a count is certain only after a minute, and before that less urgent, and the message says so.
    #[test]
    fn a_queue_is_judged_by_what_it_is_for() {
        for (queue, samples, expected) in [
            ("kibus-hub-dlq", vec![depth(0, 0)], None),
            ("kibus-hub-dlq", vec![depth(1, 0)], Some("K501")),
            ("kibus-hub-dlq", vec![depth(0, 1)], Some("K501")),
            ("kibus-hub-dlq", vec![depth(1, 0), depth(0, 0)], None),
            ("kibus-hub", vec![depth(5, 0), depth(0, 5)], None),
            ("kibus-hub", vec![depth(5, 9), depth(5, 9)], Some("K503")),
            ("kibus-hub", vec![depth(5, 9), depth(0, 9), depth(5, 9)], None),
            ("kibus-probe", vec![depth(5, 0), depth(5, 0)], None),
            ("karpenter-base", vec![depth(5, 0), depth(5, 0)], Some("K502")),
            ("karpenter-base", vec![depth(5, 0), depth(4, 0)], None),
            ("karpenter-base", vec![depth(5, 0), depth(5, 1), depth(5, 0)], None),
            ("karpenter-nobody", vec![depth(5, 0), depth(5, 0)], None),
        ] {
            let stale = match expected {
                Some("K501") => Severity::Error,
                _ => Severity::Warning,
            };
            let certain = match expected {
                // With a probe, a look at the messages tells instead.
                Some("K502") => Severity::Warning,
                _ => Severity::Critical,
            };
            for (watched, severity) in [(false, stale), (true, certain)] {
                let seen = Traffic {
                    queues: BTreeMap::from([(queue.parse().unwrap(), samples.clone())]),
                    watched,
                    ..Traffic::default()
                };
                let found = findings(&seen);
                let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
                assert_eq!(codes, expected.as_slice(), "{queue} {samples:?}");
                for finding in found {
                    assert_eq!(finding.severity, severity, "{queue} {samples:?}");
                    let says = finding.message.ends_with("; the counts may be stale");
                    assert_eq!(says, !watched, "{}", finding.message);
                }
            }
        }
    }

    #[test]
    fn a_mapping_is_judged_by_its_state() {
        for (state, expected) in [("Enabled", vec![]), ("Disabled", vec![]), ("Updating", vec!["K505"])] {
            let seen = Traffic {
                mapping: Some(MappingState {
                    state: state.to_owned(),
                    reason: None,
                }),
                ..Traffic::default()
            };
            assert_eq!(codes(&seen), expected, "{state}");
        }
    }

    /// M5: what a self-test of the live version shows.
    #[test]
    fn a_live_router_that_fails_is_a_finding_with_its_words() {
        let said = || "said".to_owned();
        for (live, expected) in [
            (LiveTest::Passed, None),
            (LiveTest::Failed(said()), Some("K514 the self-test failed: said")),
            (LiveTest::KeyDenied(said()), Some("K507 Lambda reports: said")),
            (LiveTest::RoleNotAssumable(said()), Some("K508 Lambda reports: said")),
            (
                LiveTest::Throttled(said()),
                Some("K509 Lambda throttled an invocation: said"),
            ),
        ] {
            let seen = Traffic {
                live: Some(live),
                ..Traffic::default()
            };
            let found = findings(&seen);
            let found: Vec<String> = found.iter().map(|f| format!("{} {}", f.code, f.message)).collect();
            assert_eq!(found.first().map(String::as_str), expected);
        }
    }

    #[test]
    fn a_router_that_sleeps_can_run() {
        for (state, expected) in [("Active", vec![]), ("Inactive", vec![]), ("Failed", vec!["K506"])] {
            let seen = Traffic {
                version: Some(VersionState {
                    state: state.to_owned(),
                    ..VersionState::default()
                }),
                ..Traffic::default()
            };
            assert_eq!(codes(&seen), expected, "{state}");
        }
    }
}
