//! The seam between deciding and doing: what a plan needs from a cloud, and what can go wrong there.

use std::collections::BTreeSet;
use std::future::Future;

use futures_util::StreamExt;

use crate::model::inventory::{Observed, Reading};
use crate::model::name::{QueueName, QueuePrefix, RoleName};
use crate::model::resource::{Resource, ResourceId};
use crate::plan::Op;

pub use crate::model::fault::{Fault, FaultKind};

/// A place where resources are.
pub trait Cloud: Send + Sync {
    /// Reads one resource completely. Nothing means that it is certainly absent.
    fn read(&self, id: &ResourceId) -> impl Future<Output = Result<Option<Resource>, Fault>> + Send;

    /// Does one step of a plan, and returns when it is in force. A wait that a person would wonder about is told
    /// to `waiting`, with its reason, each time the reason changes.
    fn write(&self, op: &Op, waiting: &(dyn Fn(&str) + Sync)) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The queues that may be clusters' of this bus: by tag, united with all that begin with the prefix. A hint and
    /// never a proof; each is read before anything is planned for it.
    fn cluster_queues(&self, prefix: &QueuePrefix) -> impl Future<Output = Result<BTreeSet<QueueName>, Fault>> + Send;

    /// The names of all roles of the account.
    fn role_names(&self) -> impl Future<Output = Result<BTreeSet<RoleName>, Fault>> + Send;
}

/// What reading a number of resources gave.
#[derive(Debug, Default)]
pub struct Observation {
    /// The answers.
    pub observed: Observed,
    /// Why some are unknown.
    pub faults: Vec<(ResourceId, Fault)>,
}

/// Reads these resources, at most `limit` at the same time.
pub async fn observe(cloud: &impl Cloud, ids: impl IntoIterator<Item = ResourceId>, limit: usize) -> Observation {
    let answers: Vec<_> = futures_util::stream::iter(ids)
        .map(|id| async move {
            let answer = cloud.read(&id).await;
            (id, answer)
        })
        .buffer_unordered(limit.max(1))
        .collect()
        .await;
    let mut observation = Observation::default();
    for (id, answer) in answers {
        let seen = match answer {
            Ok(Some(resource)) => Reading::Present(Box::new(resource)),
            Ok(None) => Reading::Absent,
            Err(fault) => {
                observation.faults.push((id.clone(), fault.clone()));
                Reading::Unreadable(fault)
            }
        };
        observation.observed.insert(id, seen);
    }
    observation.faults.sort_by(|(a, _), (b, _)| a.cmp(b));
    observation
}
