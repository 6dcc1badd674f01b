//! The start of the function's process, and its loop.

use std::env;
use std::io::Write;
use std::sync::Arc;

use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_types::SdkConfig;
use aws_types::os_shim_internal::Env;
use lambda_runtime::{Diagnostic, LambdaEvent, service_fn};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::Router;
use super::access_test::AwsCalls;
use super::clock::{Clock, Deadline};
use super::configuration::configuration;
use super::connection;
use super::invocation::{route_batch, route_event};
use super::payload::Payload;
use super::queues::SqsQueues;
use super::self_test;
use crate::model::name::BusName;
use crate::model::router_build::MARK;
use crate::model::router_handler::{HANDLER_VARIABLE, RouterHandler};
use crate::model::scope::{GlobalOptions, Scope};
use crate::wire::ec2;

type AwsRouter = Router<ec2::Client, SqsQueues>;

/// The function. It learns its account and Region from the first invocation.
struct LambdaFunction {
    handler: RouterHandler,
    config: SdkConfig,
    ec2: ec2::Client,
    sqs: aws_sdk_sqs::Client,
    receiving: SharedHttpClient,
    router: OnceCell<Arc<AwsRouter>>,
}

/// Runs the function until Lambda ends it.
///
/// # Errors
/// When the handler of the function is not the router's, a variable that Lambda sets is missing, or Lambda's runtime API
/// fails.
pub async fn run() -> Result<(), lambda_runtime::Error> {
    let handler = env::var(HANDLER_VARIABLE)
        .map_err(|_| format!("`{HANDLER_VARIABLE}` is not set"))?
        .parse()?;
    let connector = connection::connector();
    let config = configuration(Env::real(), &connector).map_err(|e| e.to_string())?;
    connection::open(&connector, &config).await;
    let function = LambdaFunction {
        handler,
        ec2: ec2::Client::new(&config),
        sqs: aws_sdk_sqs::Client::new(&config),
        receiving: connection::receiving_client(&connector),
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

impl LambdaFunction {
    async fn handle(&self, event: LambdaEvent<Box<RawValue>>) -> Result<Value, Diagnostic> {
        let LambdaEvent { payload, context } = event;
        let router = self
            .router
            .get_or_try_init(|| async { self.router(&context.invoked_function_arn) })
            .await?;
        let (deadline, request) = (Deadline::at(context.deadline), &context.request_id);
        let hub = router.scope.queue_arn(&router.scope.hub_queue());
        let payload = Payload::parse(payload.get(), &hub, deadline.unix_millis())
            .map_err(|e| failed("NotABatch", e.to_string()))?;
        let finished = match payload {
            Payload::SelfTest => {
                let calls = AwsCalls {
                    ec2: &self.ec2,
                    sqs: &self.sqs,
                    scope: &router.scope,
                    endpoint: ec2::custom_endpoint(&self.config, "SQS"),
                };
                return Ok(json!(
                    self_test::run(&router.scope, &router.prefix, &calls, deadline).await
                ));
            }
            Payload::Batch(messages) => route_batch(router, messages, deadline, request).await,
            Payload::Event(message) => route_event(router, message, deadline, request).await,
        };
        print(&finished.report.decisions);
        print(&finished.report.metrics);
        let unrouted = || failed("NotRouted", "nothing could be routed; the log has the reason");
        finished.answer.ok_or_else(unrouted)
    }

    fn router(&self, arn: &str) -> Result<Arc<AwsRouter>, Diagnostic> {
        let unknown = || failed("UnknownFunction", format!("`{arn}` is not the ARN of a function"));
        let scope = scope_of(arn, &self.handler.bus).ok_or_else(unknown)?;
        let endpoint = ec2::custom_endpoint(&self.config, "SQS");
        let queues = SqsQueues::new(self.sqs.clone(), self.receiving.clone(), scope.clone(), endpoint);
        let router = Router::new(scope, self.handler.prefix.clone(), self.ec2.clone(), queues);
        Ok(Arc::new(router))
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

/// The failure of a whole invocation.
fn failed(kind: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        error_type: kind.to_owned(),
        error_message: message.into(),
    }
}

/// Writes lines to standard output, from which Lambda takes logs. No message should wait for a line that cannot be
/// written.
fn print(lines: &[Value]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope_in;

    #[test]
    fn the_scope_is_in_the_functions_arn() {
        let bus = "kibus".parse().unwrap();
        for (arn, scope) in [
            (
                "arn:aws-cn:lambda:cn-north-1:111122223333:function:kibus-router:live",
                Some(scope_in("aws-cn", "cn-north-1")),
            ),
            (
                "arn:aws:lambda:us-west-2:111122223333:function:kibus-router",
                Some(scope_in("aws", "us-west-2")),
            ),
            ("arn:aws:sqs:us-west-2:111122223333:kibus-hub", None),
            ("", None),
        ] {
            assert_eq!(scope_of(arn, &bus), scope, "{arn}");
        }
    }
}
