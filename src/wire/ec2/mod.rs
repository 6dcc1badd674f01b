//! The calls to EC2 that kibus needs, in the query protocol (API version 2016-11-15). The SDK's own runtime does the
//! signing, retries, credentials, timeouts and endpoints. The SDK's EC2 crate is not used: it can only be built whole, and
//! that needs more memory than many machines have.

mod client;
pub mod describe_tags;
mod error;
mod form;
pub mod run_instances;
mod xml;

pub use crate::wire::signed_call::custom_endpoint;
pub use client::{Client, endpoint};
pub use error::Ec2Error;
pub use form::Params;
