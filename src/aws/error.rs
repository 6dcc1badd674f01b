//! What AWS answers instead of doing what it was asked. The codes are in `aws_code`; the few texts that a
//! code alone does not tell apart are here.

use std::error::Error as StdError;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::settle::Reason;
use crate::aws_code;
use crate::cloud::{Fault, FaultKind};

/// Turns the answer to a call into what is to be made of it.
pub(super) trait Answer<T> {
    /// The answer, or the fault; `action` is the call as IAM names it.
    fn answer(self, action: &str) -> Result<T, Fault>;
}

impl<T, E> Answer<T> for Result<T, SdkError<E, HttpResponse>>
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    fn answer(self, action: &str) -> Result<T, Fault> {
        self.map_err(|e| match &e {
            SdkError::ServiceError(service) => {
                // Whoever answers without a code is not AWS, but a proxy or another server.
                let status = || {
                    format!(
                        "an answer that is not AWS's, with HTTP status {}",
                        service.raw().status()
                    )
                };
                let message = service.err().message().map_or_else(status, str::to_owned);
                refusal(action, service.err().code(), &message)
            }
            _ => silence(action, &e),
        })
    }
}

/// What is absent is an answer when one only wants to know, or wants it gone.
pub(super) fn if_present<T>(answer: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(fault) if fault.kind == FaultKind::Gone => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// A refusal that has no code: found here, or told in an answer that is not an error.
pub(super) fn rejected(action: &str, message: impl Into<String>) -> Fault {
    Fault {
        kind: FaultKind::Rejected,
        action: action.to_owned(),
        code: None,
        message: message.into(),
    }
}

/// A refusal with this code and message.
pub(super) fn refusal(action: &str, code: Option<&str>, message: &str) -> Fault {
    let kind = kind(action, code.map(aws_code::bare).unwrap_or_default(), message);
    // A call can be refused for want of another one, like `iam:PassRole`; then that is the one to be granted.
    let needed = match &kind {
        FaultKind::Denied { .. } => after(message, "not authorized to perform: ")
            .filter(|named| !named.eq_ignore_ascii_case(action) && named.contains(':')),
        _ => None,
    };
    Fault {
        kind,
        action: needed.unwrap_or_else(|| action.to_owned()),
        code: code.map(|code| aws_code::bare(code).to_owned()),
        message: message.to_owned(),
    }
}

fn kind(action: &str, code: &str, message: &str) -> FaultKind {
    if aws_code::is_denied(code) {
        FaultKind::Denied {
            principal: after(message, "User: "),
            resource: resource(message).or_else(|| after(message, "Access to the resource ")),
        }
    } else if aws_code::is_expired(code) {
        FaultKind::ExpiredCredentials
    } else if aws_code::is_unauthenticated(code) {
        FaultKind::BadCredentials
    } else if aws_code::is_throttled(code) {
        FaultKind::Throttled
    } else if aws_code::is_absent(code) {
        FaultKind::Gone
    // Lambda has one code for "there is one already" and for "not now".
    } else if aws_code::is_existing(code)
        || aws_code::is_conflict(code) && action.contains(":Create") && !is_busy(message)
    {
        FaultKind::Exists
    // What Lambda answers when too little concurrency would be left for all other functions.
    } else if aws_code::is_limit(code)
        || aws_code::is_invalid_parameter(code) && message.contains("UnreservedConcurrentExecution")
    {
        FaultKind::Limit
    } else {
        FaultKind::Rejected
    }
}

/// Why it is worth trying again soon, if it is: AWS has taken an earlier change and has not come to terms with it.
pub(super) fn settling(fault: &Fault) -> Option<Reason> {
    let says = |text: &str| fault.message.contains(text);
    let code = fault.code.as_deref()?;
    let (parameter, policy) = (
        aws_code::is_invalid_parameter(code),
        aws_code::is_malformed_policy(code),
    );
    [
        (aws_code::is_deleted_recently(code), Reason::QueueDeletedRecently),
        (parameter && says("cannot be assumed"), Reason::RoleNotAssumable),
        (
            parameter && says("does not have permissions to call"),
            Reason::RolePermissions,
        ),
        (
            (parameter || policy) && says("nvalid principal"),
            Reason::PrincipalUnknown,
        ),
        (
            aws_code::is_delete_conflict(code) && says("must delete policies first"),
            Reason::PoliciesLeaving,
        ),
        (
            aws_code::is_conflict(code) && is_busy(&fault.message),
            Reason::FunctionBusy,
        ),
        (aws_code::is_in_use(code), Reason::MappingBusy),
        (aws_code::is_concurrent_change(code), Reason::ConcurrentChange),
    ]
    .into_iter()
    .find_map(|(applies, reason)| applies.then_some(reason))
}

/// Whether Lambda refuses because it has not done with what it was told before.
fn is_busy(message: &str) -> bool {
    message.contains("in progress") || message.contains("state: Pending")
}

/// Whether something else still uses what was to be deleted.
pub(super) fn in_use(fault: &Fault) -> bool {
    fault.code.as_deref().is_some_and(aws_code::is_conflict)
}

/// What a denial is about: an ARN, or in some services a kind and a name, like `role x`.
fn resource(message: &str) -> Option<String> {
    let first = after(message, "on resource: ")?;
    if first.contains(':') {
        return Some(first);
    }
    match after(message, &format!("on resource: {first} ")) {
        Some(name) if !matches!(name.as_str(), "because" | "with") => Some(format!("{first} {name}")),
        _ => Some(first),
    }
}

/// The word after a phrase, without the punctuation that ends a sentence.
fn after(message: &str, phrase: &str) -> Option<String> {
    let word = message.split_once(phrase)?.1.split_whitespace().next()?;
    let word = word.trim_matches(|c| matches!(c, '"' | '\'' | ',' | '.' | ';'));
    (!word.is_empty()).then(|| word.to_owned())
}

/// What to make of a call that got no answer that could be read.
fn silence<E: StdError + 'static>(action: &str, e: &SdkError<E, HttpResponse>) -> Fault {
    let texts = chain(e);
    let says = |text: &str| texts.iter().any(|line| line.contains(text));
    let kind = match e {
        _ if says("the credential provider was not enabled") || says("no providers in chain provided credentials") => {
            FaultKind::NoCredentials
        }
        _ if says("token has expired") || says("token is expired") || says("ExpiredToken") => {
            FaultKind::ExpiredCredentials
        }
        _ if says("credentials provider") || says("while loading credentials") || says("credentials error") => {
            FaultKind::BadCredentials
        }
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) => FaultKind::Unreachable,
        _ => FaultKind::Rejected,
    };
    // The outer texts name the SDK's own stages; what happened is at the bottom. For credentials the bottom alone,
    // like "no such file", does not say of what.
    let telling = if kind == FaultKind::Unreachable { 1 } else { 2 };
    Fault {
        kind,
        action: action.to_owned(),
        code: None,
        message: texts[texts.len().saturating_sub(telling)..].join(": "),
    }
}

/// The texts of an error and of all that it came from, outermost first.
fn chain(e: &(dyn StdError + 'static)) -> Vec<String> {
    std::iter::successors(Some(e), |&e| e.source())
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests;
