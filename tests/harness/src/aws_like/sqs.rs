//! Behaviors of SQS.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::At;
use super::Behavior::{M2, S1, S3, S4, S9, S12, S15, S22, S23, S28, T1};
use super::memory::Event::{QueueCreated, QueueDeleted, QueueTagged};
use super::reply::Reply;
use super::{permission, queue};
use crate::call::Caller;
use crate::proxy::{Connection, forward};

#[derive(Default)]
pub(super) struct Sqs {
    ghosts: Mutex<HashMap<String, Ghost>>,
    /// The message counts of a queue, as last shown, and since when they are outdated.
    counts: Mutex<HashMap<String, (Map<String, Value>, Option<Instant>)>>,
}

/// A queue that is being deleted.
struct Ghost {
    since: Instant,
    /// The calls in the second half of its time.
    calls: usize,
    /// The connections that requested it, in the order of their first call.
    connections: Vec<Option<Connection>>,
}

impl Sqs {
    pub(super) fn has_no_ghosts(&self) -> bool {
        self.ghosts.lock().unwrap().is_empty()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let name = at.call.queue()?;
        let key = at.call.key(name);
        let operation = at.call.operation.as_str();
        if let Some(refused) = queue::refused(at, name).await {
            return Some(refused);
        }
        match operation {
            "CreateQueue" => return self.create(at, &key, name).await,
            "DeleteQueue" => return self.delete(at, &key, name).await,
            _ => {}
        }
        if self.is_gone(at, &key) {
            return Some(no_queue(at));
        }
        let sends = operation.starts_with("SendMessage");
        if at.call.caller == Caller::Function
            && (sends && at.strikes_since(S15, at.last(QueueTagged, &key)) || permission::is_denied(at, name).await)
        {
            return Some(permission::refusal(at, name));
        }
        match operation {
            "TagQueue" => {
                at.deny(&key);
                at.note(QueueTagged, &key, &[S15]);
            }
            "SetQueueAttributes" if at.is_denied(&key) => return Some(permission::refusal(at, name)),
            "SetQueueAttributes" if at.is_on(S4) => {
                at.keep_showing(S4, &key, at.attributes(&at.call.json["QueueUrl"]).await);
            }
            _ if sends => return queue::unusable_key(at).await,
            _ => {}
        }
        None
    }

    async fn create(&self, at: &At<'_>, key: &str, name: &str) -> Option<Reply> {
        if let Some(url) = at.queue_url(name).await {
            return queue::existing(at, url).await;
        }
        at.note(QueueCreated, key, &[S3, S23, T1, M2]);
        at.note(QueueTagged, key, &[S15]);
        at.stop_showing(S4, key);
        self.counts.lock().unwrap().insert(key.to_owned(), Default::default());
        None
    }

    async fn delete(&self, at: &At<'_>, key: &str, name: &str) -> Option<Reply> {
        if self.ghosts.lock().unwrap().contains_key(key) {
            return Some(no_queue(at));
        }
        at.queue_url(name).await?;
        if at.is_on(T1) {
            at.keep_showing(T1, key, queue::listed(at, name).await);
        }
        at.note(QueueDeleted, key, &[S1]);
        let on: Vec<_> = [S9, S22].into_iter().filter(|behavior| at.strikes_if(*behavior, true)).collect();
        let lasts = on.iter().map(|behavior| behavior.time()).max()?;
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

    /// Whether a call does not find a queue that is being deleted. With S9, all calls find it in the first half of the
    /// time, then every other call; with S22, every other connection fails to find it, starting with the second one.
    fn is_gone(&self, at: &At<'_>, key: &str) -> bool {
        let mut ghosts = self.ghosts.lock().unwrap();
        let Some(ghost) = ghosts.get_mut(key) else {
            return false;
        };
        if at.strikes_if(S9, true) && (at.is_held(ghost.since) || ghost.since.elapsed() < S9.time() / 2) {
            return false;
        }
        ghost.calls += 1;
        let mut turn = ghost.calls - 1;
        if at.strikes_if(S22, true) {
            let known = ghost.connections.iter().position(|known| *known == at.call.connection);
            turn = known.unwrap_or(ghost.connections.len());
            if known.is_none() {
                ghost.connections.push(at.call.connection);
            }
        }
        turn % 2 == 0
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let Some(name) = at.call.queue() else {
            return;
        };
        let key = at.call.key(name);
        match at.call.operation.as_str() {
            "GetQueueAttributes" => {
                let mut body = reply.json();
                if let Some(attributes) = body["Attributes"].as_object_mut() {
                    queue::lower_size(at, attributes);
                    late_attributes(at, &key, attributes);
                    self.late_counts(at, key, attributes);
                    reply.set_json(&body);
                }
            }
            "ReceiveMessage" if at.call.json["VisibilityTimeout"] == 0 => copies(at, reply),
            _ => {}
        }
    }

    fn late_counts(&self, at: &At<'_>, key: String, attributes: &mut Map<String, Value>) {
        let are_counts = |(name, _): &(&String, &Value)| name.starts_with("ApproximateNumberOfMessages");
        let actual: Map<_, _> = attributes.iter().filter(are_counts).map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut all = self.counts.lock().unwrap();
        let (shown, since) = all.entry(key).or_insert_with(|| (actual.clone(), None));
        let old = |name: &String| shown.get(name).cloned().unwrap_or_else(|| json!("0"));
        // Later changes do not delay the first one.
        let first = since.unwrap_or_else(Instant::now);
        let is_late = first.elapsed() < S12.time() && actual.iter().any(|(name, count)| old(name) != *count);
        if at.strikes_if(S12, is_late) {
            at.begin(&[S12]);
            attributes.extend(actual.keys().map(|name| (name.clone(), old(name))));
            *since = Some(first);
        } else {
            shown.extend(actual);
            *since = None;
        }
    }
}

fn late_attributes(at: &At<'_>, key: &str, attributes: &mut Map<String, Value>) {
    let Some(Value::Object(before)) = at.still_shown(S4, key) else {
        return;
    };
    let asked = at.call.json["AttributeNames"].as_array().cloned().unwrap_or_default();
    let is_asked = |name: &String| asked.iter().any(|asked| asked == "All" || asked == name);
    let is_count = |name: &String| name.starts_with("Approximate");
    attributes.retain(|name, _| is_count(name));
    attributes.extend(before.into_iter().filter(|(name, _)| is_asked(name) && !is_count(name)));
}

/// Fills an answer with copies of its messages, each with its own receive count.
fn copies(at: &At<'_>, reply: &mut Reply) {
    let mut body = reply.json();
    let has_messages = body["Messages"].as_array().is_some_and(|messages| !messages.is_empty());
    if !at.strikes_if(S28, has_messages) {
        return;
    }
    let most = at.call.json["MaxNumberOfMessages"].as_u64().unwrap_or(1);
    let copies = body["Messages"].as_array().into_iter().flatten().cycle().cloned().zip(1..=most);
    let copies = copies.map(|(mut copy, count)| {
        copy["Attributes"]["ApproximateReceiveCount"] = count.to_string().into();
        copy
    });
    body["Messages"] = copies.collect();
    reply.set_json(&body);
}

fn no_queue(at: &At<'_>) -> Reply {
    at.refuse(400, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
}
