//! Why a call to EC2 has no result.

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use crate::wire::aws_code;
use crate::wire::signed_call::ErrorResponse;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ec2Error {
    /// EC2 answered with an error.
    #[error("EC2 refused: {code} ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// EC2's code, like `UnauthorizedOperation`; empty if the answer had none.
        code: String,
        /// EC2's message.
        message: String,
    },
    /// There was no answer: no connection, no credentials, or a timeout.
    #[error("no answer from EC2: {0}")]
    Unreachable(String),
    /// The answer is not one that EC2 gives to this call.
    #[error("unreadable answer from EC2: {0}")]
    Unreadable(String),
}

impl Ec2Error {
    /// EC2's error code, if it gave one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } if !code.is_empty() => Some(code),
            _ => None,
        }
    }

    /// Whether there were too many calls.
    pub fn is_throttled(&self) -> bool {
        matches!(self, Self::Refused { status: 429, .. }) || self.code().is_some_and(aws_code::is_throttled)
    }

    /// Whether a permission is missing.
    pub fn is_denied(&self) -> bool {
        self.code().is_some_and(|code| {
            aws_code::is_denied(code) || aws_code::is_unauthenticated(code) || aws_code::is_not_subscribed(code)
        })
    }

    /// Whether the same call may succeed soon. Expired credentials count, because the next call takes new ones.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Unreadable(_) => true,
            Self::Refused { status, code, .. } => {
                *status >= 500 || self.is_throttled() || aws_code::is_expired(code) || aws_code::is_server_error(code)
            }
        }
    }
}

impl From<SdkError<ErrorResponse, HttpResponse>> for Ec2Error {
    fn from(e: SdkError<ErrorResponse, HttpResponse>) -> Self {
        match &e {
            SdkError::ServiceError(context) => Self::Refused {
                status: context.err().status,
                code: context.err().code().unwrap_or_default().to_owned(),
                message: context.err().message().unwrap_or_default().to_owned(),
            },
            SdkError::ResponseError(_) => Self::Unreadable(DisplayErrorContext(&e).to_string()),
            _ => Self::Unreachable(DisplayErrorContext(&e).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_answer_questions() {
        let refused = |status, code: &str| Ec2Error::Refused {
            status,
            code: code.to_owned(),
            message: String::new(),
        };
        for (error, throttled, denied, transient) in [
            (refused(503, "RequestLimitExceeded"), true, false, true),
            (refused(400, "Throttling"), true, false, true),
            (refused(429, ""), true, false, true),
            (refused(500, "InternalError"), false, false, true),
            (refused(400, "RequestExpired"), false, false, true),
            (refused(403, "UnauthorizedOperation"), false, true, false),
            (refused(400, "InvalidParameterValue"), false, false, false),
            (Ec2Error::Unreachable(String::new()), false, false, true),
        ] {
            assert_eq!(
                (error.is_throttled(), error.is_denied(), error.is_transient()),
                (throttled, denied, transient),
                "{error:?}"
            );
        }
    }
}
