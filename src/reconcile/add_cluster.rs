//! `add-cluster`: creates the queue of each cluster, and the policy on its controller role.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::{MissingRole, RoleSearch};
use super::inventory::{none_being_deleted, of_cluster, readable, roles_with_policy, saved_options};
use super::old_key::{self, Leaves};
use super::role_search::{self, Found};
use super::{
    Blocked, ClusterSummary, Controller, Intent, NextStep, Recipe, confirm, controllers, key, second_source, senders,
};
use crate::model::cluster::Cluster;
use crate::model::controller_role::{RoleTemplate, similar, usual_names};
use crate::model::fact::Fact;
use crate::model::inventory::{Desired, Observed, Reading};
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, RoleName};
use crate::model::options::{ClusterOptions, HubOptions};
use crate::model::policy;
use crate::model::resource::ResourceId;
use crate::model::tags::Tags;
use crate::plan::{self, Action, Change, Plan};
use crate::survey::{Policies, Query, Survey};

/// Up to this many clusters, the usual roles are read by name, and the function in the same round, in case a queue is
/// missing. For more clusters, one list of all roles needs fewer calls.
const BY_NAME: usize = 10;

/// The request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The clusters.
    pub names: BTreeSet<ClusterName>,
    /// The option for their controller roles.
    pub role: RoleOption,
    /// The options from the command line.
    pub options: ClusterOptions,
    /// Whether the Karpenter settings are shown even if they have not changed.
    pub show_settings: bool,
}

/// The option for the controller roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleOption {
    /// Not set: the saved role, else the one with a usual name.
    Search,
    /// This role, or this pattern of names.
    Named(RoleTemplate),
    /// Kibus does not manage a policy on the controller role.
    Unmanaged,
}

/// Which role a cluster's controller runs as.
enum RoleDecision {
    Role(RoleName),
    /// Kibus does not manage a policy on it.
    Unmanaged,
    /// Unknown until more is read.
    Open,
    /// No role is certainly the one.
    NotFound(RoleSearch),
    /// The role does not exist.
    Missing(MissingRole),
}

impl Recipe for Request {
    fn query(&self) -> Query {
        let mut query = Query {
            clusters: self.names.clone(),
            usual_queues: self.names.clone(),
            function: self.is_small(),
            controller_roles: Some(Policies::AllAndManaged),
            ..Query::default()
        };
        match &self.role {
            RoleOption::Unmanaged => {}
            RoleOption::Named(template) => {
                let roles = self.names.iter().filter_map(|name| template.role(name).ok());
                query.roles = roles.map(|role| (role, Policies::AllAndManaged)).collect();
            }
            RoleOption::Search if self.is_small() => {
                let roles = self.names.iter().flat_map(usual_names);
                query.roles = roles.map(|role| (role, Policies::AllAndManaged)).collect();
            }
            RoleOption::Search => query.role_names = true,
        }
        query
    }

    fn more(&self, survey: &Survey) -> Query {
        let mut query = Query::default();
        let Some(hub) = survey.saved.options() else {
            return query;
        };
        // Only the hub queue says whether the bus was unlocked, or has its key, by the option or only in the tags.
        if hub.lock_queues == Some(false) || key::changes(survey, hub, &self.names) {
            query.resources.insert(ResourceId::Queue(survey.scope.hub_queue()));
        }
        // A queue that is missing may only have another prefix, and a function that was read anyway may show one.
        if self.is_small() || self.lacks_queue(survey) {
            query.resources.extend(confirm::prefix_to_read(survey));
        }
        for name in &self.names {
            match self.decide(survey, name) {
                RoleDecision::Role(role) => match survey.roles.get(&role) {
                    None => drop(query.roles.insert(role, Policies::AllAndManaged)),
                    // Who may not list the policies of a role may still be allowed to read the one of kibus.
                    Some(Fact::Unreadable(_)) => {
                        query.resources.insert(Cluster::policy_id(&survey.scope, name, &role));
                        query.resources.insert(ResourceId::Role(role));
                    }
                    Some(_) => {}
                },
                RoleDecision::Open => query.role_names = true,
                RoleDecision::Missing(_) if matches!(survey.role_names, Fact::NotAsked) => query.role_names = true,
                RoleDecision::NotFound(search) => query.roles.extend(role_search::unread(survey, &search)),
                RoleDecision::Missing(_) | RoleDecision::Unmanaged => {}
            }
        }
        if self.role == RoleOption::Search {
            let mut untagged = key::rekeyed_without_role(survey, hub);
            untagged.retain(|name| self.names.contains(name));
            let untagged = role_search::of_untagged(survey, &untagged);
            query.role_names |= untagged.role_names || role_search::needs_names(survey, &self.names);
            for (role, policies) in untagged.roles {
                query.roles.entry(role).or_insert(policies);
            }
        }
        query.resources.extend(second_source::to_read(survey));
        query.resources.retain(|id| survey.observed.get(id).is_none());
        query
    }

    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked> {
        let scope = &survey.scope;
        none_being_deleted(survey, [scope.dead_letter_queue()])?;
        let hub = saved_options(survey)?;
        confirm::prefix(survey)?;
        none_being_deleted(survey, self.names.iter().map(|name| survey.cluster_queue(name)))?;
        let (mut desired, mut observed) = (Desired::default(), Observed::default());
        let mut clusters = Vec::new();
        let (mut missing, mut not_found, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        for name in &self.names {
            let queue = survey.cluster_queue(name);
            refusals.extend(plan::check_queue_name(scope, name, &queue).err());
            let role = match self.decide(survey, name) {
                RoleDecision::Role(role) => Some(role),
                RoleDecision::Unmanaged => None,
                RoleDecision::NotFound(search) => {
                    not_found.push(search);
                    continue;
                }
                RoleDecision::Missing(role) => {
                    missing.push(role);
                    continue;
                }
                RoleDecision::Open => match &survey.role_names {
                    Fact::Unreadable(fault) => {
                        return Err(Blocked::CallFailed("list the roles", Box::new(fault.clone())));
                    }
                    _ => continue,
                },
            };
            let cluster = self.cluster(survey, hub, name, role)?;
            let mut roles = roles_with_policy(survey, name, &queue);
            roles.extend(cluster.controller_role.clone());
            roles.extend(survey.queue_tags(name).and_then(Tags::controller_role));
            observed.extend(of_cluster(survey, name, &roles));
            desired.extend(cluster.desired(scope, hub));
            clusters.push(cluster);
        }
        if !refusals.is_empty() {
            return Err(Blocked::Refused(refusals));
        }
        if !missing.is_empty() {
            return Err(Blocked::NoSuchRoles(missing));
        }
        if !not_found.is_empty() {
            return Err(Blocked::RolesNotFound(not_found));
        }
        readable(&observed)?;
        let old_keys = old_key::keep(survey, &observed, &mut desired, Leaves::WhenUnused);
        let mut roles = controllers::check(survey, &desired);
        second_source::by_name(&mut roles.second_sources, survey, &clusters);
        let plan = plan::plan(scope, &desired, &observed);
        let mut refusals = plan::check(scope, &plan, &observed);
        refusals.extend(roles.refusals);
        if self.role == RoleOption::Search {
            refusals.extend(role_search::check(survey, &plan));
        }
        refusals.extend(confirm::key_of_clusters(survey, hub, &plan));
        refusals.extend(confirm::locks(survey, &HubOptions::default(), &plan));
        let mut warnings = roles.warnings;
        warnings.extend(senders::stopped(scope, &plan));
        warnings.extend(old_keys.warnings);
        if self.lacks_queue(survey) {
            warnings.extend(confirm::unread_prefix(survey)?);
        }
        let controllers: Vec<Controller> = clusters.iter().map(Controller::of).collect();
        let next = if self.show_settings || self.changes_settings(&plan) {
            let mut next = policies_to_attach(survey, hub, &clusters);
            next.push(NextStep::ConfigureKarpenter(controllers));
            next
        } else {
            vec![NextStep::RemindOfSettings(controllers)]
        };
        Ok(Intent {
            plan,
            refusals,
            warnings,
            second_sources: roles.second_sources,
            unchanged: unchanged(&self.names),
            next,
            clusters: clusters
                .iter()
                .map(|cluster| ClusterSummary::of(scope, cluster))
                .collect(),
            ..Intent::default()
        })
    }
}

impl Request {
    /// Whether what may be needed is read in the first round.
    fn is_small(&self) -> bool {
        self.names.len() <= BY_NAME
    }

    fn lacks_queue(&self, survey: &Survey) -> bool {
        self.names.iter().any(|name| survey.queue_tags(name).is_none())
    }

    fn cluster(
        &self,
        survey: &Survey,
        hub: &HubOptions,
        name: &ClusterName,
        role: Option<RoleName>,
    ) -> Result<Cluster, Blocked> {
        let saved = survey.saved_tags(name).map(ClusterOptions::saved).transpose()?;
        let options = self.options.clone().or(saved.unwrap_or_default());
        Ok(Cluster::new(
            &survey.scope,
            &hub.queue_prefix(),
            name.clone(),
            role,
            options,
        ))
    }

    /// The controller role of a cluster: named now, or saved, or found.
    fn decide(&self, survey: &Survey, name: &ClusterName) -> RoleDecision {
        let tags = survey.saved_tags(name);
        let saved = tags.and_then(Tags::controller_role);
        match (&self.role, saved) {
            (RoleOption::Unmanaged, _) => RoleDecision::Unmanaged,
            (RoleOption::Named(template), saved) => match template.role(name) {
                Ok(role) => existing(survey, name, role, saved),
                Err(_) => RoleDecision::NotFound(RoleSearch::nothing(name)),
            },
            (RoleOption::Search, Some(role)) => existing(survey, name, role.clone(), Some(role)),
            // A cluster that is registered without a role stays without one until a role is named.
            (RoleOption::Search, None) if tags.is_some_and(|tags| tags.belong_to(&survey.scope.bus)) => {
                RoleDecision::Unmanaged
            }
            (RoleOption::Search, None) => match role_search::find(survey, name) {
                Found::One(role) => RoleDecision::Role(role),
                Found::NotOne(search) => RoleDecision::NotFound(search),
                Found::Open => RoleDecision::Open,
            },
        }
    }

    /// Whether the Karpenter setting is new: a new queue, or another version.
    fn changes_settings(&self, plan: &Plan) -> bool {
        let new_queue = |change: &Change| {
            matches!(change.action, Action::Create | Action::Replace) && matches!(change.id, ResourceId::Queue(_))
        };
        self.options.karpenter_version.is_some()
            || self.role == RoleOption::Unmanaged
            || plan.changes.iter().any(new_queue)
    }
}

/// The decision for a named or saved role, which may not exist.
fn existing(survey: &Survey, cluster: &ClusterName, role: RoleName, saved: Option<RoleName>) -> RoleDecision {
    let absent = match survey.roles.get(&role) {
        Some(Fact::Absent) => true,
        Some(Fact::Unreadable(_)) => survey.observed.get(&ResourceId::Role(role.clone())) == Some(&Reading::Absent),
        _ => false,
    };
    if !absent {
        return RoleDecision::Role(role);
    }
    let similar = survey.role_names.present().map(|all| similar(cluster, all));
    RoleDecision::Missing(MissingRole {
        cluster: cluster.clone(),
        saved: saved.as_ref() == Some(&role),
        role,
        similar: similar.unwrap_or_default().into_iter().cloned().collect(),
    })
}

/// The policies that controller roles need where kibus does not manage one. Clusters with the same policy share it.
fn policies_to_attach(survey: &Survey, hub: &HubOptions, clusters: &[Cluster]) -> Vec<NextStep> {
    let mut alike: BTreeMap<bool, Vec<&Cluster>> = BTreeMap::new();
    for cluster in clusters.iter().filter(|cluster| cluster.controller_role.is_none()) {
        let version = cluster.options.karpenter_version;
        let asks = version.is_some_and(KarpenterVersion::asks_queue_attributes);
        alike.entry(asks).or_default().push(cluster);
    }
    alike
        .into_iter()
        .filter_map(|(asks, clusters)| {
            let first = clusters.first()?;
            Some(NextStep::AttachPolicy {
                policy: policy::controller(&survey.scope, &first.queue, asks, hub.key()),
                clusters: clusters.into_iter().map(Controller::of).collect(),
            })
        })
        .collect()
}

fn unchanged(names: &BTreeSet<ClusterName>) -> String {
    match names.iter().collect::<Vec<_>>().as_slice() {
        [one] => format!("No changes. {one} is up to date."),
        several => format!("No changes. {} clusters are up to date.", several.len()),
    }
}
