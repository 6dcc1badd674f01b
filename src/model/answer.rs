//! The result of a call to AWS: a fact or a fault, and how much AWS slows kibus down.

use std::collections::BTreeMap;
use std::mem::discriminant;

use crate::model::{Document, KmsKey};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fact<T> {
    #[default]
    NotAsked,
    Present(T),
    /// It certainly does not exist.
    Absent,
    Unreadable(Fault),
}

impl<T> Fact<T> {
    pub fn from_answer(answer: Result<T, Fault>) -> Self {
        answer.map_or_else(Self::Unreadable, Self::Present)
    }

    pub fn from_optional(answer: Result<Option<T>, Fault>) -> Self {
        match answer {
            Ok(Some(value)) => Self::Present(value),
            Ok(None) => Self::Absent,
            Err(fault) => Self::Unreadable(fault),
        }
    }

    pub fn present(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            Self::NotAsked | Self::Absent | Self::Unreadable(_) => None,
        }
    }

    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Unreadable(fault) => Some(fault),
            Self::NotAsked | Self::Present(_) | Self::Absent => None,
        }
    }

    pub fn is_asked(&self) -> bool {
        !matches!(self, Self::NotAsked)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {message}")]
pub struct Fault {
    pub kind: FaultKind,
    /// The call, as IAM names it: `sqs:CreateQueue`.
    pub action: String,
    pub code: Option<Box<str>>,
    pub message: String,
    /// A hint, if it is more specific than for other faults of this kind.
    pub advice: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    Denied {
        principal: Option<Box<str>>,
        resource: Option<Box<str>>,
    },
    NoCredentials,
    ExpiredCredentials,
    BadCredentials,
    /// The endpoint did not answer, or does not exist.
    Unreachable,
    /// Too many calls, even after retries.
    Throttled,
    /// No concurrency is left for an invocation.
    ConcurrencyUsedUp,
    /// The resource exists, although it was absent when it was read.
    Exists,
    /// A resource with the same name exists that kibus does not manage, although none existed when it was read.
    NotManaged,
    /// The resource is missing, although it existed when it was read.
    Gone,
    /// The resource has changed since it was read, and AWS refused the change.
    Changed,
    /// AWS denied Lambda the use of the function's role. The caller is not missing a permission.
    ServiceDenied,
    /// The change did not take effect, or not within the usual time.
    Unsettled,
    /// The user requested a stop while the call waited for AWS; the message gives the reason for the wait.
    Stopped,
    /// The user requested a stop before AWS executed a call that changes something.
    NotBegun,
    /// Lambda can neither run nor update the router function.
    FunctionFailed,
    /// The call was rejected for another reason; the message gives it.
    Rejected,
}

impl Fault {
    /// A fault without an AWS error code.
    pub fn new(kind: FaultKind, action: &str, message: impl Into<String>) -> Self {
        Self { kind, action: action.to_owned(), code: None, message: message.into(), advice: None }
    }

    pub fn advised(self, advice: &'static str) -> Self {
        Self { advice: Some(advice), ..self }
    }

    /// A list that still has a token for another page after more pages than any AWS list has.
    pub fn endless(action: &str) -> Self {
        Self::new(FaultKind::Rejected, action, format!("the list does not end after {MOST_PAGES} pages"))
    }

    #[cfg(test)]
    pub fn denied(action: &str) -> Self {
        Self::new(FaultKind::Denied { principal: None, resource: None }, action, "no")
    }

    /// Whether both are the same failure of the same call, perhaps about different resources.
    pub fn has_cause_of(&self, other: &Self) -> bool {
        let cause = |fault: &Self| (fault.action.clone(), fault.code.clone(), discriminant(&fault.kind));
        cause(self) == cause(other)
    }

    pub fn is_denied(&self) -> bool {
        matches!(self.kind, FaultKind::Denied { .. })
    }
}

/// The most pages of one list. The shortest full pages have ten items.
pub const MOST_PAGES: usize = 1_000;

/// How many calls of each service AWS has throttled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slowdown {
    /// The counts, by service name as shown to the user.
    pub throttled: BTreeMap<&'static str, u64>,
}

impl Slowdown {
    pub fn count(&mut self, service: &'static str) {
        *self.throttled.entry(service).or_default() += 1;
    }

    pub fn sentence(&self) -> Option<String> {
        let sum: u64 = self.throttled.values().sum();
        let of_service = |(service, count): (&&str, &u64)| format!("{service} {count}");
        let counts: Vec<String> = self.throttled.iter().map(of_service).collect();
        (sum > 0).then(|| format!("Calls that AWS throttled and kibus repeated: {}.", counts.join(", ")))
    }
}

/// Why a command is slow, as text that can follow an operation: it is slowed down by the rate limits of these services.
pub fn slowed_by<'a>(services: impl IntoIterator<Item = &'a &'static str>) -> String {
    let services: Vec<&str> = services.into_iter().copied().collect();
    match services.as_slice() {
        [one] if !one.ends_with('s') => format!("slowed down by {one}'s rate limit"),
        [one] => format!("slowed down by the rate limit of {one}"),
        several => format!("slowed down by the rate limits of {}", several.join(" and ")),
    }
}

/// SNS's answer about a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicAttributes {
    pub policy: Option<Document>,
    /// The key that encrypts it: an id, an ARN or an alias.
    pub key: Option<String>,
}

/// KMS's answer about the key of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicKey {
    pub key: KmsKey,
    /// Whether AWS manages it. Every publisher in its account can use it, services cannot, and no one can change that.
    pub of_aws: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_names_several_services_and_counts_no_call_without_one() {
        assert_eq!(slowed_by(["IAM", "SQS"].iter()), "slowed down by the rate limits of IAM and SQS");
        assert_eq!(Slowdown::default().sentence(), None);
    }
}
