//! What IAM and resource policies allow, as AWS evaluates them, and the documents of an operator. Pure.
//!
//! The policies that kibus gives to its resources are desired state, so they are in [`crate::model::policy`].

pub mod grants;
pub mod operator_policy;
#[cfg(test)]
mod tests;
