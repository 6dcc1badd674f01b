//! How long ago a queue was created, by the clock of SQS alone: the time of its answer less the time in it. The local clock
//! may be wrong.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName::CreatedTimestamp;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::date_time::Format;

use crate::aws::error::if_present;
use crate::aws::{AwsCloud, locked};
use crate::cloud::Fault;
use crate::model::resource::calls::sqs;

/// The age of a queue, in whole seconds; `None` inside if the answer has no time. `None` if the queue is absent.
pub(super) async fn age(cloud: &AwsCloud, url: &str) -> Result<Option<Option<Duration>>, Fault> {
    let date = AnswerDate::default();
    let call = cloud.sqs.get_queue_attributes().queue_url(url);
    let call = call.attribute_names(CreatedTimestamp);
    let send = || call.clone().customize().interceptor(date.clone()).send();
    let answer = if_present(cloud.call(sqs::GET_QUEUE_ATTRIBUTES, send).await)?;
    Ok(answer.map(|answer| {
        let created = answer.attributes()?.get(&CreatedTimestamp)?.parse().ok()?;
        between(created, date.seconds()?)
    }))
}

/// The time between two times in Unix seconds. A queue that is newer than the answer about it has no age yet.
fn between(created: i64, answered: i64) -> Option<Duration> {
    let seconds = answered.checked_sub(created)?.max(0);
    Some(Duration::from_secs(seconds.unsigned_abs()))
}

/// Keeps the `Date` header of an answer, in Unix seconds.
#[derive(Clone, Debug, Default)]
struct AnswerDate(Arc<Mutex<Option<i64>>>);

impl AnswerDate {
    fn seconds(&self) -> Option<i64> {
        *locked(&self.0)
    }
}

#[dyn_dispatch_hint]
impl Intercept for AnswerDate {
    fn name(&self) -> &'static str {
        "kibus date of an answer"
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|date| DateTime::from_str(date, Format::HttpDate).ok());
        *locked(&self.0) = date.map(|date| date.secs());
        Ok(())
    }
}
