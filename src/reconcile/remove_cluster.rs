//! `remove-cluster`: deletes the policy on the controller role, then the queue.

use std::collections::BTreeSet;

use super::inventory::{of_cluster, readable, roles_with_policy, saved_options};
use super::names::{self, Evidence};
use super::{Blocked, ClusterSummary, Intent, Recipe, cluster, confirm};
use crate::error::Hint;
use crate::model::fact::Fact;
use crate::model::inventory::{Desired, Observed};
use crate::model::name::ClusterName;
use crate::model::tags::Tags;
use crate::plan;
use crate::survey::{Policies, Query, Survey};

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The clusters.
    pub names: BTreeSet<ClusterName>,
    /// Whether clusters that do not exist are skipped silently.
    pub ignore_missing: bool,
}

impl Recipe for Request {
    fn query(&self) -> Query {
        Query {
            clusters: self.names.clone(),
            controller_roles: Some(Policies::OfBus),
            ..Query::default()
        }
    }

    fn more(&self, survey: &Survey) -> Query {
        if survey.saved.options().is_none() || names::unregistered(survey, &self.names).is_empty() {
            return Query::default();
        }
        let mut query = match survey.discovered {
            Fact::NotAsked => names::query(survey, &self.names),
            _ => Query::default(),
        };
        query.resources.extend(confirm::prefix_to_read(survey));
        query
    }

    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked> {
        saved_options(survey)?;
        confirm::prefix(survey)?;
        let mut unknown = Vec::new();
        let mut warnings = Vec::new();
        for name in names::unregistered(survey, &self.names) {
            if self.ignore_missing || names::evidence(survey, &name) == Evidence::Exists {
                continue;
            }
            let name = names::unknown(survey, &name);
            match name.similar.is_empty() {
                false => unknown.push(name),
                true => warnings.push(Hint::text(format!(
                    "cluster `{}` is not registered on bus `{}` and is skipped",
                    name.name, survey.scope.bus
                ))),
            }
        }
        if !unknown.is_empty() {
            return Err(Blocked::UnknownClusters(unknown));
        }
        warnings.extend(confirm::unread_prefix(survey)?);
        let mut observed = Observed::default();
        for name in &self.names {
            let mut roles = roles_with_policy(survey, name, &survey.cluster_queue(name));
            roles.extend(survey.queue_tags(name).and_then(Tags::controller_role));
            observed.extend(of_cluster(survey, name, &roles));
        }
        readable(&observed)?;
        let clusters = survey.clusters();
        let asked = clusters.iter().filter(|(name, _)| self.names.contains(*name));
        let plan = plan::plan(&survey.scope, &Desired::default(), &observed);
        Ok(Intent {
            refusals: plan::check(&survey.scope, &plan, &observed),
            plan,
            warnings,
            release: cluster::controllers(survey, asked.map(|(name, tags)| (name, *tags))),
            unchanged: self.unchanged(survey),
            clusters: self.names.iter().map(|name| summary(survey, name)).collect(),
            ..Intent::default()
        })
    }
}

impl Request {
    fn unchanged(&self, survey: &Survey) -> String {
        let list = self
            .names
            .iter()
            .map(ClusterName::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let are = if self.names.len() == 1 { "is" } else { "are" };
        format!("No changes. {list} {are} not registered on bus {}.", survey.scope.bus)
    }
}

fn summary(survey: &Survey, name: &ClusterName) -> ClusterSummary {
    let role = survey.queue_tags(name).and_then(Tags::controller_role);
    ClusterSummary::new(&survey.scope, name, &survey.cluster_queue(name), role.as_ref())
}
