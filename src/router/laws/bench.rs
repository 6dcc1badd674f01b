//! A router with scripted services, 400 instances that EC2 knows, and messages about them.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use super::fakes::{FakeClock, FakeEc2, FakeQueues, FakeTopic, Fakes, Load, Script, SendAnswer, TagAnswer};
use super::hub_queue::FakeHub;
use crate::model::{InstanceId, QueueName, Signal, Tags, sample_event, scope::tests::scope};
use crate::router::batch::{Message, Origin, RoutedBatch};
use crate::router::route::route;
use crate::router::services::CallFailure;
use crate::router::{InvocationContext, Router};

pub(super) type TestRouter = Arc<Router<Fakes>>;

pub(super) fn router(sends: Vec<SendAnswer>, ec2: Vec<TagAnswer>, tags: Vec<Result<Tags, CallFailure>>) -> TestRouter {
    let truth = (0..400).filter_map(|n| Some((id(n), tags_of(n)?))).collect();
    let services = Fakes {
        topic: FakeTopic::default(),
        ec2: FakeEc2 { truth, script: Script::new(ec2), largest: AtomicUsize::new(0) },
        queues: FakeQueues {
            sends: Script::new(sends),
            tags: Script::new(tags),
            taken: Mutex::default(),
            asked: Mutex::default(),
            largest: AtomicUsize::new(0),
            hub: FakeHub::default(),
        },
        load: Load::default(),
    };
    let handler = "kibus/karpenter-{cluster}/notify=team-a".parse().unwrap();
    Arc::new(Router::new(scope(), handler, services))
}

pub(super) fn healthy() -> TestRouter {
    router(vec![sent()], vec![TagAnswer::True], vec![Ok(Tags::default())])
}

pub(super) fn sent() -> SendAnswer {
    SendAnswer::Entries(vec![Ok(())])
}

pub(super) fn id(n: usize) -> InstanceId {
    format!("i-{n}").parse().unwrap()
}

/// The cluster of an instance. Every fifth has no tags, and every seventh of the others no cluster.
pub(super) fn cluster_of(n: usize) -> Option<String> {
    (n % 5 != 4 && n % 7 != 6).then(|| format!("c{}", n % 20))
}

pub(super) fn tags_of(n: usize) -> Option<Tags> {
    match cluster_of(n) {
        Some(cluster) => Some(Tags::default().with("karpenter.sh/nodepool", "x").with("eks:eks-cluster-name", cluster)),
        None if n % 5 == 4 => None,
        None => Some(Tags::default().with("Name", "x")),
    }
}

/// A message with this number: a Spot warning, or a health event of several instances.
pub(super) fn message(number: usize, instances: &[usize], receives: impl Into<Option<u32>>) -> Message {
    let signal = if instances.len() == 1 { Signal::SpotInterruption } else { Signal::ScheduledChange };
    let ids: Vec<String> = instances.iter().map(|n| format!("i-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut event = sample_event(&scope(), signal, &ids);
    event["id"] = json!(number.to_string());
    Message {
        id: number.to_string(),
        origin: Origin::HubQueue { receipt: "r".to_owned() },
        body: event.to_string(),
        receives: receives.into(),
        arrived: 0,
    }
}

pub(super) fn run(router: &TestRouter, budget: u64, messages: &[Message]) -> RoutedBatch {
    run_with(router, FakeClock::with(budget), messages)
}

pub(super) fn run_with(router: &TestRouter, clock: FakeClock, messages: &[Message]) -> RoutedBatch {
    let context = InvocationContext::new(router, clock);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(route(&context, messages))
}

/// Every instance in every message that a queue accepted, with the queue and the number of the message.
pub(super) fn taken(router: &TestRouter) -> Vec<(QueueName, String, String)> {
    let mut all = Vec::new();
    for (queue, bodies) in router.services.queues.taken.lock().unwrap().iter() {
        for body in bodies {
            let event: Value = serde_json::from_str(body).unwrap();
            let message = event["id"].as_str().unwrap().to_owned();
            let detail = &event["detail"];
            let entities = detail["affectedEntities"].as_array().map(|entities| {
                let value = |entity: &Value| entity["entityValue"].as_str().unwrap().to_owned();
                entities.iter().map(value).collect::<Vec<_>>()
            });
            let instances = entities.unwrap_or_else(|| vec![detail["instance-id"].as_str().unwrap().to_owned()]);
            all.extend(instances.into_iter().map(|id| (queue.clone(), message.clone(), id)));
        }
    }
    all
}

/// A router with other answers and the cache of another router.
pub(super) fn router_with_cache(known: &TestRouter, ec2: Vec<TagAnswer>) -> TestRouter {
    let router = router(vec![sent()], ec2, vec![Ok(Tags::default())]);
    let now = Instant::now();
    for n in 0..400 {
        if let Some(owner) = known.owners.lock().unwrap().owner(&id(n), now) {
            router.owners.lock().unwrap().remember(id(n), owner, now);
        }
    }
    router
}
