//! What `status` adds to the document.

use serde_json::{Value, json};

use crate::model::name::{QueueName, RuleName};
use crate::model::resource::{Architecture, ResourceId};
use crate::model::status::{Depth, MappingState};

/// How a hub and its clusters fare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReport {
    /// The router's version and the number that Lambda gave it, if it is there and live.
    pub router: Option<RouterReport>,
    /// What there is to say if the router that is live is not the newest one, as when someone went back on purpose.
    pub standing: Option<String>,
    /// How the mapping fares, if there is one.
    pub mapping: Option<MappingState>,
    /// Every queue that could be counted, the hub's first.
    pub queues: Vec<(QueueName, Depth)>,
    /// The rules that are there, and whether each matches at all.
    pub rules: Vec<(RuleName, bool)>,
    /// What of the hub is not there.
    pub missing: Vec<ResourceId>,
    /// What could not be read.
    pub unreadable: Vec<ResourceId>,
}

/// The router that is live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterReport {
    /// Its version, as kibus counts; empty if it is not one of ours.
    pub version: String,
    /// Its version, as Lambda counts.
    pub published: Option<u64>,
    /// What it runs on.
    pub architecture: Architecture,
    /// Lambda's word for its state.
    pub state: Option<String>,
    /// The version, as Lambda counts, that someone has gone back from to this one.
    pub gone_back_from: Option<u64>,
}

impl StatusReport {
    pub(super) fn to_json(&self) -> Value {
        let Self {
            router,
            standing,
            mapping,
            queues,
            rules,
            missing,
            unreadable,
        } = self;
        let ids = |ids: &[ResourceId]| -> Vec<Value> {
            ids.iter()
                .map(|id| json!({ "kind": id.kind(), "name": id.name() }))
                .collect()
        };
        let queue = |(name, depth): &(QueueName, Depth)| json!({ "name": name.as_str(), "waiting": depth.waiting, "in_flight": depth.in_flight });
        json!({
            "router": router.as_ref().map(|router| json!({
                "version": router.version,
                "published": router.published,
                "architecture": router.architecture.as_str(),
                "state": router.state,
                "gone_back_from": router.gone_back_from,
            })),
            "standing": standing,
            "mapping": mapping.as_ref().map(|mapping| json!({
                "state": mapping.state,
                "last_result": mapping.last_result,
            })),
            "queues": queues.iter().map(queue).collect::<Vec<_>>(),
            "rules": rules.iter().map(|(name, enabled)| json!({ "name": name.as_str(), "enabled": enabled })).collect::<Vec<_>>(),
            "missing": ids(missing),
            "unreadable": ids(unreadable),
        })
    }
}
