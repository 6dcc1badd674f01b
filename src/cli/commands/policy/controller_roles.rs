//! The controller roles that the operator's document names: those that the caller names, those of registered clusters,
//! and those found for clusters to come.

use std::collections::{BTreeMap, BTreeSet};

use super::At;
use crate::cloud::Read;
use crate::error::{Error, Hint, Invocation};
use crate::model::controller_role::matching;
use crate::model::name::{ClusterName, RoleName};
use crate::model::role_pattern::RolePattern;
use crate::model::tags::Tags;
use crate::survey::{Query, Survey};

/// Which controller roles the document names.
#[derive(Debug, clap::Args)]
pub(super) struct RoleFlags {
    /// Names of EKS clusters to come, whose controller roles have the usual names.
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<ClusterName>,
    /// Controller role of a cluster to come, as name, path and name, or ARN; repeat for more. With `*`, a pattern.
    #[arg(long = "controller-role", value_name = "ROLE", conflicts_with = "no_controller_role")]
    roles: Vec<RolePattern>,
    /// Allow no change of a controller role, not even of registered clusters.
    #[arg(long, conflicts_with = "clusters")]
    no_controller_role: bool,
}

impl RoleFlags {
    /// The ARNs of the roles, or patterns of ARNs. Warns of what a pattern opens, and of what is unknown.
    pub(super) async fn arns(&self, at: &At<'_>) -> Result<BTreeSet<String>, Error> {
        if self.no_controller_role {
            return Ok(BTreeSet::new());
        }
        let known = match at.hub.cloud.role_arns().await {
            Ok(roles) => roles,
            Err(fault) => {
                at.ui.warn_text(&format!(
                    "the roles could not be listed: a role given by its name has the path `/` in the document, and the \
                     roles of clusters are not found: {fault}"
                ));
                BTreeMap::new()
            }
        };
        let mut arns = BTreeSet::new();
        for role in &self.roles {
            if role.is_open() {
                at.ui.warn_text(&format!(
                    "`{role}` may match roles that are not controllers, also under other paths, because `*` matches `/`: \
                     with iam:PutRolePolicy, an operator can give each of them any permission"
                ));
            }
            arns.insert(role.arn(&at.hub.scope, &known).ok_or_else(|| {
                let account = &at.hub.scope.account;
                Error::usage(format!("`{role}` is not a role of account {account}"))
            })?);
        }
        let saved = registered(at).await;
        for role in saved.iter().chain(&self.found(at, &known)) {
            let listed = known.get(role).cloned();
            arns.insert(listed.unwrap_or_else(|| at.hub.scope.roles_arn(role.as_str())));
        }
        if arns.is_empty() {
            at.ui.warn(
                &Hint::command(
                    "no controller role is known, so the document allows changing none: give the names of clusters to \
                     come, or their roles with --controller-role; or, if others manage IAM:",
                    Invocation::kibus("policy operator --no-controller-role"),
                ),
                &at.hubs.global_options,
            );
        }
        Ok(arns)
    }

    /// The roles found for the clusters to come. Of several, none is taken.
    fn found(&self, at: &At<'_>, known: &BTreeMap<RoleName, String>) -> BTreeSet<RoleName> {
        let names = known.keys().cloned().collect();
        let mut roles = BTreeSet::new();
        for cluster in &self.clusters {
            match matching(cluster, &names).as_slice() {
                [role] => {
                    roles.insert(role.clone());
                }
                found => {
                    let found = match found {
                        [] => "no role".to_owned(),
                        several => several
                            .iter()
                            .map(|role| format!("`{role}`"))
                            .collect::<Vec<_>>()
                            .join(" and "),
                    };
                    at.ui.warn_text(&format!(
                        "{found} may be the controller role of cluster `{cluster}`: name it with --controller-role"
                    ));
                }
            }
        }
        roles
    }
}

/// The controller roles of the registered clusters, as far as they can be read.
async fn registered(at: &At<'_>) -> BTreeSet<RoleName> {
    let mut survey = Survey::new(at.hub.scope.clone());
    let query = Query {
        all_clusters: true,
        ..Query::default()
    };
    survey.extend(&at.hub.cloud, &query, at.hubs.limit).await;
    let fault = survey
        .discovered
        .fault()
        .or(survey.faults().next().map(|(_, fault)| fault));
    if let Some(fault) = fault {
        at.ui.warn_text(&format!(
            "not all registered clusters could be read: their controller roles may be missing: {fault}"
        ));
    }
    let roles = survey.registered().into_values().filter_map(Tags::controller_role);
    roles.collect()
}
