//! The rates of AWS's control planes, as token buckets that hold the calls of one second.
//!
//! AWS publishes few of these rates, and everything in an account shares them. AWS documents those for tag calls of SQS
//! (SQS developer guide, "Amazon SQS cost allocation tags") and of Lambda's control plane (Lambda developer guide,
//! "Lambda quotas"), and of Parameter Store (AWS General Reference, "AWS Systems Manager endpoints and quotas").

use std::collections::BTreeMap;
use std::time::Instant;

use kibus_harness::proxy::{Answer, Operation, refusal};

/// The buckets of one account.
#[derive(Default)]
pub struct Rates(BTreeMap<&'static str, (f64, Instant)>);

impl Rates {
    /// Takes a token for a call. Returns the refusal if there is none.
    pub fn refuse(&mut self, operation: &Operation) -> Option<Answer> {
        let (group, per_second, (status, code)) = group(operation)?;
        let now = Instant::now();
        let (tokens, since) = self.0.entry(group).or_insert((per_second, now));
        *tokens = (*tokens + since.elapsed().as_secs_f64() * per_second).min(per_second);
        *since = now;
        if *tokens >= 1.0 {
            *tokens -= 1.0;
            return None;
        }
        Some(refusal(operation, status, code, "Rate exceeded"))
    }
}

/// The calls that share a rate, how many per second, and the status and the code of the refusal.
fn group(operation: &Operation) -> Option<(&'static str, f64, (u16, &'static str))> {
    let throttling = (400, "ThrottlingException");
    Some(match operation.name.split_once(':')? {
        ("iam", _) => ("iam", 20.0, (400, "Throttling")),
        ("sqs", "CreateQueue") => ("create", 20.0, (403, "RequestThrottled")),
        ("sqs", "ListQueueTags" | "TagQueue" | "UntagQueue") => ("tags", 30.0, (403, "RequestThrottled")),
        ("sqs", "SetQueueAttributes") => ("set", 30.0, throttling),
        ("sqs", "DeleteQueue") => ("delete", 30.0, throttling),
        ("ssm", "GetParameter" | "GetParameters" | "GetParametersByPath") => ("read parameter", 40.0, throttling),
        ("ssm", "PutParameter") => ("write parameter", 3.0, throttling),
        // Not documented, but reported.
        ("ssm", "DeleteParameter" | "DeleteParameters") => ("delete parameter", 5.0, throttling),
        ("lambda", _) => ("lambda", 15.0, (429, "TooManyRequestsException")),
        _ => return None,
    })
}
