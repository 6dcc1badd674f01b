//! Shared test code: emulators and clouds on them, one proxy library, and calls that bypass kibus.

pub(crate) mod corrected_emulator;
pub(crate) mod emulator;
pub(crate) mod inventory;
pub(crate) mod policy_simulator;
pub(crate) mod proxy;
pub(crate) mod stage;
pub(crate) mod workbench;

pub(crate) use kibus_harness::{account, tls, transcript};
