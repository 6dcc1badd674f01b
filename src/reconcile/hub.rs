//! The hub of a target: its settings before and after, its desired resources next to those that were read, and the
//! customer keys of its queues.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::{bad_settings, lost_settings, no_hub, unread};
use super::router::{self, ArchiveNeed};
use super::target::{Bootstrap, HubSetting, Target, Wish};
use super::{Blocked, Case};
use crate::error::{Hint, listed, quoted};
use crate::iam::grants::{LetsIn, Need, lets_in};
use crate::message::{Message, MessageKind, Subject};
use crate::model::{
    BadDocument, ClusterName, Desired, Fact, Fault, FindingCode, Hub, HubOptions, KmsKey, Moment, Observed, Parameter,
    Queue, Resource, ResourceId, Scope, Settings, Signal, Standing, hub, policy,
};
use crate::plan;
use crate::survey::{Saved, Survey};

/// The settings before and after, for a hub that is known as far as a target changes it.
pub(super) fn known_settings(survey: &Survey, target: &Target) -> Result<(Option<Settings>, Settings), Blocked> {
    // A check reports failed reads, and clusters alone need nothing else from the hub.
    if matches!(target.hub, Wish::Set(_) | Wish::Remove) {
        let given = target.bootstraps().map(|given| &given.options);
        super::readable(survey, &readings(survey, survey.options().into_iter().chain(given)))?;
    }
    if target.sets_hub() {
        for queue in survey.scope.hub_queues() {
            survey.wait_for_leaving(&queue);
        }
    }
    settings(survey, target)
}

/// The current settings of the hub, if any, and its settings afterwards. Fails if a target needs settings that are
/// lost, unknown or from a newer kibus.
fn settings(survey: &Survey, target: &Target) -> Result<(Option<Settings>, Settings), Blocked> {
    // Without settings, the rest of the hub shows whether they are lost, and which options they had.
    if matches!(survey.saved(), Saved::Absent | Saved::Bad(_)) {
        readings(survey, None);
        if survey.lacks_settings() {
            readings(survey, [&HubOptions::all_parts()]);
            alarms_of_clusters(survey);
        }
    }
    let bootstraps = target.bootstraps();
    let restores = bootstraps.is_some_and(|given| given.restore_settings);
    let before = match (&target.hub, survey.saved()) {
        (_, Saved::Kept(settings)) => Some(settings.clone()),
        (_, Saved::Unreadable(_)) => return Err(unread(survey, [])),
        (_, Saved::Bad(BadDocument::Damaged(_)) | Saved::Absent) if restores => None,
        (_, Saved::Bad(bad)) => return Err(bad_settings(&survey.scope, bad, &restoring(survey))),
        (Wish::Remove, Saved::Absent) => None,
        // The missing parameter is a finding; the rest is compared with itself.
        (Wish::Keep, Saved::Absent) if survey.has_lost_settings() => {
            return Ok((None, hub::live_options(&survey.scope, &survey.observed).into()));
        }
        (_, Saved::Absent) if survey.has_lost_settings() => {
            return Err(lost_settings(&survey.scope, &restoring(survey)));
        }
        (Wish::Set(HubSetting::Bootstrap(_)), Saved::Absent) => None,
        (Wish::Keep | Wish::Leave | Wish::Set(HubSetting::RollBack(_)), Saved::Absent) => {
            return Err(no_hub(&survey.scope));
        }
    };
    let saved = before.clone().unwrap_or_default();
    let after = match bootstraps {
        Some(given) => set(survey, given, saved),
        None => saved,
    };
    Ok((before, after))
}

/// Reads the alarm that each cluster may have.
fn alarms_of_clusters(survey: &Survey) {
    survey.records();
    for cluster in survey.recorded().into_keys() {
        survey.resource(&survey.scope.reader_alarm_id(&cluster));
    }
}

/// Options with each optional part that the hub may have: its saved parts, or all parts if the settings are lost.
pub(super) fn former_options(survey: &Survey) -> HubOptions {
    match survey.options() {
        Some(saved) => saved.clone(),
        None if survey.lacks_settings() => HubOptions::all_parts(),
        None => HubOptions::default(),
    }
}

fn set(survey: &Survey, given: &Bootstrap, before: Settings) -> Settings {
    let mut options = given.options.clone().or(before.options.clone());
    options.untag(&given.removed.untag);
    Settings {
        old_keys: old_after(survey, &before, options.key()),
        pinned_version: before.pinned_version.filter(|_| !given.end_rollback),
        options,
        since: if before.since == Moment::default() { since(survey, given.restore_settings) } else { before.since },
        unknown: before.unknown,
    }
}

/// Since when a hub without settings has existed: since now or, if its settings are restored, since its oldest queue was created.
fn since(survey: &Survey, restores: bool) -> Moment {
    let queues = survey.scope.hub_queues().into_iter().filter_map(|name| survey.observed.queue(name));
    let ours = queues.filter(|queue| restores && queue.tags.belong_to(&survey.scope.bus));
    Moment(ours.map(|queue| queue.created).chain([survey.now]).min().unwrap_or_default())
}

/// The command that restores lost settings, with every option in which the resources differ from the defaults.
pub(super) fn restoring(survey: &Survey) -> String {
    let words = ["bootstrap-hub --restore-settings".to_owned()];
    let words = words.into_iter().chain(hub::live_options(&survey.scope, &survey.observed).typed());
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a change of settings, or an interrupted one, may affect unnamed clusters: through a current or former key of
/// their queues, or through their alarms. Restored settings change only the alarms.
pub(super) fn clusters_follow(survey: &Survey, before: Option<&Settings>, after: &Settings) -> bool {
    let has_alarms = |options: &HubOptions| options.has_reader_alarms();
    let Some(before) = before else {
        // Even a new hub may have clusters: those that other tools have recorded.
        let live = hub::live_options(&survey.scope, &survey.observed);
        return has_alarms(&after.options) || survey.lacks_settings() && has_alarms(&live);
    };
    let has_keys = |settings: &Settings| settings.options.kms_key.is_some() || !settings.old_keys.is_empty();
    let follows = |settings: &Settings| has_keys(settings) || has_alarms(&settings.options);
    follows(before) || follows(after)
}

/// The current settings of the hub.
pub fn saved_settings(survey: &Survey) -> Result<Settings, Blocked> {
    Ok(settings(survey, &Target::add([], &Default::default()))?.1)
}

/// The options of the target's hub afterwards, as far as they are known.
pub fn options_afterwards(survey: &Survey, target: &Target) -> HubOptions {
    settings(survey, target).map(|(_, after)| after.options).unwrap_or_default()
}

/// Why a target needs the archive of the router; `None` if it does not: nothing will be deployed, or there is no deployed code to compare.
pub fn archive_need(survey: &Survey, target: &Target) -> Option<ArchiveNeed> {
    if target.is_check() {
        let deployed = survey.observed.function(survey.scope.router_function());
        return deployed.map(|_| ArchiveNeed::Compare);
    }
    let given = target.bootstraps()?;
    let architecture = options_afterwards(survey, target).architecture();
    let stays = || router::staying(&target.router, given, survey, architecture).is_some();
    // Without settings there is no plan.
    Some(if settings(survey, target).is_err() || stays() { ArchiveNeed::Compare } else { ArchiveNeed::Upload })
}

/// Whether more concurrency is reserved than the function has.
pub(super) fn reserves_more(case: &Case<'_>) -> bool {
    case.after.options.reserved() > live_reserved(case.survey)
}

/// The current reserved concurrency of the router.
pub(super) fn live_reserved(survey: &Survey) -> Option<u32> {
    let function = survey.observed.function(survey.scope.router_function())?;
    function.reserved_concurrency
}

/// The parts of the hub that are compared. Fails if there is no version to roll back to, or the pinned version is gone.
pub(super) fn compared(
    survey: &Survey,
    target: &Target,
    before: Option<&Settings>,
    after: &Settings,
) -> Result<(Desired, Observed), Blocked> {
    let router = &target.router;
    let whole = |code| Hub::new(&survey.scope, after.clone(), code).desired();
    let mut desired = match &target.hub {
        Wish::Leave => return Ok(Default::default()),
        Wish::Set(HubSetting::RollBack(version)) => return rolled_back(survey, *version, after),
        Wish::Remove => Desired::default(),
        Wish::Set(HubSetting::Bootstrap(given)) => {
            let architecture = after.options.architecture();
            let mut desired = whole(router::to_deploy(router, given, survey, architecture));
            match router::kept_rollback(given, survey)? {
                Some(live) => router::keep_rollback(live, survey, &mut desired),
                None => router::keep_build(router, survey, architecture, &mut desired),
            };
            desired
        }
        Wish::Keep => {
            let mut desired = whole(router::expected_code(router, survey));
            router::expect_live(router, survey, &mut desired);
            desired
        }
    };
    // The settings keep the user's tags until no resource has them.
    let former: BTreeSet<String> =
        before.map(|before| before.options.tags().0.into_keys().collect()).unwrap_or_default();
    for id in desired.ids().cloned().collect::<Vec<_>>() {
        desired.untag(id, former.iter().cloned());
    }
    Ok((desired, readings(survey, [&former_options(survey), &after.options])))
}

/// The settings, and the alias on the version to roll back to. Nothing else is compared.
fn rolled_back(survey: &Survey, version: Option<u64>, settings: &Settings) -> Result<(Desired, Observed), Blocked> {
    let goal = router::rollback_goal(survey, version)?;
    let alias = router::moved_to(survey, goal)?;
    let Some(parameter) = survey.observed.parameter(survey.scope.settings_parameter()) else {
        return Err(no_hub(&survey.scope));
    };
    let parameter =
        Parameter { settings: Ok(Settings { pinned_version: Some(goal), ..settings.clone() }), ..parameter.clone() };
    let desired = Desired::from_iter([Resource::Parameter(parameter), Resource::Alias(alias)]);
    let observed = desired.ids().map(|id| (id.clone(), survey.observed.get(id).clone())).collect();
    Ok((desired, observed))
}

pub(super) fn readings<'a>(survey: &Survey, requested: impl IntoIterator<Item = &'a HubOptions>) -> Observed {
    let ids = hub::ids(&survey.scope, requested).into_iter();
    ids.map(|id| (id.clone(), survey.resource(&id).clone())).collect()
}

/// Checks that the router has a log group, and requests the clusters if some are named. Returns the retention of the
/// log in days, if it is limited, or why it is unknown.
pub fn check_log(names: bool, survey: &Survey) -> Result<Result<Option<u32>, Fault>, Blocked> {
    let scope = &survey.scope;
    if names {
        survey.records();
    }
    let id = ResourceId::LogGroup(scope.router_log_group());
    match survey.resource(&id) {
        Fact::Present(found) => Ok(Ok(found.as_log_group().and_then(|group| group.retention_days))),
        Fact::Unreadable(fault) => Ok(Err(fault.clone())),
        _ if matches!(survey.saved(), Saved::Absent) => Err(no_hub(scope)),
        _ => {
            let sentence = format!("{id} does not exist, so the outcome of events is unknown");
            let message = Message::new(MessageKind::Blocked, id, sentence);
            Err(message.then("to create it:", scope.kibus("bootstrap-hub")).into())
        }
    }
}

/// Checks that this bus manages a dead-letter queue and, for a redrive, a router.
pub fn check_dead_letters(redrive: bool, survey: &Survey) -> Result<(), Blocked> {
    let Survey { scope, observed, .. } = survey;
    let id = ResourceId::Queue(scope.dead_letter_queue());
    match survey.resource(&id) {
        Fact::Unreadable(_) => return Err(unread(survey, [])),
        Fact::Present(queue) if plan::is_ours(scope, queue, observed) => {}
        Fact::NotAsked | Fact::Absent | Fact::Present(_) => return Err(no_hub(scope)),
    }
    let invoked = [ResourceId::Function(scope.router_function()), router::live_id(scope)];
    for id in invoked.into_iter().filter(|_| redrive) {
        match survey.resource(&id) {
            Fact::Unreadable(_) => return Err(unread(survey, [])),
            Fact::Present(found) => {
                if let Some(refusal) = plan::check_managed(scope, found, observed, false) {
                    return Err(refusal.into());
                }
            }
            Fact::NotAsked | Fact::Absent => {
                let sentence = format!("no router to invoke: {id} does not exist");
                let message = Message::new(MessageKind::Blocked, id, sentence);
                return Err(message.then("to create it:", scope.kibus("bootstrap-hub")).into());
            }
        }
    }
    Ok(())
}

// A message stays encrypted with the key that it was sent with, and a change of key takes up to a minute (S25). So the
// settings of the hub keep an old key until no message can be encrypted with it.

/// What keeps, or may keep, EventBridge events from queues that are encrypted with a key.
pub(super) enum KeyProblem {
    Blocks(Message),
    Unclear(Hint),
}

/// Evaluates the policy of the key.
pub(super) fn judge_key(survey: &Survey, options: &HubOptions) -> Option<KeyProblem> {
    let (scope, key) = (&survey.scope, options.key()?);
    let unclear = |why: String| {
        Some(KeyProblem::Unclear(Hint::command(
            format!(
                "unknown whether key `{key}` allows EventBridge: {why}. Events are lost silently unless it is a \
                 customer managed key and its policy contains this statement:"
            ),
            statement(scope),
        )))
    };
    if !key.as_str().contains(&format!(":{}:key/", scope.account)) {
        return unclear("it belongs to another account, and only that account can read its policy".to_owned());
    }
    let signals = Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal));
    let rules: Vec<String> = signals.map(|signal| scope.rule_arn(&scope.rule(signal))).collect();
    // A key in another Region is refused.
    let policy = is_of_region(scope, key).then(|| survey.key_policies(key));
    let why = match policy {
        Some(Fact::Unreadable(fault)) => return unclear(fault.to_string()),
        Some(Fact::Present(policy)) => match lets_in(policy, Need::RulesUseKey, scope, &rules) {
            LetsIn::Yes => return None,
            LetsIn::Unclear => return unclear("its policy has conditions that kibus does not evaluate".to_owned()),
            LetsIn::No(missing) => {
                let missing: Vec<&str> = missing.into_iter().collect();
                format!("the key policy does not allow EventBridge to call {}", missing.join(" and "))
            }
        },
        Some(Fact::Absent | Fact::NotAsked) | None => "the key does not exist".to_owned(),
    };
    let advice =
        format!("add this statement to its policy, or use another key: {}", policy::key_statement(scope).compact());
    let message = format!("{why}; {}", policy::KEPT_DATA_KEY);
    let subject = Subject::Other(format!("key {key}"));
    let finding = Message::finding(scope, FindingCode::KeyBlocksEventBridge, subject, message);
    Some(KeyProblem::Blocks(finding.fixed_by(Hint::text(advice))))
}

/// A warning for clusters whose queues receive a key, but whose controllers have no kibus policy that would change too.
pub(super) fn without_role(survey: &Survey, after: &HubOptions) -> Option<Hint> {
    let key = after.key()?;
    let rekeyed = |(queue, _): (&Queue, Standing)| queue.encryption.key() != Some(key.as_str());
    let unmanaged = survey.recorded().into_iter().filter(|(_, record)| record.role.is_none());
    let unmanaged = unmanaged.filter(|(_, record)| survey.own_queue(record).is_some_and(rekeyed));
    let clusters: BTreeSet<ClusterName> = unmanaged.map(|(cluster, _)| cluster).collect();
    let first = clusters.first()?;
    let show = format!("policy controller {first} --kms-key {}", quoted(key.as_str()));
    Some(Hint::command(
        format!(
            "kibus does not manage the controller roles of {}: without permission to use the key, these controllers \
             cannot read their queues. Grant it first; to print the policy for `{first}`:",
            listed(&clusters)
        ),
        survey.scope.kibus(show),
    ))
}

pub(super) fn statement(scope: &Scope) -> String {
    policy::key_statement(scope).pretty()
}

/// Whether SQS accepts a key: it must be in the same Region and partition (SQS developer guide, "Key management").
pub(super) fn is_of_region(scope: &Scope, key: &KmsKey) -> bool {
    let arn = format!("arn:{}:kms:{}:", scope.partition, scope.region);
    key.as_str().starts_with(&arn)
}

/// How long a message may stay encrypted with an old key, in seconds: a change of key takes up to a minute, and a dead letter is kept for
/// 14 days (SQS API reference, `SetQueueAttributes`).
const NEEDED: u64 = 14 * 86_400 + 60;

/// How long an old key is allowed, in seconds: long enough that a run repeated within a day does not renew it.
const KEPT: u64 = 15 * 86_400;

/// The old keys of a hub whose queues get this key, or none. The time of an old key restarts while a queue has it: a
/// killed run may be finished days later.
pub(super) fn old_after(survey: &Survey, before: &Settings, key: Option<&KmsKey>) -> BTreeMap<KmsKey, Moment> {
    let queues = survey.observed.resources().filter_map(Resource::as_queue);
    let used: BTreeSet<&str> = queues.filter_map(|queue| queue.encryption.key()).collect();
    let renewed = Moment(survey.now + KEPT);
    let replaced = before.options.key().map(|old| (old.clone(), renewed));
    let kept = before.old_keys.iter().map(|(old, until)| (old.clone(), *until));
    let old = replaced.into_iter().chain(kept).filter(|(old, _)| Some(old) != key);
    old.map(
        |(old, until)| {
            if used.contains(old.as_str()) && until.0 < survey.now + NEEDED { (old, renewed) } else { (old, until) }
        },
    )
    .filter(|(_, until)| until.0 > survey.now)
    .collect()
}

/// Warnings about old keys that are still allowed.
pub(super) fn old_key_warnings(survey: &Survey, settings: &Settings) -> Vec<Hint> {
    let warning = |(key, until): (&KmsKey, &Moment)| {
        if until.0 > survey.now {
            Hint::text(format!(
                "old key `{key}` is still allowed for the router and the controllers: messages may be encrypted with it until \
             {}, and bootstrap-hub removes it after that. To stop its use within five minutes, disable it in KMS",
                String::from(*until)
            ))
        } else {
            Hint::command(
                format!(
                    "old key `{key}` is still allowed for the router and the controllers, but no message can still be \
                     encrypted with it. To remove it:"
                ),
                survey.scope.kibus("bootstrap-hub"),
            )
        }
    };
    settings.old_keys.iter().map(warning).collect()
}
