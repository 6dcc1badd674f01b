//! One file per subcommand: its arguments (their comments are the help) and the request that they make.

pub(super) mod add_cluster;
pub(super) mod bootstrap_hub;
pub(super) mod completions;
pub(super) mod dead_letters;
mod demo;
pub(super) mod explain;
pub(super) mod list;
pub(super) mod man;
pub(super) mod policy;
pub(super) mod reference;
pub(super) mod remove_cluster;
pub(super) mod rollback;
pub(super) mod sandbox;
pub(super) mod status;
pub(super) mod teardown;
pub(super) mod verify;
pub(super) mod version;
