//! Instance to cluster: what is saved, and one `DescribeTags` for each 200 instances that are not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::clock::{Backoff, Clock};
use super::instance::InstanceId;
use super::owner::{Owner, owner};
use super::services::{Fault, InstanceTags, Queues};
use super::verdict::GiveBack;
use super::{Calls, Router};
use crate::ec2::describe_tags::MAX_IDS;

/// What is known of an instance by now.
pub(super) type Found = HashMap<InstanceId, Result<Owner, GiveBack>>;

/// Instances that no try has told of yet, and why the last one did not.
pub(super) struct Unanswered {
    chunks: Vec<(Vec<InstanceId>, GiveBack)>,
}

impl Unanswered {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
}

/// Tells the owners of these instances, as far as memory and one try of every call can.
pub(super) async fn locate<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    calls: &Arc<Calls>,
    clock: &Arc<C>,
    ids: HashSet<InstanceId>,
) -> (Found, Unanswered) {
    let mut found = Found::new();
    let mut unknown = Vec::new();
    for id in ids {
        match router.saved(&id, clock.now()) {
            Some(owner) => {
                found.insert(id, Ok(owner));
            }
            None => unknown.push(id),
        }
    }
    unknown.sort();
    let chunks = unknown.chunks(MAX_IDS).map(<[_]>::to_vec).collect();
    let unanswered = ask(router, calls, clock, chunks, &mut found).await;
    (found, unanswered)
}

/// Asks again for what has no answer, while time is left. Everything has an answer afterwards.
pub(super) async fn insist<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    calls: &Arc<Calls>,
    clock: &Arc<C>,
    mut unanswered: Unanswered,
) -> Found {
    let mut found = Found::new();
    let mut backoff = Backoff::default();
    while !unanswered.is_empty() && backoff.again(&**clock).await {
        let chunks = unanswered.chunks.into_iter().map(|(chunk, _)| chunk).collect();
        unanswered = ask(router, calls, clock, chunks, &mut found).await;
    }
    for (chunk, why) in unanswered.chunks {
        found.extend(chunk.into_iter().map(|id| (id, Err(why))));
    }
    found
}

async fn ask<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    calls: &Arc<Calls>,
    clock: &Arc<C>,
    chunks: Vec<Vec<InstanceId>>,
    found: &mut Found,
) -> Unanswered {
    let mut unanswered = Unanswered { chunks: Vec::new() };
    let mut tasks = JoinSet::new();
    let mut asked: HashMap<_, Vec<InstanceId>> = HashMap::new();
    let mut waiting = chunks;
    loop {
        for chunk in std::mem::take(&mut waiting) {
            let (router, calls, clock) = (Arc::clone(router), Arc::clone(calls), Arc::clone(clock));
            let ids = chunk.clone();
            let task = tasks.spawn(async move {
                let _permit = router.permit().await;
                clock.within(router.ec2.tags_of(&ids, &calls)).await
            });
            asked.insert(task.id(), chunk);
        }
        let Some(joined) = tasks.join_next_with_id().await else {
            return unanswered;
        };
        let (id, answer) = match joined {
            Ok((id, answer)) => (id, answer),
            Err(e) => (e.id(), Some(Err(Fault::Again(GiveBack::Panicked)))),
        };
        let chunk = asked.remove(&id).unwrap_or_default();
        match answer {
            Some(Ok(tags)) => {
                for id in chunk {
                    let owner = tags.get(&id).map_or(Owner::NoTags, owner);
                    router.remember(id.clone(), owner.clone(), clock.now());
                    found.insert(id, Ok(owner));
                }
            }
            // What one id has done to its neighbours is undone by asking for fewer.
            Some(Err(Fault::Refused | Fault::TooLong)) if chunk.len() > 1 => {
                let (left, right) = chunk.split_at(chunk.len() / 2);
                waiting.extend([left.to_vec(), right.to_vec()]);
            }
            Some(Err(Fault::Again(why))) => unanswered.chunks.push((chunk, why)),
            Some(Err(Fault::Denied | Fault::Absent | Fault::Refused | Fault::TooLong)) => {
                found.extend(chunk.into_iter().map(|id| (id, Err(GiveBack::TagsRefused))));
            }
            None => unanswered.chunks.push((chunk, GiveBack::OutOfTime)),
        }
    }
}
