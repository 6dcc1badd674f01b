//! The effect of a complete or partial write.

use std::collections::BTreeMap;
use std::sync::Arc;

use kibus::model::{
    Alias, Code, FieldValue, FunctionName, FunctionSettings, Resource, ResourceId, Tags,
    tags::{BUS, CLUSTER, DELETING},
};
use kibus::plan::{Action, Change, FieldChange};

use super::{Resources, Trouble};

/// The settings that the versions of functions were published with.
pub(super) type Published = BTreeMap<(FunctionName, u64), FunctionSettings>;

/// The published versions of these resources. The version after the live one has the settings of the function, and
/// earlier versions have their own code.
pub(super) fn published(resources: &Resources) -> Published {
    let mut published = Published::new();
    for alias in resources.values().filter_map(|one| one.as_alias()) {
        for number in alias.versions.iter().copied().chain(alias.version) {
            let settings = match Some(number).cmp(&alias.version) {
                std::cmp::Ordering::Less => FunctionSettings {
                    code: Code::of_archive(format!("0.0.{number}"), format!("{number}")),
                    ..alias.settings.clone()
                },
                std::cmp::Ordering::Equal => alias.settings.clone(),
                std::cmp::Ordering::Greater => current(resources, alias),
            };
            published.insert((alias.function.clone(), number), settings);
        }
    }
    published
}

/// The settings with which a version would be published now.
fn current(resources: &Resources, alias: &Alias) -> FunctionSettings {
    let function = resources.get(&ResourceId::Function(alias.function.clone()));
    let settings = function.and_then(|one| one.as_function()).map(|found| &found.settings);
    settings.unwrap_or(&alias.settings).clone()
}

/// The queue that a change deletes, with the mark that comes before the delete, at the time `now` in Unix seconds.
pub(super) fn marked(change: &Change, now: u64) -> Option<Resource> {
    let queue = change.before.as_ref().filter(|_| change.action == Action::Delete);
    let mut queue = queue.and_then(Resource::as_queue)?.clone();
    queue.tags = queue.tags.with(DELETING, now.to_string());
    Some(Resource::Queue(queue))
}

pub(super) fn take(resources: &mut Resources, published: &mut Published, change: &Change, now: u64) {
    let after = match (&change.before, &change.after) {
        (None, Some(after)) => created(after, now),
        (Some(from), Some(to)) => updated(from, to, &change.fields),
        (_, None) => {
            resources.remove(&change.id);
            return;
        }
    };
    let after = match after {
        Resource::Alias(alias) => Resource::Alias(pointed(resources, published, alias)),
        other => other,
    };
    resources.insert(after.id(), Arc::new(after));
}

/// A resource that is created now: SQS sets the time, and Parameter Store counts from 1 and returns no tags.
fn created(after: &Resource, now: u64) -> Resource {
    let mut after = after.clone();
    match &mut after {
        Resource::Queue(queue) => queue.created = now,
        Resource::Parameter(one) => (one.version, one.tags_of_new) = (1, Tags::default()),
        Resource::Record(one) => (one.version, one.tags_of_new) = (1, Tags::default()),
        _ => {}
    }
    after
}

/// An alias on the existing version that it moves to, or else on a new one. Publishing freezes the current settings,
/// not the desired ones, and returns the latest version again if it has them.
fn pointed(resources: &Resources, published: &mut Published, mut alias: Alias) -> Alias {
    let function = alias.function.clone();
    let of_function = |(key, _): &(&(FunctionName, u64), &FunctionSettings)| key.0 == function;
    let latest = published.iter().rfind(of_function);
    let latest = latest.map(|((_, number), settings)| (*number, settings.clone()));
    let version = match (alias.moves_to.take(), latest) {
        (Some(version), _) => version,
        (None, Some((number, settings))) if settings == current(resources, &alias) => number,
        (None, latest) => latest.map_or(1, |(number, _)| number + 1),
    };
    let settings = published.entry((function.clone(), version)).or_insert_with(|| current(resources, &alias));
    alias.settings = settings.clone();
    alias.version = Some(version);
    alias.versions.insert(version);
    published.retain(|(of, number), _| *of != function || alias.versions.contains(number));
    alias
}

/// A resource after an update: only the planned fields change.
fn updated(from: &Resource, to: &Resource, fields: &[FieldChange]) -> Resource {
    let named = |path: &str| fields.iter().any(|field| field.path == path);
    let mut after = to.clone();
    if let (Some(tags), Some(before)) = (after.tags_mut(), from.tags()) {
        let wanted = std::mem::replace(tags, before.clone());
        for (key, _) in before.0.iter().filter(|(key, _)| named(&format!("tags.{key}"))) {
            tags.0.remove(key);
        }
        tags.0.extend(wanted.0.into_iter().filter(|(key, _)| named(&format!("tags.{key}"))));
    }
    match (&mut after, from) {
        (Resource::Function(after), Resource::Function(before)) if !named("code") => {
            after.settings.code = before.settings.code.clone();
        }
        (Resource::Rule(after), Resource::Rule(before)) => after.foreign_targets = before.foreign_targets.clone(),
        (Resource::Alias(after), Resource::Alias(before)) => after.version = before.version,
        (Resource::Queue(after), Resource::Queue(before)) => after.created = before.created,
        // Each write has the next number.
        (Resource::Parameter(after), Resource::Parameter(before)) => after.version = before.version + 1,
        (Resource::Record(after), Resource::Record(before)) => after.version = before.version + 1,
        _ => {}
    }
    after
}

/// The ways in which this change can be partly done. A queue that is adopted, or has lost tags, receives its tags first.
pub(in crate::laws) fn halves(change: &Change) -> Vec<Trouble> {
    let fields = &change.fields;
    match (&change.before, &change.after) {
        (Some(from), Some(to)) => {
            let tags = fields.iter().filter(|field| field.path.starts_with("tags."));
            let removes = tags.clone().any(|field| field.to == FieldValue::Unset);
            let is_split = (1..fields.len()).contains(&tags.count());
            let has = |one: &Resource, key| one.tags().is_some_and(|tags| tags.get(key).is_some());
            let mut halves = vec![Trouble::AllButTags, Trouble::OnlyTags];
            if to.as_queue().is_some() && [BUS, CLUSTER].into_iter().any(|key| has(to, key) && !has(from, key)) {
                halves.remove(0);
            }
            halves.retain(|_| is_split);
            halves.extend(removes.then_some(Trouble::TagsRemoved));
            halves
        }
        _ => [Trouble::AllButTags, Trouble::OnlyTags]
            .into_iter()
            .find(|trouble| half(change, *trouble, 0).is_some())
            .into_iter()
            .collect(),
    }
}

/// The resource after a part of a change of several calls; `None` for a single call.
pub(super) fn half(change: &Change, trouble: Trouble, now: u64) -> Option<Resource> {
    if let (Some(from), Some(to)) = (&change.before, &change.after) {
        return Some(half_updated(from, to, &change.fields, trouble));
    }
    match change.resource() {
        Resource::Queue(_) if trouble == Trouble::OnlyTags => marked(change, now),
        // The target, the retention and the reserved concurrency have separate calls.
        Resource::Rule(rule) => {
            let mut rule = rule.clone();
            rule.target = None;
            Some(Resource::Rule(rule))
        }
        Resource::LogGroup(group) if change.action == Action::Create => {
            let mut group = group.clone();
            group.retention_days = None;
            Some(Resource::LogGroup(group))
        }
        Resource::Function(function) if change.action == Action::Create => {
            let mut function = function.clone();
            function.reserved_concurrency = None;
            Some(Resource::Function(function))
        }
        _ => None,
    }
}

fn half_updated(from: &Resource, to: &Resource, fields: &[FieldChange], trouble: Trouble) -> Resource {
    let after = updated(from, to, fields);
    let stays = |key: &str| after.tags().is_some_and(|tags| tags.get(key).is_some());
    let left = || {
        let tags = from.tags().map(|tags| tags.0.clone()).unwrap_or_default();
        tags.into_iter().filter(|(key, _)| stays(key)).collect()
    };
    let (mut half, tags) = match trouble {
        Trouble::OnlyTags => (from.clone(), after.tags().cloned()),
        Trouble::TagsRemoved => (after.clone(), Some(left())),
        _ => (after, from.tags().cloned()),
    };
    if let (Some(place), Some(tags)) = (half.tags_mut(), tags) {
        *place = tags;
    }
    half
}
