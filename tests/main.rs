//! What is tested from outside, in one binary: laws over made-up worlds, and kibus against local servers that speak
//! AWS's APIs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cloud_on_emulators;
mod cost;
mod create_tags;
mod drift;
mod emulator;
mod errors;
mod kms_key;
mod laws;
mod module_arrows;
mod options;
mod partitions;
mod patterns;
mod permissions;
mod replace_router;
mod scenario;
mod sessions;
mod storm;
mod workbench;
