//! A proxy between the router and the emulator that forwards calls or injects faults.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::faults::{FaultInjector, InjectedFault};
use crate::support::proxy::{Answer, Broken, Port, Upstream, answer, change_json, json_answer};

pub(super) struct Proxy {
    pub(super) url: String,
    target: Upstream,
}

impl Proxy {
    pub(super) async fn listen(faults: Arc<FaultInjector>) -> Self {
        let target = Upstream::default();
        let to = target.clone();
        let url = Port::open().await.serve(move |request| {
            let (faults, target) = (Arc::clone(&faults), to.clone());
            async move { pass(&faults, &target, request).await }
        });
        Self { url, target }
    }

    pub(super) fn forward_to(&self, port: u16) {
        self.target.set(port);
    }
}

async fn pass(faults: &FaultInjector, target: &Upstream, request: Request<Bytes>) -> Result<Answer, Broken> {
    let (head, mut body) = request.into_parts();
    let sqs = head.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let action = match sqs.and_then(|target| target.strip_prefix("AmazonSQS.")) {
        Some(action) => action.to_owned(),
        None if body.starts_with(b"Action=DescribeTags&") => "DescribeTags".to_owned(),
        None if body.starts_with(b"Action=PublishBatch&") => "PublishBatch".to_owned(),
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
            return Ok(answer(503, "text/xml", text));
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
                return Ok(json_answer(200, &json!({"Successful": [], "Failed": [failed]})));
            }
            body = call.to_string().into();
        }
        InjectedFault::None | InjectedFault::LostAnswer => {}
    }
    let mut answer = target.forward(Request::from_parts(head, body)).await?;
    answer.headers_mut().remove("connection");
    if sends {
        faults.touch(&queue);
    }
    if fault == InjectedFault::LostAnswer {
        return Err("the connection breaks".into());
    }
    if let Some(failed) = failed.filter(|_| answer.status().is_success()) {
        change_json(&mut answer, |answer| match answer["Failed"].as_array_mut() {
            Some(list) => list.push(failed),
            None => answer["Failed"] = json!([failed]),
        });
    }
    Ok(answer)
}

fn refusal(status: u16, code: &str) -> Answer {
    let body = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "not now"});
    json_answer(status, &body)
}
