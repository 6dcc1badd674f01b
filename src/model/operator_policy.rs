//! The policy of an operator, who runs kibus, from `templates/policies/operator.json`.
//!
//! It allows the calls that kibus makes, and two permissions that AWS requires with them: to tag at creation, and to
//! pass a role to Lambda. Each statement is limited to this bus by name where AWS supports it, and by tag or condition
//! where that is stricter.
//!
//! The conditions of each call, from the Service Authorization Reference:
//!
//! - `sqs:CreateQueue` and `sqs:TagQueue` have `aws:RequestTag`, queues have `aws:ResourceTag`, except in the Regions of
//!   [`super::tag_conditions`]. Creating a queue with tags needs both permissions (API reference, CreateQueue), the
//!   second on a queue that has no tags yet, hence `IfExists`.
//! - `events:PutTargets` has `events:TargetArn`, an array of ARNs without that of a target's dead-letter queue. An array
//!   needs a set operator, and `ForAllValues` holds for a request without the key too, hence the `Null` beside it (IAM
//!   user guide, "Single-valued vs. multivalued context keys"; EventBridge user guide, "Using IAM policy conditions").
//! - `events:PutRule` has `events:source`, an array: the sources of the pattern. A pattern without a source has no such
//!   key, hence the same `Null`.
//! - `lambda:CreateEventSourceMapping`, `lambda:DeleteEventSourceMapping` and `lambda:UpdateEventSourceMapping` have
//!   `lambda:FunctionArn`, a single ARN: here that of an alias. `lambda:GetEventSourceMapping` has it too, but not of a
//!   mapping that is gone, and then AWS answers "denied" where kibus needs "absent".
//! - `iam:CreateRole`, `iam:PutRolePolicy` and `iam:PutRolePermissionsBoundary` have `iam:PermissionsBoundary`: what the
//!   role has, or what the request gives it (IAM user guide, "Permissions boundaries for IAM entities", which delegates
//!   by the same condition). `iam:TagRole` and `iam:UntagRole` have `aws:TagKeys`; `iam:UpdateAssumeRolePolicy` has no
//!   condition on the new trust policy.
//! - `kms:Decrypt` has `kms:ViaService`. Kibus calls `kms:GetKeyPolicy` itself, so it has no such condition.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::document::{Document, texts};
use super::inline_policy::space;
use super::options::{HubOptions, UserTags};
use super::policy::{replace_statements, with_key};
use super::scope::{LIVE, Scope};
use super::signal::{PROBE_SOURCE, Signal};
use super::tags::NAMESPACE;
use super::template::Template;

/// Maximum number of characters in a managed policy, without white space (IAM user guide, "IAM and AWS STS quotas").
const MANAGED_POLICY: usize = 6_144;

/// The policy of an operator of this bus with these options. It allows changes to the controller roles with these ARNs, or
/// patterns of ARNs. With a permissions boundary, the router role can have no other.
#[must_use]
pub fn operator(scope: &Scope, options: &HubOptions, controller_roles: &BTreeSet<String>) -> Document {
    let prefix = options.prefix();
    // The hub queue and its dead-letter queue take one ARN.
    let hub = format!("{}*", scope.queue_arn(&scope.hub_queue()));
    let queues = vec![hub, scope.queue_arn(&scope.probe_queue()), scope.queues_arn(&prefix)];
    let patterns = [scope.queues_arn(&prefix), scope.hub_queues_arn()];
    let rules = Signal::ALL.map(|signal| scope.rule_arn(&scope.rule(signal)));
    let sources: BTreeSet<&str> = Signal::ALL.into_iter().map(Signal::source).collect();
    let controllers: Vec<&str> = controller_roles.iter().map(String::as_str).collect();
    let mut values = vec![
        ("bus", scope.bus.as_str().into()),
        ("queue_arns", queues.into()),
        ("queue_patterns", patterns.to_vec().into()),
        ("cluster_queue_arns", scope.cluster_queue_arns(&prefix).to_vec().into()),
        ("hub_queue_arn", scope.queue_arn(&scope.hub_queue()).into()),
        (
            "dead_letter_queue_arn",
            scope.queue_arn(&scope.dead_letter_queue()).into(),
        ),
        ("probe_queue_arn", scope.queue_arn(&scope.probe_queue()).into()),
        ("rule_arns", rules.to_vec().into()),
        ("rules_arn", scope.rules_arn().into()),
        ("sources", sources.into_iter().collect()),
        ("event_bus_arn", scope.event_bus_arn().into()),
        ("probe_source", PROBE_SOURCE.into()),
        ("function_arn", scope.function_arn(&scope.router_function()).into()),
        ("alias_arn", scope.alias_arn(&scope.router_function(), LIVE).into()),
        ("log_group_arn", scope.log_group_arn(&scope.router_log_group()).into()),
        (
            "router_role_arn",
            scope.role_arn(&options.path(), &scope.router_role()).into(),
        ),
        ("controller_role_arns", controllers.into()),
    ];
    let mut policy = Template::builtin(include_str!("../../templates/policies/operator.json")).fill(&values);
    if controller_roles.is_empty() {
        replace_statements(&mut policy, &["KibusControllerRoles"], &Document::new(json!([])));
    }
    let absent_role = scope.roles_arn(scope.router_role().as_str());
    values.push(("absent_role_arn", absent_role.into()));
    // IAM knows no path of a role that does not exist yet.
    if options.path().as_str() != "/" {
        let find = Template::builtin(include_str!("../../templates/policies/operator-role-at-path.json"));
        replace_statements(&mut policy, &[], &find.fill(&values));
    }
    if let Some(boundary) = options.permissions_boundary.as_ref().and_then(|b| b.0.as_ref()) {
        values.extend([
            ("boundary", boundary.as_str().into()),
            ("tag_keys", tag_keys(options.tags.as_ref()).into()),
        ]);
        let bounded = Template::builtin(include_str!("../../templates/policies/operator-bounded-role.json"));
        replace_statements(&mut policy, &["KibusRouterRole"], &bounded.fill(&values));
    }
    if !scope.region.has_queue_tag_conditions() {
        let by_name = include_str!("../../templates/policies/operator-without-tag-conditions.json");
        replace_statements(
            &mut policy,
            &["KibusFindProbe", "KibusMakeQueues", "KibusChangeQueues"],
            &Template::builtin(by_name).fill(&values),
        );
    }
    let statements = include_str!("../../templates/policies/operator-key.json");
    with_key(policy, statements, scope, options.key())
}

/// The document, shortened if it is too long for one managed policy.
#[must_use]
pub fn fitted(mut policy: Document) -> Document {
    if too_long(&policy).is_some() {
        shorten(&mut policy);
    }
    policy
}

/// Shortens a document without changing what it allows: removes the names of statements, which are for readers only, and
/// unites statements without conditions whose actions are of different services.
fn shorten(policy: &mut Document) {
    let Some(Value::Array(statements)) = policy.value_mut().get_mut("Statement") else {
        return;
    };
    for statement in statements.iter_mut().filter_map(Value::as_object_mut) {
        statement.remove("Sid");
    }
    let (plain, mut short): (Vec<Value>, Vec<Value>) = std::mem::take(statements)
        .into_iter()
        .partition(|statement| statement["Effect"] == "Allow" && statement.get("Condition").is_none());
    let mut united: Vec<Value> = Vec::new();
    for statement in plain {
        match united
            .iter_mut()
            .find(|other| services(other).is_disjoint(&services(&statement)))
        {
            Some(other) => {
                for member in ["Action", "Resource"] {
                    let all = texts(other.get(member)).into_iter().chain(texts(statement.get(member)));
                    other[member] = all.collect();
                }
            }
            None => united.push(statement),
        }
    }
    short.extend(united);
    *statements = short;
}

/// The services of the actions of a statement.
fn services(statement: &Value) -> BTreeSet<String> {
    let actions = texts(statement.get("Action")).into_iter();
    actions
        .filter_map(|action| Some(action.split_once(':')?.0.to_owned()))
        .collect()
}

/// The keys of the tags that kibus writes: its own, and the user's.
fn tag_keys(user: Option<&UserTags>) -> Vec<String> {
    let user = user.map(UserTags::tags).unwrap_or_default();
    std::iter::once(format!("{NAMESPACE}*"))
        .chain(user.0.into_keys())
        .collect()
}

/// The beginnings of the names of actions that read. The tests hold that no other action of an operator reads, except
/// `sqs:ReceiveMessage`, which hides the message from its consumer, and `logs:FilterLogEvents`, which only
/// `dead-letters` needs.
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
    use crate::model::name::{KmsKey, PermissionsBoundary};
    use crate::model::options::OrNone;
    use crate::model::scope::tests::{scope, scope_in};
    use crate::model::tag_conditions::WITHOUT_QUEUE_TAG_CONDITIONS;

    /// Actions that an operator does not need: the first requires no permission, the next is for the demo, which is
    /// root in its own sandbox, and no command removes the retention of a log.
    const WITHOUT: [&str; 3] = ["sts:GetCallerIdentity", "sqs:SendMessage", "logs:DeleteRetentionPolicy"];
    /// Not called, but required by AWS: to pass a role to Lambda, and to receive messages under a customer key.
    const BESIDES: [&str; 2] = ["iam:PassRole", "kms:Decrypt"];

    /// The document of a hub with a key and a controller role.
    fn document() -> Document {
        operator(&scope(), &with_key(), &roles(1))
    }

    fn with_key() -> HubOptions {
        HubOptions {
            kms_key: Some(OrNone(Some(key()))),
            ..HubOptions::default()
        }
    }

    fn with_boundary(name: &str) -> HubOptions {
        HubOptions {
            permissions_boundary: Some(OrNone(Some(boundary(name)))),
            tags: Some(UserTags::parse(&["team=a".to_owned()]).unwrap()),
            ..with_key()
        }
    }

    fn key() -> KmsKey {
        "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
            .parse()
            .unwrap()
    }

    fn roles(count: usize) -> BTreeSet<String> {
        (0..count)
            .map(|number| format!("arn:aws-us-gov:iam::111122223333:role/KarpenterControllerRole-prod-{number}"))
            .collect()
    }

    fn boundary(name: &str) -> PermissionsBoundary {
        format!("arn:aws-us-gov:iam::111122223333:policy/{name}")
            .parse()
            .unwrap()
    }

    fn texts(value: &Value) -> Vec<String> {
        super::texts(Some(value)).into_iter().map(str::to_owned).collect()
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
        const WRITES: [&str; 15] = [
            "Change", "Create", "Decrypt", "Delete", "Filter", "Invoke", "Pass", "Publish", "Put", "Receive", "Remove",
            "Set", "Tag", "Untag", "Update",
        ];
        for options in [HubOptions::default(), with_key(), with_boundary("routers")] {
            let full = operator(&scope(), &options, &roles(1));
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
                assert_eq!(sid, "KibusFindAndMap");
            }
        }
    }

    /// S14: with a condition on a tag, the operator could create no queue in these Regions.
    #[test]
    fn queues_are_changed_by_name_where_sqs_has_no_tag_conditions() {
        for region in WITHOUT_QUEUE_TAG_CONDITIONS {
            let by_name = operator(&scope_in("aws", region), &with_key(), &roles(1));
            assert!(!by_name.compact().contains("Tag/"), "{region}: {by_name:?}");
            assert_eq!(allowed(&by_name), allowed(&document()), "{region}");
        }
    }

    #[test]
    fn a_document_for_ten_controller_roles_fits_into_a_managed_policy() {
        let of = |bus: &str, region: &str, options: &HubOptions, roles: &BTreeSet<String>| {
            let scope = Scope {
                bus: bus.parse().unwrap(),
                ..scope_in("aws-us-gov", region)
            };
            too_long(&fitted(operator(&scope, options, roles)))
        };
        let without_key = HubOptions {
            kms_key: None,
            ..with_boundary("platform-boundary")
        };
        for (bus, options) in [
            ("a2345678901234567890", HubOptions::default()),
            ("a2345678901234567890", without_key),
            ("kibus", with_key()),
            ("kibus", with_boundary("platform-boundary")),
        ] {
            for region in ["us-gov-west-1", "ap-southeast-4"] {
                assert_eq!(
                    of(bus, region, &options, &roles(10)),
                    None,
                    "{bus} {region} {options:?}"
                );
            }
        }
        let over = of("kibus", "us-gov-west-1", &HubOptions::default(), &roles(50));
        assert!(over.is_some_and(|over| over > 100), "{over:?}");
    }

    #[test]
    fn a_shortened_document_allows_the_same() {
        let full = document();
        let mut short = full.clone();
        shorten(&mut short);
        assert!(space(&short.compact()) < space(&full.compact()));
        let pairs = |document: &Document| -> BTreeSet<(String, String, String, String)> {
            let mut pairs = BTreeSet::new();
            for statement in document.statements() {
                for action in texts(&statement["Action"]) {
                    let (service, _) = action.split_once(':').unwrap();
                    for resource in texts(&statement["Resource"]) {
                        // An action has no effect on resources of another service.
                        if resource == "*" || resource.split(':').nth(2) == Some(service) {
                            let condition = statement["Condition"].to_string();
                            let effect = statement["Effect"].to_string();
                            pairs.insert((effect, action.clone(), resource, condition));
                        }
                    }
                }
            }
            pairs
        };
        assert_eq!(pairs(&short), pairs(&full));
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
        let role = scope().role_arn(&options.path(), &scope().router_role());
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
        assert_eq!(
            lost,
            ["iam:DeleteRolePermissionsBoundary", "iam:UpdateAssumeRolePolicy"]
        );
        assert!(allowed(&bounded).is_subset(&without));
    }

    /// A pattern may match a role that is no controller.
    #[test]
    fn no_role_is_named_by_a_pattern() {
        let at_path = HubOptions {
            role_path: "/team/".parse().ok(),
            ..with_key()
        };
        for options in [at_path, with_boundary("routers")] {
            let document = operator(&scope(), &options, &roles(2));
            let statements = document.statements();
            for arn in statements.iter().flat_map(|statement| texts(&statement["Resource"])) {
                assert!(!arn.contains(":iam:") || !arn.contains('*'), "{arn}");
            }
            let passed = &that_name(&document, "iam:PassRole")[0];
            let role = scope().role_arn(&options.path(), &scope().router_role());
            assert_eq!(texts(&passed["Resource"]), [role]);
            let service = &passed["Condition"]["StringEqualsIfExists"]["iam:PassedToService"];
            assert_eq!(service, "lambda.amazonaws.com");
        }
        let none = operator(&scope(), &HubOptions::default(), &BTreeSet::new());
        assert_eq!(that_name(&none, "iam:ListRolePolicies"), Vec::<Value>::new());
    }

    /// `rule/kibus-*` has the rules of the bus `kibus-prod` too.
    #[test]
    fn every_rule_is_named_and_reads_no_other_source() {
        let rules: BTreeSet<String> = Signal::ALL
            .into_iter()
            .map(|signal| scope().rule_arn(&scope().rule(signal)))
            .collect();
        let document = document();
        for statement in document.statements() {
            let resources: BTreeSet<String> = texts(&statement["Resource"]).into_iter().collect();
            if statement["Effect"] == "Allow" && resources.iter().any(|arn| arn.contains(":rule/")) {
                assert_eq!(resources, rules, "{}", statement["Sid"]);
            }
        }
        let [allow, deny] = &that_name(&document, "events:PutRule")[..] else {
            panic!("an Allow and a Deny")
        };
        let sources = texts(&allow["Condition"]["ForAllValues:StringEquals"]["events:source"]);
        assert_eq!(sources, ["aws.ec2", "aws.health", "kibus.probe"]);
        assert_eq!(deny["Effect"], "Deny");
        assert_eq!(deny["Condition"]["Null"]["events:source"], "true");
    }
}
