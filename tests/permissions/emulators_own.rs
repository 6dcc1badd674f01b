//! Permissions that the emulator requires but AWS does not. None is in a document that kibus prints. For these calls,
//! the emulator does not test the documents. It does test the rest: queues with their tags, roles and their policies,
//! the function's code and invocation, and the log group.

use kibus::model::Signal;
use serde_json::{Value, json};

use crate::support::emulator::ACCOUNT;

/// In addition to the operator's document.
pub(super) fn of_operator(arn: impl Fn(&str, &str) -> String) -> Value {
    policy([
        // It checks rules on the default bus with the bus name in the ARN; AWS omits it. It does not support
        // `events:source`.
        statement(&["events:DeleteRule", "events:DescribeRule", "events:PutRule"], rules(&arn)),
        // It does not read a rule from `Rule` or `ResourceARN` of a request.
        statement(
            &[
                "events:ListTagsForResource",
                "events:ListTargetsByRule",
                "events:PutTargets",
                "events:RemoveTargets",
                "events:TagResource",
                "events:UntagResource",
            ],
            "*",
        ),
        // It does not support `events:source`.
        statement(&["events:PutEvents"], arn("events", "event-bus/default")),
        // It does not read the name of a new function from the body.
        statement(&["lambda:CreateFunction"], "*"),
        // It does not support `lambda:FunctionArn`.
        statement(
            &["lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping", "lambda:UpdateEventSourceMapping"],
            "*",
        ),
        // It checks `lambda:ListAliases` for every operation on an alias.
        statement(&["lambda:ListAliases"], arn("lambda", "function:kibus-router")),
    ])
}

/// In addition to the document for alarms: it reads the name only from `PutMetricAlarm`, without the request tags, and
/// from no other call about alarms and dashboards. The policy simulator evaluates the document for all of them.
pub(super) fn of_alarms(arn: impl Fn(&str, &str) -> String) -> Value {
    let nameless = [
        "cloudwatch:DeleteAlarms",
        "cloudwatch:DeleteDashboards",
        "cloudwatch:DescribeAlarms",
        "cloudwatch:GetDashboard",
        "cloudwatch:ListTagsForResource",
        "cloudwatch:PutDashboard",
        "cloudwatch:TagResource",
        "cloudwatch:UntagResource",
    ];
    policy([statement(&["cloudwatch:PutMetricAlarm"], arn("cloudwatch", "alarm:kibus-*")), statement(&nameless, "*")])
}

/// In addition to the operator's document with a boundary: it supports neither `iam:PermissionsBoundary` nor
/// `aws:TagKeys`, without which every tag is allowed. The tests of the document check both conditions.
pub(super) fn of_bounded(role: &str) -> Value {
    policy([statement(
        &["iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"],
        format!("arn:aws:iam::{ACCOUNT}:role/{role}"),
    )])
}

/// In addition to the read-only document, for the same reasons.
pub(super) fn of_reader(arn: impl Fn(&str, &str) -> String) -> Value {
    policy([
        statement(&["events:DescribeRule"], rules(&arn)),
        statement(&["events:ListTagsForResource", "events:ListTargetsByRule"], "*"),
        statement(&["lambda:ListAliases"], arn("lambda", "function:kibus-router")),
    ])
}

/// In addition to the router's document: batch calls are separate actions, limited like the single calls.
pub(super) fn of_router(document: &Value) -> Value {
    let batches = [
        ("sqs:SendMessage", "sqs:SendMessageBatch"),
        ("sqs:ChangeMessageVisibility", "sqs:ChangeMessageVisibilityBatch"),
    ];
    let statements = document["Statement"].as_array().unwrap();
    let alike = batches.iter().flat_map(|(single, batch)| {
        let has = move |statement: &&Value| match &statement["Action"] {
            Value::Array(actions) => actions.contains(&json!(single)),
            action => action == single,
        };
        statements.iter().filter(has).cloned().map(move |mut statement| {
            statement["Action"] = json!(batch);
            statement.as_object_mut().unwrap().remove("Sid");
            statement
        })
    });
    policy(alike)
}

pub(crate) fn policy(statements: impl IntoIterator<Item = Value>) -> Value {
    let statements: Vec<Value> = statements.into_iter().collect();
    json!({"Version": "2012-10-17", "Statement": statements})
}

pub(crate) fn statement(actions: &[&str], resource: impl Into<Value>) -> Value {
    json!({"Effect": "Allow", "Action": actions, "Resource": resource.into()})
}

/// The rules of the bus, as the emulator names them.
fn rules(arn: &impl Fn(&str, &str) -> String) -> Vec<String> {
    let rule = |signal: Signal| arn("events", &format!("rule/default/kibus-{}", signal.slug()));
    Signal::ALL.map(rule).to_vec()
}
