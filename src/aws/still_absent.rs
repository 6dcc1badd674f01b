//! The read before a create that would overwrite what someone else has created since the plan: IAM's and EventBridge's
//! calls for it do not fail if the resource exists.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::error::fault;
use super::{AwsCloud, locked};
use crate::cloud::{Fault, FaultKind, Read};
use crate::model::resource::ResourceId;

/// How long a create may rely on a read that was made ahead. Changes of IAM are eventually consistent (IAM user guide,
/// "Troubleshoot IAM"), so a read right before the create may also miss what someone created some seconds ago.
const COUNTS: Duration = Duration::from_secs(5);

/// The resources that were absent when they were read ahead, with the time before the read.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownAbsent(Arc<Mutex<BTreeMap<ResourceId, Instant>>>);

impl KnownAbsent {
    fn note(&self, id: &ResourceId, asked: Instant) {
        locked(&self.0).insert(id.clone(), asked);
    }

    /// Whether a read still counts. It counts for one create.
    fn take(&self, id: &ResourceId, now: Instant) -> bool {
        let asked = locked(&self.0).remove(id);
        asked.is_some_and(|asked| now.saturating_duration_since(asked) < COUNTS)
    }
}

/// Reads a resource that is about to be created. Any other answer than "absent" is left to the read right before the create.
pub(super) async fn read_ahead(cloud: &AwsCloud, id: &ResourceId) {
    let asked = Instant::now();
    if let Ok(None) = cloud.read(id).await {
        cloud.known_absent.note(id, asked);
    }
}

/// Refuses a create of what exists.
pub(super) async fn check(cloud: &AwsCloud, action: &str, id: &ResourceId) -> Result<(), Fault> {
    if cloud.known_absent.take(id, Instant::now()) || cloud.read(id).await?.is_none() {
        return Ok(());
    }
    Err(fault(FaultKind::Exists, action, format!("{id} already exists")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_counts_for_one_create_and_some_seconds() {
        let id = ResourceId::RolePolicy("r".parse().unwrap(), "p".parse().unwrap());
        let other = ResourceId::RolePolicy("r".parse().unwrap(), "q".parse().unwrap());
        let (known, asked) = (KnownAbsent::default(), Instant::now());
        assert!(!known.take(&id, asked), "not read");
        known.note(&id, asked);
        assert!(!known.take(&other, asked), "another resource");
        assert!(known.take(&id, asked + COUNTS / 2));
        assert!(!known.take(&id, asked + COUNTS / 2), "a second create");
        known.note(&id, asked);
        assert!(!known.take(&id, asked + COUNTS), "too old");
    }
}
