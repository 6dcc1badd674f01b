//! The owners of instances, cached from one invocation to the next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::instance::InstanceId;
use super::owner::InstanceOwner;

/// How long a cluster is valid. Longer than the events of one interruption take; short enough that tags that were
/// corrected take effect.
const CLUSTER: Duration = Duration::from_secs(300);
/// How long a foreign owner is valid: Karpenter's tags may arrive later.
const FOREIGN: Duration = Duration::from_secs(60);

/// A bounded cache in two generations: when the young one is full, it replaces the old one. An instance that is read
/// again moves to the young generation.
#[derive(Debug)]
pub(super) struct Cache {
    young: HashMap<InstanceId, (InstanceOwner, Instant)>,
    old: HashMap<InstanceId, (InstanceOwner, Instant)>,
    generation: usize,
}

impl Cache {
    /// A cache of at most two generations of this many instances.
    pub(super) fn new(generation: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            generation,
        }
    }

    /// The owner of an instance, if it is cached and valid.
    pub(super) fn get(&mut self, id: &InstanceId, now: Instant) -> Option<InstanceOwner> {
        if !self.young.contains_key(id) {
            let (owner, seen) = self.old.remove(id)?;
            self.insert(id.clone(), owner, seen);
        }
        let (owner, seen) = self.young.get(id)?;
        let valid = match owner {
            InstanceOwner::Cluster(_) => CLUSTER,
            InstanceOwner::Foreign(_) => FOREIGN,
            InstanceOwner::NoTags => Duration::ZERO,
        };
        (now.saturating_duration_since(*seen) < valid).then(|| owner.clone())
    }

    /// Caches an owner. `NoTags` is never cached.
    pub(super) fn put(&mut self, id: InstanceId, owner: InstanceOwner, now: Instant) {
        if owner != InstanceOwner::NoTags {
            self.old.remove(&id);
            self.insert(id, owner, now);
        }
    }

    fn insert(&mut self, id: InstanceId, owner: InstanceOwner, seen: Instant) {
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, (owner, seen));
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision::DropReason;
    use super::*;

    fn id(n: usize) -> InstanceId {
        InstanceId::parse(&format!("i-{n}")).unwrap()
    }

    #[test]
    fn each_kind_of_owner_is_valid_for_its_own_time() {
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        let cluster = InstanceOwner::Cluster("a".parse().unwrap());
        let foreign = InstanceOwner::Foreign(DropReason::NoKarpenterMarker);
        for (owner, after, known) in [
            (&cluster, 0, true),
            (&cluster, 299, true),
            (&cluster, 300, false),
            (&foreign, 59, true),
            (&foreign, 60, false),
            (&InstanceOwner::NoTags, 0, false),
        ] {
            let mut cache = Cache::new(4);
            cache.put(id(1), owner.clone(), start);
            let got = cache.get(&id(1), later(after));
            assert_eq!(got, known.then(|| owner.clone()), "{owner:?} after {after} s");
        }
    }

    #[test]
    fn it_stays_small_and_keeps_used_instances() {
        let now = Instant::now();
        let mut cache = Cache::new(10);
        let owner = InstanceOwner::Cluster("a".parse().unwrap());
        for n in 0..1000 {
            cache.put(id(n), owner.clone(), now);
            assert!(cache.get(&id(0), now).is_some(), "after {n}");
            assert!(cache.young.len() <= 10 && cache.old.len() <= 10);
        }
        assert_eq!(cache.get(&id(500), now), None);
    }
}
