//! An operator's document within the limit of a managed policy: shortened, or in parts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::document::{Document, texts};
use crate::model::inline_policy::space;

/// Maximum number of characters in a managed policy, without white space (IAM user guide, "IAM and AWS STS quotas").
const MANAGED_POLICY: usize = 6_144;

/// Patterns of actions, each with every action that AWS has for it (Service Authorization Reference). In actions, case does not
/// count.
pub(super) const PATTERNS: [(&str, &[&str]); 11] = [
    ("events:*Targets", &["events:PutTargets", "events:RemoveTargets"]),
    ("events:*tagResource", &["events:TagResource", "events:UntagResource"]),
    ("iam:*tagRole", &["iam:TagRole", "iam:UntagRole"]),
    (
        "lambda:*Alias",
        &[
            "lambda:CreateAlias",
            "lambda:DeleteAlias",
            "lambda:GetAlias",
            "lambda:UpdateAlias",
        ],
    ),
    (
        "lambda:*eFunction",
        &[
            "lambda:CreateFunction",
            "lambda:DeleteFunction",
            "lambda:InvokeFunction",
        ],
    ),
    ("lambda:*tagResource", &["lambda:TagResource", "lambda:UntagResource"]),
    (
        "lambda:UpdateFunctionCo*",
        &["lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration"],
    ),
    ("logs:*tagResource", &["logs:TagResource", "logs:UntagResource"]),
    ("sqs:*eMessage", &["sqs:DeleteMessage", "sqs:ReceiveMessage"]),
    ("sqs:*tagQueue", &["sqs:TagQueue", "sqs:UntagQueue"]),
    (
        "ssm:*Tags*Resource",
        &[
            "ssm:AddTagsToResource",
            "ssm:ListTagsForResource",
            "ssm:RemoveTagsFromResource",
        ],
    ),
];

/// The document, shortened if it is too long for one managed policy.
pub fn fitted(mut policy: Document) -> Document {
    if too_long(&policy).is_some() {
        shorten(&mut policy);
    }
    policy
}

/// Shortens a document without changing what it allows: removes the names of statements, which are for readers only, names
/// actions by patterns, and unites statements without conditions whose actions are of different services. A statement about `*` stays alone: with it,
/// every action of the others would be about everything.
pub(super) fn shorten(policy: &mut Document) {
    let Some(Value::Array(statements)) = policy.value_mut().get_mut("Statement") else {
        return;
    };
    for statement in statements.iter_mut().filter_map(Value::as_object_mut) {
        statement.remove("Sid");
        if let Some(Value::Array(actions)) = statement.get_mut("Action") {
            shorten_actions(actions);
        }
    }
    let (plain, mut short): (Vec<Value>, Vec<Value>) = std::mem::take(statements).into_iter().partition(|statement| {
        let is_plain = statement["Effect"] == "Allow" && statement.get("Condition").is_none();
        is_plain && !texts(statement.get("Resource")).contains(&"*")
    });
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

fn shorten_actions(actions: &mut Vec<Value>) {
    for (pattern, all) in PATTERNS {
        let is_one = |action: &Value| action.as_str().is_some_and(|action| all.contains(&action));
        if actions.iter().filter(|action| is_one(action)).count() == all.len() {
            actions.retain(|action| !is_one(action));
            actions.push(pattern.into());
        }
    }
}

/// The services of the actions of a statement.
fn services(statement: &Value) -> BTreeSet<String> {
    let actions = texts(statement.get("Action")).into_iter();
    actions
        .filter_map(|action| Some(action.split_once(':')?.0.to_owned()))
        .collect()
}

/// The document in parts that each fit into one managed policy. Attached together, they allow what the document allows: every
/// statement is in one part, or its resources are divided among several.
pub fn parts(policy: &Document) -> Vec<Document> {
    let of = |statements: &[Value]| {
        let mut part = policy.clone();
        part.value_mut()["Statement"] = json!(statements);
        part
    };
    let fits = |statements: &[Value]| too_long(&of(statements)).is_none();
    let mut waiting: Vec<Value> = policy.statements().into_iter().rev().cloned().collect();
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    while let Some(statement) = waiting.pop() {
        part.push(statement);
        if fits(&part) {
            continue;
        }
        if let Some(last) = part.pop() {
            match (part.is_empty(), halves(&last)) {
                (true, Some((first, second))) => waiting.extend([second, first]),
                // A statement about one resource cannot be divided.
                (true, None) => parts.push(of(&[last])),
                (false, _) => {
                    parts.push(of(&part));
                    part.clear();
                    waiting.push(last);
                }
            }
        }
    }
    if !part.is_empty() {
        parts.push(of(&part));
    }
    parts
}

/// A statement as two, each about half of its resources.
fn halves(statement: &Value) -> Option<(Value, Value)> {
    let resources = statement.get("Resource")?.as_array()?;
    let (first, second) = resources.split_at(resources.len() / 2);
    let about = |resources: &[Value]| {
        let mut half = statement.clone();
        half["Resource"] = json!(resources);
        half
    };
    (!first.is_empty()).then(|| (about(first), about(second)))
}

/// How many characters too long a document is for one managed policy, if it is.
pub fn too_long(document: &Document) -> Option<usize> {
    let over = space(&document.compact()).checked_sub(MANAGED_POLICY);
    over.filter(|over| *over > 0)
}
