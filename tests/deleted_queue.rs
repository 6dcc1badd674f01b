//! Deletes of queues and the creates that follow, against SQS as it is: it answers for a deleted queue for a while, and a
//! create may find that queue.

use std::sync::Mutex;
use std::time::Duration;

use kibus::aws::AwsCloud;
use kibus::cloud::{FaultKind, Read, Waiting, Write};
use kibus::model::{Code, Hub, HubOptions, Resource, ResourceId, tags::DELETING};
use kibus::plan::Change;
use serde_json::json;
use tokio::sync::watch;

use crate::aws_like::Server;
use crate::support::behaving_cloud::BehavingCloud;

const STILL_ANSWERS: &str = "SQS still answers for an older queue of this name";

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

    fn create(&self) -> Change {
        Change::create(None, self.queue.clone())
    }

    async fn write(&self, change: &Change, waiting: Waiting<'_>) -> Result<(), FaultKind> {
        let answer = self.behaving.cloud.write(change, waiting).await;
        answer.map_err(|fault| fault.kind)
    }

    async fn url(&self) -> String {
        let name = self.queue.id().name();
        let answer = self.sqs.get_queue_url().queue_name(name).send().await.unwrap();
        answer.queue_url().unwrap().to_owned()
    }

    /// Deletes the queue without the mark, as the console does.
    async fn delete_elsewhere(&self) {
        let delete = self.sqs.delete_queue().queue_url(self.url().await);
        delete.send().await.unwrap();
    }

    /// Sets the mark of a delete, so long ago.
    async fn mark(&self, age: u64) {
        let since = self.behaving.cloud.now() - age;
        let tag = self.sqs.tag_queue().queue_url(self.url().await);
        tag.tags(DELETING, since.to_string()).send().await.unwrap();
    }

    async fn has_mark(&self) -> bool {
        let tags = self.sqs.list_queue_tags().queue_url(self.url().await);
        tags.send().await.unwrap().tags.unwrap_or_default().contains_key(DELETING)
    }
}

/// Runs until it reports that the queue still answers. That is the moment to stop it: such a wait takes minutes.
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

#[test]
fn s9_a_create_waits_for_the_queue_that_kibus_has_deleted() {
    Server::shared().runtime.block_on(async {
        let bench = Bench::of("200000000201").await;
        bench.behaving.proxy.like.switch("held S2 S9");
        let delete = Change::delete(None, bench.queue.clone());
        bench.write(&delete, Waiting::unattended()).await.unwrap();
        assert!(bench.has_mark().await);
        until_seen(async |waiting| bench.write(&bench.create(), waiting).await).await;
        bench.behaving.proxy.like.settle().await;
        bench.write(&bench.create(), Waiting::unattended()).await.unwrap();
        assert!(!bench.has_mark().await);
    });
}

/// SQS may answer for a deleted queue with its last tags that it has seen.
#[test]
fn s9_a_delete_is_requested_once_a_read_shows_the_mark() {
    Server::shared().runtime.block_on(async {
        let bench = Bench::of("200000000203").await;
        let without = json!({
            "at_ms": 0,
            "operation": "sqs:ListQueueTags",
            "status": 200,
            "headers": {"content-type": "application/x-amz-json-1.0"},
            "body": json!({"Tags": bench.queue.tags().unwrap().0}).to_string(),
        });
        let recording = json!({"format": 1, "rows": [], "place": "", "seen": [], "answers": [without, without]});
        bench.behaving.proxy.like.play(serde_json::from_value(recording).unwrap());
        let delete = Change::delete(None, bench.queue.clone());
        bench.write(&delete, Waiting::unattended()).await.unwrap();
        assert_eq!(bench.behaving.proxy.like.not_played(), [""; 0]);
        assert_eq!(bench.behaving.cloud.read(&bench.queue.id()).await, Ok(None));
    });
}

/// A run was killed before the delete, or someone else has set the mark. The next plan decides what it says.
#[test]
fn s9_a_create_waits_for_a_marked_queue_and_keeps_the_mark() {
    Server::shared().runtime.block_on(async {
        let bench = Bench::of("200000000204").await;
        for age in [0, 180] {
            bench.mark(age).await;
            until_seen(async |waiting| bench.write(&bench.create(), waiting).await).await;
            assert!(bench.has_mark().await, "{age}");
        }
    });
}

/// The mark is not what tells the two apart: the console sets none. A queue that a run meets and that is younger than the run was
/// created by another one, so that the run plans again.
#[test]
fn s9_a_create_does_not_take_the_deleted_queue_for_the_new_one() {
    Server::shared().runtime.block_on(async {
        let mut bench = Bench::of("200000000202").await;
        // SQS gives whole seconds, so a queue that is deleted at once could be the new one.
        tokio::time::sleep(Duration::from_secs(8)).await;
        assert_eq!(bench.write(&bench.create(), Waiting::unattended()).await, Err(FaultKind::Exists));
        bench.behaving.cloud = AwsCloud::new(&bench.behaving.session, "kibus".parse().unwrap());
        bench.behaving.proxy.like.switch("held S2 S9");
        bench.delete_elsewhere().await;
        until_seen(async |waiting| bench.write(&bench.create(), waiting).await).await;
        bench.behaving.proxy.like.settle().await;
        bench.write(&bench.create(), Waiting::unattended()).await.unwrap();
    });
}
