//! Lambda's Runtime API. It passes events one by one to the process of a router, and the answers to whoever waits for them.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::proxy::{Answer, answer};

pub struct RuntimeApi {
    region: &'static str,
    /// How long an invocation may take.
    limit: Duration,
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Bytes>>,
    ended: mpsc::UnboundedSender<Invocation>,
    begun: Mutex<Instant>,
}

/// A finished invocation.
#[derive(Debug)]
pub struct Invocation {
    /// When the function received the event.
    pub begun: Instant,
    /// When its answer arrived.
    pub ended: Instant,
    pub has_failed: bool,
    pub answer: Value,
}

impl RuntimeApi {
    /// One without events, where to put them, and where each ends.
    pub fn new(
        region: &'static str,
        limit: Duration,
    ) -> (Self, mpsc::UnboundedSender<Bytes>, mpsc::UnboundedReceiver<Invocation>) {
        let ((events, waiting), (ended, done)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        (Self { region, limit, events: waiting.into(), ended, begun: Mutex::new(Instant::now()) }, events, done)
    }

    /// The answer to a request, if it is for this API.
    pub async fn answer(&self, request: &Request<Bytes>) -> Option<Answer> {
        let (path, body, ended) = (request.uri().path(), request.body(), Instant::now());
        if path.ends_with("/next") {
            let Some(event) = self.events.lock().await.recv().await else {
                return Some(answer(410, "text/plain", ""));
            };
            let arn = format!("arn:aws:lambda:{}:111122223333:function:kibus-router:live", self.region);
            let deadline = (SystemTime::now() + self.limit).duration_since(UNIX_EPOCH).unwrap();
            *self.begun.lock().unwrap() = Instant::now();
            let next = Response::builder()
                .header("lambda-runtime-aws-request-id", "request")
                .header("lambda-runtime-deadline-ms", deadline.as_millis().to_string())
                .header("lambda-runtime-invoked-function-arn", arn)
                .body(event);
            return Some(next.unwrap());
        }
        let has_failed = path.ends_with("/error");
        if !has_failed && !path.ends_with("/response") {
            return None;
        }
        let said = serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into());
        let begun = *self.begun.lock().unwrap();
        // The test may have ended.
        let _ = self.ended.send(Invocation { begun, ended, has_failed, answer: said });
        Some(answer(202, "text/plain", ""))
    }
}
