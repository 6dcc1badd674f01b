//! Calls in the JSON protocols of AWS. In AWS JSON 1.0 and 1.1 a header names the operation, and the request is a JSON
//! document. In REST JSON the path names the resource, and the query or the body has the parameters. The answer is a JSON
//! document, or an error with a code and a message (Smithy documentation, "AWS JSON 1.0 protocol", "AWS JSON 1.1 protocol",
//! "AWS restJson1 protocol").

use std::fmt::Debug;
use std::sync::Arc;

use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugin, SharedRuntimePlugin};
use aws_types::SdkConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::aws_code;
use super::signed_call::{self, Service};

pub use super::signed_call::ErrorResponse;

const VERSION_1_0: &str = "application/x-amz-json-1.0";
const VERSION_1_1: &str = "application/x-amz-json-1.1";
const REST: &str = "application/json";

#[derive(Clone, Copy, Debug)]
pub struct JsonService {
    service: Service,
    /// The media type of its requests, which includes the version of the protocol.
    media_type: &'static str,
    /// The prefix of a request's target, before the name of the operation. REST JSON has none.
    target: &'static str,
}

const fn json(service: Service, media_type: &'static str, target: &'static str) -> JsonService {
    JsonService { service, media_type, target }
}

/// The Key Management Service.
pub const KMS: JsonService = json(Service::of("KMS", "kms").with_fips_endpoints_in_gov(), VERSION_1_1, "TrentService");
/// CloudWatch Logs.
pub const LOGS: JsonService = json(Service::of("CloudWatch Logs", "logs"), VERSION_1_1, "Logs_20140328");
/// Systems Manager Parameter Store.
pub const PARAMETERS: JsonService = json(Service::of("SSM", "ssm"), VERSION_1_1, "AmazonSSM");
/// The Resource Groups Tagging API.
pub const TAGGING: JsonService = json(
    Service::of("Resource Groups Tagging API", "tagging").with_fips_endpoints_in_gov(),
    VERSION_1_1,
    "ResourceGroupsTaggingAPI_20170126",
);

/// The metrics of CloudWatch (its service model: protocol `awsJson1_0`, besides the query protocol).
pub const METRICS: JsonService = json(
    Service::of("CloudWatch", "monitoring").with_fips_endpoints_of_two_stacks_in_gov(),
    VERSION_1_0,
    "GraniteServiceVersion20100801",
);

/// EKS, whose protocol is REST JSON.
pub const EKS: JsonService = json(Service::of("EKS", "eks").with_fips_prefix(), REST, "");

/// The Fault Injection Service, whose protocol is REST JSON.
pub const FIS: JsonService = json(Service::of("fis", "fis"), REST, "");

/// A client of such a service. Clones share the measured offset of the service's clock.
#[derive(Clone, Debug)]
pub struct JsonClient(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    config: SdkConfig,
    service: JsonService,
    runtime: [SharedRuntimePlugin; 2],
}

type Answer<T> = Result<T, SdkError<ErrorResponse, HttpResponse>>;

/// The response is not a document that the operation can return.
#[derive(Debug, thiserror::Error)]
#[error("the response is not the expected JSON document")]
struct Unreadable(#[source] serde_json::Error);

impl JsonClient {
    /// A client of a configuration, with further interceptors and retry classifiers.
    pub fn new(config: &SdkConfig, service: JsonService, further: impl RuntimePlugin + 'static) -> Self {
        let runtime = [signed_call::runtime(config, service.service), SharedRuntimePlugin::new(further)];
        Self(Arc::new(Handle { config: config.clone(), service, runtime }))
    }

    /// Calls an operation of AWS JSON. Input members that are `null` are omitted. A response without a body counts as
    /// an empty document, because an operation without output returns no body.
    pub async fn call<T: DeserializeOwned + Debug + Send + Sync + 'static>(
        &self,
        operation: &'static str,
        mut input: Value,
    ) -> Answer<T> {
        if let Value::Object(members) = &mut input {
            members.retain(|_, value| !value.is_null());
        }
        let JsonService { target, media_type, .. } = self.0.service;
        let target = format!("{target}.{operation}");
        let request = move |input: String| {
            let mut request = signed_call::post(input, media_type)?;
            request.headers_mut().insert("x-amz-target", target.clone());
            Ok(request)
        };
        self.send(operation, input.to_string(), request).await
    }

    /// Reads the resource at a REST JSON path, with these parameters.
    pub async fn get<T: DeserializeOwned + Debug + Send + Sync + 'static>(
        &self,
        operation: &'static str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Answer<T> {
        let request = |uri| {
            let mut request = HttpRequest::empty();
            request.set_uri(uri)?;
            Ok(request)
        };
        self.send(operation, uri(path, query), request).await
    }

    /// Creates a resource at a REST JSON path, with these parameters. Returns the service's response.
    pub async fn post(&self, operation: &'static str, path: &[&str], body: &Value) -> Answer<Value> {
        let uri = uri(path, &[]);
        let request = move |body: String| {
            let mut request = signed_call::post(body, REST)?;
            request.set_uri(uri.clone())?;
            Ok(request)
        };
        self.send(operation, body.to_string(), request).await
    }

    /// Deletes the resource at a REST JSON path. Returns the service's response.
    pub async fn delete(&self, operation: &'static str, path: &[&str]) -> Answer<Value> {
        let request = |uri| {
            let mut request = HttpRequest::empty();
            request.set_method("DELETE")?;
            request.set_uri(uri)?;
            Ok(request)
        };
        self.send(operation, uri(path, &[]), request).await
    }

    async fn send<T: DeserializeOwned + Debug + Send + Sync + 'static>(
        &self,
        operation: &'static str,
        input: String,
        request: impl Fn(String) -> Result<HttpRequest, BoxError> + Send + Sync + 'static,
    ) -> Answer<T> {
        let Handle { config, service, runtime: [signed, further] } = self.0.as_ref();
        let operation: Operation<String, T, ErrorResponse> =
            signed_call::operation(config, service.service, operation, signed.clone())
                .runtime_plugin(further.clone())
                .serializer(request)
                .deserializer(read::<T>)
                .build();
        // The future of a call is large, and would be part of each future that waits for it.
        Box::pin(operation.invoke(input)).await
    }
}

fn uri(path: &[&str], query: &[(&str, &str)]) -> String {
    let path: String = path.iter().map(|part| format!("/{}", urlencoding::encode(part))).collect();
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", urlencoding::encode(value));
    match query.iter().map(pair).collect::<Vec<_>>().join("&").as_str() {
        "" => path,
        query => format!("{path}?{query}"),
    }
}

fn read<T: DeserializeOwned>(response: &HttpResponse) -> Result<T, OrchestratorError<ErrorResponse>> {
    let text = signed_call::answer(response, |text| error_in(response, text))?;
    let text = if text.is_empty() { "{}" } else { &text };
    serde_json::from_str(text).map_err(|e| OrchestratorError::response(Unreadable(e).into()))
}

/// The code and the message of an error response.
fn error_in(response: &HttpResponse, text: &str) -> [Option<String>; 2] {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let mut names = ["message", "Message", "errorMessage"].iter();
    let message = names.find_map(|name| document.get(name)?.as_str());
    [aws_code::of_json(response.headers(), &document), message.map(str::to_owned)]
}

#[cfg(test)]
mod tests;
