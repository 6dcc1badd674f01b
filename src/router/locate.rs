//! Instance to cluster: the cache first, then one `DescribeTags` for each 200 instances that are not in it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::clock::{Backoff, Clock};
use super::decision::RetryReason;
use super::owner::{InstanceOwner, owner};
use super::services::{CallFailure, Services};
use super::{InvocationContext, locked, side_by_side};
use crate::model::{InstanceId, instance::contradicts};
use crate::wire::ec2::MAX_IDS;

/// The owner of each instance with an answer, or why there is none.
pub(super) type InstanceOwners = HashMap<InstanceId, Result<InstanceOwner, RetryReason>>;

/// Instances without an answer so far, grouped by call, and why the last call had none.
pub(super) type Unanswered = Vec<(Vec<InstanceId>, RetryReason)>;

/// Finds the owners of these instances in the cache and with one attempt per call.
pub(super) async fn locate<S: Services, C: Clock>(
    context: &Arc<InvocationContext<S, C>>,
    ids: HashSet<InstanceId>,
) -> (InstanceOwners, Unanswered) {
    let mut owners = InstanceOwners::new();
    let mut unknown = Vec::new();
    for id in ids {
        match locked(&context.router.owners).owner(&id, context.clock.now()) {
            Some(owner) => drop(owners.insert(id, Ok(owner))),
            None => unknown.push(id),
        }
    }
    unknown.sort();
    let chunks = unknown.chunks(MAX_IDS).map(<[_]>::to_vec).collect();
    let unanswered = ask(context, chunks, &mut owners).await;
    (owners, unanswered)
}

/// Repeats the calls without an answer while there is time. Every instance has an answer afterwards.
pub(super) async fn retry<S: Services, C: Clock>(
    context: &Arc<InvocationContext<S, C>>,
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

async fn ask<S: Services, C: Clock>(
    context: &Arc<InvocationContext<S, C>>,
    mut chunks: Vec<Vec<InstanceId>>,
    owners: &mut InstanceOwners,
) -> Unanswered {
    let mut unanswered = Unanswered::new();
    while !chunks.is_empty() {
        let calls = chunks.iter().map(|chunk| {
            let (context, ids) = (Arc::clone(context), chunk.clone());
            async move {
                let call = context.router.services.instance_tags(&ids, &context.calls);
                context.router.permitted(context.clock.within(call)).await
            }
        });
        let answers = side_by_side(calls).await;
        for (chunk, answer) in std::mem::take(&mut chunks).into_iter().zip(answers) {
            let answer = match answer {
                Some(Some(answer)) => answer.map_err(|e| e.failure),
                Some(None) => Err(CallFailure::Again(RetryReason::OutOfTime)),
                None => Err(CallFailure::Again(RetryReason::Panicked)),
            };
            match answer {
                Ok(tags) => {
                    for id in chunk {
                        let tags = tags.get(&id);
                        if tags.is_some_and(contradicts) {
                            locked(&context.contradictions).insert(id.clone());
                        }
                        let owner = tags.map_or(InstanceOwner::NoTags, owner);
                        let now = context.clock.now();
                        locked(&context.router.owners).remember(id.clone(), owner.clone(), now);
                        owners.insert(id, Ok(owner));
                    }
                }
                // One id must not keep its neighbors from their answer.
                Err(CallFailure::Refused | CallFailure::TooLong) if chunk.len() > 1 => {
                    let (left, right) = chunk.split_at(chunk.len() / 2);
                    chunks.extend([left.to_vec(), right.to_vec()]);
                }
                Err(CallFailure::Again(why)) => unanswered.push((chunk, why)),
                Err(CallFailure::Denied | CallFailure::Absent | CallFailure::Refused | CallFailure::TooLong) => {
                    owners.extend(chunk.into_iter().map(|id| (id, Err(RetryReason::TagsRefused))));
                }
            }
        }
    }
    unanswered
}
