//! The start of the function's process, its configuration, and its loop.

use std::env;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_runtime::env_config::EnvConfigValue;
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime_api::client::http::{SharedHttpClient, SharedHttpConnector};
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use aws_types::os_shim_internal::Env;
use aws_types::region::Region;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::clock::{Clock, Deadline};
use super::connection::{self, CONNECT};
use super::invocation::{Payload, route_batch};
use super::services::AwsServices;
use super::{Router, self_test};
use crate::model::{
    BusName, GlobalOptions, RouterHandler, Scope, router_build::MARK, router_function::HANDLER_VARIABLE,
};
use crate::wire::{behavior, custom_endpoint, ec2, sns};

/// The maximum duration of one attempt of a call.
const TRY: Duration = Duration::from_secs(3);

/// The function. It learns its account and Region from the first invocation.
struct LambdaFunction {
    handler: RouterHandler,
    config: SdkConfig,
    ec2: ec2::Client,
    sqs: aws_sdk_sqs::Client,
    sns: sns::Client,
    receiving: SharedHttpClient,
    router: OnceCell<Arc<Router<AwsServices>>>,
}

/// Runs the function until Lambda ends it. It fails if the function's handler is not valid for the router, or if a
/// variable that Lambda sets is missing.
pub async fn run() -> Result<(), lambda_runtime::Error> {
    let handler = env::var(HANDLER_VARIABLE).map_err(|_| format!("`{HANDLER_VARIABLE}` is not set"))?.parse()?;
    let connector = connection::connector();
    let config = configuration(Env::real(), &connector).map_err(|e| e.to_string())?;
    connection::open(&connector, &config).await;
    let function = LambdaFunction {
        handler,
        ec2: ec2::Client::new(&config),
        sqs: aws_sdk_sqs::Client::new(&config),
        sns: sns::Client::new(&config),
        receiving: connection::receiving_client(&connector),
        config,
        router: OnceCell::new(),
    };
    print(&[json!({"level": "info", "message": "started", "build": MARK}).to_string()]);
    let function = &function;
    lambda_runtime::run(service_fn(
        move |event: LambdaEvent<Box<RawValue>>| async move { function.handle(event).await },
    ))
    .await
}

impl LambdaFunction {
    async fn handle(&self, event: LambdaEvent<Box<RawValue>>) -> Result<Value, Diagnostic> {
        let LambdaEvent { payload, context } = event;
        let router = self.router.get_or_try_init(|| async { self.router(&context.invoked_function_arn) }).await?;
        let (deadline, request) = (Deadline::at(context.deadline), &context.request_id);
        let hub = router.scope.queue_arn(&router.scope.hub_queue());
        let payload = Payload::parse(payload.get(), &hub, deadline.unix_millis())
            .map_err(|e| failed("NotABatch", e.to_string()))?;
        let messages = match payload {
            Payload::SelfTest => {
                let report = self_test::run(&router.scope, &router.handler, &router.services, deadline).await;
                return Ok(json!(report));
            }
            Payload::Batch(messages) => messages,
        };
        let finished = route_batch(router, messages, deadline, request).await;
        print(&finished.lines);
        let unrouted = || failed("NotRouted", "nothing could be routed; the log has the reason");
        finished.answer.ok_or_else(unrouted)
    }

    fn router(&self, arn: &str) -> Result<Arc<Router<AwsServices>>, Diagnostic> {
        let unknown = || failed("UnknownFunction", format!("`{arn}` is not the ARN of a function"));
        let scope = scope_of(arn, &self.handler.bus).ok_or_else(unknown)?;
        let services = AwsServices {
            ec2: self.ec2.clone(),
            sqs: self.sqs.clone(),
            sns: self.sns.clone(),
            receiving: self.receiving.clone(),
            scope: scope.clone(),
            endpoint: custom_endpoint(&self.config, "SQS"),
        };
        Ok(Arc::new(Router::new(scope, self.handler.clone(), services)))
    }
}

/// The scope in a function's own ARN, `arn:<partition>:lambda:<region>:<account>:function:...`.
fn scope_of(arn: &str, bus: &BusName) -> Option<Scope> {
    let parts: Vec<&str> = arn.split(':').collect();
    let ["arn", partition, "lambda", region, account, "function", ..] = parts[..] else {
        return None;
    };
    Some(Scope {
        bus: bus.clone(),
        account: account.parse().ok()?,
        region: region.parse().ok()?,
        partition: partition.parse().ok()?,
        options: GlobalOptions::default(),
    })
}

fn failed(kind: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic { error_type: kind.to_owned(), error_message: message.into() }
}

/// Writes lines to standard output, from which Lambda collects logs. If a line cannot be written, no message waits for it.
fn print(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    // In one write: otherwise there would be one write per line, and a storm has hundreds.
    let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// A variable that Lambda should set, but that is missing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not set")]
struct NotSet(&'static str);

/// The SDK's configuration. Lambda provides it in environment variables (Lambda guide, "Defined runtime environment
/// variables"), and the function has no other source: the SDK's loader for all sources would only make the binary
/// larger. It has no retries, because only the router knows how much time is left.
fn configuration(env: Env, connector: &SharedHttpConnector) -> Result<SdkConfig, NotSet> {
    let required = |name| env.get(name).map_err(|_| NotSet(name));
    let credentials = Credentials::new(
        required("AWS_ACCESS_KEY_ID")?,
        required("AWS_SECRET_ACCESS_KEY")?,
        env.get("AWS_SESSION_TOKEN").ok(),
        None,
        "environment",
    );
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(TRY).build();
    let is_on = |name| env.get(name).is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    let mut config = SdkConfig::builder()
        .behavior_version(behavior())
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
    use crate::model::scope::tests::scope_in;

    #[test]
    fn the_scope_is_in_the_functions_arn() {
        let bus = "kibus".parse().unwrap();
        let [china, us] = [scope_in("aws-cn", "cn-north-1"), scope_in("aws", "us-west-2")];
        for (arn, scope) in [
            ("arn:aws-cn:lambda:cn-north-1:111122223333:function:kibus-router:live", Some(china)),
            ("arn:aws:lambda:us-west-2:111122223333:function:kibus-router", Some(us)),
            ("arn:aws:sqs:us-west-2:111122223333:kibus-hub", None),
            ("", None),
        ] {
            assert_eq!(scope_of(arn, &bus), scope, "{arn}");
        }
    }

    const LAMBDA: [(&str, &str); 3] =
        [("AWS_REGION", "cn-north-1"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];

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
            assert_eq!((config.use_fips(), config.use_dual_stack()), (Some(fips), Some(dual_stack)), "{name}={value}");
        }
    }
}
