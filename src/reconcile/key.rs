//! The customer key of a hub's queues: whether EventBridge may use it, clusters that it changes for, and controllers that
//! kibus gives no permission for it.

use std::collections::BTreeSet;

use super::inventory::roles_with_policy;
use crate::error::{Hint, Invocation, listed, quoted};
use crate::iam::key_policy::{LetsIn, lets_rules_in};
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, KmsKey};
use crate::model::options::HubOptions;
use crate::model::policy;
use crate::model::scope::Scope;
use crate::model::signal::Signal;
use crate::plan::finding::{self, Finding};
use crate::survey::Survey;

/// The verdict on a key.
#[derive(Default)]
pub(super) struct KeyCheck {
    /// The finding, if the key blocks EventBridge.
    pub(super) finding: Option<Finding>,
    /// The warning, if the verdict is unknown.
    pub(super) unclear: Option<Hint>,
}

/// The key whose policy a survey must read: only the account of a key can, and a key of another Region is refused.
pub(super) fn to_read<'a>(survey: &Survey, key: Option<&'a KmsKey>) -> Option<&'a KmsKey> {
    key.filter(|key| is_of_account(&survey.scope, key) && is_of_region(&survey.scope, key))
}

/// Judges the key by its policy.
pub(super) fn check(survey: &Survey, key: Option<&KmsKey>) -> KeyCheck {
    let Some(key) = key else { return KeyCheck::default() };
    let scope = &survey.scope;
    let unclear = |why: String| KeyCheck {
        finding: None,
        unclear: Some(Hint::command(
            format!(
                "unknown whether key `{key}` allows EventBridge: {why}. Events are lost silently unless it is a customer \
                 managed key with this statement in its policy:"
            ),
            statement(scope),
        )),
    };
    if !is_of_account(scope, key) {
        return unclear("it belongs to another account, and only that account can read its policy".to_owned());
    }
    let rules: Vec<String> = Signal::ALL
        .iter()
        .map(|signal| scope.rule_arn(&scope.rule(*signal)))
        .collect();
    let verdict = match survey.key_policies.get(key) {
        Some(Fact::Unreadable(fault)) => return unclear(fault.to_string()),
        Some(Fact::Present(policy)) => Some(lets_rules_in(policy, &scope.account, &rules)),
        Some(Fact::Absent | Fact::NotAsked) | None => None,
    };
    match verdict {
        Some(LetsIn::Unclear) => unclear("its policy has conditions that kibus does not evaluate".to_owned()),
        verdict => KeyCheck {
            finding: finding::key(scope, key, verdict.as_ref()),
            unclear: None,
        },
    }
}

/// A warning for clusters whose queues get a key, and whose controllers have no policy of kibus that would change too.
pub(super) fn without_role(survey: &Survey, after: &HubOptions) -> Option<Hint> {
    let key = after.key()?;
    let mut clusters: BTreeSet<ClusterName> = survey.registered().into_keys().collect();
    clusters.retain(|cluster| {
        let queue = survey.observed.queue(survey.cluster_queue(cluster));
        let rekeyed = queue.is_some_and(|queue| queue.encryption.key() != Some(key.as_str()));
        rekeyed && roles_with_policy(survey, cluster).is_empty()
    });
    let first = clusters.first()?;
    let show = format!("policy controller {first} --kms-key {}", quoted(key.as_str()));
    Some(Hint::command(
        format!(
            "kibus manages no controller role of {}: without permission to use the key, these controllers cannot read their \
             queues. Grant it first; to print the policy of `{first}`:",
            listed(&clusters)
        ),
        Invocation::kibus(show),
    ))
}

/// The statement that a key's policy needs.
pub(super) fn statement(scope: &Scope) -> String {
    policy::key_statement(scope).pretty()
}

/// Whether SQS accepts a key: it must be of the same Region and partition (SQS developer guide, "Key management").
pub(super) fn is_of_region(scope: &Scope, key: &KmsKey) -> bool {
    let arn = format!("arn:{}:kms:{}:", scope.partition, scope.region);
    key.as_str().starts_with(&arn)
}

fn is_of_account(scope: &Scope, key: &KmsKey) -> bool {
    key.as_str().contains(&format!(":{}:key/", scope.account))
}
