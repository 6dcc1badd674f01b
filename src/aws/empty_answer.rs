//! An empty answer is not the answer of AWS, but of something on the way. For the SDK it is a document without members:
//! a list of nothing.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// The operations that always return a document.
const READS: [&str; 5] = ["Describe", "Filter", "Get", "List", "Receive"];

/// What is wrong with the answer.
pub(super) const EMPTY: &str = "the answer is empty, so it is not from AWS";

/// Fails each read whose answer is a success without a body.
#[derive(Debug)]
pub(super) struct NoEmptyAnswer;

#[dyn_dispatch_hint]
impl Intercept for NoEmptyAnswer {
    fn name(&self) -> &'static str {
        "kibus empty answers"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let name = config.load::<Metadata>().map_or("", Metadata::name);
        let answer = context.response();
        let is_empty = answer.body().bytes().is_some_and(<[u8]>::is_empty);
        if is_empty && answer.status().is_success() && READS.iter().any(|read| name.starts_with(read)) {
            return Err(EMPTY.into());
        }
        Ok(())
    }
}
