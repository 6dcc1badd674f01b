//! What needs more than pure code: kibus against local servers that speak AWS's APIs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cloud_on_emulators;
mod emulator;
//! Everything that is tested from outside, in one binary.

mod laws;
mod module_arrows;
