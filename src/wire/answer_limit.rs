//! A limit on the bytes of one answer, so that a bad endpoint or proxy cannot fill the memory. A limit on time alone lets
//! gigabytes pass.

#[cfg(feature = "cli")]
use std::error::Error as StdError;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// The body of an answer is longer than any answer of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer has more than {mib} MiB, so it is not from AWS")]
pub(crate) struct AnswerTooLong {
    /// The limit, in MiB.
    mib: usize,
}

impl AnswerTooLong {
    /// Whether an error or one of its causes is this one.
    #[cfg(feature = "cli")]
    pub(crate) fn caused(e: &(dyn StdError + 'static)) -> bool {
        std::iter::successors(Some(e), |&e| e.source()).any(<dyn StdError>::is::<Self>)
    }
}

/// The connector, with at most this many MiB in the body of each answer.
pub(crate) fn limited_connector(connector: SharedHttpConnector, mib: usize) -> SharedHttpConnector {
    SharedHttpConnector::new(LimitedConnector { connector, mib })
}

#[derive(Debug)]
struct LimitedConnector {
    connector: SharedHttpConnector,
    mib: usize,
}

impl HttpConnector for LimitedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (answer, mib) = (self.connector.call(request), self.mib);
        HttpConnectorFuture::new(async move { Ok(answer.await?.map(|body| limited(body, mib))) })
    }
}

fn limited(body: SdkBody, mib: usize) -> SdkBody {
    let too_long = move |e: BoxError| match e.downcast::<LengthLimitError>() {
        Ok(_) => AnswerTooLong { mib }.into(),
        Err(e) => e,
    };
    SdkBody::from_body_1_x(Limited::new(body, mib * 1024 * 1024).map_err(too_long))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_ends_at_the_limit() {
        let mib = 1024 * 1024;
        for (length, expected) in [
            (0, Ok(0)),
            (2 * mib, Ok(2 * mib)),
            (2 * mib + 1, Err(Some(&AnswerTooLong { mib: 2 }))),
        ] {
            let read = limited(SdkBody::from(vec![b'x'; length]), 2).collect().await;
            let read = read.map(|body| body.to_bytes().len());
            assert_eq!(
                read.as_ref().map(|length| *length).map_err(|e| e.downcast_ref()),
                expected,
                "{length}"
            );
        }
    }
}
