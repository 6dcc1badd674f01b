//! A proxy on 127.0.0.1 that adds latency to every answer, throttles calls if it has rates, and records the calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Bytes;
use kibus_harness::proxy::{Answer, Broken, Operation, Port, forward};

use super::rates::Rates;

/// The latency that is added to every answer.
const LATENCY: Duration = Duration::from_millis(50);
/// It is lower if calls are throttled.
const LATENCY_WITH_RATES: Duration = Duration::from_millis(30);

/// A call that was made.
pub struct Call {
    pub request: Request<Bytes>,
    pub is_throttled: bool,
    begun: Instant,
    ended: Instant,
}

pub struct Proxy {
    /// Where it listens.
    pub url: String,
    state: Arc<State>,
}

struct State {
    server: u16,
    latency: Duration,
    rates: Option<Mutex<Rates>>,
    calls: Mutex<Vec<Call>>,
}

impl Proxy {
    /// Listens on a free port, in front of the server on this one.
    pub async fn start(server: u16, with_rates: bool) -> Self {
        let state = Arc::new(State {
            server,
            latency: if with_rates { LATENCY_WITH_RATES } else { LATENCY },
            rates: with_rates.then(Mutex::default),
            calls: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let url = Port::open().await.serve(move |request| relay(Arc::clone(&shared), request));
        Self { url, state }
    }

    /// The calls since the last time, in the order of their arrival.
    pub fn take(&self) -> Vec<Call> {
        let mut calls = std::mem::take(&mut *self.state.calls.lock().unwrap());
        calls.sort_by_key(|call| call.begun);
        calls
    }
}

async fn relay(state: Arc<State>, request: Request<Bytes>) -> Result<Answer, Broken> {
    let begun = Instant::now();
    let refused = state.rates.as_ref().and_then(|rates| rates.lock().unwrap().refuse(&Operation::of(&request)));
    let is_throttled = refused.is_some();
    let answer = match refused {
        Some(answer) => answer,
        None => forward(state.server, request.clone()).await?,
    };
    tokio::time::sleep(state.latency).await;
    state.calls.lock().unwrap().push(Call { request, is_throttled, begun, ended: Instant::now() });
    Ok(answer)
}

/// The longest chain of calls in which each began after the answer to the previous one.
pub fn round_trips(calls: &[Call]) -> usize {
    let mut calls: Vec<&Call> = calls.iter().collect();
    calls.sort_by_key(|call| call.ended);
    let mut last = None;
    let follows = calls.iter().filter(|call| {
        let follows = last.is_none_or(|ended| call.begun >= ended);
        if follows {
            last = Some(call.ended);
        }
        follows
    });
    follows.count()
}

/// The calls that were repeated with the same parameters.
pub fn repeated(calls: &[Call]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = calls.iter().filter(|Call { request, .. }| {
        let target = request.headers().get("x-amz-target").map(|target| target.as_bytes());
        !seen.insert((request.method().as_str(), request.uri().to_string(), target, request.body()))
    });
    again.map(|call| Operation::of(&call.request).name).collect()
}
