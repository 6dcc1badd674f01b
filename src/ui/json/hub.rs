//! What the document says about a hub: changes, clusters, findings, results of probes, and an error.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::HubReport;
use super::object::{objects, words};
use super::preflight::PreflightObject;
use super::status::StatusObject;
use crate::dead_letters::DeadLetterReport;
use crate::discover::Discovery;
use crate::error::{Error, ErrorKind, Hint};
use crate::model::document::Document;
use crate::model::name::{AccountId, ClusterName, Region, RoleName};
use crate::model::resource::{Code, FieldValue};
use crate::model::status::{ProbeResult, Probed};
use crate::plan::finding::{Finding, Fix, Severity};
use crate::plan::{Action, Change, FieldChange, Plan};
use crate::reconcile::ClusterSummary;
use crate::ui::Heading;
use crate::ui::text::hint;

objects! {
    /// The report about one hub.
    HubObject<'a>(
        HubReport {
            heading: Heading { bus, account, region, label: _ },
            plan, clusters, findings, probes, warnings, status, policy, dead_letters, preflight, discovery, applied, error,
        } in &'a HubReport
    ) {
        #[cfg_attr(test, schemars(regex(pattern = "^[a-z][a-z0-9-]{0,19}$")))]
        bus: &'a str = bus.as_str(),
        /// Null only for one of several hubs that could not be reached.
        #[cfg_attr(test, schemars(regex(pattern = "^[0-9]{12}$")))]
        account: Option<&'a str> = account.as_ref().map(AccountId::as_str),
        /// Null only for one of several hubs for which no Region is configured.
        region: Option<&'a str> = region.as_ref().map(Region::as_str),
        /// The planned or applied changes, in the order of execution.
        changes: Vec<ChangeObject<'a>> = plan.changes.iter().map(ChangeObject::of).collect(),
        /// The clusters that the command covers.
        clusters: Vec<ClusterObject<'a>> = clusters.iter().map(ClusterObject::of).collect(),
        /// The findings of a check.
        problems: Vec<ProblemObject<'a>> = findings.iter().map(ProblemObject::of).collect(),
        /// Warnings. They do not stop the command.
        warnings: Vec<String> = warnings.iter().map(hint).collect(),
        /// The number of changes per action.
        summary: SummaryObject = SummaryObject::of(plan),
        /// Whether every change was applied.
        applied: bool = *applied,
    } optional {
        /// The results of probes. Present only if any were sent.
        probes: Vec<ProbeObject<'a>> = (!probes.is_empty()).then(|| probes.iter().map(ProbeObject::of).collect()),
        /// Present for `status` only.
        status: StatusObject<'a> = status.as_ref().map(StatusObject::of),
        /// The policy document. Present for `policy` only.
        #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
        policy: &'a Value = policy.as_ref().map(Document::value),
        /// Present for `dead-letters` only.
        dead_letters: &'a DeadLetterReport = dead_letters.as_ref(),
        /// Present for `bootstrap-hub --check` only.
        preflight: PreflightObject<'a> = preflight.as_ref().map(PreflightObject::of),
        /// Present for `discover` only.
        discovery: &'a Discovery = discovery.as_ref(),
        /// Present only if the command failed for this hub.
        error: ErrorObject<'a> = error.as_ref().map(ErrorObject::of),
    }

    /// A change to one resource.
    ChangeObject<'a>(change in &'a Change) {
        action: Action = change.action,
        #[cfg_attr(test, schemars(schema_with = "super::tests::kind"))]
        kind: &'static str = change.id.kind(),
        /// The name of the resource, unique within its kind.
        #[cfg_attr(test, schemars(length(min = 1)))]
        name: String = change.id.name(),
        /// The fields that change. For a create or delete, all fields that are set.
        fields: Vec<FieldObject<'a>> = change.fields.iter().map(FieldObject::of).collect(),
    }

    /// One field that changes.
    FieldObject<'a>(FieldChange { path, from, to } in &'a FieldChange) {
        /// For example `redrive.max_receives`. A tag is `tags.` and its key.
        path: &'a str = path,
        from: FieldObjectValue<'a> = from.into(),
        to: FieldObjectValue<'a> = to.into(),
    }

    /// A function's code.
    CodeObject<'a>(code in &'a Code) {
        /// The version of the router; null if it is unknown.
        version: Option<&'a str> = code.has_version().then_some(&code.version),
        sha256: &'a str = &code.sha256,
    }

    /// A cluster, its queue and its controller role.
    ClusterObject<'a>(
        ClusterSummary { name, queue, queue_arn, controller_role, found_by } in &'a ClusterSummary
    ) {
        name: &'a str = name.as_str(),
        /// The value for Karpenter's `settings.interruptionQueue`.
        queue_name: &'a str = queue.as_str(),
        #[cfg_attr(test, schemars(regex(pattern = "^arn:")))]
        queue_arn: &'a str = queue_arn,
        /// The role of the cluster's Karpenter controller. Null if kibus does not manage its policy.
        controller_role: Option<&'a str> = controller_role.as_ref().map(RoleName::as_str),
    } optional {
        /// What that role was found by. Present only if it was searched for and does not have the policy yet.
        controller_role_found_by: Vec<String> = (!found_by.is_empty()).then(|| found_by.iter().map(ToString::to_string).collect()),
    }

    /// A finding.
    ProblemObject<'a>(finding in &'a Finding) {
        /// The code of the finding. A code never changes its meaning.
        #[cfg_attr(test, schemars(schema_with = "super::tests::code"))]
        code: &'static str = finding.code.as_str(),
        /// How urgent it is. Findings are ordered by it, then by the number of the code. `verify` exits with 2 only for
        /// critical findings and errors.
        severity: Severity = finding.severity,
        /// The cluster concerned. Null for the hub.
        cluster: Option<&'a str> = finding.cluster.as_ref().map(ClusterName::as_str),
        /// The kind of the resource concerned, or `cluster`. Empty if it is neither.
        #[cfg_attr(test, schemars(schema_with = "super::tests::subject"))]
        kind: &'static str = finding.kind(),
        /// The name of the resource or cluster concerned.
        name: String = finding.name(),
        /// The problem.
        message: &'a str = &finding.message,
        fix: FixObject<'a> = FixObject::of(&finding.fix),
    }

    /// What fixes a problem.
    FixObject<'a>(fix in &'a Fix) {
        /// What to do, if a command alone does not fix it.
        text: Option<Cow<'a, str>> = match fix {
            Fix::Advice(hint) => Some(hint.text.as_str().into()),
            Fix::AddOrRemove(_, [_, remove]) => {
                Some(format!("if the cluster no longer exists, run `{remove}` instead").into())
            },
            Fix::BootstrapHub(_) | Fix::AddCluster(..) | Fix::Command(_) => None,
        },
        /// The command to run, if there is one.
        command: Option<&'a str> = fix.command(),
    }

    /// The number of changes per action.
    SummaryObject(plan in &Plan) {
        create: usize = plan.count(Action::Create),
        update: usize = plan.count(Action::Update),
        delete: usize = plan.count(Action::Delete),
    }

    /// The result of a probe.
    ProbeObject<'a>(Probed { cluster, queue, took, result, sent: _ } in &'a Probed) {
        /// The probed cluster. Null for a probe of the bus.
        cluster: Option<&'a str> = cluster.as_ref().map(ClusterName::as_str),
        /// The destination queue of the probe.
        queue_name: &'a str = queue.as_str(),
        verdict: Verdict = Verdict::of(result),
        milliseconds: u64 = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }

    /// An error.
    #[cfg_attr(test, schemars(extend("dependentRequired" = {
        "done": ["failed", "unknown", "not_tried"],
        "failed": ["done", "unknown", "not_tried"],
        "unknown": ["done", "failed", "not_tried"],
        "not_tried": ["done", "failed", "unknown"],
    })))]
    ErrorObject<'a>(Error { kind, message, notes, hints, progress } in &'a Error) {
        kind: ErrorKind = *kind,
        /// What failed.
        #[cfg_attr(test, schemars(length(min = 1)))]
        message: &'a str = message,
        /// The reason, and the state after the failure.
        notes: &'a [String] = notes,
        /// The next steps.
        hints: &'a [Hint] = hints,
    } optional {
        /// Number of applied changes.
        done: usize = progress.map(|progress| progress.done),
        /// Number of changes that failed.
        failed: usize = progress.map(|progress| progress.failed),
        /// Number of changes that were in flight when the command was stopped: AWS may have applied them.
        unknown: usize = progress.map(|progress| progress.unknown),
        /// Number of changes of which nothing was applied.
        not_tried: usize = progress.map(|progress| progress.not_tried),
    }
}

words! {
    /// The result of a probe.
    Verdict(&ProbeResult) {
        /// The bus delivered it.
        Delivered = ProbeResult::Delivered,
        /// The bus did not deliver it in time.
        Lost = ProbeResult::Lost,
        /// The router did not deliver it.
        NotDelivered = ProbeResult::NotDelivered(_),
        /// Karpenter received it.
        Read = ProbeResult::Read,
        /// Karpenter did not receive it.
        NotRead = ProbeResult::NotRead,
        /// The result is unknown.
        Unknown = ProbeResult::Unknown(_),
    }
}

/// The value of a field.
#[derive(Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum FieldObjectValue<'a> {
    /// Not set.
    Unset,
    Text(&'a str),
    /// Durations are in seconds, or in days where the path says so. Sizes are in bytes, memory in MiB; the largest message
    /// of a queue may be larger than `to`.
    Number(u64),
    Flag(bool),
    List(&'a BTreeSet<String>),
    Code(CodeObject<'a>),
    /// A policy or a pattern.
    Document(#[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))] &'a Value),
}

impl<'a> From<&'a FieldValue> for FieldObjectValue<'a> {
    fn from(value: &'a FieldValue) -> Self {
        match value {
            FieldValue::Unset => Self::Unset,
            FieldValue::Text(text) => Self::Text(text),
            FieldValue::Number(number, _) => Self::Number(*number),
            FieldValue::Flag(flag) => Self::Flag(*flag),
            FieldValue::List(items) => Self::List(items),
            FieldValue::Document(document) => Self::Document(document.value()),
            FieldValue::Code(code) => Self::Code(CodeObject::of(code)),
        }
    }
}
