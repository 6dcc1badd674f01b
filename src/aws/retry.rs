//! What the SDK must not retry, although its defaults say so.

use aws_smithy_runtime_api::client::interceptors::context::InterceptorContext;
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction};

use super::call_log::code;
use super::error::chain;
use crate::answer_limit::AnswerTooLong;
use crate::aws_code;

/// Forbids retries of answers that do not change within the seconds of a retry, or that cost much: those that are too long.
/// A quota that is used up counts as
/// throttling for the SDK (`LimitExceededException`), and Lambda has HTTP status 502 for a key that it was denied. A host
/// that does not exist, like that of a service without a FIPS endpoint, counts as a broken connection.
#[derive(Debug)]
pub(super) struct FinalAnswers;

/// What the resolver of the C library says of a name that does not exist. While it has no answer, it says "Temporary
/// failure in name resolution".
const NO_HOST: &str = "Name or service not known";

impl ClassifyRetry for FinalAnswers {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        if let Some(Err(e)) = context.output_or_error()
            && (AnswerTooLong::caused(e) || chain(e).iter().any(|text| text.contains(NO_HOST)))
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
    use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
    use aws_smithy_runtime_api::client::result::ConnectorError;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;

    use super::*;

    #[test]
    fn a_host_that_does_not_exist_is_not_asked_again() {
        for (why, expected) in [
            ("Name or service not known", RetryAction::RetryForbidden),
            ("Temporary failure in name resolution", RetryAction::NoActionIndicated),
        ] {
            let cause = std::io::Error::other(format!("failed to lookup address information: {why}"));
            let error = ConnectorError::io(format!("dns error: {cause}").into());
            let mut context = InterceptorContext::new(Input::erase(()));
            context.set_output_or_error(Err(OrchestratorError::connector(error)));
            assert_eq!(FinalAnswers.classify_retry(&context), expected, "{why}");
        }
    }

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
