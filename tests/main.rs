//! All integration tests, in one binary: laws over a fake cloud, and kibus against local AWS emulators.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod aws_like;
mod cloud_on_emulators;
mod cost;
mod create_tags;
mod deleted_queue;
mod demo;
mod drift;
mod emulator;
mod errors;
mod front;
mod hostile;
mod kms_key;
mod laws;
mod links;
mod migration;
mod module_arrows;
mod options;
mod partitions;
mod patterns;
mod permissions;
mod queue_policies;
mod real_account;
mod recorded;
mod reliability;
mod replace_router;
mod role_details;
mod sandbox;
mod scenario;
mod sessions;
mod stage;
mod storm;
mod supply_chain;
mod throttled_list;
mod words;
mod workbench;
