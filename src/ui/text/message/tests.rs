//! Errors, warnings and findings as the user reads them.

use std::collections::BTreeSet;

use super::*;
use crate::message::{self, Message, sort};
use crate::model::{
    FindingCode, GlobalOptions, HubOptions, ResourceId, Scope,
    scope::{LIVE, tests::scope},
};
use crate::plan::finding;
use crate::ui::text::layout::sentences;
use crate::ui::text::tests::{assert_snapshot, between, drifted_resources, hub_resources, refused, style};

/// Text that would control a terminal is escaped, and sentences fold at its width, but commands stay on one line.
#[test]
fn errors_and_warnings_read_like_this() {
    let narrow = style(0, Some(30));
    let hostile = Error::usage("`a\u{1b}]0;x\u{7}\nerror: b` is not a name")
        .note("one\n\u{1b}[2Jtwo")
        .hint_command("do\u{202e}", "kibus \u{1b}[31m");
    let long = Error::failed("a message that is longer than the terminal is wide")
        .note("a note that is longer than the terminal is wide")
        .hint_command("a step that is longer than the terminal", "kibus add-cluster a-name-of-some-length");
    let (sentence, command) =
        ("a warning that is longer than the terminal", "a command that is longer than the terminal");
    let text = &format!("{sentence}\n    {command}");
    for (name, shown) in [
        ("error.txt", error(&refused(), Style::default())),
        ("error-escaped.txt", error(&hostile, Style::default())),
        ("error-narrow.txt", error(&long, narrow)),
        ("warning-narrow.txt", warning(&Hint::command(sentence, command), narrow)),
        ("sentences-narrow.txt", sentences(text, narrow)),
    ] {
        assert_snapshot(name, &shown);
    }
    assert_eq!(sentences(text, Style::default()), *text);
}

const OPTIONS: &str = " --region us-west-2 --sandbox";

fn reached() -> Scope {
    let options =
        GlobalOptions { region: Some("us-west-2".parse().unwrap()), sandbox: true, ..GlobalOptions::default() };
    Scope { options, ..scope() }
}

fn shown(intent: &Intent, clusters: &str, style: Style) -> String {
    let fixes = message::fixes(&reached(), &intent.findings);
    findings(&scope(), clusters, intent, &fixes, style)
}

#[test]
fn ten_faults_read_top_down_at_80_columns() {
    let (scope, wanted) = (reached(), hub_resources(HubOptions::default()));
    let plan = between(&drifted_resources(&wanted), &wanted);
    let mut findings = finding::changed(&scope, &plan, &[], &BTreeSet::new());
    let mapping = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
    let live = ResourceId::Alias(scope.router_function(), LIVE.to_owned());
    let two = ResourceId::Queue("karpenter-two".parse().unwrap());
    let fix = Hint::command("remove these rules where they were created; to see how:", scope.kibus("discover"));
    findings.extend([
        orphan("KarpenterServiceAccount-one"),
        Message::finding(&scope, FindingCode::MappingInTransition, mapping, "in state Updating"),
        Message::finding(&scope, FindingCode::RouterThrottled, live, "Lambda throttled an invocation: Rate Exceeded."),
        Message::finding(&scope, FindingCode::DuplicateRule, two, "rejects the events of rule `a`")
            .in_cluster(Some("two".parse().unwrap()))
            .fixed_by(fix),
    ]);
    sort(&mut findings);
    assert_eq!(findings.len(), 10);
    let intent = Intent { plan, findings, ..Intent::default() };
    let brief = shown(&intent, "2 clusters", style(0, Some(80)));
    assert_snapshot("findings.txt", &brief);
    assert!(brief.lines().all(|line| line.chars().count() <= 80), "{brief}");
    assert_snapshot("findings-verbose.txt", &shown(&intent, "2 clusters", style(1, Some(80))));
}

#[test]
fn every_command_has_the_global_options() {
    let (scope, name) = (reached(), || "one".parse().unwrap());
    let fixes = [
        Fix::bootstrap_hub(&scope),
        Fix::add_cluster(&scope, name()),
        Fix::add_or_remove(&scope, name()),
        Fix::Command(scope.kibus("rollback")),
        Fix::from(Hint::command("first", scope.kibus("verify --probe"))),
    ];
    let by_code = FindingCode::ALL.iter().map(|code| Fix::from(code.advice(&scope)));
    for fix in fixes.into_iter().chain(by_code) {
        let found =
            Message::finding(&scope, FindingCode::RuleDisabled, Subject::Cluster(name()), "x").fixed_by(fix.clone());
        let intent = Intent { findings: vec![found], ..Intent::default() };
        let shown = shown(&intent, "", Style::default());
        let commands: Vec<&str> =
            shown.lines().filter(|line| line.contains("kibus ") && !line.starts_with("kibus ·")).collect();
        assert!(commands.iter().all(|line| line.ends_with(OPTIONS)), "{shown}");
        assert_eq!(commands.is_empty(), fix.steps().iter().all(|step| step.command.is_none()), "{shown}");
    }
}

#[test]
fn a_cluster_whose_queue_is_missing_is_added_again_before_it_is_removed() {
    let shown = shown(&Intent { findings: vec![orphan("role")], ..Intent::default() }, "", Style::default());
    let commands: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("    kibus ")).collect();
    assert_eq!(commands, ["add-cluster one", "remove-cluster one"].map(|command| format!("{command}{OPTIONS}")));
}

/// A cluster whose queue is missing, while this role has its policy.
fn orphan(role: &str) -> Message {
    let one: crate::model::name::ClusterName = "one".parse().unwrap();
    let message = format!("queue missing; role `{role}` still has its policy");
    Message::finding(&reached(), FindingCode::ClusterQueueMissing, one.clone(), message)
        .fixed_by(Fix::add_or_remove(&reached(), one))
}
