//! A proxy between the router and the emulator that forwards calls or injects faults.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::faults::{FaultInjector, InjectedFault};

/// A proxy on 127.0.0.1.
pub(super) struct Proxy {
    address: SocketAddr,
    target: Arc<OnceLock<u16>>,
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

impl Proxy {
    /// Listens on a free port.
    pub(super) async fn listen(faults: Arc<FaultInjector>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let target: Arc<OnceLock<u16>> = Arc::default();
        let forward_to = Arc::clone(&target);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (faults, target) = (Arc::clone(&faults), Arc::clone(&forward_to));
                tokio::spawn(async move {
                    let service = service_fn(|request| forward(&faults, &target, request));
                    // Broken connections are part of the test.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, target }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the port that calls are forwarded to.
    pub(super) fn forward_to(&self, port: u16) {
        self.target.set(port).unwrap();
    }
}

/// Handles one call. An error breaks the connection.
async fn forward(
    faults: &FaultInjector,
    target: &OnceLock<u16>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Broken> {
    let (mut head, body) = request.into_parts();
    let mut body = body.collect().await?.to_bytes();
    let sqs = head.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let action = match sqs.and_then(|target| target.strip_prefix("AmazonSQS.")) {
        Some(action) => action.to_owned(),
        None if body.starts_with(b"Action=DescribeTags&") => "DescribeTags".to_owned(),
        None => String::new(),
    };
    let mut call: Value = serde_json::from_slice(&body).unwrap_or_default();
    let url = call["QueueUrl"].as_str().unwrap_or_default();
    let queue = url.rsplit('/').next().unwrap_or_default().to_owned();
    let sends = action == "SendMessageBatch";
    faults.pass(&action).await;
    let _entered = if sends { faults.enter(&queue).await } else { None };
    let fault = faults.of(&action, &queue);
    let mut failed = None;
    match fault {
        InjectedFault::LostCall => return Err("the connection breaks".into()),
        InjectedFault::Throttled if action == "DescribeTags" => {
            let text = "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors><RequestID>r</RequestID></Response>";
            return Ok(answer(503, "text/xml", text.to_owned()));
        }
        InjectedFault::Throttled => return Ok(refusal(400, "RequestThrottled")),
        InjectedFault::Denied => return Ok(refusal(400, "AccessDeniedException")),
        InjectedFault::Failed => return Ok(refusal(500, "InternalFailure")),
        InjectedFault::FailedEntry => {
            let entries = call["Entries"].as_array_mut().ok_or("a batch has entries")?;
            let entry = entries.pop().ok_or("a batch has an entry")?;
            failed =
                Some(json!({"Id": entry["Id"], "SenderFault": false, "Code": "InternalError", "Message": "try again"}));
            if entries.is_empty() {
                return Ok(answer(
                    200,
                    JSON,
                    json!({"Successful": [], "Failed": [failed]}).to_string(),
                ));
            }
            body = call.to_string().into();
        }
        InjectedFault::None | InjectedFault::LostAnswer => {}
    }
    head.headers.remove("content-length");
    let port = *target.get().ok_or("the emulator has not started")?;
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let response = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
    let (mut head, body) = response.into_parts();
    let mut body = body.collect().await?.to_bytes();
    if sends {
        faults.touch(&queue);
    }
    if fault == InjectedFault::LostAnswer {
        return Err("the connection breaks".into());
    }
    if let Some(failed) = failed {
        let mut answer: Value = serde_json::from_slice(&body)?;
        if head.status.is_success() {
            let all = answer.as_object_mut().ok_or("an answer is an object")?;
            let list = all.entry("Failed").or_insert_with(|| json!([]));
            list.as_array_mut().ok_or("a list")?.push(failed);
            body = answer.to_string().into();
        }
    }
    head.headers.remove("content-length");
    head.headers.remove("transfer-encoding");
    head.headers.remove("connection");
    Ok(Response::from_parts(head, Full::new(body)))
}

const JSON: &str = "application/x-amz-json-1.0";

fn refusal(status: u16, code: &str) -> Response<Full<Bytes>> {
    let text = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "not now"});
    answer(status, JSON, text.to_string())
}

fn answer(status: u16, kind: &str, text: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(Full::from(text))
        .unwrap()
}
