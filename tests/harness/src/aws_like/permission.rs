//! What a function may do with queues, as its role's policies say.

use serde_json::Value;

use super::At;
use super::Behavior::{I1, S14};
use super::call::Caller;
use super::iam::statements;
use super::reply::Reply;
use super::sqs::arn;

/// The Regions without conditions on the tags of queues. The last one is new: kibus does not know it.
const WITHOUT_TAGS: [&str; 5] = ["ap-south-2", "ap-southeast-4", "eu-south-2", "eu-central-2", "eu-west-9"];

/// The refusal of a function's call, if its permissions are too new, or in a Region that ignores statements with
/// conditions on tags.
pub(super) async fn denied(at: &At<'_>, queue: &str) -> Option<Reply> {
    if at.like.0.iam.denies_function(at) {
        at.strike(I1);
        return Some(refusal(at, queue));
    }
    if !at.is_on(S14) || !WITHOUT_TAGS.contains(&at.call.region.as_str()) {
        return None;
    }
    let action = format!("sqs:{}", at.call.operation.trim_end_matches("Batch"));
    for role in at.like.0.lambda.roles(at) {
        let statements = statements(at, &role).await;
        if statements.iter().any(|statement| allows(statement, &action, &arn(at, queue))) {
            return None;
        }
    }
    at.strike(S14);
    Some(refusal(at, queue))
}

/// What SQS answers without permission.
pub(super) fn refusal(at: &At<'_>, queue: &str) -> Reply {
    let (action, arn) = (at.call.operation.to_lowercase(), arn(at, queue));
    let who = match at.call.caller {
        Caller::Client => format!("arn:aws:iam::{}:user/operator", at.call.account),
        Caller::Function => format!("arn:aws:sts::{}:assumed-role/router/router", at.call.account),
    };
    let why = format!("because no identity-based policy allows the sqs:{action} action");
    let message = format!("User: {who} is not authorized to perform: sqs:{action} on resource: {arn} {why}");
    Reply::sqs_error(403, "AccessDeniedException", "AccessDenied", &message)
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
