//! The one JSON document that a command writes to stdout, for one hub and for many.
//! `docs/plan.schema.json` describes it.

mod status;

use serde_json::{Map, Value, json};

use crate::error::{Error, Hint};
use crate::model::field::FieldValue;
use crate::model::name::{AccountId, BusName, ClusterName, QueueName, Region, RoleName};
use crate::plan::{Action, Change, Plan};

pub use status::{RouterReport, StatusReport};

/// The version of the document's shape. Members may be added under the same number; what is there keeps its meaning.
pub const FORMAT_VERSION: u32 = 2;

/// What a command has to say about every hub that it looked at.
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    /// The hubs.
    pub hubs: Vec<HubReport<'a>>,
}

/// What there is to say about one hub.
#[derive(Clone, Debug)]
pub struct HubReport<'a> {
    /// The bus.
    pub bus: BusName,
    /// Its account.
    pub account: AccountId,
    /// Its Region.
    pub region: Region,
    /// What would be changed, or was.
    pub plan: &'a Plan,
    /// The clusters that the command was about.
    pub clusters: Vec<ClusterReport>,
    /// What a check found.
    pub problems: Vec<Problem>,
    /// What probes found out.
    pub probes: Vec<ProbeReport>,
    /// What deserves a look but stops nothing; what could not be read belongs here or into `problems`.
    pub warnings: Vec<String>,
    /// How the hub and its clusters fare, if that was asked.
    pub status: Option<StatusReport>,
    /// Whether the plan was carried out, completely.
    pub applied: bool,
    /// How it ended, if not well.
    pub error: Option<&'a Error>,
}

/// A cluster and what serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterReport {
    /// The cluster.
    pub name: ClusterName,
    /// Its queue, as Karpenter's `interruptionQueue` wants it.
    pub queue_name: QueueName,
    /// The ARN of the queue.
    pub queue_arn: String,
    /// The role that its controller runs as, if it is known.
    pub controller_role: Option<RoleName>,
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The stable code.
    pub code: String,
    /// What it is about.
    pub subject: String,
    /// What is wrong.
    pub message: String,
    /// What fixes it: a command, or else a sentence.
    pub fix: String,
}

/// What a probe found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    /// The cluster that was probed; nothing for the bus itself.
    pub cluster: Option<ClusterName>,
    /// The queue that the probe was bound for.
    pub queue_name: QueueName,
    /// The stable word for what was found out.
    pub verdict: &'static str,
    /// How long it took, in milliseconds.
    pub milliseconds: u64,
}

impl Report<'_> {
    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let hubs: Vec<Value> = self.hubs.iter().map(HubReport::to_json).collect();
        json!({ "format_version": FORMAT_VERSION, "hubs": hubs })
    }
}

/// The document of an error that came before any hub was known: no hubs, and the error beside them.
#[must_use]
pub fn error_document(error: &Error) -> Value {
    json!({ "format_version": FORMAT_VERSION, "hubs": [], "error": error_json(error) })
}

impl HubReport<'_> {
    fn to_json(&self) -> Value {
        let Self {
            bus,
            account,
            region,
            plan,
            clusters,
            problems,
            probes,
            warnings,
            status,
            applied,
            error,
        } = self;
        let mut hub = json!({
            "bus": bus.as_str(),
            "account": account.as_str(),
            "region": region.as_str(),
            "changes": plan.changes.iter().map(change_json).collect::<Vec<_>>(),
            "clusters": clusters.iter().map(ClusterReport::to_json).collect::<Vec<_>>(),
            "problems": problems.iter().map(Problem::to_json).collect::<Vec<_>>(),
            "warnings": warnings,
            "summary": summary_json(plan),
            "applied": applied,
        });
        if !probes.is_empty() {
            hub["probes"] = probes.iter().map(ProbeReport::to_json).collect();
        }
        if let Some(status) = status {
            hub["status"] = status.to_json();
        }
        if let Some(error) = error {
            hub["error"] = error_json(error);
        }
        hub
    }
}

impl ClusterReport {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name.as_str(),
            "queue_name": self.queue_name.as_str(),
            "queue_arn": self.queue_arn,
            "controller_role": self.controller_role.as_ref().map(RoleName::as_str),
        })
    }
}

impl ProbeReport {
    fn to_json(&self) -> Value {
        json!({
            "cluster": self.cluster.as_ref().map(ClusterName::as_str),
            "queue_name": self.queue_name.as_str(),
            "verdict": self.verdict,
            "milliseconds": self.milliseconds,
        })
    }
}

impl Problem {
    fn to_json(&self) -> Value {
        json!({ "code": self.code, "subject": self.subject, "message": self.message, "fix": self.fix })
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
        FieldValue::Number(number) => json!(number),
        FieldValue::Flag(flag) => json!(flag),
        FieldValue::List(items) => json!(items),
        FieldValue::Document(document) => document.0.clone(),
        FieldValue::Code(code) => json!({ "version": code.version, "sha256": code.sha256, "live": code.live }),
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
mod tests {
    use super::*;
    use crate::error::Progress;
    use crate::model::inventory::Desired;
    use crate::model::options::HubOptions;
    use crate::model::scope::tests::scope;
    use crate::ui::Heading;
    use crate::ui::text::tests::{assert_snapshot, between, cluster_resources, drifted_resources, hub_resources};

    /// Why a document is not what the schema describes; nothing if it is.
    fn objection(document: &Value) -> Option<String> {
        let schema = serde_json::from_str(include_str!("../../docs/plan.schema.json")).unwrap();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("plan.schema.json", schema).unwrap();
        let mut schemas = boon::Schemas::new();
        let index = compiler.compile("plan.schema.json", &mut schemas).unwrap();
        schemas.validate(document, index).err().map(|e| e.to_string())
    }

    fn report<'a>(plan: &'a Plan, error: Option<&'a Error>) -> Report<'a> {
        let Heading { bus, account, region } = Heading::from(&scope());
        let cluster = |name: &str, role: Option<&str>| ClusterReport {
            name: name.parse().unwrap(),
            queue_name: format!("karpenter-{name}").parse().unwrap(),
            queue_arn: format!("arn:aws:sqs:us-west-2:111122223333:karpenter-{name}"),
            controller_role: role.map(|role| role.parse().unwrap()),
        };
        Report {
            hubs: vec![HubReport {
                bus,
                account,
                region,
                plan,
                clusters: vec![
                    cluster("base", Some("KarpenterServiceAccount-base")),
                    cluster("other", None),
                ],
                problems: vec![Problem {
                    code: "K203".to_owned(),
                    subject: "rule `kibus-scheduled-change`".to_owned(),
                    message: "pattern changed".to_owned(),
                    fix: "kibus bootstrap-hub".to_owned(),
                }],
                probes: Vec::new(),
                warnings: vec!["a warning".to_owned()],
                status: Some(StatusReport::default()),
                applied: error.is_none(),
                error,
            }],
        }
    }

    fn failure() -> Error {
        let mut error = Error::failed("not allowed to create role `r`")
            .note("AWS refused iam:CreateRole")
            .hint("ask whoever may")
            .hint_command("then run again:", "kibus bootstrap-hub");
        error.progress = Some(Progress {
            done: 2,
            failed: 1,
            not_tried: 10,
        });
        error
    }

    #[test]
    fn a_report_reads_like_this() {
        let desired = cluster_resources("base");
        let plan = between(&Desired::default(), &desired);
        let failure = failure();
        assert_snapshot("report.json", &format!("{:#}", report(&plan, Some(&failure)).to_json()));
    }

    #[test]
    fn the_schema_describes_what_is_written() {
        let hub = hub_resources(HubOptions::default());
        let moved = hub_resources(HubOptions {
            role_path: Some("/team/".parse().unwrap()),
            ..HubOptions::default()
        });
        let failure = failure();
        for (name, plan) in [
            ("no change", between(&hub, &hub)),
            ("create", between(&Desired::default(), &hub)),
            ("delete", between(&hub, &Desired::default())),
            ("replace", between(&hub, &moved)),
            ("update", between(&drifted_resources(&hub), &hub)),
        ] {
            for error in [None, Some(&failure)] {
                assert_eq!(objection(&report(&plan, error).to_json()), None, "{name}");
            }
        }
        assert_eq!(objection(&Report::default().to_json()), None, "no hub");
        assert_eq!(objection(&error_document(&Error::usage("no"))), None, "an early error");
    }

    #[test]
    fn the_schema_refuses_what_is_not_written() {
        let plan = between(&Desired::default(), &hub_resources(HubOptions::default()));
        let failure = failure();
        let document = report(&plan, Some(&failure)).to_json();
        for (at, wrong) in [
            ("/format_version", json!(1)),
            ("/hubs/0/applied", json!("yes")),
            ("/hubs/0/account", json!(111_122_223_333_u64)),
            ("/hubs/0/changes/0/action", json!("make")),
            ("/hubs/0/changes/0/kind", json!("bucket")),
            ("/hubs/0/changes/0/fields/0", json!({"path": "retention"})),
            ("/hubs/0/summary", json!({"create": 1})),
            ("/hubs/0/error/kind", json!("bad")),
            ("/hubs/0/error/hints/0", json!("a text")),
            ("/hubs/0/clusters/0", json!({"name": "base"})),
        ] {
            let mut document = document.clone();
            *document.pointer_mut(at).unwrap() = wrong;
            assert!(objection(&document).is_some(), "{at} is taken");
        }
    }
}
