//! What the commands and the router function know of each other: its build, its settings, and its self-test.

pub mod router_batch;
pub mod router_build;
pub mod router_handler;
pub mod self_test;
