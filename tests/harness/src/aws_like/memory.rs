//! What the behaviors remember about earlier calls.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use super::{At, Behavior};

/// What happened to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Event {
    QueueCreated,
    QueueDeleted,
    QueueTagged,
    RuleCreated,
    RuleTargeted,
    RuleUntargeted,
    RoleCreated,
    /// One of its policies was deleted.
    RoleUnpoliced,
    /// A function or a version of one.
    FunctionCreated,
    FunctionUpdated,
    FunctionDeleted,
    MappingChanged,
    ParameterDeleted,
}

#[derive(Default)]
pub(super) struct Memory {
    /// When each of these last happened.
    events: Mutex<HashMap<(Event, String), Instant>>,
    /// What is still shown instead of the truth, and since when the truth differs.
    shown: Mutex<HashMap<(Behavior, String), (Value, Instant)>>,
    /// Since when a condition has something new to see, and how many calls it still denies (I9).
    denials: Mutex<HashMap<String, (Instant, usize)>>,
}

impl At<'_> {
    /// Records an event, and the start of these behaviors.
    pub(super) fn note(&self, event: Event, key: &str, begins: &[Behavior]) {
        self.begin(begins);
        self.like.0.memory.events.lock().unwrap().insert((event, key.to_owned()), Instant::now());
    }

    /// When this last happened to something.
    pub(super) fn last(&self, event: Event, key: &str) -> Option<Instant> {
        self.like.0.memory.events.lock().unwrap().get(&(event, key.to_owned())).copied()
    }

    /// For the duration of a behavior, this value is shown for something.
    pub(super) fn show(&self, behavior: Behavior, key: &str, shown: Value) {
        self.begin(&[behavior]);
        self.like.0.memory.shown.lock().unwrap().insert((behavior, key.to_owned()), (shown, Instant::now()));
    }

    /// For the duration of a behavior, the value shown for something that changes now: this value or, if an earlier
    /// change is still late, its old value.
    pub(super) fn keep_showing(&self, behavior: Behavior, key: &str, before: Value) {
        let earlier = self.like.0.memory.shown.lock().unwrap().get(&(behavior, key.to_owned())).cloned();
        let earlier = earlier.filter(|(_, since)| self.is_late(behavior, Some(*since)));
        self.show(behavior, key, earlier.map_or(before, |(earlier, _)| earlier));
    }

    /// From now on, the truth is shown.
    pub(super) fn stop_showing(&self, behavior: Behavior, key: &str) {
        self.like.0.memory.shown.lock().unwrap().remove(&(behavior, key.to_owned()));
    }

    /// The value still shown for something, if the behavior strikes.
    pub(super) fn still_shown(&self, behavior: Behavior, key: &str) -> Option<Value> {
        let all = self.like.0.memory.shown.lock().unwrap();
        let (shown, since) = all.get(&(behavior, key.to_owned()))?;
        self.strikes_since(behavior, Some(*since)).then(|| shown.clone())
    }

    /// All values still shown in the account and Region of this call, by name.
    pub(super) fn all_still_shown(&self, behavior: Behavior) -> Vec<(String, Value)> {
        let place = self.call.key("");
        let all = self.like.0.memory.shown.lock().unwrap();
        let late = all.iter().filter(|((of, _), (_, since))| *of == behavior && self.is_late(behavior, Some(*since)));
        late.filter_map(|((_, key), (shown, _))| Some((key.strip_prefix(&place)?.to_owned(), shown.clone()))).collect()
    }

    /// From now on, some calls about something are denied (I9).
    pub(super) fn deny(&self, key: &str) {
        const CALLS: usize = 2;
        self.begin(&[Behavior::I9]);
        self.like.0.memory.denials.lock().unwrap().insert(key.to_owned(), (Instant::now(), CALLS));
    }

    /// Whether this call about something is denied.
    pub(super) fn is_denied(&self, key: &str) -> bool {
        let mut all = self.like.0.memory.denials.lock().unwrap();
        let Some((since, left)) = all.get_mut(key).filter(|(_, left)| *left > 0) else {
            return false;
        };
        let is_denied = self.strikes_since(Behavior::I9, Some(*since));
        *left -= usize::from(is_denied);
        is_denied
    }
}
