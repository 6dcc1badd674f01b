//! Findings of real plans, as whole texts.

use std::collections::BTreeMap;

use super::*;
use crate::model::options::HubOptions;
use crate::model::resource::Resource;
use crate::model::router_function::LiveTest;
use crate::model::scope::tests::scope;
use crate::model::scope::{GlobalOptions, Scope};
use crate::model::status::{Depth, MappingState};
use crate::plan::finding::{self, FindingCode, Traffic};
use crate::ui::text::tests::{assert_snapshot, between, drifted, hub_resources, style};

const OPTIONS: &str = " --region us-west-2 --sandbox";

/// A scope that is reached with these options.
fn reached() -> Scope {
    let options = GlobalOptions {
        region: Some("us-west-2".parse().unwrap()),
        sandbox: true,
        ..GlobalOptions::default()
    };
    Scope { options, ..scope() }
}

fn shown(intent: &Intent, clusters: &str, style: Style) -> String {
    let fixes = finding::fixes(&reached(), &intent.findings);
    findings(&Heading::from(&scope()), clusters, intent, &fixes, style)
}

/// Two critical faults, five errors and three warnings.
fn ten_faults() -> Intent {
    let wanted = hub_resources(HubOptions::default());
    let found = drifted(&wanted, |resource| match resource {
        Resource::Queue(queue) if queue.name == scope().hub_queue() => queue.visibility = 30,
        Resource::Role(role) => drop(role.tags.0.insert("kibus:stray".to_owned(), "x".to_owned())),
        Resource::Rule(rule) if rule.name.as_str() == "kibus-spot-interruption" => rule.enabled = false,
        Resource::LogGroup(group) => group.retention_days = None,
        Resource::Function(function) => function.settings.memory = 128,
        Resource::EventSourceMapping(mapping) => mapping.batch_size = 1,
        _ => {}
    });
    let plan = between(&found, &wanted);
    let mut findings = finding::changed(&reached(), &plan, &[], &BTreeSet::new());
    findings.push(finding::orphan(
        &reached(),
        &"KarpenterServiceAccount-one".parse().unwrap(),
        "one".parse().unwrap(),
    ));
    let two = "karpenter-two".parse().unwrap();
    let waiting = Depth {
        waiting: 3,
        in_flight: 0,
    };
    let traffic = Traffic {
        queues: BTreeMap::from([("karpenter-two".parse().unwrap(), vec![waiting, waiting])]),
        mapping: Some(MappingState {
            state: "Updating".to_owned(),
            reason: None,
        }),
        live: Some(LiveTest::Throttled("Rate Exceeded.".to_owned())),
        ..Traffic::default()
    };
    let clusters = BTreeMap::from([(two, "two".parse().unwrap())]);
    findings.extend(finding::traffic(&reached(), &traffic, &clusters));
    finding::sort(&mut findings);
    Intent {
        plan,
        findings,
        ..Intent::default()
    }
}

#[test]
fn ten_faults_read_top_down_at_80_columns() {
    let intent = ten_faults();
    let shown = |verbose, width| shown(&intent, "2 clusters", style(verbose, width));
    let brief = shown(0, Some(80));
    assert_snapshot("findings.txt", &brief);
    assert!(brief.lines().all(|line| line.chars().count() <= 80), "{brief}");
    assert_snapshot("findings-verbose.txt", &shown(1, Some(80)));
    let counts = [Severity::Critical, Severity::Error, Severity::Warning].map(|severity| {
        intent
            .findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    });
    assert_eq!(counts, [2, 5, 3]);
}

/// Whatever fixes a finding, its commands reach the bus that was checked.
#[test]
fn every_command_has_the_global_options() {
    let (scope, name) = (reached(), || "one".parse().unwrap());
    let fixes = [
        Fix::bootstrap_hub(&scope),
        Fix::add_cluster(&scope, name()),
        Fix::add_or_remove(&scope, name()),
        Fix::Command(scope.kibus("rollback")),
        Fix::Advice(Hint::command("first", scope.kibus("verify --probe"))),
    ];
    let by_code = FindingCode::ALL.iter().map(|code| Fix::Advice(code.advice(&scope)));
    for fix in fixes.into_iter().chain(by_code) {
        let found =
            Finding::new(&scope, FindingCode::RuleDisabled, Subject::Cluster(name()), "x").fixed_by(fix.clone());
        let intent = Intent {
            findings: vec![found],
            ..Intent::default()
        };
        let shown = shown(&intent, "", Style::default());
        let commands: Vec<&str> = shown
            .lines()
            .filter(|line| line.contains("kibus ") && !line.starts_with("kibus ·"))
            .collect();
        assert!(commands.iter().all(|line| line.ends_with(OPTIONS)), "{shown}");
        assert_eq!(commands.is_empty(), fix.command().is_none(), "{shown}");
    }
}

/// A cluster whose queue is missing is added again before it is removed.
#[test]
fn the_repair_comes_first() {
    let intent = Intent {
        findings: vec![finding::orphan(
            &reached(),
            &"role".parse().unwrap(),
            "one".parse().unwrap(),
        )],
        ..Intent::default()
    };
    let shown = shown(&intent, "", Style::default());
    let commands: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("    kibus "))
        .collect();
    assert_eq!(
        commands,
        [
            "add-cluster one --region us-west-2 --sandbox",
            "remove-cluster one --region us-west-2 --sandbox"
        ]
    );
}
