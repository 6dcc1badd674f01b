//! Why there is no session with AWS, and what to do about it.

use crate::cloud::{Fault, FaultKind};
use crate::error::{Error, quoted};
use crate::model::name::{NameError, Region};

/// How the TLS library begins its error about a certificate.
const UNTRUSTED: &str = "invalid peer certificate";

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Neither the command line nor the environment nor the profile names a Region.
    #[error("no AWS Region is set")]
    NoRegion,
    /// The AWS configuration has no such profile.
    #[error("no profile `{}` in the AWS configuration", .profile.escape_debug())]
    NoProfile {
        /// The profile.
        profile: String,
        /// Whether it was given, and not set by `AWS_PROFILE`.
        given: bool,
    },
    /// The environment, the profile or the answer holds an invalid Region, account or partition.
    #[error(transparent)]
    BadName(#[from] NameError),
    /// The name of the endpoint cannot be resolved.
    #[error("no AWS endpoint found for Region `{region}`")]
    NoEndpoint {
        /// The Region.
        region: Region,
        /// The cause, from the system.
        cause: String,
    },
    /// Calls to a service would go to another host without encryption.
    #[error("the endpoint `{}` of {service} is not encrypted", .endpoint.escape_debug())]
    PlainHttp {
        endpoint: String,
        /// The service, by its id in the SDK.
        service: &'static str,
    },
    /// The call for the caller's identity failed.
    #[error("{fault}")]
    Refused {
        /// The fault.
        fault: Fault,
        /// The endpoint, if it is not AWS's own.
        endpoint: Option<String>,
        /// The profile, if one was given.
        profile: Option<String>,
    },
}

impl From<ConnectError> for Error {
    fn from(e: ConnectError) -> Self {
        let message = e.to_string();
        match e {
            ConnectError::NoRegion => Self::usage(message)
                .note("neither the command line, the environment, nor the profile sets one")
                .hint("pass --region, or set AWS_REGION"),
            ConnectError::NoProfile { given, .. } => {
                let set = if given { "" } else { "AWS_PROFILE is set to it; " };
                Self::usage(message)
                    .note(format!("{set}looked in the AWS config and credentials files"))
                    .hint_command("to list the profiles:", "aws configure list-profiles")
            }
            ConnectError::BadName(e) => e.into(),
            ConnectError::NoEndpoint { cause, .. } => Self::failed(message)
                .note(cause)
                .hint("check that the Region is correct and that this machine can reach AWS"),
            ConnectError::PlainHttp { .. } => Self::usage(message)
                .note("anyone on the way could read each call, with the session token of the credentials")
                .note("it comes from --endpoint-url, KIBUS_ENDPOINT_URL, AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SERVICE or the profile")
                .hint("set it to an https:// URL; to allow http:// to any host, set KIBUS_ALLOW_HTTP=true"),
            ConnectError::Refused {
                fault,
                endpoint,
                profile,
            } => refused(&fault, endpoint.as_deref(), profile.as_deref()),
        }
    }
}

fn refused(fault: &Fault, endpoint: Option<&str>, profile: Option<&str>) -> Error {
    let with_profile = |command: &str| match profile {
        Some(profile) => format!("{command} --profile {}", quoted(profile)),
        None => command.to_owned(),
    };
    let log_in = with_profile("aws sso login");
    match &fault.kind {
        FaultKind::NoCredentials => Error::failed("no AWS credentials found")
            .note("looked in the environment, in the profile, and in container and instance metadata")
            .hint("pass --profile, or set AWS_PROFILE")
            .hint_command("or log in:", log_in),
        FaultKind::ExpiredCredentials => Error::failed("the AWS credentials have expired")
            .note(&fault.message)
            .hint_command("log in again:", log_in),
        FaultKind::BadCredentials if fault.code.is_none() => Error::failed("the AWS credentials cannot be loaded")
            .note(&fault.message)
            .hint("pass --profile, or set AWS_PROFILE")
            .hint_command("if they come from IAM Identity Center, log in:", log_in),
        FaultKind::BadCredentials => Error::failed("AWS rejected these credentials")
            .note(&fault.message)
            .hint("a Region that is not enabled in the account gives the same error")
            .hint_command("check your identity:", with_profile("aws sts get-caller-identity")),
        FaultKind::Unreachable if fault.message.contains(UNTRUSTED) => {
            let server = endpoint.map_or("AWS".to_owned(), |endpoint| format!("endpoint `{endpoint}`"));
            Error::failed(format!("the TLS certificate of {server} is not trusted"))
                .note(&fault.message)
                .hint("check the CA certificates of this system (package ca-certificates) and its clock")
                .hint("for other CA certificates, such as those of a proxy, set SSL_CERT_FILE to their file")
        }
        FaultKind::Unreachable => match endpoint {
            Some(endpoint) => Error::failed(format!("endpoint `{endpoint}` does not answer"))
                .note(&fault.message)
                .hint("check that it is running, or pass another with --endpoint-url"),
            None => Error::failed("AWS does not answer")
                .note(&fault.message)
                .hint("check that this machine can reach AWS, through a proxy or a VPC endpoint if needed"),
        },
        FaultKind::Throttled => Error::failed("AWS throttles the call for the caller's identity")
            .note(&fault.message)
            .hint("other programs of this account may use up the rate: wait, or stop them, and run again"),
        _ => {
            let error = Error::failed("AWS did not return the caller's identity");
            let error = error.note(format!("{} failed: {}", fault.action, fault.message));
            match endpoint {
                Some(endpoint) if !matches!(fault.kind, FaultKind::Denied { .. }) => {
                    error.hint(format!("check that `{endpoint}` serves the AWS APIs"))
                }
                _ => error
                    .hint("this call needs no permission, but a VPC endpoint or a proxy on the way may refuse it")
                    .hint_command(
                        "check whether the AWS CLI works:",
                        with_profile("aws sts get-caller-identity"),
                    ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::shell_words;

    #[test]
    fn a_printed_command_names_the_profile_as_it_was_given() {
        for profile in ["dev", "a b", "it's", "$(kibus)", "`kibus`;kibus", "-x \"y\"", "ü*?~"] {
            for kind in [
                FaultKind::NoCredentials,
                FaultKind::ExpiredCredentials,
                FaultKind::BadCredentials,
                FaultKind::Rejected,
            ] {
                let fault = Fault {
                    kind,
                    action: "sts:GetCallerIdentity".to_owned(),
                    code: Some("x".to_owned()),
                    message: String::new(),
                };
                let hints = refused(&fault, None, Some(profile)).hints;
                let commands: Vec<_> = hints.iter().filter_map(|hint| hint.command.as_ref()).collect();
                assert!(!commands.is_empty(), "{fault:?}");
                for command in commands {
                    let words = shell_words(command);
                    assert_eq!(words[words.len() - 2..], ["--profile", profile], "{command:?}");
                }
            }
        }
    }

    #[test]
    fn a_certificate_that_is_not_trusted_has_a_message_of_its_own() {
        let fault = |message: &str| Fault {
            kind: FaultKind::Unreachable,
            action: "sts:GetCallerIdentity".to_owned(),
            code: None,
            message: message.to_owned(),
        };
        let message = |text, endpoint| refused(&fault(text), endpoint, None).message;
        let untrusted = "invalid peer certificate: UnknownIssuer";
        assert_eq!(message(untrusted, None), "the TLS certificate of AWS is not trusted");
        let endpoint = Some("https://127.0.0.1:1");
        assert_eq!(
            message(untrusted, endpoint),
            "the TLS certificate of endpoint `https://127.0.0.1:1` is not trusted"
        );
        assert_eq!(message("connection refused", None), "AWS does not answer");
    }
}
