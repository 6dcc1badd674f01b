//! An empty answer is not the answer of AWS, but of something on the way. For the SDK it is a document without members:
//! a list of nothing.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// How the names of operations begin that return a document.
const READS: [&str; 4] = ["Describe", "Filter", "Get", "List"];

/// The reads whose document has optional members only. SQS is reported to send no body where it has nothing to say
/// (async-aws/aws, pull request 1708), so an empty answer means: no queue, no tag, nothing reserved. `ReceiveMessage` is none
/// of the reads for the same reason.
const MAY_BE_EMPTY: [&str; 3] = ["GetFunctionConcurrency", "ListQueueTags", "ListQueues"];

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
        if is_empty && answer.status().is_success() && has_document(name) {
            return Err(EMPTY.into());
        }
        Ok(())
    }
}

/// Whether AWS returns a document for each success of an operation.
fn has_document(operation: &str) -> bool {
    READS.iter().any(|read| operation.starts_with(read)) && !MAY_BE_EMPTY.contains(&operation)
}

#[cfg(test)]
mod tests {
    use super::has_document;

    #[test]
    fn only_reads_that_always_return_a_document_must_have_one() {
        for (operation, expected) in [
            ("GetQueueAttributes", true),
            ("GetResources", true),
            ("DescribeRule", true),
            ("ListEventSourceMappings", true),
            ("ListQueues", false),
            ("ListQueueTags", false),
            ("ReceiveMessage", false),
            ("DeleteMessage", false),
            ("SetQueueAttributes", false),
        ] {
            assert_eq!(has_document(operation), expected, "{operation}");
        }
    }
}
