//! Kibus brings EC2 interruptions to the right Karpenter, for any number of EKS clusters in an account.
//!
//! ```text
//!              EventBridge (default bus)                                         per cluster
//!  aws.ec2 ──┐  spot-interruption                                             ┌─▶ karpenter-base     ─▶ Karpenter of base
//!            ├─ instance-state-change   ─▶ kibus-hub ─▶ kibus-router (Lambda) ─┼─▶ karpenter-tenant-1 ─▶ Karpenter of tenant-1
//!  aws.health┘  scheduled-change ...        (SQS)        reads EC2 tags        └─▶ ...
//! ```
//!
//! Every command that changes something chooses a wanted world and makes it so: observe, plan, show, confirm, apply.
//! In reading order: [`model`] says what can be said about the world, [`plan`] turns a wanted and an observed world
//! into changes, [`cloud`] is the seam to where the resources are, [`aws`] is that on the AWS SDK, [`apply`] runs a
//! plan, [`ui`] turns values into text, and [`cli`] has a recipe for each command. [`router`] is the function that
//! Lambda runs; [`ec2`] is what it asks of EC2, by `signed_call`. [`sandbox`] is a local AWS to try it all on.

pub mod error;
pub mod model;
pub mod plan;

pub mod cloud;

#[cfg(feature = "cli")]
pub mod apply;
#[cfg(feature = "cli")]
pub mod aws;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
mod package;
#[cfg(feature = "cli")]
pub mod recipe;
#[cfg(feature = "cli")]
pub mod sandbox;
#[cfg(feature = "cli")]
pub mod survey;
#[cfg(feature = "cli")]
pub mod ui;

pub mod aws_code;
pub mod ec2;
#[cfg(feature = "router")]
pub mod router;
mod signed_call;
