//! The locks of queue policies, in a form that the emulator can evaluate. It does not know `aws:PrincipalIsAWSService`,
//! and its `aws:PrincipalArn` for a role is the ARN of the session, while AWS uses the ARN of the role. So the proxy
//! writes equivalent conditions, and answers with the original ones. The test of the queue policies evaluates the
//! originals.
//!
//! The emulator does not apply queue policies to deliveries by rules, so a condition that every principal meets is
//! equivalent to one that only services do not meet.

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::support::emulator::ACCOUNT;
use crate::support::proxy::{Answer, document};

/// Where a condition names the only role that can send.
const NOT_ROLE: &str = "/ArnNotLike/aws:PrincipalArn";
/// The prefix of all session ARNs.
const SESSIONS: &str = "arn:aws:sts::111122223333:assumed-role/";

/// A request body with the policy in the emulator's form, if it has one. The length does not change, because it is signed.
pub(super) fn translated(body: &[u8]) -> Option<Bytes> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    rewrite(&mut value, |condition| {
        if *condition == not_a_service() {
            *condition = every_principal();
        } else if let Some(arns) = condition.pointer_mut(NOT_ROLE) {
            let role = arns[0].as_str().unwrap().rsplit('/').next().unwrap();
            *arns = format!("{SESSIONS}{role}/*").into();
        }
    })?;
    let text = format!("{:width$}", value.to_string(), width = body.len());
    assert_eq!(text.len(), body.len(), "{text}");
    Some(text.into())
}

/// Restores the original policy in an answer.
pub(super) fn translate_back(answer: &mut Answer) {
    let mut value = document(answer);
    let rewritten = rewrite(&mut value, |condition| {
        if *condition == every_principal() {
            *condition = not_a_service();
        } else if let Some(arns) = condition.pointer_mut(NOT_ROLE) {
            let role = arns.as_str().unwrap().strip_prefix(SESSIONS).unwrap();
            let role = role.strip_suffix("/*").unwrap();
            *arns = ["", "*/"].map(|path| format!("arn:aws:iam::{ACCOUNT}:role/{path}{role}")).to_vec().into();
        }
    });
    if rewritten.is_some() {
        *answer.body_mut() = value.to_string().into();
    }
}

/// Changes every condition of the policy among the attributes of a queue.
fn rewrite(body: &mut Value, change: impl Fn(&mut Value)) -> Option<()> {
    let policy = body.pointer_mut("/Attributes/Policy")?;
    let mut document: Value = serde_json::from_str(policy.as_str()?).ok()?;
    let statements = document["Statement"].as_array_mut()?.iter_mut();
    statements.filter_map(|statement| statement.get_mut("Condition")).for_each(change);
    *policy = document.to_string().into();
    Some(())
}

fn not_a_service() -> Value {
    json!({"Bool": {"aws:PrincipalIsAWSService": "false"}})
}

fn every_principal() -> Value {
    json!({"Null": {"aws:PrincipalArn": "false"}})
}
