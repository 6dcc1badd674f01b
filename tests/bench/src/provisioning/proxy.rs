//! A proxy on 127.0.0.1 that adds latency to every answer, throttles calls if it has rates, and records the calls.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::rates::Rates;

/// What is added to every answer.
const LATENCY: Duration = Duration::from_millis(50);
/// It is less where calls are throttled.
const LATENCY_WITH_RATES: Duration = Duration::from_millis(30);

type Failure = Box<dyn Error + Send + Sync>;

/// A call that was made.
#[derive(Clone)]
pub struct Call {
    /// The request without its body.
    pub head: Parts,
    /// Its body.
    pub body: Bytes,
    begun: Instant,
    ended: Instant,
}

/// The proxy.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    /// The server's secret, which every call carries.
    token: HeaderValue,
    latency: Duration,
    rates: Option<Mutex<Rates>>,
    calls: Mutex<Vec<Call>>,
}

impl Proxy {
    /// Listens on a free port. Each connection has a connection of its own to the server.
    pub async fn start(server: SocketAddr, token: &str, with_rates: bool) -> Result<Self, Box<dyn Error>> {
        let state = Arc::new(State {
            token: token.parse()?,
            latency: if with_rates { LATENCY_WITH_RATES } else { LATENCY },
            rates: with_rates.then(Mutex::default),
            calls: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                let _ = stream.set_nodelay(true);
                tokio::spawn(async move {
                    let Ok(upstream) = connect(server).await else { return };
                    let upstream = tokio::sync::Mutex::new(upstream);
                    let service = service_fn(|request| relay(&upstream, &state, request));
                    // A client may close its connection at any time.
                    let _ = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Ok(Self { address, state })
    }

    /// How many calls were throttled since the last time.
    pub fn take_throttled(&self) -> usize {
        let rates = self.state.rates.as_ref();
        rates.map_or(0, |rates| rates.lock().unwrap().take_throttled())
    }

    /// The calls since the last time, in the order of their arrival.
    pub fn take(&self) -> Vec<Call> {
        let mut calls = std::mem::take(&mut *self.state.calls.lock().unwrap());
        calls.sort_by_key(|call| call.begun);
        calls
    }
}

/// Opens a connection for one call after the other.
pub async fn connect(server: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn relay(
    upstream: &tokio::sync::Mutex<SendRequest<Full<Bytes>>>,
    state: &State,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let begun = Instant::now();
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut call = Call { head, body, begun, ended: begun };
    let refused = state.rates.as_ref().and_then(|rates| rates.lock().unwrap().refuse(&call));
    let answer = match refused {
        Some(answer) => answer,
        None => {
            let mut request = Request::from_parts(call.head.clone(), Full::new(call.body.clone()));
            request.headers_mut().insert("x-amz-security-token", state.token.clone());
            let mut upstream = upstream.lock().await;
            upstream.ready().await?;
            let (mut parts, answer) = upstream.send_request(request).await?.into_parts();
            // The body is sent whole, whichever way the server sent it.
            parts.headers.remove("transfer-encoding");
            Response::from_parts(parts, Full::new(answer.collect().await?.to_bytes()))
        }
    };
    tokio::time::sleep(state.latency).await;
    call.ended = Instant::now();
    state.calls.lock().unwrap().push(call);
    Ok(answer)
}

/// The most calls of which each began after the one before had its answer.
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

/// The calls that were made before with the same parameters.
pub fn repeated(calls: &[Call]) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let again = calls.iter().filter(|call| {
        let target = call.head.headers.get("x-amz-target").map(|target| target.as_bytes());
        !seen.insert((call.head.method.as_str(), call.head.uri.to_string(), target, &call.body))
    });
    again.map(Call::operation).collect()
}

impl Call {
    /// The service, as its signature names it.
    pub fn service(&self) -> String {
        let signature = self.head.headers.get("authorization");
        let signature = signature.and_then(|value| value.to_str().ok()).unwrap_or_default();
        signature.split('/').nth(3).unwrap_or_default().to_owned()
    }

    /// The operation, in the way in which the service's protocol names it.
    pub fn operation(&self) -> String {
        if let Some(target) = self.head.headers.get("x-amz-target") {
            return String::from_utf8_lossy(target.as_bytes()).into_owned();
        }
        let body = String::from_utf8_lossy(&self.body);
        let action = body.split('&').find_map(|pair| pair.strip_prefix("Action="));
        match action {
            Some(action) => action.to_owned(),
            None => format!("{} {}", self.head.method, self.head.uri),
        }
    }
}

/// The calls with the time of each, in milliseconds since the first.
pub fn listed(calls: &[Call]) -> String {
    let Some(first) = calls.first() else {
        return String::new();
    };
    let millis = |at: Instant| at.duration_since(first.begun).as_millis();
    let line = |call: &Call| format!("{}-{} {}", millis(call.begun), millis(call.ended), call.operation());
    calls.iter().map(line).collect::<Vec<_>>().join("\n")
}
