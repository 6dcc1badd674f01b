//! Lists that AWS returns in pages.

use std::error::Error as StdError;

use aws_smithy_async::future::pagination_stream::PaginationStream;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::error::{OrFault, rejected};
use crate::cloud::Fault;

/// The most pages of one list. The shortest full pages have 50 items.
pub(super) const MOST: usize = 1_000;

/// The items of every page; `action` is the call as IAM names it. The SDK takes a page with the token of the page before
/// for the last one, silently, unless `pages` has `stop_on_duplicate_token(false)`.
///
/// # Errors
/// When a page cannot be read, or the list does not end.
pub(super) async fn all<P, E, I>(
    action: &str,
    mut pages: PaginationStream<Result<P, SdkError<E, HttpResponse>>>,
    items: impl Fn(P) -> Option<Vec<I>>,
) -> Result<Vec<I>, Fault>
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let mut all = Vec::new();
    for _ in 0..MOST {
        let Some(page) = pages.next().await else {
            return Ok(all);
        };
        all.extend(items(page.or_fault(action)?).unwrap_or_default());
    }
    Err(endless(action))
}

/// The fault of a list that does not end.
pub(super) fn endless(action: &str) -> Fault {
    rejected(action, format!("the list does not end after {MOST} pages"))
}
