//! Findings of what flows: messages that nobody takes, dead letters, and a router that cannot run.

use std::collections::BTreeMap;

use super::{Code, Finding, Fix, Subject};
use crate::model::name::{ClusterName, QueueName};
use crate::model::resource::ResourceId;
use crate::model::scope::{LIVE, Scope};
use crate::model::status::{Depth, MappingState, VersionState};

/// What was seen of the traffic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// How many messages each queue held, at a first look and at a last one a moment later.
    pub queues: BTreeMap<QueueName, (Depth, Depth)>,
    /// How the mapping fares, if it is there.
    pub mapping: Option<MappingState>,
    /// How the live version of the router fares, if there is one.
    pub version: Option<VersionState>,
}

/// What is wrong with the traffic. `clusters` are the registered ones, by their queues.
#[must_use]
pub fn traffic(scope: &Scope, look: &Look, clusters: &BTreeMap<QueueName, ClusterName>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(look.version.as_ref().and_then(|version| of_version(scope, version)));
    findings.extend(look.mapping.as_ref().and_then(|mapping| of_mapping(scope, mapping)));
    for (queue, (first, last)) in &look.queues {
        let finding = if *queue == scope.dead_letter_queue() {
            dead_letters(scope, *last)
        } else if *queue == scope.hub_queue() {
            standing(scope, *first, *last)
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
        found(
            Code::DeadLetters,
            ResourceId::Queue(from.clone()),
            format!("about {}", counted(count, "dead letter")),
            // Late events are harmless, since Karpenter passes over instances that are gone.
            Fix::Command(format!(
                "aws sqs start-message-move-task --region {} --source-arn {} --destination-arn {}",
                scope.region,
                scope.queue_arn(&from),
                scope.queue_arn(&to)
            )),
        )
    })
}

fn standing(scope: &Scope, first: Depth, last: Depth) -> Option<Finding> {
    last.stands_since(first).then(|| {
        found(
            Code::HubQueueStands,
            ResourceId::Queue(scope.hub_queue()),
            format!(
                "about {} waiting, and not getting fewer",
                counted(last.waiting, "message")
            ),
            Fix::Command(format!(
                "aws logs tail {} --region {} --since 15m",
                scope.router_log_group(),
                scope.region
            )),
        )
    })
}

fn unread(queue: &QueueName, cluster: &ClusterName, first: Depth, last: Depth) -> Option<Finding> {
    last.unread_since(first).then(|| {
        found(
            Code::QueueUnread,
            ResourceId::Queue(queue.clone()),
            format!("about {} waiting and none in flight", counted(last.waiting, "message")),
            Fix::ByHand(format!(
                "see that Karpenter of {cluster} runs, has `{queue}` as its interruption queue, and may read it"
            )),
        )
    })
}

fn of_mapping(scope: &Scope, mapping: &MappingState) -> Option<Finding> {
    let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    if !mapping.has_settled() {
        let message = format!("in state {}", mapping.state);
        let fix = "wait a minute and verify again".to_owned();
        return Some(found(Code::MappingUnsettled, id, message, Fix::ByHand(fix)));
    }
    // What a disabled one said before it was disabled is history.
    let problem = mapping.problem().filter(|_| mapping.state == "Enabled")?;
    let fix = Fix::Command(format!(
        "aws logs tail {} --region {} --since 15m",
        scope.router_log_group(),
        scope.region
    ));
    Some(found(
        Code::MappingFailing,
        id,
        format!("its last result was {problem}"),
        fix,
    ))
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
        Code::RouterNotActive,
        ResourceId::Function(scope.router_function()),
        format!("in state {}{reason}", version.state),
        Fix::ByHand(
            "fix what Lambda says about it; bootstrap-hub --router-rollback makes the version before live again"
                .to_owned(),
        ),
    ))
}

fn found(code: Code, id: ResourceId, message: String, fix: Fix) -> Finding {
    Finding {
        code,
        subject: Subject::Resource(id),
        message,
        fix,
        change: None,
    }
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

    fn codes(look: &Look) -> Vec<&'static str> {
        let clusters = BTreeMap::from([("karpenter-base".parse().unwrap(), "base".parse().unwrap())]);
        let findings = traffic(&scope(), look, &clusters);
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
            let look = Look {
                queues: BTreeMap::from([(queue.parse().unwrap(), (first, last))]),
                ..Look::default()
            };
            assert_eq!(codes(&look), expected, "{queue} {first:?} {last:?}");
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
            let look = Look {
                mapping: Some(MappingState {
                    state: state.to_owned(),
                    last_result: Some(result.to_owned()),
                    reason: None,
                }),
                ..Look::default()
            };
            assert_eq!(codes(&look), expected, "{state} {result}");
        }
    }

    #[test]
    fn a_router_that_sleeps_can_run() {
        for (state, expected) in [("Active", vec![]), ("Inactive", vec![]), ("Failed", vec!["K506"])] {
            let look = Look {
                version: Some(VersionState {
                    state: state.to_owned(),
                    ..VersionState::default()
                }),
                ..Look::default()
            };
            assert_eq!(codes(&look), expected, "{state}");
        }
    }
}
