//! What the router and the command line share to call AWS without an SDK crate: signed calls, EC2's query protocol, AWS JSON,
//! REST JSON, limits on answers, and the codes of errors.

pub(crate) mod answer_limit;
pub mod aws_code;
#[cfg(feature = "cli")]
pub mod aws_json;
pub mod ec2;
#[cfg(feature = "cli")]
mod json_call;
#[cfg(feature = "cli")]
pub mod rest_json;
pub(crate) mod signed_call;
#[cfg(test)]
#[cfg_attr(
    not(feature = "cli"),
    expect(dead_code, reason = "the router speaks no JSON protocol")
)]
mod test_service;
