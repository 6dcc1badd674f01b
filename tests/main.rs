//! What needs more than pure code: kibus against local servers that speak AWS's APIs.

mod cloud_on_emulators;
mod emulator;
