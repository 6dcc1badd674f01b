//! A proxy on 127.0.0.1 that adds latency to every answer and records the calls.

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

/// What is added to every answer.
pub const LATENCY: Duration = Duration::from_millis(50);

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
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Proxy {
    /// Listens on a free port. Each connection has a connection of its own to the server.
    ///
    /// Every call carries the server's secret `token`.
    pub async fn start(server: SocketAddr, token: &str) -> Result<Self, Box<dyn Error>> {
        let token: HeaderValue = token.parse()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let calls = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, token) = (Arc::clone(&record), token.clone());
                let _ = stream.set_nodelay(true);
                tokio::spawn(async move {
                    let Ok(upstream) = connect(server).await else { return };
                    let upstream = tokio::sync::Mutex::new(upstream);
                    let service = service_fn(|request| relay(&upstream, &token, &record, request));
                    // A client may close its connection at any time.
                    let _ = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Ok(Self { address, calls })
    }

    /// The calls since the last time, in the order of their arrival.
    pub fn take(&self) -> Vec<Call> {
        let mut calls = std::mem::take(&mut *self.calls.lock().unwrap());
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
    token: &HeaderValue,
    record: &Mutex<Vec<Call>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let begun = Instant::now();
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut request = Request::from_parts(head.clone(), Full::new(body.clone()));
    request.headers_mut().insert("x-amz-security-token", token.clone());
    let (mut parts, answer) = {
        let mut upstream = upstream.lock().await;
        upstream.ready().await?;
        let answer = upstream.send_request(request).await?;
        let (parts, answer) = answer.into_parts();
        (parts, answer.collect().await?.to_bytes())
    };
    // The body is sent whole, whichever way the server sent it.
    parts.headers.remove("transfer-encoding");
    tokio::time::sleep(LATENCY).await;
    let ended = Instant::now();
    record.lock().unwrap().push(Call {
        head,
        body,
        begun,
        ended,
    });
    Ok(Response::from_parts(parts, Full::new(answer)))
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
