//! A proxy that corrects an emulator's faults that would affect plans, and answers the self-tests of archives without a program.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response};
use kibus::model::{SelfTestReport as SelfTest, scope::LIVE};
use serde_json::{Value, json};

use super::emulator::Kind;
use super::proxy::{Answer, Broken, Port, change_json, document, forward};

/// The redrive allow policies that moto accepts but does not return, by queue name.
type Dropped = Arc<Mutex<HashMap<String, Value>>>;

const DROPPED: &str = "RedriveAllowPolicy";

/// Starts a proxy to this account of the server of this kind on this port, for the rest of the test; gives its URL.
pub(crate) async fn start(server: u16, kind: Kind, account: &str) -> String {
    let dropped = (kind == Kind::Moto).then(Dropped::default);
    let account: HeaderValue = account.parse().unwrap();
    Port::open().await.serve(move |mut request| {
        // Moto reads the account from it.
        request.headers_mut().insert("x-moto-account-id", account.clone());
        pass(server, dropped.clone(), request)
    })
}

async fn pass(server: u16, dropped: Option<Dropped>, mut request: Request<Bytes>) -> Result<Answer, Broken> {
    let path = request.uri().path().replace("%3A", ":");
    if let Some(function) = path.strip_suffix("/invocations") {
        let version = request.uri().query().unwrap_or_default();
        let get = again(&request, Method::GET, &format!("{function}?{version}"), Bytes::new())?;
        return Ok(passed(&forward(server, get).await?));
    }
    if target(&request) == Some("AmazonSQS.SetQueueAttributes") {
        request = with_policy(server, request).await?;
    }
    let sqs = target(&request).and_then(|target| target.strip_prefix("AmazonSQS.")).map(str::to_owned);
    let call = request.body().clone();
    let mut answer = forward(server, request).await?;
    if let Some((dropped, operation)) = dropped.zip(sqs).filter(|_| answer.status().is_success()) {
        with_redrive_allow_policy(&dropped, &operation, &serde_json::from_slice(&call)?, &mut answer);
    }
    if path.contains("/event-source-mappings") {
        change_json(&mut answer, with_alias);
    }
    Ok(answer)
}

/// Another request with the same headers.
fn again(request: &Request<Bytes>, method: Method, uri: &str, body: Bytes) -> Result<Request<Bytes>, Broken> {
    let mut again = Request::builder().method(method).uri(uri).body(body)?;
    *again.headers_mut() = request.headers().clone();
    Ok(again)
}

fn target(request: &Request<Bytes>) -> Option<&str> {
    request.headers().get("x-amz-target")?.to_str().ok()
}

/// The archives of these tests contain no program, so each version answers its self-test with its published version.
fn passed(version: &Answer) -> Answer {
    let configuration = &document(version)["Configuration"];
    let description = configuration["Description"].as_str().unwrap_or_default();
    let answer = SelfTest {
        version: description.split(' ').nth(1).unwrap_or_default().to_owned(),
        handler: configuration["Handler"].as_str().unwrap_or_default().to_owned(),
        problems: Vec::new(),
    };
    Response::new(json!(answer).to_string().into())
}

/// Moto removes a queue's policy when other attributes are set.
async fn with_policy(server: u16, request: Request<Bytes>) -> Result<Request<Bytes>, Broken> {
    let mut set: Value = serde_json::from_slice(request.body())?;
    if !set["Attributes"]["Policy"].is_null() {
        return Ok(request);
    }
    let body = json!({"QueueUrl": set["QueueUrl"], "AttributeNames": ["Policy"]}).to_string();
    let mut get = again(&request, Method::POST, "/", body.into())?;
    get.headers_mut().insert("x-amz-target", "AmazonSQS.GetQueueAttributes".parse()?);
    let attributes = document(&forward(server, get).await?);
    if let Some(policy) = attributes["Attributes"].get("Policy") {
        set["Attributes"]["Policy"] = policy.clone();
    }
    again(&request, Method::POST, "/", set.to_string().into())
}

/// Keeps the value that a call sets, and adds it to the answers of reads that request it.
fn with_redrive_allow_policy(dropped: &Dropped, operation: &str, call: &Value, answer: &mut Answer) {
    let name = call["QueueName"].as_str().or(call["QueueUrl"].as_str()).unwrap_or_default();
    let queue = name.rsplit('/').next().unwrap_or_default();
    let mut dropped = dropped.lock().unwrap();
    match (operation, &call["Attributes"][DROPPED]) {
        ("CreateQueue" | "SetQueueAttributes", Value::String(policy)) => {
            dropped.insert(queue.to_owned(), policy.as_str().into());
        }
        ("DeleteQueue", _) => drop(dropped.remove(queue)),
        ("GetQueueAttributes", _) => {
            let is_asked = |name: &Value| name == "All" || name == DROPPED;
            let policy = dropped.get(queue).filter(|policy| **policy != "");
            if let Some(policy) =
                policy.filter(|_| call["AttributeNames"].as_array().is_some_and(|names| names.iter().any(is_asked)))
            {
                change_json(answer, |body| body["Attributes"][DROPPED] = policy.clone());
            }
        }
        _ => {}
    }
}

/// Moto answers with the version that an event source mapping's alias points to.
fn with_alias(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str().and_then(|arn| arn.rsplit_once(':')) {
                    Some((function, version)) if name == "FunctionArn" && version.parse::<u64>().is_ok() => {
                        *value = format!("{function}:{LIVE}").into();
                    }
                    _ => with_alias(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(with_alias),
        _ => {}
    }
}
