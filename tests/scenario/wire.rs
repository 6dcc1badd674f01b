//! The HTTP proxy between a command and the server. It knows the operation of each request.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kibus::model::scope::LIVE;
use kibus::model::self_test;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::emulator::secret;

use super::partition::{for_server, from_server, partitions};
use crate::aws_like::{AwsLike, Caller, Connection};

pub(crate) type Answer = Response<Full<Bytes>>;
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// What the proxy does with the requests of an operation.
pub(super) enum Interference {
    /// Rejects this many requests with a status, a code and a message.
    Refuse(usize, u16, String, String),
    /// Answers this many requests with a body.
    Answer(usize, String),
    /// Executes this many requests and closes the connection without a response.
    Lose(usize),
    /// Reports the next request and holds its response until released.
    Hold(oneshot::Sender<()>, oneshot::Receiver<()>),
}

#[derive(Default)]
struct State {
    writes: Vec<String>,
    interferences: Vec<(String, Interference)>,
    /// Replaced texts in responses: operation, member, text.
    untruths: Vec<(String, String, String)>,
    /// The partition of kibus, if not the server's.
    partition: Option<String>,
    /// The partitions in requests of kibus.
    partitions: BTreeSet<String>,
}

/// A proxy on the loopback interface that records requests.
#[derive(Clone)]
pub(super) struct Proxy {
    /// Its port.
    pub(super) port: u16,
    /// The behaviors of AWS that the server lacks.
    pub(super) like: AwsLike,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Starts forwarding requests to the server on this port.
    pub(super) async fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            like: AwsLike::new(server),
            state: Arc::default(),
        };
        let (state, like) = (Arc::clone(&proxy.state), proxy.like.clone());
        tokio::spawn(async move {
            for connection in (0..).map(Connection) {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let (state, like) = (Arc::clone(&state), like.clone());
                let service = service_fn(move |mut request: Request<Incoming>| {
                    request.extensions_mut().insert(connection);
                    pass(Arc::clone(&state), like.clone(), request)
                });
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // A connection breaks if the client was killed, or on purpose.
                tokio::spawn(async move { drop(connection.await) });
            }
        });
        proxy
    }

    /// Sets an interference for an operation, like `sqs:CreateQueue` or `lambda:POST/functions`.
    pub(super) fn interfere(&self, operation: &str, interference: Interference) {
        self.state
            .lock()
            .unwrap()
            .interferences
            .push((operation.to_owned(), interference));
    }

    /// From now on, responses of this operation have this text in this member, where it is, and beside every `State`.
    pub(super) fn say(&self, operation: &str, member: &str, text: &str) {
        let untruth = (operation.to_owned(), member.to_owned(), text.to_owned());
        self.state.lock().unwrap().untruths.push(untruth);
    }

    /// From now on, responses are unchanged.
    pub(super) fn say_the_truth(&self) {
        self.state.lock().unwrap().untruths.clear();
    }

    /// The writing operations since the last call, each with its subject.
    pub(super) fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().writes)
    }

    /// Translates every ARN between this partition, for kibus, and `aws`, the only partition of the server.
    pub(super) fn speak_of(&self, partition: &str) {
        self.state.lock().unwrap().partition = Some(partition.to_owned());
    }

    /// The partitions of all ARNs in requests since the last call.
    pub(super) fn take_partitions(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().partitions)
            .into_iter()
            .collect()
    }

    /// The interferences that were not used.
    pub(super) fn take_interferences(&self) -> Vec<String> {
        let left = std::mem::take(&mut self.state.lock().unwrap().interferences);
        left.into_iter().map(|(operation, _)| operation).collect()
    }
}

async fn pass(state: Arc<Mutex<State>>, like: AwsLike, request: Request<Incoming>) -> Result<Answer, Broken> {
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, body.collect().await?.to_bytes());
    let (operation, subject) = operation(&request);
    let partition = state.lock().unwrap().partition.clone();
    let (interference, untruths) = {
        let mut state = state.lock().unwrap();
        if partition.is_some() {
            state.partitions.extend(partitions(&request));
        }
        if !is_reading(&operation) && !asks_live_router(&request) {
            state
                .writes
                .push(format!("{operation} {subject}").trim_end().to_owned());
        }
        let untruths = state.untruths.iter().filter(|(of, ..)| is(&operation, of));
        let untruths: Vec<_> = untruths.cloned().collect();
        (next(&mut state.interferences, &operation), untruths)
    };
    let again = |interference| {
        state
            .lock()
            .unwrap()
            .interferences
            .insert(0, (operation.clone(), interference))
    };
    let request = match &partition {
        Some(partition) => for_server(request, partition)?,
        None => request,
    };
    let answer = interfere(interference, &untruths, &like, request, &operation, again).await?;
    Ok(match &partition {
        Some(partition) => from_server(answer, partition).await?,
        None => answer,
    })
}

async fn interfere(
    interference: Option<Interference>,
    untruths: &[(String, String, String)],
    like: &AwsLike,
    request: Request<Bytes>,
    operation: &str,
    again: impl FnOnce(Interference),
) -> Result<Answer, Broken> {
    let forward = |request| like.pass(request, Caller::Client);
    match interference {
        None if !untruths.is_empty() => Ok(untrue(forward(request).await?, untruths).await),
        None => forward(request).await,
        Some(Interference::Refuse(_, status, code, message)) => Ok(refusal(operation, status, &code, &message)),
        Some(Interference::Answer(_, body)) => Ok(Response::new(Full::from(body))),
        Some(Interference::Lose(times)) => {
            let answer = forward(request).await?;
            if is_refused(&answer) {
                again(Interference::Lose(times));
                return Ok(answer);
            }
            Err("lost".into())
        }
        Some(Interference::Hold(arrived, leave)) => {
            let answer = forward(request).await?;
            if is_refused(&answer) {
                again(Interference::Hold(arrived, leave));
                return Ok(answer);
            }
            let _ = arrived.send(());
            let _ = leave.await;
            Ok(answer)
        }
    }
}

/// A call that AWS does not accept yet is repeated; what happens to it happens then.
fn is_refused(answer: &Answer) -> bool {
    !answer.status().is_success()
}

/// The response with its replaced texts.
async fn untrue(answer: Answer, untruths: &[(String, String, String)]) -> Answer {
    fn say(value: &mut Value, member: &str, text: &str) {
        match value {
            Value::Object(members) => {
                members.values_mut().for_each(|value| say(value, member, text));
                if members.contains_key("State") || members.contains_key(member) {
                    members.insert(member.to_owned(), text.into());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|value| say(value, member, text)),
            _ => {}
        }
    }
    let (mut parts, body) = answer.into_parts();
    let Ok(body) = body.collect().await;
    let body = body.to_bytes();
    let body = match serde_json::from_slice::<Value>(&body) {
        Ok(mut said) => {
            for (_, member, text) in untruths {
                say(&mut said, member, text);
            }
            Bytes::from(said.to_string())
        }
        Err(_) => body,
    };
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Response::from_parts(parts, Full::new(body))
}

/// Whether an operation matches a pattern, which may end with `*`.
fn is(operation: &str, meant: &str) -> bool {
    match meant.strip_suffix('*') {
        Some(beginning) => operation.starts_with(beginning),
        None => operation == meant,
    }
}

/// Takes the next interference with an operation.
fn next(all: &mut Vec<(String, Interference)>, operation: &str) -> Option<Interference> {
    let at = all.iter().position(|(of, _)| is(operation, of))?;
    match &mut all[at].1 {
        Interference::Refuse(times, status, code, message) if *times > 1 => {
            *times -= 1;
            Some(Interference::Refuse(1, *status, code.clone(), message.clone()))
        }
        Interference::Answer(times, body) if *times > 1 => {
            *times -= 1;
            Some(Interference::Answer(1, body.clone()))
        }
        Interference::Lose(times) if *times > 1 => {
            *times -= 1;
            Some(Interference::Lose(1))
        }
        _ => Some(all.remove(at).1),
    }
}

/// Sends a request to the server and returns the whole response.
pub(crate) async fn forward(server: u16, request: Request<Bytes>) -> Result<Answer, Broken> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move { drop(connection.await) });
    let mut request = request.map(Full::new);
    if let Some(secret) = secret(server).filter(|_| is_root(request.headers())) {
        request.headers_mut().insert("x-amz-security-token", secret.parse()?);
    }
    let (mut parts, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    parts.headers.remove("transfer-encoding");
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Ok(Response::from_parts(parts, Full::new(body)))
}

/// Whether the emulator takes the caller for the root user, by the key id alone. Users and roles have their own tokens.
fn is_root(headers: &HeaderMap) -> bool {
    let signature = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    let key = signature
        .split_once("Credential=")
        .and_then(|(_, scope)| scope.split('/').next());
    key.is_none_or(|key| key == "test" || key.bytes().all(|b| b.is_ascii_digit()))
}

/// The operation as `service:Operation`, for REST services as `service:METHOD/path`, and its subject.
pub(crate) fn operation(request: &Request<Bytes>) -> (String, String) {
    let service = service(request.headers());
    let body = request.body();
    if let Some(target) = request.headers().get("x-amz-target") {
        let name = target.to_str().unwrap().rsplit('.').next().unwrap().to_owned();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        return (
            format!("{service}:{name}"),
            subject(|key| body[key].as_str().map(str::to_owned)),
        );
    }
    let form = String::from_utf8_lossy(body).into_owned();
    let field = |key: &str| {
        let pair = form
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(k, _)| *k == key);
        pair.map(|(_, value)| value.to_owned())
    };
    if let Some(action) = field("Action") {
        return (format!("{service}:{action}"), subject(field));
    }
    let path = request.uri().path().replace("%3A", ":");
    let path = path.trim_matches('/').split_once('/').map_or("", |(_date, path)| path);
    (format!("{service}:{}/{path}", request.method()), String::new())
}

/// The service that the request is signed for.
fn service(headers: &HeaderMap) -> String {
    let signature = headers.get("authorization").map_or("", |value| value.to_str().unwrap());
    signature.split('/').nth(3).unwrap_or("unsigned").to_owned()
}

fn subject(field: impl Fn(&str) -> Option<String>) -> String {
    const MEMBERS: [&str; 9] = [
        "QueueName",
        "QueueUrl",
        "Name",
        "Rule",
        "logGroupName",
        "ResourceARN",
        "resourceArn",
        "RoleName",
        "PolicyName",
    ];
    let named = MEMBERS.iter().filter_map(|member| field(member));
    let short = named.map(|name| match name.rsplit_once("://") {
        Some((_, url)) => url.rsplit('/').next().unwrap_or_default().to_owned(),
        None => name,
    });
    short.collect::<Vec<_>>().join(" ")
}

/// Whether `verify` asks the live version for its self-test, which changes no resource.
pub(crate) fn asks_live_router(request: &Request<Bytes>) -> bool {
    let live = format!("Qualifier={LIVE}");
    request.uri().query() == Some(live.as_str()) && *request.body() == self_test::question().to_string()
}

pub(crate) fn is_reading(operation: &str) -> bool {
    let name = operation.split_once(':').map_or("", |(_, name)| name);
    ["Get", "List", "Describe", "GET/"]
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// An error response in the protocol of the service.
pub(crate) fn refusal(operation: &str, status: u16, code: &str, message: &str) -> Answer {
    let is_xml = ["iam:", "sts:"].iter().any(|service| operation.starts_with(service));
    let (kind, body) = if is_xml {
        let error = format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>");
        (
            "text/xml",
            format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>"),
        )
    } else {
        (
            "application/x-amz-json-1.0",
            json!({"__type": code, "message": message, "Message": message}).to_string(),
        )
    };
    Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .header(CONTENT_TYPE, kind)
        .header("x-amzn-errortype", code)
        .body(Full::new(body.into()))
        .unwrap()
}
