//! Any command may be stopped after any step, or fail at any call. Repeated, it continues where it stopped, and the plan
//! after it is empty. Nothing is changed that no record calls kibus's own. Tested on a cloud in memory, for many accounts and
//! commands.

mod account;
mod command;
mod interruption;
mod records;
mod rounds;
mod settings;
mod whole;
