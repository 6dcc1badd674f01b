//! Whole texts of real plans, kept as files in `snapshots`. With `KIBUS_SNAPSHOTS=write` the tests write them; read
//! what they wrote as a person would before it is committed.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::error::{Error, Progress};
use crate::model::cluster::Cluster;
use crate::model::document::Document;
use crate::model::hub::{self, Hub};
use crate::model::inventory::{Desired, Observed, Reading};
use crate::model::options::{ClusterOptions, HubOptions};
use crate::model::resource::{Code, Resource, ResourceId};
use crate::model::scope::tests::scope;
use crate::plan::{Plan, plan as plan_of};
use crate::ui::Heading;

pub(crate) fn hub_world(options: HubOptions) -> Desired {
    Hub::new(&scope(), options, Code::of_archive("0.1.0", "5e1f".repeat(16))).desired()
}

pub(crate) fn cluster_world(name: &str) -> Desired {
    let role = Some(format!("KarpenterServiceAccount-{name}").parse().unwrap());
    let name = name.parse().unwrap();
    Cluster::new(
        &scope(),
        &hub::default_queue_prefix(),
        name,
        role,
        ClusterOptions::default(),
    )
    .desired(&scope(), None)
}

pub(crate) fn clusters_world(count: usize) -> Desired {
    let mut desired = Desired::default();
    for number in 1..=count {
        desired.extend(cluster_world(&format!("tenant-{number}")));
    }
    desired
}

/// The plan from one world to another.
pub(crate) fn between(before: &Desired, after: &Desired) -> Plan {
    let ids: BTreeSet<&ResourceId> = before.ids().chain(after.ids()).collect();
    let observed: Observed = ids
        .into_iter()
        .map(|id| {
            let seen = before
                .get(id)
                .map_or(Reading::Absent, |r| Reading::Present(Box::new(r.clone())));
            (id.clone(), seen)
        })
        .collect();
    plan_of(&scope(), after, &observed)
}

/// The same world, in which someone else changed things.
fn drifted(desired: &Desired, mut change: impl FnMut(&mut Resource)) -> Desired {
    desired
        .resources()
        .cloned()
        .map(|mut resource| {
            change(&mut resource);
            resource
        })
        .collect()
}

/// The same world, in which one thing of almost every kind is not as it should be.
pub(crate) fn drifted_world(desired: &Desired) -> Desired {
    drifted(desired, |resource| match resource {
        Resource::Queue(queue) if queue.name == scope().hub_queue() => {
            queue.visibility = 30;
            queue.redrive = None;
            queue.tags.0.insert("kibus:stray".to_owned(), "\u{1b}[2Jx".to_owned());
        }
        Resource::Rule(rule) if rule.name.as_str() == "kibus-instance-state-change" => {
            rule.pattern.0["detail"]["state"] = serde_json::json!(["running", "terminated"]);
            rule.enabled = false;
        }
        Resource::RolePolicy(policy) if policy.role == scope().router_role() => {
            policy.document.0["Statement"][1]["Resource"] = serde_json::json!("*");
        }
        Resource::RolePolicy(policy) => policy.document.0["Statement"][0]["Action"] = serde_json::json!("sqs:*"),
        Resource::LogGroup(group) => group.retention_days = None,
        Resource::Function(function) => {
            function.settings.memory = 128;
            function.settings.code.live = "ffff".repeat(16);
        }
        Resource::EventSourceMapping(mapping) => mapping.batch_size = 1,
        _ => {}
    })
}

fn look(verbose: u8, width: Option<usize>) -> Look {
    Look {
        verbose,
        width,
        ..Look::default()
    }
}

fn shown(plan: &Plan, look: Look) -> String {
    super::plan(&Heading::from(&scope()), plan, look)
}

/// Holds a text against the file of this name.
pub(crate) fn is_like(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/ui/snapshots")
        .join(name);
    if std::env::var("KIBUS_SNAPSHOTS").is_ok_and(|value| value == "write") {
        std::fs::write(&path, format!("{text}\n")).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(format!("{text}\n"), wanted, "{name} differs");
}

#[test]
fn a_first_hub() {
    let plan = between(&Desired::default(), &hub_world(HubOptions::default()));
    is_like("first-hub.txt", &shown(&plan, Look::default()));
    is_like("first-hub-narrow.txt", &shown(&plan, look(0, Some(80))));
    is_like("first-hub-very-narrow.txt", &shown(&plan, look(0, Some(60))));
    is_like("first-hub-verbose.txt", &shown(&plan, look(1, None)));
}

#[test]
fn every_option_of_a_hub() {
    let chosen = HubOptions {
        kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab".parse().unwrap()),
        permissions_boundary: Some("arn:aws:iam::111122223333:policy/team/boundary".parse().unwrap()),
        role_path: Some("/team/".parse().unwrap()),
        reserved_concurrency: Some("20".parse().unwrap()),
        rebalance: Some(true),
        memory: Some("512".parse().unwrap()),
        ..HubOptions::default()
    };
    let (before, after) = (hub_world(HubOptions::default()), hub_world(chosen));
    is_like(
        "options-new.txt",
        &shown(&between(&Desired::default(), &after), Look::default()),
    );
    is_like(
        "options-changed.txt",
        &shown(&between(&before, &after), Look::default()),
    );
}

#[test]
fn a_policy_that_only_follows_its_role_says_so() {
    let moved = HubOptions {
        role_path: Some("/team/".parse().unwrap()),
        ..HubOptions::default()
    };
    let text = shown(
        &between(&hub_world(HubOptions::default()), &hub_world(moved)),
        Look::default(),
    );
    let line = "± role policy  kibus-router-us-west-2  stays as it is, but goes and comes back with its role";
    assert!(text.contains(line), "{text}");
}

#[test]
fn clusters_stand_apart_from_the_hub_and_from_each_other() {
    let mut after = hub_world(HubOptions::default());
    let before = drifted(&after, |resource| {
        if let Resource::Queue(queue) = resource
            && queue.name == scope().hub_queue()
        {
            queue.retention = 345_600;
        }
    });
    after.extend(clusters_world(2));
    is_like("clusters.txt", &shown(&between(&before, &after), Look::default()));
}

#[test]
fn many_clusters_are_folded_and_all_named() {
    let plan = between(&Desired::default(), &clusters_world(60));
    is_like("many-clusters.txt", &shown(&plan, look(0, Some(100))));
    let full = shown(&plan, look(1, None));
    for number in 1..=60 {
        assert!(
            full.contains(&format!("karpenter-tenant-{number} ")),
            "tenant-{number} is not shown by -v"
        );
    }
    let few = shown(&between(&Desired::default(), &clusters_world(20)), Look::default());
    assert!(
        !few.contains("more clusters"),
        "20 clusters are not too many to show:\n{few}"
    );
}

#[test]
fn a_cluster_that_is_no_pure_create_is_never_folded() {
    let after = clusters_world(60);
    let before: Desired = drifted(&after, |resource| {
        if let Resource::Queue(queue) = resource {
            queue.retention = 60;
        }
    })
    .resources()
    .filter(|resource| matches!(resource, Resource::Queue(queue) if queue.name.as_str() == "karpenter-tenant-42"))
    .cloned()
    .collect();
    let text = shown(&between(&before, &after), Look::default());
    assert!(text.contains("~ queue        karpenter-tenant-42"), "{text}");
}

#[test]
fn drift_shows_each_old_and_new_value() {
    let mut wanted = hub_world(HubOptions::default());
    wanted.extend(clusters_world(1));
    let found = drifted_world(&wanted);
    is_like("drift.txt", &shown(&between(&found, &wanted), Look::default()));
    is_like("drift-verbose.txt", &shown(&between(&found, &wanted), look(1, None)));
}

#[test]
fn a_teardown() {
    let mut before = hub_world(HubOptions::default());
    before.extend(clusters_world(1));
    is_like(
        "teardown.txt",
        &shown(&between(&before, &Desired::default()), Look::default()),
    );
}

#[test]
fn what_could_not_be_read_is_said() {
    let plan = Plan {
        unknown: vec![ResourceId::Queue(scope().hub_queue())],
        ..Plan::default()
    };
    assert_eq!(
        shown(&plan, Look::default()),
        "kibus · account 111122223333 · us-west-2 · hub kibus\n\n  ? queue  kibus-hub  could not be read; nothing is planned for it"
    );
}

#[test]
fn no_changes_are_no_text() {
    let desired = hub_world(HubOptions::default());
    assert_eq!(shown(&between(&desired, &desired), Look::default()), "");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let mut after = hub_world(HubOptions::default());
    after.extend(clusters_world(25));
    let before = drifted(&hub_world(HubOptions::default()), |resource| {
        if let Resource::Queue(queue) = resource {
            queue.policy = queue
                .policy
                .as_ref()
                .map(|_| Document(serde_json::json!({"Statement": []})));
        }
    });
    let plan = between(&before, &after);
    let coloured = shown(
        &plan,
        Look {
            paint: Paint::new(true),
            ..Look::default()
        },
    );
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(console::strip_ansi_codes(&coloured), shown(&plan, Look::default()));
}

#[test]
fn an_error_says_what_why_and_what_next() {
    let mut refused = Error::failed("not allowed to create role `kibus-router-us-west-2`")
        .note("AWS refused iam:CreateRole for arn:aws:iam::111122223333:user/operator")
        .note("2 of 13 changes are done, this one was refused, 10 were not tried; nothing needs undoing")
        .hint_command("what an operator needs:", "kibus policy operator")
        .hint_command(
            "when the permission is there, run again",
            "kibus bootstrap-hub \\\n  --yes",
        )
        .hint("or ask whoever may");
    refused.progress = Some(Progress {
        done: 2,
        failed: 1,
        not_tried: 10,
    });
    is_like("error.txt", &error(&refused, Look::default()));
}

#[test]
fn an_error_obeys_nothing_that_it_tells() {
    let told = Error::usage("`a\u{1b}]0;x\u{7}\nerror: b` is not a name")
        .note("one\n\u{1b}[2Jtwo")
        .hint_command("do\u{202e}", "kibus \u{1b}[31m");
    assert_eq!(
        error(&told, Look::default()),
        "error: `a\\u{1b}]0;x\\u{7}\\nerror: b` is not a name\n  one\n  \\u{1b}[2Jtwo\n  do\\u{202e}:\n      kibus \\u{1b}[31m"
    );
}

#[test]
fn sentences_end_where_the_terminal_does_and_commands_stay_whole() {
    let narrow = look(0, Some(30));
    let told = Error::failed("a message that is longer than the terminal is wide")
        .note("a note that is longer than the terminal is wide")
        .hint_command(
            "a step that is longer than the terminal",
            "kibus add-cluster a-name-of-some-length",
        );
    assert_eq!(
        error(&told, narrow),
        "error: a message that is\n  longer than the terminal is\n  wide\n  a note that is longer than\n  the terminal is wide\n  \
         a step that is longer than\n  the terminal:\n      kibus add-cluster a-name-of-some-length"
    );
    let text = "a warning that is longer than the terminal\n    a command that is longer than the terminal";
    assert_eq!(
        warning(text, narrow),
        "warning: a warning that is\n  longer than the terminal\n    a command that is longer than the terminal"
    );
    assert_eq!(
        sentences(text, narrow),
        "a warning that is longer than\nthe terminal\n    a command that is longer than the terminal"
    );
    assert_eq!(sentences(text, Look::default()), text);
}
