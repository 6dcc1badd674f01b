//! A local server in place of Lambda's Runtime API. It passes one prepared event after the other to the function and
//! records when each is answered.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;
use hyper::{Request, Response};
use kibus_harness::proxy::{Answer, Port, answer};
use tokio::sync::mpsc;

/// A finished invocation.
pub struct Answered {
    /// When the function took the event.
    pub begun: Instant,
    /// When its answer arrived.
    pub ended: Instant,
}

/// The Runtime API of one function process.
pub struct RuntimeApi {
    /// Its address.
    pub address: String,
    events: mpsc::UnboundedSender<Bytes>,
    answers: mpsc::UnboundedReceiver<Result<Answered, String>>,
}

struct State {
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Bytes>>,
    begun: Mutex<Option<Instant>>,
    answers: mpsc::UnboundedSender<Result<Answered, String>>,
}

impl RuntimeApi {
    /// Listens on a free port of 127.0.0.1.
    pub async fn listen() -> Self {
        let (events, waiting) = mpsc::unbounded_channel();
        let (done, answers) = mpsc::unbounded_channel();
        let state =
            Arc::new(State { events: tokio::sync::Mutex::new(waiting), begun: Mutex::new(None), answers: done });
        let url = Port::open().await.serve(move |request| {
            let state = Arc::clone(&state);
            async move { Ok(state.answer(&request).await) }
        });
        Self { address: url.trim_start_matches("http://").to_owned(), events, answers }
    }

    /// Invokes the function with these events, one after the other, and waits until each succeeds.
    pub async fn invoke(&mut self, events: &[Bytes]) -> Result<Vec<Answered>, String> {
        for event in events {
            self.events.send(event.clone()).map_err(|e| e.to_string())?;
        }
        let mut answered = Vec::with_capacity(events.len());
        for _ in events {
            let answer = tokio::time::timeout(Duration::from_secs(120), self.answers.recv()).await;
            let answer = answer.map_err(|_| "no answer within two minutes")?;
            answered.push(answer.ok_or("the Runtime API has stopped")??);
        }
        Ok(answered)
    }
}

impl State {
    async fn answer(&self, request: &Request<Bytes>) -> Answer {
        if request.uri().path().ends_with("/next") {
            let Some(event) = self.events.lock().await.recv().await else {
                return answer(410, "text/plain", "");
            };
            let deadline = SystemTime::now() + Duration::from_secs(60);
            let deadline = deadline.duration_since(UNIX_EPOCH).expect("a clock after 1970").as_millis();
            *self.begun.lock().unwrap() = Some(Instant::now());
            return Response::builder()
                .header("content-type", "application/json")
                .header("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
                .header("lambda-runtime-deadline-ms", deadline.to_string())
                .header(
                    "lambda-runtime-invoked-function-arn",
                    "arn:aws:lambda:us-west-2:111122223333:function:kibus-router:live",
                )
                .body(event)
                .expect("a response");
        }
        let succeeded = request.uri().path().ends_with("/response");
        let ended = Instant::now();
        let text = String::from_utf8_lossy(request.body());
        let all = serde_json::from_slice::<serde_json::Value>(request.body())
            .is_ok_and(|answer| answer["batchItemFailures"].as_array().is_some_and(Vec::is_empty));
        let begun = self.begun.lock().unwrap().take();
        let answered = match begun {
            Some(begun) if succeeded && all => Ok(Answered { begun, ended }),
            _ => Err(format!("the function answered: {text}")),
        };
        let _ = self.answers.send(answered);
        answer(202, "text/plain", "")
    }
}
