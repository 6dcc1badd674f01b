//! A policy evaluator for tests. It shares no code with kibus, whose own evaluator it checks (IAM user guide, "Policy evaluation
//! logic" and "IAM JSON policy element reference").

use std::collections::BTreeMap;

use kibus::model::Document;
use serde_json::Value;

/// The condition keys of a request, with their values.
pub(crate) type Context = BTreeMap<String, Vec<String>>;

/// Whether a policy document of a user or a role allows a request with this context.
pub(crate) fn allows(document: &Value, action: &str, resource: &str, context: &Context) -> bool {
    let says = |effect: &str| {
        statements(document)
            .any(|one| one["Effect"] == effect && is_about(one, action, resource) && holds(one, context))
    };
    says("Allow") && !says("Deny")
}

/// A caller of a resource that has a policy, within one account: a principal, a service, or no one for an unsigned request.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    principal: Option<String>,
    service: Option<&'static str>,
    context: Context,
    /// Whether policies of the caller itself allow the request.
    own_policies_allow: bool,
}

impl Caller {
    /// A user, role or root user whose own policies allow everything, by its ARN.
    pub(crate) fn principal(arn: impl Into<String>) -> Self {
        let arn = arn.into();
        let caller = Self { principal: Some(arn.clone()), own_policies_allow: true, ..Self::default() };
        caller
            .with("aws:PrincipalArn", arn)
            .with("aws:PrincipalIsAWSService", "false")
            .with("aws:SecureTransport", "true")
    }

    /// A service that calls for a resource.
    pub(crate) fn service(name: &'static str, source: impl Into<String>) -> Self {
        let caller = Self { service: Some(name), ..Self::default() };
        let caller = caller.with("aws:SourceArn", source);
        caller.with("aws:PrincipalIsAWSService", "true").with("aws:SecureTransport", "true")
    }

    /// The caller, whose own policies allow everything or nothing.
    pub(crate) fn whose_policies_allow(self, own_policies_allow: bool) -> Self {
        Self { own_policies_allow, ..self }
    }

    /// The caller, whose requests also have this condition key.
    pub(crate) fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.context.insert(key.to_owned(), vec![value.into()]);
        self
    }

    /// Whether it can send to the queue with this ARN and this policy.
    pub(crate) fn may_send(&self, queue: &str, policy: &Document) -> bool {
        self.may("sqs:SendMessage", queue, policy.value())
    }

    /// Whether it can do this to the resource with this policy.
    pub(crate) fn may(&self, action: &str, resource: &str, policy: &Value) -> bool {
        let says = |effect: &str| {
            let mut meant = statements(policy).filter(|one| one["Effect"] == effect && self.is_meant(one));
            meant.any(|one| is_about(one, action, resource) && holds(one, &self.context))
        };
        !says("Deny") && (self.own_policies_allow || says("Allow"))
    }

    fn is_meant(&self, statement: &Value) -> bool {
        match statement.get("NotPrincipal") {
            Some(others) => !self.is_named(others, true),
            // If an account is allowed, the policies of its users decide.
            None => self.is_named(&statement["Principal"], statement["Effect"] == "Deny"),
        }
    }

    fn is_named(&self, who: &Value, by_account: bool) -> bool {
        let is_principal = |named: &String| {
            let account = |arn: &str| arn.split(':').nth(4).unwrap_or_default().to_owned();
            let is_whole =
                |own: &String| *named == account(own) || *named == format!("arn:aws:iam::{}:root", account(own));
            named == "*" || self.principal.as_ref().is_some_and(|own| named == own || by_account && is_whole(own))
        };
        let is_service = |named: &String| self.service.is_some_and(|own| named == own);
        *who == "*" || texts(&who["AWS"]).iter().any(is_principal) || texts(&who["Service"]).iter().any(is_service)
    }
}

fn statements(document: &Value) -> impl Iterator<Item = &Value> {
    let one = std::slice::from_ref(&document["Statement"]);
    document["Statement"].as_array().map_or(one, Vec::as_slice).iter()
}

fn is_about(statement: &Value, action: &str, resource: &str) -> bool {
    let names = |member: &str, is: &dyn Fn(&String) -> bool| match statement.get(format!("Not{member}")) {
        Some(others) => !texts(others).iter().any(is),
        None => texts(&statement[member]).iter().any(is),
    };
    names("Action", &|pattern| like(&pattern.to_ascii_lowercase(), &action.to_ascii_lowercase()))
        && names("Resource", &|pattern| like(pattern, resource))
}

/// Whether all conditions of a statement hold.
fn holds(statement: &Value, context: &Context) -> bool {
    let has = |key: &str| context.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, values)| values);
    statement["Condition"].as_object().into_iter().flatten().all(|(operator, keys)| {
        keys.as_object().unwrap().iter().all(|(key, values)| is_met(operator, has(key), &texts(values)))
    })
}

/// Whether a condition is met by the values of its key in a request. An unknown condition fails the test.
fn is_met(operator: &str, has: Option<&Vec<String>>, wanted: &[String]) -> bool {
    let (set, operator) = operator.split_once(':').unwrap_or(("", operator));
    let (operator, if_exists) =
        operator.strip_suffix("IfExists").map_or((operator, false), |operator| (operator, true));
    if operator == "Null" {
        return wanted == [has.is_none().to_string()];
    }
    let (positive, is_negative) = (operator.replacen("Not", "", 1), operator.contains("Not"));
    let compare = |wanted: &String, value: &str| match positive.as_str() {
        "StringEquals" | "Bool" => wanted == value,
        "StringLike" => like(wanted, value),
        "ArnEquals" | "ArnLike" => arn_like(wanted, value),
        _ => panic!("{operator} is not evaluated"),
    };
    let mut each = has.into_iter().flatten().map(|value| wanted.iter().any(|one| compare(one, value)) != is_negative);
    match (has, set) {
        (None, _) => if_exists || set == "ForAllValues" || is_negative && set.is_empty(),
        (Some(_), "ForAllValues") => each.all(|is_met| is_met),
        (Some(_), _) => each.any(|is_met| is_met),
    }
}

/// The ARN operators compare each of the six parts on its own.
fn arn_like(pattern: &str, arn: &str) -> bool {
    let (pattern, arn): (Vec<_>, Vec<_>) = (pattern.splitn(6, ':').collect(), arn.splitn(6, ':').collect());
    pattern.len() == arn.len() && pattern.into_iter().zip(arn).all(|(pattern, part)| like(pattern, part))
}

/// Whether a text matches a pattern with `*` for any characters and `?` for any one.
fn like(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let (rest, mut ends) = (&pattern[first.len_utf8()..], text.char_indices().map(|(at, _)| at).chain([text.len()]));
    match first {
        '*' => ends.any(|at| like(rest, &text[at..])),
        _ => text.chars().next().is_some_and(|c| (first == '?' || first == c) && like(rest, &text[c.len_utf8()..])),
    }
}

/// One text, or several.
fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(text).collect(),
        one => vec![text(one)],
    }
}
