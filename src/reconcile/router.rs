//! The code that the router should have, its live version, and whether that is intended. Tags do not matter: the
//! function's code counts if it has the hash of the live version or of the router that kibus offers, and the live code
//! if kibus published it as that version of the router.

use std::collections::BTreeSet;

use super::blocked::{no_hub, unread};
use super::target::Bootstrap;
use super::{Blocked, Case};
use crate::error::{Hint, listed};
use crate::message::{Fix, Message, MessageKind, Subject};
use crate::model::{
    Alias, Architecture, Code, Desired, Fact, FindingCode, FunctionSettings, Hub, HubOptions, NoRollbackVersion,
    Observed, Resource, ResourceId, Scope, scope::LIVE,
};
use crate::plan;
use crate::survey::Survey;

#[derive(Clone, Debug)]
pub enum OfferedRouter {
    /// A router of this version. Its archive is not available, for this reason or because it was not needed.
    OfVersion(String, Option<String>),
    /// This code. Another build of the same version stays live.
    Packaged(Code),
    /// This code and no other, because the user named it by its hash, with these options.
    Named(Code, String),
}

impl OfferedRouter {
    /// A router of this version whose archive has not been needed.
    pub fn of_version(version: impl Into<String>) -> Self {
        Self::OfVersion(version.into(), None)
    }

    /// Its code. The hash is empty if the archive is not available.
    fn code(&self) -> Code {
        match self {
            Self::OfVersion(version, _) => Code::of_archive(version, ""),
            Self::Packaged(code) | Self::Named(code, _) => code.clone(),
        }
    }
}

/// Why a command needs the archive of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveNeed {
    Compare,
    Upload,
}

/// The command that ends a rollback.
pub const END_ROLLBACK: &str = "bootstrap-hub --router-latest";

/// The code to deploy on a function of this architecture.
pub(super) fn to_deploy(
    router: &OfferedRouter,
    given: &Bootstrap,
    survey: &Survey,
    architecture: Architecture,
) -> Code {
    match router {
        OfferedRouter::Named(code, _) => code.clone(),
        router => staying(router, given, survey, architecture).unwrap_or_else(|| router.code()),
    }
}

/// The alias on the version that the settings pin, unless the rollback ends.
pub(super) fn kept_rollback(given: &Bootstrap, survey: &Survey) -> Result<Option<Alias>, Blocked> {
    let pinned = pinned(survey).filter(|_| !given.end_rollback);
    // Without an alias, a new one points to a new version.
    let exists = live_alias(&survey.scope, &survey.observed).is_some();
    pinned.filter(|_| exists).map(|pinned| moved_to(survey, pinned)).transpose()
}

/// Keeps the version of the rollback, with its code and its size.
pub(super) fn keep_rollback(pinned: Alias, survey: &Survey, desired: &mut Desired) -> Option<()> {
    let shares = desired.get(&live_id(&survey.scope))?.as_alias()?.shares.clone();
    desired.insert(Resource::Alias(Alias { shares, ..pinned }));
    Some(())
}

/// During a rollback, refuses everything that needs a new version: a changed option, different named code, or a setting
/// that the live version does not have.
pub(super) fn change_during_a_rollback(case: &Case<'_>) -> Option<Message> {
    let given = case.target.bootstraps()?;
    let live = kept_rollback(given, case.survey).ok()??;
    let alias = |options: &HubOptions, code: &Code| {
        let hub = Hub::new(&case.survey.scope, options.clone(), code.clone()).desired();
        hub.get(&live_id(&case.survey.scope)).and_then(Resource::as_alias).cloned()
    };
    let code = &live.settings.code;
    let wanted = match &case.target.router {
        OfferedRouter::Named(named, _) => alias(&case.after.options, named)?,
        _ => alias(&case.after.options, code)?,
    };
    let before = alias(&case.before.as_ref().unwrap_or(&case.after).options, code)?;
    let changed = plan::diff(&Resource::Alias(wanted.clone()), &Resource::Alias(before), &BTreeSet::new());
    let mut fields: BTreeSet<String> = changed.into_iter().map(|field| field.path).collect();
    fields.extend(plan::rollback_conflicts(&wanted, &live));
    let version = live.moves_to.or(live.version).unwrap_or_default();
    let sentence = format!(
        "a rollback keeps version {version} of the router live, but these changes need a new version: {}",
        listed(&fields)
    );
    let scope = &case.survey.scope;
    (!fields.is_empty()).then(|| {
        Message::refusal(FindingCode::OptionNotApplicable, live_id(scope), sentence)
            .then("a rollback lasts until you end it; to end it and apply the change", scope.again(" --router-latest"))
    })
}

/// Keeps another build of the offered version live, unless the user named one, or a version is published for another
/// reason: that version has the code of the function, as the plan then shows.
pub(super) fn keep_build(
    router: &OfferedRouter,
    survey: &Survey,
    architecture: Architecture,
    desired: &mut Desired,
) -> Option<()> {
    let live = live_alias(&survey.scope, &survey.observed)?;
    let code = same_version(router, survey, architecture)?;
    let kept = with_code(desired.get(&live_id(&survey.scope))?.as_alias()?, code.clone());
    let is_all = plan::diff(&kept, &Resource::Alias(live.clone()), &BTreeSet::new()).is_empty();
    if is_all && !matches!(router, OfferedRouter::Named(..)) {
        desired.insert(kept);
    }
    Some(())
}

/// The code that a check expects on the function: its current code if that is the live code, the offered code, or the
/// code that was rolled back. Without a live version or an archive, there is nothing to compare it with.
pub(super) fn expected_code(router: &OfferedRouter, survey: &Survey) -> Code {
    let offered = router.code();
    let Some(function) = survey.observed.function(survey.scope.router_function()) else {
        return offered;
    };
    let (found, live) = (&function.settings.code, published(survey));
    match (router, live) {
        (OfferedRouter::Named(code, _), _) => code.clone(),
        (OfferedRouter::OfVersion(..), None) => found.clone(),
        (_, _) if found.sha256 == offered.sha256 || is_rolled_back(survey, found) => found.clone(),
        (_, Some(live)) => live.settings.code.clone(),
        (_, None) => offered,
    }
}

/// Expects the live version to have its current code, if kibus published it and the user named no other; after a
/// rollback, also its current size.
pub(super) fn expect_live(router: &OfferedRouter, survey: &Survey, desired: &mut Desired) -> Option<()> {
    let wanted = desired.get(&live_id(&survey.scope))?.as_alias()?;
    let pinned = pinned(survey).and_then(|pinned| moved_to(survey, pinned).ok());
    let expected = match (router, published(survey)) {
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

/// The fix for code that differs from the named code is the command that names it; the fix for changes that a rollback
/// prevents is the command that ends it.
pub(super) fn fix_by_option(case: &Case<'_>, findings: &mut [Message]) {
    let alias = live_id(&case.survey.scope);
    // After a conflict, the pinned version is not the expected one.
    let pinned = rolled_back(case.survey);
    let wanted = case.desired.get(&alias).and_then(Resource::as_alias);
    let is_prevented = pinned.is_some_and(|pinned| wanted.is_none_or(|wanted| wanted.version != pinned.version));
    for finding in findings {
        let ends = is_prevented && finding.about == Subject::Resource(alias.clone());
        let named = match &case.target.router {
            OfferedRouter::Named(_, options) if finding.code == Some(FindingCode::CodeChanged) => Some(options),
            _ => None,
        };
        let command = match (ends, named) {
            (true, Some(options)) => format!("{END_ROLLBACK} {options}"),
            (true, None) => END_ROLLBACK.to_owned(),
            (false, Some(options)) => format!("bootstrap-hub {options}"),
            (false, None) => continue,
        };
        finding.fix = Fix::Command(case.survey.scope.kibus(command));
    }
}

/// Warnings about live code that stays: it is a different build than the offered one, or was not compared.
pub(super) fn build_warning(router: &OfferedRouter, survey: &Survey, desired: &Desired) -> Option<Hint> {
    let live = &published(survey)?.settings.code;
    let Code { version, sha256 } = live;
    if desired.get(&live_id(&survey.scope))?.as_alias()?.settings.code != *live {
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
            Some(not_compared(&format!("router {version} is live, but this kibus has {ours}")))
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
                survey.scope.kibus("bootstrap-hub --router-sha256 SHA256"),
            )
        }),
    }
}

/// The code of the function, if it stays: it is the live code and has the offered version or, during a rollback, it is
/// the live code or the code that was rolled back.
pub(super) fn staying(
    router: &OfferedRouter,
    given: &Bootstrap,
    survey: &Survey,
    architecture: Architecture,
) -> Option<Code> {
    let function = &survey.observed.function(survey.scope.router_function())?.settings;
    let code = match kept_rollback(given, survey).ok()? {
        Some(_) if is_rolled_back(survey, &function.code) => function.code.clone(),
        Some(pinned) => pinned.settings.code,
        None => same_version(router, survey, architecture)?.clone(),
    };
    (function.code.sha256 == code.sha256 && function.architecture == architecture).then_some(code)
}

/// The live code, if it has the offered version and runs on this architecture.
fn same_version<'a>(router: &OfferedRouter, survey: &'a Survey, architecture: Architecture) -> Option<&'a Code> {
    let live = &published(survey)?.settings;
    (live.code.version == router.code().version && live.architecture == architecture).then_some(&live.code)
}

/// Whether this is the code of the latest version, which was rolled back. If that version could not be read, a finding reports it.
fn is_rolled_back(survey: &Survey, code: &Code) -> bool {
    let later = rolled_back(survey).and_then(Alias::later);
    match later.map(|later| survey.versions(&later)) {
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

/// The id of the live alias, which is known even before the alias exists.
pub(super) fn live_id(scope: &Scope) -> ResourceId {
    ResourceId::Alias(scope.router_function(), LIVE.to_owned())
}

pub(super) fn live_alias<'a>(scope: &Scope, observed: &'a Observed) -> Option<&'a Alias> {
    observed.alias(scope.router_function(), LIVE.to_owned())
}

/// The live alias, if kibus published the version that it points to: its code is known.
pub(super) fn published(survey: &Survey) -> Option<&Alias> {
    live_alias(&survey.scope, &survey.observed).filter(|alias| alias.settings.code.has_version())
}

/// The version that the settings pin.
pub(super) fn pinned(survey: &Survey) -> Option<u64> {
    survey.settings()?.pinned_version
}

/// The live alias, if the settings pin the version that it points to.
pub(super) fn rolled_back(survey: &Survey) -> Option<&Alias> {
    let pinned = pinned(survey)?;
    published(survey).filter(|live| live.version == Some(pinned))
}

/// The version that a rollback makes live. Without a number, an unfinished rollback is completed.
pub(super) fn rollback_goal(survey: &Survey, version: Option<u64>) -> Result<u64, Blocked> {
    let live = live_alias(&survey.scope, &survey.observed).ok_or_else(|| no_hub(&survey.scope))?;
    match pinned(survey) {
        Some(pinned) if version.is_none_or(|version| version == pinned) => Ok(pinned),
        pinned => live.rollback_target(version).map_err(|none| {
            let rolled_back_from = pinned.and(live.later());
            no_version(&survey.scope, &NoRollbackVersion { rolled_back_from, ..none })
        }),
    }
}

/// There is no version of the router to roll back to.
fn no_version(scope: &Scope, none: &NoRollbackVersion) -> Blocked {
    let mut message = Message::new(MessageKind::Refused, "version", none.to_string());
    if let Some(latest) = none.kept.first() {
        let kept: Vec<String> = none.kept.iter().map(u64::to_string).collect();
        message = message
            .note(format!("available: {}", kept.join(", ")))
            .then("to roll back to one of them:", scope.kibus(format!("rollback {latest}")));
    } else if none.rolled_back_from.is_none() {
        message = message.note("kibus has published no other version");
    }
    if let Some(from) = none.rolled_back_from {
        let note = format!("the router was rolled back from version {from}, and only earlier versions are available");
        message = message.note(note).then("to end the rollback and upgrade again:", scope.kibus(END_ROLLBACK));
    }
    message.into()
}

/// A version to roll back to that was deleted, or that kibus did not publish.
fn unusable_version(scope: &Scope, sentence: String) -> Blocked {
    Message::new(MessageKind::Refused, "version", sentence)
        .then("if a rollback pins it, end the rollback:", scope.kibus(END_ROLLBACK))
        .into()
}

/// The live alias pointing to this version. Fails if kibus did not publish the version: its code is unknown.
pub(super) fn moved_to(survey: &Survey, version: u64) -> Result<Alias, Blocked> {
    let live = live_alias(&survey.scope, &survey.observed).ok_or_else(|| no_hub(&survey.scope))?;
    let alias = if live.version == Some(version) {
        live.clone()
    } else {
        Alias {
            settings: version_settings(survey, version)?.clone(),
            moves_to: Some(version),
            shares: BTreeSet::new(),
            ..live.clone()
        }
    };
    if alias.settings.code.has_version() {
        Ok(alias)
    } else {
        Err(unusable_version(&survey.scope, format!("kibus did not publish version {version} of the router")))
    }
}

/// The live version in words.
pub(super) fn live_sentence(alias: &Alias) -> String {
    let version = alias.version.map_or("?".to_owned(), |version| version.to_string());
    let router = match alias.settings.code.version.as_str() {
        "" => "unknown",
        version => version,
    };
    format!("version {version} of the function is live (router {router})")
}

/// Why the live version is not the newest: rolled back, or an unfinished update. `None` if it is the newest.
pub(super) fn why_not_newest(survey: &Survey) -> Option<String> {
    let alias = live_alias(&survey.scope, &survey.observed)?;
    if let Some(pinned) = pinned(survey) {
        let from = alias.later().map(|from| format!(" from version {from}")).unwrap_or_default();
        return Some(if alias.version == Some(pinned) {
            format!("rolled back{from}; bootstrap-hub --router-latest ends the rollback")
        } else {
            format!("a rollback to version {pinned} is not finished; bootstrap-hub finishes it")
        });
    }
    let function = survey.observed.function(alias.function.clone())?;
    let (latest, live) = (&function.settings.code, &alias.settings.code);
    if latest.sha256 != live.sha256 {
        return Some(format!(
            "the function has different code (SHA-256 {}): an update was interrupted or failed its self-test, or \
             something else changed the code or the alias",
            latest.sha256
        ));
    }
    (!live.has_version()).then(|| "kibus did not publish it".to_owned())
}

/// The live version and why it is not the newest, in one sentence.
pub(super) fn not_newest_warning(survey: &Survey) -> Option<String> {
    let alias = live_alias(&survey.scope, &survey.observed)?;
    let reason = why_not_newest(survey)?;
    Some(format!("{}: {reason}", live_sentence(alias)))
}

fn version_settings(survey: &Survey, version: u64) -> Result<&FunctionSettings, Blocked> {
    match survey.versions(&version) {
        Fact::Present(settings) => Ok(settings),
        Fact::Unreadable(fault) => {
            Err(unread(survey, [(format!("version {version} of the router").as_str().into(), fault)]))
        }
        Fact::Absent | Fact::NotAsked => {
            Err(unusable_version(&survey.scope, format!("version {version} of the router was deleted")))
        }
    }
}
