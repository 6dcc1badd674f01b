//! Creates a customer managed KMS key on the emulator, without the KMS SDK.

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::scenario::wire::forward;

/// Creates a key with this policy, or with the default policy, and returns its ARN. The emulator at this port takes the
/// account and the Region from the signature and does not check it.
pub(crate) async fn make(port: u16, account: &str, region: &str, policy: Option<&Value>) -> String {
    let input = match policy {
        Some(policy) => json!({"Policy": policy.to_string()}),
        None => json!({}),
    };
    let scope = format!("{account}/20260101/{region}/kms/aws4_request");
    let request = Request::post("/")
        .header("host", "127.0.0.1")
        .header("x-amz-target", "TrentService.CreateKey")
        .header("content-type", "application/x-amz-json-1.1")
        .header(
            "authorization",
            format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"),
        )
        .body(Bytes::from(input.to_string()))
        .unwrap();
    let answer = forward(port, request).await.unwrap();
    let answer = answer.into_body().collect().await.unwrap().to_bytes();
    let made: Value = serde_json::from_slice(&answer).unwrap();
    let key = made["KeyMetadata"]["Arn"].as_str();
    key.unwrap_or_else(|| panic!("no key was made: {made}")).to_owned()
}
