//! All guards, which refuse a target regardless of the command. A guard's condition decides whether it applies.

use std::collections::BTreeSet;

use super::target::{HubSetting, Target, Wish};
use super::{Case, OPTIONS, Rule, Say, clusters, hub, router, topics};
use crate::error::{listed, quoted};
use crate::message::{Fix, Message, MessageKind, Subject};
use crate::model::{
    ClusterName, ClusterRecord, FindingCode, HubOptions, LogGroup, QueueTemplate, Record, Resource, ResourceId, Scope,
    Settings, default_queue_template, settings::LONGEST,
};
use crate::plan;
use crate::survey::Survey;

/// The guards of a plan with the targets that they apply to, in the display order of refusals.
pub(super) const OF_PLAN: &[Rule] = &[
    (Target::plans_hub, key_of_another_region),
    (Target::plans_hub, too_little_concurrency),
    (Target::plans_hub, topics::of_notices),
    (Target::plans_hub, topics::of_alarms),
    (Target::is_any, unsafe_changes),
    // Queues and records of clusters that kibus may not change.
    (Target::is_any, clusters::refusals),
    // Changes that need a new version of the router during a rollback.
    (Target::sets_hub, |case, say| {
        say.refusals.extend(router::change_during_a_rollback(case));
    }),
    (Target::is_any, too_long_documents),
    (|target| target.is_check() && target.checks_all() || matches!(target.hub, Wish::Remove), drill_left),
    (|target| matches!(target.hub, Wish::Remove), protected_log),
];

/// The refusals that need no plan. A refused request is not planned, unless it is a check.
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
    let template = after.options.queue_template();
    let renames = match before {
        Some(before) => before.options.queue_template() != template,
        None => target.bootstraps().is_some_and(|given| given.restore_settings) && names_others(survey, &template),
    };
    if renames {
        refusals.extend(names_in_use(survey, target));
    }
    let hub = survey.scope.hub_queues();
    let queues = target.set().map(|(name, _)| (name, survey.cluster_queue(name)));
    let taken = queues.filter(|(_, queue)| hub.contains(queue));
    refusals.extend(taken.map(|(name, queue)| {
        let sentence = format!("the queue of cluster `{name}` would be named `{queue}`, like a queue of the hub");
        Message::refusal(FindingCode::QueueNameTaken, queue, sentence).advise("use another --queue-name or another bus")
    }));
    refusals
}

/// Refuses a template that is only the cluster's name without tag conditions: then the policies name queues by this
/// pattern alone, and would open every queue in the account.
pub fn unnamed_queues(scope: &Scope, options: &HubOptions) -> Option<Message> {
    let template = options.queue_template();
    let refused = template.is_open() && !options.tag_conditions(&scope.region);
    let sentence = format!(
        "--queue-name cannot be `{template}` alone in {}: without tag conditions for SQS, the policies would cover every queue of the \
         account",
        scope.region
    );
    refused.then(|| {
        Message::refusal(FindingCode::OptionNotApplicable, OPTIONS, sentence).then(
            "set a template with text that no other queue in the account has:",
            scope.kibus(format!("bootstrap-hub --queue-name {}", quoted(default_queue_template().as_str()))),
        )
    })
}

/// Whether a record names a different queue than a hub with restored settings and this template would.
fn names_others(survey: &Survey, template: &QueueTemplate) -> bool {
    survey.records();
    let records = survey.observed.resources().filter_map(Resource::as_record);
    let mut records = records.filter_map(Record::record);
    records.any(|record| record.queue != survey.scope.cluster_queue(template, &record.cluster))
}

/// Refuses queue names that differ from those of recorded clusters.
fn names_in_use(survey: &Survey, target: &Target) -> Option<Message> {
    survey.records();
    let set = target.set().map(|(name, _)| name.clone());
    let records = survey.observed.resources().filter_map(Resource::as_record);
    let recorded = records.filter_map(|record| survey.scope.cluster_of_record(record.name.as_str()));
    let clusters: BTreeSet<ClusterName> = recorded.chain(set).collect();
    let own: Vec<String> = survey
        .recorded()
        .iter()
        .filter(|(_, record)| record.is_of_kibus())
        .map(|(cluster, _)| cluster.to_string())
        .collect();
    let sentence = format!("cannot change --queue-name while clusters are registered: {}", listed(&clusters));
    let why = "it determines the names of their queues; remove the clusters, change it, and add them again";
    (!clusters.is_empty()).then(|| {
        let refusal = Message::refusal(FindingCode::QueueNameTaken, OPTIONS, sentence);
        if own.is_empty() {
            return refusal.advise(why);
        }
        refusal.then(why, survey.scope.kibus(format!("remove-cluster {}", own.join(" "))))
    })
}

/// A running or interrupted drill: without the bus, no one would look for its resources.
fn drill_left(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    let (name, listed) = (scope.drill_role(), case.survey.known.listed_roles.present());
    if listed.is_none_or(|listed| !listed.contains_key(&name)) {
        return;
    }
    let id = ResourceId::Role(name);
    let tags = case.survey.resource(&id).present().and_then(Resource::tags);
    if tags.is_some_and(|tags| tags.belong_to(&scope.bus)) {
        let message = format!("{id} belongs to a drill, which is running or was cut off");
        let refusal = Message::refusal(FindingCode::DrillLeft, id, message);
        say.refusals.push(refusal.fixed_by(Fix::Command(scope.kibus("drill --clean"))));
    }
}

/// A log group that CloudWatch Logs does not delete.
fn protected_log(case: &Case<'_>, say: &mut Say) {
    let deleted = case.plan.changes.iter().filter_map(|change| change.before.as_ref()?.as_log_group());
    let refusal = |group: &LogGroup| {
        let id = ResourceId::LogGroup(group.name.clone());
        let sentence = format!("{id} is protected from deletion");
        let end = format!(
            "logs put-log-group-deletion-protection --log-group-identifier {} --no-deletion-protection-enabled",
            group.name
        );
        Message::new(MessageKind::Refused, id, sentence)
            .then("check why; to end the protection:", case.survey.scope.aws(&end))
    };
    say.refusals.extend(deleted.filter(|group| group.protected).map(refusal));
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

/// More reserved concurrency than the account has left, if known.
fn too_little_concurrency(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    if !hub::reserves_more(case) {
        return;
    }
    let (wanted, live) = (case.after.options.reserved(), hub::live_reserved(case.survey));
    let left = case.survey.unreserved_concurrency().present();
    if let Some((wanted, most)) = left.and_then(|left| too_much_reserved(wanted, live, *left)) {
        let sentence =
            format!("the account cannot reserve {wanted} concurrent invocations for the router: the maximum is {most}");
        let function = ResourceId::Function(scope.router_function());
        let refusal = Message::refusal(FindingCode::OptionNotApplicable, function, sentence);
        let quota = "Lambda requires 100 to stay unreserved; request more concurrency in Service Quotas, or";
        say.refusals.push(match most {
            0 => refusal.advise(format!("{quota} omit --reserved-concurrency")),
            most => refusal.then(
                format!("{quota} reserve less"),
                scope.kibus(format!("bootstrap-hub --reserved-concurrency {most}")),
            ),
        });
    }
}

/// The concurrency that Lambda holds back for functions without a reservation (Lambda developer guide, "Configuring reserved
/// concurrency").
const UNRESERVED: u32 = 100;

/// `live` is the current reservation of the function, and `unreserved` the unreserved concurrency of the account. Less
/// than before always fits, whatever others have taken in the meantime.
fn too_much_reserved(wanted: Option<u32>, live: Option<u32>, unreserved: u32) -> Option<(u32, u32)> {
    let (wanted, live) = (wanted?, live.unwrap_or(0));
    let most = (unreserved + live).saturating_sub(UNRESERVED);
    (wanted > live && wanted > most).then_some((wanted, most))
}

/// Refuses unmanaged resources, a failed function, an older router, and different settings.
fn unsafe_changes(case: &Case<'_>, say: &mut Say) {
    // Only the function shows whether kibus manages the alias, and a rollback does not compare the function.
    let owners = match case.target.hub {
        Wish::Set(HubSetting::RollBack(_)) => &case.survey.observed,
        _ => &case.observed,
    };
    let may_downgrade = case.target.bootstraps().is_some_and(|given| given.allow_downgrade);
    let removes = case.applied().next().is_some() && case.applied().all(|change| change.after.is_none());
    let mut refusals = plan::check(&case.survey.scope, &case.plan, owners, removes);
    // Another guard checks the queues and the records of clusters.
    let judged = |id: &ResourceId| {
        let mut changes = case.plan.changes.iter().filter(|change| change.id == *id);
        matches!(id, ResourceId::Queue(_) | ResourceId::Record(_)) && changes.any(|change| change.cluster.is_some())
    };
    refusals.retain(|refusal| match (refusal.code, &refusal.about) {
        (Some(FindingCode::NewerRouter), _) => !may_downgrade,
        (Some(FindingCode::NotManaged), Subject::Resource(id)) => !judged(id),
        _ => true,
    });
    say.refusals.extend(refusals);
}

/// Documents that do not fit into their parameters. Most of their size is user tags.
fn too_long_documents(case: &Case<'_>, say: &mut Say) {
    let settings = ("the settings of the hub".to_owned(), case.after.document(), case.after.options.tags().0);
    let record = |record: &ClusterRecord| {
        let between = case.survey.record(&record.cluster).map(|before| record.while_leaving(before));
        let longest = between.as_ref().unwrap_or(record);
        (format!("the record of cluster `{}`", record.cluster), longest.document(), longest.tags.clone())
    };
    for (what, document, tags) in [settings].into_iter().chain(case.set.iter().map(record)) {
        let length = document.chars().count();
        if length <= LONGEST {
            continue;
        }
        let mut sizes: Vec<_> =
            tags.iter().map(|(key, value)| (key.chars().chain(value.chars()).count(), key)).collect();
        sizes.sort_by(|a, b| b.cmp(a));
        let sizes: Vec<String> = sizes.iter().take(3).map(|(size, key)| format!("tag `{key}` takes {size}")).collect();
        let start = if sizes.is_empty() { "" } else { "; " };
        let sentence = format!(
            "{what} would have {length} characters, but a standard-tier parameter holds at most {LONGEST}{start}{}",
            sizes.join(", ")
        );
        say.refusals.push(
            Message::refusal(FindingCode::OptionNotApplicable, OPTIONS, sentence)
                .advise("pass fewer or shorter tags with --tag"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        BadDocument, Code, Fact, Hub, Record, ResourceId, Tags,
        scope::tests::{scope, scope_in},
    };
    use crate::reconcile::{Bootstrap, ClusterSetting, RoleOption};

    fn naming(template: Option<&str>) -> HubOptions {
        HubOptions { queue_name: template.map(|template| template.parse().unwrap()), ..HubOptions::default() }
    }

    fn add(names: &[&str]) -> Target {
        let setting = ClusterSetting { role: RoleOption::Unmanaged, ..ClusterSetting::default() };
        Target::add(names.iter().map(|name| name.parse().unwrap()), &setting)
    }

    fn refusals(survey: &Survey, target: &Target, before: Option<HubOptions>, after: HubOptions) -> Vec<Message> {
        of_request(survey, target, before.map(Settings::from).as_ref(), &after.into())
    }

    #[test]
    fn a_cluster_cannot_take_a_name_of_the_hub() {
        for (saved, cluster, taken) in [
            ("{cluster}", "kibus-hub", false),
            ("{cluster}", "kibus-hub-dlq", false),
            ("kibus-{cluster}", "hub", false),
            ("kibus-{cluster}", "probe", false),
            ("{cluster}-hub", "kibus", false),
            ("kibus-{cluster}-dlq", "hub", false),
            ("karpenter-{cluster}", "kibus-hub", true),
            ("kibus-{cluster}", "base", true),
            ("{cluster}", "kibus", true),
        ] {
            let options = naming(Some(saved));
            let mut survey = Survey::new(scope());
            let hub = Hub::new(&scope(), options.clone(), Code::of_archive("0.2.0", "aa")).desired();
            let parameter = hub.get(&ResourceId::Parameter(scope().settings_parameter())).unwrap();
            survey.observed.insert(parameter.id(), Fact::Present(parameter.clone()));
            let queue = scope().cluster_queue(&saved.parse().unwrap(), &cluster.parse().unwrap());
            let refused = refusals(&survey, &add(&[cluster]), Some(options.clone()), options).into_iter();
            let refusal = format!("the queue of cluster `{cluster}` would be named `{queue}`, like a queue of the hub");
            assert!(refused.map(|refusal| refusal.sentence).eq((!taken).then_some(refusal)), "{saved} {cluster}");
        }
    }

    #[test]
    fn the_names_of_queues_stay_while_clusters_are_recorded() {
        for (name, before, after, recorded, clusters, taken) in [
            ("no cluster", None, Some("x-{cluster}"), None, &[][..], true),
            ("a cluster", None, Some("x-{cluster}"), Some("base"), &[], false),
            ("a cluster that is added", None, Some("x-{cluster}"), None, &["base", "a"], false),
            ("the default by name", None, Some("karpenter-{cluster}"), Some("base"), &["base"], true),
            ("the other side", None, Some("{cluster}-karpenter"), Some("base"), &["base"], false),
            ("to the cluster's name", Some("x-{cluster}"), Some("{cluster}"), Some("base"), &["base"], false),
            ("back to the default", Some("x-{cluster}"), None, Some("base"), &["base"], false),
            ("the same", Some("x-{cluster}"), Some("x-{cluster}"), Some("base"), &["base"], true),
        ] {
            let mut survey = Survey::new(scope());
            if let Some(cluster) = recorded {
                // An unusable record counts too.
                let name = scope().record_parameter(&cluster.parse().unwrap());
                let content = Err(BadDocument::Future(2));
                let record = Resource::Record(Record { name, content, version: 1, tags_of_new: Tags::default() });
                survey.observed.insert(record.id(), Fact::Present(record));
            }
            let refused = refusals(&survey, &add(clusters), Some(naming(before)), naming(after));
            assert_eq!(refused.is_empty(), taken, "{name}");
            for refusal in refused {
                assert!(refusal.sentence.contains("`base`"), "{name}: {refusal:?}");
            }
        }
    }

    #[test]
    fn the_name_of_a_cluster_alone_names_a_queue_only_where_tags_tell_queues_apart() {
        for (region, after, given, taken) in [
            ("us-west-2", "{cluster}", None, true),
            ("eu-south-1", "{cluster}", None, true),
            ("eu-south-1", "{cluster}", Some(false), false),
            ("eu-south-1", "karpenter-{cluster}", Some(false), true),
            ("eu-south-2", "{cluster}", None, false),
            ("ap-south-2", "{cluster}", None, false),
            ("ap-south-2", "{cluster}", Some(true), true),
            ("eu-south-2", "karpenter-{cluster}", None, true),
            ("eu-south-2", "{cluster}-karpenter", None, true),
        ] {
            let target = Target::bootstrap(Bootstrap::default());
            let survey = Survey::new(scope_in("aws", region));
            let options = HubOptions { tag_conditions: given, ..naming(Some(after)) };
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
