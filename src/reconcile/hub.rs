//! The hub of a target: its settings before and after, and its desired resources beside those that were read.

use std::collections::BTreeSet;

use super::blocked::{bad_settings, lost_settings, no_hub, unreadable};
use super::router::{self, ArchiveNeed};
use super::target::{Bootstrap, HubSetting, Target, Wish};
use super::{Blocked, keys};
use crate::message::{Message, MessageKind};
use crate::model::answer::Fact;
use crate::model::hub::{self, Hub};
use crate::model::options::HubOptions;
use crate::model::resource::{Desired, Observed, Parameter, Resource, ResourceId};
use crate::model::settings::{BadSettings, Settings};
use crate::plan;
use crate::survey::{Saved, Survey};

/// The settings that the hub has, if it has any, and those that it has afterwards. Fails if a target needs settings that are
/// lost, unknown or of a newer kibus.
pub(super) fn settings(survey: &Survey, target: &Target) -> Result<(Option<Settings>, Settings), Blocked> {
    // Without settings, the rest of the hub tells whether they are lost, and which options they had.
    if matches!(survey.saved(), Saved::Absent | Saved::Bad(_)) {
        readings(survey);
    }
    let bootstraps = target.bootstraps();
    let restores = bootstraps.is_some_and(|given| given.restore_settings);
    let before = match (&target.hub, survey.saved()) {
        (_, Saved::Kept(settings)) => Some(settings.clone()),
        (_, Saved::Unreadable(fault)) => return Err(unreadable(&survey.scope, survey.settings_id(), fault)),
        (_, Saved::Bad(BadSettings::Damaged(_)) | Saved::Absent) if restores => None,
        (_, Saved::Bad(bad)) => return Err(bad_settings(&survey.scope, bad, &restoring(survey))),
        (Wish::Remove, Saved::Absent) => None,
        // The missing parameter is a finding, and the rest is compared with itself.
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

fn set(survey: &Survey, given: &Bootstrap, before: Settings) -> Settings {
    let options = given.options.clone().or(before.options.clone());
    Settings {
        old_keys: keys::old_after(survey, &before, options.key()),
        pinned_version: before.pinned_version.filter(|_| !given.end_rollback),
        options,
    }
}

/// The command that restores settings that are lost: with every option in which the resources differ from the defaults.
pub(super) fn restoring(survey: &Survey) -> String {
    let words = ["bootstrap-hub --restore-settings".to_owned()];
    let words = words
        .into_iter()
        .chain(hub::live_options(&survey.scope, &survey.observed).typed());
    words.collect::<Vec<_>>().join(" ")
}

/// Whether registered clusters are affected by a change of settings: by the prefix that their queues are named after, or by a
/// key that they are encrypted with, or were.
pub(super) fn clusters_follow(before: Option<&Settings>, after: &Settings) -> bool {
    let has_keys = |settings: &Settings| settings.options.kms_key.is_some() || !settings.old_keys.is_empty();
    before.is_some_and(|before| {
        before.options.queue_prefix() != after.options.queue_prefix() || has_keys(before) || has_keys(after)
    })
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
    if target.is_check() {
        let deployed = survey.observed.function(survey.scope.router_function());
        return deployed.map(|_| ArchiveNeed::Compare);
    }
    let given = target.bootstraps()?;
    let architecture = options_afterwards(survey, target).architecture();
    let stays = || router::staying(&target.router, given, survey, architecture).is_some();
    // Without settings there is no plan.
    Some(match settings(survey, target).is_err() || stays() {
        true => ArchiveNeed::Compare,
        false => ArchiveNeed::Upload,
    })
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
        return Err(no_hub(&survey.scope));
    };
    let parameter = Parameter {
        settings: Ok(Settings {
            pinned_version: Some(goal),
            ..settings.clone()
        }),
        ..parameter.clone()
    };
    let desired = Desired::from_iter([Resource::Parameter(parameter), Resource::Alias(alias)]);
    let observed = desired.ids().map(|id| (id.clone(), survey.observed.get(id).clone()));
    let observed = observed.collect();
    Ok((desired, observed))
}

pub(super) fn readings(survey: &Survey) -> Observed {
    let ids = hub::ids(&survey.scope).into_iter();
    ids.map(|id| (id.clone(), survey.resource(&id).clone())).collect()
}

/// Checks that there is a dead-letter queue, and for a redrive also a router, that this bus manages.
pub fn check_dead_letters(redrive: bool, survey: &Survey) -> Result<(), Blocked> {
    let Survey { scope, observed, .. } = survey;
    let id = ResourceId::Queue(scope.dead_letter_queue());
    match survey.resource(&id) {
        Fact::Unreadable(fault) => return Err(unreadable(scope, id, fault)),
        Fact::Present(queue) if plan::is_ours(scope, queue, observed) => {}
        Fact::NotAsked | Fact::Absent | Fact::Present(_) => return Err(no_hub(scope)),
    }
    let invoked = [ResourceId::Function(scope.router_function()), router::live_id(scope)];
    for id in invoked.into_iter().filter(|_| redrive) {
        match survey.resource(&id) {
            Fact::Unreadable(fault) => return Err(unreadable(scope, id, fault)),
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
