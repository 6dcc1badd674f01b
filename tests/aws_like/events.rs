//! Behaviors of EventBridge.

use serde_json::json;

use super::Behavior::E6;
use super::reply::Reply;
use super::{At, Moments};

#[derive(Default)]
pub(super) struct Events {
    untargeted: Moments,
}

impl Events {
    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let rule = at.call.text("Rule").or_else(|| at.call.text("Name"))?;
        let key = at.call.key(rule);
        match at.call.operation.as_str() {
            "RemoveTargets" => {
                self.untargeted.note(key);
                at.begin(&[E6]);
                None
            }
            "DeleteRule" if at.strikes_since(E6, self.untargeted.of(&key)) || self.has_targets(at, rule).await => {
                let message = "Rule can't be deleted since it has targets.";
                Some(Reply::error(400, "ValidationException", message))
            }
            _ => None,
        }
    }

    async fn has_targets(&self, at: &At<'_>, rule: &str) -> bool {
        if !at.is_on(E6) {
            return false;
        }
        let answer = at.ask("AWSEvents.ListTargetsByRule", &json!({ "Rule": rule })).await;
        let has_targets = answer.json()["Targets"]
            .as_array()
            .is_some_and(|targets| !targets.is_empty());
        if has_targets {
            at.strike(E6);
        }
        has_targets
    }
}
