//! What the JSON protocols of AWS share: the answer is a JSON document, or an error with a code and a message.

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
use super::signed_call::{self, ErrorResponse, Service};

/// The calls to a service. Clones share what they learned about the clock of the service.
#[derive(Clone, Debug)]
pub(super) struct JsonCalls(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    config: SdkConfig,
    service: Service,
    runtime: [SharedRuntimePlugin; 2],
}

/// The answer is not a document that the operation returns.
#[derive(Debug, thiserror::Error)]
#[error("the answer is not the expected JSON document")]
struct Unreadable(#[source] serde_json::Error);

impl JsonCalls {
    pub(super) fn new(config: &SdkConfig, service: Service, further: impl RuntimePlugin + 'static) -> Self {
        let runtime = [signed_call::runtime(config, service), SharedRuntimePlugin::new(further)];
        Self(Arc::new(Handle {
            config: config.clone(),
            service,
            runtime,
        }))
    }

    /// Calls an operation; `request` makes the request of the input.
    pub(super) async fn call<T>(
        &self,
        operation: &'static str,
        input: String,
        request: impl Fn(String) -> Result<HttpRequest, BoxError> + Send + Sync + 'static,
    ) -> Result<T, SdkError<ErrorResponse, HttpResponse>>
    where
        T: DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let Handle {
            config,
            service,
            runtime: [signed, further],
        } = self.0.as_ref();
        let operation: Operation<String, T, ErrorResponse> =
            signed_call::operation(config, *service, operation, signed.clone())
                .runtime_plugin(further.clone())
                .serializer(request)
                .deserializer(read::<T>)
                .build();
        // The future of a call is large, and would be part of each future that waits for it.
        Box::pin(operation.invoke(input)).await
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
