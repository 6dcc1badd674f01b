//! Calls in the AWS JSON protocols, versions 1.0 and 1.1: a header names the operation, and the request and the answer are JSON
//! documents (Smithy documentation, "AWS JSON 1.0 protocol", "AWS JSON 1.1 protocol").

use std::fmt::Debug;
use std::sync::Arc;

use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_plugin::{RuntimePlugin, SharedRuntimePlugin};
use aws_types::SdkConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::aws_code;
use super::signed_call::{self, Service};

pub use super::signed_call::ErrorResponse;

/// A service with this protocol.
#[derive(Clone, Copy, Debug)]
pub struct JsonService {
    service: Service,
    /// The target of a request, up to the name of the operation.
    target: &'static str,
    /// The media type of its requests, which has the version of the protocol.
    media_type: &'static str,
}

const VERSION_1_0: &str = "application/x-amz-json-1.0";
const VERSION_1_1: &str = "application/x-amz-json-1.1";

/// KMS.
pub const KMS: JsonService = JsonService {
    service: Service {
        id: "KMS",
        name: "kms",
        gov_is_fips: false,
    },
    target: "TrentService",
    media_type: VERSION_1_1,
};

/// CloudWatch Logs.
pub const LOGS: JsonService = JsonService {
    service: Service {
        id: "CloudWatch Logs",
        name: "logs",
        gov_is_fips: true,
    },
    target: "Logs_20140328",
    media_type: VERSION_1_1,
};

/// The Resource Groups Tagging API.
pub const TAGGING: JsonService = JsonService {
    service: Service {
        id: "Resource Groups Tagging API",
        name: "tagging",
        gov_is_fips: false,
    },
    target: "ResourceGroupsTaggingAPI_20170126",
    media_type: VERSION_1_1,
};

/// The metrics of CloudWatch (its service model: protocol `awsJson1_0`, besides the query protocol).
pub const METRICS: JsonService = JsonService {
    service: Service {
        id: "CloudWatch",
        name: "monitoring",
        gov_is_fips: true,
    },
    target: "GraniteServiceVersion20100801",
    media_type: VERSION_1_0,
};

/// A client of such a service. Clones share what they learned about the clock of the service.
#[derive(Clone, Debug)]
pub struct JsonClient(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    config: SdkConfig,
    service: JsonService,
    runtime: [SharedRuntimePlugin; 2],
}

/// The answer is not a document that the operation returns.
#[derive(Debug, thiserror::Error)]
#[error("the answer is not the expected JSON document")]
struct Unreadable(#[source] serde_json::Error);

impl JsonClient {
    /// A client with the credentials, Region, endpoint, HTTP client, retries and timeouts of a configuration, and with
    /// further interceptors and retry classifiers.
    #[must_use]
    pub fn new(config: &SdkConfig, service: JsonService, further: impl RuntimePlugin + 'static) -> Self {
        let runtime = [
            signed_call::runtime(config, service.service),
            SharedRuntimePlugin::new(further),
        ];
        Self(Arc::new(Handle {
            config: config.clone(),
            service,
            runtime,
        }))
    }

    /// Calls an operation. Members of the input that are `null` are left out. An answer without a body counts as a document
    /// without members, because that is what an operation without output returns.
    ///
    /// # Errors
    /// When the service refuses or does not answer, or the answer is not a document of this type.
    pub async fn call<T>(
        &self,
        operation: &'static str,
        mut input: Value,
    ) -> Result<T, SdkError<ErrorResponse, HttpResponse>>
    where
        T: DeserializeOwned + Debug + Send + Sync + 'static,
    {
        if let Value::Object(members) = &mut input {
            members.retain(|_, value| !value.is_null());
        }
        let operation = self.operation(operation);
        // The future of a call is large, and would be part of each future that waits for it.
        Box::pin(operation.invoke(input.to_string())).await
    }

    fn operation<T>(&self, name: &'static str) -> Operation<String, T, ErrorResponse>
    where
        T: DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let JsonService {
            service,
            target,
            media_type,
        } = self.0.service;
        let [signed, further] = self.0.runtime.clone();
        let target = format!("{target}.{name}");
        signed_call::operation(&self.0.config, service, name, signed)
            .runtime_plugin(further)
            .serializer(move |input: String| {
                let mut request = signed_call::post(input, &[("content-type", media_type)])?;
                request.headers_mut().insert("x-amz-target", target.clone());
                Ok(request)
            })
            .deserializer(read::<T>)
            .build()
    }
}

fn read<T: DeserializeOwned>(response: &HttpResponse) -> Result<T, OrchestratorError<ErrorResponse>> {
    let text = signed_call::answer(response, |text| error(response, text))?;
    let text = if text.is_empty() { "{}" } else { &text };
    serde_json::from_str(text).map_err(|e| OrchestratorError::response(Unreadable(e).into()))
}

/// The code and the message of an error response.
fn error(response: &HttpResponse, text: &str) -> [Option<String>; 2] {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let message = ["message", "Message", "errorMessage"]
        .iter()
        .find_map(|name| document.get(name)?.as_str());
    [
        aws_code::of_json(response.headers(), &document),
        message.map(str::to_owned),
    ]
}

#[cfg(test)]
mod tests;
