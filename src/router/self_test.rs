//! The router's self-test: it routes a sample of every kind of event, as it routes the messages of the hub queue, to an
//! EC2 and an SQS in memory. Then it makes the calls of [`access_test`] to AWS.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::Router;
use super::access_test::{self, TestedCalls};
use super::batch::Message;
use super::call_counts::CallCounts;
use super::clock::{Clock, Deadline};
use super::instance::InstanceId;
use super::invocation::route_batch;
use super::payload::Payload;
use super::services::{CallFailure, InstanceTags, Queues};
use crate::model::name::{ClusterName, NameError, QueueName, QueuePrefix};
use crate::model::router_build::{MARK, version_in};
use crate::model::router_handler::RouterHandler;
use crate::model::sample_event::sample_event;
use crate::model::scope::Scope;
use crate::model::self_test::SelfTestReport;
use crate::model::signal::{Signal, SubjectMember};
use crate::model::tags::Tags;

/// Two clusters that do not exist, and an instance of each.
const CLUSTERS: [(&str, &str); 2] = [
    ("kibus-self-test-a", "i-00000000000000a01"),
    ("kibus-self-test-b", "i-00000000000000b02"),
];

/// Runs the self-test; `calls` are those to AWS. It ends before the deadline.
pub(super) async fn run(
    scope: &Scope,
    prefix: &QueuePrefix,
    calls: &impl TestedCalls,
    deadline: Deadline,
) -> SelfTestReport {
    let mut problems = match cases(scope, prefix) {
        Ok(cases) => problems(scope, prefix, &cases, deadline).await,
        Err(e) => vec![e.to_string()],
    };
    let mut codes = vec![String::new(); problems.len()];
    for problem in access_test::run(calls, scope, &deadline).await {
        problems.push(problem.text);
        codes.push(problem.code);
    }
    SelfTestReport {
        ok: problems.is_empty(),
        version: version_in(MARK.as_bytes()).unwrap_or_default().to_owned(),
        handler: RouterHandler {
            bus: scope.bus.clone(),
            prefix: prefix.clone(),
        }
        .to_string(),
        problems,
        codes,
    }
}

/// An event, and the copy that each queue must receive.
struct SelfTestCase {
    name: String,
    event: Value,
    copies: Vec<(QueueName, Value)>,
}

async fn problems(scope: &Scope, prefix: &QueuePrefix, cases: &[SelfTestCase], deadline: Deadline) -> Vec<String> {
    let router = Arc::new(Router::new(
        scope.clone(),
        prefix.clone(),
        InMemory::default(),
        InMemory::default(),
    ));
    let hub = scope.queue_arn(&scope.hub_queue());
    let messages = match Payload::parse(&payload(&hub, cases).to_string(), &hub, deadline.unix_millis()) {
        Ok(Payload::Batch(messages)) => messages,
        Ok(_) => return vec!["a batch of the hub queue is not recognized".to_owned()],
        Err(e) => return vec![format!("a batch of the hub queue cannot be read: {e}")],
    };
    let finished = route_batch(&router, messages, deadline, "self-test").await;
    let mut problems = Vec::new();
    let answer = finished.answer.unwrap_or_default();
    if answer != json!({"batchItemFailures": []}) {
        problems.push(format!("samples were returned to the queue: {answer}"));
    }
    let mut sent = router.queues.take();
    for case in cases {
        for (queue, expected) in &case.copies {
            let bodies = sent.entry(queue.clone()).or_default();
            let found = bodies
                .iter()
                .position(|body| serde_json::from_str::<Value>(body).ok().as_ref() == Some(expected));
            match found {
                Some(place) => drop(bodies.remove(place)),
                None => problems.push(format!("queue `{queue}` did not receive its copy of: {}", case.name)),
            }
        }
    }
    for (queue, rest) in sent.iter().filter(|(_, rest)| !rest.is_empty()) {
        problems.push(format!("queue `{queue}` received {} unexpected messages", rest.len()));
    }
    problems
}

/// The events as Lambda passes them from the hub queue.
fn payload(hub: &str, cases: &[SelfTestCase]) -> Value {
    let records: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(number, case)| {
            json!({
                "messageId": number.to_string(),
                "receiptHandle": number.to_string(),
                "body": case.event.to_string(),
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1700000000000"},
                "eventSource": "aws:sqs",
                "eventSourceARN": hub,
            })
        })
        .collect();
    json!({ "Records": records })
}

/// Cases of every signal, under every name that it has.
fn cases(scope: &Scope, prefix: &QueuePrefix) -> Result<Vec<SelfTestCase>, NameError> {
    let [(first, instance), (second, other)] = CLUSTERS;
    let queue = |cluster: &str| -> Result<QueueName, NameError> {
        let cluster: ClusterName = cluster.parse()?;
        Ok(scope.cluster_queue(prefix, &cluster))
    };
    let (first_queue, second_queue) = (queue(first)?, queue(second)?);
    let mut cases = Vec::new();
    for signal in Signal::ALL {
        let sample = |about: &[&str]| sample_event(scope, signal, about);
        let samples = match signal.subject() {
            SubjectMember::Instance => {
                let event = sample(&[instance]);
                vec![(event.clone(), vec![(first_queue.clone(), event)])]
            }
            SubjectMember::Entities => vec![(
                sample(&[instance, other]),
                vec![
                    (first_queue.clone(), sample(&[instance])),
                    (second_queue.clone(), sample(&[other])),
                ],
            )],
            // What comes from a queue names no cluster.
            SubjectMember::Cluster => vec![
                (sample(&[]), vec![(scope.probe_queue(), sample(&[]))]),
                (sample(&[second]), vec![]),
            ],
        };
        for detail_type in signal.detail_types() {
            for (event, copies) in &samples {
                let mut event = event.clone();
                event["detail-type"] = json!(detail_type);
                cases.push(SelfTestCase {
                    name: (*detail_type).to_owned(),
                    event,
                    copies: copies.clone(),
                });
            }
        }
    }
    Ok(cases)
}

/// An EC2 that knows the two instances, or an SQS that keeps what it receives.
#[derive(Debug, Default)]
struct InMemory(Mutex<BTreeMap<QueueName, Vec<String>>>);

impl InMemory {
    fn take(&self) -> BTreeMap<QueueName, Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl InstanceTags for InMemory {
    async fn tags_of(&self, ids: &[InstanceId], _: &CallCounts) -> Result<HashMap<InstanceId, Tags>, CallFailure> {
        let known = CLUSTERS.iter().filter_map(|(cluster, id)| {
            let tags = Tags::default()
                .with("eks:eks-cluster-name", *cluster)
                .with("karpenter.sh/nodepool", "default");
            Some((InstanceId::parse(id)?, tags))
        });
        Ok(known.filter(|(id, _)| ids.contains(id)).collect())
    }
}

impl Queues for InMemory {
    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), CallFailure>>, CallFailure> {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bodies = bodies.iter().map(|body| (*body).to_owned());
        let queue = sent.entry(queue.clone()).or_default();
        let before = queue.len();
        queue.extend(bodies);
        Ok(vec![Ok(()); queue.len() - before])
    }

    async fn tags(&self, _: &QueueName) -> Result<Tags, CallFailure> {
        Err(CallFailure::Absent)
    }

    async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<Message>, CallFailure> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &QueueName, receipts: &[&str]) -> Result<usize, CallFailure> {
        Ok(receipts.len())
    }

    async fn hide(&self, _: &QueueName, _: &[(&str, u32)]) -> Result<(), CallFailure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::{scope, scope_in};
    use crate::router::access_test::CallError;

    /// Services that give this answer to a send.
    struct Answer(Result<(), CallError>);

    impl TestedCalls for Answer {
        async fn instance_tags(&self, _: &str) -> Result<(), CallError> {
            Ok(())
        }

        async fn send(&self, _: &QueueName, _: &str) -> Result<(), CallError> {
            self.0.clone()
        }

        async fn queue_tags(&self, _: &QueueName) -> Result<Tags, CallError> {
            Ok(Tags::default())
        }
    }

    fn deadline() -> Deadline {
        Deadline::at(u64::MAX / 2)
    }

    #[tokio::test]
    async fn a_router_passes_in_every_partition_and_with_every_queue_prefix() {
        for scope in [scope(), scope_in("aws-cn", "cn-north-1")] {
            for prefix in ["karpenter-", "", &"x".repeat(40)] {
                let report = run(&scope, &prefix.parse().unwrap(), &Answer(Ok(())), deadline()).await;
                assert_eq!((report.ok, report.problems), (true, vec![]), "{prefix}");
                assert_eq!(report.version, env!("CARGO_PKG_VERSION"));
                assert_eq!(report.handler, format!("kibus/{prefix}"));
            }
        }
    }

    #[tokio::test]
    async fn a_router_that_may_not_send_fails_with_the_code_of_aws() {
        let calls = Answer(Err(access_test::refusal("AccessDenied", "said", false)));
        let report = run(&scope(), &"karpenter-".parse().unwrap(), &calls, deadline()).await;
        assert!(!report.ok);
        assert_eq!(report.refusals(), Some(["AccessDenied".to_owned()].as_slice()));
        assert!(
            report.problems[0].starts_with("sqs:SendMessage"),
            "{:?}",
            report.problems
        );
    }

    #[tokio::test]
    async fn a_wrong_missing_or_unexpected_copy_is_a_problem() {
        let prefix = "karpenter-".parse().unwrap();
        let problems_after = async |edit: fn(&mut Vec<SelfTestCase>)| {
            let mut cases = cases(&scope(), &prefix).unwrap();
            edit(&mut cases);
            problems(&scope(), &prefix, &cases, deadline()).await
        };
        assert_eq!(problems_after(|_| {}).await, Vec::<String>::new());
        assert_eq!(
            problems_after(|cases| cases[0].copies[0].1["detail"]["instance-id"] = json!("i-1")).await,
            [
                "queue `karpenter-kibus-self-test-a` did not receive its copy of: \
                 EC2 Spot Instance Interruption Warning",
                "queue `karpenter-kibus-self-test-a` received 1 unexpected messages",
            ]
        );
        assert_eq!(
            problems_after(|cases| cases[2].copies.truncate(1)).await,
            ["queue `karpenter-kibus-self-test-b` received 1 unexpected messages"]
        );
        // The event of an instance without tags is retried once.
        assert_eq!(
            problems_after(|cases| cases[0].event["detail"]["instance-id"] = json!("i-1")).await[0],
            "samples were returned to the queue: {\"batchItemFailures\":[{\"itemIdentifier\":\"0\"}]}"
        );
    }
}
