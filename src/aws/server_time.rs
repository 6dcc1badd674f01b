//! The time of AWS, as an answer says it.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::BeforeDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::date_time::Format;

/// Compares the local clock with the header `Date` of the first answer.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerTime(Arc<OnceLock<i64>>);

impl ServerTime {
    /// How many seconds the local clock is ahead; negative if it is behind. The header has whole seconds, and the answer took
    /// its time. `None` without an answer that has a time.
    pub(super) fn clock_ahead(&self) -> Option<i64> {
        self.0.get().copied()
    }
}

#[dyn_dispatch_hint]
impl Intercept for ServerTime {
    fn name(&self) -> &'static str {
        "kibus time of AWS"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|text| DateTime::from_str(text, Format::HttpDate).ok());
        if let Some(date) = date {
            self.0
                .get_or_init(|| DateTime::from(SystemTime::now()).secs().saturating_sub(date.secs()));
        }
        Ok(())
    }
}
