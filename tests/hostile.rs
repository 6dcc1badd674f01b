//! Hostile input: whatever arrives, nothing panics, controls a terminal, is partly written, or reveals a secret.

mod answers;
mod arguments;
mod bad_server;
mod function;
mod hub_queue;
mod interrupted;
pub(crate) mod process;
mod router;
mod secrets;
mod shown;
