//! What must be read for a target. The first query asks for all that no answer is needed for; each further one depends on
//! the survey so far.

use std::collections::BTreeSet;

use super::target::{HubTarget, Others, RoleOption, Target};
use super::{
    adoption, clusters, duplicate_rule, eks_query, hub, key, names, orphan, redrive, role_search, second_source,
};
use crate::model::cluster::Cluster;
use crate::model::controller_role::usual_names;
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, QueueName};
use crate::model::resource::ResourceId;
use crate::model::settings::Settings;
use crate::survey::{Policies, Query, Saved, Survey};
use clusters::RoleDecision;

/// Up to this many clusters, the usual roles are read by name. For more clusters, one list of all roles needs fewer calls.
const BY_NAME: usize = 10;

/// What must be read for a target, as far as it is known from the survey so far. The survey leaves out what was read.
#[must_use]
pub fn needs(target: &Target, survey: &Survey) -> Query {
    let mut query = match survey.began() {
        false => return first(target),
        true => Query::default(),
    };
    // Without settings there is no plan, and the hub tells whether they are lost.
    if matches!(survey.saved(), Saved::Absent | Saved::Bad(_)) {
        query.hub = !survey.has_read_hub();
    }
    let Ok((before, after)) = hub::settings(survey, target) else {
        return query;
    };
    of_hub(target, survey, before.as_ref(), &after, &mut query);
    of_set_clusters(target, survey, &after, &mut query);
    of_names(target, survey, &mut query);
    if target.others == Others::Remove || target.is_check() {
        query.clusters.extend(orphan::to_tell(survey));
    }
    query
}

fn first(target: &Target) -> Query {
    let (set, removed) = (target.set(), target.removed());
    let all = target.is_check() || target.others == Others::Remove;
    let controller_roles = [
        (!set.is_empty()).then_some(Policies::AllAndManaged),
        target.is_check().then_some(Policies::All),
        (all || !removed.is_empty()).then_some(Policies::OfBus),
    ];
    let mut query = Query {
        hub: !matches!(target.hub, HubTarget::Leave),
        clusters: set.keys().chain(removed.keys()).copied().cloned().collect(),
        usual_queues: set.keys().copied().cloned().collect(),
        all_clusters: all,
        orphans: all,
        controller_roles: controller_roles.into_iter().flatten().next(),
        function_mappings: target.is_check(),
        function_permissions: target.plans_hub(),
        dropped_clusters: target.is_check() && target.others == Others::Keep,
        event_rules: target.is_check() || target.adopting().next().is_some(),
        new_prefix: target
            .setting()
            .and_then(|setting| setting.options.queue_prefix.clone()),
        ..Query::default()
    };
    for (name, setting) in &set {
        match &setting.role {
            RoleOption::Unmanaged => {}
            RoleOption::Named(template) => {
                let role = template.role(name).ok();
                query.roles.extend(role.map(|role| (role, Policies::AllAndManaged)));
            }
            RoleOption::Search if set.len() <= BY_NAME => {
                let roles = usual_names(name).into_iter();
                query.roles.extend(roles.map(|role| (role, Policies::AllAndManaged)));
            }
            RoleOption::Search => query.role_names = true,
        }
    }
    query
}

fn of_hub(target: &Target, survey: &Survey, before: Option<&Settings>, after: &Settings, query: &mut Query) {
    match &target.hub {
        HubTarget::Set(_) => {
            let follow = hub::clusters_follow(before, after);
            let untagged = role_search::of_untagged(survey, &key::rekeyed_without_role(survey, &after.options));
            query.all_clusters |= follow && !survey.discovered.is_asked();
            if query.all_clusters {
                query.controller_roles = Some(Policies::All);
            }
            query.roles.extend(untagged.roles);
            query.role_names |=
                follow && (untagged.role_names || role_search::needs_names(survey, survey.registered().keys()));
        }
        HubTarget::Keep(_) => {
            let queues = clusters::kept_by_queue(survey, target);
            if !queues.is_empty() {
                query.rule_targets = duplicate_rule::to_read(survey);
            }
            query.dead_letter_sources = redrive::to_read(survey, queues.into_keys());
        }
        HubTarget::RollBack(_) | HubTarget::Leave | HubTarget::Remove => {}
    }
    query.versions.extend(hub::versions_to_read(survey, target));
    if target.plans_hub() {
        query.key = key::to_read(survey, after.options.key()).cloned();
        query.concurrency = after.options.reserved() > hub::live_reserved(survey);
    }
}

fn of_set_clusters(target: &Target, survey: &Survey, hub: &Settings, query: &mut Query) {
    let set = target.set();
    if set.is_empty() {
        return;
    }
    let names: BTreeSet<ClusterName> = set.keys().copied().cloned().collect();
    for (name, setting) in &set {
        match clusters::decide(survey, name, setting) {
            RoleDecision::Role(role) => match survey.roles.get(&role) {
                // Who may not list the policies of a role may still be allowed to read the one of kibus.
                Some(Fact::Unreadable(_)) => {
                    query.resources.insert(Cluster::policy_id(&survey.scope, name, &role));
                    query.resources.insert(ResourceId::Role(role));
                }
                _ => drop(query.roles.insert(role, Policies::AllAndManaged)),
            },
            // Evidence may name a role without the names of all.
            RoleDecision::Open => query.role_names |= !eks_query::is_open(survey, name, setting),
            RoleDecision::Missing(_) => query.role_names = true,
            // One of the candidates may still have the policy of the cluster.
            RoleDecision::NotFound(search) => {
                for role in search.found {
                    query.roles.insert(role, Policies::AllAndManaged);
                }
            }
            RoleDecision::Unmanaged => {}
        }
    }
    let evidence = eks_query::to_read(survey, target);
    query.role_names |= evidence.role_names;
    query.eks = evidence.eks;
    let searched = |name: &ClusterName| set.get(name).is_some_and(|setting| setting.role == RoleOption::Search);
    let mut untagged = key::rekeyed_without_role(survey, &hub.options);
    untagged.retain(searched);
    let untagged = role_search::of_untagged(survey, &untagged);
    let confirmed = role_search::needs_names(survey, names.iter().filter(|name| searched(name)));
    query.role_names |= untagged.role_names || confirmed;
    for (role, policies) in untagged.roles {
        query.roles.entry(role).or_insert(policies);
    }
    query.resources.extend(second_source::to_read(survey));
    let adopted = target.adopting().map(|name| survey.cluster_queue(name));
    let exists = |queue: &QueueName| survey.observed.queue(queue.clone()).is_some();
    query.dead_letter_sources.extend(adopted.filter(exists));
    query.rule_targets.extend(adoption::rules_to_read(survey, target));
}

/// What tells whether names that are not registered are of earlier clusters.
fn of_names(target: &Target, survey: &Survey, query: &mut Query) {
    let (kept, removed) = (target.kept(), target.removed().into_keys().cloned().collect());
    let unregistered = names::unregistered(survey, &removed);
    let listed = survey.discovered.is_asked();
    let mut roles = names::roles(survey, &kept);
    if !listed && !unregistered.is_empty() {
        roles.extend(names::roles(survey, &removed));
        (query.all_clusters, query.orphans) = (true, true);
    }
    query.roles.extend(roles);
    query.clusters.extend(kept);
}
