//! Hostile input: whatever arrives, nothing panics, controls a terminal, is written in part, or tells a secret.

mod function;
mod router;
