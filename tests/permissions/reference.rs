//! The printed documents against the Service Authorization Reference: every action exists, every resource is of a type of
//! its actions, and every condition key applies. IAM accepts a document with any of these errors, and then denies too
//! much or, worse, allows too much.

use std::collections::BTreeSet;

use kibus::iam::operator_policy::{self, Purpose};
use kibus::model::{Document, Scope, policy};
use serde_json::{Value, json};

use super::typed;

/// A service, actions, the types of their resources, and their condition keys, from the pages of SQS, EventBridge, Lambda, IAM,
/// CloudWatch, CloudWatch Logs, KMS, EC2, EKS, FIS, Systems Manager and the tagging API. Only types and keys that a kibus
/// document could use. An action without a type accepts only `*`. The resource tag key, which every type here has, is not
/// repeated.
type Row = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const REFERENCE: &[Row] = &[
    (
        "sqs",
        "ChangeMessageVisibility DeleteMessage DeleteQueue GetQueueAttributes GetQueueUrl \
            ListDeadLetterSourceQueues ListQueueTags ReceiveMessage SendMessage SetQueueAttributes",
        &["queue"],
        &[],
    ),
    ("sqs", "CreateQueue TagQueue", &["queue"], &["aws:RequestTag", "aws:TagKeys"]),
    ("sqs", "ListQueues", &[], &[]),
    ("sqs", "UntagQueue", &["queue"], &["aws:TagKeys"]),
    ("events", "DeleteRule DescribeRule ListTargetsByRule RemoveTargets", &["rule"], &[]),
    ("events", "ListRules", &[], &[]),
    ("events", "ListTagsForResource", &["event-bus", "rule"], &[]),
    ("events", "PutEvents", &["event-bus"], &["events:source"]),
    ("events", "PutRule", &["rule"], &["aws:RequestTag", "aws:TagKeys", "events:source"]),
    ("events", "PutTargets", &["rule"], &["events:TargetArn"]),
    ("events", "TagResource", &["event-bus", "rule"], &["aws:RequestTag", "aws:TagKeys"]),
    ("events", "UntagResource", &["event-bus", "rule"], &["aws:TagKeys"]),
    (
        "lambda",
        "CreateAlias DeleteAlias DeleteFunction DeleteFunctionConcurrency GetAlias GetFunction GetPolicy \
            InvokeFunction ListVersionsByFunction PublishVersion PutFunctionConcurrency UpdateAlias \
            UpdateFunctionCode UpdateFunctionConfiguration",
        &["function"],
        &[],
    ),
    ("lambda", "CreateEventSourceMapping", &[], &["aws:RequestTag", "aws:TagKeys", "lambda:FunctionArn"]),
    ("lambda", "CreateFunction", &["function"], &["aws:RequestTag", "aws:TagKeys"]),
    (
        "lambda",
        "DeleteEventSourceMapping GetEventSourceMapping UpdateEventSourceMapping",
        &["eventSourceMapping"],
        &["lambda:FunctionArn"],
    ),
    ("lambda", "GetAccountSettings ListEventSourceMappings", &[], &[]),
    ("lambda", "ListTags", &["eventSourceMapping", "function"], &[]),
    ("lambda", "TagResource", &["eventSourceMapping", "function"], &["aws:RequestTag", "aws:TagKeys"]),
    ("lambda", "UntagResource", &["eventSourceMapping", "function"], &["aws:TagKeys"]),
    ("iam", "CreateRole", &["role"], &["aws:RequestTag", "aws:TagKeys", "iam:PermissionsBoundary"]),
    ("iam", "CreateServiceLinkedRole", &["role"], &["iam:AWSServiceName"]),
    (
        "iam",
        "DeleteRole DeleteRolePermissionsBoundary DeleteRolePolicy GetRole PutRolePermissionsBoundary \
            PutRolePolicy UpdateAssumeRolePolicy",
        &["role"],
        &["iam:PermissionsBoundary"],
    ),
    ("iam", "GetAccountAuthorizationDetails ListRoles", &[], &[]),
    ("iam", "GetRolePolicy ListRolePolicies", &["role"], &[]),
    ("iam", "PassRole", &["role"], &["iam:PassedToService"]),
    ("iam", "TagRole", &["role"], &["aws:RequestTag", "aws:TagKeys"]),
    ("iam", "UntagRole", &["role"], &["aws:TagKeys"]),
    ("logs", "CreateLogGroup TagResource", &["log-group"], &["aws:RequestTag", "aws:TagKeys"]),
    ("logs", "CreateLogStream PutLogEvents", &["log-stream"], &[]),
    ("logs", "DeleteLogGroup FilterLogEvents ListTagsForResource PutRetentionPolicy", &["log-group"], &[]),
    ("logs", "DescribeLogGroups", &[], &[]),
    ("logs", "UntagResource", &["log-group"], &["aws:TagKeys"]),
    ("kms", "Decrypt DescribeKey GenerateDataKey GetKeyPolicy", &["key"], &["kms:ViaService"]),
    ("cloudwatch", "DeleteAlarms DescribeAlarms ListTagsForResource", &["alarm"], &[]),
    ("cloudwatch", "DeleteDashboards GetDashboard PutDashboard", &["dashboard"], &[]),
    ("cloudwatch", "GetMetricData", &[], &[]),
    ("cloudwatch", "PutMetricAlarm", &["alarm"], &["aws:RequestTag", "aws:TagKeys", "cloudwatch:AlarmActions"]),
    ("cloudwatch", "TagResource", &["alarm"], &["aws:RequestTag", "aws:TagKeys"]),
    ("cloudwatch", "UntagResource", &["alarm"], &["aws:TagKeys"]),
    ("sns", "GetTopicAttributes Publish", &["topic"], &[]),
    ("ec2", "DescribeInstances DescribeTags", &[], &[]),
    ("fis", "CreateExperimentTemplate", &["action", "experiment-template"], &["aws:RequestTag", "aws:TagKeys"]),
    ("fis", "DeleteExperimentTemplate GetExperimentTemplate", &["experiment-template"], &[]),
    ("fis", "GetExperiment StopExperiment", &["experiment"], &[]),
    ("fis", "ListExperimentTemplates ListExperiments", &[], &[]),
    ("fis", "StartExperiment", &["experiment", "experiment-template"], &["aws:RequestTag", "aws:TagKeys"]),
    ("fis", "TagResource", &["action", "experiment", "experiment-template"], &["aws:RequestTag", "aws:TagKeys"]),
    ("eks", "DescribeCluster ListPodIdentityAssociations", &["cluster"], &[]),
    ("eks", "DescribePodIdentityAssociation", &["podidentityassociation"], &[]),
    ("eks", "ListClusters", &[], &[]),
    ("ssm", "AddTagsToResource", &["parameter"], &["aws:RequestTag", "aws:TagKeys"]),
    ("ssm", "DeleteParameter DeleteParameters GetParameter GetParameterHistory GetParameters", &["parameter"], &[]),
    ("ssm", "GetParametersByPath", &["parameter"], &["ssm:Recursive"]),
    ("ssm", "PutParameter", &["parameter"], &["aws:RequestTag", "aws:TagKeys", "ssm:Overwrite"]),
    ("tag", "GetResources", &[], &[]),
];

/// The type of a resource by a part of its ARN. The first match counts.
const TYPES: [(&str, &str); 18] = [
    (":experiment-template/", "experiment-template"),
    (":experiment/", "experiment"),
    (":action/", "action"),
    (":dashboard/", "dashboard"),
    (":alarm:", "alarm"),
    (":sns:", "topic"),
    (":sqs:", "queue"),
    (":rule/", "rule"),
    (":event-bus/", "event-bus"),
    (":function:", "function"),
    (":log-group:", "log-group"),
    (":role/", "role"),
    (":user/", "user"),
    (":key/", "key"),
    (":policy/", "policy"),
    (":cluster/", "cluster"),
    (":podidentityassociation/", "podidentityassociation"),
    (":parameter/", "parameter"),
];

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}

/// Whether a resource is of one of these types. The streams of a log group have its ARN and more.
fn fits(resource: &str, types: &[&str]) -> bool {
    let kind = TYPES.iter().find_map(|(part, kind)| resource.contains(part).then_some(*kind));
    let stream = kind == Some("log-group") && resource.ends_with(":*") && types.contains(&"log-stream");
    resource == "*" || stream || kind.is_some_and(|kind| types.contains(&kind))
}

/// Whether a condition holds for a request without its key.
fn tolerates_absence(operator: &str) -> bool {
    operator.ends_with("IfExists") || operator.starts_with("ForAllValues:")
}

/// The parts of a document that contradict the reference.
fn contradictions(document: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    for statement in document.statements() {
        // The resources that a statement excludes have the same type.
        let resources = texts(statement.get("NotResource").unwrap_or(&statement["Resource"]));
        let mut rows: Vec<&Row> = Vec::new();
        for action in texts(&statement["Action"]) {
            let (service, name) = action.split_once(':').unwrap();
            let is_named = |row: &&Row| row.0 == service && row.1.split(' ').any(|known| known == name);
            match REFERENCE.iter().find(is_named) {
                None => wrong.push(format!("{action} does not exist")),
                Some(row) if resources.iter().any(|resource| fits(resource, row.2)) => rows.push(row),
                Some(_) => wrong.push(format!("{action} accepts none of {resources:?}")),
            }
        }
        for resource in &resources {
            if !rows.iter().any(|(.., types, _)| fits(resource, types)) {
                wrong.push(format!("no action of {rows:?} accepts {resource}"));
            }
        }
        for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
            for key in keys.as_object().unwrap().keys() {
                let name = key.split('/').next().unwrap();
                let applies =
                    |(.., types, keys): &&&Row| keys.contains(&name) || name == "aws:ResourceTag" && !types.is_empty();
                let applied = rows.iter().filter(applies).count();
                if applied == 0 || applied < rows.len() && !tolerates_absence(operator) {
                    wrong.push(format!("{operator} {key} does not apply to all of {rows:?}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_document_agrees_with_the_service_authorization_reference() {
    let mut checked = 0;
    for (partition, region) in
        [("aws", "us-west-2"), ("aws", "eu-central-2"), ("aws-cn", "cn-north-1"), ("aws-us-gov", "us-gov-west-1")]
    {
        let scope = Scope { region: region.parse().unwrap(), partition: partition.parse().unwrap(), ..super::scope() };
        let with_key = format!("--role-path /team/ --kms-key arn:{partition}:kms:{region}:111122223333:key/1");
        let bounded =
            format!("{with_key} --tag team=a --permissions-boundary arn:{partition}:iam::111122223333:policy/b");
        for options in ["", &with_key, &bounded].map(typed) {
            let queue = scope.probe_queue();
            let mut documents = vec![
                policy::router_policy(&scope, &options),
                policy::controller_policy(&scope, &queue, options.key()),
                operator_policy::additional(&scope, &options, Purpose::ManyClusters),
                operator_policy::additional(&scope, &options, Purpose::Eks),
                operator_policy::additional(&scope, &options, Purpose::Discover),
                operator_policy::additional(&scope, &options, Purpose::Alarms),
                operator_policy::additional(&scope, &options, Purpose::Heartbeat),
                operator_policy::additional(&scope, &options, Purpose::Drill),
            ];
            for roles in [0, 2] {
                let roles: BTreeSet<String> = (0..roles).map(|n| scope.roles_arn(&format!("karpenter-{n}"))).collect();
                let clusters = operator_policy::clusters(&scope, &options, &roles);
                let operator = operator_policy::operator(&scope, &options);
                documents.extend([operator_policy::reads(operator.clone()), operator]);
                documents.extend([operator_policy::reads(clusters.clone()), clusters]);
            }
            for document in documents {
                assert_eq!(contradictions(&document), Vec::<String>::new(), "{}", document.pretty());
                checked += document.statements().len();
            }
        }
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn a_contradiction_is_found() {
    let role = "arn:aws:iam::111122223333:role/x";
    let when = |action: Value, operator: &str, key: &str| json!({"Action": action, "Resource": "*", "Condition": {operator: {key: "x"}}});
    for (statement, wrong) in [
        (json!({"Action": "sqs:GetQueue", "Resource": "*"}), "does not exist"),
        (json!({"Action": "sqs:SendMessage", "Resource": role}), "accepts none of"),
        (json!({"Action": "iam:ListRoles", "Resource": role}), "accepts none of"),
        (when(json!("sqs:SendMessage"), "StringEquals", "aws:RequestTag/a"), "does not apply"),
        (when(json!(["events:PutRule", "events:DeleteRule"]), "Null", "events:source"), "does not apply"),
        (when(json!("events:PutTargets"), "ForAllValues:StringEquals", "events:source"), "does not apply"),
    ] {
        let found = contradictions(&Document::new(json!({"Statement": [statement]})));
        assert!(found.iter().any(|text| text.contains(wrong)), "{wrong}: {found:?}");
    }
}
