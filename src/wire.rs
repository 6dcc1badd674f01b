//! Shared by the router and the command line, for calls to AWS without an SDK crate: signed calls, the query protocol, the JSON
//! protocols, and the codes of errors.

pub mod aws_code;
#[cfg(feature = "cli")]
pub mod aws_json;
pub mod ec2;
pub mod query;
pub(crate) mod signed_call;
pub mod sns;
#[cfg(test)]
#[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "the router speaks no JSON protocol"))]
pub(crate) mod test_service;

pub use signed_call::{behavior, custom_endpoint};
