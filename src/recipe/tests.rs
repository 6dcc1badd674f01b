//! Recipes on a bus of which some queues are being deleted, and on one whose messages would expire.

mod old_key;
mod router_code;
mod saved_options;

use super::*;
use crate::model::cluster::Cluster;
use crate::model::hub::{self, Hub};
use crate::model::inventory::Reading;
use crate::model::options::HubOptions;
use crate::model::resource::{Code, Queue, Resource, ResourceId};
use crate::model::scope::tests::scope;
use crate::model::status::{Depth, QueueState, Status};
use crate::model::tags::DELETING;
use crate::plan::Op;
use crate::survey::{Fact, RolePolicies, SavedOptions};

/// A name, a recipe, the queues that are being deleted, and the changes of queues that follow.
type Row = (
    &'static str,
    Box<dyn Recipe>,
    &'static [&'static str],
    &'static [&'static str],
);

const ROLE: &str = "KarpenterNodeRole-base";

fn options(memory: Option<&str>) -> HubOptions {
    HubOptions {
        memory: memory.map(|memory| memory.parse().unwrap()),
        ..HubOptions::default()
    }
}

/// A hub with 512 MB of memory for its function and the cluster `base`, up to date, but these queues are being deleted.
fn survey(being_deleted: &[&str]) -> Survey {
    survey_of(options(Some("512")), being_deleted)
}

/// The same with these options.
fn survey_of(options: HubOptions, being_deleted: &[&str]) -> Survey {
    let mut survey = Survey::new(scope());
    for id in hub::ids(&scope()) {
        survey.observed.insert(id, Reading::Absent);
    }
    let role = Some(ROLE.parse().unwrap());
    let name = "base".parse().unwrap();
    let base = Cluster::new(&scope(), &hub::default_queue_prefix(), name, role, Default::default());
    let mut resources = Hub::new(&scope(), options.clone(), code()).desired();
    resources.extend(base.desired(&scope(), &options));
    for mut resource in resources.resources().cloned() {
        if let Resource::Queue(queue) = &mut resource
            && being_deleted.contains(&queue.name.as_str())
        {
            queue.tags = queue.tags.clone().with(DELETING, "1");
        }
        survey
            .observed
            .insert(resource.id(), Reading::Present(Box::new(resource)));
    }
    survey
        .roles
        .insert(ROLE.parse().unwrap(), Fact::Present(RolePolicies::default()));
    survey.role_names = Fact::Present([ROLE.parse().unwrap()].into());
    survey.discovered = Fact::Present(["karpenter-base".parse().unwrap()].into());
    survey.saved = SavedOptions::of(&survey.scope, &survey.observed);
    survey
}

fn code() -> Code {
    Code::of_archive("0.2.0", "aa")
}

fn bootstrap(options: HubOptions) -> bootstrap_hub::Request {
    bootstrap_hub::Request {
        options,
        router: OfferedRouter::Packaged(code()),
        allow_downgrade: false,
        drop_old_key: false,
    }
}

fn add() -> add_cluster::Request {
    add_cluster::Request {
        names: ["base".parse().unwrap()].into(),
        role: add_cluster::RoleOption::Named(ROLE.parse().unwrap()),
        options: Default::default(),
        show_settings: false,
    }
}

fn remove() -> remove_cluster::Request {
    remove_cluster::Request {
        names: ["base".parse().unwrap()].into(),
        ignore_missing: false,
    }
}

/// The changes of queues, as `action name`.
fn queues(intent: &Intent) -> Vec<String> {
    let changes = intent.plan.changes.iter();
    changes
        .filter(|change| matches!(change.id, ResourceId::Queue(_)))
        .map(|change| format!("{} {}", change.action.as_str(), change.id.name()))
        .collect()
}

#[test]
fn s9_a_queue_that_is_being_deleted_is_neither_in_place_nor_absent() {
    let hub: &[&str] = &["kibus-hub", "kibus-hub-dlq", "kibus-probe"];
    let base: &[&str] = &["karpenter-base"];
    let up_to_date = || bootstrap(HubOptions::default());
    let rows: [Row; 7] = [
        ("bootstrap, nothing deleted", Box::new(up_to_date()), &[], &[]),
        (
            "bootstrap, the hub queue deleted",
            Box::new(up_to_date()),
            &["kibus-hub"],
            &["replace kibus-hub"],
        ),
        (
            "bootstrap, all deleted",
            Box::new(up_to_date()),
            hub,
            &["replace kibus-hub", "replace kibus-hub-dlq", "replace kibus-probe"],
        ),
        ("bootstrap, a cluster deleted", Box::new(up_to_date()), base, &[]),
        ("add", Box::new(add()), base, &["replace karpenter-base"]),
        ("remove", Box::new(remove()), base, &["delete karpenter-base"]),
        (
            "teardown",
            Box::new(teardown::Request),
            &["karpenter-base", "kibus-hub-dlq"],
            &[
                "delete karpenter-base",
                "delete kibus-hub",
                "delete kibus-hub-dlq",
                "delete kibus-probe",
            ],
        ),
    ];
    for (name, recipe, being_deleted, expected) in rows {
        let intent = recipe.intent(&survey(being_deleted)).unwrap();
        let mut changes = queues(&intent);
        changes.sort();
        assert_eq!(changes, expected, "{name}");
        assert_eq!(intent.refusals, [], "{name}");
    }
}

#[test]
fn s9_options_on_a_queue_that_is_being_deleted_do_not_count() {
    let mut survey = survey(&["kibus-hub-dlq"]);
    let copy = SavedOptions::Kept {
        options: options(Some("512")),
        copy: true,
    };
    assert_eq!(survey.saved, copy, "the function has a copy");
    survey
        .observed
        .insert(ResourceId::Function(scope().router_function()), Reading::Absent);
    assert_eq!(SavedOptions::of(&scope(), &survey.observed), SavedOptions::Absent);
}

#[test]
fn s9_a_cluster_that_is_being_deleted_is_not_registered_and_forgets_its_role() {
    let survey = survey(&["karpenter-base"]);
    assert!(survey.registered().is_empty());
    assert_eq!(survey.saved_tags(&"base".parse().unwrap()), None);
    let prefix = HubOptions {
        queue_prefix: Some("x-".parse().unwrap()),
        ..HubOptions::default()
    };
    let blocked = bootstrap(prefix).intent(&survey).unwrap_err();
    assert!(
        matches!(blocked, Blocked::Refused(_)),
        "its queue would not be found again: {blocked:?}"
    );
}

#[test]
fn s9_verify_and_status_name_a_queue_that_is_being_deleted() {
    let survey = survey(&["kibus-hub", "karpenter-base"]);
    let request = verify::Request::new(OfferedRouter::Packaged(code()), Default::default());
    let intent = request.intent(&survey).unwrap();
    let findings: Vec<_> = intent
        .findings
        .iter()
        .map(|one| format!("{} {}", one.code, one.name()))
        .collect();
    assert_eq!(findings, ["K112 kibus-hub", "K112 karpenter-base"]);
    let (report, clusters) = status::status(&survey, &["base".parse().unwrap()].into()).unwrap();
    let names: Vec<_> = report.being_deleted.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["karpenter-base", "kibus-hub"]);
    assert!(clusters[0].being_deleted);
}

#[test]
fn s4_a_lower_retention_warns_of_the_messages_that_wait() {
    let lower = HubOptions {
        retention: Some("3600".parse().unwrap()),
        ..HubOptions::default()
    };
    let higher = HubOptions {
        retention: Some("172800".parse().unwrap()),
        ..HubOptions::default()
    };
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
        let depth = Status::Queue(QueueState {
            depth: Depth { waiting, in_flight },
            changed: None,
        });
        survey.status.insert(ResourceId::Queue(scope().hub_queue()), depth);
        let intent = bootstrap(options.clone()).intent(&survey).unwrap();
        let warnings: Vec<_> = intent.warnings.iter().map(|hint| hint.text.as_str()).collect();
        assert_eq!(warnings, warns.into_iter().collect::<Vec<_>>(), "{name}");
    }
}

/// Policies of an older kibus allow the key without `kms:ViaService`. The same key stays allowed: one call replaces each.
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
        let of_key = statements
            .iter_mut()
            .find(|statement| statement["Sid"] == "KibusUseKey");
        assert!(of_key.unwrap().as_object_mut().unwrap().remove("Condition").is_some());
        let old = Resource::RolePolicy(policy);
        survey.observed.insert(old.id(), Reading::Present(Box::new(old)));
    }
    let [controller, router] = current.as_slice() else {
        panic!("the policies of base and of the router: {current:?}")
    };
    let rows: [(&str, Box<dyn Recipe>, &[&Resource]); 2] = [
        (
            "bootstrap",
            Box::new(bootstrap(HubOptions::default())),
            &[controller, router],
        ),
        ("add", Box::new(add()), &[controller]),
    ];
    for (name, recipe, expected) in rows {
        let intent = recipe.intent(&survey).unwrap();
        assert_eq!(intent.refusals, [], "{name}");
        let mut written: Vec<_> = intent
            .plan
            .steps
            .iter()
            .map(|step| match &step.op {
                Op::Update { to, .. } => to,
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        written.sort_by_key(|resource| resource.id());
        assert_eq!(written, expected, "{name}");
    }
}
