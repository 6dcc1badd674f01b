//! The one JSON document that a command writes to stdout, for one hub and for many.
//! `docs/plan.schema.json` describes it.

mod dead_letters;
mod status;

use serde_json::{Map, Value, json};

use super::Heading;
use super::text::{WIDTH, escape, indented, release_queues, second_sources};
use crate::dead_letters::treat::Treated;
use crate::error::{Error, Hint, Invocation};
use crate::model::field::FieldValue;
use crate::model::name::{AccountId, ClusterName, Region, RoleName};
use crate::model::slowdown::Slowdown;
use crate::plan::finding::{Finding, Fix};
use crate::plan::{Action, Change, Plan};
use crate::reconcile::dead_letters::DeadLetterReport;
use crate::reconcile::probe::Probed;
use crate::reconcile::status::StatusReport;
use crate::reconcile::{ClusterSummary, Intent};

/// The version of the document's shape. Members may be added under the same number. Existing members keep their meaning.
const FORMAT_VERSION: u32 = 2;

/// The report of a command about every hub.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The hubs.
    pub hubs: Vec<HubReport>,
    /// What AWS has throttled.
    pub slowdown: Slowdown,
}

/// The report of a command about one hub.
#[derive(Clone, Debug)]
pub struct HubReport {
    /// Its bus, account and Region.
    pub heading: Heading,
    /// The global options that a kibus command needs to reach it.
    pub global_options: String,
    /// The intent.
    pub plan: Plan,
    /// The clusters of the command.
    pub clusters: Vec<ClusterSummary>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The results of probes.
    pub probes: Vec<Probed>,
    /// Warnings.
    pub warnings: Vec<Hint>,
    /// The status of the hub and its clusters, if requested.
    pub status: Option<StatusReport>,
    /// The dead letters, if requested.
    pub dead_letters: Option<DeadLetterReport>,
    /// The results of the dead letters, if they were redriven or deleted.
    pub treated: Option<Treated>,
    /// Whether the plan was applied completely.
    pub applied: bool,
    /// The error that the command ended with.
    pub error: Option<Error>,
}

impl HubReport {
    /// An empty report.
    #[must_use]
    pub fn of(heading: impl Into<Heading>) -> Self {
        Self::new(heading, &Intent::default())
    }

    /// The report of an intent that was not applied.
    #[must_use]
    pub fn new(heading: impl Into<Heading>, intent: &Intent) -> Self {
        Self {
            heading: heading.into(),
            global_options: String::new(),
            plan: intent.plan.clone(),
            clusters: intent.clusters.clone(),
            findings: intent.findings.clone(),
            probes: Vec::new(),
            warnings: release_queues(&intent.release, WIDTH)
                .into_iter()
                .chain(intent.warnings.iter().cloned())
                .chain(second_sources(&intent.second_sources))
                .collect(),
            status: None,
            dead_letters: None,
            treated: None,
            applied: false,
            error: None,
        }
    }
}

impl Report {
    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let hubs: Vec<Value> = self.hubs.iter().map(HubReport::to_json).collect();
        let mut document = json!({ "format_version": FORMAT_VERSION, "hubs": hubs });
        if !self.slowdown.throttled.is_empty() {
            document["throttled_calls"] = json!(self.slowdown.throttled);
        }
        document
    }
}

/// The document of an error from before any hub was known: no hubs, and the error.
#[must_use]
pub fn error_document(error: &Error) -> Value {
    json!({ "format_version": FORMAT_VERSION, "hubs": [], "error": error_json(error) })
}

impl HubReport {
    fn to_json(&self) -> Value {
        let Self {
            heading: Heading {
                bus, account, region, ..
            },
            global_options: options,
            plan,
            clusters,
            findings,
            probes,
            warnings,
            status,
            dead_letters,
            treated,
            applied,
            error,
        } = self;
        let mut hub = json!({
            "bus": bus.as_str(),
            "account": account.as_ref().map(AccountId::as_str),
            "region": region.as_ref().map(Region::as_str),
            "changes": plan.changes.iter().map(change_json).collect::<Vec<_>>(),
            "clusters": clusters.iter().map(cluster_json).collect::<Vec<_>>(),
            "problems": findings.iter().map(|finding| finding_json(finding, options)).collect::<Vec<_>>(),
            "warnings": warnings.iter().map(|hint| hint_lines(hint, options)).collect::<Vec<_>>(),
            "summary": summary_json(plan),
            "applied": applied,
        });
        if !probes.is_empty() {
            hub["probes"] = probes.iter().map(probe_json).collect();
        }
        if let Some(status) = status {
            hub["status"] = status::to_json(status);
        }
        if let Some(letters) = dead_letters {
            hub["dead_letters"] = dead_letters::to_json(letters, treated.as_ref());
        }
        if let Some(error) = error {
            hub["error"] = error_json(error);
        }
        hub
    }
}

fn cluster_json(cluster: &ClusterSummary) -> Value {
    let mut object = json!({
        "name": cluster.name.as_str(),
        "queue_name": cluster.queue.as_str(),
        "queue_arn": cluster.queue_arn,
        "controller_role": cluster.controller_role.as_ref().map(RoleName::as_str),
    });
    if cluster.being_deleted {
        object["being_deleted"] = json!(true);
    }
    object
}

fn probe_json(probed: &Probed) -> Value {
    json!({
        "cluster": probed.cluster.as_ref().map(ClusterName::as_str),
        "queue_name": probed.queue.as_str(),
        "verdict": probed.verdict(),
        "milliseconds": u64::try_from(probed.took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn finding_json(finding: &Finding, options: &str) -> Value {
    let (text, command) = match &finding.fix {
        Fix::BootstrapHub => (None, Some(Invocation::kibus("bootstrap-hub"))),
        Fix::AddCluster(name) => (None, Some(Invocation::kibus(format!("add-cluster {name}")))),
        Fix::Command(command) => (None, Some(command.clone())),
        Fix::Advice(hint) => (Some(hint.text.as_str()), hint.command.clone()),
    };
    json!({
        "code": finding.code.as_str(),
        "severity": finding.severity.as_str(),
        "cluster": finding.cluster.as_ref().map(ClusterName::as_str),
        "kind": finding.kind(),
        "name": finding.name(),
        "message": finding.message,
        "fix": { "text": text, "command": command.map(|command| command.line(options)) },
    })
}

/// A hint as lines: the sentence, then its command.
fn hint_lines(hint: &Hint, options: &str) -> String {
    match &hint.command {
        None => escape(&hint.text).into_owned(),
        Some(command) => format!("{}\n{}", escape(&hint.text), indented(&command.line(options))),
    }
}

fn summary_json(plan: &Plan) -> Value {
    let count = |action| plan.count(action);
    json!({
        "create": count(Action::Create),
        "update": count(Action::Update),
        "delete": count(Action::Delete),
        "replace": count(Action::Replace),
    })
}

fn change_json(change: &Change) -> Value {
    let fields: Vec<Value> = change
        .fields
        .iter()
        .map(|field| json!({ "path": field.path, "from": value_json(&field.from), "to": value_json(&field.to) }))
        .collect();
    json!({
        "action": change.action.as_str(),
        "kind": change.id.kind(),
        "name": change.id.name(),
        "fields": fields,
    })
}

fn value_json(value: &FieldValue) -> Value {
    match value {
        FieldValue::Unset => Value::Null,
        FieldValue::Text(text) => json!(text),
        FieldValue::Number(number) | FieldValue::AtLeast(number) => json!(number),
        FieldValue::Flag(flag) => json!(flag),
        FieldValue::List(items) => json!(items),
        FieldValue::Document(document) => document.value().clone(),
        FieldValue::Code(code) => {
            let version = code.has_version().then_some(&code.version);
            json!({ "version": version, "sha256": code.sha256 })
        }
    }
}

fn error_json(error: &Error) -> Value {
    let hint = |Hint { text, command }: &Hint| json!({ "text": text, "command": command.as_ref().map(|command| command.line("")) });
    let mut object = Map::new();
    object.insert("kind".to_owned(), json!(error.kind.as_str()));
    object.insert("message".to_owned(), json!(error.message));
    object.insert("notes".to_owned(), json!(error.notes));
    object.insert("hints".to_owned(), error.hints.iter().map(hint).collect());
    if let Some(progress) = error.progress {
        object.insert("done".to_owned(), json!(progress.done));
        object.insert("failed".to_owned(), json!(progress.failed));
        object.insert("not_tried".to_owned(), json!(progress.not_tried));
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests;
