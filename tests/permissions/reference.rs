//! The printed documents against the Service Authorization Reference: every action exists, every resource is of a type of
//! its actions, and every condition key applies. IAM accepts a document with any of these errors and then denies or, worse,
//! allows too much.

use std::collections::BTreeSet;

use kibus::iam::operator_policy::{self, Purpose};
use kibus::model::{Document, GlobalOptions, HubOptions, OrNone, Scope, policy};
use serde_json::Value;

/// Actions, the types of their resources, and their condition keys, from the pages of SQS, EventBridge, Lambda, IAM,
/// CloudWatch, CloudWatch Logs, KMS, EC2, EKS, FIS, Systems Manager and the tagging API. Of the types and keys, those that a
/// document of kibus could use. An action without a type takes `*` only. The tag of a resource, which every type here has, is not repeated.
const REFERENCE: &[(&str, &[&str], &[&str])] = &[
    ("sqs:ChangeMessageVisibility", &["queue"], &[]),
    ("sqs:CreateQueue", &["queue"], &["aws:RequestTag", "aws:TagKeys"]),
    ("sqs:DeleteMessage", &["queue"], &[]),
    ("sqs:DeleteQueue", &["queue"], &[]),
    ("sqs:GetQueueAttributes", &["queue"], &[]),
    ("sqs:GetQueueUrl", &["queue"], &[]),
    ("sqs:ListDeadLetterSourceQueues", &["queue"], &[]),
    ("sqs:ListQueueTags", &["queue"], &[]),
    ("sqs:ListQueues", &[], &[]),
    ("sqs:ReceiveMessage", &["queue"], &[]),
    ("sqs:SendMessage", &["queue"], &[]),
    ("sqs:SetQueueAttributes", &["queue"], &[]),
    ("sqs:TagQueue", &["queue"], &["aws:RequestTag", "aws:TagKeys"]),
    ("sqs:UntagQueue", &["queue"], &["aws:TagKeys"]),
    ("events:DeleteRule", &["rule"], &[]),
    ("events:DescribeRule", &["rule"], &[]),
    ("events:ListRules", &[], &[]),
    ("events:ListTagsForResource", &["event-bus", "rule"], &[]),
    ("events:ListTargetsByRule", &["rule"], &[]),
    ("events:PutEvents", &["event-bus"], &["events:source"]),
    ("events:PutRule", &["rule"], &["aws:RequestTag", "aws:TagKeys", "events:source"]),
    ("events:PutTargets", &["rule"], &["events:TargetArn"]),
    ("events:RemoveTargets", &["rule"], &[]),
    ("events:TagResource", &["event-bus", "rule"], &["aws:RequestTag", "aws:TagKeys"]),
    ("events:UntagResource", &["event-bus", "rule"], &["aws:TagKeys"]),
    ("lambda:CreateAlias", &["function"], &[]),
    ("lambda:CreateEventSourceMapping", &[], &["aws:RequestTag", "aws:TagKeys", "lambda:FunctionArn"]),
    ("lambda:CreateFunction", &["function"], &["aws:RequestTag", "aws:TagKeys"]),
    ("lambda:DeleteAlias", &["function"], &[]),
    ("lambda:DeleteEventSourceMapping", &["eventSourceMapping"], &["lambda:FunctionArn"]),
    ("lambda:DeleteFunction", &["function"], &[]),
    ("lambda:DeleteFunctionConcurrency", &["function"], &[]),
    ("lambda:GetAccountSettings", &[], &[]),
    ("lambda:GetAlias", &["function"], &[]),
    ("lambda:GetEventSourceMapping", &["eventSourceMapping"], &["lambda:FunctionArn"]),
    ("lambda:GetFunction", &["function"], &[]),
    ("lambda:GetPolicy", &["function"], &[]),
    ("lambda:InvokeFunction", &["function"], &[]),
    ("lambda:ListEventSourceMappings", &[], &[]),
    ("lambda:ListTags", &["eventSourceMapping", "function"], &[]),
    ("lambda:ListVersionsByFunction", &["function"], &[]),
    ("lambda:PublishVersion", &["function"], &[]),
    ("lambda:PutFunctionConcurrency", &["function"], &[]),
    ("lambda:TagResource", &["eventSourceMapping", "function"], &["aws:RequestTag", "aws:TagKeys"]),
    ("lambda:UntagResource", &["eventSourceMapping", "function"], &["aws:TagKeys"]),
    ("lambda:UpdateAlias", &["function"], &[]),
    ("lambda:UpdateEventSourceMapping", &["eventSourceMapping"], &["lambda:FunctionArn"]),
    ("lambda:UpdateFunctionCode", &["function"], &[]),
    ("lambda:UpdateFunctionConfiguration", &["function"], &[]),
    ("iam:CreateRole", &["role"], &["aws:RequestTag", "aws:TagKeys", "iam:PermissionsBoundary"]),
    ("iam:CreateServiceLinkedRole", &["role"], &["iam:AWSServiceName"]),
    ("iam:DeleteRole", &["role"], &["iam:PermissionsBoundary"]),
    ("iam:DeleteRolePermissionsBoundary", &["role"], &["iam:PermissionsBoundary"]),
    ("iam:DeleteRolePolicy", &["role"], &["iam:PermissionsBoundary"]),
    ("iam:GetAccountAuthorizationDetails", &[], &[]),
    ("iam:GetRole", &["role"], &["iam:PermissionsBoundary"]),
    ("iam:GetRolePolicy", &["role"], &[]),
    ("iam:ListRolePolicies", &["role"], &[]),
    ("iam:ListRoles", &[], &[]),
    ("iam:PassRole", &["role"], &["iam:PassedToService"]),
    ("iam:PutRolePermissionsBoundary", &["role"], &["iam:PermissionsBoundary"]),
    ("iam:PutRolePolicy", &["role"], &["iam:PermissionsBoundary"]),
    ("iam:TagRole", &["role"], &["aws:RequestTag", "aws:TagKeys"]),
    ("iam:UntagRole", &["role"], &["aws:TagKeys"]),
    ("iam:UpdateAssumeRolePolicy", &["role"], &["iam:PermissionsBoundary"]),
    ("logs:CreateLogGroup", &["log-group"], &["aws:RequestTag", "aws:TagKeys"]),
    ("logs:CreateLogStream", &["log-stream"], &[]),
    ("logs:DeleteLogGroup", &["log-group"], &[]),
    ("logs:DescribeLogGroups", &[], &[]),
    ("logs:FilterLogEvents", &["log-group"], &[]),
    ("logs:ListTagsForResource", &["log-group"], &[]),
    ("logs:PutLogEvents", &["log-stream"], &[]),
    ("logs:PutRetentionPolicy", &["log-group"], &[]),
    ("logs:TagResource", &["log-group"], &["aws:RequestTag", "aws:TagKeys"]),
    ("logs:UntagResource", &["log-group"], &["aws:TagKeys"]),
    ("kms:Decrypt", &["key"], &["kms:ViaService"]),
    ("kms:DescribeKey", &["key"], &["kms:ViaService"]),
    ("kms:GenerateDataKey", &["key"], &["kms:ViaService"]),
    ("kms:GetKeyPolicy", &["key"], &["kms:ViaService"]),
    ("cloudwatch:DeleteAlarms", &["alarm"], &[]),
    ("cloudwatch:DeleteDashboards", &["dashboard"], &[]),
    ("cloudwatch:DescribeAlarms", &["alarm"], &[]),
    ("cloudwatch:GetDashboard", &["dashboard"], &[]),
    ("cloudwatch:GetMetricData", &[], &[]),
    ("cloudwatch:ListTagsForResource", &["alarm"], &[]),
    ("cloudwatch:PutDashboard", &["dashboard"], &[]),
    ("cloudwatch:PutMetricAlarm", &["alarm"], &["aws:RequestTag", "aws:TagKeys", "cloudwatch:AlarmActions"]),
    ("cloudwatch:TagResource", &["alarm"], &["aws:RequestTag", "aws:TagKeys"]),
    ("cloudwatch:UntagResource", &["alarm"], &["aws:TagKeys"]),
    ("sns:GetTopicAttributes", &["topic"], &[]),
    ("sns:Publish", &["topic"], &[]),
    ("ec2:DescribeInstances", &[], &[]),
    ("ec2:DescribeTags", &[], &[]),
    ("fis:CreateExperimentTemplate", &["action", "experiment-template"], &["aws:RequestTag", "aws:TagKeys"]),
    ("fis:DeleteExperimentTemplate", &["experiment-template"], &[]),
    ("fis:GetExperiment", &["experiment"], &[]),
    ("fis:GetExperimentTemplate", &["experiment-template"], &[]),
    ("fis:ListExperimentTemplates", &[], &[]),
    ("fis:ListExperiments", &[], &[]),
    ("fis:StartExperiment", &["experiment", "experiment-template"], &["aws:RequestTag", "aws:TagKeys"]),
    ("fis:StopExperiment", &["experiment"], &[]),
    ("fis:TagResource", &["action", "experiment", "experiment-template"], &["aws:RequestTag", "aws:TagKeys"]),
    ("eks:DescribeCluster", &["cluster"], &[]),
    ("eks:DescribePodIdentityAssociation", &["podidentityassociation"], &[]),
    ("eks:ListClusters", &[], &[]),
    ("eks:ListPodIdentityAssociations", &["cluster"], &[]),
    ("ssm:AddTagsToResource", &["parameter"], &["aws:RequestTag", "aws:TagKeys"]),
    ("ssm:DeleteParameter", &["parameter"], &[]),
    ("ssm:DeleteParameters", &["parameter"], &[]),
    ("ssm:DeleteParameters", &["parameter"], &[]),
    ("ssm:GetParameter", &["parameter"], &[]),
    ("ssm:GetParameterHistory", &["parameter"], &[]),
    ("ssm:GetParameters", &["parameter"], &[]),
    ("ssm:GetParameters", &["parameter"], &[]),
    ("ssm:GetParametersByPath", &["parameter"], &["ssm:Recursive"]),
    ("ssm:PutParameter", &["parameter"], &["aws:RequestTag", "aws:TagKeys", "ssm:Overwrite"]),
    ("tag:GetResources", &[], &[]),
];

/// The type of a resource by a part of its ARN. The first that fits counts.
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

/// What of a document contradicts the reference.
fn contradictions(document: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    for statement in document.statements() {
        // What a statement excludes is of the same type.
        let resources = texts(statement.get("NotResource").unwrap_or(&statement["Resource"]));
        let mut rows: Vec<&(&str, &[&str], &[&str])> = Vec::new();
        for action in texts(&statement["Action"]) {
            let named: Vec<_> = REFERENCE.iter().filter(|row| row.0 == action).collect();
            if named.is_empty() {
                wrong.push(format!("{action} does not exist"));
            }
            for row in &named {
                if !resources.iter().any(|resource| fits(resource, row.1)) {
                    wrong.push(format!("{} takes none of {resources:?}", row.0));
                }
            }
            rows.extend(named);
        }
        for resource in &resources {
            if !rows.iter().any(|(_, types, _)| fits(resource, types)) {
                wrong.push(format!("no action of {rows:?} takes {resource}"));
            }
        }
        for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
            for key in keys.as_object().unwrap().keys() {
                let name = key.split('/').next().unwrap();
                let applies = |(_, types, keys): &&&(&str, &[&str], &[&str])| {
                    keys.contains(&name) || name == "aws:ResourceTag" && !types.is_empty()
                };
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
        let scope = Scope {
            bus: "kibus".parse().unwrap(),
            account: "111122223333".parse().unwrap(),
            region: region.parse().unwrap(),
            partition: partition.parse().unwrap(),
            options: GlobalOptions::default(),
        };
        let key = format!("arn:{partition}:kms:{region}:111122223333:key/1").parse().unwrap();
        let boundary = format!("arn:{partition}:iam::111122223333:policy/b").parse().unwrap();
        let with_key =
            HubOptions { kms_key: Some(OrNone(Some(key))), role_path: "/team/".parse().ok(), ..HubOptions::default() };
        let bounded = HubOptions {
            permissions_boundary: Some(OrNone(Some(boundary))),
            tag: Some(vec!["team=a".parse().unwrap()]),
            ..with_key.clone()
        };
        for options in [HubOptions::default(), with_key, bounded] {
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
    for (statement, wrong) in [
        (r#"{"Action": "sqs:GetQueue", "Resource": "*"}"#, "does not exist"),
        (r#"{"Action": "sqs:SendMessage", "Resource": "arn:aws:iam::111122223333:role/x"}"#, "takes none of"),
        (r#"{"Action": "iam:ListRoles", "Resource": "arn:aws:iam::111122223333:role/x"}"#, "takes none of"),
        (
            r#"{"Action": "sqs:SendMessage", "Resource": "*",
                "Condition": {"StringEquals": {"aws:RequestTag/a": "b"}}}"#,
            "does not apply",
        ),
        (
            r#"{"Action": ["events:PutRule", "events:DeleteRule"], "Resource": "*",
                "Condition": {"Null": {"events:source": "false"}}}"#,
            "does not apply",
        ),
        (
            r#"{"Action": "events:PutTargets", "Resource": "*",
                "Condition": {"ForAllValues:StringEquals": {"events:source": "x"}}}"#,
            "does not apply",
        ),
    ] {
        let statement: Value = serde_json::from_str(statement).unwrap();
        let document = Document::new(serde_json::json!({"Statement": [statement]}));
        let found = contradictions(&document);
        assert!(found.iter().any(|text| text.contains(wrong)), "{wrong}: {found:?}");
    }
}
