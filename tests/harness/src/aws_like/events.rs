//! Behaviors of EventBridge.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::Behavior::{E1, E4, E6, E12};
use super::reply::Reply;
use super::{At, Moments};
use crate::proxy::forward;

#[derive(Default)]
pub(super) struct Events {
    created: Moments,
    targeted: Moments,
    untargeted: Moments,
    /// Targets that EventBridge has accepted and does not use yet.
    late: Mutex<HashMap<String, Value>>,
}

impl Events {
    pub(super) fn has_no_late_targets(&self) -> bool {
        self.late.lock().unwrap().is_empty()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let arn = at.call.text("ResourceARN").and_then(|arn| arn.split_once(":rule/"));
        let rule = at.call.text("Rule").or_else(|| at.call.text("Name")).or(arn.map(|(_, name)| name))?;
        let key = at.call.key(rule);
        let operation = at.call.operation.as_str();
        if operation == "PutRule" {
            if !at.ask("events", "DescribeRule", &json!({ "Name": rule })).await.status.is_success() {
                self.created.note(key);
                at.begin(&[E4]);
            }
            return None;
        }
        if operation == "DeleteRule" {
            let is_refused = at.strikes_since(E6, self.untargeted.of(&key)) || self.has_targets(at, rule).await;
            return is_refused.then(|| {
                let message = "Rule can't be deleted since it has targets.";
                Reply::error(400, "ValidationException", message)
            });
        }
        if at.strikes_since(E4, self.created.of(&key)) {
            let message = format!("Rule {rule} does not exist on EventBus default.");
            return Some(Reply::error(400, "ResourceNotFoundException", &message));
        }
        match operation {
            "PutTargets" => {
                let had_targets = targets(at, rule).await;
                self.targeted.note(key.clone());
                at.begin(&[E12]);
                (at.is_on(E1) && !had_targets).then(|| self.put_later(at, key))
            }
            "RemoveTargets" => {
                self.late.lock().unwrap().remove(&key);
                self.untargeted.note(key);
                at.begin(&[E6]);
                None
            }
            _ => None,
        }
    }

    /// Accepts new targets, which receive events only later.
    fn put_later(&self, at: &At<'_>, key: String) -> Reply {
        at.strike(E1);
        at.begin(&[E1]);
        self.late.lock().unwrap().insert(key.clone(), at.call.json["Targets"].clone());
        let (like, request) = (at.like.clone(), at.request.clone());
        tokio::spawn(async move {
            tokio::time::sleep(E1.time()).await;
            // They may have been removed meanwhile.
            if like.0.events.late.lock().unwrap().contains_key(&key) {
                forward(like.0.server, request).await.unwrap();
                like.0.events.late.lock().unwrap().remove(&key);
            }
        });
        Reply::success(&json!({"FailedEntryCount": 0, "FailedEntries": []}))
    }

    async fn has_targets(&self, at: &At<'_>, rule: &str) -> bool {
        let has_targets = at.is_on(E6) && targets(at, rule).await;
        if has_targets {
            at.strike(E6);
        }
        has_targets
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let Some(rule) = at.call.text("Rule").filter(|_| at.call.operation == "ListTargetsByRule") else {
            return;
        };
        let key = at.call.key(rule);
        let late = self.late.lock().unwrap().get(&key).cloned();
        if !reply.status.is_success() {
            return;
        }
        if at.strikes_since(E12, self.targeted.of(&key)) {
            reply.set_json(&json!({"Targets": []}));
        } else if let Some(late) = late {
            reply.set_json(&json!({"Targets": late}));
        }
    }
}

async fn targets(at: &At<'_>, rule: &str) -> bool {
    let answer = at.ask("events", "ListTargetsByRule", &json!({ "Rule": rule })).await.json();
    answer["Targets"].as_array().is_some_and(|targets| !targets.is_empty())
}
