//! What else stands on controllers' roles: other queues that they read, and whether there is room for ours.

use std::collections::BTreeMap;

use futures_util::StreamExt;

use super::context::Context;
use crate::cloud::Fault;
use crate::model::inventory::Desired;
use crate::model::name::RoleName;
use crate::model::resource::{Resource, RolePolicy};
use crate::plan::{OtherQueues, Refusal, check_space, other_queues};

/// What was found on the roles.
#[derive(Default)]
pub(super) struct Found {
    /// Policies of others that let a controller read other queues.
    pub(super) others: Vec<OtherQueues>,
    /// A controller's role, if it is also what runs this command.
    pub(super) own: Option<RoleName>,
    /// Roles without room for what is wanted on them.
    pub(super) refusals: Vec<Refusal>,
    /// Roles whose policies could not be read.
    pub(super) faults: Vec<(RoleName, Fault)>,
}

impl Found {
    /// What is worth knowing and stops nothing, in words.
    pub(super) fn warnings(&self) -> Vec<String> {
        let unread = self.faults.iter().map(|(role, fault)| {
            format!(
                "the other policies of role `{role}` could not be read, so whether there is room is not known: {fault}"
            )
        });
        let own = self.own.iter().map(|role| {
            format!("controller role `{role}` is the role that this command runs as: see that Karpenter runs as it too")
        });
        let others = self.others.iter().map(ToString::to_string);
        own.chain(others).chain(unread).collect()
    }
}

/// Looks at the role of every controller's policy in a wanted world.
pub(super) async fn look(context: &Context<'_>, wanted: &Desired) -> Found {
    let mut by_role: BTreeMap<&RoleName, Vec<&RolePolicy>> = BTreeMap::new();
    let router = context.scope.router_role();
    for resource in wanted.resources() {
        if let Resource::RolePolicy(policy) = resource
            && policy.role != router
        {
            by_role.entry(&policy.role).or_default().push(policy);
        }
    }
    let mut found = Found {
        own: context.cloud.caller_role().filter(|role| by_role.contains_key(role)),
        ..Found::default()
    };
    let mut answers = futures_util::stream::iter(by_role)
        .map(|(role, wanted)| async move { (role, wanted, context.cloud.inline_policies(role).await) })
        .buffered(context.limit.max(1));
    while let Some((role, wanted, answer)) = answers.next().await {
        match answer {
            Ok(live) => {
                found.others.extend(other_queues(role, &wanted, &live));
                found.refusals.extend(check_space(role, &wanted, &live).err());
            }
            Err(fault) => found.faults.push((role.clone(), fault)),
        }
    }
    found
}
