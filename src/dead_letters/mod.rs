//! The messages of the dead-letter queue: read, and then routed again or deleted.

pub mod read;
pub mod treat;
