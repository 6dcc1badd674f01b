//! The policies of an operator, who runs kibus: of the hub, from `templates/policies/operator.json`, and of its clusters, from
//! `operator-clusters.json`. The first must fit into one managed policy, so its statements have no Sids.
//!
//! They allow the calls that kibus makes, and two permissions that AWS requires with them: to tag at creation, and to
//! pass a role to Lambda. Each statement is limited to this bus by name where AWS supports it, and by tag or condition
//! where that is stricter. A pattern with the bus name also covers resources of any bus whose name begins with it, so
//! it is used only in a denial, or with a condition on the tag of the bus.
//!
//! The conditions of each call, from the Service Authorization Reference:
//!
//! - `sqs:CreateQueue` and `sqs:TagQueue` have `aws:RequestTag`, queues have `aws:ResourceTag`, except in the Regions where
//!   [`crate::model::Region::has_queue_tag_conditions`] is false. Creating a queue with tags needs both permissions (API reference, CreateQueue), the
//!   second on a queue that has no tags yet, hence `IfExists`.
//! - `events:PutTargets` has `events:TargetArn`, an array of ARNs without that of a target's dead-letter queue. An array
//!   needs a set operator. `ForAllValues` holds for a request without the key too, but every target has an ARN (IAM
//!   user guide, "Single-valued vs. multivalued context keys"; EventBridge user guide, "Using IAM policy conditions").
//! - `events:PutRule` has `events:source`, an array: the sources of the pattern. A pattern without a source has no such
//!   key, hence the denial with `Null`.
//! - `lambda:CreateEventSourceMapping`, `lambda:DeleteEventSourceMapping` and `lambda:UpdateEventSourceMapping` have
//!   `lambda:FunctionArn`, a single ARN. It is not documented whether the ARN of a mapping to an alias includes the alias:
//!   the examples in the Lambda developer guide omit it, and others list both. So both are accepted.
//!   `lambda:GetEventSourceMapping` also has the key, but not for a mapping that is gone, and then AWS answers "denied" where
//!   kibus needs "absent". So it has no condition, and the others have one that a request without the key does not meet.
//! - `iam:CreateRole`, `iam:PutRolePolicy` and `iam:PutRolePermissionsBoundary` have `iam:PermissionsBoundary`: the
//!   boundary of the role, or the one in the request (IAM user guide, "Permissions boundaries for IAM entities", which
//!   delegates by the same condition). `iam:TagRole` and `iam:UntagRole` have `aws:TagKeys`; `iam:CreateRole` and
//!   `iam:UpdateAssumeRolePolicy` have no condition on the trust policy.
//! - `fis:TagResource` has `aws:ResourceTag`, which a request that creates a resource with tags has too (IAM user guide, "AWS
//!   global condition context keys"). Anyone who can tag a template can start it with its role.
//! - `cloudwatch:PutMetricAlarm` has `cloudwatch:AlarmActions`, an array, for all three action lists (CloudWatch user guide,
//!   "Using condition keys to limit alarm actions"). An alarm may also terminate an instance.
//! - `iam:PassRole` has `iam:PassedToService`, which no other call has (IAM user guide, "IAM and AWS STS condition context
//!   keys"): it has a statement of its own, whose condition a request without the key does not meet.
//! - `kms:Decrypt` has `kms:ViaService`. Kibus calls `kms:GetKeyPolicy` itself, so it has no such condition.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use serde_json::Value;

use super::grants::matches;
use crate::model::{
    Document, Fault, FaultKind, HubOptions, RoleName, Scope, Signal,
    calls::{Access, call_of},
    name::names,
    policy::{KeyUse, of_bus, policy_space, replace_statements, with_key},
    signal::PROBE_SOURCE,
    tags::NAMESPACE,
};

const ORDINARY: &str = include_str!("../../templates/policies/operator.json");

/// The policy of an operator of the hub with these options. With a permissions boundary, the router role must have that one.
pub fn operator(scope: &Scope, options: &HubOptions) -> Document {
    let template = options.queue_template();
    let hub = scope.queue_arn(&scope.hub_queue());
    // One pattern for the hub queue and its dead-letter queue is shorter. It also covers queues of other buses, so it
    // needs conditions on tags.
    let mut queues = if options.tag_conditions(&scope.region) {
        vec![format!("{hub}*")]
    } else {
        vec![hub, scope.queue_arn(&scope.dead_letter_queue())]
    };
    queues.extend([scope.queue_arn(&scope.probe_queue()), scope.queues_arn(&template)]);
    let rules = Signal::ALL.into_iter().filter(|signal| *signal != Signal::Heartbeat);
    let rules: Vec<_> = rules.map(|signal| scope.rule_arn(&scope.rule(signal))).collect();
    let sources: BTreeSet<&str> = Signal::ALL.into_iter().map(Signal::source).collect();
    let mut values = vec![
        ("queue_arns", queues.into()),
        ("rule_arns", rules.into()),
        ("sources", sources.into_iter().collect()),
        ("router_role_arn", scope.role_arn(&options.role_path(), &scope.router_role()).into()),
        ("cluster_queues_arn", scope.queues_arn(&template).into()),
    ];
    let mut policy = of_bus(scope, ORDINARY, &values);
    let absent_role = scope.roles_arn(scope.router_role().as_str());
    values.push(("absent_role_arn", absent_role.into()));
    find_absent_role(&mut policy, scope, options, &values);
    if let Some(boundary) = options.boundary() {
        values.extend([("boundary", boundary.as_str().into()), ("tag_keys", tag_keys(options).into())]);
        let bounded = include_str!("../../templates/policies/operator-bounded-role.json");
        replace_statements(&mut policy, &["KibusRouterRole"], &of_bus(scope, bounded, &values));
    }
    if !options.tag_conditions(&scope.region) {
        let by_name = include_str!("../../templates/policies/operator-without-tag-conditions.json");
        let by_tags = ["KibusMakeQueues", "KibusChangeQueues"];
        replace_statements(&mut policy, &by_tags, &of_bus(scope, by_name, &values));
    }
    if let Some(key) = options.key() {
        values.push(("key", key.as_str().into()));
        let judges = include_str!("../../templates/policies/operator-key.json");
        replace_statements(&mut policy, &[], &of_bus(scope, judges, &values));
    }
    if let Some(Value::Array(statements)) = policy.value_mut().get_mut("Statement") {
        for statement in statements.iter_mut().filter_map(Value::as_object_mut) {
            statement.remove("Sid");
        }
    }
    policy
}

/// A role that does not exist yet has no path in IAM.
fn find_absent_role(policy: &mut Document, scope: &Scope, options: &HubOptions, values: &[(&str, Value)]) {
    if options.role_path().as_str() != "/" {
        let find = include_str!("../../templates/policies/operator-role-at-path.json");
        replace_statements(policy, &[], &of_bus(scope, find, values));
    }
}

/// The policy of an operator of clusters: the controller roles with these ARNs, or patterns of ARNs, probes and dead letters.
pub fn clusters(scope: &Scope, options: &HubOptions, controller_roles: &BTreeSet<String>) -> Document {
    let values = [
        ("cluster_queues_arn", scope.queues_arn(&options.queue_template()).into()),
        ("controller_role_arns", controller_roles.iter().map(String::as_str).collect()),
        ("probe_source", PROBE_SOURCE.into()),
    ];
    let mut policy = of_bus(scope, Purpose::Clusters.template(), &values);
    if controller_roles.is_empty() {
        replace_statements(&mut policy, &["KibusControllerRoles"], &Document::new(Value::Array(Vec::new())));
    }
    if !options.tag_conditions(&scope.region) {
        let by_name = include_str!("../../templates/policies/operator-clusters-without-tag-conditions.json");
        replace_statements(&mut policy, &["KibusFindProbe"], &of_bus(scope, by_name, &values));
    }
    with_key(policy, KeyUse::Receive, scope, options.key())
}

/// How many of these controller roles fit into the document, if not all.
pub fn fitting(scope: &Scope, options: &HubOptions, controller_roles: &BTreeSet<String>) -> Option<usize> {
    too_long(&clusters(scope, options, controller_roles))?;
    let fits = |count: &usize| {
        let some = controller_roles.iter().take(*count).cloned().collect();
        too_long(&clusters(scope, options, &some)).is_none()
    };
    (0..controller_roles.len()).rev().find(fits)
}

/// The first of these ARNs or ARN patterns that covers one of kibus's own roles. Writing its policy through this
/// document would need no boundary.
pub fn own_role<'a>(scope: &Scope, options: &HubOptions, arns: &'a BTreeSet<String>) -> Option<&'a String> {
    let own = [scope.router_role(), scope.drill_role()].map(|role| scope.role_arn(&options.role_path(), &role));
    arns.iter().find(|arn| own.iter().any(|own| matches(arn, own)))
}

/// Purposes that need an additional document, because the hub document should not allow them, or has no space for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Purpose {
    // The dependent permissions are in the Service Authorization Reference, "AWS Fault Injection Service": pass the
    // role, and tag; the first experiment in an account creates the service-linked role. An operator makes no call
    // about the instance: that permission is in the policy of the drill role.
    /// Run `drill`: interrupt a Spot instance with AWS FIS, and trace the outcome.
    Drill,
    /// Read the policies of many controller roles at once. The call reads all users, roles and policies in the account.
    ManyClusters,
    /// Let `add-cluster` look up new clusters in EKS, and the roles of their Karpenter controllers.
    Eks,
    /// Run `discover`: read every rule on the bus, and the queues of the rules.
    Discover,
    /// Create the heartbeat, which alarms need. Opens the bus: the target of its rule can send any event to any cluster.
    Heartbeat,
    /// Create alarms or a dashboard; with `--read-only`, verify a hub that has them.
    Alarms,
    /// Change the policies of controller roles; send and receive probes, and receive dead letters.
    Clusters,
}

impl Purpose {
    fn template(self) -> &'static str {
        match self {
            Self::Drill => include_str!("../../templates/policies/operator-drill.json"),
            Self::ManyClusters => include_str!("../../templates/policies/operator-many-clusters.json"),
            Self::Eks => include_str!("../../templates/policies/operator-eks.json"),
            Self::Discover => include_str!("../../templates/policies/operator-discover.json"),
            Self::Heartbeat => include_str!("../../templates/policies/operator-heartbeat.json"),
            Self::Alarms => include_str!("../../templates/policies/operator-alarms.json"),
            Self::Clusters => include_str!("../../templates/policies/operator-clusters.json"),
        }
    }
}

/// The additional document for a purpose other than clusters. Only the drill document depends on options: the drill
/// role has the path, the boundary and the tags of the hub.
pub fn additional(scope: &Scope, options: &HubOptions, purpose: Purpose) -> Document {
    let values = [
        ("heartbeat_arn", scope.rule_arn(&scope.rule(Signal::Heartbeat)).into()),
        ("probe_source", PROBE_SOURCE.into()),
        ("dashboard_arn", scope.dashboard_arn(&scope.dashboard()).into()),
        ("drill_role_arn", scope.role_arn(&options.role_path(), &scope.drill_role()).into()),
        ("absent_role_arn", scope.roles_arn(scope.drill_role().as_str()).into()),
        ("boundary", scope.drill_boundary(options).as_str().into()),
        ("tag_keys", tag_keys(options).into()),
    ];
    let mut policy = of_bus(scope, purpose.template(), &values);
    if purpose == Purpose::Drill {
        find_absent_role(&mut policy, scope, options, &values);
    }
    policy
}

/// The commands, without the program name, that print the documents with these denied calls: an additional document
/// that contains the action, if the hub document does not. The document for alarms takes precedence over those for
/// other commands.
pub fn printing<'a>(scope: &Scope, denied: impl IntoIterator<Item = &'a Fault>) -> Vec<String> {
    let mut roles: BTreeMap<String, BTreeSet<RoleName>> = BTreeMap::new();
    for fault in denied {
        let quoted = format!("\"{}\"", fault.action);
        let role = controller_role(scope, fault).filter(|_| Purpose::Clusters.template().contains(&quoted));
        let mut purposes = Purpose::value_variants().iter().rev();
        let is_of_heartbeat = denied_on(fault).is_some_and(|on| on.ends_with(scope.rule(Signal::Heartbeat).as_str()));
        let purpose = purposes.find(|purpose| match purpose {
            Purpose::Heartbeat => is_of_heartbeat,
            _ => purpose.template().contains(&quoted) && (role.is_some() || !ORDINARY.contains(&quoted)),
        });
        let name = purpose.and_then(|purpose| purpose.to_possible_value());
        let command =
            name.map_or("policy operator".to_owned(), |name| format!("policy operator --for {}", name.get_name()));
        roles.entry(command).or_default().extend(role);
    }
    let with_roles = |(command, roles): (String, BTreeSet<RoleName>)| {
        roles.iter().fold(command, |command, role| format!("{command} --controller-role {role}"))
    };
    roles.into_iter().map(with_roles).collect()
}

/// The resource that a call was denied on, if AWS reports it.
fn denied_on(fault: &Fault) -> Option<&str> {
    match &fault.kind {
        FaultKind::Denied { resource, .. } => resource.as_deref(),
        _ => None,
    }
}

/// The role that a call was denied on, unless it is one of kibus's own. IAM returns its name or its ARN.
fn controller_role(scope: &Scope, fault: &Fault) -> Option<RoleName> {
    let (_, name) = denied_on(fault)?.rsplit_once(['/', ' ']).filter(|(kind, _)| kind.contains("role"))?;
    let role = name.parse().ok()?;
    (![scope.router_role(), scope.drill_role()].contains(&role)).then_some(role)
}

/// The keys of the tags that kibus writes: its own and the user's.
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
            // These do not apply to a read, whose request does not have their keys.
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
    /// Whether it can match more than one role. `*` also matches `/`.
    pub fn is_open(&self) -> bool {
        self.0.contains(['*', '?'])
    }

    /// The ARN, or pattern of ARNs, for a document: for a name alone, the ARN in `known`, else an ARN with the path `/`. `None`
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
