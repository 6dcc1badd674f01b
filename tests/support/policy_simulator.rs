//! Whether a document allows a call, with the conditions that the emulator does not evaluate.

use std::collections::BTreeMap;

use kibus::iam::grants::{matches, matches_action};
use serde_json::Value;

/// Whether a policy document allows a request with this context.
pub(crate) fn allows(document: &Value, action: &str, resource: &str, context: &BTreeMap<String, Vec<String>>) -> bool {
    let applies = |statement: &&Value| {
        texts(&statement["Action"]).iter().any(|pattern| matches_action(pattern, action))
            && texts(&statement["Resource"]).iter().any(|pattern| matches(pattern, resource))
            && conditions(statement)
                .all(|(operator, key, values)| holds(operator, context.get(key).map(Vec::as_slice), &values))
    };
    let statements = document["Statement"].as_array().unwrap();
    let effects: Vec<&str> = statements.iter().filter(applies).map(|one| one["Effect"].as_str().unwrap()).collect();
    effects.contains(&"Allow") && !effects.contains(&"Deny")
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
        _ => panic!("what is the operator {operator}?"),
    };
    match (operator, has) {
        ("Null", has) => wanted == [if has.is_none() { "true" } else { "false" }],
        (_, Some(has)) if for_all => has.iter().all(fits),
        (_, Some(has)) => has.iter().any(fits),
        (_, None) => if_exists || for_all,
    }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    }
}
