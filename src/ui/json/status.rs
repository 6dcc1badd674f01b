//! The member that `status` adds to the document.

use super::object::objects;
use crate::model::name::{QueueName, RuleName};
use crate::model::resource::ResourceId;
use crate::model::status::{Depth, MappingState};
use crate::reconcile::status::{RouterReport, StatusReport};

objects! {
    /// The state of the hub and its clusters.
    StatusObject<'a>(
        StatusReport {
            router, standing, mapping, queues, rules, missing, unreadable,
            dead_letter_queue: _, // has its name
            undiscovered: _, // the document has an error then
        } in &'a StatusReport
    ) {
        router: Option<RouterObject<'a>> = router.as_ref().map(RouterObject::of),
        /// An explanation if the live router is not the newest one.
        standing: Option<&'a str> = standing.as_deref(),
        mapping: Option<MappingObject<'a>> = mapping.as_ref().map(MappingObject::of),
        queues: Vec<QueueObject<'a>> = queues.iter().map(|(name, depth)| QueueObject::of(name, *depth)).collect(),
        rules: Vec<RuleObject<'a>> = rules.iter().map(RuleObject::of).collect(),
        missing: Vec<ResourceObject> = missing.iter().map(ResourceObject::of).collect(),
        unreadable: Vec<ResourceObject> = unreadable.iter().map(|(id, _)| ResourceObject::of(id)).collect(),
    }

    /// The live router.
    RouterObject<'a>(RouterReport { version, published, architecture, state, rolled_back_from } in &'a RouterReport) {
        version: &'a str = version,
        /// The version number that Lambda assigned.
        published: Option<u64> = *published,
        architecture: &'static str = architecture.as_str(),
        state: Option<&'a str> = state.as_deref(),
        /// The version that was live before `kibus rollback`.
        rolled_back_from: Option<u64> = *rolled_back_from,
    }

    /// The event source mapping.
    MappingObject<'a>(MappingState { state, reason: _ } in &'a MappingState) {
        state: &'a str = state,
    }

    /// A queue and the number of its messages.
    QueueObject<'a>(name in &'a QueueName, Depth { waiting, in_flight } in Depth) {
        name: &'a str = name.as_str(),
        waiting: u64 = waiting,
        in_flight: u64 = in_flight,
    }

    /// A rule.
    RuleObject<'a>((name, enabled) in &'a (RuleName, bool)) {
        name: &'a str = name.as_str(),
        enabled: bool = *enabled,
    }

    /// A resource.
    ResourceObject(id in &ResourceId) {
        #[cfg_attr(test, schemars(schema_with = "super::tests::kind"))]
        kind: &'static str = id.kind(),
        name: String = id.name(),
    }
}
