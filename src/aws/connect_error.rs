//! Why there is no session with AWS, and what to do about it.

use crate::cloud::{Fault, FaultKind};
use crate::error::Error;
use crate::model::name::{NameError, Region};

/// Why there is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Neither the command line nor the environment nor the profile names a Region.
    #[error("no AWS Region is chosen")]
    NoRegion,
    /// What the environment, the profile or the answer names cannot be a Region, an account or a partition.
    #[error(transparent)]
    BadName(#[from] NameError),
    /// AWS has no endpoint of that name, or the name cannot be resolved from here.
    #[error("no AWS endpoint is found for Region `{region}`")]
    NoEndpoint {
        /// The Region.
        region: Region,
        /// What the system said.
        cause: String,
    },
    /// The question who the caller is was not answered.
    #[error("{fault}")]
    Refused {
        /// What happened.
        fault: Fault,
        /// The endpoint, if it is not AWS's own.
        endpoint: Option<String>,
        /// The profile, if one was chosen.
        profile: Option<String>,
    },
}

impl From<ConnectError> for Error {
    fn from(e: ConnectError) -> Self {
        let message = e.to_string();
        match e {
            ConnectError::NoRegion => Self::usage(message)
                .note("neither the command line nor the environment nor the profile names one")
                .hint("choose one with --region, or set AWS_REGION"),
            ConnectError::BadName(e) => e.into(),
            ConnectError::NoEndpoint { cause, .. } => Self::failed(message)
                .note(cause)
                .hint("see that the Region is written correctly and that this machine can reach AWS"),
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
        Some(profile) => format!("{command} --profile {profile}"),
        None => command.to_owned(),
    };
    let log_in = with_profile("aws sso login");
    match &fault.kind {
        FaultKind::NoCredentials => Error::failed("no AWS credentials are found")
            .note("looked in the environment, in the profile, and where a container or an instance has them")
            .hint("choose a profile with --profile, or set AWS_PROFILE")
            .hint_command("or log in:", log_in),
        FaultKind::ExpiredCredentials => Error::failed("the AWS credentials have expired")
            .note(&fault.message)
            .hint_command("log in again:", log_in),
        FaultKind::BadCredentials if fault.code.is_none() => Error::failed("the AWS credentials cannot be loaded")
            .note(&fault.message)
            .hint("choose a profile with --profile, or set AWS_PROFILE")
            .hint_command("if they come from IAM Identity Center, log in:", log_in),
        FaultKind::BadCredentials => Error::failed("AWS does not take these credentials")
            .note(&fault.message)
            .hint("a Region that the account has not enabled gives the same answer")
            .hint_command("see who you are with:", with_profile("aws sts get-caller-identity")),
        FaultKind::Unreachable => match endpoint {
            Some(endpoint) => Error::failed(format!("endpoint `{endpoint}` does not answer"))
                .note(&fault.message)
                .hint("see that it is running, or choose another with --endpoint-url"),
            None => Error::failed("AWS does not answer")
                .note(&fault.message)
                .hint("see that this machine can reach AWS, through a proxy or a VPC endpoint if it must"),
        },
        _ => {
            let error = Error::failed("AWS does not say who is calling");
            let error = error.note(format!("{} was answered with: {}", fault.action, fault.message));
            match endpoint {
                Some(endpoint) if !matches!(fault.kind, FaultKind::Denied { .. }) => {
                    error.hint(format!("see that `{endpoint}` speaks AWS's APIs"))
                }
                _ => error
                    .hint(
                        "no permission is needed for this call, but a VPC endpoint or a proxy on the way may refuse it",
                    )
                    .hint_command(
                        "see whether AWS's own tool is answered:",
                        with_profile("aws sts get-caller-identity"),
                    ),
            }
        }
    }
}
