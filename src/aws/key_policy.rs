//! Policies of KMS keys: one call, which does not justify the SDK crate of the whole service.

use std::fmt;

use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, OrchestratorError};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::error::metadata::{ErrorMetadata, ProvideErrorMetadata};
use aws_types::SdkConfig;
use serde_json::{Value, json};

use super::error::{if_present, rejected};
use super::retry::FinalAnswers;
use super::{AwsCloud, call_log, document};
use crate::cloud::Fault;
use crate::model::document::Document;
use crate::model::name::KmsKey;
use crate::wire::signed_call::{self, Service};

const KMS: Service = Service {
    id: "KMS",
    name: "kms",
    gov_is_fips: false,
};

/// The call, with its input and output as JSON text.
pub(super) type GetKeyPolicy = Operation<String, String, KmsError>;

/// The policy of a key; `None` if there is no such key.
///
/// # Errors
/// When the call is refused or not answered.
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

pub(super) fn get_key_policy(config: &SdkConfig) -> GetKeyPolicy {
    signed_call::operation::<KmsError>(config, KMS, "GetKeyPolicy")
        .interceptor(call_log::CallLog)
        .retry_classifier(FinalAnswers)
        .serializer(request)
        .deserializer(answer)
        .build()
}

fn request(input: String) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(SdkBody::from(input));
    request.set_method("POST")?;
    request.set_uri("/")?;
    let headers = request.headers_mut();
    headers.insert("content-type", "application/x-amz-json-1.1");
    headers.insert("x-amz-target", "TrentService.GetKeyPolicy");
    Ok(request)
}

fn answer(response: &HttpResponse) -> Result<String, OrchestratorError<KmsError>> {
    let text = String::from_utf8_lossy(response.body().bytes().unwrap_or_default()).into_owned();
    if response.status().is_success() {
        return Ok(text);
    }
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    let word = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| document.get(name)?.as_str())
            .map(str::to_owned)
    };
    let mut metadata = ErrorMetadata::builder();
    metadata = match word(["__type", "code"]) {
        Some(code) => metadata.code(code),
        None => metadata,
    };
    metadata = match word(["message", "Message"]) {
        Some(message) => metadata.message(message),
        None => metadata,
    };
    Err(OrchestratorError::operation(KmsError(metadata.build())))
}

/// An error of KMS.
#[derive(Debug)]
pub(super) struct KmsError(ErrorMetadata);

impl fmt::Display for KmsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for KmsError {}

impl ProvideErrorMetadata for KmsError {
    fn meta(&self) -> &ErrorMetadata {
        &self.0
    }
}
