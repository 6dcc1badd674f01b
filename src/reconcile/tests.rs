//! Plans and checks of a hub with one cluster. The modules below cover what their names say.

mod clusters;
mod external;
mod rollback;
mod router_code;
mod settings;
mod standing;
mod topics;
mod unrecorded;

use std::collections::BTreeSet;

use super::*;
use crate::model::{
    Code, Depth, Document, Fact, Hub, HubOptions, Moment, QueueName, Resource, ResourceId, Standing, Status, hub,
    policy, scope::tests::scope, tags::DELETING, usual_roles,
};
use crate::plan::Action;
use crate::survey::{ListedRole, Query, RolePolicies};

/// The time of the survey, in Unix seconds.
const NOW: u64 = 1_800_000_000;
/// When the hub and its cluster were recorded, and their queues created.
const SINCE: u64 = NOW - 1_000;
/// Marks that count, and that do not.
const YOUNG: u64 = NOW - 60;
const OLD: u64 = NOW - 180;

/// The role of the controller of `base`.
const ROLE: &str = "a";
const QUEUE: &str = "karpenter-base";
const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";

fn base() -> ClusterName {
    "base".parse().unwrap()
}

fn options(memory: Option<&str>) -> HubOptions {
    HubOptions { memory: memory.map(|memory| memory.parse().unwrap()), ..HubOptions::default() }
}

fn with_key(key: &str) -> HubOptions {
    HubOptions { kms_key: Some(key.parse().unwrap()), ..HubOptions::default() }
}

/// An up-to-date hub with 512 MB of memory for its function and the cluster `base`.
fn survey() -> Survey {
    survey_of(options(Some("512")))
}

/// Such a survey, with these options.
fn survey_of(options: HubOptions) -> Survey {
    let mut survey = Survey::new(scope());
    survey.scope.options.again = "kibus again".to_owned();
    survey.now = NOW;
    lose(&mut survey, hub::ids(&scope(), [&HubOptions::all_parts()]));
    let record = ClusterRecord {
        role: Some(ROLE.parse().unwrap()),
        ..ClusterRecord::new(&scope(), &options, base(), Moment(SINCE))
    };
    let settings = Settings { since: Moment(SINCE), ..options.into() };
    let mut resources = Hub::new(&scope(), settings.clone(), code()).desired();
    resources.extend(record.desired(&scope(), &settings));
    for mut resource in resources.resources().cloned() {
        if let Resource::Queue(queue) = &mut resource {
            queue.created = SINCE;
        }
        see(&mut survey, resource);
    }
    survey.known.records = Fact::Present([scope().record_parameter(&base())].into());
    survey.known.roles.insert(ROLE.parse().unwrap(), Fact::Present(RolePolicies::default()));
    survey.known.listed_roles = Fact::Present([(ROLE.parse().unwrap(), ListedRole::default())].into());
    survey
}

fn see(survey: &mut Survey, resource: Resource) {
    survey.observed.insert(resource.id(), Fact::Present(resource));
}

fn lose(survey: &mut Survey, ids: impl IntoIterator<Item = ResourceId>) {
    ids.into_iter().for_each(|id| survey.observed.insert(id, Fact::Absent));
}

/// Deletes all except this.
fn lose_all_but(survey: &mut Survey, kept: &[ResourceId]) {
    let ids = survey.observed.iter().map(|(id, _)| id.clone()).filter(|id| !kept.contains(id));
    lose(survey, ids.collect::<Vec<_>>());
}

/// Messages that wait in each of these queues.
fn fill(survey: &mut Survey, queues: &[&str], [waiting, in_flight]: [u64; 2]) {
    for queue in queues {
        survey.status.insert(id_of_queue(queue), Status::Queue(Depth { waiting, in_flight }));
    }
}

fn id_of_queue(name: &str) -> ResourceId {
    ResourceId::Queue(name.parse().unwrap())
}

fn policy_of(role: &str) -> ResourceId {
    scope().controller_policy_id(&base(), &role.parse().unwrap())
}

fn queue_of(survey: &Survey, name: &str) -> Queue {
    survey.observed.queue(name.parse().unwrap()).unwrap().clone()
}

fn edit_queue<T>(survey: &mut Survey, name: &str, edit: impl FnOnce(&mut Queue) -> T) {
    let mut queue = queue_of(survey, name);
    edit(&mut queue);
    see(survey, Resource::Queue(queue));
}

fn tag(survey: &mut Survey, key: &str, value: &str) {
    edit_queue(survey, QUEUE, |queue| queue.tags.0.insert(key.to_owned(), value.to_owned()));
}

fn edit_record<T>(survey: &mut Survey, edit: impl FnOnce(&mut ClusterRecord) -> T) {
    let mut record = survey.observed.resource(&survey.record_id(&base())).unwrap().as_record().unwrap().clone();
    edit(record.content.as_mut().unwrap());
    see(survey, Resource::Record(record));
}

/// The record of `base` says that its queue is external, and has no role.
fn make_external(survey: &mut Survey) {
    edit_record(survey, |record| (record.external, record.role) = (true, None));
}

fn lose_record(survey: &mut Survey) {
    lose(survey, [survey.record_id(&base())]);
    survey.known.records = Fact::Present(BTreeSet::new());
}

fn mark(survey: &mut Survey, name: &str, since: u64) {
    edit_queue(survey, name, |queue| queue.tags.0.insert(DELETING.to_owned(), since.to_string()));
}

fn code() -> Code {
    Code::of_archive("0.2.0", "aa")
}

/// The router of this kibus, packaged.
fn packaged() -> OfferedRouter {
    OfferedRouter::Packaged(code())
}

fn setting(options: HubOptions) -> Bootstrap {
    Bootstrap { options, ..Bootstrap::default() }
}

/// `bootstrap-hub` without options.
fn bootstrap() -> Target {
    bootstrap_to(HubOptions::default())
}

fn bootstrap_to(options: HubOptions) -> Target {
    bootstrap_with(setting(options), packaged())
}

fn bootstrap_with(given: Bootstrap, router: OfferedRouter) -> Target {
    Target { router, ..Target::bootstrap(given) }
}

/// A setting for a cluster with this role, without the EKS lookup.
fn with_role(role: &str) -> ClusterSetting {
    let role = RoleOption::Named(role.parse().unwrap());
    ClusterSetting { role, no_eks_check: Some(true), ..ClusterSetting::default() }
}

fn adopt() -> ClusterSetting {
    ClusterSetting { adopt: Some(true), ..with_role(ROLE) }
}

fn add() -> Target {
    add_with(with_role(ROLE))
}

fn add_with(setting: ClusterSetting) -> Target {
    Target::add([base()], &setting)
}

fn remove() -> Target {
    Target::remove([base()], false)
}

fn verify() -> Target {
    verify_named(&[])
}

fn verify_named(names: &[&str]) -> Target {
    Target { router: packaged(), ..Target::keep(names.iter().map(|name| name.parse().unwrap())) }
}

fn planned(survey: &Survey, target: &Target) -> Intent {
    reconcile(survey, target).unwrap()
}

/// A check of all.
fn checked(survey: &Survey) -> Intent {
    planned(survey, &verify())
}

/// What a survey still has to read for this target.
fn asked(survey: &Survey, target: &Target) -> Query {
    let _ = reconcile(survey, target);
    survey.take_open()
}

/// The findings of a check of all, as `code name`.
fn found_in(survey: &Survey) -> Vec<String> {
    found(&checked(survey))
}

fn found(intent: &Intent) -> Vec<String> {
    let about = |finding: &Message| format!("{} {}", finding.code.unwrap(), finding.name());
    let mut found: Vec<String> = intent.findings.iter().map(about).collect();
    found.sort();
    found
}

/// Findings as `code severity`.
fn grades<'a>(findings: impl IntoIterator<Item = &'a Message>) -> Vec<String> {
    let grade = |finding: &Message| format!("{} {}", finding.code.unwrap(), finding.severity.as_str());
    findings.into_iter().map(grade).collect()
}

fn warned(intent: &Intent) -> String {
    let texts: Vec<&str> = intent.warnings.iter().map(|hint| hint.text.as_str()).collect();
    texts.join("\n")
}

#[track_caller]
fn assert_warned(intent: &Intent, said: &str) {
    assert!(warned(intent).contains(said), "{said}: {}", warned(intent));
}

fn sentences(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.sentence.as_str()).collect()
}

#[track_caller]
fn only(messages: Vec<Message>) -> Message {
    let [message] = <[Message; 1]>::try_from(messages).unwrap();
    message
}

fn commands(message: &Message) -> Vec<String> {
    message.fix.steps().into_iter().filter_map(|step| step.command).collect()
}

/// The changes of queues, as `action name`.
fn queues(intent: &Intent) -> String {
    let changes = intent.plan.changes.iter().filter(|change| matches!(change.id, ResourceId::Queue(_)));
    let queues: BTreeSet<String> =
        changes.map(|change| format!("{} {}", change.action.words()[0], change.id.name())).collect();
    queues.into_iter().collect::<Vec<_>>().join(", ")
}

/// A target, a marked queue, whether kibus waits for it, the queue changes if it is then gone, or if its mark is young
/// or does not cause a wait, and the queue changes if the mark is old.
type Row = (Target, &'static str, bool, &'static str, &'static str);

/// S9: a mark justifies one wait, before a plan that would create the queue. A mark never leads to a delete:
/// `sqs:TagQueue` is enough to set it.
#[test]
fn s9_a_wanted_queue_with_a_young_mark_is_waited_for_and_an_old_mark_goes() {
    let rekeyed = "update karpenter-base, update kibus-hub, update kibus-hub-dlq, update kibus-probe";
    let everything = "delete karpenter-base, delete kibus-hub, delete kibus-hub-dlq, delete kibus-probe";
    let rows: [Row; 6] = [
        (bootstrap(), "kibus-hub", true, "create kibus-hub", "update kibus-hub"),
        (bootstrap(), QUEUE, false, "", ""),
        (bootstrap_to(with_key(KEY)), QUEUE, false, rekeyed, rekeyed),
        (add(), QUEUE, true, "create karpenter-base", "update karpenter-base"),
        (remove(), QUEUE, false, "delete karpenter-base", "delete karpenter-base"),
        (Target::teardown(), QUEUE, false, everything, everything),
    ];
    for (target, marked, waits, gone, stays) in rows {
        for (since, is_waited_for, expected) in [(YOUNG, waits, gone), (OLD, false, stays), (NOW + 6, false, stays)] {
            let mut survey = survey();
            mark(&mut survey, marked, since);
            let waited: BTreeSet<QueueName> = is_waited_for.then(|| marked.parse().unwrap()).into_iter().collect();
            assert_eq!(asked(&survey, &target).leaving_queues, waited, "{target:?}, {since}");
            waited.into_iter().for_each(|queue| has_left(&mut survey, queue));
            let intent = planned(&survey, &target);
            assert_eq!((queues(&intent).as_str(), intent.refusals), (expected, vec![]), "{target:?}, {since}");
        }
    }
}

fn has_left(survey: &mut Survey, queue: QueueName) {
    lose(survey, [ResourceId::Queue(queue.clone())]);
    survey.known.leaving_queues.insert(queue, Fact::Absent);
}

/// Only the hub queue exists, with a young deletion mark.
fn with_only_a_leaving_hub_queue() -> Survey {
    let mut survey = survey();
    mark(&mut survey, "kibus-hub", YOUNG);
    lose_all_but(&mut survey, &[id_of_queue("kibus-hub")]);
    survey
}

/// A teardown that is repeated immediately still sees what it has deleted, and waits until it is gone.
#[test]
fn s9_a_queue_that_only_waits_for_its_delete_is_nothing_to_tear_down() {
    let mut survey = with_only_a_leaving_hub_queue();
    survey.known.records = Fact::Present(BTreeSet::new());
    let waited = asked(&survey, &Target::teardown()).leaving_queues;
    assert_eq!(waited, ["kibus-hub".parse().unwrap()].into());
    waited.into_iter().for_each(|queue| has_left(&mut survey, queue));
    let intent = planned(&survey, &Target::teardown());
    assert!(intent.plan.is_empty() && intent.warnings.is_empty(), "{intent:?}");
}

/// Even if someone keeps renewing the mark, no hub starts with a queue that was prepared for it.
#[test]
fn s9_a_marked_queue_that_stays_without_settings_is_a_part_of_a_hub() {
    let mut survey = with_only_a_leaving_hub_queue();
    assert!(!survey.has_lost_settings());
    let stays = queue_of(&survey, "kibus-hub");
    survey.known.leaving_queues.insert(stays.name.clone(), Fact::Present(stays));
    assert!(survey.has_lost_settings());
}

#[test]
fn s4_a_lower_retention_warns_of_the_messages_that_wait() {
    let warning = "messages are waiting in queue `kibus-hub` (about 3): SQS deletes messages older than 1h when the retention is lowered";
    for (name, retention, depth, said) in [
        ("lower", Some("3600"), [2, 1], warning),
        ("lower, and empty", Some("3600"), [0, 0], ""),
        ("higher", Some("172800"), [2, 1], ""),
        ("the same", None, [2, 1], ""),
    ] {
        let mut survey = survey();
        fill(&mut survey, &["kibus-hub"], depth);
        let retention = retention.map(|retention| retention.parse().unwrap());
        let intent = planned(&survey, &bootstrap_to(HubOptions { retention, ..HubOptions::default() }));
        assert_eq!(warned(&intent), said, "{name}");
    }
}

/// A look for waiting probes receives messages, which must not happen on the queues of other clusters.
#[test]
fn a_check_of_named_clusters_tries_no_other_queues() {
    let queues = ["kibus-hub", "kibus-hub-dlq", "kibus-probe", QUEUE];
    let [hub, dlq, probe, queue] = queues.map(|queue| queue.parse::<QueueName>().unwrap());
    let tenant: ClusterName = "tenant-1".parse().unwrap();
    let mut survey = survey();
    fill(&mut survey, &queues, [1, 0]);
    lose(&mut survey, [id_of_queue("karpenter-tenant-1")]);
    survey.now = SINCE + 3_600;
    let known = &mut survey.known;
    known.roles.extend(usual_roles(&tenant).into_iter().map(|role| (role, Fact::Absent)));
    known.function_mappings = Fact::Absent;
    known.function_permissions = Fact::Absent;
    known.dropped_clusters = Fact::Absent;
    known.event_rules = Fact::Absent;
    known.tagged_queues = Fact::Absent;
    known.activity.insert(queue.clone(), Fact::Absent);
    known.absent_records.insert(tenant, Fact::Present(true));
    known.dead_letter_sources.extend([&hub, &dlq, &probe, &queue].map(|queue| (queue.clone(), Fact::Absent)));
    for (names, probed) in [(&[][..], &[None, Some("base")][..]), (&["base"], &[Some("base")]), (&["tenant-1"], &[])] {
        let asks = |survey: &Survey, probes| {
            asked(survey, &Target { check: if probes { Check::Probe } else { Check::Test }, ..verify_named(names) })
        };
        let again = Query { depth_later: [hub.clone()].into(), ..Query::default() };
        assert_eq!(asks(&survey, true), again, "{names:?}");
        let mut survey = survey.clone();
        survey.known.depth_later.insert(hub.clone(), Fact::Absent);
        assert_eq!(asks(&survey, false), Query::default(), "{names:?}");
        let probes = probed.iter().map(|name| name.map(|name| name.parse().unwrap())).collect();
        assert_eq!(asks(&survey, true), Query { probes, ..Query::default() }, "{names:?}");
    }
}

/// Someone removes `kms:ViaService` from the policies that allow the key. The key stays allowed: one call replaces each policy.
#[test]
fn an_old_permission_for_a_key_is_narrowed_in_one_call() {
    let mut survey = survey_of(with_key(KEY));
    let policies = survey.observed.resources().filter(|resource| resource.as_role_policy().is_some()).cloned();
    let current: Vec<Resource> = policies.collect();
    for mut old in current.clone() {
        let Resource::RolePolicy(policy) = &mut old else { unreachable!() };
        let statements = policy.document.value_mut()["Statement"].as_array_mut().unwrap();
        let of_key = statements.iter_mut().find(|statement| statement["Sid"] == "KibusUseKey").unwrap();
        assert!(of_key.as_object_mut().unwrap().remove("Condition").is_some());
        see(&mut survey, old);
    }
    let [controller, router] = current.as_slice() else { panic!("the policies of base and the router: {current:?}") };
    for (name, target, expected) in
        [("bootstrap", bootstrap(), &[controller, router][..]), ("add", add(), &[controller])]
    {
        let intent = planned(&survey, &target);
        assert_eq!(intent.refusals, [], "{name}");
        let changes = &intent.plan.changes;
        assert!(changes.iter().all(|change| change.action == Action::Update), "{name}: {changes:?}");
        let mut written: Vec<_> = changes.iter().map(Change::resource).collect();
        written.sort_by_key(|resource| resource.id());
        assert_eq!(written, expected, "{name}");
    }
}

/// An operator who cannot write to IAM may not be able to read it either.
#[test]
fn a_role_that_kibus_does_not_manage_is_not_searched() {
    for (role, searches) in [(RoleOption::Unmanaged, false), (RoleOption::Search, true)] {
        let mut survey = survey();
        lose_record(&mut survey);
        survey.known.listed_roles = Fact::NotAsked;
        let target = add_with(ClusterSetting { role: role.clone(), ..ClusterSetting::default() });
        assert_eq!(asked(&survey, &target).listed_roles, searches, "{role:?}");
    }
}
