//! Behaviors of SQS.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::Behavior::{M2, S1, S2, S3, S4, S9, S12, S15, S22, S23, S28, T1};
use super::call::Caller;
use super::kms::unusable_key;
use super::permission::denied;
use super::reply::Reply;
use super::{At, Denials, Moments, message_size, redrive};
use crate::proxy::{Connection, forward};

#[derive(Default)]
pub(super) struct Sqs {
    created: Moments,
    deleted: Moments,
    tagged: Moments,
    /// Calls that a condition on new tags still denies.
    retagged: Denials,
    ghosts: Mutex<HashMap<String, Ghost>>,
    counts: Mutex<HashMap<String, Counts>>,
    /// The attributes before they were last set, and when that was.
    attributes: Mutex<HashMap<String, (Value, Instant)>>,
    /// What the tagging API knows of deleted queues.
    remembered: Mutex<HashMap<String, Value>>,
}

/// A queue that is being deleted.
struct Ghost {
    since: Instant,
    /// Calls since half of its time is over.
    calls: usize,
    /// The connections that asked for it, in the order of their first call.
    connections: Vec<Option<Connection>>,
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

    /// When the queue with this key was created, if through the proxy.
    pub(super) fn created(&self, key: &str) -> Option<Instant> {
        self.created.of(key)
    }

    /// The queues of the account and Region that were just deleted, as the tagging API lists them.
    pub(super) fn deleted_mappings(&self, at: &At<'_>) -> Vec<Value> {
        let remembered = self.remembered.lock().unwrap();
        let of_place = remembered.iter().filter(|(key, _)| key.starts_with(&at.call.key("")));
        let recent =
            of_place.filter(|(key, _)| self.deleted.of(key).is_some_and(|moment| moment.elapsed() < T1.time()));
        recent.map(|(_, mapping)| mapping.clone()).collect()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let queue = at.call.queue()?;
        let key = at.call.key(queue);
        let operation = at.call.operation.as_str();
        if matches!(operation, "CreateQueue" | "SetQueueAttributes") {
            let refused = message_size::refused(at);
            if let Some(refused) = refused.or(redrive::refused(at, queue).await) {
                return Some(refused);
            }
        }
        match operation {
            "CreateQueue" => return self.create(at, &key, queue).await,
            "DeleteQueue" => return self.delete(at, &key, queue).await,
            _ if at.strikes_since(S3, self.created.of(&key)) => return Some(no_queue()),
            _ => {}
        }
        if let Some(absent) = self.ghost(at, &key) {
            return Some(absent);
        }
        let sends = operation.starts_with("SendMessage");
        if at.call.caller == Caller::Function {
            if sends && at.strikes_since(S15, self.tagged.of(&key)) {
                return Some(super::permission::refusal(at, queue));
            }
            if let Some(refusal) = denied(at, queue).await {
                return Some(refusal);
            }
        }
        match operation {
            "TagQueue" => {
                self.retagged.begin(at, &key);
                self.tagged.note(key);
                at.begin(&[S15]);
            }
            "SetQueueAttributes" if self.retagged.strikes(at, &key) => {
                return Some(super::permission::refusal(at, queue));
            }
            "SetQueueAttributes" if at.is_on(S4) => self.remember_attributes(at, key).await,
            _ if sends => return unusable_key(at, at.call.text("QueueUrl")?).await,
            _ => {}
        }
        None
    }

    async fn create(&self, at: &At<'_>, key: &str, queue: &str) -> Option<Reply> {
        if at.strikes_since(S1, self.deleted.of(key)) {
            let wait =
                "You must wait 60 seconds after deleting a queue before you can create another with the same name.";
            let code = "AWS.SimpleQueueService.QueueDeletedRecently";
            return Some(Reply::sqs_error(400, "QueueDeletedRecently", code, wait));
        }
        if let Some(refusal) = self.unknown_dead_letter_queue(at) {
            return Some(refusal);
        }
        if !exists(at, queue).await {
            self.created.note(key.to_owned());
            self.tagged.note(key.to_owned());
            self.counts.lock().unwrap().remove(key);
            self.attributes.lock().unwrap().remove(key);
            at.begin(&[S3, S15, S23, T1, M2]);
            return None;
        }
        if !at.is_on(S2) {
            return None;
        }
        at.strike(S2);
        let url = json!(at.ask("sqs", "GetQueueUrl", &json!({ "QueueName": queue })).await.json()["QueueUrl"]);
        let all = json!({"QueueUrl": url, "AttributeNames": ["All"]});
        let found = at.ask("sqs", "GetQueueAttributes", &all).await.json();
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

    /// The refusal of a redrive policy whose dead-letter queue is new.
    fn unknown_dead_letter_queue(&self, at: &At<'_>) -> Option<Reply> {
        let redrive = at.call.json["Attributes"]["RedrivePolicy"].as_str()?;
        let target: Value = serde_json::from_str(redrive).ok()?;
        let queue = target["deadLetterTargetArn"].as_str()?.rsplit(':').next()?;
        at.strikes_since(S23, self.created.of(&at.call.key(queue))).then(|| {
            let why = format!(
                "Value {redrive} for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist."
            );
            Reply::sqs_error(400, "InvalidParameterValue", "InvalidParameterValue", &why)
        })
    }

    async fn delete(&self, at: &At<'_>, key: &str, queue: &str) -> Option<Reply> {
        if self.ghosts.lock().unwrap().contains_key(key) {
            return Some(no_queue());
        }
        if !exists(at, queue).await {
            return None;
        }
        if at.is_on(T1) {
            let mapping = tag_mapping(at, queue).await;
            self.remembered.lock().unwrap().insert(key.to_owned(), mapping);
        }
        self.deleted.note(key.to_owned());
        at.begin(&[S1, T1]);
        let on: Vec<_> = [S9, S22].into_iter().filter(|behavior| at.is_on(*behavior)).collect();
        let lasts = on.iter().map(|behavior| behavior.time()).max()?;
        on.into_iter().for_each(|behavior| at.strike(behavior));
        let ghost = Ghost { since: Instant::now(), calls: 0, connections: Vec::new() };
        self.ghosts.lock().unwrap().insert(key.to_owned(), ghost);
        let (like, request, key) = (at.like.clone(), at.request.clone(), key.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(lasts).await;
            while like.0.held.lock().unwrap().is_some() {
                tokio::time::sleep(lasts / 100).await;
            }
            let answer = forward(like.0.server, request).await;
            like.0.sqs.ghosts.lock().unwrap().remove(&key);
            answer.unwrap();
        });
        Some(Reply::success(&json!({})))
    }

    /// Calls to a queue that is being deleted. With S9, the first half of the time all succeed, then every other one; with
    /// S22 those on every other connection, beginning with the second that asks.
    fn ghost(&self, at: &At<'_>, key: &str) -> Option<Reply> {
        let mut ghosts = self.ghosts.lock().unwrap();
        let ghost = ghosts.get_mut(key)?;
        if at.is_on(S9) {
            at.strike(S9);
            if at.is_held(ghost.since) || ghost.since.elapsed() < S9.time() / 2 {
                return None;
            }
        }
        ghost.calls += 1;
        let mut turn = ghost.calls - 1;
        if at.is_on(S22) {
            at.strike(S22);
            let known = ghost.connections.iter().position(|known| *known == at.call.connection);
            turn = known.unwrap_or(ghost.connections.len());
            if known.is_none() {
                ghost.connections.push(at.call.connection);
            }
        }
        (turn % 2 == 0).then(no_queue)
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let Some(queue) = at.call.queue().filter(|_| reply.status.is_success()) else {
            return;
        };
        let key = at.call.key(queue);
        match at.call.operation.as_str() {
            "GetQueueAttributes" => {
                message_size::lower(at, reply);
                self.late_attributes(at, &key, reply);
                self.late_counts(at, key, reply);
            }
            "ReceiveMessage" if at.is_on(S28) && at.call.json["VisibilityTimeout"] == 0 => copies(at, reply),
            _ => {}
        }
    }

    async fn remember_attributes(&self, at: &At<'_>, key: String) {
        let question = json!({"QueueUrl": at.call.text("QueueUrl"), "AttributeNames": ["All"]});
        let before = at.ask("sqs", "GetQueueAttributes", &question).await.json()["Attributes"].clone();
        at.begin(&[S4]);
        let mut all = self.attributes.lock().unwrap();
        // What is shown is older than changes that are late themselves.
        let is_late = at.is_late(S4, all.get(&key).map(|(_, since)| *since));
        let before = if is_late { all[&key].0.clone() } else { before };
        all.insert(key, (before, Instant::now()));
    }

    fn late_attributes(&self, at: &At<'_>, key: &str, reply: &mut Reply) {
        let all = self.attributes.lock().unwrap();
        let Some((before, _)) = all.get(key).filter(|(_, since)| at.strikes_since(S4, Some(*since))) else {
            return;
        };
        let mut body = reply.json();
        let (Some(attributes), Some(before)) = (body["Attributes"].as_object_mut(), before.as_object()) else {
            return;
        };
        let asked = at.call.json["AttributeNames"].as_array().cloned().unwrap_or_default();
        let is_asked = |name: &String| asked.iter().any(|asked| asked == "All" || asked == name);
        let is_count = |name: &String| name.starts_with("Approximate");
        attributes.retain(|name, _| is_count(name));
        let older = before.iter().filter(|(name, _)| is_asked(name) && !is_count(name));
        attributes.extend(older.map(|(name, value)| (name.clone(), value.clone())));
        reply.set_json(&body);
    }

    fn late_counts(&self, at: &At<'_>, key: String, reply: &mut Reply) {
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
        let counts = all
            .entry(key)
            .or_insert_with(|| Counts { shown: if is_new { BTreeMap::new() } else { actual.clone() }, newer: None });
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

/// Fills an answer with copies of its messages, each with a receive count of its own.
fn copies(at: &At<'_>, reply: &mut Reply) {
    let mut body = reply.json();
    let Some(messages) = body["Messages"].as_array_mut().filter(|messages| !messages.is_empty()) else {
        return;
    };
    at.strike(S28);
    let most = at.call.json["MaxNumberOfMessages"].as_u64().unwrap_or(1);
    let copies = messages.iter().cycle().cloned().zip(1..=most).map(|(mut copy, count)| {
        copy["Attributes"]["ApproximateReceiveCount"] = count.to_string().into();
        copy
    });
    *messages = copies.collect();
    reply.set_json(&body);
}

async fn exists(at: &At<'_>, queue: &str) -> bool {
    let question = json!({ "QueueName": queue });
    at.ask("sqs", "GetQueueUrl", &question).await.status.is_success()
}

/// A queue as the tagging API lists it.
async fn tag_mapping(at: &At<'_>, queue: &str) -> Value {
    let question = json!({ "QueueUrl": at.call.text("QueueUrl") });
    let answer = at.ask("sqs", "ListQueueTags", &question).await.json();
    let tags = answer["Tags"].as_object().into_iter().flatten();
    let tags: Vec<_> = tags.map(|(key, value)| json!({"Key": key, "Value": value})).collect();
    json!({"ResourceARN": arn(at, queue), "Tags": tags})
}

/// The ARN of a queue in the account and Region of a call.
pub(super) fn arn(at: &At<'_>, queue: &str) -> String {
    format!("arn:aws:sqs:{}:{}:{queue}", at.call.region, at.call.account)
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
