//! Calls to services without their SDK crate, and their endpoints. The SDK's own runtime does the signing, retries,
//! credentials and timeouts.

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
use aws_types::service_config::ServiceConfigKey;
use aws_types::{SdkConfig, SigningName};

use crate::model::partition_of;

/// A service that is called without its SDK crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// Its id in the SDK, like `EC2`, which is part of its endpoint variable's name.
    id: &'static str,
    /// Its name in hosts and signatures, like `ec2`.
    name: &'static str,
    /// Whether its FIPS endpoints in the commercial Regions are `fips.NAME.REGION` instead of `NAME-fips.REGION`. In
    /// other Regions, and for dual-stack endpoints, every service uses `NAME-fips.REGION`.
    fips_is_prefix: bool,
    /// Whether its regular endpoints in GovCloud are the FIPS endpoints.
    gov_is_fips: bool,
    /// Whether this also applies to the dual-stack endpoints.
    gov_dual_stack_is_fips: bool,
}

impl Service {
    /// A service with the usual names for FIPS endpoints.
    pub(crate) const fn of(id: &'static str, name: &'static str) -> Self {
        Self { id, name, fips_is_prefix: false, gov_is_fips: true, gov_dual_stack_is_fips: false }
    }

    #[cfg(feature = "cli")]
    pub(crate) const fn with_fips_prefix(self) -> Self {
        Self { fips_is_prefix: true, ..self }
    }

    #[cfg(any(feature = "cli", test))]
    pub(crate) const fn with_fips_endpoints_in_gov(self) -> Self {
        Self { gov_is_fips: false, ..self }
    }

    #[cfg(any(feature = "cli", test))]
    pub(crate) const fn with_fips_endpoints_of_two_stacks_in_gov(self) -> Self {
        Self { gov_dual_stack_is_fips: true, ..self }
    }
}

/// An error response, in the form that the SDK's retry classifiers read.
#[derive(Debug, thiserror::Error)]
#[error("{metadata} ({status})")]
pub struct ErrorResponse {
    pub(crate) status: u16,
    metadata: ErrorMetadata,
}

impl ProvideErrorMetadata for ErrorResponse {
    fn meta(&self) -> &ErrorMetadata {
        &self.metadata
    }
}

/// A dated set of the SDK's defaults, so that an SDK update does not change them.
pub fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// A call with the endpoint, HTTP client, retries and timeouts of a configuration. The caller adds the serializer and the
/// deserializer. `runtime` comes from [`runtime`]. Without a retry configuration it retries as the SDK's standard mode does.
pub(crate) fn operation(
    config: &SdkConfig,
    service: Service,
    name: &'static str,
    runtime: SharedRuntimePlugin,
) -> OperationBuilder {
    let mut builder = Operation::builder()
        .service_name(service.name)
        .operation_name(name)
        .behavior_version(behavior())
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

pub(crate) fn post(body: String, media_type: &'static str) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(SdkBody::from(body));
    request.set_method("POST")?;
    request.set_uri("/")?;
    request.headers_mut().insert("content-type", media_type);
    Ok(request)
}

/// The text of a response. `error` finds the code and the message in the text of a refusal.
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
    Err(OrchestratorError::operation(ErrorResponse { status: response.status().as_u16(), metadata: metadata.build() }))
}

/// The parts that all calls of a client share: version 4 signatures with the configuration's credentials, the clock of
/// the service, and the interceptors and retry classifiers of the SDK's own clients.
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
    SharedRuntimePlugin::new(StaticRuntimePlugin::new().with_config(layer.freeze()).with_runtime_components(components))
}

/// The custom endpoint of a service, with the precedence of the SDK: the program's own setting, then
/// `AWS_ENDPOINT_URL_<SERVICE>`, then `AWS_ENDPOINT_URL`, each from the environment or the profile. `service` is its id in
/// the SDK, like `EC2` or `SQS`.
pub fn custom_endpoint(config: &SdkConfig, service: &str) -> Option<String> {
    let general = config.endpoint_url().map(str::to_owned);
    if config.get_origin("endpoint_url").is_client_config() {
        return general;
    }
    let key =
        ServiceConfigKey::builder().service_id(service).env("AWS_ENDPOINT_URL").profile("endpoint_url").build().ok()?;
    let own = config.service_config().and_then(|settings| settings.load_config(key));
    own.or(general)
}

/// The endpoint of a service for this configuration, by the endpoint rules of EC2, KMS and EKS (botocore,
/// endpoint-rule-set-1.json).
pub(crate) fn endpoint(config: &SdkConfig, service: Service) -> String {
    if let Some(custom) = custom_endpoint(config, service.id) {
        return custom;
    }
    let region = config.region().map_or("us-east-1", |region| region.as_ref());
    let (partition, [domain, dual_stack_domain]) = partition_of(region);
    let dual_stack = config.use_dual_stack() == Some(true);
    let (gov_is_fips, domain) =
        if dual_stack { (service.gov_dual_stack_is_fips, dual_stack_domain) } else { (service.gov_is_fips, domain) };
    let regular_is_fips = gov_is_fips && partition == "aws-us-gov";
    let name = service.name;
    let host = if config.use_fips() != Some(true) || regular_is_fips {
        name.to_owned()
    } else if service.fips_is_prefix && partition == "aws" && !dual_stack {
        format!("fips.{name}")
    } else {
        format!("{name}-fips")
    };
    format!("https://{host}.{region}.{domain}")
}
