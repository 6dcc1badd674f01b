//! The policy of an operator, who runs kibus, from `templates/policies/operator.json`.
//!
//! It allows the calls that kibus makes, and two permissions that AWS requires with them: to tag at creation, and to
//! pass a role to Lambda. Each statement is limited to this bus by name where AWS supports it, and by tag or condition
//! where that is stricter.
//!
//! The conditions of each call, from the Service Authorization Reference:
//!
//! - `sqs:CreateQueue` and `sqs:TagQueue` have `aws:RequestTag`, queues have `aws:ResourceTag`, except in the Regions of
//!   [`super::tag_conditions`]. Creating a queue with tags needs both permissions (API reference, CreateQueue).
//! - `events:PutTargets` has `events:TargetArn`, an array of ARNs without that of a target's dead-letter queue. An array
//!   needs a set operator, and `ForAllValues` holds for a request without the key too, hence the `Null` beside it (IAM
//!   user guide, "Single-valued vs. multivalued context keys"; EventBridge user guide, "Using IAM policy conditions").
//! - `lambda:CreateEventSourceMapping`, `lambda:DeleteEventSourceMapping` and `lambda:UpdateEventSourceMapping` have
//!   `lambda:FunctionArn`, a single ARN: here that of an alias. `lambda:GetEventSourceMapping` has it too, but not of a
//!   mapping that is gone, and then AWS answers "denied" where kibus needs "absent".
//! - `iam:CreateRole`, `iam:PutRolePolicy` and `iam:PutRolePermissionsBoundary` have `iam:PermissionsBoundary`: what the
//!   role has, or what the request gives it (IAM user guide, "Permissions boundaries for IAM entities", which delegates
//!   by the same condition).

use serde_json::Value;

use super::document::Document;
use super::inline_policy::space;
use super::name::{KmsKey, PermissionsBoundary, QueuePrefix, RoleName};
use super::policy::{replace_statements, with_key};
use super::scope::Scope;
use super::signal::PROBE_SOURCE;
use super::template::Template;

/// The names of roles that clusters' controllers usually run as, as patterns: those of
/// [`super::controller_role::usual_names`], under any path, with the suffix that eksctl or Terraform appends.
const USUAL_CONTROLLER_ROLES: [&str; 6] = [
    "*KarpenterServiceAccount-*",
    "*-karpenter*",
    "*KarpenterControllerRole-*",
    "*KarpenterController-*",
    "*KarpenterIRSA-*",
    "*eksctl-*-iamservice-role*",
];

/// Maximum number of characters in a managed policy, without white space (IAM user guide, "IAM and AWS STS quotas").
const MANAGED_POLICY: usize = 6_144;

/// The policy of an operator of this bus. It allows changes to the controller roles in `roles`, or to those with the usual
/// names if `roles` is empty. With a `boundary`, the router role can have no other.
#[must_use]
pub fn operator(
    scope: &Scope,
    prefix: &QueuePrefix,
    roles: &[RoleName],
    key: Option<&KmsKey>,
    boundary: Option<&PermissionsBoundary>,
) -> Document {
    let mut queues = scope.hub_queues().map(|queue| scope.queue_arn(&queue)).to_vec();
    queues.push(scope.queues_arn(prefix));
    let controllers: Vec<String> = if roles.is_empty() {
        USUAL_CONTROLLER_ROLES.map(|role| scope.roles_arn(role)).to_vec()
    } else {
        roles.iter().flat_map(|role| scope.role_arns(role.as_str())).collect()
    };
    let router_roles = Value::from(scope.role_arns(scope.router_role().as_str()).to_vec());
    let queues = Value::from(queues);
    let mut policy = Template::builtin(include_str!("../../templates/policies/operator.json")).fill(&[
        ("bus", scope.bus.as_str().into()),
        ("queue_arns", queues.clone()),
        ("hub_queue_arn", scope.queue_arn(&scope.hub_queue()).into()),
        ("probe_queue_arn", scope.queue_arn(&scope.probe_queue()).into()),
        ("rules_arn", scope.rules_arn().into()),
        ("event_bus_arn", scope.event_bus_arn().into()),
        ("probe_source", PROBE_SOURCE.into()),
        ("function_arn", scope.function_arn(&scope.router_function()).into()),
        ("log_group_arn", scope.log_group_arn(&scope.router_log_group()).into()),
        ("router_role_arns", router_roles.clone()),
        ("controller_role_arns", controllers.into()),
    ]);
    if let Some(boundary) = boundary {
        let bounded = Template::builtin(include_str!("../../templates/policies/operator-bounded-role.json")).fill(&[
            ("router_role_arns", router_roles),
            ("boundary", boundary.as_str().into()),
        ]);
        replace_statements(&mut policy, &["KibusRouterRole"], &bounded);
    }
    if !scope.region.has_queue_tag_conditions() {
        let by_name = include_str!("../../templates/policies/operator-without-tag-conditions.json");
        let by_name = Template::builtin(by_name).fill(&[("queue_arns", queues)]);
        replace_statements(&mut policy, &["KibusMakeQueues", "KibusChangeQueues"], &by_name);
    }
    with_key(
        policy,
        include_str!("../../templates/policies/controller-key.json"),
        key,
    )
}

/// The beginnings of the names of actions that read. The tests hold that no other action of an operator reads, except
/// `sqs:ReceiveMessage`, which hides the message from its consumer.
const READS: [&str; 3] = ["Describe", "Get", "List"];

/// Reads that only commands which change something make: managed policies of controller roles, what concurrency is left,
/// and whether a mapping has settled.
const READS_OF_CHANGES: [&str; 5] = [
    "iam:GetPolicy",
    "iam:GetPolicyVersion",
    "iam:ListAttachedRolePolicies",
    "lambda:GetAccountSettings",
    "lambda:GetEventSourceMapping",
];

/// The document without every action that changes something: enough for `verify`, `status`, and the part of `list` that
/// is about this bus.
#[must_use]
pub fn reads(mut document: Document) -> Document {
    let is_read = |action: &Value| {
        let Some((action, (_, name))) = action
            .as_str()
            .and_then(|action| Some((action, action.split_once(':')?)))
        else {
            return false;
        };
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
    }
    document
}

/// How many characters too long a document is for one managed policy, if it is.
#[must_use]
pub fn too_long(document: &Document) -> Option<usize> {
    let over = space(&document.compact()).checked_sub(MANAGED_POLICY);
    over.filter(|over| *over > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::model::controller_role::usual_names;
    use crate::model::hub::default_queue_prefix;
    use crate::model::scope::tests::{scope, scope_in};
    use crate::model::tag_conditions::WITHOUT_QUEUE_TAG_CONDITIONS;

    /// Actions that an operator does not need: the first requires no permission, the next two are for the demo, which is
    /// root in its own sandbox, and no command removes the retention of a log.
    const WITHOUT: [&str; 4] = [
        "sts:GetCallerIdentity",
        "sqs:SendMessage",
        "logs:FilterLogEvents",
        "logs:DeleteRetentionPolicy",
    ];
    /// Not called, but required by AWS: to pass a role to Lambda.
    const BESIDES: [&str; 1] = ["iam:PassRole"];

    fn document() -> Document {
        operator(&scope(), &default_queue_prefix(), &[], None, None)
    }

    fn boundary(name: &str) -> PermissionsBoundary {
        format!("arn:aws-us-gov:iam::111122223333:policy/{name}")
            .parse()
            .unwrap()
    }

    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::String(text) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    fn allowed(document: &Document) -> BTreeSet<String> {
        let statements = document.statements();
        statements
            .iter()
            .flat_map(|statement| texts(&statement["Action"]))
            .collect()
    }

    /// Every call that the sources of the cloud name, as IAM does.
    fn called() -> BTreeSet<String> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/aws");
        let mut calls = BTreeSet::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            calls.extend(code.split('"').filter(|word| is_call(word)).map(str::to_owned));
        }
        calls
    }

    fn is_call(word: &str) -> bool {
        let services = ["sqs", "iam", "logs", "lambda", "events", "tag", "sts", "kms"];
        word.split_once(':').is_some_and(|(service, name)| {
            services.contains(&service)
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(|c| c.is_ascii_alphabetic())
        })
    }

    #[test]
    fn an_operator_may_call_what_kibus_calls_and_nothing_else() {
        let mut needed = called();
        assert!(needed.len() > 50, "the sources were not understood");
        needed.retain(|call| !WITHOUT.contains(&call.as_str()));
        needed.extend(BESIDES.map(str::to_owned));
        let allowed = allowed(&document());
        let lacking: Vec<_> = needed.difference(&allowed).collect();
        let idle: Vec<_> = allowed.difference(&needed).collect();
        assert!(
            lacking.is_empty(),
            "kibus calls what templates/policies/operator.json does not allow: {lacking:?}"
        );
        assert!(
            idle.is_empty(),
            "templates/policies/operator.json allows what kibus never calls: {idle:?}"
        );
    }

    #[test]
    fn a_read_only_document_has_every_read_and_no_write() {
        const WRITES: [&str; 13] = [
            "Create", "Decrypt", "Delete", "Invoke", "Pass", "Publish", "Put", "Receive", "Remove", "Set", "Tag",
            "Untag", "Update",
        ];
        let key: KmsKey = "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/1".parse().unwrap();
        let boundary = boundary("routers");
        for (key, boundary) in [(None, None), (Some(&key), Some(&boundary))] {
            let full = operator(&scope(), &default_queue_prefix(), &[], key, boundary);
            let read_only = reads(full.clone());
            let (all, kept) = (allowed(&full), allowed(&read_only));
            for action in &all {
                let (_, name) = action.split_once(':').unwrap();
                let writes = WRITES.iter().any(|write| name.starts_with(write));
                let of_changes = READS_OF_CHANGES.contains(&action.as_str());
                assert_eq!(kept.contains(action), !writes && !of_changes, "{action}");
            }
            assert!(kept.is_subset(&all) && kept.len() > 15, "{kept:?}");
            let resources = |document: &Document, action: &str| -> BTreeSet<String> {
                let statements = document.statements();
                let with = statements
                    .iter()
                    .filter(|s| texts(&s["Action"]).iter().any(|a| a == action));
                with.flat_map(|statement| texts(&statement["Resource"])).collect()
            };
            for action in &kept {
                assert_eq!(resources(&read_only, action), resources(&full, action), "{action}");
            }
        }
    }

    #[test]
    fn only_what_has_no_name_is_allowed_on_everything() {
        let document = document();
        for statement in document.statements() {
            if texts(&statement["Resource"]).iter().any(|resource| resource == "*") {
                let sid = statement["Sid"].as_str().unwrap();
                assert!(["KibusFind", "KibusMapping"].contains(&sid), "{sid}");
            }
        }
    }

    /// S14: with a condition on a tag, the operator could create no queue in these Regions.
    #[test]
    fn queues_are_changed_by_name_where_sqs_has_no_tag_conditions() {
        for region in WITHOUT_QUEUE_TAG_CONDITIONS {
            let by_name = operator(&scope_in("aws", region), &default_queue_prefix(), &[], None, None);
            assert!(!by_name.compact().contains("Tag/"), "{region}: {by_name:?}");
            assert_eq!(allowed(&by_name), allowed(&document()), "{region}");
        }
    }

    #[test]
    fn a_document_fits_into_a_managed_policy() {
        let prefix = "p".repeat(40).parse().unwrap();
        let boundary = boundary(&"b".repeat(64));
        for (partition, region) in [("aws-us-gov", "us-gov-west-1"), ("aws", "ap-southeast-4")] {
            let longest = Scope {
                bus: "a2345678901234567890".parse().unwrap(),
                ..scope_in(partition, region)
            };
            for boundary in [None, Some(&boundary)] {
                let document = operator(&longest, &prefix, &[], None, boundary);
                assert_eq!(too_long(&document), None, "{region} {boundary:?}");
            }
        }
        let roles: Vec<RoleName> = (10..50)
            .map(|number| format!("karpenter-{number}").parse().unwrap())
            .collect();
        let document = operator(&scope(), &default_queue_prefix(), &roles, None, None);
        assert!(too_long(&document).is_some_and(|over| over > 100), "{document:?}");
    }

    #[test]
    fn with_a_boundary_the_routers_role_has_that_one_and_keeps_it() {
        let boundary = boundary("routers");
        let bounded = operator(&scope(), &default_queue_prefix(), &[], None, Some(&boundary));
        let condition = serde_json::json!({"StringEquals": {"iam:PermissionsBoundary": boundary.as_str()}});
        let roles = scope().role_arns(scope().router_role().as_str()).to_vec();
        let shaping = ["iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"];
        for statement in bounded.statements() {
            let shapes = texts(&statement["Action"])
                .iter()
                .any(|action| shaping.contains(&action.as_str()));
            if shapes && texts(&statement["Resource"]) == roles {
                assert_eq!(statement["Condition"], condition, "{}", statement["Sid"]);
            }
        }
        let without = allowed(&document());
        let lost: Vec<_> = without.difference(&allowed(&bounded)).cloned().collect();
        assert_eq!(lost, ["iam:DeleteRolePermissionsBoundary"]);
        assert!(allowed(&bounded).is_subset(&without));
    }

    #[test]
    fn every_usual_controller_role_may_be_read() {
        let arns = texts(
            &document()
                .statements()
                .iter()
                .find(|statement| statement["Sid"] == "KibusControllerRoles")
                .unwrap()["Resource"],
        );
        for role in usual_names(&"base".parse().unwrap()) {
            let arn = scope().role_arn(&"/".parse().unwrap(), &role);
            assert!(arns.iter().any(|pattern| matches(pattern, &arn)), "{role}");
        }
    }

    /// Whether a pattern with `*` matches a text.
    fn matches(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
                (0..=tail.len())
                    .filter(|at| tail.is_char_boundary(*at))
                    .any(|at| matches(rest, &tail[at..]))
            }),
        }
    }
}
