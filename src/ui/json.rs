//! What a command reports about its hubs, and the one JSON document that it writes to stdout. serde writes it from these types, and
//! schemars describes them in `docs/plan.schema.json`: the tests of this module write the schema with `KIBUS_TEST_UPDATE=1`. A member
//! that may be missing is never null.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::text::hint;
use crate::dead_letters::DeadLetterReport;
use crate::discover::Discovery;
use crate::drill::choice::DrillInstance;
use crate::drill::steps::StepReport;
use crate::error::{Error, Hint};
use crate::events::EventReport;
use crate::message::Message;
use crate::model::{
    AccountId, BusName, ClusterName, Document, FindingCode, ProbeResult, Probed, QueueName, Region, Scope, Severity,
};
use crate::plan::{Action, Change, Plan};
use crate::reconcile::status::StatusReport;
use crate::reconcile::{ClusterSummary, Intent};

/// The version of the document's shape. Members may be added under the same number. Existing members keep their meaning.
const FORMAT_VERSION: u32 = 3;

/// One document on standard output. The shape is the same on success and on failure. Within one format_version, members may
/// be added but never removed or redefined. This schema describes exactly the output of the kibus version that it ships with.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// The hub that the command works on; one entry per bus for `list`. Empty for a command without a hub, and if the
    /// command failed before the hub was known; `error` then has the reason.
    pub hubs: Vec<HubReport>,
    /// Present only if AWS throttled calls, which were repeated: how many, by service.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, std::num::NonZeroU64>"))]
    pub throttled_calls: BTreeMap<&'static str, u64>,
    #[serde(flatten)]
    pub body: Option<HublessBody>,
    /// Present only if the command failed before any hub was known. Later errors are in their hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}

/// Command-specific data that does not belong to a hub.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum HublessBody {
    /// Present for `explain` only: one entry per code, then one per alarm.
    Explanations(Vec<Explanation>),
    /// Present for `version` only.
    Build(Build),
    /// Present for `sandbox env` only.
    Environment(Environment),
}

/// The report about one hub.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "HubObject"))]
pub struct HubReport {
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^[a-z][a-z0-9-]{0,19}$")))]
    pub bus: BusName,
    #[cfg_attr(test, schemars(with = "String", regex(pattern = "^[0-9]{12}$")))]
    pub account: AccountId,
    pub region: Region,
    /// The planned or applied changes, in the order of execution.
    pub changes: Vec<Change>,
    /// The clusters that the command covers.
    pub clusters: Vec<ClusterSummary>,
    /// The findings of a check.
    pub problems: Vec<Problem>,
    /// Warnings. They do not stop the command.
    #[serde(serialize_with = "as_texts")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub warnings: Vec<Hint>,
    /// The number of changes per action.
    pub summary: Summary,
    /// Whether every change was applied.
    pub applied: bool,
    /// The results of probes. Present only if any were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    #[serde(flatten)]
    pub body: Option<Body>,
    /// Present only if the command failed for this hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    // Whether the command ends with the exit code for differences.
    #[serde(skip)]
    pub differs: bool,
}

/// Command-specific data about a hub.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Body {
    /// Present for `status` and `list` only.
    Status(StatusReport),
    /// The policy document. Present for `policy` only.
    Policy(
        #[serde(serialize_with = "as_document")]
        #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
        Document,
    ),
    /// The output in the language of the tool. Present for `export` only.
    Export(String),
    /// Present for `dead-letters` only.
    DeadLetters(DeadLetterReport),
    /// Present for `events` only.
    Events(EventReport),
    /// Present for `drill CLUSTER` only.
    Drill(DrillReport),
    /// Present for `discover` only.
    Discovery(Discovery),
}

impl HubReport {
    /// An empty report.
    pub fn of(scope: &Scope) -> Self {
        Self::new(scope, &Intent::default())
    }

    /// The report of a command that changes nothing.
    pub fn with(scope: &Scope, body: Body) -> Self {
        Self { body: Some(body), ..Self::of(scope) }
    }

    /// The report of an intent that was not applied.
    pub fn new(scope: &Scope, intent: &Intent) -> Self {
        Self {
            bus: scope.bus.clone(),
            account: scope.account.clone(),
            region: scope.region.clone(),
            changes: intent.plan.changes.clone(),
            summary: Summary::from(&intent.plan),
            clusters: intent.clusters.clone(),
            problems: intent.findings.iter().map(Problem::from).collect(),
            warnings: intent.warnings.clone(),
            applied: false,
            probes: Vec::new(),
            body: None,
            error: None,
            differs: false,
        }
    }
}

impl Report {
    /// The document.
    pub fn to_json(&self) -> Value {
        let mut document = json!(self);
        document["format_version"] = FORMAT_VERSION.into();
        document
    }

    pub fn errors(&self) -> impl Iterator<Item = &Error> {
        self.error.iter().chain(self.hubs.iter().filter_map(|hub| hub.error.as_ref()))
    }
}

impl From<Vec<HubReport>> for Report {
    fn from(hubs: Vec<HubReport>) -> Self {
        Self { hubs, ..Self::default() }
    }
}

impl From<HubReport> for Report {
    fn from(hub: HubReport) -> Self {
        vec![hub].into()
    }
}

impl From<HublessBody> for Report {
    fn from(body: HublessBody) -> Self {
        Self { body: Some(body), ..Self::default() }
    }
}

impl From<Error> for Report {
    fn from(error: Error) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// The number of changes per action.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "SummaryObject"))]
pub struct Summary {
    create: usize,
    update: usize,
    delete: usize,
}

impl From<&Plan> for Summary {
    fn from(plan: &Plan) -> Self {
        Self {
            create: plan.count(Action::Create),
            update: plan.count(Action::Update),
            delete: plan.count(Action::Delete),
        }
    }
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ProblemObject"))]
pub struct Problem {
    /// The code of the finding. A code never changes its meaning.
    #[cfg_attr(test, schemars(schema_with = "tests::code"))]
    code: &'static str,
    /// How urgent it is. Findings are ordered by it, then by the number of the code. `verify` exits with 2 only for
    /// critical findings and errors.
    pub severity: Severity,
    /// The cluster concerned. Null for the hub.
    cluster: Option<ClusterName>,
    /// The kind of the resource concerned, or `cluster`. Empty if it is neither.
    #[cfg_attr(test, schemars(schema_with = "tests::subject"))]
    kind: &'static str,
    /// The name of the resource or cluster concerned.
    name: String,
    /// The problem.
    message: String,
    /// What to do, step by step. A command without text is enough to fix the problem.
    fix: Vec<Hint>,
}

impl From<&Message> for Problem {
    fn from(finding: &Message) -> Self {
        Self {
            code: finding.code.map_or("", FindingCode::as_str),
            severity: finding.severity,
            cluster: finding.cluster.clone(),
            kind: finding.kind_of_subject(),
            name: finding.name(),
            message: finding.sentence.clone(),
            fix: finding.fix.steps(),
        }
    }
}

/// The result of a probe.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ProbeObject"))]
pub struct Probe {
    /// The probed cluster. Null for a probe of the bus.
    cluster: Option<ClusterName>,
    /// The destination queue of the probe.
    queue_name: QueueName,
    verdict: Verdict,
    milliseconds: u64,
}

impl From<&Probed> for Probe {
    fn from(probed: &Probed) -> Self {
        Self {
            cluster: probed.cluster.clone(),
            queue_name: probed.queue.clone(),
            verdict: (&probed.result).into(),
            milliseconds: u64::try_from(probed.took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum Verdict {
    /// The bus delivered it.
    Delivered,
    /// The bus did not deliver it in time.
    Lost,
    /// The router did not deliver it.
    NotDelivered,
    /// Karpenter received it.
    Read,
    /// Karpenter did not receive it.
    NotRead,
    /// The result is unknown.
    Unknown,
}

impl From<&ProbeResult> for Verdict {
    fn from(result: &ProbeResult) -> Self {
        match result {
            ProbeResult::Delivered => Self::Delivered,
            ProbeResult::Lost => Self::Lost,
            ProbeResult::NotDelivered(_) => Self::NotDelivered,
            ProbeResult::Read => Self::Read,
            ProbeResult::NotRead => Self::NotRead,
            ProbeResult::Unknown(_) => Self::Unknown,
        }
    }
}

fn as_texts<S: Serializer>(warnings: &[Hint], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(warnings.iter().map(hint))
}

fn as_document<S: Serializer>(policy: &Document, to: S) -> Result<S::Ok, S::Error> {
    policy.value().serialize(to)
}

/// A drill.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DrillObject"))]
pub struct DrillReport {
    pub cluster: ClusterName,
    /// The queue of the cluster.
    #[serde(rename = "queue_name")]
    pub queue: QueueName,
    /// The instance that is interrupted.
    pub instance: DrillInstance,
    /// The steps, in the order in which they were seen. Empty if nothing was interrupted.
    pub steps: Vec<StepReport>,
    /// How many messages SQS has counted as sent to the queue since the start; the count lags by minutes. Null if it is unknown.
    pub sent: Option<u64>,
    /// Whether any resource of the drill is left.
    pub left: bool,
}

/// What a finding or an alarm means and what to do.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The code of the finding, or the name of the alarm without the bus.
    pub code: &'static str,
    pub title: String,
    /// Paragraphs of text. Indented lines are commands.
    pub text: String,
}

/// The build of kibus.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Build {
    pub version: &'static str,
    pub commit: &'static str,
    pub target: &'static str,
    /// The version of the router that it ships with.
    pub router: &'static str,
    /// The routers that it contains. Empty if it uploads the router next to it.
    pub embedded_routers: Vec<EmbeddedRouter>,
}

/// A router that kibus contains.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EmbeddedRouter {
    pub architecture: &'static str,
    /// The SHA-256 of the archive, in hex. Lambda reports the same hash, in Base64, as `CodeSha256`.
    pub archive_sha256: &'static str,
    /// The SHA-256 of the router binary, in hex, as `--router-sha256` takes it.
    pub binary_sha256: &'static str,
    /// The commit that it was built from.
    pub commit: &'static str,
    /// The version of the compiler.
    pub rustc: &'static str,
}

/// Changes to environment variables.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Variables to set, with their values.
    pub set: BTreeMap<&'static str, String>,
    /// Variables to remove.
    pub unset: Vec<String>,
}

#[cfg(test)]
mod tests;
