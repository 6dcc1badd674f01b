//! The rates at which AWS accepts calls: a token bucket for calls that share a rate limit.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::At;
use super::Behavior::{self, G1, I10, L21, N2, S13, S27, T4};
use super::reply::Reply;
use crate::call::Call;

/// Everything with a rate.
pub(super) const ALL: [Behavior; 7] = [S13, S27, L21, I10, G1, T4, N2];

/// The buckets of every account and Region.
#[derive(Default)]
pub(super) struct Rates {
    /// Whether they are as large as AWS's. Otherwise, a few calls empty them.
    real: AtomicBool,
    left: Mutex<HashMap<String, (f64, Instant)>>,
}

/// The bucket of a call.
struct Bucket {
    behavior: Behavior,
    /// The name of the calls that share it.
    calls: String,
    /// Its size and its tokens per second, on AWS.
    on_aws: (u32, u32),
    /// In tests where a few calls empty it.
    small: (u32, u32),
}

impl Rates {
    /// From now on, the buckets are as large as AWS's, or small.
    pub(super) fn set_real(&self, real: bool) {
        self.real.store(real, Ordering::Relaxed);
        self.left.lock().unwrap().clear();
    }

    pub(super) fn before(&self, at: &At<'_>) -> Option<Reply> {
        let bucket = bucket(at.call).filter(|bucket| at.is_on(bucket.behavior))?;
        (!self.take(at, &bucket)).then(|| {
            at.strike(bucket.behavior);
            refusal(at)
        })
    }

    /// Takes a token; returns whether there was one.
    fn take(&self, at: &At<'_>, bucket: &Bucket) -> bool {
        let (size, per_second) = if self.real.load(Ordering::Relaxed) { bucket.on_aws } else { bucket.small };
        let key = at.call.key(&format!("{} {}", at.call.service, bucket.calls));
        let mut left = self.left.lock().unwrap();
        let (tokens, since) = left.entry(key).or_insert((size.into(), Instant::now()));
        *tokens = (*tokens + since.elapsed().as_secs_f64() * f64::from(per_second)).min(size.into());
        *since = Instant::now();
        let has_one = *tokens >= 1.0;
        if has_one {
            *tokens -= 1.0;
        }
        has_one
    }
}

fn bucket(call: &Call) -> Option<Bucket> {
    let operation = call.operation.as_str();
    let (_, path) = call.path();
    let (behavior, calls, on_aws, small) = match call.service.as_str() {
        "iam" => (I10, "", (20, 20), (3, 5)),
        "sqs" => match operation {
            "ListQueueTags" | "TagQueue" | "UntagQueue" => (S13, "tags", (30, 30), (2, 5)),
            "CreateQueue" => (S27, operation, (20, 20), (2, 5)),
            "SetQueueAttributes" | "DeleteQueue" => (S27, operation, (30, 30), (2, 5)),
            _ => return None,
        },
        "lambda" => match path.as_slice() {
            ["functions", _] if operation.starts_with("GET ") => return None,
            ["functions", _, "invocations"] => return None,
            _ => (L21, "", (15, 15), (3, 4)),
        },
        "logs" => match operation {
            "CreateLogGroup" | "DeleteLogGroup" | "DescribeLogGroups" | "FilterLogEvents" => {
                (G1, operation, (5, 5), (1, 1))
            }
            _ => return None,
        },
        "ssm" => match operation {
            "GetParameter" | "GetParameters" | "GetParametersByPath" => (N2, "reads", (40, 40), (3, 5)),
            "PutParameter" => (N2, operation, (3, 3), (1, 2)),
            // The rate of deletes comes from reports about the first call. No source has a rate for the second, so they share it.
            "DeleteParameter" | "DeleteParameters" => (N2, "deletes", (5, 5), (1, 3)),
            // No source has their rate either. According to reports, reading the tags of some hundred parameters takes minutes.
            "ListTagsForResource" | "AddTagsToResource" | "RemoveTagsFromResource" => (N2, "tags", (5, 5), (2, 5)),
            _ => return None,
        },
        "ec2" if operation == "DescribeTags" => (T4, operation, (100, 20), (1, 3)),
        _ => return None,
    };
    let calls = calls.to_owned();
    Some(Bucket { behavior, calls, on_aws, small })
}

/// The answer to a throttled call of a service.
fn refusal(at: &At<'_>) -> Reply {
    let (status, code, message) = match (at.call.service.as_str(), at.call.operation.as_str()) {
        ("iam", _) => (400, "Throttling", "Rate exceeded"),
        ("sqs", operation) if operation != "CreateQueue" => (403, "RequestThrottled", "Rate exceeded"),
        ("lambda", _) => (429, "TooManyRequestsException", "Rate exceeded"),
        ("ec2", _) => (503, "RequestLimitExceeded", "Request limit exceeded."),
        _ => (400, "ThrottlingException", "Rate exceeded"),
    };
    at.refuse(status, code, message)
}
