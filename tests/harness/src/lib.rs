//! Code that the tests and the benchmark share and that is not about kibus: one local server, an AWS that answers late
//! and throttles, calls to an account without kibus, AWS answers in files, the output of a command, TLS servers, and
//! what a router needs from Lambda and SQS.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

pub mod account;
pub mod aws_like;
mod call;
pub mod hub_queue;
pub mod proxy;
pub mod recorded;
pub mod runtime_api;
pub mod tls;
pub mod transcript;

pub use call::decoded;
