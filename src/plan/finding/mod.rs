//! What `verify` reports: from a plan, its refusals and the message counts to findings, each with a stable code, its
//! subject and a fix.

mod delivery;
mod drift;

pub use delivery::{Traffic, dropped, foreign_mapping, invoke_permission, redriven, traffic};
pub use drift::{
    being_deleted, changed, duplicate_rules, fallen, key, not_registered, old_senders, only_tagged, orphan, refused,
    unreadable,
};

pub use crate::model::finding_code::{FindingCode, Severity};

use crate::error::{Hint, Invocation};
use crate::model::name::ClusterName;
use crate::model::resource::ResourceId;

/// A problem of a hub or a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub code: FindingCode,
    pub subject: Subject,
    /// The cluster that it concerns; `None` for the hub.
    pub cluster: Option<ClusterName>,
    /// The problem, in a few words without a full stop.
    pub message: String,
    pub fix: Fix,
    /// The change of the plan that would fix it, by its index.
    pub change: Option<usize>,
    /// How urgent it is: as its code, or less if it may be wrong or only settings differ.
    pub severity: Severity,
}

impl Finding {
    /// A finding about the hub, with the code's own advice as its fix.
    pub fn new(code: FindingCode, subject: Subject, message: impl Into<String>) -> Self {
        let cluster = match &subject {
            Subject::Cluster(name) => Some(name.clone()),
            Subject::Resource(_) | Subject::Other(_) => None,
        };
        Self {
            code,
            subject,
            cluster,
            message: message.into(),
            fix: Fix::Advice(code.advice()),
            change: None,
            severity: code.severity(),
        }
    }

    /// The same finding with at most this severity.
    pub fn at_most(self, severity: Severity) -> Self {
        let severity = self.severity.max(severity);
        Self { severity, ..self }
    }

    /// The same finding with this fix.
    pub fn fixed_by(self, fix: Fix) -> Self {
        Self { fix, ..self }
    }

    /// The kind of the subject, as in a plan; empty if it has none.
    pub fn kind(&self) -> &'static str {
        match &self.subject {
            Subject::Resource(id) => id.kind(),
            Subject::Cluster(_) => "cluster",
            Subject::Other(_) => "",
        }
    }

    /// The name of the subject.
    pub fn name(&self) -> String {
        match &self.subject {
            Subject::Resource(id) => id.name(),
            Subject::Cluster(name) => name.to_string(),
            Subject::Other(what) => what.clone(),
        }
    }
}

/// Orders findings by severity, then by the number of the code; findings of one code keep their order.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (finding.severity, finding.code.as_str()));
}

/// The subject of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Resource(ResourceId),
    /// A cluster that has no resource.
    Cluster(ClusterName),
    /// Something without a resource, like "options".
    Other(String),
}

/// The fix of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    BootstrapHub,
    AddCluster(ClusterName),
    /// Add the cluster again, or remove what is left of it if it no longer exists.
    AddOrRemove(ClusterName),
    Command(Invocation),
    /// A step that needs a person, who may then need a command.
    Advice(Hint),
}

impl Fix {
    /// The command to run, if there is one.
    pub fn command(&self) -> Option<Invocation> {
        Some(match self {
            Self::BootstrapHub => Invocation::kibus("bootstrap-hub"),
            Self::AddCluster(name) | Self::AddOrRemove(name) => Invocation::kibus(format!("add-cluster {name}")),
            Self::Command(command) => command.clone(),
            Self::Advice(hint) => return hint.command.clone(),
        })
    }
}
