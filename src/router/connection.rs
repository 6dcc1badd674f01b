//! How the function reaches EC2 and SQS: one connector for both, made once, and a connection to each that stands
//! before the first event is asked for.

use std::time::Duration;

use aws_sdk_sqs::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;

use crate::ec2;

/// How long a connection may take to come about.
pub(super) const CONNECT: Duration = Duration::from_secs(1);

/// The connector of all clients. Making it loads the roots that it trusts.
///
/// Its cryptography is ring's: that of the SDK's own client collects jitter of the processor as entropy before its
/// first handshake, which costs half of a cold start (docs/decisions/0012-the-router-speaks-tls-with-ring.md).
pub(super) fn connector() -> SharedHttpConnector {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT).build();
    let mut builder = Connector::builder().connector_settings(settings);
    builder.set_sleep_impl(default_async_sleep());
    SharedHttpConnector::new(builder.tls_provider(Provider::rustls(CryptoMode::Ring)).build())
}

/// An HTTP client that has this connector whatever is asked of it, so that all its users share connections.
pub(super) fn client(connector: &SharedHttpConnector) -> SharedHttpClient {
    let connector = connector.clone();
    http_client_fn(move |_, _| connector.clone())
}

/// Opens a connection to EC2 and one to SQS at the same time, and lets them be kept. One that does not come about
/// is no failure here: the first call tries again, and says what is wrong.
pub(super) async fn open(connector: &SharedHttpConnector, config: &SdkConfig) {
    let endpoints = [Some(ec2::endpoint(config)), sqs_endpoint(config).await];
    let asked = endpoints
        .into_iter()
        .flatten()
        .filter_map(|endpoint| greeting(&endpoint));
    let answers = futures_util::future::join_all(asked.map(|request| connector.call(request)));
    // An answer that takes longer than a connection may is not waited for.
    let _ = tokio::time::timeout(CONNECT, answers).await;
}

/// What every server answers with headers only, and no permission is needed for.
fn greeting(endpoint: &str) -> Option<HttpRequest> {
    let mut request = HttpRequest::new(SdkBody::empty());
    request.set_method("HEAD").ok()?;
    request
        .set_uri(format!("{}/ping", endpoint.trim_end_matches('/')))
        .ok()?;
    Some(request)
}

/// Where the SDK's client of SQS goes with this configuration.
async fn sqs_endpoint(config: &SdkConfig) -> Option<String> {
    let params = Params::builder()
        .set_region(config.region().map(ToString::to_string))
        .set_use_fips(config.use_fips())
        .set_use_dual_stack(config.use_dual_stack())
        .set_endpoint(ec2::custom_endpoint(config, "SQS"))
        .build()
        .ok()?;
    let endpoint = DefaultResolver::new().resolve_endpoint(&params).await.ok()?;
    Some(endpoint.url().to_owned())
}
