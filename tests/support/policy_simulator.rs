//! IAM's policy simulator for a caller with one document, because the emulator's ignores the context and all resources but
//! the first. It evaluates conditions with the context of the request. Only with an implicit denial, it lists every condition key of
//! the document for which the request has no value. An explicit one names the policy. It refuses some actions together.

use std::collections::{BTreeMap, BTreeSet};

use kibus::iam::grants::{matches, matches_action};
use serde_json::{Value, json};

/// What decides about the caller.
#[derive(Clone, Debug)]
pub(crate) struct PolicySimulator {
    /// The caller's only policy.
    document: Value,
    /// The actions that the organization does not allow.
    organization: BTreeSet<String>,
    /// The actions that the caller's permissions boundary does not allow.
    boundary: BTreeSet<String>,
    /// The actions that it takes alone only.
    alone: BTreeSet<String>,
}

/// The statements that a scenario adds are of this policy.
const GUARD: &str = "guard";

impl PolicySimulator {
    pub(crate) fn new(document: Value) -> Self {
        Self { document, organization: BTreeSet::new(), boundary: BTreeSet::new(), alone: BTreeSet::new() }
    }

    /// Changes what decides about an action: `lacks`, `organization`, `boundary`, `alone`, or a new statement that `denies` or
    /// `allows` it, perhaps only `without` or `with` a condition key.
    pub(crate) fn change(&mut self, words: &[&str]) {
        let statements = self.document["Statement"].as_array_mut().unwrap();
        match *words {
            ["lacks", action] => {
                for actions in statements.iter_mut().filter_map(|one| one["Action"].as_array_mut()) {
                    actions.retain(|one| one != action);
                }
            }
            [effect @ ("denies" | "allows"), action, ref condition @ ..] => {
                let condition = match *condition {
                    [] => json!({}),
                    ["with", key] => json!({"StringEquals": {key: "x"}}),
                    ["without", key] => json!({"StringNotEquals": {key: "x"}}),
                    _ => panic!("what is `policy {}`?", words.join(" ")),
                };
                let effect = if effect == "denies" { "Deny" } else { "Allow" };
                statements.push(json!({
                    "Effect": effect, "Action": action, "Resource": "*", "Condition": condition,
                }));
            }
            ["alone", action] => drop(self.alone.insert(action.to_owned())),
            ["organization", action] => drop(self.organization.insert(action.to_owned())),
            ["boundary", action] => drop(self.boundary.insert(action.to_owned())),
            _ => panic!("what is `policy {}`?", words.join(" ")),
        }
    }

    /// The answer to a call of `SimulatePrincipalPolicy`, given as a form, or the message of a refusal.
    pub(crate) fn answer(&self, form: &[u8]) -> Result<String, &'static str> {
        let form = std::str::from_utf8(form).unwrap();
        let decode = |text: &str| urlencoding::decode(text).unwrap().into_owned();
        let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
        let form: BTreeMap<String, String> = pairs.map(|(key, value)| (decode(key), decode(value))).collect();
        let list = |name: &str| -> Vec<String> {
            let values = (1..).map_while(|at| form.get(&format!("{name}.member.{at}")));
            values.cloned().collect()
        };
        let names = (1..).map_while(|at| form.get(&format!("ContextEntries.member.{at}.ContextKeyName")));
        let context: BTreeMap<String, Vec<String>> = names
            .enumerate()
            .map(|(at, name)| {
                let values = list(&format!("ContextEntries.member.{}.ContextKeyValues", at + 1));
                (name.clone(), values)
            })
            .collect();
        let missing: String = self
            .keys()
            .difference(&context.keys().cloned().collect())
            .map(|key| format!("<member>{key}</member>"))
            .collect();
        let actions = list("ActionNames");
        if actions.len() > 1 && actions.iter().any(|action| self.alone.contains(action)) {
            return Err("The actions require different authorization information.");
        }
        let results: String =
            actions.iter().map(|action| self.result(action, &list("ResourceArns"), &context, &missing)).collect();
        Ok(format!(
            "<SimulatePrincipalPolicyResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
             <SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated>\
             <EvaluationResults>{results}</EvaluationResults></SimulatePrincipalPolicyResult>\
             </SimulatePrincipalPolicyResponse>"
        ))
    }

    /// One result for an action, with a part for each resource.
    fn result(
        &self,
        action: &str,
        resources: &[String],
        context: &BTreeMap<String, Vec<String>>,
        missing: &str,
    ) -> String {
        let (organization, boundary) = (!self.organization.contains(action), !self.boundary.contains(action));
        let decide = |resource: &String| match self.decide(action, resource, context) {
            "allowed" if !organization || !boundary => "implicitDeny",
            decision => decision,
        };
        let strictest = ["explicitDeny", "implicitDeny", "allowed"];
        let decisions: Vec<&str> = resources.iter().map(decide).collect();
        let whole = strictest.iter().find(|decision| decisions.contains(decision)).unwrap();
        let parts = resources.iter().zip(&decisions).map(|(resource, decision)| {
            let missing = match *decision {
                "implicitDeny" if organization && boundary => missing,
                _ => "",
            };
            let matched = match *decision {
                "explicitDeny" => format!("<member><SourcePolicyId>{GUARD}</SourcePolicyId></member>"),
                _ => String::new(),
            };
            format!(
                "<member><EvalResourceName>{resource}</EvalResourceName>\
                 <EvalResourceDecision>{decision}</EvalResourceDecision>\
                 <PermissionsBoundaryDecisionDetail>\
                 <AllowedByPermissionsBoundary>{boundary}</AllowedByPermissionsBoundary>\
                 </PermissionsBoundaryDecisionDetail>\
                 <MatchedStatements>{matched}</MatchedStatements>\
                 <MissingContextValues>{missing}</MissingContextValues></member>"
            )
        });
        format!(
            "<member><EvalActionName>{action}</EvalActionName><EvalResourceName>*</EvalResourceName>\
             <EvalDecision>{whole}</EvalDecision>\
             <OrganizationsDecisionDetail><AllowedByOrganizations>{organization}</AllowedByOrganizations>\
             </OrganizationsDecisionDetail>\
             <ResourceSpecificResults>{}</ResourceSpecificResults></member>",
            parts.collect::<String>()
        )
    }

    pub(crate) fn decide(&self, action: &str, resource: &str, context: &BTreeMap<String, Vec<String>>) -> &'static str {
        let applies = |statement: &&Value| {
            texts(&statement["Action"]).iter().any(|pattern| matches_action(pattern, action))
                && texts(&statement["Resource"]).iter().any(|pattern| matches(pattern, resource))
                && conditions(statement)
                    .all(|(operator, key, values)| holds(operator, context.get(key).map(Vec::as_slice), &values))
        };
        let statements = self.document["Statement"].as_array().unwrap();
        let effects: Vec<&str> = statements.iter().filter(applies).map(|one| one["Effect"].as_str().unwrap()).collect();
        match (effects.contains(&"Deny"), effects.contains(&"Allow")) {
            (true, _) => "explicitDeny",
            (false, true) => "allowed",
            (false, false) => "implicitDeny",
        }
    }

    /// The condition keys of the document.
    fn keys(&self) -> BTreeSet<String> {
        let statements = self.document["Statement"].as_array().unwrap();
        statements.iter().flat_map(conditions).map(|(_, key, _)| key.to_owned()).collect()
    }
}

/// The conditions of a statement: operator, key and values.
fn conditions(statement: &Value) -> impl Iterator<Item = (&str, &str, Vec<&str>)> {
    let operators = statement["Condition"].as_object().into_iter().flatten();
    operators.flat_map(|(operator, keys)| {
        let keys = keys.as_object().unwrap().iter();
        keys.map(move |(key, values)| (operator.as_str(), key.as_str(), texts(values)))
    })
}

/// Whether a condition holds for the values of its key in a request.
fn holds(operator: &str, has: Option<&[String]>, wanted: &[&str]) -> bool {
    let (if_exists, operator) = match operator.strip_suffix("IfExists") {
        Some(operator) => (true, operator),
        None => (false, operator),
    };
    let (for_all, operator) = match operator.strip_prefix("ForAllValues:") {
        Some(operator) => (true, operator),
        None => (false, operator),
    };
    let fits = |value: &String| match operator {
        "StringEquals" | "Bool" => wanted.contains(&value.as_str()),
        "StringLike" | "ArnLike" | "ArnEquals" => wanted.iter().any(|pattern| matches(pattern, value)),
        "StringNotEquals" => !wanted.contains(&value.as_str()),
        _ => panic!("what is the operator {operator}?"),
    };
    match (operator, has) {
        ("Null", has) => wanted == [if has.is_none() { "true" } else { "false" }],
        (_, Some(has)) if for_all => has.iter().all(fits),
        (_, Some(has)) => has.iter().any(fits),
        (negated, None) => if_exists || for_all || negated.contains("Not"),
    }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}
