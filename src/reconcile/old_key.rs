//! Customer keys that the queues had before, and that policies still allow. A message stays under the key that it was sent
//! with, and a change of key takes up to a minute (S25). So the settings of the hub keep an old key until no message can be
//! under it.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Hint, Invocation};
use crate::model::name::KmsKey;
use crate::model::resource::{Encryption, Resource};
use crate::model::settings::{Settings, Until};
use crate::survey::Survey;

/// How long a message may be under an old key, in seconds: a change of key takes up to a minute, and a dead letter is kept for
/// 14 days (SQS API reference, `SetQueueAttributes`).
const NEEDED: u64 = 14 * 86_400 + 60;

/// How long an old key is allowed, in seconds: long enough that a run repeated within a day has no time to renew.
const KEPT: u64 = 15 * 86_400;

/// The old keys of a hub whose queues get this key, or none. The time of an old key begins anew while a queue has it: a run
/// that was killed may be finished days later.
pub(super) fn after(survey: &Survey, before: &Settings, key: Option<&KmsKey>) -> BTreeMap<KmsKey, Until> {
    let used: BTreeSet<&KmsKey> = survey.observed.resources().filter_map(key_of).collect();
    let renewed = Until(survey.now + KEPT);
    let replaced = before.options.key().map(|old| (old.clone(), renewed));
    let kept = before.old_keys.iter().map(|(old, until)| (old.clone(), *until));
    let old = replaced.into_iter().chain(kept).filter(|(old, _)| Some(old) != key);
    old.map(
        |(old, until)| match used.contains(&old) && until.0 < survey.now + NEEDED {
            true => (old, renewed),
            false => (old, until),
        },
    )
    .filter(|(_, until)| until.0 > survey.now)
    .collect()
}

/// Until when each old key is allowed.
pub(super) fn warnings(survey: &Survey, settings: &Settings) -> Vec<Hint> {
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
            Invocation::kibus("bootstrap-hub"),
        ),
    };
    settings.old_keys.iter().map(warning).collect()
}

fn key_of(resource: &Resource) -> Option<&KmsKey> {
    match &resource.as_queue()?.encryption {
        Encryption::Kms(key) => Some(key),
        Encryption::None | Encryption::SqsManaged | Encryption::OtherKms(_) => None,
    }
}
