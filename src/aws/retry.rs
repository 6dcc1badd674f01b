//! What the SDK must not retry, although its defaults say so.

use aws_smithy_runtime_api::client::interceptors::context::InterceptorContext;
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction};

use super::call_log::code;
use crate::answer_limit::AnswerTooLong;
use crate::aws_code;

/// Forbids retries of answers that do not change within the seconds of a retry, or that cost much: those that are too long.
/// A quota that is used up counts as
/// throttling for the SDK (`LimitExceededException`), and Lambda has HTTP status 502 for a key that it was denied.
#[derive(Debug)]
pub(super) struct FinalAnswers;

impl ClassifyRetry for FinalAnswers {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        if let Some(Err(e)) = context.output_or_error()
            && AnswerTooLong::caused(e)
        {
            return RetryAction::RetryForbidden;
        }
        let code = context
            .response()
            .filter(|answer| !answer.status().is_success())
            .and_then(|answer| code(answer.headers(), answer.body().bytes().unwrap_or_default()));
        match code {
            Some(code)
                if aws_code::is_limit(&code) || aws_code::is_service_denied(&code) || aws_code::is_throttled(&code) =>
            {
                RetryAction::RetryForbidden
            }
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "kibus final answers"
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::client::interceptors::context::Input;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;

    use super::*;

    /// E3, L18; the SDK's own classifiers decide about the others, like L17.
    #[test]
    fn a_used_up_quota_and_a_denied_key_are_not_retried() {
        for (status, body, expected) in [
            (
                400,
                r#"{"__type": "LimitExceededException"}"#,
                RetryAction::RetryForbidden,
            ),
            (
                502,
                r#"{"__type": "KMSAccessDeniedException"}"#,
                RetryAction::RetryForbidden,
            ),
            (
                400,
                r#"{"__type": "ThrottlingException"}"#,
                RetryAction::NoActionIndicated,
            ),
            (
                429,
                r#"{"__type": "TooManyRequestsException"}"#,
                RetryAction::NoActionIndicated,
            ),
            (502, "", RetryAction::NoActionIndicated),
            (
                200,
                r#"{"__type": "LimitExceededException"}"#,
                RetryAction::NoActionIndicated,
            ),
        ] {
            let mut context = InterceptorContext::new(Input::erase(()));
            let status = StatusCode::try_from(status).unwrap();
            context.set_response(Response::new(status, SdkBody::from(body)));
            assert_eq!(FinalAnswers.classify_retry(&context), expected, "{body}");
        }
    }
}
