//! Findings of the message flow: messages that nobody receives, dead letters, and a router that cannot run.

use std::collections::BTreeMap;

use super::{Finding, FindingCode, Fix, Subject};
use crate::error::{Hint, Invocation};
use crate::model::name::{ClusterName, QueueName};
use crate::model::resource::ResourceId;
use crate::model::scope::{LIVE, Scope};
use crate::model::status::{Depth, MappingState, VersionState};

/// The message flow of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many messages each queue held, at a first sample and at one a moment later.
    pub queues: BTreeMap<QueueName, (Depth, Depth)>,
    /// The state of the mapping, if it exists.
    pub mapping: Option<MappingState>,
    /// The state of the router's live version, if it exists.
    pub version: Option<VersionState>,
}

/// What is wrong with the message flow. `clusters` are the registered ones, by their queues.
#[must_use]
pub fn traffic(scope: &Scope, seen: &Traffic, clusters: &BTreeMap<QueueName, ClusterName>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(seen.version.as_ref().and_then(|version| of_version(scope, version)));
    findings.extend(seen.mapping.as_ref().and_then(|mapping| of_mapping(scope, mapping)));
    for (queue, (first, last)) in &seen.queues {
        let finding = if *queue == scope.dead_letter_queue() {
            dead_letters(scope, *last)
        } else if *queue == scope.hub_queue() {
            backlog(scope, *first, *last)
        } else {
            clusters
                .get(queue)
                .and_then(|cluster| unread(queue, cluster, *first, *last))
        };
        findings.extend(finding);
    }
    findings
}

fn dead_letters(scope: &Scope, depth: Depth) -> Option<Finding> {
    let count = depth.waiting + depth.in_flight;
    (count > 0).then(|| {
        let (from, to) = (scope.dead_letter_queue(), scope.hub_queue());
        // Late events are harmless: Karpenter ignores terminated instances.
        let command = format!(
            "aws sqs start-message-move-task --region {} --source-arn {} --destination-arn {}",
            scope.region,
            scope.queue_arn(&from),
            scope.queue_arn(&to)
        );
        let message = format!("about {}", counted(count, "dead letter"));
        found(FindingCode::DeadLetters, ResourceId::Queue(from), message).fixed_by(Fix::Command(command.into()))
    })
}

fn backlog(scope: &Scope, first: Depth, last: Depth) -> Option<Finding> {
    last.stands_since(first).then(|| {
        let message = format!("about {} waiting, and not decreasing", counted(last.waiting, "message"));
        found(
            FindingCode::HubQueueNotDraining,
            ResourceId::Queue(scope.hub_queue()),
            message,
        )
        .fixed_by(Fix::Command(router_log(scope)))
    })
}

fn unread(queue: &QueueName, cluster: &ClusterName, first: Depth, last: Depth) -> Option<Finding> {
    last.unread_since(first).then(|| {
        let message = format!("about {} waiting and none in flight", counted(last.waiting, "message"));
        let advice = format!(
            "check that Karpenter of {cluster} runs, has `{queue}` as its interruption queue, and is allowed to read it"
        );
        Finding {
            cluster: Some(cluster.clone()),
            ..found(FindingCode::QueueUnread, ResourceId::Queue(queue.clone()), message)
        }
        .fixed_by(Fix::Advice(Hint::text(advice)))
    })
}

fn of_mapping(scope: &Scope, mapping: &MappingState) -> Option<Finding> {
    let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    if !mapping.has_settled() {
        return Some(found(
            FindingCode::MappingInTransition,
            id,
            format!("in state {}", mapping.state),
        ));
    }
    // The last result of a disabled mapping is from before it was disabled.
    let problem = mapping.problem().filter(|_| mapping.state == "Enabled")?;
    let message = format!("its last result was {problem}");
    Some(found(FindingCode::MappingFailing, id, message).fixed_by(Fix::Command(router_log(scope))))
}

fn of_version(scope: &Scope, version: &VersionState) -> Option<Finding> {
    if version.can_run() {
        return None;
    }
    let reason = version
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"));
    Some(found(
        FindingCode::RouterNotActive,
        ResourceId::Function(scope.router_function()),
        format!("in state {}{reason}", version.state),
    ))
}

fn found(code: FindingCode, id: ResourceId, message: String) -> Finding {
    Finding::new(code, Subject::Resource(id), message)
}

fn router_log(scope: &Scope) -> Invocation {
    let (group, region) = (scope.router_log_group(), &scope.region);
    format!("aws logs tail {group} --region {region} --since 15m").into()
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    fn depth(waiting: u64, in_flight: u64) -> Depth {
        Depth { waiting, in_flight }
    }

    fn codes(seen: &Traffic) -> Vec<&'static str> {
        let clusters = BTreeMap::from([("karpenter-base".parse().unwrap(), "base".parse().unwrap())]);
        let findings = traffic(&scope(), seen, &clusters);
        findings.iter().map(|finding| finding.code.as_str()).collect()
    }

    #[test]
    fn a_queue_is_judged_by_what_it_is_for() {
        for (queue, first, last, expected) in [
            ("kibus-hub-dlq", depth(0, 0), depth(0, 0), vec![]),
            ("kibus-hub-dlq", depth(1, 0), depth(1, 0), vec!["K501"]),
            ("kibus-hub-dlq", depth(0, 1), depth(0, 1), vec!["K501"]),
            ("kibus-hub", depth(5, 0), depth(0, 5), vec![]),
            ("kibus-hub", depth(5, 9), depth(5, 9), vec!["K503"]),
            ("kibus-probe", depth(5, 0), depth(5, 0), vec![]),
            ("karpenter-base", depth(5, 0), depth(5, 0), vec!["K502"]),
            ("karpenter-base", depth(5, 0), depth(4, 0), vec![]),
            ("karpenter-base", depth(5, 0), depth(5, 1), vec![]),
            ("karpenter-nobody", depth(5, 0), depth(5, 0), vec![]),
        ] {
            let seen = Traffic {
                queues: BTreeMap::from([(queue.parse().unwrap(), (first, last))]),
                ..Traffic::default()
            };
            assert_eq!(codes(&seen), expected, "{queue} {first:?} {last:?}");
        }
    }

    #[test]
    fn a_mapping_is_judged_by_state_and_result() {
        for (state, result, expected) in [
            ("Enabled", "OK", vec![]),
            ("Enabled", "No records processed", vec![]),
            ("Enabled", "PROBLEM: Function call failed", vec!["K504"]),
            ("Disabled", "PROBLEM: Function call failed", vec![]),
            ("Updating", "OK", vec!["K505"]),
        ] {
            let seen = Traffic {
                mapping: Some(MappingState {
                    state: state.to_owned(),
                    last_result: Some(result.to_owned()),
                    reason: None,
                }),
                ..Traffic::default()
            };
            assert_eq!(codes(&seen), expected, "{state} {result}");
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
