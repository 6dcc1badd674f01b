//! Whether this build of the router does its work here: it routes a sample of every kind of event, just as it routes
//! what comes from the hub queue, to an EC2 and an SQS that live in memory. No queue and no service is touched.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::clock::Deadline;
use super::decode::{CAPACITY_RESERVATION, CAPACITY_RESERVATION_OLD};
use super::instance::InstanceId;
use super::invocation::{Work, invoke};
use super::json::Members;
use super::services::{Fault, InstanceTags, Queues};
use super::{Calls, Router};
use crate::model::name::{ClusterName, NameError, QueueName, QueuePrefix};
use crate::model::router_build::{MARK, version_in};
use crate::model::scope::Scope;
use crate::model::self_test::{Answer, DETAIL_TYPE, SOURCE};
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE};
use crate::model::tags::Tags;

/// What the environment variables of a router begin with.
const OURS: &str = "KIBUS_";

/// Two clusters that do not exist, and an instance of each.
const CLUSTERS: [(&str, &str); 2] = [
    ("kibus-self-test-a", "i-00000000000000a01"),
    ("kibus-self-test-b", "i-00000000000000b02"),
];

/// Whether an invocation asks for the self-test.
pub(super) fn is_asked(payload: &str) -> bool {
    let is = |event: &Members<'_>, key, wanted: &str| event.text(key).as_deref() == Some(wanted);
    Members::parse(payload).is_some_and(|event| is(&event, "source", SOURCE) && is(&event, "detail-type", DETAIL_TYPE))
}

/// Runs the self-test, and says how it went.
pub(super) async fn answer(scope: &Scope, prefix: &QueuePrefix, deadline: Deadline, now: fn() -> i64) -> Answer {
    let problems = match samples(scope, prefix) {
        Ok(samples) => problems(scope, prefix, &samples, deadline, now).await,
        Err(e) => vec![e.to_string()],
    };
    Answer {
        ok: problems.is_empty(),
        version: version_in(MARK.as_bytes()).unwrap_or_default().to_owned(),
        environment: env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(key, _)| key.starts_with(OURS))
            .collect(),
        problems,
    }
}

/// An event, and what each queue that is to get it must hold of it.
struct Sample {
    what: &'static str,
    event: Value,
    copies: Vec<(QueueName, Value)>,
}

async fn problems(
    scope: &Scope,
    prefix: &QueuePrefix,
    samples: &[Sample],
    deadline: Deadline,
    now: fn() -> i64,
) -> Vec<String> {
    let router = Arc::new(Router::new(
        scope.clone(),
        prefix.clone(),
        InMemory::default(),
        InMemory::default(),
    ));
    let work = match Work::read(&batch(scope, samples).to_string(), now()) {
        Ok(work) => work,
        Err(e) => return vec![format!("a batch of the hub queue cannot be read: {e}")],
    };
    let end = invoke(&router, &work, deadline, "self-test", now).await;
    let mut problems = Vec::new();
    if end.answer != json!({"batchItemFailures": []}) {
        problems.push(format!("samples were given back: {}", end.answer));
    }
    let mut sent = router.queues.taken();
    for sample in samples {
        for (queue, wanted) in &sample.copies {
            let bodies = sent.entry(queue.clone()).or_default();
            let found = bodies
                .iter()
                .position(|body| serde_json::from_str::<Value>(body).ok().as_ref() == Some(wanted));
            match found {
                Some(place) => drop(bodies.remove(place)),
                None => problems.push(format!(
                    "queue `{queue}` did not get its copy of a sample: {}",
                    sample.what
                )),
            }
        }
    }
    for (queue, rest) in sent.iter().filter(|(_, rest)| !rest.is_empty()) {
        problems.push(format!("queue `{queue}` got {} copies that it should not", rest.len()));
    }
    problems
}

/// The samples as Lambda hands over what it took from the hub queue.
fn batch(scope: &Scope, samples: &[Sample]) -> Value {
    let source = scope.queue_arn(&scope.hub_queue());
    let records: Vec<Value> = samples
        .iter()
        .enumerate()
        .map(|(number, sample)| {
            json!({
                "messageId": number.to_string(),
                "receiptHandle": number.to_string(),
                "body": sample.event.to_string(),
                "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1700000000000"},
                "eventSource": "aws:sqs",
                "eventSourceARN": source,
            })
        })
        .collect();
    json!({ "Records": records })
}

/// A sample of every kind of event, in the shapes that EC2 and AWS Health document.
fn samples(scope: &Scope, prefix: &QueuePrefix) -> Result<Vec<Sample>, NameError> {
    let [(first, instance), (second, other)] = CLUSTERS;
    let queue = |cluster: &str| -> Result<QueueName, NameError> {
        let cluster: ClusterName = cluster.parse()?;
        Ok(scope.cluster_queue(prefix, &cluster))
    };
    let (first_queue, second_queue) = (queue(first)?, queue(second)?);
    let arn = |id: &str| {
        let Scope {
            partition,
            region,
            account,
            ..
        } = scope;
        format!("arn:{partition}:ec2:{region}:{account}:instance/{id}")
    };
    let event = |source: &str, detail_type: &str, resources: Value, detail: Value| {
        json!({
            "version": "0",
            "id": "00000000-0000-0000-0000-000000000000",
            "source": source,
            "detail-type": detail_type,
            "account": scope.account.as_str(),
            "region": scope.region.as_str(),
            "time": "2026-01-01T00:00:00Z",
            "resources": resources,
            "detail": detail,
        })
    };
    let ec2 = |detail_type: &str, detail: Value| event("aws.ec2", detail_type, json!([arn(instance)]), detail);
    let health = |ids: &[&str]| {
        let entities: Vec<Value> = ids.iter().map(|id| json!({"entityValue": id})).collect();
        let detail = json!({
            "service": "EC2",
            "eventTypeCategory": "scheduledChange",
            "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
            "affectedEntities": entities,
        });
        event("aws.health", "AWS Health Event", json!(ids), detail)
    };
    let probe = |detail: Value| event(PROBE_SOURCE, PROBE_DETAIL_TYPE, json!([]), detail);

    let reservation = |detail_type| ec2(detail_type, json!({"instance-id": instance}));
    let same = |what, event: Value, queue: &QueueName| Sample {
        what,
        copies: vec![(queue.clone(), event.clone())],
        event,
    };
    Ok(vec![
        same(
            "a spot interruption",
            ec2(
                "EC2 Spot Instance Interruption Warning",
                json!({"instance-id": instance, "instance-action": "terminate"}),
            ),
            &first_queue,
        ),
        same(
            "a state change",
            ec2(
                "EC2 Instance State-change Notification",
                json!({"instance-id": instance, "state": "stopping"}),
            ),
            &first_queue,
        ),
        Sample {
            what: "a scheduled change of instances of two clusters",
            event: health(&[instance, other]),
            copies: vec![
                (first_queue.clone(), health(&[instance])),
                (second_queue.clone(), health(&[other])),
            ],
        },
        same(
            "a capacity reservation's interruption",
            reservation(CAPACITY_RESERVATION),
            &first_queue,
        ),
        Sample {
            what: "a capacity reservation's interruption under its older name",
            event: reservation(CAPACITY_RESERVATION_OLD),
            copies: vec![(first_queue.clone(), reservation(CAPACITY_RESERVATION))],
        },
        same(
            "a rebalance recommendation",
            ec2(
                "EC2 Instance Rebalance Recommendation",
                json!({"instance-id": instance}),
            ),
            &first_queue,
        ),
        same("a probe of the bus", probe(json!({})), &scope.probe_queue()),
        same("a probe of a cluster", probe(json!({"cluster": second})), &second_queue),
    ])
}

/// An EC2 that knows the two instances, and an SQS that keeps what it is sent.
#[derive(Debug, Default)]
struct InMemory(Mutex<BTreeMap<QueueName, Vec<String>>>);

impl InMemory {
    fn taken(&self) -> BTreeMap<QueueName, Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl InstanceTags for InMemory {
    async fn tags_of(&self, ids: &[InstanceId], _: &Calls) -> Result<HashMap<InstanceId, Tags>, Fault> {
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
    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bodies = bodies.iter().map(|body| (*body).to_owned());
        let queue = sent.entry(queue.clone()).or_default();
        let before = queue.len();
        queue.extend(bodies);
        Ok(vec![Ok(()); queue.len() - before])
    }

    async fn tags(&self, _: &QueueName) -> Result<Tags, Fault> {
        Err(Fault::Absent)
    }

    async fn hide(&self, _: &QueueName, _: &[(&str, u32)]) -> Result<(), Fault> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::decode;
    use super::*;
    use crate::model::scope::tests::{scope, scope_in};
    use crate::model::self_test::question;
    use crate::model::signal::Signal;

    fn deadline() -> Deadline {
        Deadline::at(u64::MAX / 2)
    }

    #[tokio::test]
    async fn a_router_passes_wherever_it_runs_and_whatever_its_queues_begin_with() {
        for scope in [scope(), scope_in("aws-cn", "cn-north-1")] {
            for prefix in ["karpenter-", "", &"x".repeat(40)] {
                let answer = answer(&scope, &prefix.parse().unwrap(), deadline(), || 0).await;
                assert_eq!((answer.ok, answer.problems), (true, vec![]), "{prefix}");
                assert_eq!(answer.version, env!("CARGO_PKG_VERSION"));
            }
        }
    }

    #[tokio::test]
    async fn a_copy_that_is_wrong_missing_or_too_many_is_a_problem() {
        let prefix = "karpenter-".parse().unwrap();
        let told = async |edit: fn(&mut Vec<Sample>)| {
            let mut samples = samples(&scope(), &prefix).unwrap();
            edit(&mut samples);
            problems(&scope(), &prefix, &samples, deadline(), || 0).await
        };
        assert_eq!(told(|_| {}).await, Vec::<String>::new());
        assert_eq!(
            told(|samples| samples[0].copies[0].1["detail"]["instance-id"] = json!("i-1")).await,
            [
                "queue `karpenter-kibus-self-test-a` did not get its copy of a sample: a spot interruption",
                "queue `karpenter-kibus-self-test-a` got 1 copies that it should not",
            ]
        );
        assert_eq!(
            told(|samples| samples[2].copies.truncate(1)).await,
            ["queue `karpenter-kibus-self-test-b` got 1 copies that it should not"]
        );
        // An instance without tags is given back once.
        assert_eq!(
            told(|samples| samples[0].event["detail"]["instance-id"] = json!("i-1")).await[0],
            "samples were given back: {\"batchItemFailures\":[{\"itemIdentifier\":\"0\"}]}"
        );
    }

    #[test]
    fn there_is_a_sample_of_every_kind() {
        let samples = samples(&scope(), &"".parse().unwrap()).unwrap();
        let kinds: BTreeSet<Signal> = samples
            .iter()
            .map(|sample| decode(&sample.event.to_string(), 0, &scope()).unwrap().signal)
            .collect();
        assert_eq!(kinds, Signal::ALL.into_iter().collect());
    }

    #[test]
    fn the_question_is_known_and_nothing_else_is() {
        for (payload, asked) in [
            (question().to_string(), true),
            (json!({"source": SOURCE}).to_string(), false),
            (
                json!({"source": PROBE_SOURCE, "detail-type": DETAIL_TYPE}).to_string(),
                false,
            ),
            (
                json!({"Records": [{"body": question().to_string()}]}).to_string(),
                false,
            ),
            ("null".to_owned(), false),
        ] {
            assert_eq!(is_asked(&payload), asked, "{payload}");
        }
    }
}
