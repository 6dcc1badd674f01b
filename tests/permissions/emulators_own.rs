//! What the emulator asks for and AWS does not. Nothing here is in a document that kibus prints: each statement stands
//! for one habit of the emulator, and for these calls it is no judge of our documents. What it does judge is the rest:
//! queues with their tags, roles and their policies, the function's code and invocation, the log group.

use serde_json::{Value, json};

/// Besides the operator's document.
pub(super) fn of_operator(arn: impl Fn(&str, &str) -> String) -> Value {
    policy([
        // A rule on the default bus is checked as if it were on a named one; in AWS its ARN has no bus in it.
        statement(
            &["events:DeleteRule", "events:DescribeRule", "events:PutRule"],
            &arn("events", "rule/default/kibus-*"),
        ),
        // A rule that is called `Rule` or `ResourceARN` in the request is not seen at all.
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
        // It has no `events:source`.
        statement(&["events:PutEvents"], &arn("events", "event-bus/default")),
        // The name of a new function is in the body, where it does not look.
        statement(&["lambda:CreateFunction"], "*"),
        // It has no `lambda:FunctionArn`.
        statement(&["lambda:CreateEventSourceMapping"], "*"),
        // To read, change or delete an alias is to list aliases.
        statement(&["lambda:ListAliases"], &arn("lambda", "function:kibus-router")),
    ])
}

/// Besides the router's document: batches are actions of their own, with what their single forms are narrowed to.
pub(super) fn of_router(document: &Value) -> Value {
    let batches = [
        ("sqs:SendMessage", "sqs:SendMessageBatch"),
        ("sqs:ChangeMessageVisibility", "sqs:ChangeMessageVisibilityBatch"),
    ];
    let statements = document["Statement"].as_array().unwrap();
    let alike = batches.map(|(single, batch)| {
        let has = |statement: &&Value| match &statement["Action"] {
            Value::Array(actions) => actions.contains(&json!(single)),
            action => action == single,
        };
        let mut statement = statements.iter().find(has).unwrap().clone();
        statement["Action"] = json!(batch);
        statement.as_object_mut().unwrap().remove("Sid");
        statement
    });
    policy(alike)
}

fn policy<const N: usize>(statements: [Value; N]) -> Value {
    json!({"Version": "2012-10-17", "Statement": statements.to_vec()})
}

fn statement(actions: &[&str], resource: &str) -> Value {
    json!({"Effect": "Allow", "Action": actions, "Resource": resource})
}
