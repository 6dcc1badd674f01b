//! Bytes in, meaning out: which kind of event a message is, which instances it names, what must be repaired.
//! Pure; it decides nothing that depends on an answer of a service.

use std::borrow::Cow;
use std::collections::HashSet;

use super::health::Entities;
use super::instance::InstanceId;
use super::json::{self, Edit, Members};
use super::repair::Repair;
use super::verdict::Drop;
use crate::model::name::ClusterName;
use crate::model::scope::Scope;
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE, Signal};

/// The largest message that SQS takes, in bytes.
pub(super) const LARGEST: usize = 1024 * 1024;

pub(super) const CAPACITY_RESERVATION: &str = "EC2 Capacity Reservation Instance Interruption Warning";
pub(super) const CAPACITY_RESERVATION_OLD: &str =
    "EC2 Interruptible Capacity Reservation Instance Interruption Warning";
const STATES: [&str; 4] = ["stopping", "stopped", "shutting-down", "terminated"];

/// One event that a cluster may want.
#[derive(Debug)]
pub struct Event<'a> {
    /// Its kind.
    pub signal: Signal,
    /// When it happened, in milliseconds of the Unix epoch, if it says so.
    pub time: Option<i64>,
    /// What was put right.
    pub repairs: Vec<Repair>,
    /// What it is about.
    pub subject: Subject,
    pub(super) body: &'a str,
    pub(super) edits: Vec<Edit>,
    health: Option<Entities<'a>>,
}

/// What an event is about.
#[derive(Debug, PartialEq, Eq)]
pub enum Subject {
    /// Instances, each with its place in the event; or why an entity is none.
    Instances(Vec<Result<InstanceId, Drop>>),
    /// A probe of this cluster's queue, or of the queue of probes.
    Probe(Option<ClusterName>),
}

/// Reads a message. `arrived` is when the hub queue took it, in milliseconds of the Unix epoch.
///
/// # Errors
/// Why no cluster can want it.
pub fn decode<'a>(body: &'a str, arrived: i64, scope: &Scope) -> Result<Event<'a>, Drop> {
    if body.len() > LARGEST {
        return Err(Drop::TooLarge);
    }
    let envelope = Members::parse(body).ok_or(Drop::NotAnEvent)?;
    let text = |key| envelope.text(key).ok_or(Drop::NotAnEvent);
    let (source, detail_type) = (text("source")?, text("detail-type")?);
    let detail = envelope.members("detail").ok_or(Drop::NotAnEvent)?;
    let signal = kind(&source, &detail_type).ok_or(Drop::NotForKarpenter)?;
    of_here(&envelope, "account", scope.account.as_str(), Drop::OtherAccount)?;
    of_here(&envelope, "region", scope.region.as_str(), Drop::OtherRegion)?;

    let mut event = Event {
        signal,
        time: None,
        repairs: Vec::new(),
        subject: Subject::Instances(Vec::new()),
        body,
        edits: Vec::new(),
        health: None,
    };
    match signal {
        Signal::Probe => event.subject = Subject::Probe(probed(&detail)?),
        Signal::ScheduledChange => event.read_health(&envelope, &detail, scope)?,
        Signal::StateChange if !stops(&detail) => return Err(Drop::NotForKarpenter),
        Signal::SpotInterruption | Signal::StateChange | Signal::CapacityReservation | Signal::Rebalance => {
            event.read_instance(&detail, scope)?;
        }
    }
    event.repair_envelope(&envelope, &detail_type, arrived);
    Ok(event)
}

fn kind(source: &str, detail_type: &str) -> Option<Signal> {
    Some(match (source, detail_type) {
        ("aws.ec2", "EC2 Spot Instance Interruption Warning") => Signal::SpotInterruption,
        ("aws.ec2", "EC2 Instance State-change Notification") => Signal::StateChange,
        ("aws.ec2", CAPACITY_RESERVATION | CAPACITY_RESERVATION_OLD) => Signal::CapacityReservation,
        ("aws.ec2", "EC2 Instance Rebalance Recommendation") => Signal::Rebalance,
        ("aws.health", "AWS Health Event") => Signal::ScheduledChange,
        (PROBE_SOURCE, PROBE_DETAIL_TYPE) => Signal::Probe,
        _ => return None,
    })
}

/// A member that says where the event belongs; one that is not there says nothing.
fn of_here(members: &Members<'_>, key: &str, here: &str, elsewhere: Drop) -> Result<(), Drop> {
    match members.get(key) {
        None => Ok(()),
        Some(value) => match json::text(value) {
            None => Err(Drop::NotAnEvent),
            Some(text) if text == here => Ok(()),
            Some(_) => Err(elsewhere),
        },
    }
}

fn probed(detail: &Members<'_>) -> Result<Option<ClusterName>, Drop> {
    match detail.get("cluster") {
        None => Ok(None),
        Some(value) => match json::text(value) {
            Some(name) if name.is_empty() => Ok(None),
            Some(name) => name.parse().map(Some).map_err(|_| Drop::NoClusterNamed),
            None => Err(Drop::NoClusterNamed),
        },
    }
}

fn stops(detail: &Members<'_>) -> bool {
    let state = detail.text("state").unwrap_or_default();
    STATES.iter().any(|known| state.eq_ignore_ascii_case(known))
}

impl<'a> Event<'a> {
    fn read_instance(&mut self, detail: &Members<'a>, scope: &Scope) -> Result<(), Drop> {
        let value = detail.get("instance-id").ok_or(Drop::NoInstance)?;
        let written = json::text(value).ok_or(Drop::NoInstance)?;
        let id = InstanceId::find(&written, scope)?;
        if id.as_str() != written {
            let edit = Edit::replace(self.body, value, json::quoted(id.as_str()));
            self.repair(Repair::Entity, edit);
        }
        self.subject = Subject::Instances(vec![Ok(id)]);
        Ok(())
    }

    fn read_health(&mut self, envelope: &Members<'a>, detail: &Members<'a>, scope: &Scope) -> Result<(), Drop> {
        let is = |key, wanted: &str| detail.text(key).as_deref() == Some(wanted);
        if !is("service", "EC2") || !is("eventTypeCategory", "scheduledChange") {
            return Err(Drop::NotForKarpenter);
        }
        of_here(detail, "affectedAccount", scope.account.as_str(), Drop::OtherAccount)?;
        of_here(detail, "eventRegion", scope.region.as_str(), Drop::OtherRegion)?;
        let value = detail.get("affectedEntities").ok_or(Drop::NoInstance)?;
        let entities = Entities::read(value, envelope.get("resources"), scope);
        if entities.ids().next().is_none() {
            return Err(Drop::NoInstance);
        }
        if entities.is_repaired() {
            self.repairs.push(Repair::Entity);
        }
        self.subject = Subject::Instances(entities.ids().cloned().collect());
        self.health = Some(entities);
        Ok(())
    }

    /// The event as one cluster gets it: with those of its entities only that stand at these places. Byte for byte
    /// what arrived, if nothing had to be split off or put right.
    #[must_use]
    pub fn copy_of(&self, places: &HashSet<usize>) -> Cow<'a, str> {
        let mut edits = self.edits.clone();
        if let Some(health) = &self.health {
            health.split(self.body, places, &mut edits);
        }
        if edits.is_empty() {
            return Cow::Borrowed(self.body);
        }
        Cow::Owned(json::apply(self.body, edits))
    }
}

#[cfg(test)]
mod tests;
