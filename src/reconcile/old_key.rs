//! Customer keys that the queues had before, and that policies still allow. A message stays under the key that it was sent
//! with, and a change of key takes up to a minute (S25), so an old key stays allowed until no message can be under it. Which
//! keys these are is read from the policies themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::key::is_of_region;
use super::target::{HubTarget, Target};
use crate::error::{Hint, Invocation};
use crate::model::inventory::{Desired, Observed};
use crate::model::name::{KmsKey, QueueName};
use crate::model::policy::{self, KeyUse};
use crate::model::resource::{Encryption, Queue, Resource, RolePolicy};
use crate::model::time::time_text;
use crate::plan::Refusal;
use crate::survey::Survey;

/// How long a changed attribute takes to hold everywhere, in seconds (SQS API reference, `SetQueueAttributes`).
const SETTLES: u64 = 60;
/// How late the counts of messages may be, in seconds (SQS API reference, `GetQueueAttributes`).
const COUNTS_LATE: u64 = 60;

/// When an old key leaves the policies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// Never: a check reports it, and no drift.
    Never,
    /// Once no message can be under it.
    WhenUnused,
    /// Now, which is refused while messages wait.
    Now,
}

impl Leaves {
    pub(super) fn of(target: &Target) -> Self {
        match &target.hub {
            HubTarget::Keep(_) => Self::Never,
            HubTarget::Set(setting) if setting.drop_old_key => Self::Now,
            HubTarget::Set(_) | HubTarget::Leave | HubTarget::RollBack(_) | HubTarget::Remove => Self::WhenUnused,
        }
    }
}

/// What was decided about old keys.
#[derive(Debug, Default)]
pub(super) struct OldKeys {
    /// The keys that stay allowed, and until when.
    pub(super) warnings: Vec<Hint>,
    /// Why keys cannot leave now.
    pub(super) refusals: Vec<Refusal>,
}

/// Adds to each desired policy the old keys that stay allowed: keys that the same policy allows already.
pub(super) fn keep(survey: &Survey, observed: &Observed, desired: &mut Desired, leaves: Leaves) -> OldKeys {
    let mut holders: BTreeMap<KmsKey, Holders> = BTreeMap::new();
    let (mut waiting, mut changing) = (BTreeMap::new(), BTreeSet::new());
    let policies = desired.resources().filter_map(Resource::as_role_policy).cloned();
    for mut wanted in policies.collect::<Vec<_>>() {
        let old_keys = old_keys(survey, observed, &wanted);
        if old_keys.is_empty() {
            continue;
        }
        let consumer = Consumer::of(survey, observed, desired, &wanted);
        let mut kept = BTreeSet::new();
        for key in old_keys {
            let until = consumer.until(&key);
            match leaves {
                Leaves::WhenUnused | Leaves::Now if until.is_over(survey) => {}
                Leaves::Now => {
                    waiting.extend(consumer.waiting());
                    changing.extend(consumer.changing(&key));
                }
                Leaves::Never | Leaves::WhenUnused => {
                    holders.entry(key.clone()).or_default().add(&consumer, until);
                    kept.insert(key);
                }
            }
        }
        wanted.document = policy::with_old_keys(wanted.document, consumer.key_use(), &survey.scope, &kept);
        desired.insert(Resource::RolePolicy(wanted));
    }
    let waits = (!waiting.is_empty()).then_some(Refusal::MessagesUnderOldKey { queues: waiting });
    let changes = (!changing.is_empty()).then_some(Refusal::OldKeyInUse { queues: changing });
    OldKeys {
        warnings: holders.iter().map(|(key, of)| of.warning(survey, key)).collect(),
        refusals: changes.into_iter().chain(waits).collect(),
    }
}

/// The old keys that the policy of the router allows beside this key of the queues.
#[must_use]
pub fn of_router(survey: &Survey, key: Option<&KmsKey>) -> BTreeSet<KmsKey> {
    let (role, name) = (survey.scope.router_role(), survey.scope.router_policy());
    let live = survey.observed.role_policy(role, name);
    let mut keys = live.map(|live| policy::keys(&live.document)).unwrap_or_default();
    keys.retain(|old| Some(old) != key && is_of_region(&survey.scope, old));
    keys
}

/// Those of them that the controller of a queue needs: none if the queue is missing, or has not changed for so long that no
/// message in it can be under an old key.
#[must_use]
pub fn of_controller(survey: &Survey, queue: QueueName, key: Option<&KmsKey>) -> BTreeSet<KmsKey> {
    let consumer = Consumer {
        survey,
        receives: survey.observed.queue(queue).into_iter().collect(),
        sends: Vec::new(),
        is_router: false,
    };
    let mut keys = of_router(survey, key);
    keys.retain(|key| !consumer.until(key).is_over(survey));
    keys
}

/// The keys that a policy allows and that are not desired. If the router's policy is missing, a killed command may have
/// deleted it with its role: it allowed the key of the hub queue.
fn old_keys(survey: &Survey, observed: &Observed, wanted: &RolePolicy) -> BTreeSet<KmsKey> {
    let scope = &survey.scope;
    let mut keys = match observed.role_policy(wanted.role.clone(), wanted.name.clone()) {
        Some(live) => policy::keys(&live.document),
        None if wanted.role == scope.router_role() => {
            let queue = observed.queue(scope.hub_queue());
            queue.and_then(key_of).cloned().into_iter().collect()
        }
        None => BTreeSet::new(),
    };
    let desired = policy::keys(&wanted.document);
    keys.retain(|key| !desired.contains(key) && is_of_region(scope, key));
    keys
}

/// Until when messages may be under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Until {
    /// In seconds of the Unix epoch.
    Time(u64),
    /// SQS does not say when a queue changed.
    Unknown,
}

impl Default for Until {
    fn default() -> Self {
        Self::Time(0)
    }
}

impl Until {
    fn is_over(self, survey: &Survey) -> bool {
        matches!(self, Self::Time(end) if end <= survey.now)
    }
}

/// Who a policy is for: the queues that exist of those that it receives from, and sends to.
struct Consumer<'a> {
    survey: &'a Survey,
    receives: Vec<&'a Queue>,
    sends: Vec<&'a Queue>,
    is_router: bool,
}

impl<'a> Consumer<'a> {
    /// The router's policy counts as that of an operator too, whose document is printed from it: an operator receives dead
    /// letters.
    fn of(survey: &'a Survey, observed: &'a Observed, desired: &Desired, policy: &RolePolicy) -> Self {
        let scope = &survey.scope;
        let is_router = policy.role == scope.router_role();
        let cluster = |queue: &Queue| queue.tags.cluster_of(&scope.bus);
        let is_own = |queue: &&Queue| cluster(queue).is_some_and(|name| scope.controller_policy(&name) == policy.name);
        let receives = match is_router {
            true => scope.hub_queues().into_iter().collect(),
            false => {
                let queues = desired.resources().filter_map(Resource::as_queue).filter(is_own);
                queues.map(|queue| queue.name.clone()).collect::<Vec<_>>()
            }
        };
        let stays = |queue: &&Queue| !queue.tags.being_deleted(survey.now);
        let found = observed.resources().filter_map(Resource::as_queue).filter(stays);
        let (receives, others): (Vec<_>, Vec<_>) = found.partition(|queue| receives.contains(&queue.name));
        Self {
            survey,
            receives,
            sends: if is_router { others } else { Vec::new() },
            is_router,
        }
    }

    fn key_use(&self) -> KeyUse {
        match self.is_router {
            true => KeyUse::Route,
            false => KeyUse::Receive,
        }
    }

    fn changed(&self, queue: &Queue) -> Option<u64> {
        self.survey.queue_state(&queue.name)?.changed
    }

    /// A dead letter comes from the hub queue, and is kept for as long as the dead-letter queue keeps it. So the queues
    /// count together: the last change, and the longest retention.
    fn until(&self, key: &KmsKey) -> Until {
        let longest = self.receives.iter().map(|queue| queue.retention).max();
        let receives = self
            .receives
            .iter()
            .map(|queue| (queue, longest.unwrap_or_default().into()));
        let sends = self.sends.iter().map(|queue| (queue, 0));
        let ends = receives.chain(sends).map(|(queue, kept): (_, u64)| {
            let since = match key_of(queue) == Some(key) {
                true => Some(self.survey.now),
                false => self.changed(queue),
            };
            since.map_or(Until::Unknown, |since| Until::Time(since + SETTLES + kept))
        });
        ends.max().unwrap_or_default()
    }

    /// The queues in which messages wait, with the counts. What waits in the probe queue is kibus's own.
    fn waiting(&self) -> BTreeMap<QueueName, u64> {
        let queues = self.receives.iter().map(|queue| &queue.name);
        let events = queues.filter(|queue| **queue != self.survey.scope.probe_queue());
        let counts = events.filter_map(|queue| Some((queue.clone(), self.survey.depth(queue)?.messages())));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// The queues that may still encrypt with a key, or whose counts may lack a message under it.
    fn changing(&self, key: &KmsKey) -> BTreeSet<QueueName> {
        let is_recent = |changed| self.survey.now < changed + SETTLES + COUNTS_LATE;
        let queues = self.receives.iter().chain(&self.sends);
        let changing = queues.filter(|queue| key_of(queue) == Some(key) || self.changed(queue).is_some_and(is_recent));
        changing.map(|queue| queue.name.clone()).collect()
    }
}

/// Which policies allow an old key, and until when.
#[derive(Default)]
struct Holders {
    router: bool,
    controllers: usize,
    until: Until,
}

impl Holders {
    fn add(&mut self, consumer: &Consumer<'_>, until: Until) {
        self.router |= consumer.is_router;
        self.controllers += usize::from(!consumer.is_router);
        self.until = self.until.max(until);
    }

    fn warning(&self, survey: &Survey, key: &KmsKey) -> Hint {
        let controllers = match self.controllers {
            0 => None,
            1 => Some("1 controller".to_owned()),
            count => Some(format!("{count} controllers")),
        };
        let router = self.router.then(|| "the router".to_owned());
        let who: Vec<String> = router.into_iter().chain(controllers).collect();
        let allowed = format!("old key `{key}` is still allowed for {}", who.join(" and "));
        let end = match self.until {
            until if until.is_over(survey) => {
                let text = format!("{allowed}, and no message can be encrypted with it any more. To remove it:");
                return Hint::command(text, Invocation::kibus("bootstrap-hub"));
            }
            Until::Time(end) => time_text(i64::try_from(end).unwrap_or(i64::MAX / 1000).saturating_mul(1000)),
            Until::Unknown => "they expire".to_owned(),
        };
        Hint::command(
            format!(
                "{allowed}: messages may be encrypted with it until {end}, and bootstrap-hub removes it after that. To \
                 remove it as soon as no message waits:"
            ),
            Invocation::kibus("bootstrap-hub --drop-old-key"),
        )
    }
}

/// The key of a customer that a queue has, by its ARN.
fn key_of(queue: &Queue) -> Option<&KmsKey> {
    match &queue.encryption {
        Encryption::Kms(key) => Some(key),
        Encryption::None | Encryption::SqsManaged | Encryption::OtherKms(_) => None,
    }
}
