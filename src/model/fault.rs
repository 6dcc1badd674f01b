//! What AWS answered instead of doing what it was asked, as data.

/// What AWS answered instead of doing what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {message}")]
pub struct Fault {
    /// What is to be made of it.
    pub kind: FaultKind,
    /// The call, as IAM names it: `sqs:CreateQueue`.
    pub action: String,
    /// The code of the answer, if there was one.
    pub code: Option<String>,
    /// What the answer said.
    pub message: String,
}

/// What is to be made of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The caller may not do this.
    Denied {
        /// Who the caller is, as the answer says.
        principal: Option<String>,
        /// What it was about, as the answer says.
        resource: Option<String>,
    },
    /// No credentials were found.
    NoCredentials,
    /// The credentials are not valid any more.
    ExpiredCredentials,
    /// The credentials are not valid.
    BadCredentials,
    /// No answer came: the endpoint cannot be reached, or does not exist.
    Unreachable,
    /// Too many calls, even after waiting and trying again.
    Throttled,
    /// It is there, though it was absent when it was read.
    Exists,
    /// It is gone, though it was there when it was read.
    Gone,
    /// It did not come into force within the time that it usually takes.
    Unsettled,
    /// A limit of the account is reached.
    Limit,
    /// The answer is a refusal of another kind; the message says which.
    Rejected,
}
