//! Policies of KMS keys: one call, which does not justify the SDK crate of the whole service.

use aws_types::SdkConfig;
use serde_json::{Value, json};

use super::error::{if_present, rejected};
use super::retry::FinalAnswers;
use super::{AwsCloud, call_log, document};
use crate::cloud::Fault;
use crate::model::document::Document;
use crate::model::name::KmsKey;
use crate::wire::signed_call::{self, Call, Service};

const KMS: Service = Service {
    id: "KMS",
    name: "kms",
    gov_is_fips: false,
};

/// The policy of a key; `None` if there is no such key.
pub(super) async fn key_policy(cloud: &AwsCloud, key: &KmsKey) -> Result<Option<Document>, Fault> {
    let action = "kms:GetKeyPolicy";
    // `default` is the only policy that a key has (KMS API reference, `GetKeyPolicy`).
    let input = json!({ "KeyId": key.as_str(), "PolicyName": "default" }).to_string();
    let Some(answer) = if_present(cloud.call(action, || cloud.get_key_policy.invoke(input.clone())).await)? else {
        return Ok(None);
    };
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    match answer.get("Policy").and_then(Value::as_str) {
        Some(policy) => Ok(Some(document::read(policy))),
        None => Err(rejected(action, "the answer holds no policy")),
    }
}

pub(super) fn get_key_policy(config: &SdkConfig) -> Call {
    const HEADERS: [(&str, &str); 2] = [
        ("content-type", "application/x-amz-json-1.1"),
        ("x-amz-target", "TrentService.GetKeyPolicy"),
    ];
    signed_call::operation(config, KMS, "GetKeyPolicy")
        .interceptor(call_log::CallLog)
        .retry_classifier(FinalAnswers)
        .serializer(|input| signed_call::post(input, &HEADERS))
        .deserializer(|response| signed_call::answer(response, error))
        .build()
}

/// The code and the message of an error document.
fn error(text: &str) -> [Option<String>; 2] {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    [["__type", "code"], ["message", "Message"]].map(|names| {
        let word = names.iter().find_map(|name| document.get(name)?.as_str())?;
        Some(word.to_owned())
    })
}
