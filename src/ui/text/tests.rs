//! Whole texts of real plans, compared with the files in `snapshots`. `KIBUS_TEST_UPDATE=1` writes these files; read the
//! difference before you commit it.

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

pub(crate) fn hub_resources(options: HubOptions) -> Desired {
    Hub::new(&scope(), options, Code::of_archive("0.1.0", "5e1f".repeat(16))).desired()
}

pub(crate) fn cluster_resources(name: &str) -> Desired {
    cluster_of(name, &format!("KarpenterServiceAccount-{name}"))
}

fn cluster_of(name: &str, role: &str) -> Desired {
    let role = Some(role.parse().unwrap());
    let name = name.parse().unwrap();
    let prefix = hub::default_queue_prefix();
    Cluster::new(&scope(), &prefix, name, role, ClusterOptions::default()).desired(&scope(), &HubOptions::default())
}

fn clusters_resources(count: usize) -> Desired {
    let mut desired = Desired::default();
    for number in 1..=count {
        desired.extend(cluster_resources(&format!("tenant-{number}")));
    }
    desired
}

/// The plan that changes the one set of resources into the other.
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

/// The same resources after changes by someone else.
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

/// The same resources with drift in almost every kind.
pub(crate) fn drifted_resources(desired: &Desired) -> Desired {
    drifted(desired, |resource| match resource {
        Resource::Queue(queue) if queue.name == scope().hub_queue() => {
            queue.visibility = 30;
            queue.redrive = None;
            queue.tags.0.insert("kibus:stray".to_owned(), "\u{1b}[2Jx".to_owned());
        }
        Resource::Rule(rule) if rule.name.as_str() == "kibus-instance-state-change" => {
            rule.pattern.value_mut()["detail"]["state"] = serde_json::json!(["running", "terminated"]);
            rule.enabled = false;
        }
        Resource::RolePolicy(policy) if policy.role == scope().router_role() => {
            policy.document.value_mut()["Statement"][1]["Resource"] = serde_json::json!("*");
        }
        Resource::RolePolicy(policy) => {
            policy.document.value_mut()["Statement"][0]["Action"] = serde_json::json!("sqs:*")
        }
        Resource::LogGroup(group) => group.retention_days = None,
        Resource::Function(function) => {
            function.settings.memory = 128;
            function.settings.code.sha256 = "ffff".repeat(16);
        }
        Resource::EventSourceMapping(mapping) => mapping.batch_size = 1,
        _ => {}
    })
}

fn style(verbose: u8, width: Option<usize>) -> Style {
    Style {
        verbose,
        width,
        ..Style::default()
    }
}

fn shown(plan: &Plan, style: Style) -> String {
    super::plan(&Heading::from(&scope()), plan, style)
}

/// Compares a text with the snapshot of this name.
pub(crate) fn assert_snapshot(name: &str, text: &str) {
    assert_file(&format!("src/ui/snapshots/{name}"), text);
}

/// Compares a text with this file of the package.
pub(crate) fn assert_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(&path, format!("{text}\n")).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        format!("{text}\n"),
        expected,
        "{name} differs; `KIBUS_TEST_UPDATE=1` writes it"
    );
}

#[test]
fn a_first_hub() {
    let plan = between(&Desired::default(), &hub_resources(HubOptions::default()));
    assert_snapshot("first-hub.txt", &shown(&plan, Style::default()));
    assert_snapshot("first-hub-narrow.txt", &shown(&plan, style(0, Some(80))));
    assert_snapshot("first-hub-very-narrow.txt", &shown(&plan, style(0, Some(60))));
    assert_snapshot("first-hub-verbose.txt", &shown(&plan, style(1, None)));
}

#[test]
fn every_option_of_a_hub() {
    let options = HubOptions {
        kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab".parse().unwrap()),
        permissions_boundary: Some("arn:aws:iam::111122223333:policy/team/boundary".parse().unwrap()),
        role_path: Some("/team/".parse().unwrap()),
        reserved_concurrency: Some("20".parse().unwrap()),
        rebalance: Some(true),
        memory: Some("512".parse().unwrap()),
        ..HubOptions::default()
    };
    let (before, after) = (hub_resources(HubOptions::default()), hub_resources(options));
    assert_snapshot(
        "options-new.txt",
        &shown(&between(&Desired::default(), &after), Style::default()),
    );
    assert_snapshot(
        "options-changed.txt",
        &shown(&between(&before, &after), Style::default()),
    );
}

#[test]
fn a_policy_replaced_only_with_its_role_says_so() {
    let options = HubOptions {
        role_path: Some("/team/".parse().unwrap()),
        ..HubOptions::default()
    };
    let text = shown(
        &between(&hub_resources(HubOptions::default()), &hub_resources(options)),
        Style::default(),
    );
    let line = "± role policy  kibus-router-us-west-2  unchanged, but deleted and created again with its role";
    assert!(text.contains(line), "{text}");
}

#[test]
fn clusters_are_listed_apart_from_the_hub_and_each_other() {
    let mut after = hub_resources(HubOptions::default());
    let before = drifted(&after, |resource| {
        if let Resource::Queue(queue) = resource
            && queue.name == scope().hub_queue()
        {
            queue.retention = 345_600;
        }
    });
    after.extend(clusters_resources(2));
    assert_snapshot("clusters.txt", &shown(&between(&before, &after), Style::default()));
}

#[test]
fn many_clusters_are_one_line_each_and_v_shows_each_change() {
    let plan = between(&Desired::default(), &clusters_resources(60));
    assert_snapshot("many-clusters.txt", &shown(&plan, style(0, Some(100))));
    let full = shown(&plan, style(1, None));
    for number in 1..=60 {
        assert!(
            full.contains(&format!("karpenter-tenant-{number} ")),
            "tenant-{number} is not shown by -v"
        );
    }
    let few = shown(&between(&Desired::default(), &clusters_resources(20)), Style::default());
    assert!(few.contains("+ queue"), "20 clusters are shown in detail:\n{few}");
}

#[test]
fn of_many_clusters_one_with_an_update_is_shown_in_detail() {
    let after = clusters_resources(60);
    let before: Desired = drifted(&after, |resource| {
        if let Resource::Queue(queue) = resource {
            queue.retention = 60;
        }
    })
    .resources()
    .filter(|resource| matches!(resource, Resource::Queue(queue) if queue.name.as_str() == "karpenter-tenant-42"))
    .cloned()
    .collect();
    let text = shown(&between(&before, &after), Style::default());
    assert!(text.contains("~ queue        karpenter-tenant-42"), "{text}");
}

#[test]
fn every_row_of_a_plan_fits_the_terminal() {
    let long = "a-cluster-name-of-the-longest-kind-that-eks-accepts-".repeat(2);
    let long = &long[..100];
    let mut few = hub_resources(HubOptions::default());
    few.extend(cluster_of(long, &"r".repeat(64)));
    let mut many = clusters_resources(30);
    many.extend(cluster_of(long, &"r".repeat(64)));
    let mut plans = Vec::new();
    for resources in [few, many] {
        plans.push(between(&Desired::default(), &resources));
        plans.push(between(&resources, &Desired::default()));
    }
    plans.push(Plan {
        unknown: plans[0].changes.iter().map(|change| change.id.clone()).collect(),
        ..Plan::default()
    });
    for plan in &plans {
        let whole = shown(plan, Style::default());
        assert!(
            !whole.contains('…'),
            "nothing is shortened without a terminal:\n{whole}"
        );
        for width in [40, 60, 80, 100, 120, 200] {
            for line in shown(plan, style(0, Some(width))).lines().skip(1) {
                let words = console::measure_text_width(line);
                assert!(words <= width, "{words} columns at {width}: {line}");
            }
        }
    }
}

#[test]
fn drift_shows_each_old_and_new_value() {
    let mut wanted = hub_resources(HubOptions::default());
    wanted.extend(clusters_resources(1));
    let found = drifted_resources(&wanted);
    assert_snapshot("drift.txt", &shown(&between(&found, &wanted), Style::default()));
    assert_snapshot("drift-verbose.txt", &shown(&between(&found, &wanted), style(1, None)));
}

#[test]
fn a_teardown() {
    let mut before = hub_resources(HubOptions::default());
    before.extend(clusters_resources(1));
    assert_snapshot(
        "teardown.txt",
        &shown(&between(&before, &Desired::default()), Style::default()),
    );
}

#[test]
fn unreadable_resources_are_listed() {
    let plan = Plan {
        unknown: vec![ResourceId::Queue(scope().hub_queue())],
        ..Plan::default()
    };
    assert_eq!(
        shown(&plan, Style::default()),
        "kibus · account 111122223333 · us-west-2 · hub kibus\n\n  ? queue  kibus-hub  could not be read; no change is planned"
    );
}

#[test]
fn a_plan_without_changes_has_no_text() {
    let desired = hub_resources(HubOptions::default());
    assert_eq!(shown(&between(&desired, &desired), Style::default()), "");
}

#[test]
fn color_changes_no_text() {
    let mut after = hub_resources(HubOptions::default());
    after.extend(clusters_resources(25));
    let before = drifted(&hub_resources(HubOptions::default()), |resource| {
        if let Resource::Queue(queue) = resource {
            queue.policy = queue
                .policy
                .as_ref()
                .map(|_| Document::new(serde_json::json!({"Statement": []})));
        }
    });
    let plan = between(&before, &after);
    let colored = shown(
        &plan,
        Style {
            paint: Paint::new(true),
            ..Style::default()
        },
    );
    assert!(colored.contains('\u{1b}'));
    assert_eq!(console::strip_ansi_codes(&colored), shown(&plan, Style::default()));
}

#[test]
fn an_error_says_what_failed_why_and_what_to_do() {
    let mut refused = Error::failed("not allowed to create role `kibus-router-us-west-2`")
        .note("AWS refused iam:CreateRole for arn:aws:iam::111122223333:user/operator")
        .note("2 of 13 changes are done, this one was refused, 10 were not tried; nothing needs undoing")
        .hint_command("what an operator needs:", "kibus policy operator")
        .hint_command(
            "when the permission is granted, run again",
            "kibus bootstrap-hub \\\n  --yes",
        )
        .hint("or ask an administrator");
    refused.progress = Some(Progress {
        done: 2,
        failed: 1,
        unknown: 0,
        not_tried: 10,
    });
    assert_snapshot("error.txt", &error(&refused, Style::default()));
}

#[test]
fn an_error_escapes_what_a_terminal_would_obey() {
    let hostile = Error::usage("`a\u{1b}]0;x\u{7}\nerror: b` is not a name")
        .note("one\n\u{1b}[2Jtwo")
        .hint_command("do\u{202e}", "kibus \u{1b}[31m");
    assert_eq!(
        error(&hostile, Style::default()),
        "error: `a\\u{1b}]0;x\\u{7}\\nerror: b` is not a name\n  one\\n\\u{1b}[2Jtwo\n  do\\u{202e}:\n      kibus \\u{1b}[31m"
    );
}

#[test]
fn sentences_fold_at_the_terminal_width_and_commands_stay_whole() {
    let narrow = style(0, Some(30));
    let long = Error::failed("a message that is longer than the terminal is wide")
        .note("a note that is longer than the terminal is wide")
        .hint_command(
            "a step that is longer than the terminal",
            "kibus add-cluster a-name-of-some-length",
        );
    assert_eq!(
        error(&long, narrow),
        "error: a message that is\n  longer than the terminal is\n  wide\n  a note that is longer than\n  the terminal is wide\n  \
         a step that is longer than\n  the terminal:\n      kibus add-cluster a-name-of-some-length"
    );
    let (sentence, command) = (
        "a warning that is longer than the terminal",
        "a command that is longer than the terminal",
    );
    let text = &format!("{sentence}\n    {command}");
    assert_eq!(
        warning(sentence, Some(command), narrow),
        "warning: a warning that is\n  longer than the terminal\n    a command that is longer than the terminal"
    );
    assert_eq!(
        sentences(text, narrow),
        "a warning that is longer than\nthe terminal\n    a command that is longer than the terminal"
    );
    assert_eq!(sentences(text, Style::default()), *text);
}
