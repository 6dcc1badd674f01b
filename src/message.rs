//! Messages: what was checked, found or refused, or is unknown. The code that finds it words it, and `ui` only lays it out. Pure.

use std::collections::BTreeSet;
use std::fmt;

use crate::error::{Error, ErrorKind, Hint};
use crate::iam::operator_policy::printing;
use crate::model::{
    ClusterName, Fault, FaultKind, FindingCode, FunctionName, QueueName, ResourceId, Scope, Severity, first_of,
};

/// What a message means for the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageKind {
    /// The check found no problem.
    Passed,
    /// Something needs attention.
    Finding,
    /// Nothing is changed, because the plan would do harm or cannot succeed.
    Refused,
    /// Something that the plan needs could not be read or found.
    Blocked,
    /// There is no hub.
    NoHub,
}

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: MessageKind,
    /// How urgent it is: as urgent as its code, or less if it may be wrong or only settings differ.
    pub severity: Severity,
    /// The code with which a check reports it.
    pub code: Option<FindingCode>,
    pub about: Subject,
    /// The cluster that it concerns; `None` for the hub.
    pub cluster: Option<ClusterName>,
    /// A few words, without a period. In a finding it follows the subject; otherwise it is a sentence of its own.
    pub sentence: String,
    /// The cause and the state; one line each.
    pub notes: Vec<String>,
    pub fix: Fix,
    /// The change of the plan that would fix it, by its index.
    pub change: Option<usize>,
}

/// The subject of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Resource(ResourceId),
    /// A cluster without a resource.
    Cluster(ClusterName),
    /// Something without a resource, like "options".
    Other(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(id) => id.fmt(f),
            Self::Cluster(name) => write!(f, "cluster `{name}`"),
            Self::Other(what) => f.write_str(what),
        }
    }
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

/// What to do, with complete commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    BootstrapHub(String),
    AddCluster(ClusterName, String),
    /// Add the cluster again or, if it no longer exists, remove the rest of it.
    AddOrRemove(ClusterName, [String; 2]),
    Command(String),
    /// Steps for the user, with a command if one is needed.
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

    /// What to do, step by step. A command without text is enough to fix it.
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

/// The only step, which the user must do.
impl From<Hint> for Fix {
    fn from(hint: Hint) -> Self {
        Self::Advice(vec![hint])
    }
}

/// The commands that fix these findings: each once, those for the hub first, and one for all clusters.
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
            fix: code.advice(scope).into(),
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

    /// With this fix instead of the code's own advice.
    pub(crate) fn fixed_by(self, fix: impl Into<Fix>) -> Self {
        Self { fix: fix.into(), ..self }
    }

    /// About a resource of this cluster.
    pub(crate) fn in_cluster(self, cluster: Option<ClusterName>) -> Self {
        Self { cluster, ..self }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// One more step, which the user must do.
    pub(crate) fn advise(self, text: impl Into<String>) -> Self {
        self.step(Hint::text(text))
    }

    /// One more step, with its command.
    pub(crate) fn then(self, text: impl Into<String>, command: impl Into<String>) -> Self {
        self.step(Hint::command(text, command))
    }

    /// One more step.
    pub(crate) fn step(mut self, hint: Hint) -> Self {
        let mut steps = self.fix.steps();
        steps.push(hint);
        self.fix = Fix::Advice(steps);
        self
    }

    /// A refusal as a finding of a check; its line begins with the subject.
    pub(crate) fn into_finding(mut self) -> Self {
        if let Subject::Resource(id) = &self.about
            && let Some(rest) = self.sentence.strip_prefix(&format!("{id} "))
        {
            self.sentence = rest.to_owned();
        }
        self
    }

    /// A finding as the sentence of a warning: its code, its subject and its meaning.
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

impl Message {
    /// Everything that a command needs and could not read.
    pub fn unread<'a>(scope: &Scope, faults: impl IntoIterator<Item = (Subject, &'a Fault)>) -> Self {
        let (subjects, faults): (Vec<Subject>, Vec<&Fault>) = faults.into_iter().unzip();
        let whats: Vec<String> = subjects.iter().map(ToString::to_string).collect();
        let denied = faults.iter().any(|fault| fault.is_denied());
        let sentence = match whats.as_slice() {
            [one] if denied => format!("not allowed to read {one}"),
            [one] => format!("cannot read {one}"),
            several => format!("{} items could not be read", several.len()),
        };
        let about = subjects.into_iter().next().unwrap_or_else(|| "reads".into());
        let (notes, mut hints) = explained(scope, whats.into_iter().zip(faults));
        hints.extend(denied.then(|| Hint::command("once the permission is granted, run again:", scope.again(""))));
        Self { notes, fix: Fix::Advice(hints), ..Self::new(MessageKind::Blocked, about, sentence) }
    }
}

/// Orders findings by severity, then by the number of the code; findings with the same code keep their order.
pub fn sort(findings: &mut [Message]) {
    findings.sort_by_key(|finding| (finding.severity, finding.code.map(FindingCode::as_str)));
}

impl From<Message> for Error {
    fn from(message: Message) -> Self {
        [message].as_slice().into()
    }
}

/// The error for these messages, which end a command: the only message, or all of them with their next steps.
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

/// Why calls failed, each with its purpose: one line per cause, and hints.
pub fn explained<'a>(scope: &Scope, faults: impl IntoIterator<Item = (String, &'a Fault)>) -> (Vec<String>, Vec<Hint>) {
    let causes = by_cause(faults);
    let mut hints: Vec<Hint> = Vec::new();
    let denied = causes.iter().flat_map(|(fault, _)| fault.is_denied().then_some(*fault));
    let grants = printing(scope, denied)
        .into_iter()
        .map(|command| Hint::command("grant the permissions that this command prints", scope.kibus(command)));
    let (notes, advice): (Vec<String>, Vec<Option<Hint>>) =
        causes.iter().map(|(fault, whats)| explanation(fault, whats, scope)).unzip();
    for hint in advice.into_iter().flatten().chain(grants) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    (notes, hints)
}

/// Calls that failed with the same cause are grouped, with their purposes.
pub fn by_cause<'a>(faults: impl IntoIterator<Item = (String, &'a Fault)>) -> Vec<(&'a Fault, Vec<String>)> {
    let mut causes: Vec<(&Fault, Vec<String>)> = Vec::new();
    for (what, fault) in faults {
        match causes.iter_mut().find(|(other, _)| other.has_cause_of(fault)) {
            Some((_, others)) => others.push(what),
            None => causes.push((fault, vec![what])),
        }
    }
    causes
}

/// How many items with the same cause a line names.
const NAMED: usize = 3;

/// Why calls about these items failed with the same cause, and hints other than permissions.
fn explanation(fault: &Fault, whats: &[String], scope: &Scope) -> (String, Option<Hint>) {
    let (note, hint) = cause(fault, whats.len() > 1, scope);
    let note = if whats.len() > 1 { format!("{note} ({})", first_of(whats, NAMED)) } else { note };
    (note, hint)
}

/// Why a call failed, and hints. The cause of several calls names no resource.
fn cause(fault: &Fault, of_several: bool, scope: &Scope) -> (String, Option<Hint>) {
    let Fault { kind, action, code, message, advice } = fault;
    let (note, hint) = match kind {
        FaultKind::Denied { principal, resource } => {
            let part = |word, name: &Option<Box<str>>| match name {
                Some(name) => format!(" {word} {name}"),
                None => String::new(),
            };
            let what = if of_several { String::new() } else { part("on", resource) };
            // [`printing`] has the commands for everything that is denied.
            return (format!("AWS denied {action}{}{what}", part("for", principal)), None);
        }
        FaultKind::Rejected => {
            let code = code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
            return (format!("{action} failed{code}: {message}"), advice.map(Hint::text));
        }
        FaultKind::FunctionFailed => {
            let function = scope.router_function();
            let note = format!("function `{function}` is in a failed state and Lambda cannot update it: {message}");
            return (note, Some(recreate_function(scope, &function)));
        }
        FaultKind::NoCredentials => (
            "no credentials found",
            Some(Hint::text("set credentials in the environment, a profile (--profile) or a role")),
        ),
        FaultKind::ExpiredCredentials => {
            let sign_in = Hint::command("with IAM Identity Center, sign in again", "aws sso login");
            ("the credentials have expired", Some(sign_in))
        }
        FaultKind::BadCredentials => {
            let check = Hint::text("check the access key, or use another profile with --profile");
            ("the credentials are not valid", Some(check))
        }
        FaultKind::Unreachable => {
            let check = format!("check the network, and check that this service exists in {}", scope.region);
            (message.as_str(), Some(Hint::text(check)))
        }
        FaultKind::Throttled => {
            let wait = "other programs in this account may use up the rate limit: wait, or stop them, and run again";
            (message.as_str(), Some(Hint::text(wait)))
        }
        FaultKind::Exists => {
            ("it now exists: another process created it, or an earlier call succeeded but its response was lost", None)
        }
        FaultKind::Gone => ("another process has deleted it", None),
        FaultKind::Changed => ("another process has changed it since this command read it", None),
        FaultKind::ServiceDenied => {
            let compare = "compare the router role and its policy with their desired state";
            let note = format!("{action}: AWS denied access to Lambda, not to the caller: {message}");
            return (note, Some(Hint::command(compare, scope.kibus("verify"))));
        }
        FaultKind::Stopped | FaultKind::NotBegun => {
            return (format!("{action}: stopped while waiting: {message}"), None);
        }
        FaultKind::NotManaged | FaultKind::ConcurrencyUsedUp | FaultKind::Unsettled => (message.as_str(), None),
    };
    (format!("{action}: {note}"), advice.map(Hint::text).or(hint))
}

/// How to replace a function that Lambda can neither run nor update.
pub fn recreate_function(scope: &Scope, function: &FunctionName) -> Hint {
    Hint::command(
        "fix the cause and delete the function; bootstrap-hub then creates it again",
        scope.aws(format!("lambda delete-function --region {} --function-name {function}", scope.region)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn a_failure_has_a_hint_that_helps() {
        use FaultKind as Kind;
        let denied = Kind::Denied { principal: None, resource: None };
        for (action, kind, advice, text, command) in [
            (
                "sqs:ListQueues",
                Kind::Unreachable,
                None,
                "check the network, and check that this service exists in us-west-2",
                None,
            ),
            ("tag:GetResources", Kind::Unreachable, Some("no FIPS"), "no FIPS", None),
            ("iam:GetRole", Kind::Throttled, None, "other programs in this account may use up the rate", None),
            ("x:Y", Kind::Unsettled, Some("check it"), "check it", None),
            ("x:Y", Kind::Rejected, Some("remove it"), "remove it", None),
            (
                "cloudwatch:GetDashboard",
                denied,
                None,
                "grant the permissions",
                Some("kibus policy operator --for alarms"),
            ),
        ] {
            let fault = Fault { advice, ..Fault::new(kind, action, "no") };
            let (_, hints) = explained(&scope(), [(String::new(), &fault)]);
            let [hint] = hints.as_slice() else { panic!("{hints:?}") };
            assert!(hint.text.contains(text), "{fault:?}: {hint:?}");
            assert_eq!(hint.command.as_deref(), command, "{fault:?}");
        }
    }

    #[test]
    fn what_needs_nothing_has_no_hint() {
        use FaultKind::{Changed, Exists, Gone, NotBegun, Rejected, Stopped, Unsettled};
        for kind in [Exists, Gone, Changed, Stopped, NotBegun, Rejected, Unsettled] {
            let fault = Fault::new(kind, "x:Y", "");
            assert_eq!(explained(&scope(), [(String::new(), &fault)]).1, [], "{fault:?}");
        }
    }
}
