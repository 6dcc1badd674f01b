//! Who may send to a queue before a plan, and not after it.

use crate::error::Hint;
use crate::iam::grants::other_senders;
use crate::model::name::QueueName;
use crate::model::resource::QueueField;
use crate::model::scope::Scope;
use crate::plan::{Change, Plan};

/// A warning for each queue whose policy lets others send, if the plan replaces it.
pub(super) fn stopped(scope: &Scope, plan: &Plan) -> Vec<Hint> {
    let warning = |change: &Change| {
        let (before, after) = (change.before.as_ref()?.as_queue()?, change.after.as_ref()?.as_queue()?);
        let senders = other_senders(before.policy.as_ref()?);
        if senders.is_empty() || !change.touches(QueueField::Policy) {
            return None;
        }
        let senders: Vec<String> = senders.iter().map(|sender| sender.escape_debug().to_string()).collect();
        Some(Hint::text(format!(
            "the policy of queue `{}` lets others send: {}. This plan replaces the policy, and SQS then denies their \
             messages. Remove these senders: only {} to this queue",
            after.name,
            senders.join(", "),
            meant(scope, &after.name),
        )))
    };
    plan.changes.iter().filter_map(warning).collect()
}

/// What sends to a queue of the bus.
fn meant(scope: &Scope, queue: &QueueName) -> &'static str {
    match *queue == scope.hub_queue() || *queue == scope.dead_letter_queue() {
        true => "the rules of this bus send",
        false => "the router delivers",
    }
}
