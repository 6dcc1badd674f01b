//! The kinds of event that Karpenter acts on, each with the rule that brings it to the hub.
//!
//! Source of the kinds: `pkg/controllers/interruption/messages` of aws/karpenter-provider-aws, which keys its
//! parsers on exactly (`version`, `source`, `detail-type`) and deletes what it does not know.

use super::document::Document;
use super::name::AccountId;
use super::template::Template;

/// The `source` of a probe event. Nobody may put events with a source that begins with `aws.`.
pub const PROBE_SOURCE: &str = "kibus.probe";
/// The `detail-type` of a probe event.
pub const PROBE_DETAIL_TYPE: &str = "Kibus Probe";

/// A kind of event that a rule of the hub matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Spot takes an instance back in two minutes.
    SpotInterruption,
    /// An instance is stopping, stopped, shutting down or terminated.
    StateChange,
    /// AWS Health announces a change of instances.
    ScheduledChange,
    /// An interruptible capacity reservation is reclaimed (Karpenter v1.10.0 and later).
    CapacityReservation,
    /// An instance runs a higher risk of interruption; Karpenter only reports it.
    Rebalance,
    /// An event of kibus's own, to see that the bus works.
    Probe,
}

impl Signal {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::SpotInterruption,
        Self::StateChange,
        Self::ScheduledChange,
        Self::CapacityReservation,
        Self::Rebalance,
        Self::Probe,
    ];

    /// What its rule's name ends in.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::SpotInterruption => "spot-interruption",
            Self::StateChange => "instance-state-change",
            Self::ScheduledChange => "scheduled-change",
            Self::CapacityReservation => "capacity-reservation-interruption",
            Self::Rebalance => "rebalance-recommendation",
            Self::Probe => "probe",
        }
    }

    /// One line for the rule's description.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::SpotInterruption => "Kibus: Spot interruption warnings",
            Self::StateChange => "Kibus: instances that stop or terminate",
            Self::ScheduledChange => "Kibus: scheduled changes of instances, from AWS Health",
            Self::CapacityReservation => "Kibus: interruptions of capacity reservations",
            Self::Rebalance => "Kibus: rebalance recommendations",
            Self::Probe => "Kibus: probes of the bus itself",
        }
    }

    /// The pattern of its rule, narrowed to what Karpenter acts on and to one account.
    #[must_use]
    pub fn pattern(self, account: &AccountId) -> Document {
        let template = match self {
            Self::SpotInterruption => include_str!("../../templates/patterns/spot-interruption.json"),
            Self::StateChange => include_str!("../../templates/patterns/instance-state-change.json"),
            Self::ScheduledChange => include_str!("../../templates/patterns/scheduled-change.json"),
            Self::CapacityReservation => {
                include_str!("../../templates/patterns/capacity-reservation-interruption.json")
            }
            Self::Rebalance => include_str!("../../templates/patterns/rebalance-recommendation.json"),
            Self::Probe => include_str!("../../templates/patterns/probe.json"),
        };
        Template::builtin(template).fill(&[("account", account.as_str().into())])
    }
}
