//! The wait for a deleted queue and the create that follows, against SQS as it is: different connections give different
//! answers, and a create may find the deleted queue.

use std::sync::Mutex;
use std::time::Duration;

use kibus::cloud::{FaultKind, Waiting, Write};
use kibus::model::hub::Hub;
use kibus::model::options::HubOptions;
use kibus::model::resource::{Code, Resource, ResourceId};
use kibus::plan::Op;
use tokio::sync::watch;

use crate::aws_like::{Behavior, Server};
use crate::support::behaving_cloud::BehavingCloud;

const STILL_ANSWERS: &str = "SQS still answers for the deleted queue";

/// The probe queue of a hub in an account of its own, created, behind a proxy.
struct Bench {
    behaving: BehavingCloud,
    sqs: aws_sdk_sqs::Client,
    queue: Resource,
}

impl Bench {
    async fn of(account: &str) -> Self {
        let behaving = BehavingCloud::of(account).await;
        let scope = behaving.cloud.scope();
        let hub = Hub::new(scope, HubOptions::default(), Code::of_archive("0.1.0", "aa"));
        let id = ResourceId::Queue(scope.probe_queue());
        let queue = hub.desired().get(&id).unwrap().clone();
        let sqs = aws_sdk_sqs::Client::new(behaving.session.config());
        let bench = Self { behaving, sqs, queue };
        bench.write(&bench.create(), Waiting::unattended()).await.unwrap();
        bench
    }

    fn create(&self) -> Op {
        Op::Create(self.queue.clone())
    }

    async fn write(&self, op: &Op, waiting: Waiting<'_>) -> Result<(), FaultKind> {
        self.behaving.cloud.write(op, waiting).await.map_err(|fault| fault.kind)
    }

    /// Deletes the queue without the mark, as the console does.
    async fn delete_elsewhere(&self) {
        let name = self.queue.id().name();
        let url = self.sqs.get_queue_url().queue_name(name).send().await.unwrap();
        let delete = self.sqs.delete_queue().queue_url(url.queue_url().unwrap());
        delete.send().await.unwrap();
    }
}

/// Runs until it reports that the queue still answers. That is the moment to stop it: such a wait takes 45 seconds.
async fn until_seen(run: impl AsyncFnOnce(Waiting<'_>) -> Result<(), FaultKind>) {
    let (ask, asked) = watch::channel(false);
    let reasons = Mutex::new(Vec::new());
    let report = |reason: &str| {
        reasons.lock().unwrap().push(reason.to_owned());
        ask.send_replace(reason == STILL_ANSWERS);
    };
    let result = run(Waiting::new(&report, &asked)).await;
    assert_eq!(result, Err(FaultKind::Stopped), "{:?}", reasons.lock().unwrap());
}

/// Whichever connections the pool has, some of the new ones find the queue.
#[test]
fn s22_a_queue_that_any_connection_finds_is_not_gone() {
    Server::shared().runtime.block_on(async {
        let bench = Bench::of("200000000201").await;
        bench.behaving.proxy.like.switch("held S22");
        let delete = Op::Delete(bench.queue.clone());
        bench.write(&delete, Waiting::unattended()).await.unwrap();
        let gone = async |waiting: Waiting<'_>| {
            let gone = bench.behaving.cloud.gone(&bench.queue.id(), waiting).await;
            gone.map_err(|fault| fault.kind)
        };
        until_seen(gone).await;
        // Each call has a connection of its own: five are not the first that asks.
        assert!(bench.behaving.proxy.like.strikes(Behavior::S22) >= 6);
        bench.behaving.proxy.like.settle().await;
        gone(Waiting::unattended()).await.unwrap();
    });
}

/// The mark is not what tells the two apart: the console sets none.
#[test]
fn s9_a_create_does_not_take_the_deleted_queue_for_the_new_one() {
    Server::shared().runtime.block_on(async {
        let bench = Bench::of("200000000202").await;
        // SQS gives whole seconds, so a queue that is deleted at once could be the new one.
        tokio::time::sleep(Duration::from_secs(8)).await;
        bench.behaving.proxy.like.switch("held S2 S9");
        bench.delete_elsewhere().await;
        until_seen(async |waiting| bench.write(&bench.create(), waiting).await).await;
        bench.behaving.proxy.like.settle().await;
        bench.write(&bench.create(), Waiting::unattended()).await.unwrap();
    });
}
