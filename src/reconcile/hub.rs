//! The hub of a target: its settings before and after, and its desired resources beside those that were read.

use std::collections::BTreeSet;

use super::router::{self, ArchiveNeed};
use super::target::{HubSetting, HubTarget, Target};
use super::{Blocked, keys};
use crate::model::hub::{self, Hub, default_queue_prefix};
use crate::model::options::{HubOptions, OrNone, tag_option};
use crate::model::policy::{self, is_locked};
use crate::model::resource::{Architecture, Desired, Observed, Parameter, Resource, ResourceId};
use crate::model::router_function::RouterHandler;
use crate::model::settings::{BadSettings, Settings};
use crate::model::signal::Signal;
use crate::model::tags::{NAMESPACE, Tags};
use crate::survey::{Saved, Survey};

/// The settings that the hub has, if it has any, and those that it has afterwards. Fails if a target needs settings that are
/// lost, unknown or of a newer kibus.
pub(super) fn settings(survey: &Survey, target: &Target) -> Result<(Option<Settings>, Settings), Blocked> {
    // Without settings, the rest of the hub tells whether they are lost, and which options they had.
    if matches!(survey.saved(), Saved::Absent | Saved::Bad(_)) {
        readings(survey);
    }
    let before = match (&target.hub, survey.saved()) {
        (_, Saved::Kept(settings)) => Some(settings.clone()),
        (_, Saved::Unreadable(fault)) => return Err(Blocked::unreadable(survey.settings_id(), fault)),
        (HubTarget::Set(setting), Saved::Bad(BadSettings::Damaged(_))) if setting.restore_settings => None,
        (_, Saved::Bad(bad)) => return Err(Blocked::bad_settings(survey, bad.clone())),
        (HubTarget::Remove, Saved::Absent) => None,
        (HubTarget::Set(setting), Saved::Absent) if setting.restore_settings => None,
        (HubTarget::Set(_) | HubTarget::Leave | HubTarget::RollBack(_), Saved::Absent)
            if survey.has_lost_settings() =>
        {
            return Err(Blocked::LostSettings(restoring(survey)));
        }
        (HubTarget::Set(_), Saved::Absent) => None,
        // The missing parameter is a finding, and the rest is compared with itself.
        (HubTarget::Keep(_), Saved::Absent) if survey.has_lost_settings() => {
            return Ok((None, live_options(survey).into()));
        }
        (HubTarget::Keep(_) | HubTarget::Leave | HubTarget::RollBack(_), Saved::Absent) => return Err(Blocked::NoHub),
    };
    let after = match &target.hub {
        HubTarget::Set(setting) => set(survey, setting, before.clone().unwrap_or_default()),
        _ => before.clone().unwrap_or_default(),
    };
    Ok((before, after))
}

fn set(survey: &Survey, setting: &HubSetting, before: Settings) -> Settings {
    let options = setting.options.clone().or(before.options.clone());
    Settings {
        old_keys: keys::old_after(survey, &before, options.key()),
        pinned_version: before.pinned_version.filter(|_| !setting.end_rollback),
        options,
    }
}

/// The command that restores settings that are lost: with every option in which the resources differ from the defaults.
pub(super) fn restoring(survey: &Survey) -> String {
    let words = ["bootstrap-hub --restore-settings".to_owned()];
    let words = words.into_iter().chain(live_options(survey).typed());
    words.collect::<Vec<_>>().join(" ")
}

/// The options that the resources of a hub have, where they differ from the defaults.
fn live_options(survey: &Survey) -> HubOptions {
    let (scope, live, default) = (&survey.scope, &survey.observed, HubOptions::default());
    let queue = live.queue(scope.hub_queue());
    let role = live.role(scope.router_role());
    let router_policy = live.role_policy(scope.router_role(), scope.router_policy());
    let function = live.function(scope.router_function());
    let log_group = live.log_group(scope.router_log_group());
    let is_of_user = |key: &String| !key.starts_with(NAMESPACE) && !key.starts_with("aws:");
    let mut tags = queue.map(|queue| queue.tags.0.clone()).unwrap_or_default();
    tags.retain(|key, _| is_of_user(key));
    let prefix = function.and_then(|function| RouterHandler::of(&function.settings));
    let reserved = function.and_then(|function| function.reserved_concurrency);
    let has_rule = |signal: Signal| live.rule(scope.rule(signal)).is_some();
    HubOptions {
        tag: (!tags.is_empty()).then(|| tag_option(Tags(tags))),
        kms_key: queue
            .and_then(|queue| queue.encryption.key()?.parse().ok())
            .map(|key| OrNone(Some(key))),
        retention: queue
            .and_then(|queue| queue.retention.to_string().parse().ok())
            .filter(|retention| *retention != default.retention()),
        permissions_boundary: role
            .and_then(|role| role.permissions_boundary.clone())
            .map(|boundary| OrNone(Some(boundary))),
        role_path: role
            .map(|role| role.path.clone())
            .filter(|path| *path != default.role_path()),
        queue_prefix: prefix
            .map(|handler| handler.prefix)
            .filter(|prefix| *prefix != default_queue_prefix()),
        memory: function
            .and_then(|function| function.settings.memory.to_string().parse().ok())
            .filter(|memory| *memory != default.memory()),
        arch: function
            .map(|function| function.settings.architecture)
            .filter(|architecture| *architecture != default.architecture()),
        reserved_concurrency: reserved
            .and_then(|reserved| reserved.to_string().parse().ok())
            .map(|reserved| OrNone(Some(reserved))),
        log_retention: log_group
            .and_then(|group| group.retention_days?.to_string().parse().ok())
            .filter(|retention| *retention != default.log_retention()),
        rebalance: has_rule(Signal::Rebalance).then_some(true),
        lock_queues: queue
            .is_some_and(|queue| !queue.policy.as_ref().is_some_and(is_locked))
            .then_some(false),
        tag_conditions: router_policy
            .and_then(|policy| policy::requires_tags(&policy.document))
            .filter(|required| *required != default.tag_conditions(&scope.region)),
    }
}

/// Whether registered clusters are affected by a change of settings: by the prefix that their queues are named after, or by a
/// key that they are encrypted with, or were.
pub(super) fn clusters_follow(before: Option<&Settings>, after: &Settings) -> bool {
    let has_keys = |settings: &Settings| settings.options.kms_key.is_some() || !settings.old_keys.is_empty();
    before.is_some_and(|before| {
        before.options.queue_prefix() != after.options.queue_prefix() || has_keys(before) || has_keys(after)
    })
}

/// The architecture that the router of a target runs on.
pub fn architecture(survey: &Survey, target: &Target) -> Architecture {
    options_afterwards(survey, target).architecture()
}

/// The options that the hub of a target has afterwards, as far as they are known.
pub fn options_afterwards(survey: &Survey, target: &Target) -> HubOptions {
    settings(survey, target)
        .map(|(_, after)| after.options)
        .unwrap_or_default()
}

/// Why a target needs the archive of the router; `None` if it does not: nothing is deployed, or nothing that was deployed
/// can be compared.
pub fn archive_need(survey: &Survey, target: &Target) -> Option<ArchiveNeed> {
    match &target.hub {
        HubTarget::Leave | HubTarget::RollBack(_) | HubTarget::Remove => None,
        HubTarget::Keep(_) => {
            let deployed = survey.observed.function(survey.scope.router_function());
            deployed.map(|_| ArchiveNeed::Compare)
        }
        HubTarget::Set(setting) => {
            let stays = || router::staying(setting, survey, architecture(survey, target)).is_some();
            // Without settings there is no plan.
            Some(match settings(survey, target).is_err() || stays() {
                true => ArchiveNeed::Compare,
                false => ArchiveNeed::Upload,
            })
        }
    }
}

/// The concurrency that is reserved for the router now.
pub(super) fn live_reserved(survey: &Survey) -> Option<u32> {
    let function = survey.observed.function(survey.scope.router_function())?;
    function.reserved_concurrency
}

/// What is compared of the hub. Fails if there is no version to roll back to, or the pinned one is gone.
pub(super) fn compared(
    survey: &Survey,
    target: &Target,
    before: Option<&Settings>,
    after: &Settings,
) -> Result<(Desired, Observed), Blocked> {
    let whole = |code| Hub::new(&survey.scope, after.clone(), code).desired();
    let mut desired = match &target.hub {
        HubTarget::Leave => return Ok(Default::default()),
        HubTarget::RollBack(version) => return rolled_back(survey, *version, after),
        HubTarget::Remove => Desired::default(),
        HubTarget::Set(setting) => {
            let architecture = architecture(survey, target);
            let mut desired = whole(router::to_deploy(setting, survey, architecture));
            match router::kept_rollback(setting, survey)? {
                Some(live) => router::keep_rollback(live, survey, &mut desired),
                None => router::keep_build(&setting.router, survey, architecture, &mut desired),
            };
            desired
        }
        HubTarget::Keep(router) => {
            let mut desired = whole(router::expected_code(router, survey));
            router::expect_live(router, survey, &mut desired);
            desired
        }
    };
    // The settings remember the user's tags until no resource has them.
    let former: BTreeSet<String> = before
        .map(|before| before.options.tags().0.into_keys().collect())
        .unwrap_or_default();
    for id in desired.ids().cloned().collect::<Vec<_>>() {
        desired.untag(id, former.iter().cloned());
    }
    Ok((desired, readings(survey)))
}

/// The settings and the alias, on the version to roll back to. Nothing else is compared.
fn rolled_back(survey: &Survey, version: Option<u64>, settings: &Settings) -> Result<(Desired, Observed), Blocked> {
    let goal = router::rollback_goal(survey, version)?;
    let alias = router::moved_to(survey, goal)?;
    let Some(parameter) = survey.observed.parameter(survey.scope.settings_parameter()) else {
        return Err(Blocked::NoHub);
    };
    let parameter = Parameter {
        settings: Ok(Settings {
            pinned_version: Some(goal),
            ..settings.clone()
        }),
        ..parameter.clone()
    };
    let desired = Desired::from_iter([Resource::Parameter(parameter), Resource::Alias(alias)]);
    let reading = |id: &ResourceId| survey.observed.get(id).map(|reading| (id.clone(), reading.clone()));
    let observed = desired.ids().filter_map(reading).collect();
    Ok((desired, observed))
}

/// The resources of the hub.
pub(super) fn readings(survey: &Survey) -> Observed {
    let ids = hub::ids(&survey.scope).into_iter();
    let reading = |id| survey.resource(&id).cloned().map(|reading| (id, reading));
    ids.filter_map(reading).collect()
}
