//! What `verify` reports: from a plan, its refusals and the message counts to findings, each with a stable code, its
//! subject and a fix.

mod delivery;
mod drift;

pub use delivery::{Traffic, foreign_mapping, redriven, traffic};
pub use drift::{being_deleted, changed, key, not_registered, orphan, refused, unreadable};

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
    /// How urgent it is: as its code, or less if it may be wrong.
    pub severity: Severity,
}

impl Finding {
    /// A finding about the hub, with the code's own advice as its fix.
    #[must_use]
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

    /// The same finding as a warning, because what it rests on may be out of date.
    #[must_use]
    pub fn unconfirmed(self) -> Self {
        Self {
            severity: self.severity.max(Severity::Warning),
            ..self
        }
    }

    /// The same finding with this fix.
    #[must_use]
    pub fn fixed_by(self, fix: Fix) -> Self {
        Self { fix, ..self }
    }

    /// Completes a kibus command in the fix with the global options that reach the same bus.
    #[must_use]
    pub fn with_global_options(mut self, options: &str) -> Self {
        if let Fix::Advice(Hint {
            command: Some(command), ..
        })
        | Fix::Command(command) = &mut self.fix
        {
            *command = Invocation::Shell(command.line(options));
        }
        self
    }

    /// The kind of the subject, as in a plan; empty if it has none.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.subject {
            Subject::Resource(id) => id.kind(),
            Subject::Cluster(_) => "cluster",
            Subject::Other(_) => "",
        }
    }

    /// The name of the subject.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.subject {
            Subject::Resource(id) => id.name(),
            Subject::Cluster(name) => name.to_string(),
            Subject::Other(what) => what.clone(),
        }
    }
}

/// Orders findings by severity, then by code; findings of one code keep their order.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (finding.severity, finding.code));
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
    Command(Invocation),
    /// A step that needs a person, who may then need a command.
    Advice(Hint),
}
