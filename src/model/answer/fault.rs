//! Why a call to AWS failed, as data.

use crate::model::name::FunctionName;

/// A call to AWS that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {message}")]
pub struct Fault {
    /// The kind of failure.
    pub kind: FaultKind,
    /// The call, as IAM names it: `sqs:CreateQueue`.
    pub action: String,
    /// The error code in the answer, if there is one.
    pub code: Option<String>,
    /// The message in the answer.
    pub message: String,
}

/// The kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The caller is not allowed to make the call.
    Denied {
        /// The caller, if the answer names it.
        principal: Option<String>,
        /// The resource, if the answer names it.
        resource: Option<String>,
    },
    /// No credentials were found.
    NoCredentials,
    ExpiredCredentials,
    /// The credentials are not valid.
    BadCredentials,
    /// The endpoint did not answer, or does not exist.
    Unreachable,
    /// The answer is not one that AWS gives: empty, too long, or of another format.
    NotFromAws,
    /// Too many calls, after retries too.
    Throttled,
    /// No concurrency is left for an invocation; the message says of what.
    ConcurrencyUsedUp {
        /// Whether it is the concurrency that is reserved for the function, else that of the account.
        reserved: bool,
    },
    /// The resource exists, though it was absent when it was read.
    Exists,
    /// A resource of the same name exists that kibus does not manage, though none existed when it was read.
    NotManaged,
    /// The resource is missing, though it existed when it was read.
    Gone,
    /// The resource has changed since it was read, and AWS made no change on top of that.
    Changed,
    /// AWS denied Lambda what it does with the function's role. No permission of the caller is missing.
    ServiceDenied,
    /// The KMS key behind a resource cannot be used, or does not exist.
    UnusableKey,
    /// The policy that was given as the permissions boundary does not exist.
    BoundaryMissing,
    /// The change did not take effect in the usual time.
    Unsettled {
        /// What to check.
        advice: Option<&'static str>,
    },
    /// Someone asked to stop while the call waited for AWS; the message says for what.
    Stopped,
    /// The same before AWS executed a call that changes something.
    NotBegun,
    /// A quota is reached.
    Limit,
    /// Lambda can neither run nor update the function.
    FunctionFailed {
        function: FunctionName,
    },
    /// Lambda accepted an update of the function and did not apply it.
    FunctionUpdateFailed,
    /// A policy in the call is not valid.
    MalformedPolicy,
    /// The call was rejected for another reason; the message says which.
    Rejected,
}

impl Fault {
    /// Whether the caller is not allowed to make the call.
    pub fn is_denied(&self) -> bool {
        matches!(self.kind, FaultKind::Denied { .. })
    }
}
