//! What the demo of the sandbox needs beside kibus itself: clusters and instances in an account on the local AWS emulator,
//! events, and a record of who received them.

mod account;
mod event;
mod ledger;

pub(crate) use account::DemoAccount;
pub(crate) use event::Sent;
pub(crate) use ledger::Ledger;
