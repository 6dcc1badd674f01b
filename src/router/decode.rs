//! Bytes to signals: which kind of event a message is, which instances it names, what must be repaired, and the copies of
//! it for clusters. Pure: nothing here depends on a service.

use std::borrow::Cow;
use std::collections::HashSet;

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::value::RawValue;

use super::decision::DropReason;
use super::json::{self, Edit, Members};
use super::shape::{Shape, is_ambiguous, members_of_detail, members_of_envelope};
use crate::model::{ClusterName, InstanceId, Scope, Signal, SubjectMember};

/// The maximum size of an SQS message, in bytes.
pub(super) const LARGEST: usize = 1024 * 1024;

/// The maximum number of entities in one event. Each may need its own decision and part of a call, so more could use up
/// the memory and the time of the other messages in the batch.
const MOST_ENTITIES: usize = 10_000;

#[derive(Debug)]
pub struct DecodedEvent<'a> {
    pub signal: Signal,
    /// When it happened, in milliseconds of the Unix epoch, if it has a time.
    pub time: Option<i64>,
    /// The new state of the instance, as EC2 names it.
    pub state: Option<&'static str>,
    /// The number of repaired shapes that Karpenter's parsers are known to discard.
    pub repairs: usize,
    pub subject: EventSubject,
    body: &'a str,
    edits: Vec<Edit>,
    health: Option<Entities<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum EventSubject {
    /// Instances in their order, or why an entity is not a local instance.
    Instances(Vec<Result<InstanceId, DropReason>>),
    /// A probe of this cluster's queue, or of the probe queue.
    Probe(Option<ClusterName>),
    /// A probe of the probe queue that also needs a call to EC2.
    Heartbeat,
    /// More entities than the router accepts in one event.
    TooManyEntities,
    /// Different parsers may read different names.
    Ambiguous,
}

/// Decodes an event, which the hub queue accepted at `arrived`, in milliseconds of the Unix epoch; or returns why no Karpenter acts on it.
pub fn decode<'a>(body: &'a str, arrived: i64, scope: &Scope) -> Result<DecodedEvent<'a>, DropReason> {
    if body.len() > LARGEST {
        return Err(DropReason::TooLarge);
    }
    let envelope = Members::parse(body).ok_or(DropReason::NotAnEvent)?;
    let name = |key| envelope.text(key).ok_or(DropReason::NotAnEvent);
    let (source, detail_type) = (name("source")?, name("detail-type")?);
    let signal = Signal::from_event(&source, &detail_type).ok_or(DropReason::NotForKarpenter)?;
    let mut event = DecodedEvent {
        signal,
        time: None,
        state: None,
        repairs: 0,
        subject: EventSubject::Ambiguous,
        body,
        edits: Vec::new(),
        health: None,
    };
    if is_ambiguous(&envelope, &members_of_envelope(signal)) {
        // Anyone who can put events can send any number of probes.
        return if signal.names_instances() { Ok(event) } else { Err(DropReason::NotForKarpenter) };
    }
    let detail = envelope.members("detail").ok_or(DropReason::NotAnEvent)?;
    for key in ["account", "region"] {
        if envelope.get(key).is_some_and(|value| json::text(value).is_none()) {
            return Err(DropReason::NotAnEvent);
        }
    }
    check_here(&envelope, ["account", "region"], scope)?;
    for filter in signal.filters() {
        let value = detail.text(filter.member).unwrap_or_default();
        let known = filter.accepted(&value).ok_or(DropReason::NotForKarpenter)?;
        event.state = event.state.or((filter.member == "state").then_some(known));
    }
    match signal.subject() {
        SubjectMember::Bus => event.subject = EventSubject::Heartbeat,
        SubjectMember::Cluster => event.subject = EventSubject::Probe(probed(&detail)?),
        SubjectMember::Entities => event.read_entities(&envelope, &detail, scope)?,
        SubjectMember::Instance => event.read_instance(&detail, scope)?,
    }
    event.repair_envelope(&envelope, &detail_type, arrived);
    event.repair_types(&envelope, &members_of_envelope(signal));
    event.repair_types(&detail, members_of_detail(signal));
    Ok(event)
}

/// Checks the members that name the account and the Region. A missing or empty member passes.
fn check_here(members: &Members<'_>, keys: [&str; 2], scope: &Scope) -> Result<(), DropReason> {
    let [account, region] = keys.map(|key| members.text(key).unwrap_or_default());
    in_scope(&account, &region, scope)
}

fn in_scope(account: &str, region: &str, scope: &Scope) -> Result<(), DropReason> {
    if !account.is_empty() && account != scope.account.as_str() {
        return Err(DropReason::OtherAccount);
    }
    if !region.is_empty() && region != scope.region.as_str() {
        return Err(DropReason::OtherRegion);
    }
    Ok(())
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
        let id = find_instance(&written, scope)?;
        if id.as_str() != written {
            let edit = Edit::replace(self.body, value, json::quoted(id.as_str()));
            self.repair(edit);
        }
        self.subject = EventSubject::Instances(vec![Ok(id)]);
        Ok(())
    }

    fn read_entities(&mut self, envelope: &Members<'a>, detail: &Members<'a>, scope: &Scope) -> Result<(), DropReason> {
        check_here(detail, ["affectedAccount", "eventRegion"], scope)?;
        let list = detail.get("affectedEntities").ok_or(DropReason::NoInstance)?;
        let written = json::elements_or_one(list);
        if written.len() > MOST_ENTITIES {
            self.subject = EventSubject::TooManyEntities;
            return Ok(());
        }
        let entities: Vec<_> = written.into_iter().map(|written| Entity::read(written, scope)).collect();
        if entities.is_empty() {
            return Err(DropReason::NoInstance);
        }
        let is_repaired = json::elements(list).is_none() || entities.iter().any(|entity| entity.reduced.is_some());
        if is_repaired {
            self.repairs += 1;
        }
        self.subject = EventSubject::Instances(entities.iter().map(|entity| entity.id.clone()).collect());
        self.health = Some(Entities { list, is_repaired, entities, resources: envelope.get("resources") });
        Ok(())
    }

    /// Repairs the envelope. `arrived` replaces a missing time.
    fn repair_envelope(&mut self, envelope: &Members<'a>, detail_type: &str, arrived: i64) {
        if envelope.text("version").as_deref() != Some("0") {
            self.put(envelope, "version", "\"0\"");
        }
        if detail_type != self.signal.detail_type() {
            let new = json::quoted(self.signal.detail_type());
            self.put(envelope, "detail-type", &new);
        }
        self.time = envelope.get("time").and_then(|time| millis(time.get()));
        if self.time.is_none()
            && let Ok(time) = DateTime::from_secs(arrived.div_euclid(1000)).fmt(Format::DateTime)
        {
            self.put(envelope, "time", &json::quoted(&time));
        }
    }

    /// Repairs the members that the decoder does not evaluate, so that Karpenter accepts the event; Karpenter does not
    /// act on these members.
    fn repair_types(&mut self, members: &Members<'a>, known: &[(&str, Shape<'_>)]) {
        for (key, shape) in known {
            let Some(value) = members.get(key).filter(|value| !shape.fits(value)) else {
                continue;
            };
            match shape {
                Shape::Text => self.put(members, key, &json::quoted(value.get())),
                Shape::Texts => self.put(members, key, &strings(value)),
                Shape::Descriptions => self.put(members, key, "[]"),
                Shape::Judged | Shape::Object(_) | Shape::List(_) => {}
            }
        }
    }

    fn put(&mut self, members: &Members<'a>, key: &str, new: &str) {
        let edit = match members.written(key) {
            Some(value) => Edit::replace(self.body, value, new.to_owned()),
            None => Edit::add(self.body, members, key, new),
        };
        self.repair(edit);
    }

    fn repair(&mut self, edit: Edit) {
        self.repairs += 1;
        self.edits.push(edit);
    }

    /// The copy of the event for one cluster, with the entities at these places only. If nothing was split or repaired,
    /// it is identical to the original, byte for byte.
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

/// Finds the id in a text that is an id or an instance's ARN in this account and Region.
fn find_instance(text: &str, scope: &Scope) -> Result<InstanceId, DropReason> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let ["arn", _, "ec2", region, account, resource] = parts[..] else {
        return Err(DropReason::NoInstance);
    };
    let id = resource.strip_prefix("instance/").and_then(|id| id.parse().ok()).ok_or(DropReason::NoInstance)?;
    in_scope(account, region, scope)?;
    Ok(id)
}

/// A list of the strings in a value.
fn strings(value: &RawValue) -> String {
    let elements = json::elements_or_one(value).into_iter().map(RawValue::get);
    json::list(elements.filter(|element| element.starts_with('"')))
}

/// When it happened, in milliseconds of the Unix epoch, if the time is RFC 3339 in a form that Go's parser accepts:
/// without escapes, with capital letters and without leap seconds.
fn millis(written: &str) -> Option<i64> {
    let time = written.strip_prefix('"')?.strip_suffix('"')?;
    if time.contains(['t', 'z']) || time.get(17..19)? > "59" {
        return None;
    }
    let parsed = DateTime::from_str(time, Format::DateTimeWithOffset);
    parsed.ok()?.to_millis().ok()
}

#[derive(Debug)]
struct Entities<'a> {
    list: &'a RawValue,
    /// Whether Karpenter would fail to recognize an instance in its original form.
    is_repaired: bool,
    entities: Vec<Entity<'a>>,
    resources: Option<&'a RawValue>,
}

#[derive(Debug)]
struct Entity<'a> {
    written: &'a RawValue,
    /// The instance, or why there is none.
    id: Result<InstanceId, DropReason>,
    /// The entity with an id instead of the ARN, if it had an ARN.
    reduced: Option<String>,
}

impl Entities<'_> {
    /// Adds the edits that keep only these entities, by place.
    fn split(&self, body: &str, places: &HashSet<usize>, edits: &mut Vec<Edit>) {
        let all = self.entities.iter().enumerate();
        let kept = all.filter(|(place, _)| places.contains(place));
        let kept: Vec<&Entity<'_>> = kept.map(|(_, entity)| entity).collect();
        let all = kept.len() == self.entities.len();
        if !all || self.is_repaired {
            let texts = kept.iter().map(|entity| entity.reduced.as_deref().unwrap_or(entity.written.get()));
            edits.push(Edit::replace(body, self.list, json::list(texts)));
        }
        if !all && let Some(resources) = self.resources {
            let edit = Edit::replace(body, resources, only(resources, &kept));
            // Repairing the same value would keep resources of other clusters; this edit replaces that repair.
            edits.retain(|other| !other.same_place(&edit));
            edits.push(edit);
        }
    }
}

impl<'a> Entity<'a> {
    fn read(written: &'a RawValue, scope: &Scope) -> Self {
        let value = Members::parse(written.get()).and_then(|members| members.get("entityValue"));
        let Some((value, text)) = value.and_then(|value| Some((value, json::text(value)?))) else {
            return Self { written, id: Err(DropReason::NoInstance), reduced: None };
        };
        let id = find_instance(&text, scope);
        let reduced = match &id {
            Ok(id) if id.as_str() != text => {
                let edit = Edit::replace(written.get(), value, json::quoted(id.as_str()));
                Some(json::apply(written.get(), vec![edit]))
            }
            _ => None,
        };
        Self { written, id, reduced }
    }
}

/// The resources that name one of these entities, in their original form.
fn only(resources: &RawValue, kept: &[&Entity<'_>]) -> String {
    let ids: HashSet<&str> = kept.iter().filter_map(|entity| entity.id.as_ref().ok()).map(InstanceId::as_str).collect();
    let names_one = |resource: &&RawValue| {
        json::text(resource).is_some_and(|text| ids.contains(text.rsplit(['/', ':']).next().unwrap_or(&text)))
    };
    let resources = json::elements_or_one(resources).into_iter();
    json::list(resources.filter(names_one).map(RawValue::get))
}

#[cfg(test)]
mod tests;
