//! What must be read for a target. The first query asks for all that no answer is needed for; each further one depends on
//! the survey so far.

use std::collections::BTreeSet;

use super::target::{HubTarget, Others, RoleOption, Target};
use super::{
    adoption, clusters, controller_access, duplicate_rule, eks_query, hub, key, names, orphan, redrive, role_search,
};
use crate::discover;
use crate::model::cluster::Cluster;
use crate::model::controller_role::usual_names;
use crate::model::fact::Fact;
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, QueueName};
use crate::model::resource::ResourceId;
use crate::model::settings::Settings;
use crate::survey::{EksQuery, Query, Saved, Survey};
use clusters::RoleDecision;

/// Up to this many clusters, the usual roles are read by name. For more clusters, one list of all roles needs fewer calls.
const BY_NAME: usize = 10;

/// What must be read for a target, as far as it is known from the survey so far. The survey leaves out what was read.
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
    of_set_clusters(target, survey, &mut query);
    of_names(target, survey, &mut query);
    let access = controller_access::to_read(survey, target);
    query.role_names |= access.role_names;
    query.controller_access = access.controller_access;
    if target.others == Others::Remove || target.is_check() {
        query.clusters.extend(orphan::to_tell(survey));
    }
    query
}

fn first(target: &Target) -> Query {
    let (set, removed) = (target.set(), target.removed());
    let all = target.is_check() || target.others == Others::Remove;
    let mut query = Query {
        hub: !matches!(target.hub, HubTarget::Leave),
        clusters: set.keys().chain(removed.keys()).copied().cloned().collect(),
        usual_queues: set.keys().copied().cloned().collect(),
        all_clusters: all,
        orphans: all,
        controller_roles: all || !set.is_empty() || !removed.is_empty(),
        function_mappings: target.is_check(),
        function_permissions: target.plans_hub(),
        dropped_clusters: target.is_check() && target.others == Others::Keep,
        event_rules: target.is_check() || target.adopting().next().is_some(),
        new_prefix: target
            .setting()
            .and_then(|setting| setting.options.queue_prefix.clone()),
        eks: EksQuery {
            clusters: set.len() <= BY_NAME && set.values().any(|setting| setting.asks_eks),
            ..EksQuery::default()
        },
        ..Query::default()
    };
    for (name, setting) in &set {
        let asks_ec2 = setting.karpenter_version.is_some_and(KarpenterVersion::asks_ec2);
        query.role_names |= asks_ec2 && setting.role != RoleOption::Unmanaged;
        match &setting.role {
            RoleOption::Unmanaged => {}
            RoleOption::Named(template) => {
                let role = template.role(name).ok();
                query.roles.extend(role);
            }
            RoleOption::Search if set.len() <= BY_NAME => {
                query.roles.extend(usual_names(name));
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
            query.all_clusters |= follow && !survey.discovered.is_asked();
            query.controller_roles |= query.all_clusters;
            if follow {
                roles(role_search::to_read(survey, survey.registered().keys()), query);
            }
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

fn of_set_clusters(target: &Target, survey: &Survey, query: &mut Query) {
    let set = target.set();
    if set.is_empty() {
        return;
    }
    let names: BTreeSet<ClusterName> = set.keys().copied().cloned().collect();
    for (name, setting) in &set {
        let decision = clusters::decide(survey, name, setting);
        if adoption::takes_over(survey, name, setting) {
            query.rule_targets = discover::rules_to_read(survey);
            if let RoleDecision::Role(role) = &decision {
                query.all_policies.insert(role.clone());
            }
        }
        match decision {
            RoleDecision::Role(role) => match survey.roles.get(&role) {
                // Who may not list the policies of a role may still be allowed to read the one of kibus.
                Some(Fact::Unreadable(_)) => {
                    query.resources.insert(Cluster::policy_id(&survey.scope, name, &role));
                    query.resources.insert(ResourceId::Role(role));
                }
                _ => drop(query.roles.insert(role)),
            },
            // Evidence may name a role without the names of all.
            RoleDecision::Open => query.role_names |= !eks_query::is_open(survey, name, setting),
            RoleDecision::Missing(_) => query.role_names = true,
            // One of the candidates may still have the policy of the cluster.
            RoleDecision::NotFound(search) => query.roles.extend(search.candidates.into_keys()),
            RoleDecision::Unmanaged => {}
        }
    }
    let evidence = eks_query::to_read(survey, target);
    query.role_names |= evidence.role_names;
    query.eks = evidence.eks;
    let unmanaged = |name: &&ClusterName| {
        set.get(*name)
            .is_some_and(|setting| setting.role == RoleOption::Unmanaged)
    };
    let searched = names.iter().filter(|name| !unmanaged(name));
    roles(role_search::to_read(survey, searched), query);
    let adopted = target.adopting().map(|name| survey.cluster_queue(name));
    let exists = |queue: &QueueName| survey.observed.queue(queue.clone()).is_some();
    query.dead_letter_sources.extend(adopted.filter(exists));
}

fn roles(read: Query, query: &mut Query) {
    query.role_names |= read.role_names;
    query.roles.extend(read.roles);
}

/// What tells whether names that are not registered are of earlier clusters, and which roles have policies of those that are.
fn of_names(target: &Target, survey: &Survey, query: &mut Query) {
    let (kept, removed) = (target.kept(), target.removed().into_keys().cloned().collect());
    roles(role_search::to_read(survey, &removed), query);
    let unregistered = names::unregistered(survey, &removed);
    let listed = survey.discovered.is_asked();
    let mut usual = names::roles(survey, &kept);
    if !listed && !unregistered.is_empty() {
        usual.extend(names::roles(survey, &removed));
        (query.all_clusters, query.orphans) = (true, true);
    }
    query.roles.extend(usual);
    query.clusters.extend(kept);
}
