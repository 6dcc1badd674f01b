//! Bytes to signals: which kind of event a message is, which instances it names, what must be repaired.
//! Pure: nothing here depends on an answer of a service.

mod repair;

use std::borrow::Cow;
use std::collections::HashSet;

use super::decision::DropReason;
use super::event_text::{EventText, LARGEST};
use super::health::Entities;
use super::instance::InstanceId;
use super::json::{self, Edit, Members};
use super::shape;
use crate::model::name::ClusterName;
use crate::model::scope::Scope;
use crate::model::signal::{Signal, SubjectMember};

pub use repair::Repair;

/// The most entities of one event. Each may take a share of a call and a decision of its own, so more could use up the
/// memory and the time of the other messages in the batch.
const MOST_ENTITIES: usize = 10_000;

/// An event that Karpenter may act on.
#[derive(Debug)]
pub struct DecodedEvent<'a> {
    /// Its kind.
    pub signal: Signal,
    /// When it happened, in milliseconds of the Unix epoch, if it has a time.
    pub time: Option<i64>,
    /// What was repaired.
    pub repairs: Vec<Repair>,
    /// What it is about.
    pub subject: EventSubject,
    pub(super) body: &'a str,
    pub(super) edits: Vec<Edit>,
    health: Option<Entities<'a>>,
}

/// What an event is about.
#[derive(Debug, PartialEq, Eq)]
pub enum EventSubject {
    /// Instances in their order, or why an entity is not an instance here.
    Instances(Vec<Result<InstanceId, DropReason>>),
    /// A probe of this cluster's queue, or of the queue of probes.
    Probe(Option<ClusterName>),
    /// More entities than the router takes from one event.
    TooManyEntities,
}

/// Decodes an event. `arrived` is when the hub queue took it, in milliseconds of the Unix epoch.
///
/// # Errors
/// Why no Karpenter acts on it.
pub fn decode<'a>(text: &'a EventText<'_>, arrived: i64, scope: &Scope) -> Result<DecodedEvent<'a>, DropReason> {
    let body = text.as_str();
    if body.len() > LARGEST {
        return Err(DropReason::TooLarge);
    }
    let envelope = Members::parse(body).ok_or(DropReason::NotAnEvent)?;
    let name = |key| envelope.text(key).ok_or(DropReason::NotAnEvent);
    let (source, detail_type) = (name("source")?, name("detail-type")?);
    let detail = envelope.members("detail").ok_or(DropReason::NotAnEvent)?;
    let signal = Signal::of(&source, &detail_type).ok_or(DropReason::NotForKarpenter)?;
    for key in ["account", "region"] {
        if envelope.get(key).is_some_and(|value| json::text(value).is_none()) {
            return Err(DropReason::NotAnEvent);
        }
    }
    check_here(&envelope, "account", scope.account.as_str(), DropReason::OtherAccount)?;
    check_here(&envelope, "region", scope.region.as_str(), DropReason::OtherRegion)?;

    let mut event = DecodedEvent {
        signal,
        time: None,
        repairs: Vec::new(),
        subject: EventSubject::Instances(Vec::new()),
        body,
        edits: Vec::new(),
        health: None,
    };
    if !signal.filters().iter().all(|filter| {
        let value = detail.text(filter.member).unwrap_or_default();
        filter.accepts(&value)
    }) {
        return Err(DropReason::NotForKarpenter);
    }
    match signal.subject() {
        SubjectMember::Cluster => event.subject = EventSubject::Probe(probed(&detail)?),
        SubjectMember::Entities => event.read_entities(&envelope, &detail, scope)?,
        SubjectMember::Instance => event.read_instance(&detail, scope)?,
    }
    if text.is_rewritten() {
        event.repairs.push(Repair::Keys);
    }
    event.repair_envelope(&envelope, &detail_type, arrived);
    event.repair_types(&envelope, &shape::envelope(Some(signal)));
    event.repair_types(&detail, shape::detail(signal));
    Ok(event)
}

/// Checks a member that names the account or the Region. A missing or empty member passes.
fn check_here(members: &Members<'_>, key: &str, here: &str, elsewhere: DropReason) -> Result<(), DropReason> {
    match members.text(key) {
        Some(text) if !text.is_empty() && text != here => Err(elsewhere),
        _ => Ok(()),
    }
}

fn probed(detail: &Members<'_>) -> Result<Option<ClusterName>, DropReason> {
    match detail.get("cluster") {
        None => Ok(None),
        Some(value) => match json::text(value) {
            Some(name) if name.is_empty() => Ok(None),
            Some(name) => name.parse().map(Some).map_err(|_| DropReason::NoClusterNamed),
            None => Err(DropReason::NoClusterNamed),
        },
    }
}

impl<'a> DecodedEvent<'a> {
    fn read_instance(&mut self, detail: &Members<'a>, scope: &Scope) -> Result<(), DropReason> {
        let value = detail.get("instance-id").ok_or(DropReason::NoInstance)?;
        let written = json::text(value).ok_or(DropReason::NoInstance)?;
        let id = InstanceId::find(&written, scope)?;
        if id.as_str() != written {
            let edit = Edit::replace(self.body, value, json::quoted(id.as_str()));
            self.repair(Repair::Entity, edit);
        }
        self.subject = EventSubject::Instances(vec![Ok(id)]);
        Ok(())
    }

    fn read_entities(&mut self, envelope: &Members<'a>, detail: &Members<'a>, scope: &Scope) -> Result<(), DropReason> {
        check_here(
            detail,
            "affectedAccount",
            scope.account.as_str(),
            DropReason::OtherAccount,
        )?;
        check_here(detail, "eventRegion", scope.region.as_str(), DropReason::OtherRegion)?;
        let value = detail.get("affectedEntities").ok_or(DropReason::NoInstance)?;
        if json::elements(value).is_some_and(|entities| entities.len() > MOST_ENTITIES) {
            self.subject = EventSubject::TooManyEntities;
            return Ok(());
        }
        let entities = Entities::read(value, envelope.get("resources"), scope);
        if entities.ids().next().is_none() {
            return Err(DropReason::NoInstance);
        }
        if entities.is_repaired() {
            self.repairs.push(Repair::Entity);
        }
        self.subject = EventSubject::Instances(entities.ids().cloned().collect());
        self.health = Some(entities);
        Ok(())
    }

    /// The copy of the event for one cluster, with the entities at these places only. If nothing was split or repaired,
    /// it is the same as what arrived, byte for byte.
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
