//! What an operator may do: what kibus calls, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::*;
use crate::model::{
    KmsKey, OrNone, PermissionsBoundary,
    calls::CALLS,
    document,
    region::WITHOUT_QUEUE_TAG_CONDITIONS,
    scope::tests::{scope, scope_in},
};

/// Actions that an operator does not need: the first requires no permission, the next is for the demo, which is root in its own
/// sandbox, and no command removes the retention of a log.
const WITHOUT: [&str; 3] = ["sts:GetCallerIdentity", "sqs:SendMessage", "logs:DeleteRetentionPolicy"];
/// Not called, but required by AWS: to pass a role to Lambda, and to create parameters with tags.
const BESIDES: [&str; 2] = ["iam:PassRole", "ssm:AddTagsToResource"];

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

fn with_boundary(name: &str) -> HubOptions {
    HubOptions {
        permissions_boundary: Some(OrNone(Some(boundary(name)))),
        tag: Some(vec!["team=a".parse().unwrap()]),
        ..with_key()
    }
}

fn key() -> KmsKey {
    "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab".parse().unwrap()
}

fn roles(count: usize) -> BTreeSet<String> {
    (0..count)
        .map(|number| format!("arn:aws-us-gov:iam::111122223333:role/KarpenterControllerRole-prod-{number}"))
        .collect()
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

/// Every call that the sources of the cloud name, as IAM does.
fn called() -> BTreeSet<String> {
    let mut code = String::new();
    let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/aws")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            code.push_str(text.split("#[cfg(test)]").next().unwrap());
        }
    }
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').collect();
    let actions = CALLS.iter().map(|call| call.action.to_owned());
    actions.filter(|action| words.contains(constant(action).as_str())).collect()
}

/// The constant of an action in the table of calls: `sqs::CREATE_QUEUE` of `sqs:CreateQueue`.
fn constant(action: &str) -> String {
    let (service, name) = action.split_once(':').unwrap();
    let mut constant = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !constant.is_empty() {
            constant.push('_');
        }
        constant.push(c.to_ascii_uppercase());
    }
    format!("{service}::{constant}")
}

#[test]
fn an_operator_may_call_what_kibus_calls_and_nothing_else() {
    let mut needed = called();
    assert!(needed.len() > 50, "the sources were not understood");
    needed.retain(|call| !WITHOUT.contains(&call.as_str()));
    needed.extend(BESIDES.map(str::to_owned));
    let allowed = allowed(&document());
    let besides = [
        additional(&scope(), &HubOptions::default(), Purpose::ManyClusters),
        of_clusters(1),
        additional(&scope(), &HubOptions::default(), Purpose::Discover),
        additional(&scope(), &HubOptions::default(), Purpose::Eks),
        additional(&scope(), &HubOptions::default(), Purpose::Alarms),
        additional(&scope(), &HubOptions::default(), Purpose::Heartbeat),
        additional(&scope(), &HubOptions::default(), Purpose::Drill),
    ]
    .map(|document| self::allowed(&document));
    needed.retain(|call| allowed.contains(call) || !besides.iter().any(|besides| besides.contains(call)));
    let lacking: Vec<_> = needed.difference(&allowed).collect();
    let idle: Vec<_> = allowed.difference(&needed).collect();
    assert!(lacking.is_empty(), "kibus calls what templates/policies/operator.json does not allow: {lacking:?}");
    assert!(idle.is_empty(), "templates/policies/operator.json allows what kibus never calls: {idle:?}");
}

/// It reads all of IAM, so it is in a document of its own.
#[test]
fn only_the_document_for_many_clusters_reads_all_roles_at_once() {
    let all_roles = "iam:GetAccountAuthorizationDetails";
    let besides = additional(&scope(), &HubOptions::default(), Purpose::ManyClusters);
    assert_eq!(allowed(&besides), BTreeSet::from([all_roles.to_owned()]));
    assert!(called().contains(all_roles), "kibus calls it");
    for options in [HubOptions::default(), with_key(), with_boundary("routers")] {
        let ordinary = operator(&scope(), &options);
        for document in [reads(ordinary.clone()), ordinary, of_clusters(1)] {
            assert_eq!(that_name(&document, all_roles), Vec::<Value>::new());
        }
    }
}

/// Each is about resources that are not of the bus.
#[test]
fn the_document_for_discover_has_its_reads() {
    let besides = allowed(&additional(&scope(), &HubOptions::default(), Purpose::Discover));
    let expected = [
        "events:ListRules",
        "events:ListTagsForResource",
        "events:ListTargetsByRule",
        "sqs:GetQueueAttributes",
        "sqs:ListQueueTags",
        "sqs:ListQueues",
    ];
    assert_eq!(besides, BTreeSet::from(expected.map(str::to_owned)));
    assert!(besides.is_subset(&called()), "kibus calls them");
}

#[test]
fn a_read_only_document_has_every_read_and_no_write() {
    const WRITES: [&str; 15] = [
        "Add", "Change", "Create", "Decrypt", "Delete", "Invoke", "Pass", "Publish", "Put", "Receive", "Remove", "Set",
        "Tag", "Untag", "Update",
    ];
    for options in [HubOptions::default(), with_key(), with_boundary("routers")] {
        let full = joined(&operator(&scope(), &options), &clusters(&scope(), &options, &roles(1)));
        let read_only = reads(full.clone());
        let (all, kept) = (allowed(&full), allowed(&read_only));
        for action in &all {
            let (_, name) = action.split_once(':').unwrap();
            let writes = WRITES.iter().any(|write| name.starts_with(write));
            let of_changes = ["lambda:GetAccountSettings", "lambda:GetEventSourceMapping", "ssm:GetParameterHistory"]
                .contains(&action.as_str());
            assert_eq!(kept.contains(action), !writes && !of_changes, "{action}");
        }
        assert!(kept.is_subset(&all) && kept.len() > 15, "{kept:?}");
        let resources = |document: &Document, action: &str| -> BTreeSet<String> {
            let statements = document.statements();
            let with = statements.iter().filter(|s| texts(&s["Action"]).iter().any(|a| a == action));
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
    let on_everything = |statement: &&Value| texts(&statement["Resource"]).iter().any(|resource| resource == "*");
    let statements = document.statements();
    let actions = statements.into_iter().filter(on_everything).map(|s| s["Action"][0].clone());
    assert_eq!(actions.collect::<Vec<_>>(), ["cloudwatch:GetMetricData", "lambda:CreateEventSourceMapping"]);
}

/// A request without the key meets such a condition, so it may stand only where AWS always sends the key, or where its
/// absence has a meaning: a queue without a tag.
#[test]
fn few_conditions_hold_for_a_request_without_their_key() {
    let mut keys = BTreeSet::new();
    for options in [with_key(), with_boundary("routers")] {
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
        assert_eq!(patterns, [clusters].into(), "`kibus-hub*` has the queues of the bus `kibus-hub`");
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

/// The page has the number for the longest names.
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

#[test]
fn with_a_boundary_the_routers_role_has_that_one_and_keeps_its_trust_and_tags() {
    let options = with_boundary("routers");
    let bounded = operator(&scope(), &options);
    let condition = json!({"StringEquals": {"iam:PermissionsBoundary": boundary("routers").as_str()}});
    let role = scope().role_arn(&options.role_path(), &scope().router_role());
    for action in ["iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"] {
        let statements = that_name(&bounded, action);
        let of_router = statements.iter().filter(|s| texts(&s["Resource"]) == [role.clone()]);
        let conditions: Vec<_> = of_router.map(|statement| &statement["Condition"]).collect();
        assert_eq!(conditions, [&condition], "{action}");
    }
    for action in ["iam:TagRole", "iam:UntagRole"] {
        for statement in that_name(&bounded, action) {
            let keys = texts(&statement["Condition"]["ForAllValues:StringLike"]["aws:TagKeys"]);
            assert_eq!(keys, ["kibus:*", "team"], "{action}");
        }
    }
    let without = allowed(&document());
    let lost: Vec<_> = without.difference(&allowed(&bounded)).cloned().collect();
    assert_eq!(lost, ["iam:DeleteRolePermissionsBoundary", "iam:UpdateAssumeRolePolicy"]);
    assert!(allowed(&bounded).is_subset(&without));
}

/// M13: what the condition key holds for a mapping to an alias is documented nowhere.
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

/// A pattern may match a role that is no controller.
#[test]
fn no_role_is_named_by_a_pattern() {
    let at_path = HubOptions { role_path: "/team/".parse().ok(), ..with_key() };
    for options in [at_path, with_boundary("routers")] {
        let document = operator(&scope(), &options);
        let both = joined(&document, &of_clusters(2));
        let statements = both.statements();
        for arn in statements.iter().flat_map(|statement| texts(&statement["Resource"])) {
            assert!(!arn.contains(":iam:") || !arn.contains('*'), "{arn}");
        }
        let role = scope().role_arn(&options.role_path(), &scope().router_role());
        let [passed] = &that_name(&document, "iam:PassRole")[..] else { panic!("one statement") };
        assert_eq!(texts(&passed["Action"]), ["iam:PassRole"]);
        assert_eq!(texts(&passed["Resource"]), [role]);
        let condition = json!({"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}});
        assert_eq!(passed["Condition"], condition);
    }
    assert_eq!(that_name(&of_clusters(0), "iam:ListRolePolicies"), Vec::<Value>::new());
}

/// `rule/kibus-*` has the rules of the bus `kibus-prod` too.
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
    let [allow, deny] = &that_name(&document, "events:PutRule")[..] else { panic!("an Allow and a Deny") };
    let sources = texts(&allow["Condition"]["ForAllValues:StringEquals"]["events:source"]);
    assert_eq!(sources, ["aws.ec2", "aws.health", "kibus.probe"]);
    assert_eq!(deny["Effect"], "Deny");
    assert_eq!(deny["Condition"]["Null"]["events:source"], "true");
}

#[test]
fn a_role_becomes_the_arn_that_iam_gives() {
    let known = BTreeMap::from([("listed".parse().unwrap(), "arn:aws:iam::111122223333:role/team/listed".to_owned())]);
    for (given, open, arn) in [
        ("listed", false, Some("arn:aws:iam::111122223333:role/team/listed")),
        ("other", false, Some("arn:aws:iam::111122223333:role/other")),
        ("team/x", false, Some("arn:aws:iam::111122223333:role/team/x")),
        ("/team/x", false, Some("arn:aws:iam::111122223333:role/team/x")),
        ("arn:aws:iam::111122223333:role/a/b", false, Some("arn:aws:iam::111122223333:role/a/b")),
        ("*-karpenter", true, Some("arn:aws:iam::111122223333:role/*-karpenter")),
        ("karpenter-?", true, Some("arn:aws:iam::111122223333:role/karpenter-?")),
        ("arn:aws:iam::444455556666:role/a", false, None),
        ("arn:aws:iam::*:role/a", true, None),
    ] {
        let role: RolePattern = given.parse().unwrap();
        assert_eq!(role.is_open(), open, "{given}");
        assert_eq!(role.arn(&scope(), &known).as_deref(), arn, "{given}");
    }
    for wrong in ["", "team/", "a b", "a:b", "arn:aws:iam::111122223333:user/x", "a\u{1b}[31m"] {
        assert!(wrong.parse::<RolePattern>().is_err(), "{wrong:?}");
    }
}

#[test]
fn a_denied_call_is_in_the_document_that_is_named() {
    for (action, resource, command) in [
        ("sqs:GetQueueAttributes", None, "policy operator"),
        ("events:DescribeRule", None, "policy operator"),
        ("events:ListRules", None, "policy operator"),
        ("cloudwatch:DescribeAlarms", None, "policy operator --for alarms"),
        ("cloudwatch:GetDashboard", None, "policy operator --for alarms"),
        ("cloudwatch:GetMetricData", None, "policy operator"),
        ("sns:GetTopicAttributes", None, "policy operator --for alarms"),
        ("events:PutEvents", None, "policy operator --for clusters"),
        ("eks:ListClusters", None, "policy operator --for eks"),
        ("iam:GetAccountAuthorizationDetails", None, "policy operator --for many-clusters"),
        ("iam:PutRolePolicy", Some("role kibus-router-us-west-2"), "policy operator"),
        (
            "iam:PutRolePolicy",
            Some("role base-karpenter"),
            "policy operator --for clusters --controller-role base-karpenter",
        ),
        (
            "iam:ListRolePolicies",
            Some("arn:aws:iam::111122223333:role/team/x"),
            "policy operator --for clusters --controller-role x",
        ),
        ("iam:ListRolePolicies", Some("role $(x)"), "policy operator --for clusters"),
        (
            "events:PutRule",
            Some("arn:aws:events:us-west-2:111122223333:rule/kibus-heartbeat"),
            "policy operator --for heartbeat",
        ),
        ("events:PutRule", Some("arn:aws:events:us-west-2:111122223333:rule/kibus-probe"), "policy operator"),
        ("x:Unknown", None, "policy operator"),
    ] {
        let kind = FaultKind::Denied { principal: None, resource: resource.map(Box::from) };
        assert_eq!(printing(&scope(), [&Fault::new(kind, action, "no")]), [command], "{action} {resource:?}");
    }
}
