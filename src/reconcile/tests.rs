//! Plans for a bus of which some queues are being deleted, and one whose messages would expire.

mod external;
mod grants;
mod rollback;
mod router_code;
mod settings;
mod topics;

use std::collections::BTreeSet;

use super::*;
use crate::model::{
    Cluster, Code, Depth, Fact, Hub, HubOptions, QueueName, Resource, ResourceId, Status, hub,
    scope::tests::scope,
    tags::{CLUSTER, DELETING},
    usual_roles,
};
use crate::plan::Action;
use crate::survey::{ListedRole, RolePolicies};

/// A name, a target, the queues with the mark of a delete, and the changes of queues that follow if the marks are young
/// and if they are old.
type Row = (&'static str, Target, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// The time of the survey, in Unix seconds.
const NOW: u64 = 1_800_000_000;
/// Marks that count, and that do not.
const YOUNG: u64 = NOW - 60;
const OLD: u64 = NOW - 180;

const ROLE: &str = "KarpenterNodeRole-base";

fn options(memory: Option<&str>) -> HubOptions {
    HubOptions { memory: memory.map(|memory| memory.parse().unwrap()), ..HubOptions::default() }
}

/// A hub with 512 MB of memory for its function and the cluster `base`, up to date, but these queues are being deleted.
fn survey(being_deleted: &[&str]) -> Survey {
    survey_of(options(Some("512")), being_deleted)
}

/// The same with these options.
fn survey_of(options: HubOptions, being_deleted: &[&str]) -> Survey {
    survey_marked(options, being_deleted, YOUNG)
}

/// The same with queues that were marked then.
fn survey_marked(options: HubOptions, marked: &[&str], since: u64) -> Survey {
    let mut survey = Survey::new(scope());
    survey.now = NOW;
    for id in hub::ids(&scope(), [&HubOptions::all_parts()]) {
        survey.observed.insert(id, Fact::Absent);
    }
    let role = Some(ROLE.parse().unwrap());
    let name = "base".parse().unwrap();
    let base = Cluster::new(&scope(), &hub::default_queue_prefix(), name, role);
    let mut resources = Hub::new(&scope(), options.clone(), code()).desired();
    resources.extend(base.desired(&scope(), &options.into()));
    for mut resource in resources.resources().cloned() {
        if let Resource::Queue(queue) = &mut resource
            && marked.contains(&queue.name.as_str())
        {
            queue.tags = queue.tags.clone().with(DELETING, since.to_string());
        }
        survey.observed.insert(resource.id(), Fact::Present(resource));
    }
    survey.known.roles.insert(ROLE.parse().unwrap(), Fact::Present(RolePolicies::default()));
    survey.known.listed_roles = Fact::Present([(ROLE.parse().unwrap(), ListedRole::default())].into());
    let found = Fact::Present(["karpenter-base".parse().unwrap()].into());
    survey.known.cluster_queues.insert(survey.queue_prefix(), found);
    survey
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

fn add() -> Target {
    add_with(RoleOption::Named(ROLE.parse().unwrap()))
}

fn add_with(role: RoleOption) -> Target {
    let setting = ClusterSetting { role, ..ClusterSetting::default() };
    Target::add(["base".parse().unwrap()], &setting)
}

fn remove() -> Target {
    Target::remove(["base".parse().unwrap()], false)
}

fn verify(router: OfferedRouter) -> Target {
    Target { router, ..Target::keep([]) }
}

/// The changes of queues, as `action name`.
fn queues(intent: &Intent) -> Vec<String> {
    let changes = intent.plan.changes.iter();
    changes
        .filter(|change| matches!(change.id, ResourceId::Queue(_)))
        .map(|change| format!("{} {}", change.action.words()[0], change.id.name()))
        .collect()
}

/// S9: no mark deletes a queue. `sqs:TagQueue` is enough to set one.
#[test]
fn s9_a_wanted_queue_with_a_young_mark_is_created_and_an_old_mark_goes() {
    let hub: &[&str] = &["kibus-hub", "kibus-hub-dlq", "kibus-probe"];
    let base: &[&str] = &["karpenter-base"];
    let up_to_date = || bootstrap(HubOptions::default());
    let key = || HubOptions {
        kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
        ..HubOptions::default()
    };
    let everything: &[&str] =
        &["delete karpenter-base", "delete kibus-hub", "delete kibus-hub-dlq", "delete kibus-probe"];
    let rows: [Row; 8] = [
        ("bootstrap, no mark", up_to_date(), &[], &[], &[]),
        ("bootstrap, the hub queue", up_to_date(), &["kibus-hub"], &["create kibus-hub"], &["update kibus-hub"]),
        (
            "bootstrap, all",
            up_to_date(),
            hub,
            &["create kibus-hub", "create kibus-hub-dlq", "create kibus-probe"],
            &["update kibus-hub", "update kibus-hub-dlq", "update kibus-probe"],
        ),
        ("bootstrap, a cluster", up_to_date(), base, &[], &[]),
        (
            "another key, a cluster",
            bootstrap(key()),
            base,
            &["update kibus-hub", "update kibus-hub-dlq", "update kibus-probe"],
            &["update karpenter-base", "update kibus-hub", "update kibus-hub-dlq", "update kibus-probe"],
        ),
        ("add", add(), base, &["create karpenter-base"], &["update karpenter-base"]),
        ("remove", remove(), base, &["delete karpenter-base"], &["delete karpenter-base"]),
        ("teardown", Target::teardown(), &["karpenter-base", "kibus-hub-dlq"], everything, everything),
    ];
    for (name, target, marked, young, old) in rows {
        for (since, expected) in [(YOUNG, young), (OLD, old), (NOW + 1, old)] {
            let intent = reconcile(&survey_marked(options(Some("512")), marked, since), &target).unwrap();
            let mut changes = queues(&intent);
            changes.sort();
            assert_eq!(changes, expected, "{name}, {since}");
            assert_eq!(intent.refusals, [], "{name}, {since}");
        }
    }
}

/// Nobody of kibus deletes such a queue, so a create could only wait for nothing.
#[test]
fn s9_a_marked_queue_that_kibus_has_not_created_for_the_cluster_is_never_created() {
    let changes = |edit: fn(&mut crate::model::resource::Queue)| {
        let mut survey = survey(&["karpenter-base"]);
        let mut queue = survey.observed.queue("karpenter-base".parse().unwrap()).unwrap().clone();
        edit(&mut queue);
        let seen = Resource::Queue(queue);
        survey.observed.insert(seen.id(), Fact::Present(seen));
        reconcile(&survey, &add()).map(|intent| (queues(&intent), intent.refusals.len()))
    };
    let other_cluster = changes(|queue| drop(queue.tags.0.insert(CLUSTER.to_owned(), "other".to_owned())));
    assert_eq!(other_cluster.unwrap(), (vec!["update karpenter-base".to_owned()], 1));
    let no_statements = changes(|queue| queue.policy = None);
    assert!(
        !no_statements.is_ok_and(|(queues, refusals)| refusals == 0 && queues != ["update karpenter-base"]),
        "it is adopted or refused"
    );
}

#[test]
fn s9_a_cluster_that_is_being_deleted_is_not_registered_and_forgets_its_role() {
    let survey = survey(&["karpenter-base"]);
    assert!(survey.registered().is_empty());
    assert_eq!(survey.saved_tags(&"base".parse().unwrap()), None);
    let prefix = HubOptions { queue_prefix: Some("x-".parse().unwrap()), ..HubOptions::default() };
    let blocked = reconcile(&survey, &bootstrap(prefix)).unwrap_err();
    assert_eq!(
        blocked.0[0].sentence, "the queue prefix cannot change while clusters are registered: `base`",
        "its queue would not be found again"
    );
}

/// It counts as absent.
#[test]
fn s9_verify_and_status_do_not_show_a_queue_that_is_being_deleted() {
    let survey = survey(&["kibus-hub", "karpenter-base"]);
    let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
    let findings: Vec<_> = intent.findings.iter().map(|one| format!("{} {}", one.code.unwrap(), one.name())).collect();
    assert_eq!(findings, ["K101 kibus-hub"]);
    let (_, clusters) = status::status(&survey, &[].into()).unwrap();
    assert_eq!(clusters, []);
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
                "messages wait in queue `kibus-hub` (about 3; the count may be stale): SQS deletes those older than 1h when the retention is lowered",
            ),
        ),
        ("lower, and empty", &lower, 0, 0, None),
        ("higher", &higher, 2, 1, None),
        ("the same", &HubOptions::default(), 2, 1, None),
    ] {
        let mut survey = survey(&[]);
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
    let queues = ["kibus-hub", "kibus-hub-dlq", "kibus-probe", "karpenter-base"];
    let queue_names =
        |names: &[&str]| -> BTreeSet<QueueName> { names.iter().map(|name| name.parse().unwrap()).collect() };
    let mut survey = survey(&[]);
    for queue in queues {
        let waiting = Status::Queue(Depth { waiting: 1, in_flight: 0 });
        survey.status.insert(ResourceId::Queue(queue.parse().unwrap()), waiting);
    }
    let absent = ResourceId::Queue("karpenter-tenant-1".parse().unwrap());
    survey.observed.insert(absent, Fact::Absent);
    let known = &mut survey.known;
    let roles = usual_roles(&"tenant-1".parse().unwrap()).into_iter();
    known.roles.extend(roles.map(|role| (role, Fact::Absent)));
    known.function_mappings = Fact::Absent;
    known.function_permissions = Fact::Absent;
    known.dropped_clusters = Fact::Absent;
    known.event_rules = Fact::Absent;
    known.receives.insert("karpenter-base".parse().unwrap(), Fact::Absent);
    let sources = queue_names(&queues).into_iter().map(|queue| (queue, Fact::Absent));
    known.dead_letter_sources.extend(sources);
    let router = || OfferedRouter::Packaged(code());
    for (names, read_again, clusters) in [
        (&[][..], &["kibus-hub", "kibus-hub-dlq", "karpenter-base"][..], &["base"][..]),
        (&["base"], &["kibus-hub", "kibus-hub-dlq", "karpenter-base"], &["base"]),
        (&["tenant-1"], &["kibus-hub", "kibus-hub-dlq"], &[]),
    ] {
        let mut target = Target::keep(names.iter().map(|name| name.parse().unwrap()));
        target.router = router();
        let mut asks = |trial| {
            target.trial = trial;
            let _ = reconcile(&survey, &target);
            survey.take_open()
        };
        let nothing = asks(Trial::Nothing);
        assert!(nothing.is_empty(), "{names:?}: {nothing:?}");
        assert_eq!(asks(Trial::Glance).glance, queue_names(read_again), "{names:?}");
        let tries = asks(Trial::Probe);
        assert_eq!(tries.watch, queue_names(&["kibus-hub", "kibus-hub-dlq"]), "{names:?}");
        let bus = names.is_empty().then_some(None);
        assert_eq!(
            tries.probes,
            bus.into_iter().chain(clusters.iter().map(|name| Some(name.parse().unwrap()))).collect(),
            "{names:?}"
        );
    }
}

/// Someone removes `kms:ViaService` from the policies that allow the key. The same key stays allowed: one call replaces each.
#[test]
fn an_old_permission_for_a_key_is_narrowed_in_one_call() {
    let mut survey = survey_of(
        HubOptions {
            kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
            ..HubOptions::default()
        },
        &[],
    );
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
    let base = "base".parse().unwrap();
    for (role, searches) in [(RoleOption::Unmanaged, false), (RoleOption::Search, true)] {
        let mut survey = survey(&[]);
        let policy = Cluster::policy_id(&scope(), &base, &ROLE.parse().unwrap());
        survey.observed.remove(&policy);
        survey.known.listed_roles = Fact::NotAsked;
        let _ = reconcile(&survey, &add_with(role.clone()));
        assert_eq!(survey.take_open().listed_roles, searches, "{role:?}");
    }
}

#[test]
fn only_a_downgrade_can_be_allowed() {
    let mut survey = survey_of(HubOptions::default(), &[]);
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
