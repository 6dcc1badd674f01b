//! Answers that a handler creates or changes.

use hyper::Response;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{Answer, Operation};

/// The content type of the JSON protocols.
pub const JSON: &str = "application/x-amz-json-1.0";

/// An answer with a content type.
pub fn answer(status: u16, kind: &str, body: impl Into<Bytes>) -> Answer {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, kind);
    answer.body(body.into()).unwrap()
}

/// An answer of a JSON protocol.
pub fn json_answer(status: u16, body: &Value) -> Answer {
    answer(status, JSON, body.to_string())
}

/// An error in the protocol of the service.
pub fn refusal(operation: &Operation, status: u16, code: &str, message: &str) -> Answer {
    let mut answer = if ["iam", "sts"].contains(&operation.service()) {
        let error = format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>");
        let body = format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>");
        self::answer(status, "text/xml", body)
    } else {
        json_answer(status, &json!({"__type": code, "message": message, "Message": message}))
    };
    answer.headers_mut().insert("x-amzn-errortype", code.parse().unwrap());
    answer
}

/// The JSON of an answer; null if it has none.
pub fn document(answer: &Answer) -> Value {
    serde_json::from_slice(answer.body()).unwrap_or_default()
}

/// Changes the JSON of an answer, if it has any.
pub fn change_json(answer: &mut Answer, change: impl FnOnce(&mut Value)) {
    if let Ok(mut body) = serde_json::from_slice(answer.body()) {
        change(&mut body);
        *answer.body_mut() = body.to_string().into();
    }
}
