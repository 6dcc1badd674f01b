//! The EC2 query protocol (API version 2016-11-15), as far as kibus needs it, on the SDK's own runtime: signing,
//! retries, credentials, time-outs and endpoints are the SDK's. The SDK's EC2 crate has no way to take a single
//! operation, and all of them need more memory to compile than many machines have.

mod client;
pub mod create_tags;
pub mod describe_tags;
mod error;
mod form;
pub mod run_instances;
mod xml;

pub use crate::signed_call::custom_endpoint;
pub use client::{Client, endpoint};
pub use error::Error;
pub use form::Params;
