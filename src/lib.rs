//! Kibus brings EC2 interruptions to the right Karpenter, for any number of EKS clusters in an account.

pub mod apply;
#[cfg(feature = "cli")]
pub mod aws;
pub mod cloud;
pub mod error;
pub mod model;
pub mod plan;
#[cfg(feature = "cli")]
pub mod sandbox;
pub mod ec2;
pub mod error;
pub mod model;
#[cfg(feature = "router")]
pub mod router;
pub mod ui;
