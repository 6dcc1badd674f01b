//! What keeps a controller from its queue, or may, where the policy of the queue lets it in: the key, a deleted role, a session policy,
//! a switch.

use std::collections::BTreeSet;

use super::target::{RoleOption, checked_clusters};
use super::{Case, Say, hub};
use crate::error::{Hint, listed};
use crate::iam::grants::lets_role_decrypt;
use crate::message::{Message, Subject};
use crate::model::{Document, Encryption, Fact, FindingCode, Queue, Resource, policy};
use crate::plan::finding;

/// Refuses queues under a key whose policy does not let the controllers decrypt: the policies of their queues cannot allow it.
pub(super) fn keys(case: &Case<'_>, say: &mut Say) {
    let (scope, Some(key)) = (&case.survey.scope, case.after.options.key()) else {
        return;
    };
    let queues = case.desired.resources().filter_map(Resource::as_queue);
    let encrypted = queues.filter(|queue| queue.encryption == Encryption::Kms(key.clone()));
    let roles = encrypted.filter_map(Queue::controller).filter(|role| !policy::is_deleted_role(role));
    let mut roles: BTreeSet<String> = roles.map(str::to_owned).collect();
    if roles.is_empty() {
        return;
    }
    let statement = |roles: &BTreeSet<String>| policy::controller_key_statement(scope, roles).pretty();
    let names = |roles: &BTreeSet<String>| listed(roles.iter().filter_map(|arn| scope.own_role(arn)));
    let is_readable = hub::is_of_region(scope, key) && key.as_str().contains(&format!(":{}:key/", scope.account));
    let policy = match is_readable.then(|| case.survey.key_policies(key)) {
        Some(Fact::NotAsked) => return,
        Some(Fact::Present(policy)) => policy.clone(),
        Some(Fact::Absent) => Document::new(serde_json::json!({})),
        unread => {
            let why = unread.and_then(Fact::fault).map(ToString::to_string);
            let why = why.unwrap_or_else(|| "only its account and Region can read its policy".to_owned());
            let text = format!(
                "unknown whether key `{key}` lets {} decrypt: {why}. Karpenter cannot read its queue unless the policy of the key \
                 has this statement:",
                names(&roles)
            );
            return say.warn(Hint::command(text, statement(&roles)));
        }
    };
    roles.retain(|role| !lets_role_decrypt(&policy, key.as_str(), role, &scope.sqs_services()));
    if !roles.is_empty() {
        let sentence = format!("the policy of key `{key}` does not let {} decrypt", names(&roles));
        let about = Subject::Other(format!("key {key}"));
        let refusal = Message::refusal(FindingCode::KeyBlocksController, about, sentence);
        let text = "the policies of their queues cannot allow it; add this statement to the policy of the key, or use \
                    `--grant=role-policy`:";
        say.refusals.push(refusal.then(text, statement(&roles)));
    }
}

/// The checked clusters whose queues let only a role in that does not exist.
pub(super) fn gone(case: &Case<'_>) -> Vec<Message> {
    let (survey, scope) = (case.survey, &case.survey.scope);
    let Some(listed) = survey.known.listed_roles.present() else {
        return Vec::new();
    };
    let clusters = checked_clusters(survey, case.target).into_keys();
    let gone = clusters.filter_map(|cluster| {
        let principal = survey.controller_of(&cluster)?;
        let role = survey.granted_role(&cluster);
        let exists = role.as_ref().map_or(!policy::is_deleted_role(principal), |role| listed.contains_key(role));
        let name = role.map_or_else(|| principal.to_owned(), |role| role.to_string());
        (!exists).then(|| {
            let message = format!("its policy allows role `{}`, which does not exist", name.escape_debug());
            let queue = survey.cluster_queue(&cluster);
            Message::finding(scope, FindingCode::GrantNamesDeletedRole, queue, message)
                .fixed_by(finding::another_role(scope, &cluster, &name))
                .of(Some(cluster))
        })
    });
    gone.collect()
}

/// What a person should know about a grant: what limits it, what it takes away, and what stays beside it.
pub(super) fn warnings(case: &Case<'_>, say: &mut Say) {
    let survey = case.survey;
    for cluster in case.set.iter().filter(|cluster| cluster.granted.is_some()) {
        let associations = survey.known.associations.get(&cluster.name).and_then(Fact::present);
        let is_limited = associations.into_iter().flatten().any(|association| {
            association.has_session_policy && Some(&association.role_arn) == cluster.granted.as_ref()
        });
        if is_limited {
            let message = "its EKS pod identity association has a session policy";
            let finding = Message::finding(&survey.scope, FindingCode::SessionPolicy, cluster.name.clone(), message);
            let end = ". Check that it allows sqs:DeleteMessage, sqs:GetQueueUrl and sqs:ReceiveMessage";
            say.problem(finding.of(Some(cluster.name.clone())), end, None);
        }
        let is_new = survey.registration(&cluster.name).is_none() || survey.controller_of(&cluster.name).is_some();
        let role = cluster.controller_role.as_ref().filter(|_| !is_new);
        if let Some(fault) = role.and_then(|role| survey.known.roles.get(role)?.fault()) {
            let name = &cluster.name;
            say.warn(Hint::text(format!("a policy of cluster `{name}` may stay on its controller role: {fault}")));
        }
    }
    for (before, after) in case.updated_queues() {
        let cluster = before.tags.cluster_of(&survey.scope.bus);
        let (Some(had), Some(cluster)) = (before.controller().and_then(|arn| survey.scope.own_role(arn)), cluster)
        else {
            continue;
        };
        let has = after.controller().and_then(|arn| survey.scope.own_role(arn));
        let is_unmanaged = case.target.setting(&cluster).map(|setting| &setting.role) == Some(&RoleOption::Unmanaged);
        match has {
            Some(has) if has != had => say.warn(Hint::text(format!(
                "role `{had}` loses access to the queue of `{cluster}` when role `{has}` gets it: restart Karpenter with the new \
                 role soon after, because events wait in the queue for 300 seconds"
            ))),
            None if is_unmanaged => say.warn(Hint::command(
                format!(
                    "Karpenter of `{cluster}` loses the permission to read its queue, because the policy of the queue no longer \
                     allows role `{had}`. First attach the policy that this prints:"
                ),
                survey.scope.kibus(format!("policy controller {cluster} --grant role-policy")),
            )),
            _ => {}
        }
    }
}
