//! What a policy opens, as far as kibus asks: who may send to a queue, which queues may be received from, and which Kubernetes
//! service accounts may assume a role.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{
    Document,
    calls::{kms, sqs, sts},
    policy::{is_locked, is_ours},
    principals, texts,
};

/// The ARNs of the queues that a policy allows to receive from, with their wildcards. The resource `*` names no queue.
pub fn queues_received_from(policy: &Document) -> BTreeSet<String> {
    policy
        .statements()
        .into_iter()
        .filter(|statement| statement["Effect"] == "Allow" && has_action(statement, sqs::RECEIVE_MESSAGE))
        .flat_map(|statement| texts(statement.get("Resource")))
        .filter(|arn| arn.split(':').nth(2) == Some("sqs"))
        .map(str::to_owned)
        .collect()
}

/// What a Karpenter controller does with its queue.
const RECEIVES: [&str; 3] = [sqs::DELETE_MESSAGE, sqs::GET_QUEUE_URL, sqs::RECEIVE_MESSAGE];

/// Whether the policy of a queue, by its ARN, lets a role of its account use the queue as a Karpenter controller does. Within an
/// account that is enough, unless another policy denies it or a permissions boundary limits the role (IAM user guide, "Policy
/// evaluation for requests within a single account").
pub fn lets_role_receive(policy: &Document, queue: &str, role: &str) -> bool {
    lets_role(policy, &RECEIVES, RoleCall { role, on: queue, via: &[] })
}

/// Whether the policy of a key, by its ARN, itself lets a role decrypt through a service that has these names.
pub fn lets_role_decrypt(policy: &Document, key: &str, role: &str, via: &[String]) -> bool {
    lets_role(policy, &[kms::DECRYPT], RoleCall { role, on: key, via })
}

/// A call by a role, on a resource and through a service.
#[derive(Clone, Copy)]
struct RoleCall<'a> {
    role: &'a str,
    on: &'a str,
    via: &'a [String],
}

/// Whether the policy allows every action and denies none, by the statements that certainly apply.
fn lets_role(policy: &Document, actions: &[&str], call: RoleCall<'_>) -> bool {
    let statements = policy.statements();
    let says = |effect: &str, action: &str| {
        let of_effect = |statement: &&&Value| statement["Effect"] == effect;
        let mut all = statements.iter().filter(of_effect);
        all.any(|statement| applies_to_role(statement, action, call))
    };
    actions.iter().all(|action| says("Allow", action) && !says("Deny", action))
}

fn applies_to_role(statement: &Value, action: &str, call: RoleCall<'_>) -> bool {
    // An account that is allowed decides by its identity policies. One that is denied is denied with its roles.
    let is_denied_account = |name: &str| {
        let account = call.role.split(':').nth(4);
        let names_account = Some(name) == account || (name.ends_with(":root") && name.split(':').nth(4) == account);
        statement["Effect"] == "Deny" && names_account
    };
    let names = |who: &Value| {
        let of_aws = texts(who.get("AWS").or(Some(who)));
        let names_it = |name: &&str| *name == "*" || *name == call.role || is_denied_account(name);
        of_aws.iter().any(names_it)
    };
    let is_one_of = |member: &str, not_member: &str, is: &dyn Fn(&str) -> bool| {
        let any = |value: &Value| texts(Some(value)).into_iter().any(is);
        let (of, but) = (statement.get(member), statement.get(not_member));
        of.is_some_and(any) || but.is_some_and(|but| !any(but))
    };
    let principal = statement.get("Principal").is_some_and(names);
    let all_but = statement.get("NotPrincipal").is_some_and(|who| !names(who));
    let conditions = statement["Condition"].as_object();
    (principal || all_but)
        && is_one_of("Action", "NotAction", &|pattern| matches_action(pattern, action))
        && is_one_of("Resource", "NotResource", &|pattern| matches(pattern, call.on))
        && conditions.is_none_or(|all| all.iter().all(|(operator, keys)| holds_for_role(operator, keys, call)))
}

/// Whether a condition certainly holds for the sessions of a role.
fn holds_for_role(operator: &str, keys: &Value, call: RoleCall<'_>) -> bool {
    let (is, wanted): (fn(&str, &str) -> bool, _) = match operator {
        "StringEquals" | "Bool" => (|value, text| value == text, true),
        "ArnEquals" | "StringLike" | "ArnLike" => (matches, true),
        "StringNotEquals" => (|value, text| value == text, false),
        "ArnNotEquals" | "StringNotLike" | "ArnNotLike" => (matches, false),
        _ => return false,
    };
    let account = call.role.split(':').nth(4).unwrap_or_default();
    keys.as_object().into_iter().flatten().all(|(key, values)| {
        let any = |text: &str| texts(Some(values)).iter().any(|value| is(value, text)) == wanted;
        match key.to_lowercase().as_str() {
            "aws:principalarn" => any(call.role),
            "aws:principalaccount" | "kms:calleraccount" => any(account),
            "aws:principalisawsservice" => any("false"),
            "aws:securetransport" => any("true"),
            "kms:viaservice" => call.via.iter().any(|name| any(name)),
            _ => false,
        }
    })
}

/// Whom the policy of a queue allows to send, in statements of others. One for all but some actions may allow it too.
pub fn other_senders(policy: &Document) -> BTreeSet<String> {
    let statements = policy.statements().into_iter();
    let of_others = statements.filter(|statement| allows_to_send(statement) && !is_ours(statement));
    of_others.flat_map(principals).map(str::to_owned).collect()
}

/// The services that the queue policies of Karpenter's tools let send.
const SERVICES: [&str; 2] = ["events.amazonaws.com", "sqs.amazonaws.com"];

/// What else they let these services do (the CDK's `grantSendMessages`). Both only read, and neither reads a message.
const READS: [&str; 2] = [sqs::GET_QUEUE_ATTRIBUTES, sqs::GET_QUEUE_URL];

/// The statements of others that allow more than a service of Karpenter's tools to send: each by its Sid, or by its principals.
pub fn other_permissions(policy: &Document) -> BTreeSet<String> {
    let statements = policy.statements().into_iter();
    let others = statements.filter(|statement| {
        statement["Effect"] == "Allow" && !is_ours(statement) && !lets_only_services_send(statement)
    });
    let named = others.flat_map(|statement| match statement["Sid"].as_str() {
        Some(sid) if !sid.is_empty() => vec![sid],
        _ => principals(statement),
    });
    named.map(|name| name.escape_debug().to_string()).collect()
}

fn lets_only_services_send(statement: &Value) -> bool {
    let kinds = statement["Principal"].as_object();
    let is_of_services = kinds.is_some_and(|kinds| kinds.keys().eq(["Service"]));
    let is_one_of = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let actions = texts(statement.get("Action"));
    let may = |action: &&str| is_one_of(&[sqs::SEND_MESSAGE], action) || is_one_of(&READS, action);
    let are_known = |principals: Vec<&str>| principals.iter().all(|principal| SERVICES.contains(principal));
    is_of_services
        && statement.get("NotPrincipal").is_none()
        && statement.get("NotAction").is_none()
        && are_known(principals(statement))
        && actions.iter().all(may)
        && has_action(statement, sqs::SEND_MESSAGE)
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
    fn a_policy_names_the_queues_that_it_opens() {
        const Q: &str = "arn:aws:sqs:us-west-2:111122223333:q";
        for (name, statement, named) in [
            ("one action", json!({"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": Q}), true),
            ("a list", json!({"Effect": "Allow", "Action": ["x:y", "SQS:receivemessage"], "Resource": [Q]}), true),
            ("a wildcard", json!({"Effect": "Allow", "Action": "sqs:Rec*", "Resource": Q}), true),
            ("every action", json!({"Effect": "Allow", "Action": "*", "Resource": Q}), true),
            ("another action", json!({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": Q}), false),
            ("a denial", json!({"Effect": "Deny", "Action": "sqs:ReceiveMessage", "Resource": Q}), false),
            ("everything", json!({"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}), false),
            ("no queue", json!({"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::bucket"}), false),
            ("no resource", json!({"Effect": "Allow", "Action": "*", "NotResource": Q}), false),
        ] {
            let queues = queues_received_from(&Document::new(json!({"Statement": [statement]})));
            assert_eq!(queues.contains(Q), named, "{name}");
        }
    }

    #[test]
    fn a_queue_policy_lets_a_role_receive_or_not() {
        const Q: &str = "arn:aws:sqs:us-west-2:111122223333:q";
        const ROLE: &str = "arn:aws:iam::111122223333:role/team/base";
        let actions = json!(["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]);
        let allow = json!({"Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": actions, "Resource": Q});
        let deny = json!({"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": Q});
        let with = |statement: &Value, changes: Value| {
            let mut statement = statement.clone();
            let members = statement.as_object_mut().unwrap();
            members.extend(changes.as_object().unwrap().clone());
            members.retain(|_, value| !value.is_null());
            statement
        };
        let allows = |changes| json!([with(&allow, changes)]);
        let denies = |changes| json!([allow, with(&deny, changes)]);
        let when = |operator: &str, key: &str, value: &str| json!({"Condition": {operator: {key: value}}});
        for (case, statements, lets) in [
            ("the statement", allows(json!({})), true),
            ("no list", allow.clone(), true),
            ("every action", allows(json!({"Action": "SQS:*"})), true),
            ("all but sends", allows(json!({"Action": null, "NotAction": "sqs:SendMessage"})), true),
            ("everyone", allows(json!({"Principal": "*"})), true),
            ("several roles", allows(json!({"Principal": {"AWS": ["arn:aws:iam::1:root", ROLE]}})), true),
            ("all but another role", allows(json!({"Principal": null, "NotPrincipal": {"AWS": "x"}})), true),
            ("its own ARN", allows(when("ArnEquals", "aws:PrincipalArn", ROLE)), true),
            (
                "two statements",
                json!([
                    with(&allow, json!({"Action": "sqs:ReceiveMessage"})),
                    with(&allow, json!({"Action": ["sqs:Delete*", "sqs:GetQueueUrl"]})),
                ]),
                true,
            ),
            ("nothing", json!([]), false),
            ("one action less", allows(json!({"Action": ["sqs:DeleteMessage", "sqs:ReceiveMessage"]})), false),
            ("another path", allows(json!({"Principal": {"AWS": "arn:aws:iam::111122223333:role/base"}})), false),
            ("the id of a deleted role", allows(json!({"Principal": {"AWS": "AROAEXAMPLE"}})), false),
            (
                "the account, which decides by its policies",
                allows(json!({"Principal": {"AWS": "111122223333"}})),
                false,
            ),
            ("a service", allows(json!({"Principal": {"Service": "*"}})), false),
            ("another queue", allows(json!({"Resource": format!("{Q}2")})), false),
            ("another condition", allows(when("StringEquals", "aws:SourceVpc", "vpc-1")), false),
            ("calls without TLS", allows(when("Bool", "aws:SecureTransport", "false")), false),
            ("denied to all", denies(json!({})), false),
            ("one action denied", denies(json!({"Action": "sqs:DeleteMessage"})), false),
            ("denied to the account", denies(json!({"Principal": {"AWS": "arn:aws:iam::111122223333:root"}})), false),
            (
                "denied to all but another",
                denies(when("ArnNotLike", "aws:PrincipalArn", "arn:aws:iam::*:role/x")),
                false,
            ),
            ("denied without TLS", denies(when("Bool", "aws:SecureTransport", "false")), true),
            ("denied to all but it", denies(when("ArnNotLike", "aws:PrincipalArn", ROLE)), true),
            ("denied to another account", denies(json!({"Principal": {"AWS": "999999999999"}})), true),
            ("sends denied", denies(json!({"Action": "sqs:SendMessage"})), true),
            ("denied on what kibus does not evaluate", denies(when("IpAddress", "aws:SourceIp", "10.0.0.0/8")), true),
        ] {
            let policy = Document::new(json!({ "Statement": statements }));
            assert_eq!(lets_role_receive(&policy, Q, ROLE), lets, "{case}");
        }
    }

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
    fn an_adopted_queue_keeps_what_tools_of_karpenter_write() {
        let both = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
        let events = json!({"Service": "events.amazonaws.com"});
        let allow = |principal: &Value, actions: Value| json!({"Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*"});
        let with = |mut statement: Value, member: &str, value: Value| {
            statement[member] = value;
            statement
        };
        let send = json!("sqs:SendMessage");
        for (case, statement, named) in [
            ("Karpenter's template", allow(&both, send.clone()), None),
            ("another case", allow(&events, json!(["SQS:sendmessage"])), None),
            ("the CDK", allow(&events, json!(["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"])), None),
            ("only reads", allow(&events, json!("sqs:GetQueueUrl")), Some("events.amazonaws.com")),
            ("every action", allow(&events, json!("sqs:*")), Some("events.amazonaws.com")),
            (
                "another service",
                allow(&json!({"Service": "sns.amazonaws.com"}), send.clone()),
                Some("sns.amazonaws.com"),
            ),
            ("an account", allow(&json!({"AWS": "999999999999"}), send.clone()), Some("999999999999")),
            (
                "a service and an account",
                allow(&json!({"AWS": "9", "Service": "events.amazonaws.com"}), send.clone()),
                Some("9"),
            ),
            ("everyone", allow(&json!("*"), send.clone()), Some("*")),
            (
                "a reader, by its Sid",
                with(allow(&json!({"AWS": "9"}), json!("sqs:ReceiveMessage")), "Sid", json!("Read")),
                Some("Read"),
            ),
            (
                "all but some actions",
                with(allow(&events, send.clone()), "NotAction", json!("sqs:x")),
                Some("events.amazonaws.com"),
            ),
            (
                "all but some principals",
                json!({"Effect": "Allow", "NotPrincipal": events, "Action": "sqs:SendMessage"}),
                Some("*"),
            ),
            ("a denial", with(allow(&json!("*"), send.clone()), "Effect", json!("Deny")), None),
            ("kibus's own", with(allow(&json!("*"), send.clone()), "Sid", json!("KibusX")), None),
        ] {
            let found = other_permissions(&Document::new(json!({ "Statement": [statement] })));
            assert_eq!(found.contains(named.unwrap_or_default()), named.is_some(), "{case}: {found:?}");
            assert_eq!(found.is_empty(), named.is_none(), "{case}: {found:?}");
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
