//! The SDK's configuration in the function. Lambda provides it in environment variables, and the function has no other source:
//! the part of the SDK that reads them all would only make the binary larger
//! (docs/decisions/0056-the-router-is-configured-by-its-environment.md).

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_runtime::env_config::EnvConfigValue;
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::os_shim_internal::Env;
use aws_types::region::Region;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use super::connection::{self, CONNECT};

/// How long one try of a call may take.
const TRY: Duration = Duration::from_secs(3);

/// A variable that Lambda sets and that the function lacks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not set")]
pub(super) struct NotSet(&'static str);

/// The configuration that these variables give. It has no retries, because only the router knows how much time is left.
///
/// # Errors
/// When the Region or the credentials are missing (Lambda guide, "Defined runtime environment variables").
pub(super) fn configuration(env: Env, connector: &SharedHttpConnector) -> Result<SdkConfig, NotSet> {
    let required = |name| env.get(name).map_err(|_| NotSet(name));
    let credentials = Credentials::new(
        required("AWS_ACCESS_KEY_ID")?,
        required("AWS_SECRET_ACCESS_KEY")?,
        env.get("AWS_SESSION_TOKEN").ok(),
        None,
        "environment",
    );
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(TRY)
        .build();
    let is_on = |name| env.get(name).is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    let mut config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(required("AWS_REGION")?))
        .use_fips(is_on("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_on("AWS_USE_DUALSTACK_ENDPOINT"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(connection::client(connector))
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .time_source(SharedTimeSource::new(SystemTimeSource::new()));
    config.set_sleep_impl(default_async_sleep());
    config.set_service_config(Some(Endpoints(env)));
    Ok(config.build())
}

/// The custom endpoints: `AWS_ENDPOINT_URL_SQS`, or `AWS_ENDPOINT_URL` for every service.
#[derive(Debug)]
struct Endpoints(Env);

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let value = EnvConfigValue::new().env(key.env()).service_id(key.service_id());
        Some(value.load(&self.0, None)?.0.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::custom_endpoint;

    const LAMBDA: [(&str, &str); 3] = [
        ("AWS_REGION", "cn-north-1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];

    fn of(variables: &[(&str, &str)]) -> Result<SdkConfig, NotSet> {
        configuration(Env::from_slice(variables), &connection::connector())
    }

    #[test]
    fn each_variable_that_lambda_sets_is_required() {
        for (missing, _) in LAMBDA {
            let others: Vec<_> = LAMBDA.into_iter().filter(|(name, _)| *name != missing).collect();
            assert_eq!(of(&others).map(|_| ()), Err(NotSet(missing)));
        }
    }

    #[test]
    fn a_services_own_endpoint_comes_before_that_of_all() {
        let all = ("AWS_ENDPOINT_URL", "http://all");
        let sqs = ("AWS_ENDPOINT_URL_SQS", "http://sqs");
        for (variables, endpoints) in [
            (&[][..], [None, None]),
            (&[all], [Some("http://all"), Some("http://all")]),
            (&[sqs], [None, Some("http://sqs")]),
            (&[all, sqs], [Some("http://all"), Some("http://sqs")]),
        ] {
            let config = of(&[&LAMBDA[..], variables].concat()).unwrap();
            let found = ["EC2", "SQS"].map(|service| custom_endpoint(&config, service));
            assert_eq!(found, endpoints.map(|url| url.map(str::to_owned)), "{variables:?}");
        }
    }

    #[test]
    fn the_kind_of_endpoint_is_that_of_the_environment() {
        for (name, value, fips, dual_stack) in [
            ("AWS_USE_FIPS_ENDPOINT", "true", true, false),
            ("AWS_USE_DUALSTACK_ENDPOINT", "TRUE", false, true),
            ("AWS_USE_FIPS_ENDPOINT", "false", false, false),
        ] {
            let config = of(&[&LAMBDA[..], &[(name, value)]].concat()).unwrap();
            assert_eq!(
                (config.use_fips(), config.use_dual_stack()),
                (Some(fips), Some(dual_stack)),
                "{name}={value}"
            );
        }
    }
}
