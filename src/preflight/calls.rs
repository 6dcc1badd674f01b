//! The calls that a plan takes, as the operator's document names them, with what their requests hold. Pure.
//!
//! The document says which actions there are, and on what. An action belongs to one kind of resource, and its verb says for which
//! changes it is called. A resource that changes may need fewer calls than are asked about: which, depends on its fields.

use std::collections::{BTreeMap, BTreeSet};

use crate::iam::pattern::matches;
use crate::model::document::{Document, texts};
use crate::model::field::FieldValue;
use crate::model::options::HubOptions;
use crate::model::resource::{Kind, Resource, ResourceId};
use crate::model::scope::{LIVE, Scope};
use crate::model::signal::Signal;
use crate::model::simulation::{Call, Simulation};
use crate::model::tags::{BUS, Tags};
use crate::plan::{Action, Change, FieldChange, Plan};

/// The calls of a plan.
#[derive(Clone, Debug, Default)]
pub struct PlannedCalls {
    pub simulations: Vec<Simulation>,
    /// Resources that change, and for which the document has no call.
    pub without: Vec<ResourceId>,
    /// The condition keys that kibus decides about. A simulation that lacks one of them is of a request that lacks it.
    pub known_keys: BTreeSet<String>,
}

/// The condition keys of which a request can have several values (Service Authorization Reference).
const LISTS: [&str; 3] = ["aws:TagKeys", "events:source", "events:TargetArn"];

/// Whether a condition key has a list of values.
pub fn is_list(key: &str) -> bool {
    LISTS.contains(&key)
}

/// The calls of a plan, by an operator's document for these options.
pub fn planned_calls(scope: &Scope, options: &HubOptions, document: &Document, plan: &Plan) -> PlannedCalls {
    let mut groups: BTreeMap<Requests, (BTreeSet<Call>, Tags)> = BTreeMap::new();
    let mut without = Vec::new();
    for change in &plan.changes {
        let calls = calls_of(scope, options, document, change);
        if calls.is_empty() {
            without.push(change.id.clone());
        }
        for call in calls {
            let passes = call.action == PASS;
            let requests = Requests {
                kind: if passes { Kind::Role } else { change.id.of_kind() },
                is_new: change.before.is_none(),
                passes,
            };
            let (calls, tags) = groups.entry(requests).or_default();
            calls.insert(call);
            let of_change = change.after.as_ref().and_then(Resource::tags).filter(|_| !passes);
            tags.0.extend(of_change.into_iter().flat_map(|tags| tags.0.clone()));
        }
    }
    let simulations = groups.into_iter().flat_map(|(requests, (calls, tags))| {
        let context = requests.context(scope, options, tags);
        parts(&calls).into_iter().map(move |calls| Simulation {
            calls,
            context: context.clone(),
        })
    });
    PlannedCalls {
        simulations: simulations.collect(),
        without,
        known_keys: condition_keys(document).chain(KEYS.map(str::to_owned)).collect(),
    }
}

/// How many resources a simulation has at most. Each is evaluated with each action.
const RESOURCES: usize = 50;

/// Calls, divided by their resources.
fn parts(calls: &BTreeSet<Call>) -> Vec<BTreeSet<Call>> {
    let resources: BTreeSet<&str> = calls.iter().map(|call| call.resource.as_str()).collect();
    let resources: Vec<&str> = resources.into_iter().collect();
    let of = |part: &[&str]| {
        let calls = calls.iter().filter(|call| part.contains(&call.resource.as_str()));
        calls.cloned().collect()
    };
    resources.chunks(RESOURCES).map(of).collect()
}

/// Lambda makes no call of this name: AWS checks the permission when a function takes its role.
const PASS: &str = "iam:PassRole";

fn calls_of(scope: &Scope, options: &HubOptions, document: &Document, change: &Change) -> Vec<Call> {
    let mut calls = Vec::new();
    for statement in document.statements() {
        let resources = texts(statement.get("Resource"));
        for action in texts(statement.get("Action")) {
            let is_named = calls.iter().any(|call: &Call| call.action == action);
            if statement["Effect"] != "Allow" || is_named || !takes(change, action) {
                continue;
            }
            let resource = resource(scope, options, change, action);
            if resources.iter().any(|pattern| matches(pattern, &resource)) {
                let action = action.to_owned();
                calls.push(Call { action, resource });
            }
        }
    }
    calls
}

/// Whether a change takes an action.
fn takes(change: &Change, action: &str) -> bool {
    let name = action.split_once(':').map_or(action, |(_, name)| name);
    let is_called = match field_of(name) {
        Some(field) => sets(change, name, field),
        None => verbs(change.action).any(|verb| name.starts_with(verb)),
    };
    is_called && kind(action) == Some(change.id.of_kind())
}

/// How the names of the calls begin that an action takes.
fn verbs(action: Action) -> impl Iterator<Item = &'static &'static str> {
    const READS: &[&str] = &["Describe", "Get", "List"];
    const CREATES: &[&str] = &["Add", "Create", "Invoke", "Pass", "Publish", "Put", "Tag"];
    const UPDATES: &[&str] = &[
        "Add", "Invoke", "Pass", "Publish", "Put", "Remove", "Set", "Tag", "Untag", "Update",
    ];
    const DELETES: &[&str] = &["Delete", "Remove"];
    let verbs: [&[&str]; 2] = match action {
        Action::Create => [CREATES, &[]],
        Action::Update => [UPDATES, &[]],
        Action::Replace => [CREATES, DELETES],
        Action::Delete => [&[], DELETES],
    };
    READS.iter().chain(verbs.into_iter().flatten())
}

/// The field that a call of its own sets or removes.
fn field_of(name: &str) -> Option<&'static str> {
    match name {
        "DeleteRolePermissionsBoundary" | "PutRolePermissionsBoundary" => Some("permissions_boundary"),
        "DeleteFunctionConcurrency" | "PutFunctionConcurrency" => Some("reserved_concurrency"),
        _ => None,
    }
}

/// Whether a change takes the call that sets a field, or the one that removes it. A new role gets its boundary from the call
/// that creates it.
fn sets(change: &Change, name: &str, field: &str) -> bool {
    let mut changes = change.fields.iter().filter(|change| change.path == field);
    let is_unset = |change: &FieldChange| change.to == FieldValue::Unset;
    let by_itself = change.before.is_some() || name == "PutFunctionConcurrency";
    by_itself && change.after.is_some() && changes.any(|change| is_unset(change) == name.starts_with("Delete"))
}

/// The kind of resource that an action belongs to; `None` for what only finds resources, or belongs to another command.
fn kind(action: &str) -> Option<Kind> {
    let (service, name) = action.split_once(':')?;
    match service {
        "ssm" if name == "GetParametersByPath" => None,
        "ssm" => Some(Kind::Parameter),
        "sqs" if name.ends_with("Queues") || name.contains("Message") => None,
        "sqs" => Some(Kind::Queue),
        "events" => Some(Kind::Rule),
        "logs" => Some(Kind::LogGroup),
        "lambda" if name == "GetAccountSettings" => None,
        "lambda" if name.contains("EventSourceMapping") => Some(Kind::EventSourceMapping),
        "lambda" if ["Alias", "Version", "Invoke"].iter().any(|word| name.contains(word)) => Some(Kind::Alias),
        "lambda" => Some(Kind::Function),
        "iam" if action == PASS => Some(Kind::Function),
        "iam" if name == "UpdateAssumeRolePolicy" => Some(Kind::Role),
        "iam" if name.ends_with("RolePolicy") => Some(Kind::RolePolicy),
        "iam" if name.contains("Role") && !name.starts_with("List") => Some(Kind::Role),
        _ => None,
    }
}

/// What an action of a change is about, as AWS compares it with a policy.
fn resource(scope: &Scope, options: &HubOptions, change: &Change, action: &str) -> String {
    let role = |role| scope.role_arn(&options.role_path(), role);
    match &change.id {
        ResourceId::Function(_) if action == PASS => role(&scope.router_role()),
        ResourceId::Parameter(name) => scope.parameter_arn(name),
        ResourceId::Queue(name) => scope.queue_arn(name),
        ResourceId::Role(name) | ResourceId::RolePolicy(name, _) => role(name),
        // Only calls about tags take the ARN without its end (CloudWatch Logs user guide, "Identity-based policies").
        ResourceId::LogGroup(name) if action.contains("Tag") => scope.log_group_arn(name),
        ResourceId::LogGroup(name) => format!("{}:*", scope.log_group_arn(name)),
        ResourceId::Alias(function, _) if action.ends_with("InvokeFunction") => scope.alias_arn(function, LIVE),
        ResourceId::Function(name) | ResourceId::Alias(name, _) => scope.function_arn(name),
        ResourceId::EventSourceMapping(..) => "*".to_owned(),
        ResourceId::Rule(name) => scope.rule_arn(name),
    }
}

/// Requests that hold the same condition keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Requests {
    kind: Kind,
    /// Whether the resource does not exist yet, and so has no tags.
    is_new: bool,
    /// Whether they pass a role to Lambda.
    passes: bool,
}

impl Requests {
    fn context(self, scope: &Scope, options: &HubOptions, tags: Tags) -> BTreeMap<String, Vec<String>> {
        let mut context = BTreeMap::new();
        let mut set = |key: &str, values: Vec<String>| drop(context.insert(key.to_owned(), values));
        set("aws:SecureTransport", vec!["true".to_owned()]);
        // Requests to IAM are requests to the Region of its endpoint (IAM user guide, "aws:RequestedRegion").
        let region = match scope.partition.as_str() {
            _ if !matches!(self.kind, Kind::Role | Kind::RolePolicy) => Some(scope.region.as_str()),
            "aws" => Some("us-east-1"),
            "aws-cn" => Some("cn-north-1"),
            "aws-us-gov" => Some("us-gov-west-1"),
            _ => None,
        };
        if let Some(region) = region {
            set("aws:RequestedRegion", vec![region.to_owned()]);
        }
        if !tags.0.is_empty() {
            set("aws:TagKeys", tags.0.keys().cloned().collect());
        }
        for (key, value) in tags.0 {
            set(&format!("aws:RequestTag/{key}"), vec![value]);
        }
        if !self.is_new {
            set(&format!("aws:ResourceTag/{BUS}"), vec![scope.bus.to_string()]);
        }
        match self.kind {
            Kind::Rule => {
                let sources: BTreeSet<&str> = Signal::ALL.into_iter().map(Signal::source).collect();
                set("events:source", sources.into_iter().map(str::to_owned).collect());
                set("events:TargetArn", vec![scope.queue_arn(&scope.hub_queue())]);
            }
            Kind::EventSourceMapping => set(
                "lambda:FunctionArn",
                vec![scope.alias_arn(&scope.router_function(), LIVE)],
            ),
            Kind::Role if self.passes => set("iam:PassedToService", vec!["lambda.amazonaws.com".to_owned()]),
            Kind::Role | Kind::RolePolicy => {
                if let Some(boundary) = options.boundary() {
                    set("iam:PermissionsBoundary", vec![boundary.to_string()]);
                }
            }
            Kind::Parameter | Kind::Queue | Kind::LogGroup | Kind::Function | Kind::Alias => {}
        }
        context
    }
}

/// The condition keys of requests about which the options of the hub decide. The document has others, such as those for the tags of
/// a queue.
const KEYS: [&str; 6] = [
    "aws:TagKeys",
    "events:TargetArn",
    "events:source",
    "iam:PassedToService",
    "iam:PermissionsBoundary",
    "lambda:FunctionArn",
];

/// The condition keys of a document.
fn condition_keys(document: &Document) -> impl Iterator<Item = String> {
    let statements = document.statements().into_iter();
    let operators = statements.filter_map(|statement| statement.get("Condition")?.as_object());
    let keys = operators
        .flat_map(|operators| operators.values())
        .filter_map(|keys| keys.as_object());
    keys.flat_map(|keys| keys.keys().cloned())
}

#[cfg(test)]
mod tests;
