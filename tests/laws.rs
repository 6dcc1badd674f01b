//! Any command can be stopped after any step, or fail at any call. When repeated, it continues where it stopped, and
//! the next plan is empty. Kibus changes only resources that a record assigns to it. Tested on a cloud in memory, for
//! many accounts and commands.

mod account;
mod command;
mod interruption;
mod records;
mod rounds;
mod settings;
mod whole;
