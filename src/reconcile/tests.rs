//! Plans and checks of a hub with one cluster. The rooms below have what their names say.

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
    for id in hub::ids(&scope(), [&HubOptions::all_parts()]) {
        survey.observed.insert(id, Fact::Absent);
    }
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

fn id_of_queue(name: &str) -> ResourceId {
    ResourceId::Queue(name.parse().unwrap())
}

fn edit_queue(survey: &mut Survey, name: &str, edit: impl FnOnce(&mut Queue)) {
    let mut queue = survey.observed.queue(name.parse().unwrap()).unwrap().clone();
    edit(&mut queue);
    see(survey, Resource::Queue(queue));
}

/// Changes the record of `base`.
fn edit_record(survey: &mut Survey, edit: impl FnOnce(&mut ClusterRecord)) {
    let id = survey.record_id(&base());
    let mut record = survey.observed.resource(&id).unwrap().as_record().unwrap().clone();
    edit(record.content.as_mut().unwrap());
    see(survey, Resource::Record(record));
}

/// Deletes the record of `base`.
fn lose_record(survey: &mut Survey) {
    let id = survey.record_id(&base());
    survey.observed.insert(id, Fact::Absent);
    survey.known.records = Fact::Present(BTreeSet::new());
}

fn mark(survey: &mut Survey, name: &str, since: u64) {
    edit_queue(survey, name, |queue| queue.tags = queue.tags.clone().with(DELETING, since.to_string()));
}

fn code() -> Code {
    Code::of_archive("0.2.0", "aa")
}

fn setting(options: HubOptions) -> Bootstrap {
    Bootstrap { options, ..Bootstrap::default() }
}

fn bootstrap(options: HubOptions) -> Target {
    bootstrap_with(setting(options), OfferedRouter::Packaged(code()))
}

fn bootstrap_with(given: Bootstrap, router: OfferedRouter) -> Target {
    Target { router, ..Target::bootstrap(given) }
}

/// A setting of a cluster with this role, about which EKS is not asked.
fn with_role(role: &str) -> ClusterSetting {
    let role = RoleOption::Named(role.parse().unwrap());
    ClusterSetting { role, no_eks_check: Some(true), ..ClusterSetting::default() }
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

fn verify(router: OfferedRouter) -> Target {
    verify_named(&[], router)
}

fn verify_named(names: &[&str], router: OfferedRouter) -> Target {
    Target { router, ..Target::keep(names.iter().map(|name| name.parse().unwrap())) }
}

/// The findings of a check of all, as `code name`.
fn found_in(survey: &Survey) -> Vec<String> {
    found(&reconcile(survey, &verify(OfferedRouter::Packaged(code()))).unwrap())
}

fn found(intent: &Intent) -> Vec<String> {
    let about = |finding: &Message| format!("{} {}", finding.code.unwrap(), finding.name());
    let mut found: Vec<String> = intent.findings.iter().map(about).collect();
    found.sort();
    found
}

fn warned(intent: &Intent) -> String {
    let texts: Vec<&str> = intent.warnings.iter().map(|hint| hint.text.as_str()).collect();
    texts.join("\n")
}

/// The changes of queues, as `action name`.
fn queues(intent: &Intent) -> Vec<String> {
    let changes = intent.plan.changes.iter().filter(|change| matches!(change.id, ResourceId::Queue(_)));
    let mut queues: Vec<String> =
        changes.map(|change| format!("{} {}", change.action.words()[0], change.id.name())).collect();
    queues.sort();
    queues
}

/// A name, a target, a marked queue, whether it is waited for, and the changes of queues if it is gone then, or if its mark is
/// not waited for or young, and if the mark is old.
type Row = (&'static str, Target, &'static str, bool, &'static [&'static str], &'static [&'static str]);

/// S9: a mark excuses one wait, before the plan, of what would create the queue. No mark deletes one: `sqs:TagQueue` is enough to
/// set it.
#[test]
fn s9_a_wanted_queue_with_a_young_mark_is_waited_for_and_an_old_mark_goes() {
    let rekeyed: &[&str] = &["update karpenter-base", "update kibus-hub", "update kibus-hub-dlq", "update kibus-probe"];
    let everything: &[&str] =
        &["delete karpenter-base", "delete kibus-hub", "delete kibus-hub-dlq", "delete kibus-probe"];
    let rows: [Row; 6] = [
        (
            "bootstrap, the hub queue",
            bootstrap(HubOptions::default()),
            "kibus-hub",
            true,
            &["create kibus-hub"],
            &["update kibus-hub"],
        ),
        ("bootstrap, a cluster", bootstrap(HubOptions::default()), QUEUE, false, &[], &[]),
        ("another key, a cluster", bootstrap(with_key(KEY)), QUEUE, false, rekeyed, rekeyed),
        ("add", add(), QUEUE, true, &["create karpenter-base"], &["update karpenter-base"]),
        ("remove", remove(), QUEUE, false, &["delete karpenter-base"], &["delete karpenter-base"]),
        ("teardown", Target::teardown(), QUEUE, false, everything, everything),
    ];
    for (name, target, marked, waits, gone, stays) in rows {
        for (since, is_waited_for, expected) in [(YOUNG, waits, gone), (OLD, false, stays), (NOW + 6, false, stays)] {
            let mut survey = survey();
            mark(&mut survey, marked, since);
            let _ = reconcile(&survey, &target);
            let waited: BTreeSet<QueueName> = is_waited_for.then(|| marked.parse().unwrap()).into_iter().collect();
            assert_eq!(survey.take_open().leaving_queues, waited, "{name}, {since}");
            for queue in waited {
                survey.observed.insert(ResourceId::Queue(queue.clone()), Fact::Absent);
                survey.known.leaving_queues.insert(queue, Fact::Absent);
            }
            let intent = reconcile(&survey, &target).unwrap();
            assert_eq!(queues(&intent), expected, "{name}, {since}");
            assert_eq!(intent.refusals, [], "{name}, {since}");
        }
    }
}

/// Of the hub, only its queue exists, with a young mark of a delete.
fn with_only_a_leaving_hub_queue() -> Survey {
    let mut survey = survey();
    mark(&mut survey, "kibus-hub", YOUNG);
    let ids: Vec<ResourceId> = survey.observed.iter().map(|(id, _)| id.clone()).collect();
    for id in ids.into_iter().filter(|id| *id != id_of_queue("kibus-hub")) {
        survey.observed.insert(id, Fact::Absent);
    }
    survey
}

/// A teardown that is repeated at once still sees what it has deleted, and waits until it is gone.
#[test]
fn s9_a_queue_that_only_waits_for_its_delete_is_nothing_to_tear_down() {
    let mut survey = with_only_a_leaving_hub_queue();
    survey.known.records = Fact::Present(BTreeSet::new());
    let _ = reconcile(&survey, &Target::teardown());
    assert_eq!(survey.take_open().leaving_queues, ["kibus-hub".parse().unwrap()].into());
    survey.observed.insert(id_of_queue("kibus-hub"), Fact::Absent);
    survey.known.leaving_queues.insert("kibus-hub".parse().unwrap(), Fact::Absent);
    let intent = reconcile(&survey, &Target::teardown()).unwrap();
    assert!(intent.plan.is_empty() && intent.warnings.is_empty(), "{intent:?}");
}

/// A mark that somebody renews lets no hub start with a queue that was prepared for it.
#[test]
fn s9_a_marked_queue_that_stays_without_settings_is_a_part_of_a_hub() {
    let mut survey = with_only_a_leaving_hub_queue();
    assert!(!survey.has_lost_settings());
    let stays = survey.queue(&"kibus-hub".parse().unwrap()).cloned().unwrap();
    survey.known.leaving_queues.insert(stays.name.clone(), Fact::Present(stays));
    assert!(survey.has_lost_settings());
}

#[test]
fn s4_a_lower_retention_warns_of_the_messages_that_wait() {
    let lower = HubOptions { retention: Some("3600".parse().unwrap()), ..HubOptions::default() };
    let higher = HubOptions { retention: Some("172800".parse().unwrap()), ..HubOptions::default() };
    for (name, options, waiting, in_flight, warns) in [
        (
            "lower",
            &lower,
            2,
            1,
            Some(
                "messages wait in queue `kibus-hub` (about 3): SQS deletes those older than 1h when the retention is lowered",
            ),
        ),
        ("lower, and empty", &lower, 0, 0, None),
        ("higher", &higher, 2, 1, None),
        ("the same", &HubOptions::default(), 2, 1, None),
    ] {
        let mut survey = survey();
        let depth = Status::Queue(Depth { waiting, in_flight });
        survey.status.insert(ResourceId::Queue(scope().hub_queue()), depth);
        let intent = reconcile(&survey, &bootstrap(options.clone())).unwrap();
        let warnings: Vec<_> = intent.warnings.iter().map(|hint| hint.text.as_str()).collect();
        assert_eq!(warnings, warns.into_iter().collect::<Vec<_>>(), "{name}");
    }
}

/// A look for waiting probes receives messages, which nobody asked of the queues of other clusters.
#[test]
fn a_check_of_named_clusters_tries_no_other_queues() {
    let queues = ["kibus-hub", "kibus-hub-dlq", "kibus-probe", QUEUE];
    let queue_names =
        |names: &[&str]| -> BTreeSet<QueueName> { names.iter().map(|name| name.parse().unwrap()).collect() };
    let mut survey = survey();
    for queue in queues {
        let waiting = Status::Queue(Depth { waiting: 1, in_flight: 0 });
        survey.status.insert(ResourceId::Queue(queue.parse().unwrap()), waiting);
    }
    let absent = ResourceId::Queue("karpenter-tenant-1".parse().unwrap());
    survey.observed.insert(absent, Fact::Absent);
    survey.now = SINCE + 3_600;
    let known = &mut survey.known;
    let roles = usual_roles(&"tenant-1".parse().unwrap()).into_iter();
    known.roles.extend(roles.map(|role| (role, Fact::Absent)));
    known.function_mappings = Fact::Absent;
    known.function_permissions = Fact::Absent;
    known.dropped_clusters = Fact::Absent;
    known.event_rules = Fact::Absent;
    known.tagged_queues = Fact::Absent;
    known.activity.insert("karpenter-base".parse().unwrap(), Fact::Absent);
    known.absent_records.insert("tenant-1".parse().unwrap(), Fact::Present(true));
    let sources = queue_names(&queues).into_iter().map(|queue| (queue, Fact::Absent));
    known.dead_letter_sources.extend(sources);
    let router = || OfferedRouter::Packaged(code());
    for (names, clusters) in [(&[][..], &["base"][..]), (&["base"], &["base"]), (&["tenant-1"], &[])] {
        let mut target = Target::keep(names.iter().map(|name| name.parse().unwrap()));
        target.router = router();
        let mut asks = |survey: &Survey, probes| {
            target.probes = probes;
            let _ = reconcile(survey, &target);
            survey.take_open()
        };
        let again = asks(&survey, true);
        assert_eq!(again, Query { depth_later: queue_names(&["kibus-hub"]), ..Query::default() }, "{names:?}");
        let mut survey = survey.clone();
        survey.known.depth_later.insert("kibus-hub".parse().unwrap(), Fact::Absent);
        assert_eq!(asks(&survey, false), Query::default(), "{names:?}");
        let bus = names.is_empty().then_some(None);
        let probes = bus.into_iter().chain(clusters.iter().map(|name| Some(name.parse().unwrap()))).collect();
        assert_eq!(asks(&survey, true), Query { probes, ..Query::default() }, "{names:?}");
    }
}

/// Someone removes `kms:ViaService` from the policies that allow the key. The same key stays allowed: one call replaces each.
#[test]
fn an_old_permission_for_a_key_is_narrowed_in_one_call() {
    let mut survey = survey_of(with_key(KEY));
    let mut current = Vec::new();
    for resource in survey.observed.resources().cloned().collect::<Vec<_>>() {
        let Resource::RolePolicy(mut policy) = resource else {
            continue;
        };
        current.push(Resource::RolePolicy(policy.clone()));
        let statements = policy.document.value_mut()["Statement"].as_array_mut().unwrap();
        let of_key = statements.iter_mut().find(|statement| statement["Sid"] == "KibusUseKey");
        assert!(of_key.unwrap().as_object_mut().unwrap().remove("Condition").is_some());
        let old = Resource::RolePolicy(policy);
        survey.observed.insert(old.id(), Fact::Present(old));
    }
    let [controller, router] = current.as_slice() else {
        panic!("the policies of base and of the router: {current:?}")
    };
    let rows: [(&str, Target, &[&Resource]); 2] =
        [("bootstrap", bootstrap(HubOptions::default()), &[controller, router]), ("add", add(), &[controller])];
    for (name, target, expected) in rows {
        let intent = reconcile(&survey, &target).unwrap();
        assert_eq!(intent.refusals, [], "{name}");
        let mut written: Vec<_> = intent
            .plan
            .changes
            .iter()
            .map(|change| match change.action {
                Action::Update => change.resource(),
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        written.sort_by_key(|resource| resource.id());
        assert_eq!(written, expected, "{name}");
    }
}

/// An operator who may not write IAM may not be allowed to read it either.
#[test]
fn a_role_that_kibus_does_not_manage_is_not_searched() {
    for (role, searches) in [(RoleOption::Unmanaged, false), (RoleOption::Search, true)] {
        let mut survey = survey();
        lose_record(&mut survey);
        survey.known.listed_roles = Fact::NotAsked;
        let _ = reconcile(&survey, &add_with(ClusterSetting { role: role.clone(), ..ClusterSetting::default() }));
        assert_eq!(survey.take_open().listed_roles, searches, "{role:?}");
    }
}

#[test]
fn only_a_downgrade_can_be_allowed() {
    let mut survey = survey_of(HubOptions::default());
    for mut resource in survey.observed.resources().cloned().collect::<Vec<_>>() {
        match &mut resource {
            Resource::Alias(alias) => alias.settings.code = Code::of_archive("0.3.0", "bb"),
            Resource::Queue(queue) if queue.name == scope().hub_queue() => queue.tags = Default::default(),
            _ => continue,
        }
        let reading = Fact::Present(resource.clone());
        survey.observed.insert(resource.id(), reading);
    }
    let left = |allow_downgrade| {
        let given = Bootstrap { allow_downgrade, ..setting(HubOptions::default()) };
        let target = bootstrap_with(given, OfferedRouter::Packaged(code()));
        let intent = reconcile(&survey, &target).unwrap();
        let sentences = intent.refusals.iter().map(|refusal| refusal.sentence.clone());
        sentences.collect::<Vec<_>>()
    };
    let foreign = "queue `kibus-hub` exists and is not part of bus `kibus`";
    let older = "router 0.3.0 is live, which is newer than 0.2.0";
    assert_eq!(left(false), [foreign, older]);
    assert_eq!(left(true), [foreign]);
}
