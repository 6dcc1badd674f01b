//! What a policy opens, as far as kibus asks: who may send to a queue, which queues may be received from, and which Kubernetes
//! service accounts may assume a role.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{
    AccountId, Document,
    calls::{sqs, sts},
    policy::{is_locked, is_ours, statements_of_others},
    principals, texts,
};

/// Whom the policy of a queue allows to send, in statements of others. One for all but some actions may allow it too.
pub fn other_senders(policy: &Document) -> BTreeSet<String> {
    let statements = policy.statements().into_iter();
    let of_others = statements.filter(|statement| allows_to_send(statement) && !is_ours(statement));
    of_others.flat_map(principals).map(str::to_owned).collect()
}

/// What the policy of a queue opens beside what kibus would write, or may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// A principal that is neither a service nor of the account may use the queue.
    Foreign(String),
    /// A service may send for any account.
    Service(String),
    /// A statement whose effect on the router, the controller or others is unknown.
    Unclear(String),
}

/// What the policy of a queue opens that `wanted` does not have. What cannot be judged is unclear, and never passed over.
pub fn openings(policy: &Document, wanted: &Document, account: &AccountId) -> BTreeSet<Opening> {
    let others = statements_of_others(policy, wanted).into_iter();
    others.flat_map(|statement| opening(statement, account)).collect()
}

/// Whether the conditions of a statement let a service act for this account alone; `None` if that is unclear.
fn is_for_account(statement: &Value, account: &AccountId) -> Option<bool> {
    let operators = match statement.get("Condition") {
        None => return Some(false),
        Some(conditions) => conditions.as_object()?,
    };
    let mut is_for_account = false;
    for (operator, keys) in operators {
        for (key, value) in keys.as_object()? {
            let values = texts(Some(value));
            let (key, of_account): (_, for<'a> fn(&'a str) -> Option<&'a str>) = match key.to_lowercase().as_str() {
                // It says how a request comes, and not for whom.
                "aws:securetransport" if operator == "Bool" => continue,
                "aws:sourceaccount" => ("Account", |account| Some(account)),
                "aws:sourcearn" => ("Arn", |arn| arn.split(':').nth(4)),
                _ => return None,
            };
            let compares = match operator.as_str() {
                "StringEquals" => true,
                "ArnEquals" | "ArnLike" | "StringLike" => key == "Arn",
                _ => false,
            };
            if !compares || values.is_empty() || values.iter().any(|one| of_account(one) != Some(account.as_str())) {
                return None;
            }
            is_for_account = true;
        }
    }
    Some(is_for_account)
}

fn opening(statement: &Value, account: &AccountId) -> Vec<Opening> {
    const USES: [&str; 4] = [sqs::SEND_MESSAGE, sqs::RECEIVE_MESSAGE, sqs::DELETE_MESSAGE, sqs::GET_QUEUE_URL];
    let sid = statement["Sid"].as_str().filter(|sid| !sid.is_empty()).unwrap_or("a statement without a Sid");
    let is_negative = ["NotAction", "NotPrincipal", "NotResource"].iter().any(|member| statement.get(member).is_some());
    let uses = is_negative || USES.iter().any(|action| has_action(statement, action));
    let has_conditions = statement.get("Condition").is_some();
    if !uses {
        return Vec::new();
    }
    if statement["Effect"] != "Allow" || is_negative {
        return vec![Opening::Unclear(sid.to_owned())];
    }
    let is_service = |who: &str| who.ends_with(".amazonaws.com") || who.ends_with(".amazonaws.com.cn");
    let is_own = |who: &str| who == account.as_str() || who.split(':').nth(4) == Some(account.as_str());
    let others = principals(statement).into_iter().filter(|who| !is_own(who));
    others
        .filter_map(|who| match is_for_account(statement, account) {
            Some(true) if is_service(who) => None,
            Some(false) if is_service(who) => Some(Opening::Service(who.to_owned())),
            _ if !has_conditions => Some(Opening::Foreign(who.to_owned())),
            _ => Some(Opening::Unclear(format!("{sid}, which allows {who} under conditions"))),
        })
        .collect()
}

/// Whether the policy of a queue allows everyone to send, in a statement without conditions, and does not have the lock.
pub fn lets_anyone_send(policy: &Document) -> bool {
    let anyone = |statement: &Value| {
        allows_to_send(statement) && statement.get("Condition").is_none() && principals(statement).contains(&"*")
    };
    !is_locked(policy) && policy.statements().into_iter().any(anyone)
}

fn allows_to_send(statement: &Value) -> bool {
    let sends = has_action(statement, sqs::SEND_MESSAGE) || statement.get("NotAction").is_some();
    statement["Effect"] == "Allow" && sends
}

fn has_action(statement: &Value, action: &str) -> bool {
    texts(statement.get("Action")).into_iter().any(|pattern| matches_action(pattern, action))
}

/// Whether a trust policy names a service account of this name, in one namespace or a pattern of them, for the web
/// identities of a provider, by its ARN. The subject of such an identity is `system:serviceaccount:NAMESPACE:NAME` (EKS user
/// guide, "Assign IAM roles to Kubernetes service accounts"). A policy for every service account names none.
pub fn names_service_account(trust: &Document, provider: &str, service_account: &str) -> bool {
    let Some((_, issuer)) = provider.split_once(":oidc-provider/") else {
        return false;
    };
    trust.statements().into_iter().any(|statement| {
        statement["Effect"] == "Allow"
            && has_action(statement, sts::ASSUME_ROLE_WITH_WEB_IDENTITY)
            && texts(statement["Principal"].get("Federated")).contains(&provider)
            && subjects(statement, issuer).any(|(subject, is_pattern)| is_of(subject, is_pattern, service_account))
    })
}

/// The subjects that the conditions of a statement compare with, and whether they are patterns.
fn subjects<'a>(statement: &'a Value, issuer: &str) -> impl Iterator<Item = (&'a str, bool)> {
    let key = format!("{issuer}:sub");
    let operators = statement["Condition"].as_object().into_iter().flatten();
    let compared = operators.filter_map(|(operator, keys)| {
        let operator = operator.split_once(':').map_or(operator.as_str(), |(_, operator)| operator);
        let is_pattern = match operator.strip_suffix("IfExists").unwrap_or(operator) {
            "StringEquals" | "StringEqualsIgnoreCase" => false,
            "StringLike" => true,
            _ => return None,
        };
        Some((keys.as_object()?, is_pattern))
    });
    compared.flat_map(move |(keys, is_pattern)| {
        let values = keys.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&key));
        let values: Vec<_> = values.flat_map(|(_, value)| texts(Some(value))).collect();
        values.into_iter().map(move |value| (value, is_pattern))
    })
}

/// Whether a subject names the service account. Only its namespace may have wildcards, in a pattern.
fn is_of(subject: &str, is_pattern: bool, service_account: &str) -> bool {
    let parts: Vec<&str> = subject.split(':').collect();
    let ["system", "serviceaccount", namespace, name] = parts.as_slice() else {
        return false;
    };
    let is_namespace = !namespace.is_empty() && (is_pattern || !namespace.contains(['*', '?']));
    is_namespace && *name == service_account
}

/// Whether an action matches a pattern; in actions, case does not count.
pub fn matches_action(pattern: &str, action: &str) -> bool {
    matches(&pattern.to_lowercase(), &action.to_lowercase())
}

/// Whether a text matches a pattern with `*` for any characters and `?` for any one, as IAM's policies have them.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where the last `*` stands, and up to where it has taken the text.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn senders_that_kibus_did_not_mean_are_found() {
        let all = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
        let allow = |principal: &Value, actions: Value| json!({"Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*"});
        let both: &[&str] = &["events.amazonaws.com", "sqs.amazonaws.com"];
        let with = |mut statement: Value, member: &str, value: Value| {
            statement[member] = value;
            statement
        };
        let official = allow(&all, json!("sqs:SendMessage"));
        for (case, statements, senders) in [
            ("Karpenter's template", json!([official]), both),
            ("no list", official.clone(), both),
            ("every action", json!([allow(&all, json!(["SQS:*"]))]), both),
            ("everyone", json!([allow(&json!("*"), json!("sqs:sendmessage"))]), &["*"]),
            (
                "all but some actions",
                json!([{"Effect": "Allow", "Principal": {"AWS": "1"}, "NotAction": "sqs:DeleteQueue"}]),
                &["1"],
            ),
            ("another action", json!([allow(&all, json!("sqs:ReceiveMessage"))]), &[]),
            ("a denial", json!([with(official.clone(), "Effect", json!("Deny"))]), &[]),
            ("kibus's own", json!([with(official.clone(), "Sid", json!("KibusRulesSend"))]), &[]),
            (
                "everyone but some",
                json!([{"Effect": "Allow", "NotPrincipal": {"AWS": "1"}, "Action": "sqs:SendMessage"}]),
                &["*"],
            ),
            ("nothing", json!([]), &[]),
        ] {
            let found = other_senders(&Document::new(json!({ "Statement": statements })));
            assert!(found.iter().eq(senders), "{case}: {found:?}");
        }
    }

    #[test]
    fn what_a_policy_opens_is_foreign_of_a_service_or_unclear() {
        let service = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
        let events = json!({"Service": "events.amazonaws.com"});
        let account = |account: &str| json!({ "AWS": format!("arn:aws:iam::{account}:root") });
        let of = |effect: &str, principal: &Value, action: &str, condition: Option<Value>| {
            let mut statement = json!({"Effect": effect, "Principal": principal, "Action": action, "Resource": "*"});
            if let Some(condition) = condition {
                statement["Condition"] = condition;
            }
            statement
        };
        let sends = |principal: &Value, condition| of("Allow", principal, "sqs:SendMessage", condition);
        let rule = |account: &str| format!("arn:aws:events:us-west-2:{account}:rule/a");
        let foreign = |who: &str| Opening::Foreign(who.to_owned());
        let of_service = |who: &str| Opening::Service(who.to_owned());
        let both = || vec![of_service("events.amazonaws.com"), of_service("sqs.amazonaws.com")];
        let unnamed = || vec![Opening::Unclear("a statement without a Sid".to_owned())];
        let limited = |who: &str| {
            vec![Opening::Unclear(format!("a statement without a Sid, which allows {who} under conditions"))]
        };
        let (own, other) = ("111122223333", "999999999999");
        let tls_only = json!({"Bool": {"aws:SecureTransport": "true"}});
        for (case, statement, expected) in [
            ("Karpenter's template", sends(&service, None), both()),
            ("every action, in any case", of("Allow", &service, "SQS:*", None), both()),
            ("everyone", sends(&json!("*"), None), vec![foreign("*")]),
            ("every principal of AWS", sends(&json!({"AWS": "*"}), None), vec![foreign("*")]),
            ("another account", sends(&account(other), None), vec![foreign("arn:aws:iam::999999999999:root")]),
            ("a reader", of("Allow", &json!({"AWS": other}), "sqs:ReceiveMessage", None), vec![foreign(other)]),
            ("this account", sends(&account(own), None), vec![]),
            ("this account, by its number", sends(&json!({ "AWS": own }), None), vec![]),
            ("an action that opens nothing", of("Allow", &json!("*"), "sqs:GetQueueAttributes", None), vec![]),
            (
                "a rule of this account",
                sends(&events, Some(json!({"ArnEquals": {"aws:SourceArn": rule(own)}}))),
                vec![],
            ),
            ("for this account", sends(&events, Some(json!({"StringEquals": {"AWS:sourceaccount": [own]}}))), vec![]),
            (
                "a rule of another account",
                sends(&events, Some(json!({"ArnEquals": {"aws:SourceArn": [rule(own), rule(other)]}}))),
                limited("events.amazonaws.com"),
            ),
            (
                "any rule",
                sends(&events, Some(json!({"StringLike": {"aws:SourceArn": "*"}}))),
                limited("events.amazonaws.com"),
            ),
            (
                "no rule of this account",
                sends(&events, Some(json!({"ArnNotEquals": {"aws:SourceArn": rule(own)}}))),
                limited("events.amazonaws.com"),
            ),
            (
                "another key beside it",
                sends(&events, Some(json!({"StringEquals": {"aws:SourceAccount": own, "aws:PrincipalOrgID": "o"}}))),
                limited("events.amazonaws.com"),
            ),
            ("TLS only", sends(&events, Some(tls_only.clone())), vec![of_service("events.amazonaws.com")]),
            ("no condition", sends(&events, Some(json!({}))), vec![of_service("events.amazonaws.com")]),
            ("conditions of another form", sends(&events, Some(json!("x"))), limited("events.amazonaws.com")),
            ("everyone, under conditions", sends(&json!("*"), Some(tls_only)), limited("*")),
            ("a denial", of("Deny", &json!("*"), "sqs:*", None), unnamed()),
            ("a denial of what no one needs", of("Deny", &json!("*"), "sqs:DeleteQueue", None), vec![]),
            (
                "all but some principals",
                json!({"Effect": "Allow", "NotPrincipal": events, "Action": "sqs:SendMessage"}),
                unnamed(),
            ),
            (
                "all but some actions",
                json!({"Sid": "A", "Effect": "Allow", "Principal": "*", "NotAction": "sqs:DeleteQueue"}),
                vec![Opening::Unclear("A".to_owned())],
            ),
            (
                "Karpenter's denial",
                of("Deny", &json!("*"), "sqs:*", Some(json!({"Bool": {"aws:SecureTransport": false}}))),
                vec![],
            ),
        ] {
            // What kibus would write opens nothing, whatever it is called.
            let wanted = json!({"Sid": "KibusTlsOnly", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*",
                "Condition": {"Bool": {"aws:SecureTransport": "false"}}});
            let wanted = Document::new(json!({ "Statement": [wanted] }));
            let policy = Document::new(json!({ "Statement": [statement] }));
            let found = openings(&policy, &wanted, &own.parse().unwrap());
            assert_eq!(found, expected.into_iter().collect(), "{case}");
        }
    }

    const ISSUER: &str = "oidc.eks.us-west-2.amazonaws.com/id/ABC";
    const PROVIDER: &str = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC";
    const SUBJECT: &str = "system:serviceaccount:kube-system:karpenter";

    fn statement(provider: &str, operator: &str, subject: Value) -> Value {
        let keys = json!({ format!("{ISSUER}:sub"): subject, format!("{ISSUER}:aud"): "sts.amazonaws.com" });
        json!({
            "Effect": "Allow",
            "Principal": { "Federated": provider },
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": { operator: keys },
        })
    }

    fn named(statements: Value) -> bool {
        let trust = Document::new(json!({ "Statement": statements }));
        names_service_account(&trust, PROVIDER, "karpenter")
    }

    #[test]
    fn the_subject_names_the_service_account_in_a_namespace() {
        for (operator, subject, expected) in [
            ("StringEquals", json!(SUBJECT), true),
            ("StringEquals", json!(["system:serviceaccount:a:b", SUBJECT]), true),
            ("ForAnyValue:StringEquals", json!(SUBJECT), true),
            ("StringLike", json!(SUBJECT), true),
            ("StringLike", json!("system:serviceaccount:*:karpenter"), true),
            ("StringLike", json!("system:serviceaccount:karp*:karpenter"), true),
            ("StringLikeIfExists", json!(SUBJECT), true),
            ("StringLike", json!("*"), false),
            ("StringLike", json!("system:serviceaccount:*"), false),
            ("StringLike", json!("system:serviceaccount:karpenter:*"), false),
            ("StringLike", json!("*:karpenter"), false),
            ("StringEquals", json!("system:serviceaccount:*:karpenter"), false),
            ("StringEquals", json!("system:serviceaccount::karpenter"), false),
            ("StringEquals", json!("system:serviceaccount:kube-system:karpenter-2"), false),
            ("StringNotEquals", json!(SUBJECT), false),
            ("Null", json!(true), false),
        ] {
            let statement = statement(PROVIDER, operator, subject);
            assert_eq!(named(json!(statement)), expected, "{statement}");
        }
    }

    #[test]
    fn only_the_provider_of_the_cluster_counts() {
        let account = "arn:aws:iam::111122223333:oidc-provider";
        for (provider, expected) in [
            (PROVIDER.to_owned(), true),
            (format!("{account}/oidc.eks.us-west-2.amazonaws.com/id/ABCD"), false),
            (PROVIDER.replace("111122223333", "444455556666"), false),
            (PROVIDER.replace("arn:aws:", "arn:aws-cn:"), false),
            (PROVIDER.replace("arn:aws:", "arn:aws-us-gov:"), false),
        ] {
            assert_eq!(named(json!([statement(&provider, "StringEquals", json!(SUBJECT))])), expected, "{provider}");
        }
    }

    #[test]
    fn only_an_allowed_web_identity_counts() {
        let allowed = statement(PROVIDER, "StringEquals", json!(SUBJECT));
        let with = |member: &str, value: Value| {
            let mut statement = allowed.clone();
            statement[member] = value;
            statement
        };
        for (statement, expected) in [
            (with("Action", json!(["sts:TagSession", "sts:AssumeRoleWithWebIdentity"])), true),
            (with("Action", json!("sts:*")), true),
            (with("Action", json!("sts:AssumeRole")), false),
            (with("Effect", json!("Deny")), false),
            (with("Principal", json!("*")), false),
            (with("Condition", json!({})), false),
            (with("Condition", json!("odd")), false),
        ] {
            assert_eq!(named(json!([statement])), expected, "{statement}");
        }
    }

    #[test]
    fn patterns_match_as_in_iam() {
        for (pattern, text, same) in [
            ("a", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c*", "abcd", true),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("*", "", true),
            ("a*b", "a", false),
            ("a*bc", "abbc", true),
        ] {
            assert_eq!(matches(pattern, text), same, "{pattern} {text}");
        }
    }
}
