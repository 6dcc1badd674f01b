//! The hub of a target: its options, and its desired resources beside those that were read.

use super::inventory::{hub_exists, of_hub, saved_options};
use super::target::{HubTarget, Target};
use super::{ArchiveNeed, Blocked, live_version, router_code};
use crate::model::fact::Fact;
use crate::model::hub::Hub;
use crate::model::inventory::{Desired, Observed};
use crate::model::options::{BadSavedOption, HubOptions};
use crate::model::resource::{Architecture, Resource};
use crate::model::tags::OPTION;
use crate::survey::{SavedOptions, Survey};

/// The saved options, if there are any, and those that the hub has afterwards. Fails if a target that needs a hub finds
/// none, or if its saved options are unknown or invalid.
pub(super) fn options(survey: &Survey, target: &Target) -> Result<(Option<HubOptions>, HubOptions), Blocked> {
    let before = match &target.hub {
        HubTarget::Set(setting) => saved(survey, &setting.options)?,
        HubTarget::Remove => survey.saved.options().cloned(),
        // The queue that saves them is missing, and is a finding.
        HubTarget::Keep(_) if survey.saved == SavedOptions::Absent && hub_exists(survey) => None,
        HubTarget::Keep(_) | HubTarget::Leave | HubTarget::RollBack(_) => Some(saved_options(survey)?.clone()),
    };
    let after = before.clone().unwrap_or_default();
    Ok(match target.setting() {
        Some(setting) => (before, setting.options.clone().or(after)),
        None => (before, after),
    })
}

/// The saved options, if there are any. An invalid one is ignored if it is set again.
fn saved(survey: &Survey, given: &HubOptions) -> Result<Option<HubOptions>, BadSavedOption> {
    let SavedOptions::Damaged(_, tags) = &survey.saved else {
        return Ok(survey.saved.options().cloned());
    };
    let (given, mut tags) = (given.saved_tags(), tags.clone());
    loop {
        match HubOptions::saved(&tags) {
            Err(BadSavedOption { flag, .. }) if given.option(flag).is_some() => {
                tags.0.remove(&format!("{OPTION}{flag}"));
            }
            other => return other.map(Some),
        }
    }
}

/// Whether registered clusters are affected by a change of options: by the prefix that their queues are named after, or
/// by a key that they are encrypted with.
pub(super) fn clusters_follow(before: Option<&HubOptions>, after: &HubOptions) -> bool {
    before.is_some_and(|before| {
        before.queue_prefix() != after.queue_prefix() || before.kms_key.is_some() || after.kms_key.is_some()
    })
}

/// The architecture that the router of a target runs on.
#[must_use]
pub fn architecture(survey: &Survey, target: &Target) -> Architecture {
    options_afterwards(survey, target).architecture()
}

/// The options that the hub of a target has afterwards, as far as they are known.
#[must_use]
pub fn options_afterwards(survey: &Survey, target: &Target) -> HubOptions {
    options(survey, target).map(|(_, after)| after).unwrap_or_default()
}

/// Why a target needs the archive of the router; `None` if it does not: nothing is deployed, or nothing that was deployed
/// can be compared.
#[must_use]
pub fn archive_need(survey: &Survey, target: &Target) -> Option<ArchiveNeed> {
    match &target.hub {
        HubTarget::Leave | HubTarget::RollBack(_) | HubTarget::Remove => None,
        HubTarget::Keep(_) => {
            let deployed = survey.observed.function(survey.scope.router_function());
            deployed.map(|_| ArchiveNeed::Compare)
        }
        HubTarget::Set(setting) => {
            let stays = || router_code::staying(setting, survey, architecture(survey, target)).is_some();
            // With a damaged option there is no plan.
            Some(match options(survey, target).is_err() || stays() {
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

/// The version to roll back to.
pub(super) fn version_to_read(survey: &Survey, version: Option<u64>) -> Option<u64> {
    let live = live_version::alias(&survey.scope, &survey.observed)?;
    live.rollback_target(version).ok()?
}

/// What is compared of the hub. Fails if there is no version to roll back to.
pub(super) fn compared(survey: &Survey, target: &Target, after: &HubOptions) -> Result<(Desired, Observed), Blocked> {
    let hub = |code| Hub::new(&survey.scope, after.clone(), code).desired();
    let desired = match &target.hub {
        HubTarget::Leave => return Ok(Default::default()),
        HubTarget::RollBack(version) => return rolled_back(survey, *version),
        HubTarget::Remove => Desired::default(),
        HubTarget::Set(setting) => {
            let architecture = architecture(survey, target);
            let mut desired = hub(router_code::to_deploy(setting, survey, architecture));
            match router_code::kept_rollback(setting, survey) {
                Some(live) => router_code::keep_rollback(live, survey, &mut desired),
                None => router_code::keep_build(&setting.router, survey, architecture, &mut desired),
            };
            desired
        }
        HubTarget::Keep(router) => {
            let mut desired = hub(router_code::expected(router, survey));
            router_code::expect_live(router, survey, &mut desired);
            desired
        }
    };
    Ok((desired, of_hub(survey)))
}

/// The alias, on the version to roll back to. Nothing else is compared.
fn rolled_back(survey: &Survey, version: Option<u64>) -> Result<(Desired, Observed), Blocked> {
    let live = live_version::alias(&survey.scope, &survey.observed).ok_or(Blocked::NoHub)?;
    let Some(goal) = live.rollback_target(version).map_err(Blocked::NoVersion)? else {
        return Ok(Default::default());
    };
    let settings = match survey.versions.get(&goal) {
        Some(Fact::Present(settings)) => settings.clone(),
        Some(Fact::Unreadable(fault)) => {
            return Err(Blocked::call_failed("read the version of the router", fault));
        }
        Some(Fact::Absent | Fact::NotAsked) | None => return Err(Blocked::VersionGone(goal)),
    };
    let desired = Desired::from_iter([Resource::Alias(live.rolled_back(goal, settings))]);
    let id = live_version::id(&survey.scope);
    let alias = survey.observed.get(&id).cloned();
    let observed = alias.map(|reading| (id, reading)).into_iter().collect();
    Ok((desired, observed))
}
