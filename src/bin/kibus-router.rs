//! The function.

fn main() {}
