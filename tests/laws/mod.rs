//! Any command may be stopped after any step, or fail at any call, and be repeated: it goes on where it stood, and
//! the plan after it is empty. Held over a cloud in memory, for many accounts and commands.

mod account;
mod command;
mod interruption;
