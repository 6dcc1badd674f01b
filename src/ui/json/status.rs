//! The members that `status` adds to the document.

use serde_json::{Value, json};

use crate::model::name::QueueName;
use crate::model::resource::ResourceId;
use crate::model::status::Depth;
use crate::reconcile::status::StatusReport;

/// The status of a hub and its clusters.
pub(super) fn to_json(status: &StatusReport) -> Value {
    let StatusReport {
        router,
        standing,
        mapping,
        queues,
        dead_letter_queue: _, // has its name
        being_deleted,
        rules,
        missing,
        unreadable,
        undiscovered: _, // the document has an error then
    } = status;
    let ids = |ids: &mut dyn Iterator<Item = &ResourceId>| -> Vec<Value> {
        ids.map(|id| json!({ "kind": id.kind(), "name": id.name() })).collect()
    };
    let queue = |(name, depth): &(QueueName, Depth)| {
        let mut queue = json!({ "name": name.as_str(), "waiting": depth.waiting, "in_flight": depth.in_flight });
        if being_deleted.contains(name) {
            queue["being_deleted"] = json!(true);
        }
        queue
    };
    json!({
        "router": router.as_ref().map(|router| json!({
            "version": router.version,
            "published": router.published,
            "architecture": router.architecture.as_str(),
            "state": router.state,
            "rolled_back_from": router.rolled_back_from,
        })),
        "standing": standing,
        "mapping": mapping.as_ref().map(|mapping| json!({
            "state": mapping.state,
        })),
        "queues": queues.iter().map(queue).collect::<Vec<_>>(),
        "rules": rules.iter().map(|(name, enabled)| json!({ "name": name.as_str(), "enabled": enabled })).collect::<Vec<_>>(),
        "missing": ids(&mut missing.iter()),
        "unreadable": ids(&mut unreadable.iter().map(|(id, _)| id)),
    })
}
