//! The customer keys of a hub's queues: whether EventBridge may use the key, clusters that it changes for, controllers that kibus
//! gives no permission for it, and old keys. A message stays under the key that it was sent with, and a change of key takes up to
//! a minute (S25). So the settings of the hub keep an old key until no message can be under it.

use std::collections::{BTreeMap, BTreeSet};

use super::role_policies::roles_with_policy;
use crate::error::{Hint, listed, quoted};
use crate::iam::grants::{LetsIn, lets_rules_in};
use crate::message::Message;
use crate::model::answer::Fact;
use crate::model::name::{ClusterName, KmsKey};
use crate::model::options::HubOptions;
use crate::model::policy;
use crate::model::resource::Resource;
use crate::model::scope::Scope;
use crate::model::settings::{Settings, Until};
use crate::model::signal::Signal;
use crate::plan::finding;
use crate::survey::Survey;

#[derive(Default)]
pub(super) struct KeyCheck {
    /// The finding, if the key blocks EventBridge.
    pub(super) finding: Option<Message>,
    /// The warning, if the verdict is unknown.
    pub(super) unclear: Option<Hint>,
}

/// Judges the key by its policy.
pub(super) fn judge_key(survey: &Survey, key: Option<&KmsKey>) -> KeyCheck {
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
    // A key of another Region is refused.
    let policy = is_of_region(scope, key).then(|| survey.key_policies(key));
    let verdict = match policy {
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
        survey.scope.kibus(show),
    ))
}

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

/// How long a message may be under an old key, in seconds: a change of key takes up to a minute, and a dead letter is kept for
/// 14 days (SQS API reference, `SetQueueAttributes`).
const NEEDED: u64 = 14 * 86_400 + 60;

/// How long an old key is allowed, in seconds: long enough that a run repeated within a day has no time to renew.
const KEPT: u64 = 15 * 86_400;

/// The old keys of a hub whose queues get this key, or none. The time of an old key begins anew while a queue has it: a run
/// that was killed may be finished days later.
pub(super) fn old_after(survey: &Survey, before: &Settings, key: Option<&KmsKey>) -> BTreeMap<KmsKey, Until> {
    let queues = survey.observed.resources().filter_map(Resource::as_queue);
    let used: BTreeSet<&str> = queues.filter_map(|queue| queue.encryption.key()).collect();
    let renewed = Until(survey.now + KEPT);
    let replaced = before.options.key().map(|old| (old.clone(), renewed));
    let kept = before.old_keys.iter().map(|(old, until)| (old.clone(), *until));
    let old = replaced.into_iter().chain(kept).filter(|(old, _)| Some(old) != key);
    old.map(
        |(old, until)| match used.contains(old.as_str()) && until.0 < survey.now + NEEDED {
            true => (old, renewed),
            false => (old, until),
        },
    )
    .filter(|(_, until)| until.0 > survey.now)
    .collect()
}

/// Until when each old key is allowed.
pub(super) fn old_key_warnings(survey: &Survey, settings: &Settings) -> Vec<Hint> {
    let warning = |(key, until): (&KmsKey, &Until)| match until.0 > survey.now {
        true => Hint::text(format!(
            "old key `{key}` is still allowed for the router and the controllers: messages may be encrypted with it until \
             {}, and bootstrap-hub removes it after that. To stop its use within five minutes, disable it in KMS",
            String::from(*until)
        )),
        false => Hint::command(
            format!(
                "old key `{key}` is still allowed for the router and the controllers, and no message can be encrypted with it \
                 any more. To remove it:"
            ),
            survey.scope.kibus("bootstrap-hub"),
        ),
    };
    settings.old_keys.iter().map(warning).collect()
}
