//! `kibus bootstrap-hub --router-rollback`: the router as it was before.

use std::str::FromStr;

use super::Ending;
use super::carry_out::{Intent, Question, carry_out};
use super::context::Context;
use super::explain;
use crate::error::Error;
use crate::model::inventory::{Desired, Observed};
use crate::model::resource::{Alias, NoWayBack, Resource, ResourceId};
use crate::model::scope::{LIVE, Scope};
use crate::plan::{self, Plan};

/// Where to go back to: the version before, or this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct To(Option<u64>);

impl FromStr for To {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        match text {
            "previous" => Ok(Self(None)),
            number => number.parse().map(|number| Self(Some(number))).map_err(|_| NotAVersion),
        }
    }
}

/// Neither the number of a version nor `previous`.
#[derive(Debug, thiserror::Error)]
#[error("it is the number of a version that Lambda has published, or `previous`")]
pub(super) struct NotAVersion;

/// Plan the alias on the earlier version and nothing else, and carry it out.
pub(super) async fn run(To(to): To, context: &Context<'_>, observed: Observed) -> Result<Ending, Error> {
    context.hub_choices(&observed)?;
    let live = alias(&context.scope, &observed)
        .cloned()
        .ok_or_else(|| explain::no_hub(context))?;
    let goal = live.way_back(to).map_err(|none| no_way_back(context, &none))?;
    let plan = match goal {
        None => Plan::default(),
        Some(version) => go_back(context, &live, version, &observed).await?,
    };
    let intent = Intent {
        plan,
        observed,
        clusters: Vec::new(),
        first: Vec::new(),
        warnings: Vec::new(),
        nothing: format!("No changes: {}.", state(&live)),
        next: format!(
            "It stays so until the next bootstrap-hub, which goes forward again:\n    {}",
            context.command("bootstrap-hub")
        ),
        question: Question::YesNo,
    };
    carry_out(context, intent).await
}

async fn go_back(context: &Context<'_>, live: &Alias, version: u64, observed: &Observed) -> Result<Plan, Error> {
    let settings = context.cloud.version(&live.function, version).await;
    let what = format!("read version {version} of the router");
    let settings = settings.map_err(|fault| explain::call_failed(context, &what, &fault))?;
    let settings = settings.ok_or_else(|| {
        Error::refused(format!("version {version} of the router is gone"))
            .note("someone has deleted it")
            .note("nothing was changed")
    })?;
    let wanted = Resource::Alias(live.gone_back(version, settings));
    let only = observed.iter().filter(|(id, _)| **id == wanted.id());
    let only: Observed = only.map(|(id, seen)| (id.clone(), seen.clone())).collect();
    Ok(plan::plan(&context.scope, &Desired::from_iter([wanted]), &only))
}

fn no_way_back(context: &Context<'_>, none: &NoWayBack) -> Error {
    let error = Error::refused(none.to_string()).note("nothing was changed");
    match none.kept.first() {
        None => error.note("an alias remembers the versions that it has pointed to, and this one remembers none"),
        Some(latest) => {
            let kept: Vec<String> = none.kept.iter().map(u64::to_string).collect();
            error.note(format!("kept are: {}", kept.join(", "))).hint_command(
                "to go back to one of them:",
                context.command(&format!("bootstrap-hub --router-rollback={latest}")),
            )
        }
    }
}

fn alias<'a>(scope: &Scope, observed: &'a Observed) -> Option<&'a Alias> {
    match observed.resource(&ResourceId::Alias(scope.router_function(), LIVE.to_owned())) {
        Some(Resource::Alias(alias)) => Some(alias),
        _ => None,
    }
}

/// Which version is live, and whether that is so on purpose.
fn state(alias: &Alias) -> String {
    match on_purpose(alias) {
        Some(why) => format!("{} {why}", live(alias)),
        None => live(alias),
    }
}

fn live(alias: &Alias) -> String {
    let version = alias.version.map_or("?".to_owned(), |version| version.to_string());
    let router = &alias.settings.code.version;
    format!("version {version} of the function, router {router}, is live")
}

fn on_purpose(alias: &Alias) -> Option<String> {
    let from = alias.history.back_from?;
    Some(format!("on purpose: someone went back to it from version {from}"))
}

/// What there is to say if the version that is live is not what the function holds: whether that is so on purpose.
pub(super) fn standing(scope: &Scope, observed: &Observed) -> Option<String> {
    let alias = alias(scope, observed)?;
    let why = standing_briefly(scope, observed)?;
    let between = if alias.history.back_from.is_some() {
        " "
    } else {
        ", and "
    };
    Some(format!("{}{between}{why}", live(alias)))
}

/// The same beside a line that says which version is live.
pub(super) fn standing_briefly(scope: &Scope, observed: &Observed) -> Option<String> {
    let alias = alias(scope, observed)?;
    if let Some(why) = on_purpose(alias) {
        return Some(format!("{why}; bootstrap-hub goes forward again"));
    }
    match observed.resource(&ResourceId::Function(alias.function.clone())) {
        Some(Resource::Function(function)) if !function.settings.code.satisfied_by(&alias.settings.code) => {
            Some(format!(
                "the function holds router {}: a replacement was cut short or did not pass its self-test, or someone \
                 else has moved the alias",
                function.settings.code.version
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::hub::Hub;
    use crate::model::inventory::Reading;
    use crate::model::options::HubOptions;
    use crate::model::resource::Code;
    use crate::model::scope::tests::scope;

    fn observed(function: &str, live: &str, back_from: Option<u64>) -> Observed {
        let code = |version| Code::of_archive(version, "aa");
        let desired = Hub::new(&scope(), HubOptions::default(), code(function)).desired();
        let seen = desired.resources().cloned().map(|mut resource| {
            if let Resource::Alias(alias) = &mut resource {
                alias.version = Some(2);
                alias.settings.code = code(live);
                alias.history.back_from = back_from;
            }
            (resource.id(), Reading::Present(Box::new(resource)))
        });
        seen.collect()
    }

    #[test]
    fn an_older_version_is_live_on_purpose_or_not() {
        for (name, function, live, back_from, says) in [
            ("as it should be", "0.2.0", "0.2.0", None, None),
            (
                "on purpose",
                "0.2.0",
                "0.1.0",
                Some(3),
                Some("on purpose: someone went back to it from version 3"),
            ),
            (
                "on purpose, of the same release",
                "0.2.0",
                "0.2.0",
                Some(3),
                Some("on purpose"),
            ),
            (
                "not on purpose",
                "0.2.0",
                "0.1.0",
                None,
                Some("the function holds router 0.2.0: a replacement was cut short"),
            ),
        ] {
            let said = standing(&scope(), &observed(function, live, back_from));
            match says {
                None => assert_eq!(said, None, "{name}"),
                Some(says) => {
                    let said = said.unwrap_or_default();
                    assert!(said.contains(says), "{name}: {said}");
                    assert!(
                        said.contains(&format!("version 2 of the function, router {live}, is live")),
                        "{said}"
                    );
                }
            }
        }
        assert_eq!(standing(&scope(), &Observed::default()), None);
    }

    #[test]
    fn a_goal_is_a_number_or_the_one_before() {
        for (text, to) in [
            ("previous", Some(To(None))),
            ("3", Some(To(Some(3)))),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), to, "{text}");
        }
    }
}
