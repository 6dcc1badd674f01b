//! What an invocation keeps for the next one.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::owner::{InstanceOwner, NO_INSTANCE, Placement};
use crate::model::InstanceId;

/// How long a cluster is valid. Longer than the events of one interruption last, but short enough that corrected tags take effect.
const CLUSTER: Duration = Duration::from_secs(300);
/// How long a foreign owner is valid: Karpenter's tags may arrive later.
const FOREIGN: Duration = Duration::from_secs(60);

/// A bounded map: a full young generation replaces the old one. Entries that are read again move to the young generation.
#[derive(Debug)]
pub(super) struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    size: usize,
}

impl<K: Clone + Eq + Hash, V> Generations<K, V> {
    pub(super) fn new(size: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), size }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<&V> {
        if !self.young.contains_key(key) {
            let value = self.old.remove(key)?;
            self.put(key.clone(), value);
        }
        self.young.get(key)
    }

    /// Reads a value, which stays in its generation.
    pub(super) fn peek(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        if self.young.len() >= self.size {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

/// The owners of instances, and when each was read.
#[derive(Debug)]
pub(super) struct Owners {
    instances: Generations<InstanceId, (InstanceOwner, Instant)>,
    /// Data shared by the instances of one node pool: an instance stores only a pointer.
    placements: HashSet<Arc<Placement>>,
}

impl Owners {
    pub(super) fn new(size: usize) -> Self {
        Self { instances: Generations::new(size), placements: HashSet::new() }
    }

    pub(super) fn owner(&mut self, id: &InstanceId, now: Instant) -> Option<InstanceOwner> {
        let (owner, seen) = self.instances.get(id)?;
        let valid = match owner {
            InstanceOwner::Cluster(_) => CLUSTER,
            InstanceOwner::Foreign(_) | InstanceOwner::NoTags => FOREIGN,
        };
        (now.saturating_duration_since(*seen) < valid).then(|| owner.clone())
    }

    /// Caches an owner. `NoTags` is not cached, except for a heartbeat, which anyone who can put events can forge.
    pub(super) fn remember(&mut self, id: InstanceId, owner: InstanceOwner, now: Instant) {
        match owner {
            InstanceOwner::NoTags if id.as_str() != NO_INSTANCE => {}
            InstanceOwner::NoTags | InstanceOwner::Foreign(_) => self.instances.put(id, (owner, now)),
            InstanceOwner::Cluster(placement) => {
                let owner = InstanceOwner::Cluster(self.shared(placement));
                self.instances.put(id, (owner, now));
            }
        }
    }

    fn shared(&mut self, placement: Arc<Placement>) -> Arc<Placement> {
        if let Some(known) = self.placements.get(&placement) {
            return Arc::clone(known);
        }
        // More than the instances of both generations: some pools are no longer in use.
        if self.placements.len() > 2 * self.instances.size {
            self.placements.retain(|placement| Arc::strong_count(placement) > 1);
        }
        self.placements.insert(Arc::clone(&placement));
        placement
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision::DropReason;
    use super::*;

    impl<K, V> Generations<K, V> {
        /// How many entries the larger generation has.
        pub(in crate::router) fn largest(&self) -> usize {
            self.young.len().max(self.old.len())
        }
    }

    fn cluster(node_pool: &str) -> InstanceOwner {
        let placement = Placement::of("a".parse().unwrap());
        InstanceOwner::Cluster(Arc::new(Placement { node_pool: node_pool.to_owned(), ..placement }))
    }

    fn id(n: usize) -> InstanceId {
        format!("i-{n}").parse().unwrap()
    }

    #[test]
    fn each_kind_of_owner_is_valid_for_its_own_time() {
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        let cluster = cluster("x");
        let foreign = InstanceOwner::Foreign(DropReason::NoKarpenterMarker);
        let of_heartbeat: InstanceId = NO_INSTANCE.parse().unwrap();
        for (id, owner, after, known) in [
            (id(1), &cluster, 0, true),
            (id(1), &cluster, 299, true),
            (id(1), &cluster, 300, false),
            (id(1), &foreign, 59, true),
            (id(1), &foreign, 60, false),
            (id(1), &InstanceOwner::NoTags, 0, false),
            (of_heartbeat.clone(), &InstanceOwner::NoTags, 59, true),
            (of_heartbeat, &InstanceOwner::NoTags, 60, false),
        ] {
            let mut cache = Owners::new(4);
            cache.remember(id.clone(), owner.clone(), start);
            let got = cache.owner(&id, later(after));
            assert_eq!(got, known.then(|| owner.clone()), "{owner:?} after {after} s");
        }
    }

    #[test]
    fn it_stays_small_and_keeps_used_instances_whose_node_pools_share_what_their_tags_say() {
        let now = Instant::now();
        let [mut cache, mut shared] = [Owners::new(10), Owners::new(10)];
        for n in 0..1000 {
            cache.remember(id(n), cluster(&format!("pool-{n}")), now);
            shared.remember(id(n), cluster("x"), now);
            assert!(cache.owner(&id(0), now).is_some(), "after {n}");
            assert!(cache.instances.largest() <= 10);
            assert!(cache.placements.len() <= 21);
            assert_eq!(shared.placements.len(), 1);
        }
        assert_eq!(cache.owner(&id(500), now), None);
    }
}
