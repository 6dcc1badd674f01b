//! An answer that behaviors create or change.

use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use crate::proxy::{Answer, JSON, answer};
use crate::recorded::RecordedAnswer;

/// The SQS error types with different names than in its old query protocol.
const SHAPES: [(&str, &str); 4] = [
    ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"),
    ("AWS.SimpleQueueService.QueueDeletedRecently", "QueueDeletedRecently"),
    ("AccessDenied", "AccessDeniedException"),
    ("QueueAlreadyExists", "QueueNameExists"),
];

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
        answer(200, JSON, body.to_string()).into()
    }

    /// An error in the protocol of a service.
    pub(super) fn error(service: &str, status: u16, code: &str, message: &str) -> Self {
        let xml = format!("<Code>{code}</Code><Message>{message}</Message>");
        match service {
            "iam" => {
                let error = format!("<Error><Type>Sender</Type>{xml}</Error>");
                let body = format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>");
                answer(status, "text/xml", body).into()
            }
            "ec2" => {
                let body =
                    format!("<Response><Errors><Error>{xml}</Error></Errors><RequestID>r</RequestID></Response>");
                answer(status, "text/xml", body).into()
            }
            "sqs" => {
                let shape = SHAPES.iter().find(|(of, _)| *of == code).map_or(code, |(_, shape)| shape);
                let shape = format!("com.amazonaws.sqs#{}", shape.replace("KMS.", "Kms"));
                Self::json_error(status, &shape, message).with("x-amzn-query-error", &format!("{code};Sender"))
            }
            _ => Self::json_error(status, code, message),
        }
    }

    fn json_error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({"__type": code, "message": message, "Message": message});
        Self::from(answer(status, JSON, body.to_string())).with("x-amzn-errortype", code)
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
