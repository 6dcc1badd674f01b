//! What an operator can do. `tests/permissions.rs` proves that each document is enough, and that each action in it is called.

use std::collections::BTreeSet;
use std::path::Path;

use clap::ValueEnum;
use serde_json::json;

use super::*;
use crate::model::{
    KmsKey, OrNone, PermissionsBoundary,
    calls::CALLS,
    document,
    region::WITHOUT_QUEUE_TAG_CONDITIONS,
    scope::tests::{scope, scope_in},
};

/// The document of a hub with a key.
fn document() -> Document {
    operator(&scope(), &with_key())
}

/// The document of clusters with a key and this many controller roles.
fn of_clusters(count: usize) -> Document {
    clusters(&scope(), &with_key(), &roles(count))
}

fn with_key() -> HubOptions {
    HubOptions { kms_key: Some(OrNone(Some(key()))), ..HubOptions::default() }
}

fn with_boundary() -> HubOptions {
    let permissions_boundary = Some(OrNone(Some(boundary("routers"))));
    HubOptions { permissions_boundary, tag: Some(vec!["team=a".parse().unwrap()]), ..with_key() }
}

fn key() -> KmsKey {
    "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab".parse().unwrap()
}

fn roles(count: usize) -> BTreeSet<String> {
    let role = "arn:aws-us-gov:iam::111122223333:role/KarpenterControllerRole-prod";
    (0..count).map(|number| format!("{role}-{number}")).collect()
}

fn boundary(name: &str) -> PermissionsBoundary {
    format!("arn:aws-us-gov:iam::111122223333:policy/{name}").parse().unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    document::texts(Some(value)).into_iter().map(str::to_owned).collect()
}

fn allowed(document: &Document) -> BTreeSet<String> {
    let statements = document.statements();
    statements.iter().flat_map(|statement| texts(&statement["Action"])).collect()
}

/// Actions that are not in any operator document: those of controllers, of rules and of the router; one for the demo,
/// which is root in its own sandbox; one that no command calls; and one that requires no permission.
const WITHOUT: [&str; 8] = [
    "sqs:GetQueueUrl",
    "sqs:SendMessage",
    "logs:DeleteRetentionPolicy",
    "kms:GenerateDataKey",
    "ec2:DescribeTags",
    "sns:Publish",
    "sts:AssumeRoleWithWebIdentity",
    "sts:GetCallerIdentity",
];

#[test]
fn every_call_of_kibus_is_in_a_document() {
    let purposes = Purpose::value_variants().iter().filter(|purpose| **purpose != Purpose::Clusters);
    let documents = purposes.map(|purpose| additional(&scope(), &HubOptions::default(), *purpose));
    let all: BTreeSet<String> = documents.chain([document(), of_clusters(1)]).flat_map(|one| allowed(&one)).collect();
    let lacking: Vec<&str> = CALLS.iter().map(|call| call.action).filter(|action| !all.contains(*action)).collect();
    assert_eq!(lacking, WITHOUT);
}

#[test]
fn only_what_has_no_name_is_allowed_on_everything() {
    let document = document();
    let on_everything = |statement: &&Value| texts(&statement["Resource"]).iter().any(|resource| resource == "*");
    let statements = document.statements();
    let actions = statements.into_iter().filter(on_everything).map(|s| s["Action"][0].clone());
    assert_eq!(actions.collect::<Vec<_>>(), ["cloudwatch:GetMetricData", "lambda:CreateEventSourceMapping"]);
}

/// A request without the key meets such a condition, so it is allowed only where AWS always sends the key, or where its
/// absence has a meaning: a queue without a tag.
#[test]
fn few_conditions_hold_for_a_request_without_their_key() {
    let mut keys = BTreeSet::new();
    for options in [with_key(), with_boundary()] {
        for statement in joined(&operator(&scope(), &options), &of_clusters(1)).statements() {
            let conditions = statement["Condition"].as_object().into_iter().flatten();
            let lenient =
                conditions.filter(|(operator, _)| operator.contains("IfExists") || operator.contains("ForAll"));
            keys.extend(lenient.flat_map(|(_, keys)| keys.as_object().unwrap().keys().cloned()));
        }
    }
    let known = ["aws:ResourceTag/kibus:bus", "aws:TagKeys", "events:TargetArn", "events:source"];
    assert_eq!(keys, known.map(str::to_owned).into());
}

/// S14: with a condition on a tag, the operator could create no queue in these Regions.
#[test]
fn queues_are_changed_by_name_where_sqs_has_no_tag_conditions() {
    for region in WITHOUT_QUEUE_TAG_CONDITIONS {
        let scope = scope_in("aws", region);
        let by_name = joined(&operator(&scope, &with_key()), &clusters(&scope, &with_key(), &roles(1)));
        assert!(!by_name.compact().contains("Tag/"), "{region}: {by_name:?}");
        assert_eq!(allowed(&by_name), allowed(&joined(&document(), &of_clusters(1))), "{region}");
        let statements = by_name.statements();
        let resources = statements.iter().flat_map(|statement| texts(&statement["Resource"]));
        let patterns: BTreeSet<String> = resources.filter(|arn| arn.contains(":sqs:") && arn.contains('*')).collect();
        let clusters = scope.queues_arn(&HubOptions::default().queue_template());
        assert_eq!(patterns, [clusters].into(), "`kibus-hub*` covers the queues of the bus `kibus-hub`");
    }
}

/// The longest names, in GovCloud, with all that an option adds: then about 300 characters are left.
#[test]
fn the_document_of_a_hub_fits_into_a_managed_policy() {
    let tags = (0..20).map(|number| format!("cost-team-{number:02}=a").parse().unwrap()).collect();
    let boundary = boundary("platform-boundary-of-the-routers");
    let longest = HubOptions {
        permissions_boundary: Some(OrNone(Some(boundary))),
        tag: Some(tags),
        queue_name: Some(format!("{}{{cluster}}", "x".repeat(50)).parse().unwrap()),
        ..with_key()
    };
    for region in ["us-gov-west-1", "ap-southeast-4"] {
        let scope = Scope { bus: "a2345678901234567890".parse().unwrap(), ..scope_in("aws-us-gov", region) };
        let document = operator(&scope, &longest);
        assert_eq!(too_long(&document), None, "{region}: {}", policy_space(&document.compact()));
    }
}

/// The page states the number for the longest names.
#[test]
fn the_document_of_clusters_says_how_many_roles_fit() {
    let scope = Scope { bus: "a2345678901234567890".parse().unwrap(), ..scope_in("aws-us-gov", "us-gov-west-1") };
    let longest = |count: usize| -> BTreeSet<String> {
        (0..count).map(|number| scope.roles_arn(&format!("{number:064}"))).collect()
    };
    let most = fitting(&scope, &with_key(), &longest(200)).unwrap();
    assert_eq!(fitting(&scope, &with_key(), &longest(most)), None);
    assert_eq!(fitting(&scope, &with_key(), &longest(most + 1)), Some(most));
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/permissions.md")).unwrap();
    assert!(page.contains(&format!("at least {most} controller roles")), "{most}");
}

fn joined(one: &Document, other: &Document) -> Document {
    let statements: Vec<&Value> = one.statements().into_iter().chain(other.statements()).collect();
    Document::new(json!({ "Statement": statements }))
}

/// The statements that name an action.
fn that_name(document: &Document, action: &str) -> Vec<Value> {
    let names = |statement: &&Value| texts(&statement["Action"]).iter().any(|a| a == action);
    document.statements().into_iter().filter(names).cloned().collect()
}

/// M13: it is not documented what the condition key contains for a mapping to an alias.
#[test]
fn a_mapping_may_be_changed_whichever_arn_of_its_function_aws_compares() {
    let function = scope().function_arn(&scope().router_function());
    for action in ["Create", "Update", "Delete"] {
        let statements = that_name(&document(), &format!("lambda:{action}EventSourceMapping"));
        let [allow] = &statements[..] else { panic!("one statement allows {action}") };
        let accepted = texts(&allow["Condition"]["ArnLike"]["lambda:FunctionArn"]);
        assert!(!accepted.iter().any(|arn| arn.contains(['*', '?'])), "{accepted:?}");
        for (arn, is_allowed) in [
            (function.clone(), true),
            (format!("{function}:live"), true),
            (format!("{function}:1"), false),
            (format!("{function}-2"), false),
            (format!("{function}-2:live"), false),
        ] {
            assert_eq!(accepted.contains(&arn), is_allowed, "{action} {arn}");
        }
    }
}

#[test]
fn only_the_routers_role_is_passed_and_only_to_lambda() {
    for options in [HubOptions { role_path: "/team/".parse().ok(), ..with_key() }, with_boundary()] {
        let role = scope().role_arn(&options.role_path(), &scope().router_role());
        let [passed] = &that_name(&operator(&scope(), &options), "iam:PassRole")[..] else { panic!("one statement") };
        assert_eq!(texts(&passed["Action"]), ["iam:PassRole"]);
        assert_eq!(texts(&passed["Resource"]), [role]);
        let condition = json!({"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}});
        assert_eq!(passed["Condition"], condition);
    }
    assert_eq!(that_name(&of_clusters(0), "iam:ListRolePolicies"), Vec::<Value>::new());
}

/// `rule/kibus-*` also covers the rules of the bus `kibus-prod`.
#[test]
fn every_rule_is_named_and_reads_no_other_source() {
    let arn = |signal: Signal| scope().rule_arn(&scope().rule(signal));
    let heartbeat = BTreeSet::from([arn(Signal::Heartbeat)]);
    let rules: BTreeSet<String> = Signal::ALL.map(arn).into();
    let document = document();
    for (document, rules) in
        [(&document, &rules - &heartbeat), (&additional(&scope(), &HubOptions::default(), Purpose::Alarms), heartbeat)]
    {
        for statement in document.statements() {
            let resources: BTreeSet<String> = texts(&statement["Resource"]).into_iter().collect();
            if statement["Effect"] == "Allow" && resources.iter().any(|arn| arn.contains(":rule/")) {
                assert_eq!(resources, rules, "{}", statement["Sid"]);
            }
        }
    }
    let [allow, _] = &that_name(&document, "events:PutRule")[..] else { panic!("an Allow and a Deny") };
    let sources = texts(&allow["Condition"]["ForAllValues:StringEquals"]["events:source"]);
    assert_eq!(sources, ["aws.ec2", "aws.health", "kibus.probe"]);
}

#[test]
fn a_role_becomes_the_arn_that_iam_gives() {
    let known = BTreeMap::from([("listed".parse().unwrap(), scope().roles_arn("team/listed"))]);
    for (given, open, path) in [
        ("listed", false, Some("team/listed")),
        ("other", false, Some("other")),
        ("team/x", false, Some("team/x")),
        ("/team/x", false, Some("team/x")),
        ("arn:aws:iam::111122223333:role/a/b", false, Some("a/b")),
        ("*-karpenter", true, Some("*-karpenter")),
        ("karpenter-?", true, Some("karpenter-?")),
        ("arn:aws:iam::444455556666:role/a", false, None),
        ("arn:aws:iam::*:role/a", true, None),
    ] {
        let role: RolePattern = given.parse().unwrap();
        assert_eq!(role.is_open(), open, "{given}");
        assert_eq!(
            role.arn(&scope(), &known),
            path.map(|path| format!("arn:aws:iam::111122223333:role/{path}")),
            "{given}"
        );
    }
    for wrong in ["", "team/", "a b", "a:b", "arn:aws:iam::111122223333:user/x", "a\u{1b}[31m"] {
        assert!(wrong.parse::<RolePattern>().is_err(), "{wrong:?}");
    }
}

#[test]
fn a_denied_call_is_in_the_document_that_is_named() {
    let of_role = "--for clusters --controller-role";
    for (action, resource, options) in [
        ("sqs:GetQueueAttributes", "", ""),
        ("events:DescribeRule", "", ""),
        ("events:ListRules", "", ""),
        ("cloudwatch:DescribeAlarms", "", "--for alarms"),
        ("cloudwatch:GetDashboard", "", "--for alarms"),
        ("cloudwatch:GetMetricData", "", ""),
        ("sns:GetTopicAttributes", "", "--for alarms"),
        ("events:PutEvents", "", "--for clusters"),
        ("eks:ListClusters", "", "--for eks"),
        ("iam:GetAccountAuthorizationDetails", "", "--for many-clusters"),
        ("iam:PutRolePolicy", "role kibus-router-us-west-2", ""),
        ("iam:PutRolePolicy", "role base-karpenter", &format!("{of_role} base-karpenter")),
        ("iam:ListRolePolicies", "arn:aws:iam::111122223333:role/team/x", &format!("{of_role} x")),
        ("iam:ListRolePolicies", "role $(x)", "--for clusters"),
        ("events:PutRule", "arn:aws:events:us-west-2:111122223333:rule/kibus-heartbeat", "--for heartbeat"),
        ("events:PutRule", "arn:aws:events:us-west-2:111122223333:rule/kibus-probe", ""),
        ("x:Unknown", "", ""),
    ] {
        let resource = (!resource.is_empty()).then(|| resource.into());
        let fault = Fault::new(FaultKind::Denied { principal: None, resource }, action, "no");
        let command = format!("policy operator {options}");
        assert_eq!(printing(&scope(), [&fault]), [command.trim_end()], "{fault:?}");
    }
}
