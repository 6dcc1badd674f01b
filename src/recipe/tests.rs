//! Recipes on a bus of which some queues are being deleted, and on one whose messages would expire.

use super::*;
use crate::model::cluster::Cluster;
use crate::model::fault::{Fault, FaultKind};
use crate::model::hub::{self, Hub};
use crate::model::inventory::Reading;
use crate::model::name::QueueName;
use crate::model::options::HubOptions;
use crate::model::resource::{Code, Encryption, Queue, Resource, ResourceId};
use crate::model::scope::tests::scope;
use crate::model::status::{Depth, Status};
use crate::model::tags::{DELETING, OPTION, Tags};
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
        router: bootstrap_hub::OfferedRouter::Packaged(code()),
        allow_downgrade: false,
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
    let request = verify::Request {
        router: "0.2.0".to_owned(),
        ..verify::Request::default()
    };
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
        let depth = Status::Queue(Depth { waiting, in_flight });
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

/// What someone who may only tag can change, and what the plans make of it.
#[test]
fn a_tag_alone_grants_no_queue_and_takes_no_boundary() {
    let intent = |request: &dyn Recipe, survey: &Survey| request.intent(survey).unwrap().refusals.len();
    let search = add_cluster::Request {
        role: add_cluster::RoleOption::Search,
        ..add()
    };
    let (usual, other) = ("KarpenterControllerRole-base", ROLE);
    for (name, role, has_policy, others, request, refusals) in [
        ("a role that only the tag names", other, false, vec![], &search, 1),
        ("a role that the option names", other, false, vec![], &add(), 0),
        ("a role with the policy", other, true, vec![], &search, 0),
        ("a role that the search finds", usual, false, vec![], &search, 0),
        (
            "one of two that the search finds",
            usual,
            false,
            vec!["base-karpenter"],
            &search,
            1,
        ),
    ] {
        let mut survey = survey(&[]);
        let queue = survey.observed.queue("karpenter-base".parse().unwrap()).unwrap();
        let mut queue = queue.clone();
        queue.tags = queue.tags.with_controller_role(&role.parse().unwrap());
        let queue = Resource::Queue(queue);
        survey.observed.insert(queue.id(), Reading::Present(Box::new(queue)));
        let name_of_policy = scope().controller_policy(&"base".parse().unwrap());
        if !has_policy {
            let id = ResourceId::RolePolicy(other.parse().unwrap(), name_of_policy);
            survey.observed.insert(id, Reading::Absent);
        }
        let all = others.iter().chain([&role]).map(|role| role.parse().unwrap());
        survey.role_names = Fact::Present(all.collect());
        let present = Fact::Present(RolePolicies::default());
        survey.roles = [(role.parse().unwrap(), present)].into();
        assert_eq!(intent(request, &survey), refusals, "{name}");
    }
    let (a, b) = (
        "arn:aws:iam::111122223333:policy/a",
        "arn:aws:iam::111122223333:policy/b",
    );
    for (name, live, saved, given, refusals) in [
        ("replaced", Some(a), b, None, 1),
        ("removed", Some(a), "none", None, 1),
        ("added", None, b, None, 0),
        ("replaced by the option", Some(a), b, Some(b), 0),
        ("removed by the option", Some(a), "none", Some("none"), 0),
        ("restored by the option", Some(a), b, Some(a), 0),
    ] {
        let boundary = |text: &str| HubOptions {
            permissions_boundary: Some(text.parse().unwrap()),
            ..HubOptions::default()
        };
        let mut survey = survey_of(boundary(saved), &[]);
        let mut role = survey.observed.role(scope().router_role()).unwrap().clone();
        role.permissions_boundary = live.map(|live| live.parse().unwrap());
        let role = Resource::Role(role);
        survey.observed.insert(role.id(), Reading::Present(Box::new(role)));
        let request = bootstrap(given.map(boundary).unwrap_or_default());
        assert_eq!(intent(&request, &survey), refusals, "{name}");
    }
}

/// Decision 31: a tag of the dead-letter queue says one thing, the other resources of the hub another.
#[test]
fn a_saved_option_that_nothing_else_confirms_is_refused() {
    const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";
    const BOUNDARY: &str = "arn:aws:iam::111122223333:policy/a";
    let options =
        |flag: &str, value: &str| HubOptions::saved(&Tags::default().with(format!("{OPTION}{flag}"), value)).unwrap();
    let (key, bounded) = (options("kms-key", KEY), options("permissions-boundary", BOUNDARY));
    let none = HubOptions::default;
    let tag: fn(&mut Survey, &str, Option<&str>) = |survey, flag, value| {
        edit_queue(survey, scope().dead_letter_queue(), |queue| {
            queue.tags.0.remove(&format!("{OPTION}{flag}"));
            if let Some(value) = value {
                queue.tags.0.insert(format!("{OPTION}{flag}"), value.to_owned());
            }
        });
    };
    let absent: fn(&mut Survey, ResourceId) = |survey, id| survey.observed.insert(id, Reading::Absent);
    let role = || ResourceId::Role(scope().router_role());
    let function = || ResourceId::Function(scope().router_function());
    type Edit<'a> = Box<dyn Fn(&mut Survey) + 'a>;
    let rows: Vec<(&str, HubOptions, Edit<'_>, HubOptions, usize)> = vec![
        ("nothing", key.clone(), Box::new(|_| {}), none(), 0),
        (
            "a new key",
            none(),
            Box::new(|s| tag(s, "kms-key", Some(KEY))),
            none(),
            1,
        ),
        (
            "a new key by the option",
            none(),
            Box::new(|s| tag(s, "kms-key", Some(KEY))),
            key.clone(),
            0,
        ),
        (
            "no key any more",
            key.clone(),
            Box::new(|s| tag(s, "kms-key", None)),
            none(),
            1,
        ),
        (
            "a queue that lost its key",
            key.clone(),
            Box::new(|s| {
                edit_queue(s, scope().hub_queue(), |queue| {
                    queue.encryption = Encryption::SqsManaged
                })
            }),
            none(),
            0,
        ),
        (
            "a new prefix",
            none(),
            Box::new(|s| tag(s, "queue-prefix", Some("x-"))),
            none(),
            1,
        ),
        (
            "a function that lost its prefix",
            none(),
            Box::new(|s| {
                let mut live = s.observed.function(scope().router_function()).unwrap().clone();
                live.settings.handler = "kibus/x-".to_owned();
                s.observed
                    .insert(function(), Reading::Present(Box::new(Resource::Function(live))));
            }),
            none(),
            0,
        ),
        (
            "a new boundary",
            none(),
            Box::new(|s| tag(s, "permissions-boundary", Some(BOUNDARY))),
            none(),
            1,
        ),
        (
            "a role that lost its boundary",
            bounded.clone(),
            Box::new(|s| {
                let mut live = s.observed.role(scope().router_role()).unwrap().clone();
                live.permissions_boundary = None;
                s.observed
                    .insert(role(), Reading::Present(Box::new(Resource::Role(live))));
            }),
            none(),
            0,
        ),
        (
            "a new path",
            none(),
            Box::new(|s| tag(s, "role-path", Some("/x/"))),
            none(),
            1,
        ),
        (
            "a new tag",
            none(),
            Box::new(|s| {
                tag(s, "tag", Some("team"));
                edit_queue(s, scope().dead_letter_queue(), |queue| {
                    queue.tags = queue.tags.clone().with("team", "x");
                });
            }),
            none(),
            1,
        ),
        (
            "a missing role, twice saved",
            bounded.clone(),
            Box::new(|s| absent(s, role())),
            none(),
            0,
        ),
        (
            "a missing role, once saved",
            bounded.clone(),
            Box::new(|s| {
                absent(s, role());
                absent(s, function());
            }),
            none(),
            1,
        ),
        (
            "a missing role, once saved, and the option",
            bounded.clone(),
            Box::new(|s| {
                absent(s, role());
                absent(s, function());
            }),
            bounded.clone(),
            0,
        ),
        (
            "a missing role, differently saved",
            bounded,
            Box::new(|s| {
                absent(s, role());
                tag(s, "permissions-boundary", None);
            }),
            none(),
            1,
        ),
        (
            "a first bootstrap that was killed",
            none(),
            Box::new(|s| {
                absent(s, role());
                absent(s, function());
            }),
            none(),
            0,
        ),
    ];
    for (name, live, edit, given, refusals) in rows {
        let mut survey = survey_of(live, &[]);
        edit(&mut survey);
        survey.saved = SavedOptions::of(&survey.scope, &survey.observed);
        let intent = bootstrap(given).intent(&survey).unwrap();
        assert_eq!(intent.refusals.len(), refusals, "{name}: {:?}", intent.refusals);
    }
}

/// Decision 31: by a prefix that only a tag names, the queues of clusters would not be found.
#[test]
fn a_saved_prefix_that_the_router_does_not_serve_is_refused() {
    type Edit = fn(&mut Survey);
    let retag: Edit = |survey| {
        edit_queue(survey, scope().dead_letter_queue(), |queue| {
            queue.tags = queue.tags.clone().with(format!("{OPTION}queue-prefix"), "x-");
        });
        let base = ResourceId::Queue("x-base".parse().unwrap());
        survey.observed.insert(base, Reading::Absent);
    };
    let drift: Edit = |survey| {
        let mut live = survey.observed.function(scope().router_function()).unwrap().clone();
        live.settings.handler = "kibus/x-".to_owned();
        let live = Resource::Function(live);
        survey.observed.insert(live.id(), Reading::Present(Box::new(live)));
    };
    let no_function: Edit = |survey| {
        let id = ResourceId::Function(scope().router_function());
        survey.observed.insert(id, Reading::Absent);
    };
    let no_policy: Edit = |survey| {
        let id = ResourceId::RolePolicy(scope().router_role(), scope().router_policy());
        survey.observed.insert(id, Reading::Absent);
    };
    let other_bus: Edit = |survey| {
        edit_queue(survey, scope().dead_letter_queue(), |queue| {
            queue.tags = Tags::default()
        });
    };
    let rows: [(&str, &[Edit], bool); 8] = [
        ("nothing", &[], false),
        ("a tag", &[retag], true),
        ("a tag, without the function", &[retag, no_function], true),
        ("a tag, without the policy", &[retag, no_policy], true),
        ("a hub that is mostly gone", &[retag, no_function, no_policy], false),
        ("drift of the function", &[drift], false),
        ("a change that was cut short", &[retag, drift], false),
        (
            "no saved options, and another prefix in use",
            &[other_bus, drift, no_policy],
            true,
        ),
    ];
    for (name, edits, refused) in rows {
        let mut survey = survey(&[]);
        edits.iter().for_each(|edit| edit(&mut survey));
        survey.saved = SavedOptions::of(&survey.scope, &survey.observed);
        let is_refused = |blocked: Blocked| matches!(&blocked, Blocked::Refused(all) if matches!(all[..], [Refusal::UnconfirmedOption { .. }]));
        let torn_down = teardown::Request.intent(&survey);
        assert_eq!(torn_down.is_err_and(is_refused), refused, "{name}: teardown");
        if survey.saved.options().is_none() {
            continue;
        }
        assert_eq!(add().intent(&survey).is_err_and(is_refused), refused, "{name}: add");
        assert_eq!(
            remove().intent(&survey).is_err_and(is_refused),
            refused,
            "{name}: remove"
        );
        let shown = status::status(&survey, &Default::default());
        assert_eq!(shown.is_err_and(is_refused), refused, "{name}: status");
    }
}

/// Decision 31: whoever may not read the function still adds and removes clusters; any other failed read ends the command.
#[test]
fn only_a_denied_read_of_the_function_leaves_the_prefix_unconfirmed() {
    let denied = FaultKind::Denied {
        principal: None,
        resource: None,
    };
    for (kind, is_warning) in [
        (denied, true),
        (FaultKind::NotFromAws, false),
        (FaultKind::Unreachable, false),
        (FaultKind::Throttled, false),
    ] {
        let mut survey = survey(&[]);
        let fault = Fault {
            kind: kind.clone(),
            action: "lambda:GetFunction".to_owned(),
            code: None,
            message: "no".to_owned(),
        };
        let function = ResourceId::Function(scope().router_function());
        survey.observed.insert(function, Reading::Unreadable(fault.clone()));
        if is_warning {
            let policy = ResourceId::RolePolicy(scope().router_role(), scope().router_policy());
            survey.observed.insert(policy, Reading::Unreadable(fault));
        }
        for (name, intent) in [("add", add().intent(&survey)), ("remove", remove().intent(&survey))] {
            let warned = match intent {
                Ok(intent) => format!("{:?}", intent.warnings).contains("unknown whether the router serves"),
                Err(blocked) => !matches!(blocked, Blocked::Unreadable(..)),
            };
            assert_eq!(warned, is_warning, "{name}: {kind:?}");
        }
    }
}

fn edit_queue(survey: &mut Survey, name: QueueName, edit: impl FnOnce(&mut Queue)) {
    let mut queue = survey.observed.queue(name).unwrap().clone();
    edit(&mut queue);
    let queue = Resource::Queue(queue);
    survey.observed.insert(queue.id(), Reading::Present(Box::new(queue)));
}
