//! Which version of the router is live, and whether that is on purpose.

use std::collections::BTreeSet;

use super::Blocked;
use crate::model::fact::Fact;
use crate::model::inventory::Observed;
use crate::model::resource::{Alias, FunctionSettings, NoRollbackVersion, ResourceId};
use crate::model::scope::{LIVE, Scope};
use crate::survey::Survey;

/// The id of the live alias, which is known before it exists.
pub(super) fn id(scope: &Scope) -> ResourceId {
    ResourceId::Alias(scope.router_function(), LIVE.to_owned())
}

/// The live alias, if it exists.
pub(super) fn alias<'a>(scope: &Scope, observed: &'a Observed) -> Option<&'a Alias> {
    observed.alias(scope.router_function(), LIVE.to_owned())
}

/// The live alias, if kibus published the version that it points to: its code is known.
pub(super) fn published(survey: &Survey) -> Option<&Alias> {
    alias(&survey.scope, &survey.observed).filter(|alias| alias.settings.code.has_version())
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

/// The version that a rollback makes live. Without a number, a rollback that was begun before is finished.
pub(super) fn rollback_goal(survey: &Survey, version: Option<u64>) -> Result<u64, Blocked> {
    let live = alias(&survey.scope, &survey.observed).ok_or(Blocked::NoHub)?;
    match pinned(survey) {
        Some(pinned) if version.is_none_or(|version| version == pinned) => Ok(pinned),
        pinned => live.rollback_target(version).map_err(|none| {
            Blocked::NoVersion(NoRollbackVersion {
                rolled_back_from: pinned.and(live.later()),
                ..none
            })
        }),
    }
}

/// The live alias once it points to this version. Fails if kibus did not publish it: its code is unknown.
pub(super) fn moved_to(survey: &Survey, version: u64) -> Result<Alias, Blocked> {
    let live = alias(&survey.scope, &survey.observed).ok_or(Blocked::NoHub)?;
    let alias = match live.version == Some(version) {
        true => live.clone(),
        false => Alias {
            settings: version_settings(survey, version)?.clone(),
            moves_to: Some(version),
            shares: BTreeSet::new(),
            ..live.clone()
        },
    };
    match alias.settings.code.has_version() {
        true => Ok(alias),
        false => Err(Blocked::NotPublished(version)),
    }
}

/// The live version in words.
pub(super) fn sentence(alias: &Alias) -> String {
    let version = alias.version.map_or("?".to_owned(), |version| version.to_string());
    let router = match alias.settings.code.version.as_str() {
        "" => "unknown",
        version => version,
    };
    format!("version {version} of the function is live (router {router})")
}

/// Why the live version is not the newest: rolled back, or an unfinished update. `None` if it is the newest.
pub(super) fn reason(survey: &Survey) -> Option<String> {
    let alias = alias(&survey.scope, &survey.observed)?;
    if let Some(pinned) = pinned(survey) {
        let from = alias
            .later()
            .map(|from| format!(" from version {from}"))
            .unwrap_or_default();
        return Some(match alias.version == Some(pinned) {
            true => format!("rolled back{from}; bootstrap-hub --router-latest ends the rollback"),
            false => format!("a rollback to version {pinned} is not finished; bootstrap-hub finishes it"),
        });
    }
    let function = survey.observed.function(alias.function.clone())?;
    let (latest, live) = (&function.settings.code, &alias.settings.code);
    if latest.sha256 != live.sha256 {
        return Some(format!(
            "the function has other code (SHA-256 {}): an update was interrupted or failed its self-test, or the code or \
             the alias was changed by other means",
            latest.sha256
        ));
    }
    (!live.has_version()).then(|| "kibus did not publish it".to_owned())
}

/// The live version and why it is not the newest, in one sentence.
pub(super) fn warning(survey: &Survey) -> Option<String> {
    let alias = alias(&survey.scope, &survey.observed)?;
    let reason = reason(survey)?;
    Some(format!("{}: {reason}", sentence(alias)))
}

/// The settings of a version, if they are known.
fn version_settings(survey: &Survey, version: u64) -> Result<&FunctionSettings, Blocked> {
    match survey.versions.get(&version) {
        Some(Fact::Present(settings)) => Ok(settings),
        Some(Fact::Unreadable(fault)) => Err(Blocked::call_failed("read the version of the router", fault)),
        Some(Fact::Absent | Fact::NotAsked) | None => Err(Blocked::VersionGone(version)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hub::Hub;
    use crate::model::inventory::Reading;
    use crate::model::resource::{Code, Resource};
    use crate::model::scope::tests::scope;
    use crate::model::settings::Settings;

    fn survey(function: &str, live: &str, pinned: Option<u64>) -> Survey {
        let code = |version| Code::of_archive(version, version);
        let settings = Settings {
            pinned_version: pinned,
            ..Settings::default()
        };
        let mut survey = Survey::new(scope());
        for mut resource in Hub::new(&scope(), settings, code(function))
            .desired()
            .resources()
            .cloned()
        {
            if let Resource::Alias(alias) = &mut resource {
                alias.version = Some(2);
                alias.versions = [1, 2, 3].into();
                alias.settings.code = code(live);
            }
            survey
                .observed
                .insert(resource.id(), Reading::Present(Box::new(resource)));
        }
        survey
    }

    #[test]
    fn an_older_live_version_has_a_reason() {
        for (name, function, live, pinned, says) in [
            ("newest", "0.2.0", "0.2.0", None, None),
            (
                "rolled back",
                "0.2.0",
                "0.1.0",
                Some(2),
                Some("rolled back from version 3"),
            ),
            (
                "a rollback that was cut short",
                "0.2.0",
                "0.2.0",
                Some(1),
                Some("a rollback to version 1 is not finished"),
            ),
            (
                "rolled back within a release",
                "0.2.0",
                "0.2.0",
                Some(2),
                Some("rolled back from version 3"),
            ),
            (
                "an unfinished update",
                "0.2.0",
                "0.1.0",
                None,
                Some("the function has other code (SHA-256 0.2.0): an update was interrupted"),
            ),
        ] {
            let warning = warning(&survey(function, live, pinned));
            match says {
                None => assert_eq!(warning, None, "{name}"),
                Some(says) => {
                    let warning = warning.unwrap_or_default();
                    let live = format!("version 2 of the function is live (router {live})");
                    assert!(
                        warning.contains(says) && warning.starts_with(&live),
                        "{name}: {warning}"
                    );
                }
            }
        }
        assert_eq!(warning(&Survey::new(scope())), None);
    }
}
