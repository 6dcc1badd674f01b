//! What is saved of instances from one invocation to the next. It is only ever a saving.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::instance::InstanceId;
use super::owner::Owner;

/// How long a foreign owner is believed: its tags may yet come.
const FOREIGN: Duration = Duration::from_secs(60);

/// Owners of instances, bounded: when one generation is full, the one before it is forgotten. An instance that is
/// asked for again moves to the younger one.
#[derive(Debug)]
pub(super) struct Cache {
    young: HashMap<InstanceId, (Owner, Instant)>,
    old: HashMap<InstanceId, (Owner, Instant)>,
    generation: usize,
}

impl Cache {
    /// A cache that holds up to twice as many instances as a generation has.
    pub(super) fn new(generation: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            generation,
        }
    }

    /// The owner of an instance, if it is saved.
    pub(super) fn get(&mut self, id: &InstanceId, now: Instant) -> Option<Owner> {
        if !self.young.contains_key(id) {
            let (owner, seen) = self.old.remove(id)?;
            self.insert(id.clone(), owner, seen);
        }
        let (owner, seen) = self.young.get(id)?;
        let believed = match owner {
            Owner::Cluster(_) => true,
            Owner::Foreign(_) => now.saturating_duration_since(*seen) < FOREIGN,
            Owner::NoTags => false,
        };
        believed.then(|| owner.clone())
    }

    /// Remembers what was seen. That nothing was seen is not saved.
    pub(super) fn put(&mut self, id: InstanceId, owner: Owner, now: Instant) {
        if owner != Owner::NoTags {
            self.old.remove(&id);
            self.insert(id, owner, now);
        }
    }

    fn insert(&mut self, id: InstanceId, owner: Owner, seen: Instant) {
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, (owner, seen));
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Drop;
    use super::*;

    fn id(n: usize) -> InstanceId {
        InstanceId::parse(&format!("i-{n}")).unwrap()
    }

    #[test]
    fn each_kind_of_owner_is_believed_as_long_as_it_is_true() {
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        let cluster = Owner::Cluster("a".parse().unwrap());
        let foreign = Owner::Foreign(Drop::NoKarpenterMarker);
        for (owner, after, known) in [
            (&cluster, 0, true),
            (&cluster, 86_400, true),
            (&foreign, 59, true),
            (&foreign, 60, false),
            (&Owner::NoTags, 0, false),
        ] {
            let mut cache = Cache::new(4);
            cache.put(id(1), owner.clone(), start);
            let got = cache.get(&id(1), later(after));
            assert_eq!(got, known.then(|| owner.clone()), "{owner:?} after {after} s");
        }
    }

    #[test]
    fn it_stays_small_and_keeps_what_is_used() {
        let now = Instant::now();
        let mut cache = Cache::new(10);
        let owner = Owner::Cluster("a".parse().unwrap());
        for n in 0..1000 {
            cache.put(id(n), owner.clone(), now);
            assert!(cache.get(&id(0), now).is_some(), "after {n}");
            assert!(cache.young.len() <= 10 && cache.old.len() <= 10);
        }
        assert_eq!(cache.get(&id(500), now), None);
    }
}
