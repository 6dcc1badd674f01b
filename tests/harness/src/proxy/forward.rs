//! Passes requests on to an emulator.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HeaderMap};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::runtime::Runtime;

use super::{Answer, Broken};

/// From now on, requests to the server at this port carry its secret.
pub fn keep_secret(port: u16, secret: &str) {
    SECRETS.lock().unwrap().insert(port, secret.to_owned());
}

/// The secret of the server at this port, if it requires one.
pub fn secret(port: u16) -> Option<String> {
    SECRETS.lock().unwrap().get(&port).cloned()
}

static SECRETS: Mutex<BTreeMap<u16, String>> = Mutex::new(BTreeMap::new());

/// Sends a request to the server on this port, with the server's secret if the caller is its root user.
pub async fn forward(server: u16, request: Request<Bytes>) -> Result<Answer, Broken> {
    let (mut parts, body) = request.into_parts();
    if parts.headers.contains_key(CONTENT_LENGTH) {
        parts.headers.insert(CONTENT_LENGTH, body.len().into());
    }
    if let Some(secret) = secret(server).filter(|_| is_root(&parts.headers)) {
        parts.headers.insert("x-amz-security-token", secret.parse()?);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = format!("http://127.0.0.1:{server}{path}").parse()?;
    let answer = CLIENT.request(Request::from_parts(parts, Full::new(body)));
    RUNTIME
        .spawn(async {
            let (parts, body) = answer.await?.into_parts();
            Ok(Response::from_parts(parts, body.collect().await?.to_bytes()))
        })
        .await?
}

/// The client of all tests, because a connection costs an emulator more than a request.
static CLIENT: LazyLock<Client<HttpConnector, Full<Bytes>>> = LazyLock::new(|| {
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).build_http()
});

/// How long a connection is kept. No emulator closes connections earlier.
const IDLE: Duration = Duration::from_secs(10);

/// Where the connections live. The runtime of a test ends with the test.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

/// Whether the emulator treats the caller as the root user, by the key id alone. Users and roles have their own tokens.
fn is_root(headers: &HeaderMap) -> bool {
    let signature = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    let key = signature.split_once("Credential=").and_then(|(_, scope)| scope.split('/').next());
    key.is_none_or(|key| key == "test" || key.bytes().all(|b| b.is_ascii_digit()))
}

/// The server behind a proxy that listens before the server starts, because the server must know the proxy.
#[derive(Clone, Default)]
pub struct Upstream(Arc<OnceLock<u16>>);

impl Upstream {
    /// Sets the port of the server.
    pub fn set(&self, port: u16) {
        self.0.set(port).unwrap();
    }

    pub async fn forward(&self, request: Request<Bytes>) -> Result<Answer, Broken> {
        forward(*self.0.get().ok_or("the emulator has not started")?, request).await
    }
}
