//! Invocations of a function that wait for its answer.

use aws_sdk_lambda::primitives::Blob;
use serde_json::Value;

use super::AwsCloud;
use super::error::OrFault;
use super::wait::{Waiting, taken};
use crate::cloud::Fault;
use crate::model::name::FunctionName;

/// How an invocation ended that Lambda carried out.
pub(super) enum Invoked {
    /// With this answer.
    Answered(Vec<u8>),
    /// With an error of the function's own, in its words.
    Failed(String),
}

/// Invokes a version or an alias of a function with this event, and waits for its answer.
pub(super) async fn invoke(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
    event: &Value,
    waiting: Waiting<'_>,
) -> Result<Invoked, Fault> {
    let action = "lambda:InvokeFunction";
    let answer = taken(action, waiting, || {
        let call = cloud.lambda.invoke().function_name(name.as_str()).qualifier(qualifier);
        let call = call.payload(Blob::new(event.to_string()));
        async move { call.send().await.or_fault(action) }
    })
    .await?;
    let payload = answer.payload.map(Blob::into_inner).unwrap_or_default();
    Ok(match answer.function_error {
        None => Invoked::Answered(payload),
        Some(_) => Invoked::Failed(words(&payload)),
    })
}

/// What a function says when it fails: the message of Lambda's error document, or whatever there is.
fn words(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    serde_json::from_str::<Value>(&text)
        .ok()
        .and_then(|document| document["errorMessage"].as_str().map(str::to_owned))
        .unwrap_or_else(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_heard_in_its_own_words() {
        for (payload, heard) in [
            (
                r#"{"errorType": "Runtime.ExitError", "errorMessage": "exit status 1"}"#,
                "exit status 1",
            ),
            (r#"{"errorType": "x"}"#, r#"{"errorType": "x"}"#),
            ("gone", "gone"),
            ("", ""),
        ] {
            assert_eq!(words(payload.as_bytes()), heard);
        }
    }
}
