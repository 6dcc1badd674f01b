//! What a call to AWS gives: a fact, a fault, or the state of something at that moment.

pub mod fact;
pub mod fault;
#[cfg(feature = "cli")]
pub mod slowdown;
pub mod status;
