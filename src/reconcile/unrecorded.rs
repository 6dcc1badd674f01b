//! Resources with the tags or names of this bus but without a record: they are found and reported, but never changed or counted.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::unanswered;
use super::roles;
use super::target::Target;
use super::{Case, Say};
use crate::error::{Hint, quoted};
use crate::message::{Fix, Message};
use crate::model::{
    ClusterName, Fact, FindingCode, Queue, QueueName, ResourceId, RoleName, Scope, is_usual_role, tags::CLUSTER,
};
use crate::survey::Survey;

/// The two ways to record a queue of a cluster that exists. `adopt` is the whole command for the second.
pub(super) fn ways_to_record(scope: &Scope, cluster: &ClusterName, message: Message, adopt: String) -> Message {
    let external = scope.kibus(format!("add-cluster {cluster} --external"));
    message
        .then("if another tool manages it and will keep managing it, record it as is:", external)
        .then("if kibus should take it over, which replaces its policy, and lets `remove-cluster` delete it:", adopt)
}

/// Requests resources without a record: queues by their tags, and policies on roles that records name or that have usual names.
pub(super) fn seek(survey: &Survey) {
    survey.tagged_queues();
    let recorded = survey.recorded();
    let named: BTreeSet<RoleName> = recorded.values().flat_map(|record| record.roles()).collect();
    let usual = roles::listed(survey).filter(|role| is_usual_role(role)).cloned();
    for role in named.into_iter().chain(usual).collect::<BTreeSet<_>>() {
        survey.roles(&role);
    }
}

/// The queues with the tags of a cluster on the bus whose cluster has no record, or has another queue.
pub(super) fn queues(survey: &Survey) -> BTreeMap<QueueName, &Queue> {
    if survey.records().present().is_none() {
        return BTreeMap::new();
    }
    let recorded = survey.recorded();
    let of_records: BTreeSet<&QueueName> = recorded.values().map(|record| &record.queue).collect();
    let hub = survey.scope.hub_queues();
    let tagged = survey.tagged_queues().present().into_iter().flat_map(BTreeMap::keys);
    let unknown = tagged.filter(|name| !of_records.contains(name) && !hub.contains(name));
    // The tagging API lags, so each queue is read.
    let found = unknown.filter_map(|name| survey.queue(name));
    let found = found.filter(|queue| queue.tags.belong_to(&survey.scope.bus) && queue.tags.get(CLUSTER).is_some());
    found.map(|queue| (queue.name.clone(), queue)).collect()
}

/// The policies named after this bus that no record explains: the role and the name of each.
fn policies(survey: &Survey) -> BTreeSet<(RoleName, String)> {
    let recorded = survey.recorded();
    let explained: BTreeSet<(RoleName, String)> = recorded
        .iter()
        .flat_map(|(cluster, record)| {
            let name = survey.scope.controller_policy(cluster).to_string();
            record.roles().into_iter().map(move |role| (role, name.clone()))
        })
        .collect();
    let found = survey.known.roles.iter().flat_map(|(role, policies)| {
        let names = policies.present().into_iter().flat_map(BTreeMap::keys);
        names.map(move |name| (role.clone(), name.clone()))
    });
    found.filter(|found| !explained.contains(found)).collect()
}

/// Findings about resources without a record. A record counts as absent only after several reads.
pub(super) fn findings(survey: &Survey, target: &Target) -> Vec<Message> {
    if survey.records().present().is_none() {
        return Vec::new();
    }
    seek(survey);
    let mut findings = Vec::new();
    for (name, queue) in queues(survey) {
        let cluster = queue.tags.cluster_of(&survey.scope.bus);
        if !target.checks_queue(cluster.as_ref()) {
            continue;
        }
        let is_recorded = cluster.as_ref().is_some_and(|cluster| survey.record(cluster).is_some());
        let is_absent = |cluster: &ClusterName| survey.absent_records(cluster).present() == Some(&true);
        if is_recorded || cluster.as_ref().is_none_or(is_absent) {
            findings.push(of_queue(survey, name, cluster));
        }
    }
    for (role, policy) in policies(survey) {
        let cluster = policy.parse().ok().and_then(|policy| survey.scope.cluster_of_policy(&policy));
        let confirmed = match &cluster {
            Some(cluster) if survey.record(cluster).is_none() => {
                survey.absent_records(cluster).present() == Some(&true)
            }
            _ => true,
        };
        if confirmed && target.checks_queue(cluster.as_ref()) {
            findings.push(of_policy(&survey.scope, &role, &policy, cluster));
        }
    }
    findings
}

fn of_queue(survey: &Survey, name: QueueName, cluster: Option<ClusterName>) -> Message {
    let scope = &survey.scope;
    let wanted = cluster.as_ref().map(|cluster| survey.cluster_queue(cluster));
    let message = match (&cluster, &wanted) {
        (Some(cluster), Some(wanted)) if *wanted == name => {
            format!("has the tags of cluster `{cluster}`, which has no record: the router still delivers to it")
        }
        (Some(cluster), Some(wanted)) => {
            format!("has the tags of cluster `{cluster}`, whose queue is `{wanted}`: the router does not deliver to it")
        }
        _ => "has a cluster tag with an invalid cluster name".to_owned(),
    };
    let untag = format!(
        "sqs untag-queue --queue-url {} --tag-keys kibus:bus kibus:cluster --region {}",
        scope.queue_url(None, &name),
        scope.region
    );
    let is_its = wanted.as_ref() == Some(&name);
    let mut finding = Message::finding(scope, FindingCode::Unrecorded, name, message).fixed_by(Fix::Advice(Vec::new()));
    if let Some(cluster) = cluster.as_ref().filter(|_| is_its) {
        let adopt = scope.kibus(format!("add-cluster {cluster} --adopt"));
        finding = ways_to_record(scope, cluster, finding, adopt);
    }
    finding
        .then("if it does not belong on the bus, remove its tag, with permission to change tags:", scope.aws(untag))
        .in_cluster(cluster)
}

fn of_policy(scope: &Scope, role: &RoleName, policy: &str, cluster: Option<ClusterName>) -> Message {
    let id = policy.parse().map(|name| ResourceId::RolePolicy(role.clone(), name));
    let message = match &cluster {
        Some(cluster) => format!("role `{role}` has it, but no record says that cluster `{cluster}` uses this role"),
        None => format!("role `{role}` has it, but its name does not belong to any cluster"),
    };
    let delete =
        format!("iam delete-role-policy --role-name {} --policy-name {}", quoted(role.as_str()), quoted(policy));
    let finding = match id {
        Ok(id) => Message::finding(scope, FindingCode::Unrecorded, id, message),
        Err(_) => Message::finding(scope, FindingCode::Unrecorded, policy, message),
    };
    let hint =
        Hint::command("if no Karpenter needs it, delete it, with permission to change the role:", scope.aws(delete));
    finding.fixed_by(hint).in_cluster(cluster)
}

/// What could not be searched for.
pub(super) fn unknown(case: &Case<'_>, say: &mut Say) {
    let (survey, scope) = (case.survey, &case.survey.scope);
    if survey.records().fault().is_some() {
        return;
    }
    if let Fact::Unreadable(fault) = survey.tagged_queues() {
        let what = "unknown whether queues have the tags of this bus but no record";
        say.unread(scope, "tags of queues", fault, unanswered(scope, what, fault));
    }
    if let Fact::Unreadable(fault) = survey.listed_roles() {
        let what = "unknown whether roles have policies of this bus that no record explains";
        say.unread(scope, "controller roles", fault, unanswered(scope, what, fault));
    }
}

/// What a teardown leaves because no record shows that it belongs to kibus.
pub(super) fn left(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    seek(case.survey);
    for (name, queue) in queues(case.survey) {
        let cluster = queue.tags.cluster_of(&scope.bus);
        let text = format!("queue `{name}` has the tags of this bus but no record, and stays");
        say.warn(match cluster {
            Some(cluster) => Hint::command(
                format!("{text}. To delete it with the bus, first let kibus adopt it:"),
                scope.kibus(format!("add-cluster {cluster} --adopt")),
            ),
            None => Hint::text(text),
        });
    }
    for (role, policy) in policies(case.survey) {
        say.warn(Hint::text(format!(
            "role `{role}` keeps policy `{}`, which no record explains",
            policy.escape_debug()
        )));
    }
}
