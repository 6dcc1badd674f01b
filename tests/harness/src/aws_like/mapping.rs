//! Behaviors of Lambda's event source mappings, and of the reserved concurrency that they ignore.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::At;
use super::Behavior::{M1, M2, M5, M7, M10, M14};
use super::memory::Event::{MappingChanged, QueueCreated};
use super::reply::Reply;

#[derive(Default)]
pub(super) struct Mappings {
    /// The UUIDs of mappings that have not been read yet.
    unread: Mutex<HashSet<String>>,
    /// By function: its concurrency, and the concurrency that its mapping polls for.
    concurrency: Mutex<HashMap<String, [Option<u64>; 2]>>,
}

impl Mappings {
    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let (method, path) = at.call.path();
        let uuid = path.get(1).copied().unwrap_or_default();
        match method {
            "POST" => refused_queue(at).await,
            "GET" if at.is_on(M14) && at.strikes_if(M14, self.unread.lock().unwrap().remove(uuid)) => {
                Some(at.refuse(404, "ResourceNotFoundException", "The resource you requested does not exist."))
            }
            "GET" => {
                let deleted = at.still_shown(M1, &at.call.key(uuid)).filter(Value::is_object)?;
                Some(Reply::success(&deleted))
            }
            _ => None,
        }
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("PUT" | "DELETE", ["functions", name, "concurrency"]) => {
                self.note(at, name, 0, at.call.json["ReservedConcurrentExecutions"].as_u64());
            }
            (_, ["event-source-mappings", ..]) => self.late_states(at, method, reply),
            _ => {}
        }
    }

    fn note(&self, at: &At<'_>, function: &str, which: usize, number: Option<u64>) {
        let mut all = self.concurrency.lock().unwrap();
        let known = all.entry(at.call.key(function)).or_default();
        known[which] = number;
        let [reserved, polled] = *known;
        at.strikes_if(M10, reserved.zip(polled).is_some_and(|(reserved, polled)| reserved < polled));
    }

    fn late_states(&self, at: &At<'_>, method: &str, reply: &mut Reply) {
        let mut body = reply.json();
        if at.is_on(M5) {
            at.strikes_if(M5, without(&mut body, "LastProcessingResult"));
        }
        let changes = match method {
            "POST" => Some("Creating"),
            "PUT" => Some("Updating"),
            "DELETE" => Some("Deleting"),
            _ => None,
        };
        if let (Some(state), Some(uuid)) = (changes, body["UUID"].as_str().map(str::to_owned)) {
            let key = at.call.key(&uuid);
            at.note(MappingChanged, &key, &[M1, M7]);
            let function = body["FunctionArn"].as_str().unwrap_or_default().split(':').nth(6).unwrap_or_default();
            let polled = body["ScalingConfig"]["MaximumConcurrency"].as_u64().filter(|_| state != "Deleting");
            self.note(at, function, 1, polled);
            if state == "Creating" {
                self.unread.lock().unwrap().insert(uuid);
            }
            // A deleted mapping is still shown completely.
            let whole = (state == "Deleting").then(|| {
                body["State"] = json!(state);
                body.clone()
            });
            at.show(M1, &key, whole.unwrap_or_else(|| json!(state)));
        }
        match body.get_mut("EventSourceMappings").and_then(Value::as_array_mut) {
            Some(list) => {
                list.extend(still_listed(at));
                list.iter_mut().for_each(|mapping| late_state(at, mapping));
            }
            None => late_state(at, &mut body),
        }
        reply.set_json(&body);
    }
}

/// Deleted mappings of the function and the queue in a list request.
fn still_listed(at: &At<'_>) -> Vec<Value> {
    let is_asked = |mapping: &Value| {
        let arn = mapping["FunctionArn"].as_str().unwrap_or_default();
        let queue = mapping["EventSourceArn"].as_str();
        mapping.is_object()
            && at.call.text("FunctionName").is_none_or(|name| arn.contains(&format!(":function:{name}")))
            && at.call.text("EventSourceArn").is_none_or(|asked| Some(asked) == queue)
    };
    let deleted = at.all_still_shown(M1).into_iter().map(|(_, mapping)| mapping);
    deleted.filter(|mapping| at.strikes_if(M1, is_asked(mapping))).collect()
}

fn late_state(at: &At<'_>, mapping: &mut Value) {
    if let Some(Value::String(state)) = at.still_shown(M1, &at.call.key(mapping["UUID"].as_str().unwrap_or_default())) {
        mapping["State"] = json!(state);
    }
}

/// Lambda does not find a new queue yet, never finds an absent one, and checks the permissions of the role.
async fn refused_queue(at: &At<'_>) -> Option<Reply> {
    let queue = at.call.text("EventSourceArn")?.rsplit(':').next().unwrap_or_default();
    let is_new = at.is_late(M2, at.last(QueueCreated, &at.call.key(queue)));
    let why = if at.is_on(M2) && at.strikes_if(M2, is_new || at.queue_url(queue).await.is_none()) {
        "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. SQS Error Message: The specified queue does not exist."
    } else if at.like.0.iam.denies_function(at) {
        "The provided execution role does not have permissions to call ReceiveMessage on SQS"
    } else {
        return None;
    };
    Some(at.refuse(400, "InvalidParameterValueException", why))
}

/// Removes a member anywhere; returns whether it existed.
fn without(value: &mut Value, member: &str) -> bool {
    match value {
        Value::Object(members) => {
            let here = members.remove(member).is_some();
            members.values_mut().fold(here, |found, value| without(value, member) || found)
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, value| without(value, member) || found),
        _ => false,
    }
}
