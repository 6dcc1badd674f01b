//! The proxy library, and additions for kibus tests only.

use hyper::Request;
use hyper::body::Bytes;
use kibus::model::{router_function, scope::LIVE};
pub(crate) use kibus_harness::proxy::*;

/// Whether the request is `verify` running the live version's self-test, which changes no resource.
pub(crate) fn asks_live_router(request: &Request<Bytes>) -> bool {
    let live = format!("Qualifier={LIVE}");
    request.uri().query() == Some(live.as_str()) && *request.body() == router_function::self_test_request().to_string()
}
