//! The entities of an AWS Health event, and copies of it that have some of them.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::decision::DropReason;
use super::instance::InstanceId;
use super::json::{self, Edit, Members};
use crate::model::scope::Scope;

/// The affected entities of an event, and the resources that its envelope names.
#[derive(Debug)]
pub(super) struct Entities<'a> {
    list: &'a RawValue,
    is_list: bool,
    entities: Vec<Entity<'a>>,
    resources: Option<&'a RawValue>,
}

#[derive(Debug)]
struct Entity<'a> {
    written: &'a RawValue,
    /// The instance, or why there is none.
    id: Result<InstanceId, DropReason>,
    /// The entity with an id in place of the ARN, if it had one.
    reduced: Option<String>,
}

impl<'a> Entities<'a> {
    /// Reads `detail.affectedEntities`. A single entity instead of a list counts as a list of one.
    pub(super) fn read(list: &'a RawValue, resources: Option<&'a RawValue>, scope: &Scope) -> Self {
        let elements = json::elements(list);
        let is_list = elements.is_some();
        let entities = elements
            .unwrap_or_else(|| vec![list])
            .into_iter()
            .map(|written| Entity::read(written, scope))
            .collect();
        Self {
            list,
            is_list,
            entities,
            resources,
        }
    }

    /// Each entity's instance, or why it has none, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Result<InstanceId, DropReason>> {
        self.entities.iter().map(|entity| &entity.id)
    }

    /// Whether Karpenter would not recognize an instance as it is written.
    pub(super) fn is_repaired(&self) -> bool {
        !self.is_list || self.entities.iter().any(|entity| entity.reduced.is_some())
    }

    /// Adds the edits that keep only the entities at these places.
    pub(super) fn split(&self, body: &str, places: &HashSet<usize>, edits: &mut Vec<Edit>) {
        let kept: Vec<&Entity<'_>> = self
            .entities
            .iter()
            .enumerate()
            .filter_map(|(place, entity)| places.contains(&place).then_some(entity))
            .collect();
        let all = kept.len() == self.entities.len();
        if !all || self.is_repaired() {
            let texts: Vec<&str> = kept
                .iter()
                .map(|entity| entity.reduced.as_deref().unwrap_or(entity.written.get()))
                .collect();
            edits.push(Edit::replace(body, self.list, format!("[{}]", texts.join(","))));
        }
        if !all && let Some(resources) = self.resources {
            let edit = Edit::replace(body, resources, only(resources, &kept));
            // A repair of the same value would keep resources of other clusters; this edit replaces it.
            edits.retain(|other| !other.same_place(&edit));
            edits.push(edit);
        }
    }
}

impl<'a> Entity<'a> {
    fn read(written: &'a RawValue, scope: &Scope) -> Self {
        let value = Members::parse(written.get()).and_then(|members| members.get("entityValue"));
        let Some((value, text)) = value.and_then(|value| Some((value, json::text(value)?))) else {
            return Self {
                written,
                id: Err(DropReason::NoInstance),
                reduced: None,
            };
        };
        let id = InstanceId::find(&text, scope);
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

/// The resources that name one of these entities, as they are written.
fn only(resources: &RawValue, kept: &[&Entity<'_>]) -> String {
    let ids: HashSet<&str> = kept
        .iter()
        .filter_map(|entity| entity.id.as_ref().ok())
        .map(InstanceId::as_str)
        .collect();
    let texts: Vec<&str> = json::elements(resources)
        .unwrap_or_else(|| vec![resources])
        .into_iter()
        .filter(|resource| {
            json::text(resource).is_some_and(|text| ids.contains(text.rsplit(['/', ':']).next().unwrap_or(&text)))
        })
        .map(RawValue::get)
        .collect();
    format!("[{}]", texts.join(","))
}
