//! A local server in place of Lambda's Runtime API.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use kibus_harness::proxy::Port;
use kibus_harness::runtime_api::{self, Invocation};
use tokio::sync::mpsc;

/// The Runtime API of one function process.
pub struct RuntimeApi {
    /// Its address.
    pub address: String,
    events: mpsc::UnboundedSender<Bytes>,
    answers: mpsc::UnboundedReceiver<Invocation>,
}

impl RuntimeApi {
    /// Listens on a free port of 127.0.0.1.
    pub async fn listen() -> Self {
        let (api, events, answers) = runtime_api::RuntimeApi::new("us-west-2", Duration::from_secs(60));
        let api = Arc::new(api);
        let url = Port::open().await.serve(move |request| {
            let api = Arc::clone(&api);
            async move { api.answer(&request).await.ok_or("an unexpected call".into()) }
        });
        Self { address: url.trim_start_matches("http://").to_owned(), events, answers }
    }

    /// Invokes the function with these events, one after another, and waits until each succeeds.
    pub async fn invoke(&mut self, events: &[Bytes]) -> Result<Vec<Invocation>, String> {
        for event in events {
            self.events.send(event.clone()).map_err(|e| e.to_string())?;
        }
        let mut answered = Vec::with_capacity(events.len());
        for _ in events {
            let answer = tokio::time::timeout(Duration::from_secs(120), self.answers.recv()).await;
            let answer = answer.map_err(|_| "no answer within two minutes")?.ok_or("the Runtime API has stopped")?;
            if answer.has_failed
                || answer.answer["batchItemFailures"].as_array().is_none_or(|failed| !failed.is_empty())
            {
                return Err(format!("the function answered: {}", answer.answer));
            }
            answered.push(answer);
        }
        Ok(answered)
    }
}
