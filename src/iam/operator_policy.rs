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

mod fit;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::document::Document;
use crate::model::options::HubOptions;
use crate::model::policy::{KeyUse, replace_statements, with_key};
use crate::model::scope::{LIVE, Scope};
use crate::model::signal::{PROBE_SOURCE, Signal};
use crate::model::tags::NAMESPACE;
use crate::model::template;

pub use fit::{fitted, parts, too_long};

/// The policy of an operator of this bus with these options. It allows changes to the controller roles with these ARNs, or
/// patterns of ARNs. With a permissions boundary, the router role can have no other.
pub fn operator(scope: &Scope, options: &HubOptions, controller_roles: &BTreeSet<String>) -> Document {
    let prefix = options.queue_prefix();
    let hub = scope.queue_arn(&scope.hub_queue());
    // One pattern for the hub queue and its dead-letter queue is shorter. It has queues of other buses too, so it needs
    // conditions on tags.
    let mut queues = match options.tag_conditions(&scope.region) {
        true => vec![format!("{hub}*")],
        false => vec![hub, scope.queue_arn(&scope.dead_letter_queue())],
    };
    queues.extend([scope.queue_arn(&scope.probe_queue()), scope.queues_arn(&prefix)]);
    let rules = Signal::ALL.map(|signal| scope.rule_arn(&scope.rule(signal)));
    let sources: BTreeSet<&str> = Signal::ALL.into_iter().map(Signal::source).collect();
    let controllers: Vec<&str> = controller_roles.iter().map(String::as_str).collect();
    let mut values = vec![
        ("partition", scope.partition.as_str().into()),
        ("region", scope.region.as_str().into()),
        ("account", scope.account.as_str().into()),
        ("bus", scope.bus.as_str().into()),
        ("parameter_arn", scope.parameter_arn(&scope.settings_parameter()).into()),
        ("queue_arns", queues.into()),
        ("cluster_queues_arn", scope.queues_arn(&prefix).into()),
        ("hub_queue_arn", scope.queue_arn(&scope.hub_queue()).into()),
        (
            "dead_letter_queue_arn",
            scope.queue_arn(&scope.dead_letter_queue()).into(),
        ),
        ("probe_queue_arn", scope.queue_arn(&scope.probe_queue()).into()),
        ("rule_arns", rules.to_vec().into()),
        ("sources", sources.into_iter().collect()),
        ("event_bus_arn", scope.event_bus_arn().into()),
        ("probe_source", PROBE_SOURCE.into()),
        ("function_arn", scope.function_arn(&scope.router_function()).into()),
        ("alias_arn", scope.alias_arn(&scope.router_function(), LIVE).into()),
        ("log_group_arn", scope.log_group_arn(&scope.router_log_group()).into()),
        (
            "router_role_arn",
            scope.role_arn(&options.role_path(), &scope.router_role()).into(),
        ),
        ("controller_role_arns", controllers.into()),
    ];
    let mut policy = template::fill(include_str!("../../templates/policies/operator.json"), &values);
    if controller_roles.is_empty() {
        replace_statements(&mut policy, &["KibusControllerRoles"], &Document::new(json!([])));
    }
    let absent_role = scope.roles_arn(scope.router_role().as_str());
    values.push(("absent_role_arn", absent_role.into()));
    // IAM knows no path of a role that does not exist yet.
    if options.role_path().as_str() != "/" {
        let find = include_str!("../../templates/policies/operator-role-at-path.json");
        replace_statements(&mut policy, &[], &template::fill(find, &values));
    }
    if let Some(boundary) = options.boundary() {
        values.extend([
            ("boundary", boundary.as_str().into()),
            ("tag_keys", tag_keys(options).into()),
        ]);
        let bounded = include_str!("../../templates/policies/operator-bounded-role.json");
        replace_statements(&mut policy, &["KibusRouterRole"], &template::fill(bounded, &values));
    }
    if !options.tag_conditions(&scope.region) {
        let by_name = include_str!("../../templates/policies/operator-without-tag-conditions.json");
        let by_tags = ["KibusFindProbe", "KibusMakeQueues", "KibusChangeQueues"];
        replace_statements(&mut policy, &by_tags, &template::fill(by_name, &values));
    }
    if let Some(key) = options.key() {
        values.push(("key", key.as_str().into()));
        let judges = include_str!("../../templates/policies/operator-key.json");
        replace_statements(&mut policy, &[], &template::fill(judges, &values));
    }
    with_key(policy, KeyUse::Receive, scope, options.key())
}

/// The additional policy of an operator with many clusters: read all roles of the account in few calls, instead of each
/// role in some. It allows reading the rest of IAM too, so no other document has it.
pub fn many_clusters() -> Document {
    template::fill(
        include_str!("../../templates/policies/operator-many-clusters.json"),
        &[],
    )
}

/// The additional policy of an operator who runs `bootstrap-hub --check`: its reads that the other documents do not have.
/// Simulating a principal's policies tells what that principal may do, so no other document allows it. No policy variable
/// is the ARN of the caller's own user or role, so it covers all of the account.
pub fn check(scope: &Scope) -> Document {
    let values = [
        ("partition", scope.partition.as_str().into()),
        ("account", scope.account.as_str().into()),
    ];
    template::fill(include_str!("../../templates/policies/operator-check.json"), &values)
}

/// The additional policy of an operator whose `add-cluster` asks EKS about new clusters. The ordinary document has no space
/// for it.
pub fn eks(scope: &Scope) -> Document {
    of_region(scope, include_str!("../../templates/policies/operator-eks.json"))
}

/// The additional policy of an operator who runs `discover`: its reads that the other documents do not have, of rules and queues
/// of any name. Metrics have no ARN (Service Authorization Reference, "Amazon CloudWatch").
pub fn discover(scope: &Scope) -> Document {
    of_region(scope, include_str!("../../templates/policies/operator-discover.json"))
}

fn of_region(scope: &Scope, policy: &str) -> Document {
    let values = [
        ("partition", scope.partition.as_str().into()),
        ("region", scope.region.as_str().into()),
        ("account", scope.account.as_str().into()),
    ];
    template::fill(policy, &values)
}

/// The keys of the tags that kibus writes: its own, and the user's.
fn tag_keys(options: &HubOptions) -> Vec<String> {
    let own = [format!("{NAMESPACE}*")];
    own.into_iter().chain(options.tags().0.into_keys()).collect()
}

/// The beginnings of the names of actions that read. The tests hold that no other action of an operator reads, except
/// `sqs:ReceiveMessage`, which hides the message from its consumer.
const READS: [&str; 4] = ["Describe", "Filter", "Get", "List"];

/// Reads that only commands which change something make: what concurrency is left, whether a mapping has settled, and who else
/// has written the settings.
const READS_OF_CHANGES: [&str; 3] = [
    "lambda:GetAccountSettings",
    "lambda:GetEventSourceMapping",
    "ssm:GetParameterHistory",
];

/// The document without every action that changes something: enough for `verify`, `status`, and the part of `list` that
/// is about this bus.
pub fn reads(mut document: Document) -> Document {
    let is_read = |action: &Value| {
        let action = action.as_str().unwrap_or_default();
        let (_, name) = action.split_once(':').unwrap_or_default();
        READS.iter().any(|read| name.starts_with(read)) && !READS_OF_CHANGES.contains(&action)
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

#[cfg(test)]
mod tests;
