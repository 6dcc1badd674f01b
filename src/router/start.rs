//! The start of the function's process, and its loop.

use std::env;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::Router;
use super::clock::Deadline;
use super::connection::{self, CONNECT};
use super::invocation::{Work, invoke, scope_of};
use super::self_test;
use super::sqs::Sqs;
use crate::ec2;
use crate::model::name::{BusName, QueuePrefix};
use crate::model::router_build::{BUS_VARIABLE, MARK, QUEUE_PREFIX_VARIABLE};

/// How long one try of a call may take.
const TRY: Duration = Duration::from_secs(3);

type Live = Router<ec2::Client, Sqs>;

/// What is there before the first invocation tells where it is.
struct Function {
    bus: BusName,
    prefix: QueuePrefix,
    config: SdkConfig,
    ec2: ec2::Client,
    sqs: aws_sdk_sqs::Client,
    router: OnceCell<Arc<Live>>,
}

/// Runs the function until Lambda ends it.
///
/// # Errors
/// When the environment is not that of a router, or Lambda's runtime API fails.
pub async fn run() -> Result<(), lambda_runtime::Error> {
    let bus = env::var(BUS_VARIABLE)
        .map_err(|_| format!("`{BUS_VARIABLE}` is not set"))?
        .parse()?;
    let prefix = env::var(QUEUE_PREFIX_VARIABLE)
        .map_err(|_| format!("`{QUEUE_PREFIX_VARIABLE}` is not set"))?
        .parse()?;
    let connector = connection::connector();
    let config = configuration(&connector).await;
    connection::open(&connector, &config).await;
    let function = Function {
        bus,
        prefix,
        ec2: ec2::Client::new(&config),
        sqs: aws_sdk_sqs::Client::new(&config),
        config,
        router: OnceCell::new(),
    };
    print(&[json!({"level": "info", "message": "started", "build": MARK})]);
    let function = &function;
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Box<RawValue>>| async move {
        function.handle(event).await
    }))
    .await
}

impl Function {
    async fn handle(&self, event: LambdaEvent<Box<RawValue>>) -> Result<Value, Diagnostic> {
        let LambdaEvent { payload, context } = event;
        let router = self
            .router
            .get_or_try_init(|| async { self.router(&context.invoked_function_arn) })
            .await?;
        if self_test::is_asked(payload.get()) {
            let answer = self_test::answer(&router.scope, &self.prefix, Deadline::at(context.deadline), now).await;
            return Ok(json!(answer));
        }
        let work = Work::read(payload.get(), now()).map_err(|e| failed("NotABatch", e.to_string()))?;
        let deadline = Deadline::at(context.deadline);
        let end = invoke(router, &work, deadline, &context.request_id, now).await;
        print(&end.report.decisions);
        print(&end.report.metrics);
        if end.failed {
            return Err(failed(
                "GivenBack",
                "the event could not be brought to its end; the log says why",
            ));
        }
        Ok(end.answer)
    }

    fn router(&self, arn: &str) -> Result<Arc<Live>, Diagnostic> {
        let unknown = || failed("UnknownFunction", format!("`{arn}` is not the ARN of a function"));
        let scope = scope_of(arn, &self.bus).ok_or_else(unknown)?;
        let endpoint = ec2::custom_endpoint(&self.config, "SQS");
        let queues = Sqs::new(self.sqs.clone(), scope.clone(), endpoint);
        let router = Router::new(scope, self.prefix.clone(), self.ec2.clone(), queues);
        Ok(Arc::new(router))
    }
}

/// How an invocation fails as a whole.
fn failed(kind: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        error_type: kind.to_owned(),
        error_message: message.into(),
    }
}

/// The SDK's configuration, with no retries of its own, since the router knows better how much time there is.
async fn configuration(connector: &SharedHttpConnector) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(TRY)
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(connection::client(connector))
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
        .load()
        .await
}

/// Milliseconds of the Unix epoch.
fn now() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .and_then(|time| i64::try_from(time.as_millis()).ok())
        .unwrap_or_default()
}

/// Writes lines to where Lambda takes logs from. A line that cannot be written is nothing that a message should
/// wait for.
fn print(lines: &[Value]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}
