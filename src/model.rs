//! Values: names, documents, resources, options, and the desired resources of a hub and a cluster. Pure: nothing here is
//! `async`, and nothing takes a client.

pub mod answer;
pub mod cluster;
pub mod document;
pub mod event_rule;
pub mod hub;
pub mod instance;
pub mod karpenter;
pub mod name;
pub mod notation;
pub mod options;
pub mod policy;
#[cfg(test)]
pub(crate) mod readings;
pub mod region;
pub mod resource;
pub mod router_batch;
pub mod router_build;
pub mod router_function;
pub mod router_line;
pub mod scope;
pub mod settings;
pub mod signal;
pub mod status;
pub mod tags;
pub mod watch;

pub use resource::finding_code;
