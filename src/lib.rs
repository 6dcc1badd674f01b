//! Kibus routes EC2 interruptions to the right Karpenter, for any number of EKS clusters in an account.
//!
//! ```text
//!              EventBridge (default bus)                                         per cluster
//!  aws.ec2 ──┐  spot-interruption                                             ┌─▶ karpenter-base     ─▶ Karpenter of base
//!            ├─ instance-state-change   ─▶ kibus-hub ─▶ kibus-router (Lambda) ─┼─▶ karpenter-tenant-1 ─▶ Karpenter of tenant-1
//!  aws.health┘  scheduled-change ...        (SQS)        reads EC2 tags        └─▶ ...
//! ```
//!
//! Every command runs the same stages, for one hub:
//!
//! ```text
//! survey → reconcile → show → confirm → apply → report
//! ```
//!
//! In reading order: [`model`] has names, resources and options; [`iam`] evaluates policies; [`plan`] compares desired and observed resources and
//! orders the changes; [`cloud`] is the interface to AWS; [`survey`] reads through it; [`reconcile`] turns a survey and a
//! target into an intent; [`apply`] runs plans; [`aws`] implements the interface on the AWS SDK; [`ui`] turns values and
//! events into text and JSON; and [`cli`] has the commands and joins the stages. [`router`] is the Lambda function. It
//! uses [`wire`], and `package` packs it. [`sandbox`] runs a local AWS emulator.

pub mod error;
pub mod model;
pub mod wire;

#[cfg(feature = "router")]
pub mod router;

#[cfg(feature = "cli")]
pub mod apply;
#[cfg(feature = "cli")]
pub mod aws;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod cloud;
#[cfg(feature = "cli")]
pub mod dead_letters;
#[cfg(feature = "cli")]
pub mod discover;
#[cfg(feature = "cli")]
pub mod drill;
#[cfg(feature = "cli")]
pub mod events;
#[cfg(feature = "cli")]
pub mod export;
#[cfg(feature = "cli")]
pub mod iam;
#[cfg(feature = "cli")]
pub mod message;
#[cfg(feature = "cli")]
mod package;
#[cfg(feature = "cli")]
pub mod plan;
#[cfg(feature = "cli")]
pub mod probe;
#[cfg(feature = "cli")]
pub mod reconcile;
#[cfg(feature = "cli")]
pub mod sandbox;
#[cfg(feature = "cli")]
pub mod survey;
#[cfg(feature = "cli")]
pub mod ui;
