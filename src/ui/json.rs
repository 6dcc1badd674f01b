//! The one JSON document that a command writes to stdout, for one hub and for many. `docs/plan.schema.json` describes it,
//! and is made from the same types: `KIBUS_TEST_UPDATE=1` and the tests of this module write it.

mod hub;
mod object;
mod preflight;
mod printed;
mod status;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Heading;
use super::text::release_queues;
use crate::dead_letters::DeadLetterReport;
use crate::discover::Discovery;
use crate::error::{Error, Hint};
use crate::model::answer::Slowdown;
use crate::model::document::Document;
use crate::model::status::Probed;
use crate::plan::Plan;
use crate::plan::finding::Finding;
use crate::preflight::PreflightReport;
use crate::reconcile::status::StatusReport;
use crate::reconcile::{ClusterSummary, Intent};
use hub::{ErrorObject, HubObject};
use object::objects;
pub use printed::{Build, DemoResult, EmbeddedRouter, Environment, Explanation, SandboxServer, SandboxState};

/// The version of the document's shape. Members may be added under the same number. Existing members keep their meaning.
const FORMAT_VERSION: u32 = 2;

/// The report of a command about every hub.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub hubs: Vec<HubReport>,
    /// What AWS has throttled.
    pub slowdown: Slowdown,
    pub explanation: Option<Explanation>,
    pub explanations: Vec<Explanation>,
    pub build: Option<Build>,
    pub sandbox: Option<SandboxState>,
    pub environment: Option<Environment>,
    pub demo: Option<DemoResult>,
    /// An error from before any hub was known.
    pub error: Option<Error>,
}

/// The report of a command about one hub.
#[derive(Clone, Debug)]
pub struct HubReport {
    /// Its bus, account and Region.
    pub heading: Heading,
    pub plan: Plan,
    /// The clusters of the command.
    pub clusters: Vec<ClusterSummary>,
    pub findings: Vec<Finding>,
    pub probes: Vec<Probed>,
    pub warnings: Vec<Hint>,
    pub status: Option<StatusReport>,
    /// The policy that the command prints.
    pub policy: Option<Document>,
    pub dead_letters: Option<DeadLetterReport>,
    /// What the plan needs, if that was checked.
    pub preflight: Option<PreflightReport>,
    /// What other tools set up for Karpenter.
    pub discovery: Option<Discovery>,
    /// Whether the plan was applied completely.
    pub applied: bool,
    /// The error that the command ended with.
    pub error: Option<Error>,
}

impl HubReport {
    /// An empty report.
    pub fn of(heading: impl Into<Heading>) -> Self {
        Self::new(heading, &Intent::default())
    }

    /// The report of an intent that was not applied.
    pub fn new(heading: impl Into<Heading>, intent: &Intent) -> Self {
        Self {
            heading: heading.into(),
            plan: intent.plan.clone(),
            clusters: intent.clusters.clone(),
            findings: intent.findings.clone(),
            probes: Vec::new(),
            warnings: release_queues(&intent.release)
                .into_iter()
                .chain(intent.warnings.iter().cloned())
                .collect(),
            status: None,
            policy: None,
            dead_letters: None,
            preflight: None,
            discovery: None,
            applied: false,
            error: None,
        }
    }
}

impl Report {
    /// The document.
    pub fn to_json(&self) -> Value {
        json!(DocumentObject::of(self))
    }
}

objects! {
    /// One document on standard output. The shape is the same for one hub and for several, on success and on failure.
    /// Within one format_version, members may be added but never removed or redefined. This schema describes exactly the
    /// output of the kibus version that it ships with.
    #[cfg_attr(test, schemars(title = "Document of kibus --output json", extend("$id" = "plan.schema.json")))]
    DocumentObject<'a>(
        Report { hubs, slowdown, explanation, explanations, build, sandbox, environment, demo, error } in &'a Report
    ) {
        #[cfg_attr(test, schemars(extend("const" = FORMAT_VERSION)))]
        format_version: u32 = FORMAT_VERSION,
        /// One entry per hub. Empty for a command about no hub, and if the command failed before any hub was known;
        /// `error` then has the reason.
        hubs: Vec<HubObject<'a>> = hubs.iter().map(HubObject::of).collect(),
    } optional {
        /// Present only if AWS throttled calls, which were repeated: how many, by service.
        #[cfg_attr(test, schemars(with = "BTreeMap<String, std::num::NonZeroU64>"))]
        throttled_calls: &'a BTreeMap<&'static str, u64> =
            (!slowdown.throttled.is_empty()).then_some(&slowdown.throttled),
        /// Present for `explain CODE` only.
        explanation: &'a Explanation = explanation.as_ref(),
        /// Present for `explain` without a code only: one entry per code.
        explanations: &'a Vec<Explanation> = (!explanations.is_empty()).then_some(explanations),
        /// Present for `version` only.
        build: &'a Build = build.as_ref(),
        /// Present for `sandbox up`, `sandbox down` and `sandbox status` only.
        sandbox: &'a SandboxState = sandbox.as_ref(),
        /// Present for `sandbox env` only.
        environment: &'a Environment = environment.as_ref(),
        /// Present for `sandbox demo` only.
        demo: &'a DemoResult = demo.as_ref(),
        /// Present only if the command failed before any hub was known. Later errors are in their hub.
        error: ErrorObject<'a> = error.as_ref().map(ErrorObject::of),
    }
}

#[cfg(test)]
mod tests;
