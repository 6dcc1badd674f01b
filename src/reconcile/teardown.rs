//! `teardown`: deletes everything of the bus.

use super::inventory::{of_clusters, of_hub, readable};
use super::orphan::{self, Stray};
use super::{Blocked, Confirmation, Intent, Recipe, cluster, confirm};
use crate::error::Hint;
use crate::model::fact::Fact;
use crate::model::inventory::{Desired, Observed, Reading};
use crate::plan;
use crate::survey::{Policies, Query, Survey};

/// A teardown takes no options.
#[derive(Clone, Copy, Debug)]
pub struct Request;

impl Recipe for Request {
    fn query(&self) -> Query {
        Query {
            hub: true,
            all_clusters: true,
            controller_roles: Some(Policies::OfBus),
            orphans: true,
            ..Query::default()
        }
    }

    fn more(&self, survey: &Survey) -> Query {
        Query {
            clusters: orphan::not_read(survey),
            ..Query::default()
        }
    }

    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked> {
        let scope = &survey.scope;
        if let Fact::Unreadable(fault) = &survey.discovered {
            return Err(Blocked::CallFailed(
                "list the queues of clusters",
                Box::new(fault.clone()),
            ));
        }
        readable(&survey.observed)?;
        confirm::prefix(survey)?;
        let clusters = survey.clusters();
        let mut all = of_hub(survey);
        all.extend(of_clusters(survey, &clusters));
        readable(&all)?;
        let (mut observed, mut warnings) = managed(survey, &all);
        warnings.extend(orphan::unread(survey));
        for stray in orphan::strays(survey) {
            match &stray.orphan {
                Some(orphan) => {
                    let reading = Reading::Present(Box::new(orphan.resource.clone()));
                    observed.insert(orphan.resource.id(), reading);
                }
                None => warnings.push(not_removed(&stray)),
            }
        }
        let plan = plan::plan(scope, &Desired::default(), &observed);
        let controllers = clusters.iter().map(|(name, tags)| (name, *tags));
        Ok(Intent {
            refusals: plan::check(scope, &plan, &observed),
            plan,
            warnings,
            release: cluster::controllers(survey, controllers),
            unchanged: format!("Nothing to delete: bus `{}` does not exist.", scope.bus),
            clusters: cluster::summaries(survey),
            confirmation: Confirmation::Typed(scope.bus.to_string()),
            ..Intent::default()
        })
    }
}

/// The resources that this bus manages, and a warning for each resource that has a name of the bus and is managed by
/// something else.
fn managed(survey: &Survey, all: &Observed) -> (Observed, Vec<Hint>) {
    let mut managed = Observed::default();
    let mut warnings = Vec::new();
    for (id, reading) in all.iter() {
        match reading {
            Reading::Present(resource) if !plan::is_ours(&survey.scope, resource, all) => warnings.push(Hint::text(
                format!("{id} is not managed by bus `{}` and is not deleted", survey.scope.bus),
            )),
            _ => managed.insert(id.clone(), reading.clone()),
        }
    }
    (managed, warnings)
}

fn not_removed(stray: &Stray) -> Hint {
    Hint::text(format!(
        "role `{}` has an inline policy `{}` with a name of this bus that belongs to no cluster of it; it is not deleted",
        stray.role, stray.policy
    ))
}
