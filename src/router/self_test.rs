//! The router's self-test: it routes a sample of every kind of event, as it routes the messages of the hub queue, to an
//! EC2 and an SQS in memory. Then it calls AWS with the role of the function: it reads the tags of an instance that does
//! not exist, and sends a message to the probe queue. What is refused here would be refused for every event.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::batch::Message;
use super::clock::{Backoff, Clock, Deadline};
use super::decision::RetryReason;
use super::invocation::{Payload, route_batch};
use super::report::CallCounts;
use super::route::NO_INSTANCE;
use super::services::{CallError, CallFailure, Services};
use super::{Router, locked};
use crate::model::{
    ClusterName, InstanceId, NameError, QueueName, QueueTemplate, RouterHandler, Scope, SelfTestReport, Signal,
    SqsAttributes, SqsEvent, SqsRecord, SubjectMember, Tags,
    policy::KEPT_DATA_KEY,
    router_build::{MARK, version_in},
    router_function::self_test_message,
    sample_event,
    tags::CLUSTER,
    time_text,
};
use crate::wire::aws_code;
use crate::wire::sns::Notice;

/// Two clusters that do not exist, and an instance of each.
const CLUSTERS: [(&str, &str); 2] =
    [("kibus-self-test-a", "i-00000000000000a01"), ("kibus-self-test-b", "i-00000000000000b02")];

/// How many characters of a message of AWS are reported. EC2 appends an encoded text of a thousand.
const SHOWN: usize = 300;

/// Runs the self-test; `services` are AWS. It ends before the deadline.
pub(super) async fn run<S: Services>(
    scope: &Scope,
    handler: &RouterHandler,
    services: &S,
    deadline: Deadline,
) -> SelfTestReport {
    let mut problems = match cases(scope, &handler.template) {
        Ok(cases) => routing_problems(scope, &handler.template, &cases, deadline).await,
        Err(e) => vec![e.to_string()],
    };
    let mut codes = vec![String::new(); problems.len()];
    for (problem, code) in access_problems(services, scope, &deadline).await {
        problems.push(problem);
        codes.push(code);
    }
    SelfTestReport {
        ok: problems.is_empty(),
        version: version_in(MARK.as_bytes()).unwrap_or_default().to_owned(),
        handler: handler.to_string(),
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

async fn routing_problems(
    scope: &Scope,
    template: &QueueTemplate,
    cases: &[SelfTestCase],
    deadline: Deadline,
) -> Vec<String> {
    let handler = RouterHandler::new(scope.bus.clone(), template.clone());
    let router = Arc::new(Router::new(scope.clone(), handler, InMemory::default()));
    let hub = scope.queue_arn(&scope.hub_queue());
    let messages = match Payload::parse(&payload(&hub, cases).to_string(), &hub, deadline.unix_millis()) {
        Ok(Payload::Batch(messages)) => messages,
        Ok(Payload::SelfTest) => return vec!["a batch of the hub queue is not recognized".to_owned()],
        Err(e) => return vec![format!("a batch of the hub queue cannot be read: {e}")],
    };
    let finished = route_batch(&router, messages, deadline, "self-test").await;
    let mut problems = Vec::new();
    let answer = finished.answer.unwrap_or_default();
    if answer != json!({"batchItemFailures": []}) {
        problems.push(format!("samples were returned to the queue: {answer}"));
    }
    let mut sent = std::mem::take(&mut *locked(&router.services.0));
    for case in cases {
        for (queue, expected) in &case.copies {
            let bodies = sent.entry(queue.clone()).or_default();
            let is_copy = |body: &String| serde_json::from_str::<Value>(body).ok().as_ref() == Some(expected);
            match bodies.iter().position(is_copy) {
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
    let records = cases.iter().enumerate().map(|(number, case)| SqsRecord {
        message_id: number.to_string(),
        receipt_handle: number.to_string(),
        body: case.event.to_string(),
        attributes: SqsAttributes {
            approximate_receive_count: "1".to_owned(),
            sent_timestamp: "1700000000000".to_owned(),
        },
        source: Some(hub.to_owned()),
    });
    json!(SqsEvent { records: records.collect() })
}

/// Cases of every signal, under every name that it has.
fn cases(scope: &Scope, template: &QueueTemplate) -> Result<Vec<SelfTestCase>, NameError> {
    let [(first, instance), (second, other)] = CLUSTERS;
    let queue = |cluster: &str| -> Result<QueueName, NameError> {
        let cluster: ClusterName = cluster.parse()?;
        Ok(scope.cluster_queue(template, &cluster))
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
                vec![(first_queue.clone(), sample(&[instance])), (second_queue.clone(), sample(&[other]))],
            )],
            // What comes from a queue names no cluster.
            SubjectMember::Cluster => {
                vec![(sample(&[]), vec![(scope.probe_queue(), sample(&[]))]), (sample(&[second]), vec![])]
            }
            SubjectMember::Bus => vec![(sample(&[]), vec![(scope.probe_queue(), sample(&[]))])],
        };
        for detail_type in signal.detail_types() {
            for (event, copies) in &samples {
                let mut event = event.clone();
                event["detail-type"] = json!(detail_type);
                cases.push(SelfTestCase { name: (*detail_type).to_owned(), event, copies: copies.clone() });
            }
        }
    }
    Ok(cases)
}

/// An EC2 that knows the two instances, and an SQS that keeps what it receives.
#[derive(Debug, Default)]
struct InMemory(Mutex<BTreeMap<QueueName, Vec<String>>>);

impl Services for InMemory {
    async fn instance_tags(&self, ids: &[InstanceId], _: &CallCounts) -> Result<HashMap<InstanceId, Tags>, CallError> {
        let known = CLUSTERS.iter().filter_map(|(cluster, id)| {
            let tags = Tags::default().with("eks:eks-cluster-name", *cluster).with("karpenter.sh/nodepool", "default");
            Some((id.parse().ok()?, tags))
        });
        Ok(known.filter(|(id, _)| ids.contains(id)).collect())
    }

    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), CallError>>, CallError> {
        let mut sent = locked(&self.0);
        let bodies = bodies.iter().map(|body| (*body).to_owned());
        let queue = sent.entry(queue.clone()).or_default();
        let before = queue.len();
        queue.extend(bodies);
        Ok(vec![Ok(()); queue.len() - before])
    }

    async fn queue_tags(&self, _: &QueueName) -> Result<Tags, CallError> {
        Ok(Tags::default())
    }

    async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<Message>, CallError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: &QueueName, receipts: &[&str]) -> Result<usize, CallError> {
        Ok(receipts.len())
    }

    async fn hide(&self, _: &QueueName, _: &[(&str, u32)]) -> Result<(), CallError> {
        Ok(())
    }

    async fn publish(&self, _: &str, notices: &[Notice]) -> Result<usize, CallError> {
        Ok(notices.len())
    }
}

/// What AWS refuses: what failed and what to check, and the code. The calls are retried like those of the router.
async fn access_problems<S: Services, C: Clock>(services: &S, scope: &Scope, clock: &C) -> Vec<(String, String)> {
    let queue = scope.probe_queue();
    let body = self_test_message(scope, &time_text(clock.unix_millis())).to_string();
    let (instances, calls): (Vec<InstanceId>, _) = (NO_INSTANCE.parse().into_iter().collect(), CallCounts::default());
    let bodies = [body.as_str()];
    let (tags, sent) = tokio::join!(
        until_answered(clock, || services.instance_tags(&instances, &calls)),
        until_answered(clock, || async {
            let sent = services.send(&queue, &bodies).await?;
            sent.into_iter().collect::<Result<(), _>>()
        }),
    );
    let mut problems = Vec::new();
    problems.extend(tags.err().map(|error| problem(tags_text(&error), error)));
    if let Err(error) = sent {
        let tags = if aws_code::is_denied(&error.code) {
            clock.within(Box::pin(services.queue_tags(&queue))).await
        } else {
            None
        };
        let tags = tags.and_then(Result::ok);
        problems.push(problem(send_text(scope, &queue, &error, tags.as_ref()), error));
    }
    problems
}

async fn until_answered<T: Send, C: Clock, F: Future<Output = Result<T, CallError>> + Send>(
    clock: &C,
    call: impl Fn() -> F,
) -> Result<T, CallError> {
    let mut backoff = Backoff::default();
    loop {
        match clock.within(Box::pin(call())).await {
            None => {
                return Err(CallError {
                    failure: CallFailure::Again(RetryReason::OutOfTime),
                    code: "RequestTimeout".to_owned(),
                    message: "timed out: no answer within the time of the self-test".to_owned(),
                });
            }
            Some(Err(error)) if matches!(error.failure, CallFailure::Again(_)) && backoff.again(clock).await => {}
            Some(answer) => return answer,
        }
    }
}

fn problem(text: String, error: CallError) -> (String, String) {
    let said: String = error.message.chars().take(SHOWN).collect();
    (format!("{text}: {} ({said})", error.code), error.code)
}

fn tags_text(error: &CallError) -> String {
    if aws_code::is_denied(&error.code) {
        "ec2:DescribeTags is denied; check statement KibusReadInstanceTags of the router's policy".to_owned()
    } else {
        "ec2:DescribeTags failed".to_owned()
    }
}

fn send_text(scope: &Scope, queue: &QueueName, error: &CallError, tags: Option<&Tags>) -> String {
    let code = error.code.as_str();
    let call = format!("sqs:SendMessage to queue `{queue}`");
    if let Some(state) = aws_code::key_problem(code) {
        let advice = if aws_code::is_denied(code) {
            "; check statement KibusUseKey of the router's policy, and the key's policy"
        } else {
            ""
        };
        format!("{call} failed, because the queue's KMS key {state}{advice}; {KEPT_DATA_KEY}")
    } else if aws_code::is_absent(code) {
        format!("{call} failed, because the queue does not exist")
    } else if aws_code::is_denied(code) {
        // Elsewhere the statement has no condition on tags.
        let tags = tags.filter(|_| scope.region.has_queue_tag_conditions());
        let tags = tags.map_or_else(String::new, |tags| tag_text(scope, tags));
        format!("{call} is denied; check statement KibusSendToClusters of the router's policy{tags}")
    } else {
        format!("{call} failed")
    }
}

/// What the tags of the probe queue say about the condition of the statement.
fn tag_text(scope: &Scope, tags: &Tags) -> String {
    if tags.belong_to(&scope.bus) && tags.get(CLUSTER).is_some() {
        format!(
            " and whether SQS in {} supports tags as conditions, because the queue has the tags; if it does not, set the hub \
             option --tag-conditions=false",
            scope.region
        )
    } else {
        " and the tags kibus:bus and kibus:cluster of the queue, which lacks one of them".to_owned()
    }
}

#[cfg(test)]
mod tests;
