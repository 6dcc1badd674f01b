//! The controller roles that the operator's document names: those that the caller names, those that have the policy of a
//! registered cluster, and those found for clusters that will be added.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{failure, stages};
use crate::error::{Error, Hint, quoted};
use crate::iam::role_pattern::RolePattern;
use crate::model::controller_role::RoleCandidates;
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::ResourceId;
use crate::reconcile::SavedRoles;
use crate::survey::{Query, Survey, role_arns};

/// Which controller roles the document names.
#[derive(Debug, clap::Args)]
pub(super) struct RoleFlags {
    /// EKS clusters that will be added; their controller roles are found by the usual names.
    #[arg(value_name = "CLUSTER")]
    clusters: Vec<ClusterName>,
    /// Controller role of a cluster that will be added: a name, a path and name, or an ARN; repeat for more. With `*`, a
    /// pattern.
    #[arg(long = "controller-role", value_name = "ROLE", conflicts_with = "no_controller_role")]
    roles: Vec<RolePattern>,
    /// Allow no change of any controller role, not even for registered clusters.
    #[arg(long, conflicts_with = "clusters")]
    no_controller_role: bool,
}

impl RoleFlags {
    /// The ARNs of the roles, or patterns of ARNs. Warns of what a pattern opens, and of what is unknown.
    pub(super) async fn arns(&self, hubs: &Hubs<'_>, hub: &ConnectedHub) -> Result<BTreeSet<String>, Error> {
        if self.no_controller_role {
            return Ok(BTreeSet::new());
        }
        let known = match role_arns(&hub.cloud).await {
            Ok(roles) => roles,
            Err(fault) => {
                hub.ui.warn_text(&format!(
                    "the roles could not be listed, so roles of clusters are not found, and a role given by its name has \
                     the path `/` in the document: {fault}"
                ));
                BTreeMap::new()
            }
        };
        let mut arns = BTreeSet::new();
        for role in &self.roles {
            if role.is_open() {
                hub.ui.warn_text(&format!(
                    "`{role}` may match roles that are not controllers, also under other paths, because `*` matches `/`: \
                     with iam:PutRolePolicy, an operator can give each of them any permission"
                ));
            }
            arns.insert(role.arn(&hub.scope, &known).ok_or_else(|| {
                let account = &hub.scope.account;
                Error::usage(format!("`{role}` is not a role of account {account}"))
            })?);
        }
        let arn = |role: &RoleName| {
            let listed = known.get(role).cloned();
            listed.unwrap_or_else(|| hub.scope.roles_arn(role.as_str()))
        };
        arns.extend(self.found(hub, &known).iter().map(arn));
        let saved = saved(hubs, hub).await?;
        arns.extend(saved.holders.iter().map(|(_, role)| arn(role)));
        for (cluster, role) in saved.tagged.iter().filter(|(_, role)| !arns.contains(&arn(role))) {
            only_tagged(hub, cluster, role);
        }
        if arns.is_empty() {
            hub.ui.warn(&Hint::command(
                "no controller role is known, so the document does not cover any. Name the clusters that will be added, or \
                 their roles with --controller-role. If another team manages IAM:",
                hub.scope.kibus("policy operator --no-controller-role"),
            ));
        }
        Ok(arns)
    }

    /// The roles found for the clusters that will be added. A role that may be another cluster's is not used.
    fn found(&self, hub: &ConnectedHub, known: &BTreeMap<RoleName, String>) -> BTreeSet<RoleName> {
        let mut roles = BTreeSet::new();
        for cluster in &self.clusters {
            let RoleCandidates { usual, suffixed } = RoleCandidates::of(cluster, known);
            if let [role] = usual.as_slice() {
                roles.insert(role.clone());
                continue;
            }
            let candidates = [usual, suffixed].concat();
            let text = failure::no_single_role(cluster, &candidates);
            hub.ui.warn_text(&format!("{text}; name it with --controller-role"));
        }
        roles
    }
}

/// The controller roles of the registered clusters, as far as they can be read. Prints those for the document.
async fn saved(hubs: &Hubs<'_>, hub: &ConnectedHub) -> Result<SavedRoles, Error> {
    let guess = |survey: &Survey| Query {
        cluster_queues: [survey.queue_prefix()].into(),
        ..Query::default()
    };
    let (survey, roles) = stages::survey(hubs, hub, guess, SavedRoles::of).await?;
    let of_queue = |(id, fault)| matches!(id, &ResourceId::Queue(_)).then_some(fault);
    let fault = survey.discovered().fault().or(survey.faults().find_map(of_queue));
    if let Some(fault) = fault {
        hub.ui.warn_text(&format!(
            "not all registered clusters could be read, so the document may lack their controller roles: {fault}"
        ));
    }
    if !roles.holders.is_empty() {
        let lines = roles.holders.iter().map(|(cluster, role)| format!("{cluster}: {role}"));
        let text = "Controller roles in this document, which have the policies of registered clusters:";
        hub.ui.note(text, &lines.collect::<Vec<_>>());
    }
    Ok(roles)
}

/// A role that only a tag names needs the option.
fn only_tagged(hub: &ConnectedHub, cluster: &ClusterName, role: &RoleName) {
    let flag = format!("--controller-role {}", quoted(role.as_str()));
    let text = format!(
        "role `{role}` is not in the document: only a tag names it for cluster `{cluster}`. If the controller of \
         `{cluster}` has this role:"
    );
    hub.ui
        .warn(&Hint::command(text, format!("{} {flag}", hub.command_line)));
}
