//! Which version of the router is live, and whether that is on purpose.

use crate::model::inventory::Observed;
use crate::model::resource::{Alias, ResourceId};
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

/// The live alias, if a rollback moved it to a version that kibus published.
pub(super) fn rolled_back(survey: &Survey) -> Option<&Alias> {
    published(survey).filter(|live| live.history.rolled_back_from.is_some())
}

/// The version that was rolled back.
pub(super) fn rolled_back_from(survey: &Survey) -> Option<u64> {
    rolled_back(survey)?.history.rolled_back_from
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

/// A live version that was rolled back to, in words.
pub(super) fn sentence_with_origin(alias: &Alias) -> String {
    let from = alias.history.rolled_back_from.unwrap_or_default();
    format!("{}: rolled back from version {from}", sentence(alias))
}

/// Why the live version is not the newest: rolled back, or an unfinished update. `None` if it is the newest.
pub(super) fn reason(scope: &Scope, observed: &Observed) -> Option<String> {
    let alias = alias(scope, observed)?;
    if let Some(from) = alias.history.rolled_back_from {
        return Some(format!(
            "rolled back from version {from}; bootstrap-hub --router-latest ends the rollback"
        ));
    }
    let function = observed.function(alias.function.clone())?;
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
pub(super) fn warning(scope: &Scope, observed: &Observed) -> Option<String> {
    let alias = alias(scope, observed)?;
    let reason = reason(scope, observed)?;
    Some(format!("{}: {reason}", sentence(alias)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hub::Hub;
    use crate::model::inventory::Reading;
    use crate::model::options::HubOptions;
    use crate::model::resource::{Code, Resource};
    use crate::model::scope::tests::scope;

    fn observed(function: &str, live: &str, rolled_back_from: Option<u64>) -> Observed {
        let code = |version| Code::of_archive(version, version);
        let hub = Hub::new(&scope(), HubOptions::default(), code(function)).desired();
        let read = hub.resources().cloned().map(|mut resource| {
            if let Resource::Alias(alias) = &mut resource {
                alias.version = Some(2);
                alias.settings.code = code(live);
                alias.history.rolled_back_from = rolled_back_from;
            }
            (resource.id(), Reading::Present(Box::new(resource)))
        });
        read.collect()
    }

    #[test]
    fn an_older_live_version_has_a_reason() {
        for (name, function, live, rolled_back_from, says) in [
            ("newest", "0.2.0", "0.2.0", None, None),
            (
                "rolled back",
                "0.2.0",
                "0.1.0",
                Some(3),
                Some("rolled back from version 3"),
            ),
            (
                "rolled back within a release",
                "0.2.0",
                "0.2.0",
                Some(3),
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
            let warning = warning(&scope(), &observed(function, live, rolled_back_from));
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
        assert_eq!(warning(&scope(), &Observed::default()), None);
    }
}
