//! Instance to cluster: the cache first, then one `DescribeTags` for each 200 instances that are not in it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::InvocationContext;
use super::clock::{Backoff, Clock};
use super::decision::RetryReason;
use super::instance::InstanceId;
use super::owner::InstanceOwner;
use super::services::{CallFailure, InstanceTags, Queues};
use crate::wire::ec2::MAX_IDS;

/// The owner of each instance that has an answer, or why there is none.
pub(super) type InstanceOwners = HashMap<InstanceId, Result<InstanceOwner, RetryReason>>;

/// Instances without an answer so far, as one call asks for them, and why the last call gave none.
pub(super) type Unanswered = Vec<(Vec<InstanceId>, RetryReason)>;

/// Finds the owners of these instances with the cache and one try of every call.
pub(super) async fn locate<T: InstanceTags, Q: Queues, C: Clock>(
    context: &Arc<InvocationContext<T, Q, C>>,
    ids: HashSet<InstanceId>,
) -> (InstanceOwners, Unanswered) {
    let mut owners = InstanceOwners::new();
    let mut unknown = Vec::new();
    for id in ids {
        match context.router.cached(&id, context.clock.now()) {
            Some(owner) => {
                owners.insert(id, Ok(owner));
            }
            None => unknown.push(id),
        }
    }
    unknown.sort();
    let chunks = unknown.chunks(MAX_IDS).map(<[_]>::to_vec).collect();
    let unanswered = ask(context, chunks, &mut owners).await;
    (owners, unanswered)
}

/// Repeats the calls that gave no answer while time is left. Every instance has an answer afterwards.
pub(super) async fn retry<T: InstanceTags, Q: Queues, C: Clock>(
    context: &Arc<InvocationContext<T, Q, C>>,
    mut unanswered: Unanswered,
) -> InstanceOwners {
    let mut owners = InstanceOwners::new();
    let mut backoff = Backoff::default();
    while !unanswered.is_empty() && backoff.again(&context.clock).await {
        let chunks = unanswered.into_iter().map(|(chunk, _)| chunk).collect();
        unanswered = ask(context, chunks, &mut owners).await;
    }
    for (chunk, why) in unanswered {
        owners.extend(chunk.into_iter().map(|id| (id, Err(why))));
    }
    owners
}

async fn ask<T: InstanceTags, Q: Queues, C: Clock>(
    context: &Arc<InvocationContext<T, Q, C>>,
    chunks: Vec<Vec<InstanceId>>,
    owners: &mut InstanceOwners,
) -> Unanswered {
    let mut unanswered = Unanswered::new();
    let mut tasks = JoinSet::new();
    let mut asked: HashMap<_, Vec<InstanceId>> = HashMap::new();
    let mut waiting = chunks;
    loop {
        for chunk in std::mem::take(&mut waiting) {
            let (context, ids) = (Arc::clone(context), chunk.clone());
            let task = tasks.spawn(async move {
                let _permit = context.router.permit().await;
                let call = context.router.ec2.tags_of(&ids, &context.calls);
                context.clock.within(call).await
            });
            asked.insert(task.id(), chunk);
        }
        let Some(joined) = tasks.join_next_with_id().await else {
            return unanswered;
        };
        let (id, answer) = match joined {
            Ok((id, answer)) => (id, answer),
            Err(e) => (e.id(), Some(Err(CallFailure::Again(RetryReason::Panicked)))),
        };
        let chunk = asked.remove(&id).unwrap_or_default();
        match answer {
            Some(Ok(tags)) => {
                for id in chunk {
                    let owner = tags
                        .get(&id)
                        .map_or(InstanceOwner::NoTags, |tags| context.owner(&id, tags));
                    context.router.cache(id.clone(), owner.clone(), context.clock.now());
                    owners.insert(id, Ok(owner));
                }
            }
            // One id must not keep its neighbors from their answer.
            Some(Err(CallFailure::Refused | CallFailure::TooLong)) if chunk.len() > 1 => {
                let (left, right) = chunk.split_at(chunk.len() / 2);
                waiting.extend([left.to_vec(), right.to_vec()]);
            }
            Some(Err(CallFailure::Again(why))) => unanswered.push((chunk, why)),
            Some(Err(CallFailure::Denied | CallFailure::Absent | CallFailure::Refused | CallFailure::TooLong)) => {
                owners.extend(chunk.into_iter().map(|id| (id, Err(RetryReason::TagsRefused))));
            }
            None => unanswered.push((chunk, RetryReason::OutOfTime)),
        }
    }
}
