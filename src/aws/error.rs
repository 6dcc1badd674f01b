//! Faults from errors of AWS. The only place that knows its error codes, and the few messages that distinguish what one
//! code stands for.

use std::error::Error as StdError;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::wait::WaitReason;
use crate::cloud::{Fault, FaultKind};

/// Turns the result of a call into its output or a fault.
pub(super) trait OrFault<T> {
    /// The output, or the fault; `action` is the call as IAM names it.
    fn or_fault(self, action: &str) -> Result<T, Fault>;
}

impl<T, E> OrFault<T> for Result<T, SdkError<E, HttpResponse>>
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    fn or_fault(self, action: &str) -> Result<T, Fault> {
        self.map_err(|e| match &e {
            SdkError::ServiceError(service) => {
                // An answer without a code is from a proxy or another server.
                let status = || format!("not an answer of AWS, HTTP status {}", service.raw().status());
                let message = service.err().message().map_or_else(status, str::to_owned);
                refusal(action, service.err().code(), &message)
            }
            _ => silence(action, &e),
        })
    }
}

/// `None` for what is absent: no fault for a read or a delete.
pub(super) fn if_present<T>(answer: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(fault) if fault.kind == FaultKind::Gone => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// A refusal without a code: found by kibus, or in an answer that is not an error.
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
    let kind = kind(action, code.map(bare).unwrap_or_default(), message);
    // A call can be denied because another permission is missing, like `iam:PassRole`; then that one must be granted.
    let needed = match &kind {
        FaultKind::Denied { .. } => after(message, "not authorized to perform: ")
            .filter(|named| !named.eq_ignore_ascii_case(action) && named.contains(':')),
        _ => None,
    };
    Fault {
        kind,
        action: needed.unwrap_or_else(|| action.to_owned()),
        code: code.map(|code| bare(code).to_owned()),
        message: message.to_owned(),
    }
}

/// A code without what the protocols put around it: `AWS.SimpleQueueService.`, a namespace and `#`, `;Sender`.
fn bare(code: &str) -> &str {
    let code = code.split_once(';').map_or(code, |(code, _)| code);
    let code = code.rsplit_once('#').map_or(code, |(_, code)| code);
    code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code)
}

fn kind(action: &str, code: &str, message: &str) -> FaultKind {
    match code {
        "AccessDenied"
        | "AccessDeniedException"
        | "UnauthorizedOperation"
        | "UnauthorizedAccess"
        | "AuthorizationError"
        | "AuthorizationErrorException"
        | "NotAuthorized"
        | "KmsAccessDenied"
        | "KMSAccessDeniedException"
        | "KMS.AccessDeniedException" => FaultKind::Denied {
            principal: after(message, "User: "),
            resource: resource(message).or_else(|| after(message, "Access to the resource ")),
        },
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" => FaultKind::ExpiredCredentials,
        "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "InvalidSignature"
        | "InvalidAccessKeyId"
        | "AuthFailure"
        | "IncompleteSignature"
        | "IncompleteSignatureException"
        | "InvalidSecurity"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException" => FaultKind::BadCredentials,
        "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "RequestLimitExceeded"
        | "TooManyRequestsException"
        | "SlowDown"
        | "PriorRequestNotComplete"
        | "KmsThrottled" => FaultKind::Throttled,
        "NonExistentQueue"
        | "QueueDoesNotExist"
        | "NoSuchEntity"
        | "NoSuchEntityException"
        | "NotFoundException"
        | "ResourceNotFoundException" => FaultKind::Gone,
        "QueueAlreadyExists"
        | "QueueNameExists"
        | "EntityAlreadyExists"
        | "EntityAlreadyExistsException"
        | "ResourceAlreadyExistsException" => FaultKind::Exists,
        // Lambda has one code for "already exists" and "in progress".
        "ResourceConflictException" | "ConflictException" if action.contains(":Create") && !is_busy(message) => {
            FaultKind::Exists
        }
        "LimitExceeded"
        | "LimitExceededException"
        | "OverLimit"
        | "CodeStorageExceededException"
        | "ServiceQuotaExceededException" => FaultKind::Limit,
        // What Lambda answers when too little concurrency would be left for all other functions.
        "InvalidParameterValueException" if message.contains("UnreservedConcurrentExecution") => FaultKind::Limit,
        "MalformedPolicyDocument" | "MalformedPolicyDocumentException" => FaultKind::MalformedPolicy,
        // SQS has one code for the values of all attributes.
        "InvalidAttributeValue" | "InvalidParameterValue" if message.contains("Policy") => FaultKind::MalformedPolicy,
        _ => FaultKind::Rejected,
    }
}

/// Why a retry can succeed soon, if it can: AWS has not finished an earlier change.
pub(super) fn settling(fault: &Fault) -> Option<WaitReason> {
    let says = |text: &str| fault.message.contains(text);
    match fault.code.as_deref()? {
        "QueueDeletedRecently" => Some(WaitReason::QueueDeletedRecently),
        "InvalidParameterValueException" if says("cannot be assumed") => Some(WaitReason::RoleNotAssumable),
        "InvalidParameterValueException" if says("does not have permissions to call") => {
            Some(WaitReason::RolePermissions)
        }
        "MalformedPolicyDocument" | "MalformedPolicyDocumentException" | "InvalidParameterValueException"
            if says("nvalid principal") =>
        {
            Some(WaitReason::PrincipalUnknown)
        }
        "DeleteConflict" | "DeleteConflictException" if says("must delete policies first") => {
            Some(WaitReason::PoliciesLeaving)
        }
        "ResourceConflictException" if is_busy(&fault.message) => Some(WaitReason::FunctionBusy),
        "ResourceInUseException" => Some(WaitReason::MappingBusy),
        "ConcurrentModification" | "ConcurrentModificationException" | "OperationAbortedException" => {
            Some(WaitReason::ConcurrentChange)
        }
        _ => None,
    }
}

/// Whether Lambda refuses because an earlier change is not finished.
fn is_busy(message: &str) -> bool {
    message.contains("in progress") || message.contains("state: Pending")
}

/// Whether something else still uses what was to be deleted.
pub(super) fn in_use(fault: &Fault) -> bool {
    matches!(
        fault.code.as_deref(),
        Some("ResourceConflictException" | "ConflictException")
    )
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

/// The fault of a call without a readable answer.
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
    // The outer texts name the SDK's own stages; the cause is at the bottom. For credentials the bottom alone, like
    // "no such file", does not name the file.
    let telling = if kind == FaultKind::Unreachable { 1 } else { 2 };
    Fault {
        kind,
        action: action.to_owned(),
        code: None,
        message: texts[texts.len().saturating_sub(telling)..].join(": "),
    }
}

/// The texts of an error and of its causes, outermost first.
fn chain(e: &(dyn StdError + 'static)) -> Vec<String> {
    std::iter::successors(Some(e), |&e| e.source())
        .map(ToString::to_string)
        .collect()
}

#[cfg(test)]
mod tests;
