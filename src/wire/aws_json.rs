//! Calls in the AWS JSON protocols, versions 1.0 and 1.1: a header names the operation, and the request and the answer are JSON
//! documents (Smithy documentation, "AWS JSON 1.0 protocol", "AWS JSON 1.1 protocol").

use std::fmt::Debug;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_types::SdkConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json_call::JsonCalls;
use super::signed_call::{self, FipsHost, Service};

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
        fips: FipsHost::Suffix,
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
        fips: FipsHost::Suffix,
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
        fips: FipsHost::Suffix,
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
        fips: FipsHost::Suffix,
        gov_is_fips: true,
    },
    target: "GraniteServiceVersion20100801",
    media_type: VERSION_1_0,
};

/// Systems Manager Parameter Store.
pub const PARAMETERS: JsonService = JsonService {
    service: Service {
        id: "SSM",
        name: "ssm",
        fips: FipsHost::Suffix,
        gov_is_fips: true,
    },
    target: "AmazonSSM",
    media_type: VERSION_1_1,
};

/// A client of such a service. Clones share what they learned about the clock of the service.
#[derive(Clone, Debug)]
pub struct JsonClient {
    calls: JsonCalls,
    service: JsonService,
}

impl JsonClient {
    /// A client with the credentials, Region, endpoint, HTTP client, retries and timeouts of a configuration, and with
    /// further interceptors and retry classifiers.
    pub fn new(config: &SdkConfig, service: JsonService, further: impl RuntimePlugin + 'static) -> Self {
        Self {
            calls: JsonCalls::new(config, service.service, further),
            service,
        }
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
        let JsonService { target, media_type, .. } = self.service;
        let target = format!("{target}.{operation}");
        let request = move |input: String| {
            let mut request = signed_call::post(input, &[("content-type", media_type)])?;
            request.headers_mut().insert("x-amz-target", target.clone());
            Ok(request)
        };
        self.calls.call(operation, input.to_string(), request).await
    }
}

#[cfg(test)]
mod tests;
