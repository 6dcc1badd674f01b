//! Which code the router should have. Tags have no say in it: the function's code counts if it has the hash of the live
//! version or of the router that kibus offers, and the live code if kibus published it as that version of the router.

use std::collections::BTreeSet;

use super::live_version::{self, id};
use super::target::HubSetting;
use super::{Blocked, Case};
use crate::error::{Hint, Invocation};
use crate::model::fact::Fact;
use crate::model::hub::Hub;
use crate::model::inventory::Desired;
use crate::model::options::HubOptions;
use crate::model::resource::{Alias, Architecture, Code, Resource};
use crate::plan::finding::{Finding, FindingCode, Fix, Subject};
use crate::plan::{self, Refusal};
use crate::survey::Survey;

/// The router of a kibus.
#[derive(Clone, Debug)]
pub enum OfferedRouter {
    /// A router of this version. Its archive is not at hand: for this reason, or because it was not needed.
    OfVersion(String, Option<String>),
    /// This code. Another build of the same version stays live.
    Packaged(Code),
    /// This code and no other, because the user named it by its hash, with these options.
    Named(Code, String),
}

impl OfferedRouter {
    /// A router of this version whose archive was not needed so far.
    pub fn of_version(version: impl Into<String>) -> Self {
        Self::OfVersion(version.into(), None)
    }

    /// Its code. The hash is empty if the archive is not at hand.
    fn code(&self) -> Code {
        match self {
            Self::OfVersion(version, _) => Code::of_archive(version, ""),
            Self::Packaged(code) | Self::Named(code, _) => code.clone(),
        }
    }
}

/// Why a command needs the archive of its router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveNeed {
    /// To compare the deployed code with it.
    Compare,
    /// To upload it.
    Upload,
}

/// The command that ends a rollback.
pub const END_ROLLBACK: &str = "bootstrap-hub --router-latest";

/// The code to deploy on a function of this architecture.
pub(super) fn to_deploy(setting: &HubSetting, survey: &Survey, architecture: Architecture) -> Code {
    match &setting.router {
        OfferedRouter::Named(code, _) => code.clone(),
        router => staying(setting, survey, architecture).unwrap_or_else(|| router.code()),
    }
}

/// The alias on the version that the settings pin, unless the setting ends that.
pub(super) fn kept_rollback(setting: &HubSetting, survey: &Survey) -> Result<Option<Alias>, Blocked> {
    let pinned = live_version::pinned(survey).filter(|_| !setting.end_rollback);
    // Without an alias, a new one points to a new version.
    let exists = live_version::alias(&survey.scope, &survey.observed).is_some();
    pinned
        .filter(|_| exists)
        .map(|pinned| live_version::moved_to(survey, pinned))
        .transpose()
}

/// Keeps the version that was rolled back to, with its code and its size.
pub(super) fn keep_rollback(pinned: Alias, survey: &Survey, desired: &mut Desired) -> Option<()> {
    let shares = desired.get(&id(&survey.scope))?.as_alias()?.shares.clone();
    desired.insert(Resource::Alias(Alias { shares, ..pinned }));
    Some(())
}

/// Refuses what needs a new version while a rollback is kept: another option, another code that is named, or a setting that
/// the live version does not have.
pub(super) fn change_during_a_rollback(case: &Case<'_>) -> Option<Refusal> {
    let setting = case.target.setting()?;
    let live = kept_rollback(setting, case.survey).ok()??;
    let alias = |options: &HubOptions, code: &Code| {
        let hub = Hub::new(&case.survey.scope, options.clone(), code.clone()).desired();
        hub.get(&id(&case.survey.scope)).and_then(Resource::as_alias).cloned()
    };
    let code = &live.settings.code;
    let wanted = match &setting.router {
        OfferedRouter::Named(named, _) => alias(&case.after.options, named)?,
        _ => alias(&case.after.options, code)?,
    };
    let before = alias(&case.before.as_ref().unwrap_or(&case.after).options, code)?;
    let changed = plan::diff(
        &Resource::Alias(wanted.clone()),
        &Resource::Alias(before),
        &BTreeSet::new(),
    );
    let mut fields: BTreeSet<String> = changed.into_iter().map(|field| field.path).collect();
    fields.extend(plan::rollback_conflicts(&wanted, &live));
    (!fields.is_empty()).then(|| Refusal::RollbackKept {
        version: live.moves_to.or(live.version).unwrap_or_default(),
        fields,
        given: given(setting),
    })
}

/// The given options, as one types them.
fn given(setting: &HubSetting) -> String {
    let router = match &setting.router {
        OfferedRouter::Named(_, options) => Some(options.clone()),
        OfferedRouter::OfVersion(..) | OfferedRouter::Packaged(_) => None,
    };
    let all = setting.options.typed().into_iter().chain(router);
    all.collect::<Vec<_>>().join(" ")
}

/// Keeps another build of the offered version live, unless the user named one, or a version is published for another reason:
/// that has the code of the function, as the plan then shows.
pub(super) fn keep_build(
    router: &OfferedRouter,
    survey: &Survey,
    architecture: Architecture,
    desired: &mut Desired,
) -> Option<()> {
    let live = live_version::alias(&survey.scope, &survey.observed)?;
    let code = same_version(router, survey, architecture)?;
    let kept = with_code(desired.get(&id(&survey.scope))?.as_alias()?, code.clone());
    let is_all = plan::diff(&kept, &Resource::Alias(live.clone()), &BTreeSet::new()).is_empty();
    if is_all && !matches!(router, OfferedRouter::Named(..)) {
        desired.insert(kept);
    }
    Some(())
}

/// The code that a check expects of the function: the one that it has if that is the live code, the offered code, or the
/// code that was rolled back. Without a live version or an archive there is nothing to compare it with.
pub(super) fn expected(router: &OfferedRouter, survey: &Survey) -> Code {
    let offered = router.code();
    let Some(function) = survey.observed.function(survey.scope.router_function()) else {
        return offered;
    };
    let (found, live) = (&function.settings.code, live_version::published(survey));
    match (router, live) {
        (OfferedRouter::Named(code, _), _) => code.clone(),
        (OfferedRouter::OfVersion(..), None) => found.clone(),
        (_, _) if found.sha256 == offered.sha256 || is_rolled_back(survey, found) => found.clone(),
        (_, Some(live)) => live.settings.code.clone(),
        (_, None) => offered,
    }
}

/// Expects the live version to have the code that it has, if kibus published it and the user named no other; after a
/// rollback, also the size of that version.
pub(super) fn expect_live(router: &OfferedRouter, survey: &Survey, desired: &mut Desired) -> Option<()> {
    let wanted = desired.get(&id(&survey.scope))?.as_alias()?;
    let pinned = live_version::pinned(survey).and_then(|pinned| live_version::moved_to(survey, pinned).ok());
    let expected = match (router, live_version::published(survey)) {
        (OfferedRouter::Named(..), _) => return None,
        _ if let Some(pinned) = &pinned
            && plan::rollback_conflicts(wanted, pinned).is_empty() =>
        {
            return keep_rollback(pinned.clone(), survey, desired);
        }
        (_, None) => with_code(wanted, router.code()),
        (_, Some(live)) => with_code(wanted, live.settings.code.clone()),
    };
    desired.insert(expected);
    Some(())
}

/// Fixes other code than the named one by the command that names it, and what a kept rollback prevents by the command that
/// ends it.
pub(super) fn fix_by_option(case: &Case<'_>, router: &OfferedRouter, findings: &mut [Finding]) {
    let alias = id(&case.survey.scope);
    // A conflict keeps the pinned version from being expected.
    let pinned = live_version::rolled_back(case.survey);
    let wanted = case.desired.get(&alias).and_then(Resource::as_alias);
    let is_prevented = pinned.is_some_and(|pinned| wanted.is_none_or(|wanted| wanted.version != pinned.version));
    for finding in findings {
        let ends = is_prevented && finding.subject == Subject::Resource(alias.clone());
        let named = match router {
            OfferedRouter::Named(_, options) if finding.code == FindingCode::CodeChanged => Some(options),
            _ => None,
        };
        let command = match (ends, named) {
            (true, Some(options)) => format!("{END_ROLLBACK} {options}"),
            (true, None) => END_ROLLBACK.to_owned(),
            (false, Some(options)) => format!("bootstrap-hub {options}"),
            (false, None) => continue,
        };
        finding.fix = Fix::Command(Invocation::kibus(command));
    }
}

/// What there is to say about live code that stays: it is another build than the offered one, or was not compared.
pub(super) fn warning(router: &OfferedRouter, survey: &Survey, desired: &Desired) -> Option<Hint> {
    let live = &live_version::published(survey)?.settings.code;
    let Code { version, sha256 } = live;
    if desired.get(&id(&survey.scope))?.as_alias()?.settings.code != *live {
        return None;
    }
    let offered = router.code();
    let not_compared = |why: &str| {
        Hint::text(format!(
            "the code of the live router (SHA-256 {sha256}) was not compared with the router of this kibus: {why}"
        ))
    };
    match router {
        OfferedRouter::Named(..) => None,
        _ if offered.version != *version => {
            let ours = &offered.version;
            Some(not_compared(&format!("router {version} is live, and this kibus has {ours}")))
        }
        OfferedRouter::OfVersion(_, missing) => missing.as_deref().map(not_compared),
        OfferedRouter::Packaged(code) => (code.sha256 != *sha256).then(|| {
            Hint::command(
                format!(
                    "another build of router {version} is live: its code has SHA-256 {sha256}, and the router of this \
                     kibus has {}. If no operator deployed that build, find out who did (CloudTrail). To replace it, name the \
                     binary by its SHA-256:",
                    code.sha256
                ),
                Invocation::kibus("bootstrap-hub --router-sha256 SHA256"),
            )
        }),
    }
}

/// The code of the function, if it stays: it is the live code and of the offered version, or while a rollback is kept, the
/// live code or the code that was rolled back.
pub(super) fn staying(setting: &HubSetting, survey: &Survey, architecture: Architecture) -> Option<Code> {
    let function = &survey.observed.function(survey.scope.router_function())?.settings;
    let code = match kept_rollback(setting, survey).ok()? {
        Some(_) if is_rolled_back(survey, &function.code) => function.code.clone(),
        Some(pinned) => pinned.settings.code,
        None => same_version(&setting.router, survey, architecture)?.clone(),
    };
    (function.code.sha256 == code.sha256 && function.architecture == architecture).then_some(code)
}

/// The live code, if it is of the offered version and runs on this architecture.
fn same_version<'a>(router: &OfferedRouter, survey: &'a Survey, architecture: Architecture) -> Option<&'a Code> {
    let live = &live_version::published(survey)?.settings;
    (live.code.version == router.code().version && live.architecture == architecture).then_some(&live.code)
}

/// Whether this is the code of the latest version, from which a rollback went back. If that version could not be read, a
/// finding says so.
fn is_rolled_back(survey: &Survey, code: &Code) -> bool {
    let later = live_version::rolled_back(survey).and_then(Alias::later);
    match later.and_then(|later| survey.versions.get(&later)) {
        Some(Fact::Present(version)) => version.code.has_version() && version.code.sha256 == code.sha256,
        Some(Fact::Unreadable(_)) => true,
        Some(Fact::Absent | Fact::NotAsked) | None => false,
    }
}

fn with_code(alias: &Alias, code: Code) -> Resource {
    let mut alias = alias.clone();
    alias.settings.code = code;
    Resource::Alias(alias)
}
