//! The policy of an operator, who runs kibus, from `templates/policies/operator.json`.
//!
//! It allows the calls that kibus makes, and two permissions that AWS requires with them: to tag at creation, and to
//! pass a role to Lambda. Each statement is limited to this bus by name where AWS supports it, and by tag or condition
//! where that is stricter. A pattern of the bus's name has the resources of a bus whose name begins with this one's, so it
//! stands only in a denial, or with a condition on the tag of the bus.
//!
//! The conditions of each call, from the Service Authorization Reference:
//!
//! - `sqs:CreateQueue` and `sqs:TagQueue` have `aws:RequestTag`, queues have `aws:ResourceTag`, except in the Regions of
//!   [`crate::model::tag_conditions`]. Creating a queue with tags needs both permissions (API reference, CreateQueue), the
//!   second on a queue that has no tags yet, hence `IfExists`.
//! - `events:PutTargets` has `events:TargetArn`, an array of ARNs without that of a target's dead-letter queue. An array
//!   needs a set operator. `ForAllValues` holds for a request without the key too, but every target has an ARN (IAM
//!   user guide, "Single-valued vs. multivalued context keys"; EventBridge user guide, "Using IAM policy conditions").
//! - `events:PutRule` has `events:source`, an array: the sources of the pattern. A pattern without a source has no such
//!   key, hence the denial with `Null`.
//! - `lambda:CreateEventSourceMapping`, `lambda:DeleteEventSourceMapping` and `lambda:UpdateEventSourceMapping` have
//!   `lambda:FunctionArn`, a single ARN. Whether that of a mapping to an alias has the alias is documented nowhere: the
//!   examples of the Lambda developer guide are without one, and others list both. So both are accepted.
//!   `lambda:GetEventSourceMapping` has the key too, but not of a mapping that is gone, and then AWS answers "denied" where
//!   kibus needs "absent". So it has no condition, and the others have one that a request without the key does not meet.
//! - `iam:CreateRole`, `iam:PutRolePolicy` and `iam:PutRolePermissionsBoundary` have `iam:PermissionsBoundary`: what the
//!   role has, or what the request gives it (IAM user guide, "Permissions boundaries for IAM entities", which delegates
//!   by the same condition). `iam:TagRole` and `iam:UntagRole` have `aws:TagKeys`; `iam:CreateRole` and
//!   `iam:UpdateAssumeRolePolicy` have no condition on the trust policy.
//! - `iam:PassRole` has `iam:PassedToService`, which no other call has (IAM user guide, "IAM and AWS STS condition context
//!   keys"): it has a statement of its own, whose condition a request without the key does not meet.
//! - `kms:Decrypt` has `kms:ViaService`. Kibus calls `kms:GetKeyPolicy` itself, so it has no such condition.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::grants::matches_action;
use crate::model::{
    Document, HubOptions, RoleName, Scope, Signal,
    calls::{Access, CALLS, PATTERNS, call_of},
    name::names,
    policy::{KeyUse, of_bus, policy_space, replace_statements, with_key},
    signal::PROBE_SOURCE,
    tags::NAMESPACE,
    texts,
};

const ORDINARY: &str = include_str!("../../templates/policies/operator.json");

/// The policy of an operator of this bus with these options. It allows changes to the controller roles with these ARNs, or
/// patterns of ARNs. With a permissions boundary, the router role can have no other.
pub fn operator(scope: &Scope, options: &HubOptions, controller_roles: &BTreeSet<String>) -> Document {
    let template = options.queue_template();
    let hub = scope.queue_arn(&scope.hub_queue());
    // One pattern for the hub queue and its dead-letter queue is shorter. It has queues of other buses too, so it needs
    // conditions on tags.
    let mut queues = if options.tag_conditions(&scope.region) {
        vec![format!("{hub}*")]
    } else {
        vec![hub, scope.queue_arn(&scope.dead_letter_queue())]
    };
    queues.extend([scope.queue_arn(&scope.probe_queue()), scope.queues_arn(&template)]);
    let rules = Signal::ALL.into_iter().filter(|signal| *signal != Signal::Heartbeat);
    let rules: Vec<_> = rules.map(|signal| scope.rule_arn(&scope.rule(signal))).collect();
    let sources: BTreeSet<&str> = Signal::ALL.into_iter().map(Signal::source).collect();
    let controllers: Vec<&str> = controller_roles.iter().map(String::as_str).collect();
    let mut values = vec![
        ("queue_arns", queues.into()),
        ("cluster_queues_arn", scope.queues_arn(&template).into()),
        ("rule_arns", rules.into()),
        ("sources", sources.into_iter().collect()),
        ("probe_source", PROBE_SOURCE.into()),
        ("router_role_arn", scope.role_arn(&options.role_path(), &scope.router_role()).into()),
        ("controller_role_arns", controllers.into()),
    ];
    let mut policy = of_bus(scope, ORDINARY, &values);
    if controller_roles.is_empty() {
        replace_statements(&mut policy, &["KibusControllerRoles"], &Document::new(json!([])));
    }
    let absent_role = scope.roles_arn(scope.router_role().as_str());
    values.push(("absent_role_arn", absent_role.into()));
    // IAM knows no path of a role that does not exist yet.
    if options.role_path().as_str() != "/" {
        let find = include_str!("../../templates/policies/operator-role-at-path.json");
        replace_statements(&mut policy, &[], &of_bus(scope, find, &values));
    }
    if let Some(boundary) = options.boundary() {
        values.extend([("boundary", boundary.as_str().into()), ("tag_keys", tag_keys(options).into())]);
        let bounded = include_str!("../../templates/policies/operator-bounded-role.json");
        replace_statements(&mut policy, &["KibusRouterRole"], &of_bus(scope, bounded, &values));
    }
    if !options.tag_conditions(&scope.region) {
        let by_name = include_str!("../../templates/policies/operator-without-tag-conditions.json");
        let by_tags = ["KibusFindProbe", "KibusMakeQueues", "KibusChangeQueues"];
        replace_statements(&mut policy, &by_tags, &of_bus(scope, by_name, &values));
    }
    if let Some(key) = options.key() {
        values.push(("key", key.as_str().into()));
        let judges = include_str!("../../templates/policies/operator-key.json");
        replace_statements(&mut policy, &[], &of_bus(scope, judges, &values));
    }
    with_key(policy, KeyUse::Receive, scope, options.key())
}

/// What needs an additional document, because the ordinary one should not allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Purpose {
    // What calls need besides themselves is in the Service Authorization Reference, "AWS Fault Injection Service": to pass the role and
    // to tag; the first experiment of an account creates the service's own role. No call of an operator is about the instance: that is
    // in the policy of the role of the drill.
    /// Run `drill`: interrupt a Spot instance with AWS FIS, and watch what becomes of it.
    Drill,
    /// Read the policies of many controller roles at once. The call reads all users, roles and policies of the account.
    ManyClusters,
    // No policy variable is the ARN of the caller's own user or role, so it covers all of the account.
    /// Run `bootstrap-hub --check`: simulate the caller's permissions, and count the rules of the bus. The first call shows
    /// what every user and role of the account may do.
    Check,
    /// Let `add-cluster` ask EKS whether new clusters exist, and as which roles their Karpenter controllers run.
    Eks,
    /// Run `discover`: read every rule of the bus, and their queues.
    Discover,
    /// Give a hub alarms, a heartbeat or a dashboard; with `--read-only`, verify such a hub.
    Alarms,
}

impl Purpose {
    fn template(self) -> &'static str {
        match self {
            Self::Drill => include_str!("../../templates/policies/operator-drill.json"),
            Self::ManyClusters => include_str!("../../templates/policies/operator-many-clusters.json"),
            Self::Check => include_str!("../../templates/policies/operator-check.json"),
            Self::Eks => include_str!("../../templates/policies/operator-eks.json"),
            Self::Discover => include_str!("../../templates/policies/operator-discover.json"),
            Self::Alarms => include_str!("../../templates/policies/operator-alarms.json"),
        }
    }
}

/// The additional document for a purpose.
pub fn additional(scope: &Scope, purpose: Purpose) -> Document {
    let values = [
        ("heartbeat_arn", scope.rule_arn(&scope.rule(Signal::Heartbeat)).into()),
        ("probe_source", PROBE_SOURCE.into()),
        ("dashboard_arn", scope.dashboard_arn(&scope.dashboard()).into()),
        ("drill_role_arn", scope.roles_arn(scope.drill_role().as_str()).into()),
    ];
    of_bus(scope, purpose.template(), &values)
}

/// The arguments that print the document with an action: the additional one that has it, if the ordinary one does not. An operator
/// of a hub needs that for alarms sooner than that of another command.
pub fn printing(action: &str) -> String {
    let quoted = format!("\"{action}\"");
    let mut purposes = Purpose::value_variants().iter().rev();
    let purpose = purposes.find(|purpose| purpose.template().contains(&quoted) && !ORDINARY.contains(&quoted));
    let name = purpose.and_then(|purpose| purpose.to_possible_value());
    name.map_or("policy operator".to_owned(), |name| format!("policy operator --for {}", name.get_name()))
}

/// What an operator who changes any part of the hub needs: of both documents.
pub fn with_alarms(scope: &Scope, options: &HubOptions) -> Document {
    let documents = [operator(scope, options, &BTreeSet::new()), additional(scope, Purpose::Alarms)];
    let statements: Vec<&Value> = documents.iter().flat_map(Document::statements).collect();
    Document::new(json!({ "Version": documents[0].value()["Version"], "Statement": statements }))
}

/// The keys of the tags that kibus writes: its own, and the user's.
fn tag_keys(options: &HubOptions) -> Vec<String> {
    let own = [format!("{NAMESPACE}*")];
    own.into_iter().chain(options.tags().0.into_keys()).collect()
}

/// The document without every action that changes something: enough for `verify`, `status`, and this bus in `list`.
pub fn reads(mut document: Document) -> Document {
    let is_read = |action: &Value| {
        let call = action.as_str().and_then(call_of);
        call.is_some_and(|call| call.access == Access::Read)
    };
    if let Some(Value::Array(statements)) = document.value_mut().get_mut("Statement") {
        statements.retain_mut(|statement| match &mut statement["Action"] {
            Value::Array(actions) => {
                actions.retain(is_read);
                !actions.is_empty()
            }
            action => is_read(action),
        });
        for statement in statements.iter_mut().filter_map(Value::as_object_mut) {
            // These say nothing about a read, whose request does not have their keys.
            if let Some(Value::Object(conditions)) = statement.get_mut("Condition") {
                conditions
                    .retain(|operator, _| !operator.ends_with("IfExists") && !operator.starts_with("ForAllValues:"));
                if conditions.is_empty() {
                    statement.remove("Condition");
                }
            }
        }
    }
    document
}

/// Maximum number of characters in a managed policy, without white space (IAM user guide, "IAM and AWS STS quotas").
const MANAGED_POLICY: usize = 6_144;

/// The document, shortened if it is too long for one managed policy.
pub fn fitted(mut policy: Document) -> Document {
    if too_long(&policy).is_some() {
        shorten(&mut policy);
    }
    policy
}

/// Shortens a document without changing what it allows: removes the names of statements, which are for readers only, names
/// actions by patterns, and unites statements without conditions whose actions are of different services. A statement about `*` stays alone: with it,
/// every action of the others would be about everything.
fn shorten(policy: &mut Document) {
    let Some(Value::Array(statements)) = policy.value_mut().get_mut("Statement") else {
        return;
    };
    for statement in statements.iter_mut().filter_map(Value::as_object_mut) {
        statement.remove("Sid");
        if let Some(Value::Array(actions)) = statement.get_mut("Action") {
            shorten_actions(actions);
        }
    }
    let (plain, mut short): (Vec<Value>, Vec<Value>) = std::mem::take(statements).into_iter().partition(|statement| {
        let is_plain = statement["Effect"] == "Allow" && statement.get("Condition").is_none();
        is_plain && !texts(statement.get("Resource")).contains(&"*")
    });
    let mut united: Vec<Value> = Vec::new();
    for statement in plain {
        match united.iter_mut().find(|other| services(other).is_disjoint(&services(&statement))) {
            Some(other) => {
                for member in ["Action", "Resource"] {
                    let all = texts(other.get(member)).into_iter().chain(texts(statement.get(member)));
                    other[member] = all.collect();
                }
            }
            None => united.push(statement),
        }
    }
    short.extend(united);
    *statements = short;
}

fn shorten_actions(actions: &mut Vec<Value>) {
    for &pattern in PATTERNS {
        let is_one = |action: &Value| action.as_str().is_some_and(|action| matches_action(pattern, action));
        let all = CALLS.iter().filter(|call| matches_action(pattern, call.action)).count();
        if actions.iter().filter(|action| is_one(action)).count() == all {
            actions.retain(|action| !is_one(action));
            actions.push(pattern.into());
        }
    }
}

fn services(statement: &Value) -> BTreeSet<String> {
    let actions = texts(statement.get("Action")).into_iter();
    actions.filter_map(|action| Some(action.split_once(':')?.0.to_owned())).collect()
}

/// The document in parts that each fit into one managed policy. Attached together, they allow what the document allows: every
/// statement is in one part, or its resources are divided among several.
pub fn parts(policy: &Document) -> Vec<Document> {
    let of = |statements: &[Value]| {
        let mut part = policy.clone();
        part.value_mut()["Statement"] = json!(statements);
        part
    };
    let fits = |statements: &[Value]| too_long(&of(statements)).is_none();
    let mut waiting: Vec<Value> = policy.statements().into_iter().rev().cloned().collect();
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    while let Some(statement) = waiting.pop() {
        part.push(statement);
        if fits(&part) {
            continue;
        }
        if let Some(last) = part.pop() {
            match (part.is_empty(), halves(&last)) {
                (true, Some((first, second))) => waiting.extend([second, first]),
                // A statement about one resource cannot be divided.
                (true, None) => parts.push(of(&[last])),
                (false, _) => {
                    parts.push(of(&part));
                    part.clear();
                    waiting.push(last);
                }
            }
        }
    }
    if !part.is_empty() {
        parts.push(of(&part));
    }
    parts
}

fn halves(statement: &Value) -> Option<(Value, Value)> {
    let resources = statement.get("Resource")?.as_array()?;
    let (first, second) = resources.split_at(resources.len() / 2);
    let about = |resources: &[Value]| {
        let mut half = statement.clone();
        half["Resource"] = json!(resources);
        half
    };
    (!first.is_empty()).then(|| (about(first), about(second)))
}

/// How many characters too long a document is for one managed policy, if it is.
pub fn too_long(document: &Document) -> Option<usize> {
    let over = policy_space(&document.compact()).checked_sub(MANAGED_POLICY);
    over.filter(|over| *over > 0)
}

names! {
    /// A role by its name, its path and name, or its ARN; or a pattern of these, with `*` and `?` as IAM reads them.
    RolePattern: "role",
        "a role's name, its path and name, or its ARN",
        |text| {
            let (resource, is_arn) = match text.strip_prefix(ARN) {
                Some(rest) => (rest.split_once(":role/").map_or("", |(_, role)| role), true),
                None => (text, false),
            };
            let name = resource.rsplit('/').next().unwrap_or_default();
            let known = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-/*?".contains(c) || is_arn && c == ':';
            !name.is_empty() && text.len() <= LONGEST && text.chars().all(known)
        };
}

impl RolePattern {
    /// Whether it may match more than one role. `*` matches `/` too.
    pub fn is_open(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// The ARN, or pattern of ARNs, for a document: of a name alone, the ARN in `known`, else that of the path `/`. `None`
    /// for the ARN of another account or partition.
    pub fn arn(&self, scope: &Scope, known: &BTreeMap<RoleName, String>) -> Option<String> {
        if self.0.starts_with(ARN) {
            return self.0.starts_with(&scope.roles_arn("")).then(|| self.0.clone());
        }
        let listed = self.0.parse().ok().and_then(|name: RoleName| known.get(&name));
        let of_path = || scope.roles_arn(self.0.trim_start_matches('/'));
        Some(listed.cloned().unwrap_or_else(of_path))
    }
}

const ARN: &str = "arn:";

/// An ARN with the longest path and name, and its longest prefix.
const LONGEST: usize = 640;

#[cfg(test)]
mod tests;
