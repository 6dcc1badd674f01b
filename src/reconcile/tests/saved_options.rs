//! Saved options that only a tag names: what becomes of them (decisions 29 and 31).

use super::*;
use crate::model::fault::{Fault, FaultKind};
use crate::model::name::QueueName;
use crate::model::policy::{self, KeyUse};
use crate::model::resource::Encryption;
use crate::model::tags::{OPTION, Tags};

/// What someone who may only tag can change, and what the plans make of it.
#[test]
fn a_tag_alone_grants_no_queue_and_takes_no_boundary() {
    let refused = |target: &Target, survey: &Survey| reconcile(survey, target).unwrap().refusals.len();
    let search = add_with(RoleOption::Search);
    let (usual, other) = ("KarpenterControllerRole-base", ROLE);
    for (name, role, has_policy, others, request, is_planned) in [
        ("a role that only the tag names", other, false, vec![], &search, false),
        ("a role that the option names", other, false, vec![], &add(), true),
        ("a role with the policy", other, true, vec![], &search, true),
        ("a role that the search finds", usual, false, vec![], &search, true),
        (
            "one of two that the search finds",
            usual,
            false,
            vec!["base-karpenter"],
            &search,
            false,
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
        let planned = reconcile(&survey, request);
        let is_unclear = matches!(planned, Err(Blocked::RolesNotFound(_)));
        assert_eq!(is_unclear, !is_planned, "{name}: {planned:?}");
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
        assert_eq!(refused(&request, &survey), refusals, "{name}");
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
    let other_key = options("kms-key", &KEY.replace("key/1", "key/2"));
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
            "an old key that the router may still use",
            other_key.clone(),
            Box::new(|s| {
                keep_old_key(s, KEY);
                tag(s, "kms-key", Some(KEY));
            }),
            none(),
            1,
        ),
        (
            "a change of key that was cut short",
            other_key.clone(),
            Box::new(|s| {
                keep_old_key(s, KEY);
                edit_queue(s, scope().hub_queue(), |queue| {
                    queue.encryption = Encryption::Kms(KEY.parse().unwrap())
                });
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
        survey.saved = SavedOptions::of(&survey.scope, &survey.observed, survey.now);
        let intent = reconcile(&survey, &bootstrap(given)).unwrap();
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
        survey.saved = SavedOptions::of(&survey.scope, &survey.observed, survey.now);
        let is_refused = |blocked: Blocked| matches!(&blocked, Blocked::Refused(all) if matches!(all[..], [Refusal::UnconfirmedOption { .. }]));
        let torn_down = reconcile(&survey, &Target::teardown());
        assert_eq!(torn_down.is_err_and(is_refused), refused, "{name}: teardown");
        if survey.saved.options().is_none() {
            continue;
        }
        assert_eq!(
            reconcile(&survey, &add()).is_err_and(is_refused),
            refused,
            "{name}: add"
        );
        assert_eq!(
            reconcile(&survey, &remove()).is_err_and(is_refused),
            refused,
            "{name}: remove"
        );
        let shown = status::status(&survey, &Default::default());
        assert_eq!(shown.is_err_and(is_refused), refused, "{name}: status");
    }
}

/// Decision 31: whoever may not read the function still adds and removes clusters; any other failed read ends the command.
/// A cluster that has its queue is not affected: the function is read only in case the queue is missing.
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
        let known = reconcile(&survey, &add()).unwrap();
        assert_eq!(known.warnings, [], "{kind:?}");
        let mut without = survey.clone();
        let queue = ResourceId::Queue(survey.cluster_queue(&"base".parse().unwrap()));
        without.observed.insert(queue, Reading::Absent);
        for (name, intent) in [
            ("add", reconcile(&without, &add())),
            ("remove", reconcile(&survey, &remove())),
        ] {
            let warned = match intent {
                Ok(intent) => format!("{:?}", intent.warnings).contains("unknown whether the router serves"),
                Err(blocked) => !matches!(blocked, Blocked::Unreadable(..)),
            };
            assert_eq!(warned, is_warning, "{name}: {kind:?}");
        }
    }
}

/// Lets the router use a key that its queues had before.
fn keep_old_key(survey: &mut Survey, key: &str) {
    let id = ResourceId::RolePolicy(scope().router_role(), scope().router_policy());
    let mut policy = survey
        .observed
        .resource(&id)
        .and_then(Resource::as_role_policy)
        .unwrap()
        .clone();
    let keys = [key.parse().unwrap()].into();
    policy.document = policy::with_old_keys(policy.document, KeyUse::Route, &scope(), &keys);
    survey
        .observed
        .insert(id, Reading::Present(Box::new(Resource::RolePolicy(policy))));
}

fn edit_queue(survey: &mut Survey, name: QueueName, edit: impl FnOnce(&mut Queue)) {
    let mut queue = survey.observed.queue(name).unwrap().clone();
    edit(&mut queue);
    let queue = Resource::Queue(queue);
    survey.observed.insert(queue.id(), Reading::Present(Box::new(queue)));
}
