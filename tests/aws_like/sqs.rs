//! Behaviors of SQS.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::Behavior::{S1, S2, S3, S9, S12};
use super::reply::Reply;
use super::{At, Moments};
use crate::scenario::wire::forward;

#[derive(Default)]
pub(super) struct Sqs {
    created: Moments,
    deleted: Moments,
    ghosts: Mutex<HashMap<String, Ghost>>,
    counts: Mutex<HashMap<String, Counts>>,
}

/// A queue that is being deleted.
struct Ghost {
    since: Instant,
    /// Calls since half of its time is over.
    calls: usize,
}

/// The message counts of a queue, as they were last shown, and other ones that are true since a moment.
struct Counts {
    shown: BTreeMap<String, Value>,
    newer: Option<(BTreeMap<String, Value>, Instant)>,
}

impl Sqs {
    pub(super) fn has_no_ghosts(&self) -> bool {
        self.ghosts.lock().unwrap().is_empty()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let queue = at.call.queue()?;
        let key = at.call.key(queue);
        match at.call.operation.as_str() {
            "CreateQueue" => self.create(at, &key, queue).await,
            "DeleteQueue" => self.delete(at, &key, queue).await,
            _ if at.strikes_since(S3, self.created.of(&key)) => Some(no_queue()),
            _ => self.ghost(at, &key),
        }
    }

    async fn create(&self, at: &At<'_>, key: &str, queue: &str) -> Option<Reply> {
        if at.strikes_since(S1, self.deleted.of(key)) {
            let wait =
                "You must wait 60 seconds after deleting a queue before you can create another with the same name.";
            let code = "AWS.SimpleQueueService.QueueDeletedRecently";
            return Some(Reply::sqs_error(400, "QueueDeletedRecently", code, wait));
        }
        if !exists(at, queue).await {
            self.created.note(key.to_owned());
            self.counts.lock().unwrap().remove(key);
            at.begin(&[S3]);
            return None;
        }
        if !at.is_on(S2) {
            return None;
        }
        at.strike(S2);
        let url = json!(
            at.ask("AmazonSQS.GetQueueUrl", &json!({ "QueueName": queue }))
                .await
                .json()["QueueUrl"]
        );
        let all = json!({"QueueUrl": url, "AttributeNames": ["All"]});
        let found = at.ask("AmazonSQS.GetQueueAttributes", &all).await.json();
        let wanted = at.call.json["Attributes"].as_object();
        let differs = wanted.into_iter().flatten().find(|(name, value)| {
            let found = match &found["Attributes"][name.as_str()] {
                Value::Null if *name == "SqsManagedSseEnabled" => json!("true"),
                Value::Null => json!(""),
                found => found.clone(),
            };
            document(value) != document(&found)
        });
        Some(match differs {
            Some((name, _)) => {
                let why = "A queue already exists with the same name and a different value for attribute";
                Reply::sqs_error(400, "QueueNameExists", "QueueAlreadyExists", &format!("{why} {name}"))
            }
            None => Reply::success(&json!({ "QueueUrl": url })),
        })
    }

    async fn delete(&self, at: &At<'_>, key: &str, queue: &str) -> Option<Reply> {
        if self.ghosts.lock().unwrap().contains_key(key) {
            at.strike(S9);
            return Some(no_queue());
        }
        if !exists(at, queue).await {
            return None;
        }
        self.deleted.note(key.to_owned());
        at.begin(&[S1]);
        if !at.is_on(S9) {
            return None;
        }
        at.strike(S9);
        let ghost = Ghost {
            since: Instant::now(),
            calls: 0,
        };
        self.ghosts.lock().unwrap().insert(key.to_owned(), ghost);
        let (like, request, key) = (at.like.clone(), at.request.clone(), key.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(S9.time()).await;
            let answer = forward(like.0.server, request).await;
            like.0.sqs.ghosts.lock().unwrap().remove(&key);
            answer.unwrap();
        });
        Some(Reply::success(&json!({})))
    }

    /// Calls to a queue that is being deleted: the first half of the time all succeed, then every other one.
    fn ghost(&self, at: &At<'_>, key: &str) -> Option<Reply> {
        let mut ghosts = self.ghosts.lock().unwrap();
        let ghost = ghosts.get_mut(key)?;
        at.strike(S9);
        if ghost.since.elapsed() < S9.time() / 2 {
            return None;
        }
        ghost.calls += 1;
        (ghost.calls % 2 == 1).then(no_queue)
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        if at.call.operation == "GetQueueAttributes" && reply.status.is_success() {
            self.late_counts(at, reply);
        }
    }

    fn late_counts(&self, at: &At<'_>, reply: &mut Reply) {
        let Some(queue) = at.call.queue() else { return };
        let key = at.call.key(queue);
        let mut body = reply.json();
        let Some(attributes) = body["Attributes"].as_object_mut() else {
            return;
        };
        let are_counts = |name: &String| name.starts_with("ApproximateNumberOfMessages");
        let actual: BTreeMap<_, _> = attributes
            .iter()
            .filter(|(name, _)| are_counts(name))
            .map(|(name, count)| (name.clone(), count.clone()))
            .collect();
        let is_new = self.created.of(&key).is_some();
        let mut all = self.counts.lock().unwrap();
        let counts = all.entry(key).or_insert_with(|| Counts {
            shown: if is_new { BTreeMap::new() } else { actual.clone() },
            newer: None,
        });
        let since = match &counts.newer {
            Some((newer, since)) if *newer == actual => *since,
            // Later changes do not delay the first one.
            Some((_, since)) => *since,
            None => Instant::now(),
        };
        let shown = |name: &String| counts.shown.get(name).cloned().unwrap_or_else(|| json!("0"));
        if !at.is_on(S12) || actual.keys().all(|name| shown(name) == actual[name]) || since.elapsed() >= S12.time() {
            counts.shown.extend(actual);
            counts.newer = None;
            return;
        }
        at.strike(S12);
        at.begin(&[S12]);
        for name in actual.keys() {
            attributes.insert(name.clone(), shown(name));
        }
        counts.newer = Some((actual, since));
        reply.set_json(&body);
    }
}

async fn exists(at: &At<'_>, queue: &str) -> bool {
    let question = json!({ "QueueName": queue });
    at.ask("AmazonSQS.GetQueueUrl", &question).await.status.is_success()
}

fn no_queue() -> Reply {
    let code = "AWS.SimpleQueueService.NonExistentQueue";
    Reply::sqs_error(400, "QueueDoesNotExist", code, "The specified queue does not exist.")
}

/// A document in an attribute, or its text.
fn document(value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
