//! An answer that behaviors make or change.

use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::proxy::{Answer, JSON, answer};
use crate::recorded::RecordedAnswer;

/// A whole answer.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    pub(super) body: Bytes,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        let (parts, body) = answer.into_parts();
        Self { status: parts.status, headers: parts.headers, body }
    }
}

impl Reply {
    /// An answer that was recorded.
    pub(super) fn recorded(answer: RecordedAnswer) -> Self {
        let header = |(name, value): (String, String)| Some((name.parse::<HeaderName>().ok()?, value.parse().ok()?));
        Self {
            status: StatusCode::from_u16(answer.status).unwrap(),
            headers: answer.headers.into_iter().filter_map(header).collect(),
            body: answer.body.into(),
        }
    }

    /// A success of a JSON protocol.
    pub(super) fn success(body: &Value) -> Self {
        Self::new(200, JSON, body.to_string())
    }

    /// An error of a JSON protocol.
    pub(super) fn error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({"__type": code, "message": message, "Message": message});
        Self::new(status, JSON, body.to_string()).with("x-amzn-errortype", code)
    }

    /// A throttled invocation, with Lambda's reason.
    pub(super) fn throttled(reason: &str) -> Self {
        let mut reply = Self::error(429, "TooManyRequestsException", "Rate Exceeded.");
        let mut body = reply.json();
        body["Reason"] = reason.into();
        reply.set_json(&body);
        reply
    }

    /// An error of SQS, which has a shape and the code of its old query protocol.
    pub(super) fn sqs_error(status: u16, shape: &str, code: &str, message: &str) -> Self {
        Self::error(status, &format!("com.amazonaws.sqs#{shape}"), message)
            .with("x-amzn-query-error", &format!("{code};Sender"))
    }

    /// An error of IAM.
    pub(super) fn iam_error(status: u16, code: &str, message: &str) -> Self {
        let error = format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>");
        let body = format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>");
        Self::new(status, "text/xml", body)
    }

    /// An error of EC2.
    pub(super) fn ec2_error(status: u16, code: &str, message: &str) -> Self {
        let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        let body = format!("<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>");
        Self::new(status, "text/xml", body)
    }

    fn new(status: u16, kind: &str, body: String) -> Self {
        answer(status, kind, body).into()
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    /// The body of a JSON protocol, else null.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(super) fn set_json(&mut self, body: &Value) {
        self.body = body.to_string().into();
    }

    pub(super) fn answer(self) -> Answer {
        let mut answer = Response::new(self.body);
        *answer.status_mut() = self.status;
        *answer.headers_mut() = self.headers;
        answer
    }
}
