//! All guards: what refuses a target, whichever command made it. A guard that does not apply says so by its condition.

use std::collections::BTreeSet;

use super::roles::{self, FoundRole, permitted};
use super::target::{HubSetting, Target, Wish, checked_clusters};
use super::{Case, OPTIONS, Rule, Say, adoption, external, grants, hub, router, topics};
use crate::error::{listed, quoted};
use crate::message::{Fix, Message, Subject};
use crate::model::{
    ClusterName, FindingCode, HubOptions, Resource, ResourceId, RoleName, Scope, Settings, default_queue_prefix,
    settings::LONGEST,
};
use crate::plan;
use crate::survey::Survey;

/// The guards of a plan with the targets that they apply to, in the order in which refusals are shown.
pub(super) const OF_PLAN: &[Rule] = &[
    (Target::plans_hub, key_of_another_region),
    (Target::plans_hub, too_little_concurrency),
    (Target::plans_hub, topics::of_notices),
    (Target::plans_hub, topics::of_alarms),
    (Target::is_any, unsafe_changes),
    // Queues of clusters that are not of this bus, and are not taken over, or not completely.
    (Target::is_any, adoption::queues_of_others),
    // Adopted queues whose messages would be lost, or that others redrive into.
    (Target::is_any, adoption::unfit_queues),
    (Target::is_any, external::removals),
    (Target::is_any, unclear_roles),
    // Changes that need a new version of the router, unless the rollback ends.
    (Target::sets_hub, |case, say| {
        say.refusals.extend(router::change_during_a_rollback(case));
    }),
    (Target::is_any, grants::keys),
    (Target::is_any, too_long_settings),
    (|target| target.is_check() && target.checks_all() || matches!(target.hub, Wish::Remove), drill_left),
];

/// The refusals that need no plan. A request with one is not planned, unless it is a check.
pub(super) fn of_request(
    survey: &Survey,
    target: &Target,
    before: Option<&Settings>,
    after: &Settings,
) -> Vec<Message> {
    // Applies if the hub's policies are planned.
    let planned = target.plans_hub().then_some(&after.options);
    let guards = [unnamed_queues, topics::unusable];
    let mut refusals: Vec<Message> = guards.iter().filter_map(|guard| guard(&survey.scope, planned?)).collect();
    if before.is_some_and(|before| before.options.queue_prefix() != after.options.queue_prefix()) {
        refusals.extend(prefix_in_use(survey, target));
    }
    let hub = survey.scope.hub_queues();
    let queues = target.set().map(|(name, _)| (name, survey.cluster_queue(name)));
    let taken = queues.filter(|(_, queue)| hub.contains(queue));
    refusals.extend(taken.map(|(name, queue)| {
        let sentence = format!("the queue of cluster `{name}` would be `{queue}`, which is a queue of the hub");
        Message::refusal(FindingCode::QueueNameTaken, queue, sentence).advise("use another queue prefix or another bus")
    }));
    refusals.extend(target.set().filter_map(|(name, _)| external::refusal(survey, name)));
    refusals
}

/// Refuses an empty prefix without tag conditions: then the policies name queues only by their prefix, and would open every
/// queue of the account.
pub fn unnamed_queues(scope: &Scope, options: &HubOptions) -> Option<Message> {
    let refused = options.queue_prefix().as_str().is_empty() && !options.tag_conditions(&scope.region);
    let sentence = format!(
        "the queue prefix cannot be empty in {}: without tag conditions for SQS, the policies would cover every queue of the \
         account",
        scope.region
    );
    refused.then(|| {
        Message::refusal(FindingCode::OptionNotApplicable, OPTIONS, sentence).then(
            "set a prefix that no other queue of the account has:",
            scope.kibus(format!("bootstrap-hub --queue-prefix {}", default_queue_prefix())),
        )
    })
}

/// Another prefix than that of registered clusters.
fn prefix_in_use(survey: &Survey, target: &Target) -> Option<Message> {
    let set = target.set().map(|(name, _)| name.clone());
    let mut clusters: BTreeSet<ClusterName> = survey.clusters().into_keys().chain(set).collect();
    clusters.retain(|name| survey.external_queue(name).is_none());
    let names: Vec<&str> = clusters.iter().map(ClusterName::as_str).collect();
    let sentence = format!("the queue prefix cannot change while clusters are registered: {}", listed(&clusters));
    (!clusters.is_empty()).then(|| {
        Message::refusal(FindingCode::QueueNameTaken, OPTIONS, sentence).then(
            "queue names begin with the prefix; to change it, remove the clusters, and add them again afterwards",
            survey.scope.kibus(format!("remove-cluster {}", names.join(" "))),
        )
    })
}

/// A drill that runs or was cut off: without the bus, nobody would look for what it has made.
fn drill_left(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    let (name, listed) = (scope.drill_role(), case.survey.known.listed_roles.present());
    if listed.is_none_or(|listed| !listed.contains_key(&name)) {
        return;
    }
    let id = ResourceId::Role(name);
    let tags = case.survey.resource(&id).present().and_then(Resource::tags);
    if tags.is_some_and(|tags| tags.belong_to(&scope.bus)) {
        let message = format!("{id} is of a drill, which runs now or was cut off");
        let refusal = Message::refusal(FindingCode::DrillLeft, id, message);
        say.refusals.push(refusal.fixed_by(Fix::Command(scope.kibus("drill --clean"))));
    }
}

/// A key that SQS does not accept.
fn key_of_another_region(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    if let Some(key) = case.after.options.key()
        && !hub::is_of_region(scope, key)
    {
        let sentence = format!(
            "KMS key `{key}` is not in {} of partition {}: a queue and its key must be in the same Region",
            scope.region, scope.partition
        );
        say.refusals.push(
            Message::refusal(FindingCode::OptionNotApplicable, OPTIONS, sentence)
                .advise("use a key of this Region, or `--kms-key none` for SSE-SQS"),
        );
    }
}

/// More reserved concurrency than the account has left, as far as that was read.
fn too_little_concurrency(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    let (wanted, live) = (case.after.options.reserved(), hub::live_reserved(case.survey));
    if wanted <= live {
        return;
    }
    let left = case.survey.unreserved_concurrency().present();
    if let Some((wanted, most)) = left.and_then(|left| too_much_reserved(wanted, live, *left)) {
        let sentence =
            format!("the account cannot reserve {wanted} concurrent invocations for the router: the maximum is {most}");
        let function = ResourceId::Function(scope.router_function());
        let refusal = Message::refusal(FindingCode::OptionNotApplicable, function, sentence);
        let quota = "Lambda keeps 100 unreserved; request more concurrency in Service Quotas, or";
        say.refusals.push(match most {
            0 => refusal.advise(format!("{quota} omit --reserved-concurrency")),
            most => refusal.then(
                format!("{quota} reserve less"),
                scope.kibus(format!("bootstrap-hub --reserved-concurrency {most}")),
            ),
        });
    }
}

/// The concurrency that Lambda keeps for functions without a reservation (Lambda developer guide, "Configuring reserved
/// concurrency").
const UNRESERVED: u32 = 100;

/// `live` is the current reservation of the function, and `unreserved` the concurrency of the account that no function has
/// reserved. Less than before always fits, whatever others have taken meanwhile.
fn too_much_reserved(wanted: Option<u32>, live: Option<u32>, unreserved: u32) -> Option<(u32, u32)> {
    let (wanted, live) = (wanted?, live.unwrap_or(0));
    let most = (unreserved + live).saturating_sub(UNRESERVED);
    (wanted > live && wanted > most).then_some((wanted, most))
}

/// What this bus does not manage, another cluster's resource, a failed function, an older router, other settings.
fn unsafe_changes(case: &Case<'_>, say: &mut Say) {
    // Only the function says whether the alias is ours, and a rollback does not compare it.
    let owners = match case.target.hub {
        Wish::Set(HubSetting::RollBack(_)) => &case.survey.observed,
        _ => &case.observed,
    };
    let may_downgrade = case.target.bootstraps().is_some_and(|given| given.allow_downgrade);
    let removes = case.applied().next().is_some() && case.applied().all(|change| change.after.is_none());
    let mut refusals = plan::check(&case.survey.scope, &case.plan, owners, removes);
    let judged = adoption::judged(case);
    refusals.retain(|refusal| match (refusal.code, &refusal.about) {
        (Some(FindingCode::NewerRouter), _) => !may_downgrade,
        (Some(FindingCode::NotManaged), Subject::Resource(id)) => !judged.contains(id),
        _ => true,
    });
    say.refusals.extend(refusals);
}

/// Clusters whose policies do not say which role they have. Applies to what is checked.
fn unclear_roles(case: &Case<'_>, say: &mut Say) {
    let kept = checked_clusters(case.survey, case.target);
    let unclear = kept.keys().flat_map(|cluster| unclear(case.survey, cluster));
    say.refusals.extend(unclear);
}

fn unclear(survey: &Survey, cluster: &ClusterName) -> Vec<Message> {
    let FoundRole::NotOne(search) = roles::find(survey, cluster) else {
        return Vec::new();
    };
    let policy = survey.scope.controller_policy(cluster);
    let holders = permitted(survey, cluster);
    let tagged = roles::tagged(survey, cluster);
    let add_with = |role: &RoleName| {
        let role = quoted(role.as_str());
        survey.scope.kibus(format!("add-cluster {cluster} --controller-role {role}"))
    };
    let Some(first) = tagged.clone().filter(|role| holders.contains(role)).or(holders.first().cloned()) else {
        let refusal = |role: RoleName| {
            let is_only = search.candidates.keys().eq([&role]);
            let (text, command) = if is_only {
                (
                    format!(
                        "a tag alone grants nothing; if the controller of `{cluster}` runs as `{role}`, confirm it"
                    ),
                    add_with(&role),
                )
            } else {
                (
                    "a tag alone grants nothing, and other roles may be the one; to take the one that EKS shows, or list them"
                        .to_owned(),
                    survey.scope.kibus(format!("add-cluster {cluster}")),
                )
            };
            let id = ResourceId::RolePolicy(role, policy.clone());
            let sentence =
                format!("{id} is missing, and only a tag of the queue of cluster `{cluster}` names this role");
            Message::refusal(FindingCode::ControllerPolicyMissing, id, sentence).then(text, command)
        };
        let exists = roles::gone(survey, cluster).is_none();
        return tagged.filter(|_| exists).map(refusal).into_iter().collect();
    };
    let others = holders.into_iter().filter(|role| *role != first);
    // As an interrupted change of role leaves it.
    let refusal = |role| {
        let id = ResourceId::RolePolicy(role, policy.clone());
        let sentence = format!("{id} exists, and role `{first}` has the policy of cluster `{cluster}` too");
        let text = format!("keep the role that the controller of `{cluster}` runs as; if that is `{first}`");
        Message::refusal(FindingCode::NotConfigured, id, sentence).then(text, add_with(&first))
    };
    others.map(refusal).collect()
}

/// Settings that do not fit into their parameter.
fn too_long_settings(case: &Case<'_>, say: &mut Say) {
    let length = case.after.document().chars().count();
    if length <= LONGEST {
        return;
    }
    // The user's tags take most of them.
    let tags = case.after.options.tags().0;
    let mut sizes: Vec<_> = tags.iter().map(|(key, value)| (key.chars().chain(value.chars()).count(), key)).collect();
    sizes.sort_by(|a, b| b.cmp(a));
    let sizes: Vec<String> = sizes.iter().take(3).map(|(size, key)| format!("tag `{key}` takes {size}")).collect();
    let start = if sizes.is_empty() { "" } else { "; " };
    let sentence = format!(
        "the settings of the hub would have {length} characters, and a parameter of the standard tier holds {LONGEST}{start}{}",
        sizes.join(", ")
    );
    say.refusals.push(
        Message::refusal(FindingCode::OptionNotApplicable, OPTIONS, sentence)
            .advise("pass fewer or shorter tags with --tag"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Code, Fact, Hub, ResourceId,
        scope::tests::{scope, scope_in},
    };
    use crate::reconcile::{Bootstrap, ClusterSetting, RoleOption};

    fn prefix(prefix: Option<&str>) -> HubOptions {
        HubOptions { queue_prefix: prefix.map(|prefix| prefix.parse().unwrap()), ..HubOptions::default() }
    }

    fn add(names: &[&str]) -> Target {
        let setting = ClusterSetting { role: RoleOption::Unmanaged, ..ClusterSetting::default() };
        Target::add(names.iter().map(|name| name.parse().unwrap()), &setting)
    }

    fn refusals(survey: &Survey, target: &Target, before: Option<HubOptions>, after: HubOptions) -> Vec<Message> {
        of_request(survey, target, before.map(Settings::from).as_ref(), &after.into())
    }

    /// A survey of a hub with these options.
    fn saving(options: &HubOptions) -> Survey {
        let mut survey = Survey::new(scope());
        let hub = Hub::new(&scope(), options.clone(), Code::of_archive("0.2.0", "aa")).desired();
        let parameter = hub.get(&ResourceId::Parameter(scope().settings_parameter())).unwrap();
        survey.observed.insert(parameter.id(), Fact::Present(parameter.clone()));
        survey
    }

    #[test]
    fn a_cluster_cannot_take_a_name_of_the_hub() {
        for (saved, cluster, taken) in [
            ("", "kibus-hub", false),
            ("", "kibus-hub-dlq", false),
            ("kibus-", "probe", false),
            ("karpenter-", "kibus-hub", true),
            ("", "kibus", true),
        ] {
            let options = prefix(Some(saved));
            let survey = saving(&options);
            let queue = scope().cluster_queue(&saved.parse().unwrap(), &cluster.parse().unwrap());
            let refused = refusals(&survey, &add(&[cluster]), Some(options.clone()), options);
            let refused: Vec<_> = refused.iter().map(|refusal| refusal.sentence.clone()).collect();
            let refusal = format!("the queue of cluster `{cluster}` would be `{queue}`, which is a queue of the hub");
            assert_eq!(refused, if taken { vec![] } else { vec![refusal] });
        }
    }

    #[test]
    fn the_prefix_stays_while_clusters_are_registered() {
        for (name, before, after, clusters, taken) in [
            ("no cluster", None, Some("x-"), &[][..], true),
            ("a cluster", None, Some("x-"), &["base", "a"], false),
            ("the default by name", None, Some("karpenter-"), &["base"], true),
            ("to none", Some("x-"), Some(""), &["base"], false),
            ("back to the default", Some("x-"), None, &["base"], false),
            ("the same", Some("x-"), Some("x-"), &["base"], true),
        ] {
            let survey = Survey::new(scope());
            let refused = refusals(&survey, &add(clusters), Some(prefix(before)), prefix(after));
            assert_eq!(refused.is_empty(), taken, "{name}");
            for refusal in refused {
                assert!(refusal.sentence.contains("`base`"), "{name}: {refusal:?}");
            }
        }
    }

    #[test]
    fn the_prefix_is_empty_only_where_tags_tell_queues_apart() {
        for (region, after, given, taken) in [
            ("us-west-2", "", None, true),
            ("eu-south-1", "", None, true),
            ("eu-south-1", "", Some(false), false),
            ("eu-south-1", "karpenter-", Some(false), true),
            ("eu-south-2", "", None, false),
            ("ap-south-2", "", None, false),
            ("ap-south-2", "", Some(true), true),
            ("eu-south-2", "karpenter-", None, true),
        ] {
            let target = Target::bootstrap(Bootstrap::default());
            let survey = Survey::new(scope_in("aws", region));
            let options = HubOptions { tag_conditions: given, ..prefix(Some(after)) };
            let refused = refusals(&survey, &target, None, options);
            assert_eq!(refused.is_empty(), taken, "{region} `{after}` {given:?}");
        }
    }

    #[test]
    fn a_hundred_stay_for_all_other_functions() {
        for (wanted, live, unreserved, most) in [
            (None, None, 0, None),
            (Some(10), None, 1000, None),
            (Some(900), None, 1000, None),
            (Some(901), None, 1000, Some(900)),
            (Some(910), Some(10), 990, Some(900)),
            (Some(5), None, 10, Some(0)),
            (Some(5), Some(10), 0, None),
            (Some(10), Some(10), 50, None),
        ] {
            let expected = most.map(|most| (wanted.unwrap_or(0), most));
            let refused = too_much_reserved(wanted, live, unreserved);
            assert_eq!(refused, expected, "{wanted:?} {live:?} {unreserved}");
        }
    }
}
