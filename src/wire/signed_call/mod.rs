//! Calls to services without their SDK crate. The SDK's own runtime does the signing, retries, credentials, timeouts and
//! endpoints.

mod endpoint;

use std::fmt;

use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::auth::{SigV4OperationSigningConfig, SigningOptions};
use aws_runtime::invocation_id::InvocationIdInterceptor;
use aws_runtime::retries::classifiers::AwsErrorCodeClassifier;
use aws_runtime::service_clock_skew::{ServiceClockSkewClassifier, ServiceClockSkewInterceptor};
use aws_runtime::user_agent::{ApiMetadata, UserAgentInterceptor};
use aws_smithy_runtime::client::http::connection_poisoning::ConnectionPoisoningInterceptor;
use aws_smithy_runtime::client::orchestrator::operation::{Operation, OperationBuilder};
use aws_smithy_runtime::client::retries::classifiers::{HttpStatusCodeClassifier, TransientErrorClassifier};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::auth::{
    AuthSchemeOptionResolverParams, SharedAuthScheme, SharedAuthSchemeOptionResolver,
};
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::identity::SharedIdentityResolver;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::{SharedRuntimePlugin, StaticRuntimePlugin};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::Layer;
use aws_smithy_types::error::metadata::{ErrorMetadata, ProvideErrorMetadata};
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::region::SigningRegion;
use aws_types::{SdkConfig, SigningName};

pub use endpoint::custom_endpoint;
pub(crate) use endpoint::endpoint;

/// A service that is called without its SDK crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Its id in the SDK, like `EC2`, which names its endpoint in the environment.
    pub(crate) id: &'static str,
    /// Its name in hosts and signatures, like `ec2`.
    pub(crate) name: &'static str,
    /// How its FIPS endpoints in the commercial Regions are named.
    pub(crate) fips: FipsHost,
    /// Whether its regular endpoints in GovCloud are the FIPS endpoints.
    pub(crate) gov_is_fips: bool,
}

/// The name of a FIPS endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FipsHost {
    /// `NAME-fips.REGION`, in every partition.
    Suffix,
    /// `fips.NAME.REGION` in the commercial Regions. Others, and those with two stacks, are as the other services have them.
    Prefix,
}

/// An error response, in the form that the SDK's retry classifiers read.
#[derive(Debug)]
pub struct ErrorResponse {
    pub(crate) status: u16,
    metadata: ErrorMetadata,
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.metadata, self.status)
    }
}

impl std::error::Error for ErrorResponse {}

impl ProvideErrorMetadata for ErrorResponse {
    fn meta(&self) -> &ErrorMetadata {
        &self.metadata
    }
}

/// A call with the endpoint, HTTP client, retries and timeouts of a configuration. The caller adds the serializer and the
/// deserializer. `runtime` is that of [`runtime`]. Without a retry configuration it retries as the SDK's standard mode does.
pub(crate) fn operation(
    config: &SdkConfig,
    service: Service,
    name: &'static str,
    runtime: SharedRuntimePlugin,
) -> OperationBuilder {
    let mut builder = Operation::builder()
        .service_name(service.name)
        .operation_name(name)
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(&endpoint(config, service))
        .standard_retry(&config.retry_config().cloned().unwrap_or_else(RetryConfig::standard))
        .timeout_config(config.timeout_config().cloned().unwrap_or_else(TimeoutConfig::disabled))
        .runtime_plugin(runtime);
    if let Some(client) = config.http_client() {
        builder = builder.http_client(client);
    }
    if let Some(sleep) = config.sleep_impl() {
        builder = builder.sleep_impl(sleep);
    }
    if let Some(time) = config.time_source() {
        builder = builder.time_source(time);
    }
    builder
}

/// A request with this body and these headers.
pub(crate) fn post(body: String, headers: &[(&'static str, &'static str)]) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(SdkBody::from(body));
    request.set_method("POST")?;
    request.set_uri("/")?;
    for (name, value) in headers {
        request.headers_mut().insert(*name, *value);
    }
    Ok(request)
}

/// A request without a body.
#[cfg(feature = "cli")]
pub(crate) fn get(uri: String) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(SdkBody::empty());
    request.set_method("GET")?;
    request.set_uri(uri)?;
    Ok(request)
}

/// The text of an answer. `error` finds the code and the message in that of a refusal.
pub(crate) fn answer(
    response: &HttpResponse,
    error: impl FnOnce(&str) -> [Option<String>; 2],
) -> Result<String, OrchestratorError<ErrorResponse>> {
    let body = response.body().bytes().unwrap_or_default();
    let text = std::str::from_utf8(body).map_err(|e| OrchestratorError::response(e.into()))?;
    if response.status().is_success() {
        return Ok(text.to_owned());
    }
    let [code, message] = error(text);
    let mut metadata = ErrorMetadata::builder();
    if let Some(code) = code {
        metadata = metadata.code(code);
    }
    if let Some(message) = message {
        metadata = metadata.message(message);
    }
    Err(OrchestratorError::operation(ErrorResponse {
        status: response.status().as_u16(),
        metadata: metadata.build(),
    }))
}

/// What all calls of a client share: signatures of version 4 with the configuration's credentials, the clock of the service,
/// and the interceptors and retry classifiers of the SDK's own clients.
pub(crate) fn runtime(config: &SdkConfig, service: Service) -> SharedRuntimePlugin {
    let mut layer = Layer::new(service.name);
    layer.store_put(AuthSchemeOptionResolverParams::new(()));
    layer.store_put(ApiMetadata::new(service.name, env!("CARGO_PKG_VERSION")));
    layer.store_put(SigV4OperationSigningConfig {
        region: config.region().cloned().map(SigningRegion::from),
        region_set: None,
        name: Some(SigningName::from_static(service.name)),
        signing_options: SigningOptions::default(),
    });
    let mut components = RuntimeComponentsBuilder::new(service.name);
    components.push_retry_classifier(HttpStatusCodeClassifier::default());
    components.push_retry_classifier(TransientErrorClassifier::<ErrorResponse>::new());
    components.push_retry_classifier(AwsErrorCodeClassifier::<ErrorResponse>::new());
    components.push_retry_classifier(ServiceClockSkewClassifier::<ErrorResponse>::new());
    components.push_interceptor(ConnectionPoisoningInterceptor::new());
    components.push_interceptor(ServiceClockSkewInterceptor::new());
    components.push_interceptor(UserAgentInterceptor::new());
    components.push_interceptor(InvocationIdInterceptor::new());
    components.set_auth_scheme_option_resolver(Some(SharedAuthSchemeOptionResolver::new(
        StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID]),
    )));
    components.push_auth_scheme(SharedAuthScheme::new(SigV4AuthScheme::new()));
    if let Some(credentials) = config.credentials_provider() {
        components.set_identity_resolver(SCHEME_ID, SharedIdentityResolver::new(credentials));
    }
    if let Some(cache) = config.identity_cache() {
        components.set_identity_cache(Some(cache));
    }
    SharedRuntimePlugin::new(
        StaticRuntimePlugin::new()
            .with_config(layer.freeze())
            .with_runtime_components(components),
    )
}
