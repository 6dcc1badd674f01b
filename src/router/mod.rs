//! The function.
