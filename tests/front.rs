//! A proxy in front of an emulator. It behaves as AWS does where the emulator does not, for what plans are tried on.

use std::net::Ipv4Addr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_LENGTH;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kibus::model::scope::LIVE;
use kibus::model::self_test::SelfTestReport as SelfTest;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::scenario::wire::{Answer, Broken, forward};

/// Starts a proxy to the server on this port, for the rest of the test; gives its URL.
pub(crate) async fn start(server: u16) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(move |request| pass(server, request));
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { drop(connection.await) });
        }
    });
    url
}

async fn pass(server: u16, request: Request<Incoming>) -> Result<Answer, Broken> {
    let (parts, body) = request.into_parts();
    let mut request = Request::from_parts(parts, body.collect().await?.to_bytes());
    let path = request.uri().path().replace("%3A", ":");
    if let Some(function) = path.strip_suffix("/invocations") {
        let version = request.uri().query().unwrap_or_default();
        let get = again(&request, Method::GET, &format!("{function}?{version}"), Bytes::new())?;
        return passed(forward(server, get).await?).await;
    }
    if target(&request) == Some("AmazonSQS.SetQueueAttributes") {
        request = with_policy(server, request).await?;
    }
    let answer = forward(server, request).await?;
    if path.contains("/event-source-mappings") {
        return with_alias(answer).await;
    }
    Ok(answer)
}

/// Another request with the same headers.
fn again(request: &Request<Bytes>, method: Method, uri: &str, body: Bytes) -> Result<Request<Bytes>, Broken> {
    let mut again = Request::builder().method(method).uri(uri).body(body)?;
    *again.headers_mut() = request.headers().clone();
    let length = again.body().len();
    again.headers_mut().insert(CONTENT_LENGTH, length.into());
    Ok(again)
}

fn target(request: &Request<Bytes>) -> Option<&str> {
    request.headers().get("x-amz-target")?.to_str().ok()
}

/// The archives of these tests hold no program, so each version answers its self-test with what it was published as.
async fn passed(version: Answer) -> Result<Answer, Broken> {
    let configuration = &document(version).await?["Configuration"];
    let description = configuration["Description"].as_str().unwrap_or_default();
    let answer = SelfTest {
        ok: true,
        version: description.split(' ').nth(1).unwrap_or_default().to_owned(),
        handler: configuration["Handler"].as_str().unwrap_or_default().to_owned(),
        environment: serde_json::from_value(configuration["Environment"]["Variables"].clone()).unwrap_or_default(),
        problems: Vec::new(),
        codes: Vec::new(),
    };
    Ok(Response::new(Full::from(json!(answer).to_string())))
}

/// Moto removes a queue's policy when other attributes are set.
async fn with_policy(server: u16, request: Request<Bytes>) -> Result<Request<Bytes>, Broken> {
    let mut set: Value = serde_json::from_slice(request.body())?;
    if !set["Attributes"]["Policy"].is_null() {
        return Ok(request);
    }
    let body = json!({"QueueUrl": set["QueueUrl"], "AttributeNames": ["Policy"]}).to_string();
    let mut get = again(&request, Method::POST, "/", body.into())?;
    get.headers_mut()
        .insert("x-amz-target", "AmazonSQS.GetQueueAttributes".parse()?);
    let attributes = document(forward(server, get).await?).await?;
    if let Some(policy) = attributes["Attributes"].get("Policy") {
        set["Attributes"]["Policy"] = policy.clone();
    }
    again(&request, Method::POST, "/", set.to_string().into())
}

/// Moto answers with the version that an event source mapping's alias points to.
async fn with_alias(answer: Answer) -> Result<Answer, Broken> {
    fn replace(value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value.as_str().and_then(|arn| arn.rsplit_once(':')) {
                        Some((function, version)) if name == "FunctionArn" && version.parse::<u64>().is_ok() => {
                            *value = format!("{function}:{LIVE}").into();
                        }
                        _ => replace(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(replace),
            _ => {}
        }
    }
    let (mut parts, body) = answer.into_parts();
    let mut body = body.collect().await?.to_bytes();
    if let Ok(mut said) = serde_json::from_slice::<Value>(&body) {
        replace(&mut said);
        body = said.to_string().into();
    }
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Ok(Response::from_parts(parts, Full::new(body)))
}

async fn document(answer: Answer) -> Result<Value, Broken> {
    let body = answer.into_body().collect().await?.to_bytes();
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}
