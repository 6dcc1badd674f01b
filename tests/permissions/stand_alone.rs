//! Each document that kibus prints for an operator, alone and together with each other one: what none of them may allow.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use kibus::iam::operator_policy::{self, Purpose};
use kibus::model::{Document, HubOptions};
use serde_json::{Value, json};

use super::account::REGION;
use super::{ROUTER_ROLE, arn, scope, typed};
use crate::support::emulator::ACCOUNT;
use crate::support::policy_simulator::allows;

const CONTROLLER: &str = "KarpenterControllerRole-base";
const DRILL_ROLE: &str = "kibus-drill-us-west-2";
const OF_AWS: &str = "arn:aws:iam::aws:policy/service-role/AWSFaultInjectionSimulatorEC2Access";

fn role(name: &str) -> String {
    format!("arn:aws:iam::{ACCOUNT}:role/{name}")
}

pub(super) fn documents(options: &HubOptions) -> BTreeMap<String, Document> {
    let scope = scope();
    let controllers = BTreeSet::from([role(CONTROLLER)]);
    let of_purpose = |purpose: &Purpose| match purpose {
        Purpose::Clusters => operator_policy::clusters(&scope, options, &controllers),
        purpose => operator_policy::additional(&scope, options, *purpose),
    };
    let named = |purpose: &Purpose| purpose.to_possible_value().unwrap().get_name().to_owned();
    let purposes = Purpose::value_variants().iter().map(|purpose| (named(purpose), of_purpose(purpose)));
    let all = purposes.chain([("hub".to_owned(), operator_policy::operator(&scope, options))]);
    all.flat_map(|(name, document)| {
        [(format!("{name} --read-only"), operator_policy::reads(document.clone())), (name, document)]
    })
    .collect()
}

fn bounded() -> HubOptions {
    typed(&format!("--tag team=a --permissions-boundary arn:aws:iam::{ACCOUNT}:policy/platform"))
}

/// A request: its action, its resource, and its condition keys with their values.
type Asked<'a> = (&'a str, String, Vec<(&'a str, &'a str)>);

/// What no document allows, with a boundary of the hub.
fn forbidden() -> Vec<Asked<'static>> {
    let fis = |resource: &str| arn("fis", resource);
    let [template, experiment, alarm] =
        [fis("experiment-template/EXT1"), fis("experiment/EXP1"), arn("cloudwatch", "alarm:kibus-x")];
    let [rule, heartbeat] = ["rule/kibus-probe", "rule/kibus-heartbeat"].map(|rule| arn("events", rule));
    let [cluster_queue, hub_queue] = ["karpenter-base", "kibus-hub"].map(|queue| arn("sqs", queue));
    let bus = ("aws:RequestTag/kibus:bus", "kibus");
    let (theirs, other_bus) = (("aws:ResourceTag/team", "payments"), ("aws:ResourceTag/kibus:bus", "kibus-prod"));
    let another = ("iam:PermissionsBoundary", "arn:aws:iam::aws:policy/AdministratorAccess");
    let for_spot = ("iam:AWSServiceName", "spot.amazonaws.com");
    let [terminates, files] = ["arn:aws:automate:us-west-2:ec2:terminate", "arn:aws:ssm:us-west-2:1:opsitem:1"]
        .map(|action| ("cloudwatch:AlarmActions", action));
    let mut all = vec![
        // A role that allows more than the boundary, and anyone who can assume it.
        ("iam:PutRolePolicy", role("deploy"), vec![]),
        ("iam:CreateRole", role(CONTROLLER), vec![]),
        ("iam:CreateRole", role("kibus-drill-eu-west-1"), vec![]),
        ("iam:AttachRolePolicy", role(CONTROLLER), vec![]),
        ("iam:UpdateAssumeRolePolicy", role(CONTROLLER), vec![]),
        ("iam:PassRole", role(DRILL_ROLE), vec![("iam:PassedToService", "lambda.amazonaws.com")]),
        ("iam:PassRole", role(ROUTER_ROLE), vec![("iam:PassedToService", "fis.amazonaws.com")]),
        ("iam:PassRole", role(CONTROLLER), vec![("iam:PassedToService", "lambda.amazonaws.com")]),
        ("iam:PassRole", role("deploy"), vec![("iam:PassedToService", "fis.amazonaws.com")]),
        ("iam:CreateServiceLinkedRole", role("aws-service-role/x/y"), vec![for_spot]),
        // The role in someone's template has more permissions than a drill role.
        ("fis:TagResource", template.clone(), vec![bus]),
        ("fis:TagResource", template.clone(), vec![bus, theirs]),
        ("fis:TagResource", template.clone(), vec![bus, other_bus]),
        ("fis:TagResource", experiment.clone(), vec![bus, theirs]),
        ("fis:StartExperiment", template.clone(), vec![theirs]),
        ("fis:StartExperiment", template.clone(), vec![bus]),
        ("fis:UpdateExperimentTemplate", template.clone(), vec![("aws:ResourceTag/kibus:bus", "kibus")]),
        ("fis:DeleteExperimentTemplate", template, vec![theirs]),
        ("fis:StopExperiment", experiment, vec![theirs]),
        // Access to an instance other than through a drill.
        ("ec2:SendSpotInstanceInterruptions", arn("ec2", "instance/i-1"), vec![]),
        ("ec2:CreateTags", arn("ec2", "instance/i-1"), vec![]),
        ("cloudwatch:PutMetricAlarm", alarm.clone(), vec![bus, terminates]),
        ("cloudwatch:PutMetricAlarm", alarm.clone(), vec![bus, files]),
        ("cloudwatch:PutMetricAlarm", alarm.clone(), vec![bus, other_bus]),
        ("cloudwatch:TagResource", alarm, vec![bus, other_bus]),
        // Other events, other senders, other readers.
        ("events:PutRule", rule.clone(), vec![]),
        ("events:PutRule", heartbeat.clone(), vec![]),
        ("events:PutRule", rule.clone(), vec![("events:source", "aws.s3")]),
        ("events:PutRule", heartbeat.clone(), vec![("events:source", "aws.ec2")]),
        ("events:PutTargets", rule, vec![("events:TargetArn", OTHER_QUEUE)]),
        ("events:PutTargets", heartbeat, vec![("events:TargetArn", OTHER_QUEUE)]),
        ("events:PutEvents", arn("events", "event-bus/default"), vec![("events:source", "custom")]),
        ("sqs:SendMessage", cluster_queue.clone(), vec![]),
        ("sqs:SendMessage", hub_queue.clone(), vec![]),
        ("sqs:ReceiveMessage", hub_queue, vec![]),
        ("sqs:DeleteMessage", cluster_queue.clone(), vec![]),
        ("sqs:SetQueueAttributes", cluster_queue.clone(), vec![]),
        ("sqs:DeleteQueue", cluster_queue.clone(), vec![other_bus]),
        ("sqs:TagQueue", cluster_queue, vec![bus, other_bus]),
        ("lambda:AddPermission", arn("lambda", "function:kibus-router"), vec![]),
        ("ssm:PutParameter", arn("ssm", "parameter/kibus/kibus-prod"), vec![]),
        ("ssm:PutParameter", arn("ssm", "parameter/kibus/kibus-prod/clusters/base"), vec![]),
    ];
    for kibus in [DRILL_ROLE, ROUTER_ROLE] {
        let on = || role(kibus);
        for action in ["iam:CreateRole", "iam:PutRolePolicy", "iam:PutRolePermissionsBoundary"] {
            all.extend([(action, on(), vec![]), (action, on(), vec![another])]);
        }
        all.extend([
            ("iam:AttachRolePolicy", on(), vec![]),
            ("iam:UpdateAssumeRolePolicy", on(), vec![]),
            ("iam:DeleteRolePermissionsBoundary", on(), vec![("iam:PermissionsBoundary", OF_AWS)]),
            ("iam:TagRole", on(), vec![("aws:TagKeys", "role-of")]),
        ]);
    }
    all
}

const OTHER_QUEUE: &str = "arn:aws:sqs:us-west-2:111122223333:payments";

/// The requests that a document allows.
fn allowed(document: &Document, asked: &[Asked<'_>]) -> Vec<String> {
    let judge = |(action, resource, context): &Asked<'_>| {
        let context: BTreeMap<String, Vec<String>> =
            context.iter().map(|(key, value)| ((*key).to_owned(), vec![(*value).to_owned()])).collect();
        let is_allowed = allows(document.value(), action, resource, &context);
        is_allowed.then(|| format!("{action} on {resource} with {context:?}"))
    };
    asked.iter().filter_map(judge).collect()
}

fn beside(one: &Document, other: &Document) -> Document {
    let statements: Vec<&Value> = one.statements().into_iter().chain(other.statements()).collect();
    Document::new(json!({ "Statement": statements }))
}

#[test]
fn no_document_allows_what_is_forbidden_alone_or_beside_another() {
    assert_eq!((scope().region.to_string(), OTHER_QUEUE.contains(ACCOUNT)), (REGION.to_owned(), true));
    let forbidden = forbidden();
    // Without a boundary of the hub, an operator is as powerful as the account allows.
    let is_of_router =
        |asked: &&Asked<'_>| asked.0.starts_with("iam:") && asked.1 == role(ROUTER_ROLE) && asked.0 != "iam:PassRole";
    let without: Vec<Asked<'_>> = forbidden.iter().filter(|asked| !is_of_router(asked)).cloned().collect();
    for (options, forbidden) in [(bounded(), &forbidden), (HubOptions::default(), &without)] {
        let all = documents(&options);
        for (name, document) in &all {
            for (other_name, other) in &all {
                let found = allowed(&beside(document, other), forbidden);
                assert_eq!(found, [""; 0], "`{name}` beside `{other_name}`");
            }
        }
    }
    let anything: Document = Document::new(json!({"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}));
    assert_eq!(allowed(&anything, &forbidden).len(), forbidden.len());
}

/// Only this document opens the bus through a constant input, as the hub document does through its rules.
#[test]
fn only_the_document_for_a_heartbeat_has_its_target() {
    let asked: Vec<Asked<'_>> = vec![(
        "events:PutTargets",
        arn("events", "rule/kibus-heartbeat"),
        vec![("events:TargetArn", "arn:aws:sqs:us-west-2:111122223333:kibus-hub")],
    )];
    let all = documents(&bounded());
    let open: Vec<_> = all.iter().filter(|(_, document)| !allowed(document, &asked).is_empty()).collect();
    assert_eq!(open.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["heartbeat"]);
}

/// The form of every statement, as a safety net for cases not listed above.
#[test]
fn every_statement_limits_what_it_opens() {
    for options in [bounded(), HubOptions::default()] {
        for (name, document) in documents(&options) {
            for statement in document.statements() {
                let limits = faults_of(statement, options.boundary().is_some());
                assert_eq!(limits, [""; 0], "{name}: {statement}");
            }
            let puts_rules = |effect: &str| {
                let mut with = document.statements().into_iter().filter(|one| one["Effect"] == effect);
                with.any(|one| one["Action"].to_string().contains("\"events:PutRule\""))
            };
            assert_eq!(puts_rules("Allow"), puts_rules("Deny"), "{name}");
        }
    }
}

fn faults_of(statement: &Value, has_boundary: bool) -> Vec<&'static str> {
    let texts = |value: &Value| -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().map(|item| item.as_str().unwrap().to_owned()).collect(),
            one => one.as_str().map(str::to_owned).into_iter().collect(),
        }
    };
    let (actions, resources) = (texts(&statement["Action"]), texts(&statement["Resource"]));
    let (condition, is_open) = (statement["Condition"].to_string(), |arn: &String| arn.contains(['*', '?']));
    let mut faults = Vec::new();
    for action in &actions {
        let of_kibus =
            resources.iter().any(|arn| arn.ends_with(DRILL_ROLE) || has_boundary && arn.ends_with(ROUTER_ROLE));
        let fault = match action.as_str() {
            _ if statement["Effect"] == "Deny" => None,
            "iam:CreateRole" | "iam:PutRolePolicy"
                if of_kibus && !condition.contains("\"iam:PermissionsBoundary\"") =>
            {
                Some("a role without a boundary")
            }
            "iam:PassRole" if !condition.contains("\"iam:PassedToService\"") => Some("a role is passed to any service"),
            "cloudwatch:PutMetricAlarm" if !condition.contains(":sns:") => Some("an alarm does anything"),
            action if action.contains("Tag") && !action.contains("List") => {
                // A named resource cannot be a foreign one, so only a pattern needs a condition.
                let is_named =
                    |arn: &String| !is_open(arn) || arn.contains("kibus-router") || arn.contains("/kibus/kibus/*");
                let is_limited = resources.iter().all(is_named) || condition.contains("aws:ResourceTag/kibus:bus");
                (!is_limited && !action.starts_with("tag:")).then_some("anything is tagged")
            }
            action if action.starts_with("iam:") && !READS_ALL.contains(&action) && resources.iter().any(is_open) => {
                Some("a pattern of roles")
            }
            _ => None,
        };
        faults.extend(fault);
    }
    faults
}

/// Actions that IAM does not limit to roles.
const READS_ALL: [&str; 2] = ["iam:ListRoles", "iam:GetAccountAuthorizationDetails"];
