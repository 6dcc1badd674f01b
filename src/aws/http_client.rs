//! The HTTP client of every call: which proxy it takes, and which endpoints it refuses.

use std::net::IpAddr;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime::client::defaults::default_http_client_plugin_v2;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use http::Uri;

use crate::wire::custom_endpoint;

/// The services that a session calls, by their ids in the SDK, and those that its credentials may come from.
const SERVICES: [&str; 15] = [
    "CloudWatch",
    "CloudWatch Logs",
    "EC2",
    "EKS",
    "EventBridge",
    "IAM",
    "KMS",
    "Lambda",
    "Resource Groups Tagging API",
    "SQS",
    "SSM",
    "SSO",
    "SSO OIDC",
    "STS",
    "signin",
];

/// An HTTP client with connections of its own; one serves all services. It keeps idle connections without a limit of their
/// number, so calls at the same time reuse them. The SDK's client takes the proxies of
/// the environment; a server on the loopback interface, like the sandbox, is not behind them.
pub(super) fn http_client() -> Option<SharedHttpClient> {
    let plugin = default_http_client_plugin_v2(behavior())?;
    let components = plugin.runtime_components(&RuntimeComponentsBuilder::new("kibus"));
    let tls = Provider::rustls(CryptoMode::AwsLc);
    let (remote, loopback) = (
        components.http_client()?,
        Builder::new().tls_provider(tls).build_https(),
    );
    Some(http_client_fn(move |settings, components| {
        SharedHttpConnector::new(ConnectorByHost {
            remote: remote.http_connector(settings, components),
            loopback: loopback.http_connector(settings, components),
        })
    }))
}

/// A dated set of the SDK's defaults, so that an update of the SDK changes none of them.
pub(super) fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// An endpoint of this configuration to which calls would go without encryption, and its service. On the loopback interface
/// nobody else can read them.
pub(super) fn plain_endpoint(config: &SdkConfig) -> Option<(String, &'static str)> {
    SERVICES.into_iter().find_map(|service| {
        let endpoint = custom_endpoint(config, service)?;
        let uri: Uri = endpoint.trim().parse().ok()?;
        (uri.scheme_str() == Some("http") && !is_loopback(&uri)).then_some((endpoint, service))
    })
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address: IpAddr| address.is_loopback())
}

#[derive(Debug)]
struct ConnectorByHost {
    remote: SharedHttpConnector,
    loopback: SharedHttpConnector,
}

impl HttpConnector for ConnectorByHost {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let is_loopback = request.uri().parse().is_ok_and(|uri: Uri| is_loopback(&uri));
        if is_loopback { &self.loopback } else { &self.remote }.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_loopback_is_trusted_without_encryption() {
        for (endpoint, plain) in [
            ("http://127.0.0.1:4566", false),
            ("http://127.8.8.8", false),
            ("http://[::1]:4566/", false),
            ("http://localhost:4566", false),
            ("https://sqs.example", false),
            ("http://sqs.example", true),
            ("HTTP://sqs.example", true),
            ("http://10.0.0.1:4566", true),
            ("http://0.0.0.0:4566", true),
            ("http://127.0.0.1.example", true),
            ("http://127.0.0.1@sqs.example", true),
            ("http://localhost.example", true),
        ] {
            let config = SdkConfig::builder().endpoint_url(endpoint).build();
            assert_eq!(plain_endpoint(&config).is_some(), plain, "{endpoint}");
        }
    }

    /// An endpoint of a service that is missing here would not be checked.
    #[test]
    fn every_service_that_is_called_is_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
        let sources = ["aws_json.rs", "ec2.rs"].map(|file| read(&format!("src/wire/{file}")));
        let ids = sources.iter().flat_map(|text| text.split("Service::of(\"").skip(1));
        let mut called: Vec<String> = ids.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
        let manifest = read("Cargo.toml");
        let crates = manifest.lines().filter_map(|line| line.strip_prefix("aws-sdk-"));
        called.extend(crates.map(|line| line.split(' ').next().unwrap().to_owned()));
        assert!(called.len() >= 10, "{called:?}");
        for service in called {
            let known = SERVICES.iter().any(|known| known.eq_ignore_ascii_case(&service));
            assert!(known, "{service}");
        }
    }
}
