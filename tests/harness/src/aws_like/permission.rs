//! What a function is allowed to do, according to its role's policies.

use serde_json::Value;

use super::At;
use super::Behavior::S14;
use super::iam::elements;
use super::reply::Reply;
use crate::call::{Caller, decoded};

/// The Regions without conditions on the tags of queues. The last one is new, so kibus does not know it.
const WITHOUT_TAGS: [&str; 5] = ["ap-south-2", "ap-southeast-4", "eu-south-2", "eu-central-2", "eu-west-9"];

/// Whether a function's call is refused: its permissions are too new, or in a Region that ignores statements with conditions on tags.
pub(super) async fn is_denied(at: &At<'_>, queue: &str) -> bool {
    if at.like.0.iam.denies_function(at) {
        return true;
    }
    if !at.is_on(S14) || !WITHOUT_TAGS.contains(&at.call.region.as_str()) {
        return false;
    }
    let (action, arn) = (format!("sqs:{}", at.call.operation.trim_end_matches("Batch")), at.arn("sqs", queue));
    for role in at.like.0.lambda.roles(at) {
        if statements(at, &role).await.iter().any(|statement| allows(statement, &action, &arn)) {
            return false;
        }
    }
    at.strikes_if(S14, true)
}

/// The refusal of a function's DescribeTags, if its permissions are too new.
pub(super) fn of_tags(at: &At<'_>) -> Option<Reply> {
    let is_meant = at.call.operation == "DescribeTags" && at.call.caller == Caller::Function;
    (is_meant && at.like.0.iam.denies_function(at))
        .then(|| at.refuse(403, "UnauthorizedOperation", "You are not authorized to perform this operation."))
}

/// SQS's answer without permission.
pub(super) fn refusal(at: &At<'_>, queue: &str) -> Reply {
    let (action, arn) = (at.call.operation.to_lowercase(), at.arn("sqs", queue));
    let who = match at.call.caller {
        Caller::Client => format!("arn:aws:iam::{}:user/operator", at.call.account),
        Caller::Function => format!("arn:aws:sts::{}:assumed-role/router/router", at.call.account),
    };
    let why = format!("because no identity-based policy allows the sqs:{action} action");
    let message = format!("User: {who} is not authorized to perform: sqs:{action} on resource: {arn} {why}");
    at.refuse(403, "AccessDenied", &message)
}

/// The statements of a role's inline policies.
async fn statements(at: &At<'_>, role: &str) -> Vec<Value> {
    let role = role.rsplit('/').next().unwrap_or_default();
    let names = at.ask_iam(format!("Action=ListRolePolicies&RoleName={role}")).await;
    let mut statements = Vec::new();
    for name in elements(&names, "member") {
        let policy = at.ask_iam(format!("Action=GetRolePolicy&RoleName={role}&PolicyName={name}")).await;
        for document in elements(&policy, "PolicyDocument") {
            let document: Value = serde_json::from_str(&decoded(&document)).unwrap_or_default();
            statements.extend(document["Statement"].as_array().cloned().unwrap_or_default());
        }
    }
    statements
}

/// Whether a statement allows an action on a queue, where conditions on its tags never hold.
fn allows(statement: &Value, action: &str, arn: &str) -> bool {
    let one_of = |member: &str, text: &str| {
        let one = std::slice::from_ref(&statement[member]);
        let all = statement[member].as_array().map_or(one, Vec::as_slice);
        all.iter().any(|pattern| pattern.as_str().is_some_and(|pattern| is_like(text, pattern)))
    };
    let has_tags = statement["Condition"].to_string().contains("aws:ResourceTag/");
    statement["Effect"] == "Allow" && !has_tags && one_of("Action", action) && one_of("Resource", arn)
}

/// Whether a text matches a pattern with `*`.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => text == pattern,
        Some((before, after)) => {
            text.strip_prefix(before).is_some_and(|rest| (0..=rest.len()).any(|at| is_like(&rest[at..], after)))
        }
    }
}
