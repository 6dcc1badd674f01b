//! What an operator may do: what kibus calls, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::model::{
    KmsKey, OrNone, PermissionsBoundary, document,
    region::WITHOUT_QUEUE_TAG_CONDITIONS,
    scope::tests::{scope, scope_in},
};

/// Actions that an operator does not need: the first requires no permission, the next two are for the demo, which
/// is root in its own sandbox, and no command removes the retention of a log.
const WITHOUT: [&str; 4] = ["sts:GetCallerIdentity", "sqs:ListQueues", "sqs:SendMessage", "logs:DeleteRetentionPolicy"];
/// Not called, but required by AWS: to pass a role to Lambda, to receive messages under a customer key, and to create parameters
/// with tags.
const BESIDES: [&str; 3] = ["iam:PassRole", "kms:Decrypt", "ssm:AddTagsToResource"];

/// The document of a hub with a key and a controller role.
fn document() -> Document {
    operator(&scope(), &with_key(), &roles(1))
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
        additional(&scope(), Purpose::ManyClusters),
        additional(&scope(), Purpose::Check),
        additional(&scope(), Purpose::Discover),
        additional(&scope(), Purpose::Eks),
        additional(&scope(), Purpose::Alarms),
        additional(&scope(), Purpose::Drill),
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
    let besides = additional(&scope(), Purpose::ManyClusters);
    assert_eq!(allowed(&besides), BTreeSet::from([all_roles.to_owned()]));
    assert!(called().contains(all_roles), "kibus calls it");
    for options in [HubOptions::default(), with_key(), with_boundary("routers")] {
        let ordinary = operator(&scope(), &options, &roles(40));
        for document in [reads(ordinary.clone()), fitted(ordinary.clone()), ordinary] {
            assert_eq!(that_name(&document, all_roles), Vec::<Value>::new());
        }
    }
}

/// Each is about resources that are not of the bus.
#[test]
fn the_document_for_discover_has_its_reads() {
    let besides = allowed(&additional(&scope(), Purpose::Discover));
    let expected = [
        "events:ListRules",
        "events:ListTagsForResource",
        "events:ListTargetsByRule",
        "sqs:GetQueueAttributes",
        "sqs:ListQueueTags",
    ];
    assert_eq!(besides, BTreeSet::from(expected.map(str::to_owned)));
    assert!(besides.is_subset(&called()), "kibus calls them");
}

/// The first tells what others may do. The second is no part of any change.
#[test]
fn only_the_document_for_a_check_simulates_and_counts() {
    let besides = allowed(&additional(&scope(), Purpose::Check));
    let expected = ["events:ListRules", "iam:SimulatePrincipalPolicy"].map(str::to_owned);
    assert_eq!(besides, BTreeSet::from(expected));
    assert!(besides.is_subset(&called()), "kibus calls them");
    assert!(besides.is_disjoint(&allowed(&document())));
}

#[test]
fn a_read_only_document_has_every_read_and_no_write() {
    const WRITES: [&str; 15] = [
        "Add", "Change", "Create", "Decrypt", "Delete", "Invoke", "Pass", "Publish", "Put", "Receive", "Remove", "Set",
        "Tag", "Untag", "Update",
    ];
    for options in [HubOptions::default(), with_key(), with_boundary("routers")] {
        let full = operator(&scope(), &options, &roles(1));
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
    let sids: Vec<&Value> = statements.into_iter().filter(on_everything).map(|s| &s["Sid"]).collect();
    assert_eq!(sids, ["KibusFind", "KibusMap"]);
}

/// A request without the key meets such a condition, so it may stand only where AWS always sends the key, or where its
/// absence has a meaning: a queue without a tag.
#[test]
fn few_conditions_hold_for_a_request_without_their_key() {
    let mut keys = BTreeSet::new();
    for options in [with_key(), with_boundary("routers")] {
        for statement in operator(&scope(), &options, &roles(1)).statements() {
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
        let by_name = operator(&scope_in("aws", region), &with_key(), &roles(1));
        assert!(!by_name.compact().contains("Tag/"), "{region}: {by_name:?}");
        assert_eq!(allowed(&by_name), allowed(&document()), "{region}");
        let statements = by_name.statements();
        let resources = statements.iter().flat_map(|statement| texts(&statement["Resource"]));
        let patterns: BTreeSet<String> = resources.filter(|arn| arn.contains(":sqs:") && arn.contains('*')).collect();
        let clusters = scope_in("aws", region).queues_arn(&HubOptions::default().queue_template());
        assert_eq!(patterns, [clusters].into(), "`kibus-hub*` has the queues of the bus `kibus-hub`");
    }
}

/// `KIBUS_TEST_UPDATE=1` writes the numbers on the page.
#[test]
fn the_page_says_for_how_many_controller_roles_a_document_fits_into_a_managed_policy() {
    let over = |bus: &str, region: &str, options: &HubOptions, count: usize| {
        let scope = Scope { bus: bus.parse().unwrap(), ..scope_in("aws-us-gov", region) };
        too_long(&fitted(operator(&scope, options, &roles(count))))
    };
    let most = |bus: &str, options: &HubOptions| {
        let of_region = |region: &str| (1..).find(|count| over(bus, region, options, *count).is_some()).unwrap() - 1;
        ["us-gov-west-1", "ap-southeast-4"].map(of_region).into_iter().min().unwrap()
    };
    let without_key = HubOptions { kms_key: None, ..with_boundary("platform-boundary") };
    let longest = "a2345678901234567890";
    let usual = most(longest, &HubOptions::default()).min(most("kibus", &with_key()));
    let bounded = most("kibus", &with_boundary("platform-boundary"));
    let least = most(longest, &without_key);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/permissions.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("It usually fits for ").unwrap();
    let (_, after) = rest.split_once(" in GovCloud.").unwrap();
    let numbers = format!(
        "{usual} controller roles, for {bounded} with a boundary, and for {least} with the longest names and one"
    );
    let expected = format!("{before}It usually fits for {numbers} in GovCloud.{after}");
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(path, expected).unwrap();
    } else {
        assert_eq!(page, expected, "`KIBUS_TEST_UPDATE=1` writes it");
    }
    let over = over("kibus", "us-gov-west-1", &HubOptions::default(), 50);
    assert!(over.is_some_and(|over| over > 100), "{over:?}");
}

/// The actions of a pattern, or the one that it names.
fn actions_of(action: &str) -> Vec<String> {
    let all = CALLS.iter().filter(|call| matches_action(action, call.action));
    all.map(|call| call.action.to_owned()).collect()
}

#[test]
fn a_pattern_of_actions_has_the_actions_of_the_document_that_it_stands_for() {
    let document = document();
    let statements = document.statements().into_iter();
    let actions: BTreeSet<String> = statements.flat_map(|statement| texts(&statement["Action"])).collect();
    for pattern in PATTERNS {
        let has: BTreeSet<String> = actions.iter().filter(|action| matches_action(pattern, action)).cloned().collect();
        assert!(has.len() > 1, "{pattern}");
        assert_eq!(has, actions_of(pattern).into_iter().collect(), "{pattern}");
    }
}

#[test]
fn a_shortened_document_allows_the_same() {
    // An action has no effect on resources of another service, but on `*`.
    let allows = |document: &Document| -> BTreeSet<(String, String, String, String)> {
        let mut allowed = BTreeSet::new();
        for statement in document.statements() {
            let actions = texts(&statement["Action"]).into_iter();
            for action in actions.flat_map(|action| actions_of(&action)) {
                let (service, _) = action.split_once(':').unwrap();
                for resource in texts(&statement["Resource"]) {
                    if resource == "*" || resource.split(':').nth(2) == Some(service) {
                        let condition = statement["Condition"].to_string();
                        let effect = statement["Effect"].to_string();
                        allowed.insert((effect, action.clone(), resource, condition));
                    }
                }
            }
        }
        allowed
    };
    for full in [
        document(),
        reads(document()),
        operator(&scope(), &with_boundary("routers"), &roles(60)),
        reads(operator(&scope(), &with_boundary("routers"), &roles(60))),
    ] {
        let mut short = full.clone();
        shorten(&mut short);
        assert!(policy_space(&short.compact()) < policy_space(&full.compact()));
        assert_eq!(allows(&short), allows(&full));
    }
}

#[test]
fn parts_of_a_document_fit_and_allow_the_same() {
    let scope = Scope { bus: "a2345678901234567890".parse().unwrap(), ..scope() };
    let longest = |count: usize| -> BTreeSet<String> {
        let names = (0..count).map(|number| format!("{number:064}"));
        names.map(|name| scope.roles_arn(&name)).collect()
    };
    let pieces = |documents: &[Document]| -> BTreeSet<String> {
        let statements = documents.iter().flat_map(|document| document.statements());
        statements
            .flat_map(|statement| {
                let of_one = |resource: String| {
                    let mut piece = statement.clone();
                    piece["Resource"] = resource.into();
                    piece.to_string()
                };
                texts(&statement["Resource"]).into_iter().map(of_one).collect::<Vec<_>>()
            })
            .collect()
    };
    for (roles, count) in [(1, 2), (10, 2), (60, 3), (200, 6)] {
        let whole = operator(&scope, &with_boundary("platform-boundary"), &longest(roles));
        let parts = parts(&whole);
        assert_eq!(parts.len(), count, "{roles} roles");
        for part in &parts {
            assert_eq!(too_long(part), None, "{roles} roles");
            assert_eq!(part.value()["Version"], "2012-10-17");
        }
        assert_eq!(pieces(&parts), pieces(&[whole]), "{roles} roles");
    }
    let short = fitted(document());
    assert_eq!(parts(&short), [short]);
}

/// The statements that name an action.
fn that_name(document: &Document, action: &str) -> Vec<Value> {
    let names = |statement: &&Value| texts(&statement["Action"]).iter().any(|a| a == action);
    document.statements().into_iter().filter(names).cloned().collect()
}

#[test]
fn with_a_boundary_the_routers_role_has_that_one_and_keeps_its_trust_and_tags() {
    let options = with_boundary("routers");
    let bounded = operator(&scope(), &options, &roles(1));
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
        let document = operator(&scope(), &options, &roles(2));
        let statements = document.statements();
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
    let none = operator(&scope(), &HubOptions::default(), &BTreeSet::new());
    assert_eq!(that_name(&none, "iam:ListRolePolicies"), Vec::<Value>::new());
}

/// `rule/kibus-*` has the rules of the bus `kibus-prod` too.
#[test]
fn every_rule_is_named_and_reads_no_other_source() {
    let arn = |signal: Signal| scope().rule_arn(&scope().rule(signal));
    let heartbeat = BTreeSet::from([arn(Signal::Heartbeat)]);
    let rules: BTreeSet<String> = Signal::ALL.map(arn).into();
    let document = document();
    for (document, rules) in [(&document, &rules - &heartbeat), (&additional(&scope(), Purpose::Alarms), heartbeat)] {
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
    for (action, command) in [
        ("sqs:GetQueueAttributes", "policy operator"),
        ("events:DescribeRule", "policy operator"),
        ("cloudwatch:DescribeAlarms", "policy operator --for alarms"),
        ("cloudwatch:GetDashboard", "policy operator --for alarms"),
        ("cloudwatch:GetMetricData", "policy operator"),
        ("sns:GetTopicAttributes", "policy operator --for alarms"),
        ("events:ListRules", "policy operator --for discover"),
        ("eks:ListClusters", "policy operator --for eks"),
        ("iam:SimulatePrincipalPolicy", "policy operator --for check"),
        ("iam:GetAccountAuthorizationDetails", "policy operator --for many-clusters"),
        ("x:Unknown", "policy operator"),
    ] {
        assert_eq!(printing(action), command, "{action}");
    }
}
