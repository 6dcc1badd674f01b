//! `rollback`: makes an earlier version of the router live again. Nothing else changes.

use std::collections::BTreeSet;

use super::inventory::{of_hub, readable, saved_options};
use super::{Blocked, Intent, NextStep, Recipe, live_version};
use crate::error::{Hint, Invocation};
use crate::model::fact::Fact;
use crate::model::inventory::{Desired, Observed};
use crate::model::resource::{Alias, Resource};
use crate::plan::{self, Plan};
use crate::survey::{Query, Survey};

/// The request: this version, or the one that was live before.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The number of the version.
    pub version: Option<u64>,
}

impl Recipe for Request {
    fn query(&self) -> Query {
        Query {
            hub: true,
            ..Query::default()
        }
    }

    fn more(&self, survey: &Survey) -> Query {
        let goal = live_version::alias(&survey.scope, &survey.observed)
            .and_then(|alias| alias.rollback_target(self.version).ok());
        let unread = goal.flatten().filter(|goal| !survey.versions.contains_key(goal));
        Query {
            versions: unread.into_iter().collect::<BTreeSet<_>>(),
            ..Query::default()
        }
    }

    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked> {
        let scope = &survey.scope;
        saved_options(survey)?;
        readable(&of_hub(survey))?;
        let live = live_version::alias(scope, &survey.observed).ok_or(Blocked::NoHub)?;
        let goal = live.rollback_target(self.version).map_err(Blocked::NoVersion)?;
        let plan = match goal {
            None => Plan::default(),
            Some(version) => roll_back(survey, live, version)?,
        };
        let unchanged = match live_version::warning(scope, &survey.observed) {
            Some(sentence) => format!("No changes. {sentence}."),
            None => format!("No changes. {}.", live_version::sentence(live)),
        };
        Ok(Intent {
            refusals: plan::check(scope, &plan, &survey.observed),
            plan,
            unchanged,
            next: vec![NextStep::Run(Hint::command(
                "It stays live until the next bootstrap-hub, which upgrades again:",
                Invocation::kibus("bootstrap-hub"),
            ))],
            ..Intent::default()
        })
    }
}

fn roll_back(survey: &Survey, live: &Alias, version: u64) -> Result<Plan, Blocked> {
    let settings = match survey.versions.get(&version) {
        Some(Fact::Present(settings)) => settings.clone(),
        Some(Fact::Unreadable(fault)) => {
            return Err(Blocked::CallFailed(
                "read the version of the router",
                Box::new(fault.clone()),
            ));
        }
        Some(Fact::Absent | Fact::NotAsked) | None => return Err(Blocked::VersionGone(version)),
    };
    let desired = Resource::Alias(live.rolled_back(version, settings));
    let only: Observed = survey
        .observed
        .iter()
        .filter(|(id, _)| **id == desired.id())
        .map(|(id, reading)| (id.clone(), reading.clone()))
        .collect();
    Ok(plan::plan(&survey.scope, &Desired::from_iter([desired]), &only))
}
