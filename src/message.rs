//! One kind of message: what was checked, found, refused or cannot be known. It is worded where it is found, and `ui` only
//! lays it out. Pure.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Hint};
use crate::iam::operator_policy::printing;
use crate::model::{
    ClusterName, Fault, FaultKind, FindingCode, FunctionName, QueueName, ResourceId, Scope, Severity,
    calls::{events, iam, lambda, tag},
};

/// What a message means for the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageKind {
    /// What was checked has no problem.
    Passed,
    /// Something may be missing, which stops nothing.
    Warning,
    /// Something needs attention.
    Finding,
    /// Nothing is changed, because the plan would do harm or cannot work.
    Refused,
    /// Something that the plan needs could not be read or found.
    Blocked,
    /// There is no hub.
    NoHub,
}

impl MessageKind {
    /// The word for the result of a check.
    pub fn result(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Warning => "warning",
            Self::Finding | Self::Refused => "failed",
            Self::Blocked | Self::NoHub => "unknown",
        }
    }
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: MessageKind,
    /// How urgent it is: as its code, or less if it may be wrong or only settings differ.
    pub severity: Severity,
    /// The code with which a check reports it.
    pub code: Option<FindingCode>,
    pub about: Subject,
    /// The cluster that it concerns; `None` for the hub.
    pub cluster: Option<ClusterName>,
    /// In a few words, without a full stop. That of a finding follows its subject; any other stands alone.
    pub sentence: String,
    /// The cause and the state, a line each.
    pub notes: Vec<String>,
    pub fix: Fix,
    /// The change of the plan that would fix it, by its index.
    pub change: Option<usize>,
}

/// The subject of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Resource(ResourceId),
    /// A cluster that has no resource.
    Cluster(ClusterName),
    /// Something without a resource, like "options".
    Other(String),
}

impl From<ResourceId> for Subject {
    fn from(id: ResourceId) -> Self {
        Self::Resource(id)
    }
}

impl From<QueueName> for Subject {
    fn from(queue: QueueName) -> Self {
        Self::Resource(ResourceId::Queue(queue))
    }
}

impl From<ClusterName> for Subject {
    fn from(name: ClusterName) -> Self {
        Self::Cluster(name)
    }
}

impl From<&str> for Subject {
    fn from(what: &str) -> Self {
        Self::Other(what.to_owned())
    }
}

/// What to do. Its commands are whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    BootstrapHub(String),
    AddCluster(ClusterName, String),
    /// Add the cluster again, or remove what is left of it if it no longer exists.
    AddOrRemove(ClusterName, [String; 2]),
    Command(String),
    /// Steps that need a person, who may then need a command.
    Advice(Vec<Hint>),
}

impl Fix {
    pub(crate) fn bootstrap_hub(scope: &Scope) -> Self {
        Self::BootstrapHub(scope.kibus("bootstrap-hub"))
    }

    pub(crate) fn add_cluster(scope: &Scope, name: ClusterName) -> Self {
        let command = scope.kibus(format!("add-cluster {name}"));
        Self::AddCluster(name, command)
    }

    pub(crate) fn add_or_remove(scope: &Scope, name: ClusterName) -> Self {
        let commands = ["add-cluster", "remove-cluster"].map(|command| scope.kibus(format!("{command} {name}")));
        Self::AddOrRemove(name, commands)
    }

    pub(crate) fn advice(hint: Hint) -> Self {
        Self::Advice(vec![hint])
    }

    /// What to do, step by step. A command without a text fixes it alone.
    pub fn steps(&self) -> Vec<Hint> {
        match self {
            Self::BootstrapHub(command) | Self::AddCluster(_, command) | Self::Command(command) => {
                vec![Hint::command("", command)]
            }
            Self::AddOrRemove(_, [add, remove]) => vec![
                Hint::command("", add),
                Hint::command("if the cluster no longer exists, remove it instead:", remove),
            ],
            Self::Advice(steps) => steps.clone(),
        }
    }
}

/// The commands that fix these findings: the hub's first, each once, and one for all clusters.
pub fn fixes(scope: &Scope, findings: &[Message]) -> Vec<Hint> {
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

impl Message {
    pub(crate) fn new(kind: MessageKind, about: impl Into<Subject>, sentence: impl Into<String>) -> Self {
        let about = about.into();
        Self {
            kind,
            severity: Severity::Error,
            code: None,
            cluster: match &about {
                Subject::Cluster(name) => Some(name.clone()),
                Subject::Resource(_) | Subject::Other(_) => None,
            },
            about,
            sentence: sentence.into(),
            notes: Vec::new(),
            fix: Fix::Advice(Vec::new()),
            change: None,
        }
    }

    /// A finding, with the code's own advice.
    pub(crate) fn finding(
        scope: &Scope,
        code: FindingCode,
        about: impl Into<Subject>,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            severity: code.severity(),
            code: Some(code),
            fix: Fix::advice(code.advice(scope)),
            ..Self::new(MessageKind::Finding, about, sentence)
        }
    }

    /// A refusal with the code of its finding.
    pub(crate) fn refusal(code: FindingCode, about: impl Into<Subject>, sentence: impl Into<String>) -> Self {
        Self { severity: code.severity(), code: Some(code), ..Self::new(MessageKind::Refused, about, sentence) }
    }

    /// With at most this severity.
    pub(crate) fn at_most(self, severity: Severity) -> Self {
        let severity = self.severity.max(severity);
        Self { severity, ..self }
    }

    pub(crate) fn fixed_by(self, fix: Fix) -> Self {
        Self { fix, ..self }
    }

    /// About a resource of this cluster.
    pub(crate) fn of(self, cluster: Option<ClusterName>) -> Self {
        Self { cluster, ..self }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// One more step, which needs a person.
    pub(crate) fn advise(self, text: impl Into<String>) -> Self {
        self.step(Hint::text(text))
    }

    /// One more step, with its command.
    pub(crate) fn then(self, text: impl Into<String>, command: impl Into<String>) -> Self {
        self.step(Hint::command(text, command))
    }

    /// The only step, in place of the code's own advice.
    pub(crate) fn instead(self, text: impl Into<String>, command: impl Into<String>) -> Self {
        self.fixed_by(Fix::advice(Hint::command(text, command)))
    }

    /// One more step.
    pub(crate) fn step(mut self, hint: Hint) -> Self {
        let mut steps = self.fix.steps();
        steps.push(hint);
        self.fix = Fix::Advice(steps);
        self
    }

    /// A refusal as the finding of a check, whose line begins with its subject.
    pub(crate) fn into_finding(mut self) -> Self {
        if let Subject::Resource(id) = &self.about
            && let Some(rest) = self.sentence.strip_prefix(&format!("{id} "))
        {
            self.sentence = rest.to_owned();
        }
        self
    }

    /// A finding in the sentence of a warning: its code, what it is about, and what that means.
    pub(crate) fn as_warning(&self) -> String {
        let Self { code, sentence, .. } = self;
        let (code, meaning) = code.map_or(("", ""), |code| (code.as_str(), code.meaning()));
        format!("{code}: {}: {sentence}; {meaning}", self.name())
    }

    /// The kind of the subject, as in a plan; empty if it has none.
    pub fn kind_of_subject(&self) -> &'static str {
        match &self.about {
            Subject::Resource(id) => id.kind(),
            Subject::Cluster(_) => "cluster",
            Subject::Other(_) => "",
        }
    }

    /// The name of the subject.
    pub fn name(&self) -> String {
        match &self.about {
            Subject::Resource(id) => id.name(),
            Subject::Cluster(name) => name.to_string(),
            Subject::Other(what) => what.clone(),
        }
    }
}

/// Orders findings by severity, then by the number of the code; findings of one code keep their order.
pub fn sort(findings: &mut [Message]) {
    findings.sort_by_key(|finding| (finding.severity, finding.code.map(FindingCode::as_str)));
}

/// The error of a command that these messages end: the only one, or all of them with their next steps.
impl From<&[Message]> for Error {
    fn from(messages: &[Message]) -> Self {
        let kind = if messages.iter().any(|message| message.kind == MessageKind::Refused) {
            ErrorKind::Refused
        } else {
            ErrorKind::Failed
        };
        let mut error = match (messages, kind) {
            ([one], _) => Self::new(kind, &one.sentence),
            (_, ErrorKind::Refused) => Self::new(kind, "this plan is refused"),
            _ => Self::new(kind, "nothing can be planned"),
        };
        for message in messages {
            let sentence = Some(&message.sentence).filter(|_| messages.len() > 1);
            for note in sentence.into_iter().chain(&message.notes) {
                if !error.notes.contains(note) {
                    error.notes.push(note.clone());
                }
            }
            for hint in message.fix.steps() {
                if !error.hints.contains(&hint) {
                    error.hints.push(hint);
                }
            }
        }
        error
    }
}

/// Why a call failed, one line each, and what helps.
pub fn explanation(fault: &Fault, scope: &Scope) -> (Vec<String>, Option<Hint>) {
    (notes(fault), hint(fault, scope))
}

fn notes(fault: &Fault) -> Vec<String> {
    let Fault { kind, action, code, message } = fault;
    vec![match kind {
        FaultKind::Denied { principal, resource } => {
            let part = |word, name: &Option<String>| match name {
                Some(name) => format!(" {word} {name}"),
                None => String::new(),
            };
            let (who, what) = (part("for", principal), part("on", resource));
            format!("AWS denied {action}{who}{what}")
        }
        FaultKind::NoCredentials => format!("{action}: no credentials found"),
        FaultKind::ExpiredCredentials => format!("{action}: the credentials have expired"),
        FaultKind::BadCredentials => format!("{action}: the credentials are not valid"),
        FaultKind::NotFromAws => format!("{action} failed: {message}"),
        FaultKind::Unreachable
        | FaultKind::Throttled
        | FaultKind::ConcurrencyUsedUp { .. }
        | FaultKind::Unsettled { .. } => format!("{action}: {message}"),
        FaultKind::Exists => {
            format!("{action}: it exists now, created by another process or by a call whose answer was lost")
        }
        FaultKind::NotManaged => format!("{action}: {message}; nothing of it was changed"),
        FaultKind::Gone => format!("{action}: another process has deleted it"),
        FaultKind::Changed => format!("{action}: another process has made a change since this command read the state"),
        FaultKind::ServiceDenied => format!("{action}: AWS denied this to Lambda, not to the caller: {message}"),
        FaultKind::UnusableKey => format!("{action}: the KMS key cannot be used: {message}"),
        FaultKind::BoundaryMissing => format!("{action}: the permissions boundary does not exist: {message}"),
        FaultKind::Stopped | FaultKind::NotBegun => format!("{action}: stopped while waiting: {message}"),
        FaultKind::Limit if action == FULL_ROLE => format!("the role has no room for the policy: {message}"),
        FaultKind::Limit => format!("{action}: a quota is reached: {message}"),
        FaultKind::FunctionFailed { function } => {
            format!("function `{function}` failed in Lambda and cannot be updated: {message}")
        }
        FaultKind::FunctionUpdateFailed => {
            return vec![
                format!("Lambda did not apply the update: {message}"),
                "the live version keeps running".to_owned(),
            ];
        }
        FaultKind::MalformedPolicy => format!("{action}: AWS rejected the policy: {message}"),
        FaultKind::Rejected => {
            let code = code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
            format!("{action} failed{code}: {message}")
        }
    }]
}

fn hint(fault: &Fault, scope: &Scope) -> Option<Hint> {
    let action = fault.action.as_str();
    Some(match &fault.kind {
        FaultKind::Denied { .. } => {
            Hint::command("grant the permissions that this command prints", scope.kibus(printing(action)))
        }
        FaultKind::NoCredentials => Hint::text("set credentials in the environment, a profile (--profile) or a role"),
        FaultKind::ExpiredCredentials => Hint::command("with IAM Identity Center, sign in again", "aws sso login"),
        FaultKind::BadCredentials => Hint::text("check the access key, or use another profile with --profile"),
        FaultKind::Unreachable if action == tag::GET_RESOURCES => Hint::text(
            "check the network; this service has no FIPS endpoint: if AWS_USE_FIPS_ENDPOINT is set, unset it for this \
             command",
        ),
        FaultKind::Unreachable => Hint::text(format!("check the network, and that {} has this service", scope.region)),
        FaultKind::NotFromAws => Hint::text(
            "check that the endpoint (--endpoint-url, AWS_ENDPOINT_URL) and every proxy on the way pass the answers of AWS",
        ),
        FaultKind::Throttled => {
            Hint::text("other programs of this account may use up the rate: wait, or stop them, and run again")
        }
        FaultKind::ConcurrencyUsedUp { reserved: true } => Hint::command(
            "wait until the router has routed what waits; if it stays, reserve more",
            scope.kibus("bootstrap-hub --reserved-concurrency NUMBER"),
        ),
        FaultKind::ConcurrencyUsedUp { reserved: false } => {
            Hint::text("wait, or request more concurrency for the account in Service Quotas")
        }
        FaultKind::NotManaged => {
            Hint::text("use another bus, cluster or --queue-name, or delete the resource if nothing needs it")
        }
        FaultKind::ServiceDenied => {
            Hint::command("compare the router role and its policy with their desired state", scope.kibus("verify"))
        }
        FaultKind::UnusableKey => Hint::text("enable the key, or set another one with --kms-key"),
        FaultKind::BoundaryMissing => Hint::text("create that policy, or set another one with --permissions-boundary"),
        FaultKind::Unsettled { advice } => Hint::text((*advice)?),
        FaultKind::Limit => Hint::text(limit_advice(action)),
        FaultKind::FunctionFailed { function } => recreate_function(scope, function),
        FaultKind::FunctionUpdateFailed => Hint::text("fix the reason; the next run repeats the update"),
        FaultKind::MalformedPolicy => {
            Hint::text("show the policy with --dry-run -v; often it names a principal or a key that does not exist")
        }
        FaultKind::Exists
        | FaultKind::Gone
        | FaultKind::Changed
        | FaultKind::Stopped
        | FaultKind::NotBegun
        | FaultKind::Rejected => return None,
    })
}

/// How to replace a function that Lambda can neither run nor update.
pub fn recreate_function(scope: &Scope, function: &FunctionName) -> Hint {
    Hint::command(
        "fix the reason and delete the function; bootstrap-hub then creates it again",
        scope.aws(format!("lambda delete-function --region {} --function-name {function}", scope.region)),
    )
}

/// The call that fails if a role is full: all its inline policies share one quota (IAM user guide, "IAM and STS character
/// quotas").
const FULL_ROLE: &str = iam::PUT_ROLE_POLICY;

/// What helps when the quota that limits this call is reached.
fn limit_advice(action: &str) -> &'static str {
    match action {
        FULL_ROLE => {
            "all inline policies of a role share 10240 characters, and this quota cannot be raised: delete those that the \
             role does not need, or replace them with managed policies, which do not count"
        }
        events::PUT_RULE => {
            "delete rules that are not needed, like those of clusters that are on the bus now, or request more in \
             Service Quotas"
        }
        events::PUT_TARGETS => "remove targets that are not needed; a rule has at most 5",
        lambda::PUT_FUNCTION_CONCURRENCY => {
            "reserve less with --reserved-concurrency, or request more in Service Quotas"
        }
        _ => "remove what is not needed, or request more in Service Quotas",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn a_failure_has_a_hint_that_helps() {
        use FaultKind as Kind;
        for (action, kind, text, command) in [
            ("sqs:ListQueues", Kind::Unreachable, "check the network, and that us-west-2 has this service", None),
            // The tagging API has no FIPS endpoint in any partition.
            ("tag:GetResources", Kind::Unreachable, "AWS_USE_FIPS_ENDPOINT", None),
            ("iam:GetRole", Kind::Throttled, "other programs of this account may use up the rate", None),
            (
                "lambda:InvokeFunction",
                Kind::ConcurrencyUsedUp { reserved: true },
                "reserve more",
                Some("kibus bootstrap-hub --reserved-concurrency NUMBER"),
            ),
            ("lambda:InvokeFunction", Kind::ConcurrencyUsedUp { reserved: false }, "request more concurrency", None),
            ("x:Y", Kind::Unsettled { advice: Some("check it") }, "check it", None),
            ("events:PutTargets", Kind::Limit, "a rule has at most 5", None),
            (
                "iam:PutRolePolicy",
                Kind::Limit,
                "delete those that the role does not need, or replace them with managed policies",
                None,
            ),
            ("x:Y", Kind::Limit, "remove what is not needed", None),
            (
                "cloudwatch:GetDashboard",
                Kind::Denied { principal: None, resource: None },
                "grant the permissions",
                Some("kibus policy operator --for alarms"),
            ),
        ] {
            let fault = Fault { kind, action: action.to_owned(), code: None, message: "no".to_owned() };
            let hint = explanation(&fault, &scope()).1.unwrap();
            assert!(hint.text.contains(text), "{fault:?}: {hint:?}");
            assert_eq!(hint.command.as_deref(), command, "{fault:?}");
        }
    }

    #[test]
    fn what_needs_nothing_has_no_hint() {
        for kind in [
            FaultKind::Exists,
            FaultKind::Gone,
            FaultKind::Changed,
            FaultKind::Stopped,
            FaultKind::NotBegun,
            FaultKind::Rejected,
            FaultKind::Unsettled { advice: None },
        ] {
            let fault = Fault { kind, action: "x:Y".to_owned(), code: None, message: String::new() };
            assert_eq!(explanation(&fault, &scope()).1, None, "{fault:?}");
        }
    }
}
