//! All integration tests, in one binary: laws over a fake cloud, and kibus against local AWS emulators.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod a_long_scenario;
mod aws_like;
mod cloud_on_emulators;
mod completion;
mod cost;
mod credentials;
mod deleted_queue;
mod demo;
mod differential;
mod documents;
mod drift;
mod errors;
mod external_clusters;
mod hostile;
mod laws;
mod links;
mod million_events;
mod module_arrows;
mod move_over;
mod options;
mod pages;
mod partitions;
mod patterns;
mod permissions;
mod questions;
mod queue_policies;
mod real_account;
mod reliability;
mod sandbox;
mod scenario;
mod sessions;
mod shown_in_docs;
mod storm;
mod support;
