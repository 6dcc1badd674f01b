//! One line in the log for every call, written in one place: `-vv` shows them.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeSerializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// The target that the lines are logged under.
pub const TARGET: &str = "kibus::call";

/// Logs each call once, whether it is answered at the first try or not.
#[derive(Debug)]
pub(super) struct CallLog;

#[dyn_dispatch_hint]
impl Intercept for CallLog {
    fn name(&self) -> &'static str {
        "kibus calls"
    }

    // The first hook that knows which operation this is.
    fn read_before_serialization(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(call) = config.load::<Metadata>() {
            tracing::debug!(target: TARGET, "{}:{}", iam_prefix(call.service()), call.name());
        }
        Ok(())
    }
}

/// What a service's actions begin with in a policy, from the name that its SDK has for it.
fn iam_prefix(service: &str) -> String {
    match service {
        "EventBridge" => "events".to_owned(),
        "CloudWatch Logs" => "logs".to_owned(),
        "Resource Groups Tagging API" => "tag".to_owned(),
        other => other.to_lowercase(),
    }
}
