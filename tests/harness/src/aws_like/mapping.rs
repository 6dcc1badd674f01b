//! Behaviors of Lambda's event source mappings, and of the reserved concurrency that they do not look at.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::At;
use super::Behavior::{I1, M1, M2, M5, M7, M10, M14};
use super::reply::Reply;

#[derive(Default)]
pub(super) struct Mappings {
    /// By UUID: the transition that began last, and when.
    transitions: Mutex<HashMap<String, (&'static str, Instant)>>,
    /// By UUID: mappings that no read has asked for yet.
    unread: Mutex<HashSet<String>>,
    /// By UUID: deleted mappings as they were.
    deleted: Mutex<HashMap<String, Value>>,
    /// By function.
    concurrency: Mutex<HashMap<String, Concurrency>>,
}

/// How much a function can run, and how much its mapping polls for.
#[derive(Default)]
struct Concurrency {
    reserved: Option<u64>,
    maximum: Option<u64>,
}

impl Concurrency {
    fn is_overbooked(&self) -> bool {
        self.reserved.zip(self.maximum).is_some_and(|(reserved, maximum)| reserved < maximum)
    }
}

impl Mappings {
    /// The functions that cannot run as much as their mappings poll for.
    pub(super) fn overbooked(&self) -> Vec<String> {
        let all = self.concurrency.lock().unwrap();
        let too_few = all.iter().filter(|(_, concurrency)| concurrency.is_overbooked());
        too_few.map(|(function, _)| function.clone()).collect()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("POST", ["event-source-mappings"]) => refused_queue(at).await,
            ("PUT" | "DELETE", ["event-source-mappings", uuid]) => {
                let since = self.transitions.lock().unwrap().get(*uuid).map(|(_, since)| *since);
                at.strikes_since(M7, since).then(|| {
                    let message = "Cannot update the event source mapping because it is in use.";
                    Reply::error(400, "ResourceInUseException", message)
                })
            }
            ("GET", ["event-source-mappings", uuid]) if self.unread.lock().unwrap().remove(*uuid) && at.is_on(M14) => {
                at.strike(M14);
                let message = "The resource you requested does not exist.";
                Some(Reply::error(404, "ResourceNotFoundException", message))
            }
            ("GET", ["event-source-mappings", uuid]) => {
                let (_, since) = self.transitions.lock().unwrap().get(*uuid).copied()?;
                let deleted = self.deleted.lock().unwrap().get(*uuid).cloned()?;
                at.strikes_since(M1, Some(since)).then(|| Reply::success(&deleted))
            }
            _ => None,
        }
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        if !reply.status.is_success() {
            return;
        }
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("PUT", ["functions", name, "concurrency"]) => {
                self.note(at, name, |known| known.reserved = at.call.json["ReservedConcurrentExecutions"].as_u64());
            }
            ("DELETE", ["functions", name, "concurrency"]) => self.note(at, name, |known| known.reserved = None),
            (_, ["event-source-mappings", ..]) => self.late_states(at, method, reply),
            _ => {}
        }
    }

    fn note(&self, at: &At<'_>, function: &str, change: impl FnOnce(&mut Concurrency)) {
        let mut all = self.concurrency.lock().unwrap();
        let known = all.entry(at.call.key(function)).or_default();
        change(known);
        if at.is_on(M10) && known.is_overbooked() {
            at.strike(M10);
        }
    }

    fn late_states(&self, at: &At<'_>, method: &str, reply: &mut Reply) {
        let mut body = reply.json();
        if at.is_on(M5) && without(&mut body, "LastProcessingResult") {
            at.strike(M5);
        }
        let changes = match method {
            "POST" => Some("Creating"),
            "PUT" => Some("Updating"),
            "DELETE" => Some("Deleting"),
            _ => None,
        };
        if let (Some(state), Some(uuid)) = (changes, body["UUID"].as_str().map(str::to_owned)) {
            at.begin(&[M1, M7]);
            if state == "Creating" {
                self.unread.lock().unwrap().insert(uuid.clone());
            }
            let begun = (state, Instant::now());
            self.transitions.lock().unwrap().insert(uuid.clone(), begun);
            let function = body["FunctionArn"].as_str().unwrap_or_default().split(':').nth(6);
            self.note(at, function.unwrap_or_default(), |known| {
                let maximum = body["ScalingConfig"]["MaximumConcurrency"].as_u64();
                known.maximum = maximum.filter(|_| state != "Deleting");
            });
            if state == "Deleting" {
                body["State"] = json!(state);
                self.deleted.lock().unwrap().insert(uuid, body.clone());
            }
        }
        match body.get_mut("EventSourceMappings").and_then(Value::as_array_mut) {
            Some(list) => {
                list.extend(self.still_listed(at));
                list.iter_mut().for_each(|mapping| self.late_state(at, mapping));
            }
            None => self.late_state(at, &mut body),
        }
        reply.set_json(&body);
    }

    /// Deleted mappings of the function and the queue that a list asks for.
    fn still_listed(&self, at: &At<'_>) -> Vec<Value> {
        let transitions = self.transitions.lock().unwrap();
        let deleted = self.deleted.lock().unwrap();
        let recent =
            deleted.iter().filter(|(uuid, _)| at.strikes_since(M1, transitions.get(*uuid).map(|(_, since)| *since)));
        let is_asked = |mapping: &Value| {
            let arn = mapping["FunctionArn"].as_str().unwrap_or_default();
            let of_function =
                at.call.text("FunctionName").is_none_or(|name| arn.contains(&format!(":function:{name}")));
            let queue = mapping["EventSourceArn"].as_str();
            let here = format!(":{}:{}:", at.call.region, at.call.account);
            of_function
                && arn.contains(&here)
                && at.call.text("EventSourceArn").is_none_or(|asked| Some(asked) == queue)
        };
        recent.map(|(_, mapping)| mapping.clone()).filter(is_asked).collect()
    }

    fn late_state(&self, at: &At<'_>, mapping: &mut Value) {
        let transitions = self.transitions.lock().unwrap();
        let transition = transitions.get(mapping["UUID"].as_str().unwrap_or_default());
        if let Some((state, since)) = transition
            && at.strikes_since(M1, Some(*since))
        {
            mapping["State"] = json!(state);
        }
    }
}

/// Lambda does not find a new queue yet, never an absent one, and looks at the permissions of the role.
async fn refused_queue(at: &At<'_>) -> Option<Reply> {
    let arn = at.call.text("EventSourceArn")?;
    let queue = arn.rsplit(':').next().unwrap_or_default();
    let invalid = |message: &str| Some(Reply::error(400, "InvalidParameterValueException", message));
    let exists = async || {
        let question = json!({ "QueueName": queue });
        at.ask("sqs", "GetQueueUrl", &question).await.status.is_success()
    };
    if at.strikes_since(M2, at.like.0.sqs.created(&at.call.key(queue))) || at.is_on(M2) && !exists().await {
        at.strike(M2);
        return invalid(
            "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. SQS Error Message: The specified queue does not exist.",
        );
    }
    if at.like.0.iam.denies_function(at) {
        at.strike(I1);
        return invalid("The provided execution role does not have permissions to call ReceiveMessage on SQS");
    }
    None
}

/// Removes a member anywhere; says whether there was one.
fn without(value: &mut Value, member: &str) -> bool {
    match value {
        Value::Object(members) => {
            let here = members.remove(member).is_some();
            let below = members.values_mut().filter_map(|value| without(value, member).then_some(()));
            below.count() > 0 || here
        }
        Value::Array(items) => {
            let below = items.iter_mut().filter_map(|value| without(value, member).then_some(()));
            below.count() > 0
        }
        _ => false,
    }
}
