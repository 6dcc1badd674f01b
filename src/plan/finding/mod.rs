//! What `verify` reports: from a plan, its refusals and the message counts to findings, each with a stable code, its
//! subject and a fix.

mod delivery;
mod drift;

pub use delivery::{Traffic, dropped, foreign_mapping, invoke_permission, redriven, traffic};
pub use drift::{
    changed, duplicate_rules, fallen, key, not_registered, old_senders, only_tagged, orphan, refused, unreadable,
};

pub use crate::model::finding_code::{FindingCode, Severity};

use std::collections::BTreeSet;

use crate::error::Hint;
use crate::model::name::ClusterName;
use crate::model::resource::ResourceId;
use crate::model::scope::Scope;

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
    pub fn new(scope: &Scope, code: FindingCode, subject: Subject, message: impl Into<String>) -> Self {
        let cluster = match &subject {
            Subject::Cluster(name) => Some(name.clone()),
            Subject::Resource(_) | Subject::Other(_) => None,
        };
        Self {
            code,
            subject,
            cluster,
            message: message.into(),
            fix: Fix::Advice(code.advice(scope)),
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

/// The fix of a finding. Its commands are whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    BootstrapHub(String),
    AddCluster(ClusterName, String),
    /// Add the cluster again, or remove what is left of it if it no longer exists.
    AddOrRemove(ClusterName, [String; 2]),
    Command(String),
    /// A step that needs a person, who may then need a command.
    Advice(Hint),
}

impl Fix {
    /// The command that sets the hub as its settings say.
    pub fn bootstrap_hub(scope: &Scope) -> Self {
        Self::BootstrapHub(scope.kibus("bootstrap-hub"))
    }

    /// The command that registers the cluster, or sets it again.
    pub fn add_cluster(scope: &Scope, name: ClusterName) -> Self {
        let command = scope.kibus(format!("add-cluster {name}"));
        Self::AddCluster(name, command)
    }

    /// The two commands between which a person decides.
    pub fn add_or_remove(scope: &Scope, name: ClusterName) -> Self {
        let commands = ["add-cluster", "remove-cluster"].map(|command| scope.kibus(format!("{command} {name}")));
        Self::AddOrRemove(name, commands)
    }

    /// The command to run, if there is one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::BootstrapHub(command)
            | Self::AddCluster(_, command)
            | Self::AddOrRemove(_, [command, _])
            | Self::Command(command) => Some(command),
            Self::Advice(hint) => hint.command.as_deref(),
        }
    }
}

/// The commands that fix these findings: the hub's first, each once, and one for all clusters.
pub fn fixes(scope: &Scope, findings: &[Finding]) -> Vec<Hint> {
    let (mut hub, mut others) = (None, BTreeSet::new());
    let (mut add, mut remove) = (BTreeSet::new(), BTreeSet::new());
    for finding in findings {
        match &finding.fix {
            Fix::BootstrapHub(command) => hub = Some(command.clone()),
            Fix::AddCluster(name, _) => drop(add.insert(name.as_str())),
            Fix::AddOrRemove(name, _) => drop((add.insert(name.as_str()), remove.insert(name.as_str()))),
            Fix::Command(command) => drop(others.insert(command.clone())),
            Fix::Advice(_) => {}
        }
    }
    let about = |command: &str, names: BTreeSet<&str>| {
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| scope.kibus(format!("{command} {}", names.join(" "))))
    };
    let now: Vec<String> = hub.into_iter().chain(about("add-cluster", add)).chain(others).collect();
    let now = (!now.is_empty()).then(|| Hint::command("Fixable now:", now.join("\n")));
    let remove = about("remove-cluster", remove);
    let remove = remove.map(|command| Hint::command("If a cluster no longer exists, remove it instead:", command));
    now.into_iter().chain(remove).collect()
}
