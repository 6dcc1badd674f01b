//! Real plans to show, and the files in `snapshots` for comparison. `KIBUS_TEST_UPDATE=1` writes these files; review
//! the diff before you commit it.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::dead_letters::{DeadLetter, DeadLetterReport};
use crate::error::{Error, Progress};
use crate::model::{
    ClusterRecord, Code, Desired, Fact, Hub, HubOptions, Moment, Observed, Resource, ResourceId, scope::tests::scope,
};
use crate::plan::{Plan, plan as plan_of};
use crate::reconcile::ClusterSummary;

pub(crate) fn hub_resources(options: HubOptions) -> Desired {
    Hub::new(&scope(), options, Code::of_archive("0.1.0", "5e1f".repeat(16))).desired()
}

pub(crate) fn cluster_resources(name: &str) -> Desired {
    cluster_of(name, &format!("KarpenterServiceAccount-{name}"))
}

pub(super) fn cluster_of(name: &str, role: &str) -> Desired {
    let record = ClusterRecord::new(&scope(), &HubOptions::default(), name.parse().unwrap(), Moment(0));
    let record = ClusterRecord { role: Some(role.parse().unwrap()), ..record };
    record.desired(&scope(), &HubOptions::default().into())
}

pub(crate) fn cluster_summary(name: &str, role: Option<&str>) -> ClusterSummary {
    ClusterSummary {
        name: name.parse().unwrap(),
        queue: format!("karpenter-{name}").parse().unwrap(),
        queue_arn: format!("arn:aws:sqs:us-west-2:111122223333:karpenter-{name}"),
        controller_role: role.map(|role| role.parse().unwrap()),
        external: false,
        damage: None,
        found_by: Default::default(),
    }
}

/// The report about a queue with these dead letters.
pub(crate) fn dead_letter_report(letters: impl Into<Vec<DeadLetter>>) -> DeadLetterReport {
    let (queue, letters) = (scope().dead_letter_queue(), letters.into());
    let seen = letters.len();
    DeadLetterReport { queue, seen, about: seen as u64, action: None, letters, warnings: Vec::new() }
}

/// An error with all parts.
pub(crate) fn refused() -> Error {
    let mut refused = Error::failed("not allowed to create role `kibus-router-us-west-2`")
        .note("AWS refused iam:CreateRole for arn:aws:iam::111122223333:user/operator")
        .note("2 of 13 changes are done, this one was refused, 10 were not tried; nothing needs undoing")
        .hint_command("what an operator needs:", "kibus policy operator")
        .hint_command("when the permission is granted, run again", "kibus bootstrap-hub \\\n  --yes")
        .hint("or ask an administrator");
    refused.progress = Some(Progress { done: 2, failed: 1, unknown: 0, not_tried: 10 });
    refused
}

/// The plan that turns the first set of resources into the second.
pub(crate) fn between(before: &Desired, after: &Desired) -> Plan {
    let ids: BTreeSet<&ResourceId> = before.ids().chain(after.ids()).collect();
    let seen = |id| before.get(id).map_or(Fact::Absent, |r| Fact::Present(r.clone()));
    let observed: Observed = ids.into_iter().map(|id| (id.clone(), seen(id))).collect();
    plan_of(&scope(), after, &observed)
}

/// These resources after changes by someone else.
pub(super) fn drifted(desired: &Desired, change: impl Fn(&mut Resource)) -> Desired {
    let mut resources: Vec<Resource> = desired.resources().cloned().collect();
    resources.iter_mut().for_each(change);
    resources.into_iter().collect()
}

/// These resources with drift in almost every kind.
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

pub(super) fn style(verbose: u8, width: Option<usize>) -> Style {
    Style { verbose, width, ..Style::default() }
}

pub(crate) fn assert_snapshot(name: &str, text: &str) {
    assert_file(&format!("src/ui/snapshots/{name}"), text);
}

pub(crate) fn assert_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(&path, format!("{text}\n")).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(format!("{text}\n"), expected, "{name} differs; `KIBUS_TEST_UPDATE=1` writes it");
}
