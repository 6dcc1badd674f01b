//! Creating queues when an older queue with the same name exists. SQS answers for a deleted queue for a while, and a create may find it.

use std::sync::Mutex;
use std::time::Duration;

use kibus::cloud::{FaultKind, Read, Waiting, Write};
use kibus::model::{HubOptions, Resource, ResourceId, tags::DELETING};
use kibus::plan::Change;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::aws_like::AwsLike;
use crate::support::account::Account;
use crate::support::stage::{Stage, port_of};

const QUEUE: &str = "kibus-probe";

/// The probe queue of a hub, created, behind a proxy.
struct Bench {
    stage: Stage,
    like: AwsLike,
    /// A foreign caller, who is also affected by the proxy.
    others: Account,
    queue: Resource,
}

impl Bench {
    async fn new() -> Self {
        let (stage, like) = Stage::like_aws().await;
        let others = Account { server: port_of(&stage.endpoint), ..stage.account.clone() };
        let queue = stage.hub(HubOptions::default()).get(&ResourceId::Queue(QUEUE.parse().unwrap())).unwrap().clone();
        let bench = Self { stage, like, others, queue };
        assert_eq!(bench.create(Waiting::unattended()).await, Ok(()));
        bench
    }

    async fn write(&self, change: Change, waiting: Waiting<'_>) -> Result<(), FaultKind> {
        self.stage.cloud.write(&change, waiting).await.map_err(|fault| fault.kind)
    }

    async fn create(&self, waiting: Waiting<'_>) -> Result<(), FaultKind> {
        self.write(Change::create(None, self.queue.clone()), waiting).await
    }

    async fn delete(&self) {
        assert_eq!(self.write(Change::delete(None, self.queue.clone()), Waiting::unattended()).await, Ok(()));
    }

    /// Creates the queue until the wait reports that an older one still answers, then stops it: such a wait takes minutes.
    async fn create_waits(&self) {
        let (ask, asked) = watch::channel(false);
        let reasons = Mutex::new(Vec::new());
        let report = |reason: &str| {
            reasons.lock().unwrap().push(reason.to_owned());
            ask.send_replace(reason == "SQS still answers for an older queue of this name");
        };
        let result = self.create(Waiting::new(&report, &asked)).await;
        assert_eq!(result, Err(FaultKind::Stopped), "{:?}", reasons.lock().unwrap());
    }

    async fn others(&self, operation: &str, mut parameters: Value) -> Value {
        parameters["QueueUrl"] = QUEUE.into();
        self.others.json("sqs", operation, &parameters.to_string()).await
    }

    async fn has_mark(&self) -> bool {
        !self.others("ListQueueTags", json!({})).await["Tags"][DELETING].is_null()
    }
}

/// The mark does not distinguish the two: the console sets none. If a run finds a queue that is younger than the run,
/// another run created it, so this run plans again.
#[tokio::test]
async fn s9_a_create_waits_for_a_deleted_queue_whoever_deleted_it() {
    let mut bench = Bench::new().await;
    // SQS returns whole seconds, so a queue that is deleted immediately could look like the new one.
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(bench.create(Waiting::unattended()).await, Err(FaultKind::Exists));
    for by_kibus in [false, true] {
        bench.stage.cloud = bench.stage.cloud_at(&bench.stage.endpoint).await;
        bench.like.switch("held S2 S9");
        if by_kibus {
            bench.delete().await;
        } else {
            bench.others("DeleteQueue", json!({})).await;
        }
        assert_eq!(bench.has_mark().await, by_kibus);
        bench.create_waits().await;
        bench.like.settle().await;
        assert_eq!(bench.create(Waiting::unattended()).await, Ok(()), "{by_kibus}");
        assert!(!bench.has_mark().await, "{by_kibus}");
    }
}

/// SQS may answer for a deleted queue with the last tags that it has seen.
#[tokio::test]
async fn s9_a_delete_is_requested_once_a_read_shows_the_mark() {
    let bench = Bench::new().await;
    let without = json!({
        "at_ms": 0,
        "operation": "sqs:ListQueueTags",
        "status": 200,
        "headers": {"content-type": "application/x-amz-json-1.0"},
        "body": json!({"Tags": bench.queue.tags().unwrap().0}).to_string(),
    });
    let recording = json!({"format": 1, "rows": [], "place": "", "seen": [], "answers": [without, without]});
    bench.like.play(serde_json::from_value(recording).unwrap());
    bench.delete().await;
    assert_eq!(bench.like.not_played(), [""; 0]);
    assert_eq!(bench.stage.cloud.read(&bench.queue.id()).await, Ok(None));
}

/// A run was killed before the delete, or someone else has set the mark. The next plan decides.
#[tokio::test]
async fn s9_a_create_waits_for_a_marked_queue_and_keeps_the_mark() {
    let bench = Bench::new().await;
    for age in [0, 180] {
        let since = bench.stage.cloud.now() - age;
        bench.others("TagQueue", json!({"Tags": {DELETING: since.to_string()}})).await;
        bench.create_waits().await;
        assert!(bench.has_mark().await, "{age}");
    }
}
