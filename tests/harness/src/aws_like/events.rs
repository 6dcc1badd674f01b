//! Behaviors of EventBridge.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::At;
use super::Behavior::{E1, E4, E6, E12};
use super::memory::Event::{RuleCreated, RuleTargeted, RuleUntargeted};
use super::reply::Reply;
use crate::proxy::forward;

/// Targets that EventBridge has accepted and does not use yet.
#[derive(Default)]
pub(super) struct Events(Mutex<HashMap<String, Value>>);

impl Events {
    pub(super) fn has_no_late_targets(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let rule = at.call.subject()?;
        let key = at.call.key(rule);
        match at.call.operation.as_str() {
            "PutRule" => {
                if !at.ask("events", "DescribeRule", &json!({ "Name": rule })).await.status.is_success() {
                    at.note(RuleCreated, &key, &[E4]);
                }
                None
            }
            "DeleteRule" => at
                .strikes_if(E6, has_targets(at, rule).await)
                .then(|| at.refuse(400, "ValidationException", "Rule can't be deleted since it has targets.")),
            "PutTargets" => {
                let is_new = !has_targets(at, rule).await;
                at.note(RuleTargeted, &key, &[E12]);
                at.strikes_if(E1, is_new).then(|| self.put_later(at, key))
            }
            "RemoveTargets" => {
                self.0.lock().unwrap().remove(&key);
                at.note(RuleUntargeted, &key, &[E6]);
                None
            }
            _ => None,
        }
    }

    /// Accepts new targets, which receive events only later.
    fn put_later(&self, at: &At<'_>, key: String) -> Reply {
        at.begin(&[E1]);
        self.0.lock().unwrap().insert(key.clone(), at.call.json["Targets"].clone());
        let (like, request) = (at.like.clone(), at.request.clone());
        tokio::spawn(async move {
            tokio::time::sleep(E1.time()).await;
            let late = &like.0.events.0;
            // They may have been removed in the meantime.
            if late.lock().unwrap().contains_key(&key) {
                forward(like.0.server, request).await.unwrap();
                late.lock().unwrap().remove(&key);
            }
        });
        Reply::success(&json!({"FailedEntryCount": 0, "FailedEntries": []}))
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let Some(rule) = at.call.text("Rule").filter(|_| at.call.operation == "ListTargetsByRule") else {
            return;
        };
        let key = at.call.key(rule);
        if at.strikes_since(E12, at.last(RuleTargeted, &key)) {
            reply.set_json(&json!({"Targets": []}));
        } else if let Some(late) = self.0.lock().unwrap().get(&key) {
            reply.set_json(&json!({ "Targets": late }));
        }
    }
}

async fn has_targets(at: &At<'_>, rule: &str) -> bool {
    let answer = at.ask("events", "ListTargetsByRule", &json!({ "Rule": rule })).await.json();
    answer["Targets"].as_array().is_some_and(|targets| !targets.is_empty())
}
