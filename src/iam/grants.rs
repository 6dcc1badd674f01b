//! What a policy grants, as far as kibus needs to know: who can send to a queue, whether EventBridge and CloudWatch can
//! use a key or a topic, and which Kubernetes service accounts can assume a role. One evaluator judges requests; what
//! it cannot judge is unclear.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{
    AccountId, Document, Scope,
    calls::{kms, sns, sqs, sts},
    policy::{is_ours, statements_of_others},
    principals, texts,
};

/// How certainly something applies to a request, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applies {
    No,
    Unclear,
    Yes,
}

impl From<bool> for Applies {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// The caller.
#[derive(Clone, Copy)]
enum Who<'a> {
    Service(&'a str),
    /// A principal of any account.
    Anyone,
}

/// The value of a condition key in a request.
#[derive(Clone, Copy)]
enum Known<'a> {
    /// One of these values; `None` for a request without the key.
    OneOf(&'a [Option<&'a str>]),
    /// An account or ARN other than this account's, or no value.
    NotOf(&'a AccountId),
}

struct Request<'a> {
    who: Who<'a>,
    action: &'a str,
    /// The known condition keys, in lower case. A condition on another key is unclear.
    keys: &'a [(&'a str, Known<'a>)],
}

/// How certainly a statement of a resource's policy allows a request, and how certainly one denies it.
fn decide(policy: &Document, request: &Request<'_>) -> [Applies; 2] {
    let statements = policy.statements();
    ["Allow", "Deny"].map(|effect| {
        let with_effect = statements.iter().filter(|statement| statement["Effect"] == effect);
        with_effect.map(|statement| applies(statement, request)).max().unwrap_or(Applies::No)
    })
}

/// All parts of a statement must apply.
fn applies(statement: &Value, request: &Request<'_>) -> Applies {
    // `NotPrincipal` means everyone else.
    let principal = match (statement.get("Principal"), statement.get("NotPrincipal")) {
        (Some(who), None) => names(who, request.who).map_or(Applies::Unclear, Applies::from),
        (None, Some(who)) => names(who, request.who).map_or(Applies::Unclear, |named| (!named).into()),
        _ => Applies::Unclear,
    };
    let action = match statement.get("Action") {
        Some(_) => has_action(statement, request.action).into(),
        None => Applies::Unclear,
    };
    principal.min(action).min(conditions(statement, request.keys))
}

/// Whether a principal is this caller or everyone; `None` if it cannot be read.
fn names(principal: &Value, who: Who<'_>) -> Option<bool> {
    match principal {
        Value::String(principal) => Some(principal == "*"),
        Value::Object(principal) => {
            let is = |kind: &str, name: &str| texts(principal.get(kind)).contains(&name);
            let is_service = |service| is("Service", service) || is("Service", "*");
            Some(is("AWS", "*") || matches!(who, Who::Service(service) if is_service(service)))
        }
        _ => None,
    }
}

/// Whether the conditions of a statement hold.
fn conditions(statement: &Value, known: &[(&str, Known<'_>)]) -> Applies {
    let operators = match statement.get("Condition") {
        None => return Applies::Yes,
        Some(Value::Object(operators)) => operators,
        Some(_) => return Applies::Unclear,
    };
    let of_operator = |(operator, keys): (&String, &Value)| {
        let of_key = |(key, values): (&String, &Value)| {
            let found = known.iter().find(|(name, _)| key.eq_ignore_ascii_case(name));
            found.map_or(Applies::Unclear, |(_, known)| holds(operator, &texts(Some(values)), *known))
        };
        keys.as_object().and_then(|keys| keys.iter().map(of_key).min()).unwrap_or(Applies::Unclear)
    };
    operators.iter().map(of_operator).min().unwrap_or(Applies::Yes)
}

/// Whether a condition with these values holds. A negative operator also holds for a request without the key (IAM user guide, "IAM
/// JSON policy elements: Condition operators").
fn holds(operator: &str, values: &[&str], known: Known<'_>) -> Applies {
    let (compares, negates): (fn(&str, &str) -> bool, bool) = match operator {
        "StringEquals" | "Bool" => (|value, text| value == text, false),
        "StringNotEquals" => (|value, text| value == text, true),
        "ArnEquals" | "ArnLike" | "StringLike" => (matches, false),
        "ArnNotEquals" | "ArnNotLike" | "StringNotLike" => (matches, true),
        _ => return Applies::Unclear,
    };
    match known {
        _ if values.is_empty() => Applies::Unclear,
        Known::OneOf(possible) => {
            let fits = |text: &str| values.iter().any(|value| compares(value, text));
            let held = possible.iter().filter(|text| text.is_some_and(fits) != negates).count();
            // AWS compares each of the six parts of an ARN, and does not document what a pattern with fewer parts matches.
            let is_part = |value: &&&str| operator.starts_with("Arn") && value.matches(':').count() < 5;
            let mut parts = values.iter().filter(is_part);
            match held {
                _ if parts.any(|value| possible.iter().flatten().any(|text| compares(value, text))) => Applies::Unclear,
                0 => Applies::No,
                all if all == possible.len() => Applies::Yes,
                _ => Applies::Unclear,
            }
        }
        Known::NotOf(account) => {
            let is_of_account =
                |value: &&str| *value == account.as_str() || value.split(':').nth(4) == Some(account.as_str());
            if !negates && values.iter().all(is_of_account) { Applies::No } else { Applies::Unclear }
        }
    }
}

const WITH_TLS: Known<'_> = Known::OneOf(&[Some("true")]);

/// Whether a policy lets a service do what it needs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetsIn {
    Yes,
    No(BTreeSet<&'static str>),
    /// The answer depends on a condition that kibus does not evaluate.
    Unclear,
}

/// The purpose for which a service needs a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Rules send to queues encrypted with the key.
    RulesUseKey,
    /// Alarms publish to a topic encrypted with the key.
    AlarmsUseKey,
    /// Alarms publish to the topic.
    AlarmsPublish,
}

/// Whether a policy lets a service in for these resources, the rules or alarms of an account. To send messages
/// encrypted with a key, it needs two actions on the key (SQS developer guide, "Key management"; SNS developer guide,
/// "Managing Amazon SNS encryption keys and costs").
pub fn lets_in(policy: &Document, need: Need, scope: &Scope, sources: &[String]) -> LetsIn {
    let account = [Some(scope.account.as_str())];
    // It is not documented whether a service's request has the key.
    let (services, absent) = (scope.sqs_services(), [None]);
    let via: Vec<Option<&str>> = services.iter().map(|service| Some(service.as_str())).chain(absent).collect();
    let mut keys = vec![("aws:sourceaccount", Known::OneOf(&account))];
    let (service, actions): (_, &[_]) = match need {
        Need::RulesUseKey => {
            keys.push(("kms:viaservice", Known::OneOf(&via)));
            ("events.amazonaws.com", &[kms::DECRYPT, kms::GENERATE_DATA_KEY])
        }
        Need::AlarmsUseKey => ("cloudwatch.amazonaws.com", &[kms::DECRYPT, kms::GENERATE_DATA_KEY]),
        Need::AlarmsPublish => {
            // SNS provides the owner, and names it in the policy of each new topic.
            keys.extend([("aws:sourceowner", Known::OneOf(&account)), ("aws:securetransport", WITH_TLS)]);
            ("cloudwatch.amazonaws.com", &[sns::PUBLISH])
        }
    };
    let (mut missing, mut unclear) = (BTreeSet::new(), false);
    for source in sources {
        let source = [Some(source.as_str())];
        let keys = [keys.as_slice(), &[("aws:sourcearn", Known::OneOf(&source))]].concat();
        for &action in actions {
            match decide(policy, &Request { who: Who::Service(service), action, keys: &keys }) {
                [Applies::Yes, Applies::No] => {}
                [Applies::No, _] | [_, Applies::Yes] => drop(missing.insert(action)),
                _ => unclear = true,
            }
        }
    }
    match (missing.is_empty(), unclear) {
        (false, _) => LetsIn::No(missing),
        (true, true) => LetsIn::Unclear,
        (true, false) => LetsIn::Yes,
    }
}

/// Whom the policy of a queue allows to send, in other owners' statements. A `NotAction` statement may allow it, too.
pub fn other_senders(policy: &Document) -> BTreeSet<String> {
    let statements = policy.statements().into_iter();
    let of_others = statements.filter(|statement| allows_to_send(statement) && !is_ours(statement));
    of_others.flat_map(principals).map(str::to_owned).collect()
}

/// What the policy of a queue allows, or may allow, beyond what kibus would write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// A principal that is neither a service nor in the account can use the queue.
    Foreign(String),
    /// A service can send on behalf of any account.
    Service(String),
    /// A statement whose effect on the router, the controller or others is unknown.
    Unclear(String),
}

/// What the policy of a queue allows beyond `wanted`. What cannot be judged is unclear, and never skipped.
pub fn openings(policy: &Document, wanted: &Document, account: &AccountId) -> BTreeSet<Opening> {
    let others = statements_of_others(policy, wanted).into_iter();
    others.flat_map(|statement| opening(statement, account)).collect()
}

fn opening(statement: &Value, account: &AccountId) -> Vec<Opening> {
    const USES: [&str; 4] = [sqs::SEND_MESSAGE, sqs::RECEIVE_MESSAGE, sqs::DELETE_MESSAGE, sqs::GET_QUEUE_URL];
    let sid = statement["Sid"].as_str().filter(|sid| !sid.is_empty()).unwrap_or("a statement without a Sid");
    let is_negative = ["NotAction", "NotPrincipal", "NotResource"].iter().any(|member| statement.get(member).is_some());
    let uses = is_negative || USES.iter().any(|action| has_action(statement, action));
    if !uses {
        return Vec::new();
    }
    if statement["Effect"] != "Allow" || is_negative {
        return vec![Opening::Unclear(sid.to_owned())];
    }
    let is_service = |who: &str| who.ends_with(".amazonaws.com") || who.ends_with(".amazonaws.com.cn");
    let is_own = |who: &str| who == account.as_str() || who.split(':').nth(4) == Some(account.as_str());
    let keys = [
        ("aws:securetransport", WITH_TLS),
        ("aws:sourceaccount", Known::NotOf(account)),
        ("aws:sourcearn", Known::NotOf(account)),
    ];
    let opens = conditions(statement, &keys);
    let others = principals(statement).into_iter().filter(|who| !is_own(who));
    let opening = |who: &str| match opens {
        Applies::No => None,
        Applies::Yes if is_service(who) => Some(Opening::Service(who.to_owned())),
        Applies::Yes => Some(Opening::Foreign(who.to_owned())),
        Applies::Unclear => Some(Opening::Unclear(format!("{sid}, which allows {who} under conditions"))),
    };
    others.filter_map(opening).collect()
}

/// Whether the policy of a queue lets everyone send without a lock that denies it.
pub fn lets_anyone_send(policy: &Document) -> bool {
    let keys = [
        ("aws:principalarn", Known::OneOf(&[Some("arn:aws:iam::000000000000:root")])),
        ("aws:principalisawsservice", Known::OneOf(&[Some("false")])),
        ("aws:securetransport", WITH_TLS),
    ];
    let [allows, denies] = decide(policy, &Request { who: Who::Anyone, action: sqs::SEND_MESSAGE, keys: &keys });
    allows == Applies::Yes && denies != Applies::Yes
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
/// guide, "Assign IAM roles to Kubernetes service accounts"). A policy for every service account does not name any.
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

/// The subjects that the conditions of a statement compare with, and whether these are patterns.
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

/// Whether an action matches a pattern; actions are not case-sensitive.
fn matches_action(pattern: &str, action: &str) -> bool {
    matches(&pattern.to_lowercase(), &action.to_lowercase())
}

/// Whether a text matches a pattern with `*` for any characters and `?` for any one, as in IAM policies.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The position of the last `*`, and how far it has consumed the text.
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
mod tests;
