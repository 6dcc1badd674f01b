//! Values: names, documents, resources, options, and the desired resources of a hub and a cluster. Pure: nothing here is
//! `async`, and nothing takes a client.

pub mod answer;
pub mod cluster;
pub mod document;
pub mod dropped_clusters;
pub mod duration;
pub mod event_rule;
pub mod finding_code;
pub mod hub;
pub mod karpenter;
pub mod name;
pub mod options;
pub mod policy;
pub mod probe;
pub mod queue_activity;
#[cfg(test)]
pub(crate) mod readings;
#[cfg(feature = "cli")]
pub mod region;
pub mod resource;
pub mod router_function;
pub mod scope;
pub mod settings;
pub mod signal;
pub mod simulation;
pub mod tags;
pub mod time;

#[cfg(feature = "cli")]
pub use answer::slowdown;
pub use answer::{fact, fault, status};
pub use document::template;
pub use karpenter::{controller_role, other_setup};
pub use policy::{inline_policy, queue_policy, tag_conditions};
pub use resource::{field, inventory};
pub use router_function::{router_batch, router_build, router_handler, self_test};
pub use signal::{rule_pattern, sample_event};
