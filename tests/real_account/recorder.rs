//! Records the answers of AWS to the calls of an observation, as the SDK received them.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use hyper::Request;
use hyper::body::Bytes;

use crate::aws_like::operation;
use crate::recorded::{HEADERS, RecordedAnswer};

/// The answers so far. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    begun: Instant,
    answers: Arc<Mutex<Vec<RecordedAnswer>>>,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), answers: Arc::default() }
    }

    /// What was recorded.
    pub(super) fn answers(&self) -> Vec<RecordedAnswer> {
        self.answers.lock().unwrap().clone()
    }
}

/// The operation of the attempt in progress.
#[derive(Debug)]
struct Attempted(String);

impl Storable for Attempted {
    type Storer = StoreReplace<Self>;
}

#[dyn_dispatch_hint]
impl Intercept for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let sent = context.request();
        let mut request = Request::builder().method(sent.method()).uri(sent.uri());
        for (name, value) in sent.headers() {
            request = request.header(name, value);
        }
        let body = Bytes::copy_from_slice(sent.body().bytes().unwrap_or_default());
        let attempted = Attempted(operation(&request.body(body)?));
        config.interceptor_state().store_put(attempted);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (Some(answer), Some(Attempted(operation))) = (context.response(), config.load::<Attempted>()) else {
            return Ok(());
        };
        let headers = HEADERS.iter().filter_map(|name| {
            let value = answer.headers().get(*name)?;
            Some(((*name).to_owned(), value.to_owned()))
        });
        let body = answer.body().bytes().unwrap_or_default();
        self.answers.lock().unwrap().push(RecordedAnswer {
            at_ms: self.begun.elapsed().as_millis().try_into()?,
            operation: operation.clone(),
            status: answer.status().as_u16(),
            headers: headers.collect(),
            body: String::from_utf8_lossy(body).into_owned(),
        });
        Ok(())
    }
}
