//! Values: names, documents, resources, options, and the desired resources of a hub and a cluster. Pure: nothing here is
//! `async`, and nothing takes a client.

pub mod cluster;
pub mod controller_role;
pub mod document;
pub mod duration;
pub mod fact;
pub mod fault;
pub mod finding_code;
pub mod hub;
pub mod inline_policy;
pub mod karpenter;
pub mod name;
pub mod options;
pub mod other_setup;
pub mod policy;
pub mod probe;
pub mod queue_policy;
#[cfg(test)]
pub(crate) mod readings;
pub mod resource;
pub mod router_build;
pub mod router_handler;
pub mod sample_event;
pub mod scope;
pub mod self_test;
pub mod signal;
#[cfg(feature = "cli")]
pub mod slowdown;
pub mod status;
pub mod tag_conditions;
pub mod tags;
pub mod template;
pub mod time;

pub use resource::{field, inventory};
