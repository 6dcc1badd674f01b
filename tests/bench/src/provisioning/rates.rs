//! The rates of AWS's control planes, as token buckets that hold the calls of one second.
//!
//! AWS publishes few of these rates, and an account shares them with everything else in it. Documented are those of tag
//! calls of SQS (SQS developer guide, "Amazon SQS cost allocation tags") and of Lambda's control plane (Lambda developer
//! guide, "Lambda quotas"), and of Parameter Store (AWS General Reference, "AWS Systems Manager endpoints and quotas").

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;

use super::proxy::Call;

/// The buckets of one account.
#[derive(Default)]
pub struct Rates {
    buckets: BTreeMap<&'static str, (f64, Instant)>,
    throttled: usize,
}

/// Calls that AWS counts together.
struct Group {
    name: &'static str,
    per_second: f64,
    /// The answer to a call too many: status, code, and whether it is XML.
    refusal: (u16, &'static str, bool),
}

impl Rates {
    /// Takes a token for a call. Gives the answer to a call too many.
    pub fn refuse(&mut self, call: &Call) -> Option<Response<Full<Bytes>>> {
        let group = group(call)?;
        let now = Instant::now();
        let (tokens, since) = self.buckets.entry(group.name).or_insert((group.per_second, now));
        *tokens = (*tokens + since.elapsed().as_secs_f64() * group.per_second).min(group.per_second);
        *since = now;
        if *tokens >= 1.0 {
            *tokens -= 1.0;
            return None;
        }
        self.throttled += 1;
        Some(refusal(group.refusal))
    }

    /// How many calls were throttled since the last time.
    pub fn take_throttled(&mut self) -> usize {
        std::mem::take(&mut self.throttled)
    }
}

fn group(call: &Call) -> Option<Group> {
    let (service, operation) = (call.service(), call.operation());
    let operation = operation.rsplit('.').next().unwrap_or_default();
    let (name, per_second, refusal) = match (service.as_str(), operation) {
        ("iam", _) => ("iam", 20.0, (400, "Throttling", true)),
        ("sqs", "CreateQueue") => ("create", 20.0, (403, "RequestThrottled", false)),
        ("sqs", "ListQueueTags" | "TagQueue" | "UntagQueue") => ("tags", 30.0, (403, "RequestThrottled", false)),
        ("sqs", "SetQueueAttributes") => ("set", 30.0, (400, "ThrottlingException", false)),
        ("sqs", "DeleteQueue") => ("delete", 30.0, (400, "ThrottlingException", false)),
        ("ssm", "GetParameter" | "GetParameters" | "GetParametersByPath") => {
            ("read parameter", 40.0, (400, "ThrottlingException", false))
        }
        ("ssm", "PutParameter") => ("write parameter", 3.0, (400, "ThrottlingException", false)),
        // Not documented, but reported.
        ("ssm", "DeleteParameter" | "DeleteParameters") => {
            ("delete parameter", 5.0, (400, "ThrottlingException", false))
        }
        ("lambda", _) => ("lambda", 15.0, (429, "TooManyRequestsException", false)),
        _ => return None,
    };
    Some(Group { name, per_second, refusal })
}

fn refusal((status, code, xml): (u16, &str, bool)) -> Response<Full<Bytes>> {
    let (kind, body) = if xml {
        let error = format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>Rate exceeded</Message></Error>");
        ("text/xml", format!("<ErrorResponse>{error}<RequestId>1</RequestId></ErrorResponse>"))
    } else {
        let body = format!("{{\"__type\":\"{code}\",\"message\":\"Rate exceeded\"}}");
        ("application/x-amz-json-1.0", body)
    };
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    answer.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static(kind));
    // The SDK's error code of Lambda is in a header.
    if let Ok(code) = code.parse() {
        answer.headers_mut().insert("x-amzn-errortype", code);
    }
    answer
}
