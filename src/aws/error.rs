//! Faults from errors of AWS. The codes are in `aws_code`; messages are matched here only where one code has several meanings.

use std::error::Error as StdError;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::{ErrorMetadata, ProvideErrorMetadata};

use crate::cloud::{Fault, FaultKind, session_role};
use crate::error::excerpt;
use crate::model::calls::{events, iam, lambda, tag};
use crate::wire::aws_code;

/// How many characters of a message are shown. The longest AWS messages have half as many.
const SHOWN: usize = 1_000;
/// The longest code. Anything longer, or with other characters, is not a code.
const CODE: usize = 100;

/// The message about an empty answer.
pub(super) const EMPTY: &str = "the response is empty, so it is not from AWS";

/// The HTTP status of a throttled call, regardless of its code: Too Many Requests.
pub(super) const THROTTLED: u16 = 429;

/// The fault of a call that failed; `action` is the call as IAM names it.
pub(super) fn failed<E>(action: &str, e: &SdkError<E, HttpResponse>) -> Fault
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let status = e.raw_response().map(|answer| answer.status());
    let fault = match e {
        SdkError::ServiceError(service) => {
            let other = || format!("not an AWS response, HTTP status {}", service.raw().status());
            let message = service.err().message().map_or_else(other, str::to_owned);
            refusal(action, service.err().code(), &message)
        }
        _ => silence(action, e),
    };
    let is_unknown = fault.kind == FaultKind::Rejected && matches!(fault.advice, None | Some(NOT_FROM_AWS));
    match e {
        _ if is_unknown && status.is_some_and(|s| s.as_u16() == THROTTLED) => {
            Fault { kind: FaultKind::Throttled, advice: None, ..fault }
        }
        // An answer without a code is from a proxy or another server.
        SdkError::ServiceError(service) if service.err().code().is_none() => fault.advised(NOT_FROM_AWS),
        _ => fault,
    }
}

/// The hint for an answer that is empty, too long, or in another format.
const NOT_FROM_AWS: &str = "check that the endpoint (--endpoint-url, AWS_ENDPOINT_URL) and every proxy in between forward the responses of AWS";

/// `None` if the resource is absent, which is not a fault for a read or a delete.
pub(super) fn if_present<T>(answer: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(fault) if fault.kind == FaultKind::Gone => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// A refusal without a code: found by kibus, or in an answer that is not an error.
pub(super) fn rejected(action: &str, message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::Rejected, action, message)
}

pub(super) fn refusal(action: &str, code: Option<&str>, message: &str) -> Fault {
    let code = code.filter(|code| code.len() <= CODE && code.bytes().all(|b| b.is_ascii_graphic()));
    let message = &excerpt(message, SHOWN);
    let (kind, advice) = recognized(action, code.map(aws_code::bare).unwrap_or_default(), message);
    // A call can be denied because another permission is missing, like `iam:PassRole`; then that one must be granted.
    let needed = match &kind {
        FaultKind::Denied { .. } => after(message, "not authorized to perform: ")
            .filter(|named| !named.eq_ignore_ascii_case(action) && named.contains(':')),
        _ => None,
    };
    Fault {
        kind,
        action: needed.unwrap_or_else(|| action.to_owned()),
        code: code.map(|code| aws_code::bare(code).into()),
        message: message.clone(),
        advice,
    }
}

/// What a code and a message mean, and a hint if their kind has none.
fn recognized(action: &str, code: &str, message: &str) -> (FaultKind, Option<&'static str>) {
    let advised = |advice| (FaultKind::Rejected, Some(advice));
    let kind = if is_service_denial(code, message) {
        FaultKind::ServiceDenied
    } else if aws_code::is_unusable_key(code) {
        return advised("enable the key, or set another one with --kms-key");
    } else if aws_code::is_denied(code) {
        FaultKind::Denied {
            principal: after(message, "User: ").map(Into::into),
            resource: resource(message).or_else(|| after(message, "Access to the resource ")).map(Into::into),
        }
    } else if aws_code::is_expired(code) {
        FaultKind::ExpiredCredentials
    } else if aws_code::is_unauthenticated(code) {
        FaultKind::BadCredentials
    } else if aws_code::is_throttled(code) {
        FaultKind::Throttled
    // IAM has one code for an absent role and for an absent policy that a call names.
    } else if aws_code::is_absent(code) && message.contains("is not attachable") {
        return advised("create that policy, or set another one with --permissions-boundary");
    } else if aws_code::is_absent(code) {
        FaultKind::Gone
    } else if aws_code::is_other_revision(code) {
        FaultKind::Changed
    // Lambda has one code for "already exists" and for "not now".
    } else if aws_code::is_existing(code)
        || aws_code::is_conflict(code) && action.contains(":Create") && !is_busy(message)
    {
        FaultKind::Exists
    // What Lambda answers when too little concurrency would be left for all other functions.
    } else if aws_code::is_limit(code)
        || aws_code::is_invalid_parameter(code) && message.contains("UnreservedConcurrentExecution")
    {
        return advised(limit_advice(action));
    // SQS has one code for all attribute values, and two more whose names end the same way.
    } else if aws_code::is_malformed_policy(code)
        || aws_code::is_invalid_attribute(code) && message.contains("parameter Policy")
    {
        return advised("show the policy with --dry-run -v; often it names a principal or key that does not exist");
    } else {
        FaultKind::Rejected
    };
    (kind, None)
}

/// The hint for reaching the quota that limits this call.
fn limit_advice(action: &str) -> &'static str {
    match action {
        // All inline policies of a role share one quota (IAM user guide, "IAM and STS character quotas").
        iam::PUT_ROLE_POLICY => {
            "all inline policies of a role share 10240 characters, and this quota cannot be raised: delete policies \
             that the role does not need, or replace them with managed policies, which do not count"
        }
        events::PUT_RULE => {
            "delete unneeded rules, such as those of clusters that are now on the bus, or request more in Service \
             Quotas"
        }
        events::PUT_TARGETS => "remove unneeded targets; a rule has at most 5",
        lambda::PUT_FUNCTION_CONCURRENCY => {
            "reserve less with --reserved-concurrency, or request more in Service Quotas"
        }
        _ => "remove unneeded resources, or request more in Service Quotas",
    }
}

/// Whether AWS denies Lambda the use of a function's role. Some of these errors have the code of a denial.
pub(super) fn is_service_denial(code: &str, message: &str) -> bool {
    let of_the_role = message.contains(NOT_ASSUMABLE) || message.contains(ROLE_PERMISSIONS);
    aws_code::is_service_denied(code)
        || of_the_role && (aws_code::is_denied(code) || aws_code::is_invalid_parameter(code))
}

/// If a role session was denied that does not belong to the caller's role, the denial is about a service that uses that role.
pub(super) fn of_the_caller(fault: Fault, caller: &str) -> Fault {
    let denied = match &fault.kind {
        FaultKind::Denied { principal, .. } => principal.as_deref().and_then(session_role),
        _ => None,
    };
    let kind = match denied {
        Some(role) if session_role(caller) != Some(role) => FaultKind::ServiceDenied,
        _ => return fault,
    };
    Fault { kind, ..fault }
}

/// Lambda's message about a role that it cannot use.
pub(super) const NOT_ASSUMABLE: &str = "cannot be assumed";
/// Lambda's message about a role that lacks permissions.
pub(super) const ROLE_PERMISSIONS: &str = "does not have permissions to call";

/// Whether Lambda refuses because an earlier change is still in progress.
pub(super) fn is_busy(message: &str) -> bool {
    ["in progress", "state: Pending", "state: Deleting", "concurrent update operation"]
        .iter()
        .any(|text| message.contains(text))
}

/// Whether something else still uses the resource to delete.
pub(super) fn in_use(fault: &Fault) -> bool {
    fault.code.as_deref().is_some_and(aws_code::is_conflict)
}

/// The resource of a denial: an ARN or, in some services, a kind and a name, like `role x`.
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
    let refused = causes(e).find_map(|cause| cause.downcast_ref::<ErrorMetadata>());
    let says = |text: &str| texts.iter().any(|line| line.contains(text));
    let is_empty = says(EMPTY);
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
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) if !is_empty => FaultKind::Unreachable,
        _ => FaultKind::Rejected,
    };
    // The outer texts name the SDK's own stages; the innermost one is the cause. For credentials, the innermost text
    // alone, like "no such file", does not name the file.
    let telling = match e {
        SdkError::ResponseError(_) => 2,
        _ if kind == FaultKind::Unreachable || is_empty => 1,
        _ => 2,
    };
    let advice = match e {
        _ if is_empty => Some(NOT_FROM_AWS),
        SdkError::ResponseError(_) if kind == FaultKind::Rejected => Some(NOT_FROM_AWS),
        _ if kind == FaultKind::Unreachable && action == tag::GET_RESOURCES => Some(NO_FIPS),
        _ if kind == FaultKind::Unreachable && action.starts_with("fis:") => Some(NO_FIS),
        _ => None,
    };
    let message = match refused {
        // A call for the credentials, like sts:AssumeRole.
        Some(answer) => [answer.code(), answer.message()].into_iter().flatten().collect::<Vec<_>>().join(": "),
        None => texts[texts.len().saturating_sub(telling)..].join(": "),
    };
    Fault { advice, ..Fault::new(kind, action, excerpt(&message, SHOWN)) }
}

/// The tagging API has no FIPS endpoint in any partition.
const NO_FIPS: &str = "check the network; this service has no FIPS endpoint: if AWS_USE_FIPS_ENDPOINT is set, unset it for \
                       this command";

/// The newest Regions, and some partitions, have no AWS FIS endpoint. No list of Regions shows which.
const NO_FIS: &str = "check the network; AWS FIS may not be available in this Region";

/// The texts of an error and of its causes, outermost first.
pub(super) fn chain(e: &(dyn StdError + 'static)) -> Vec<String> {
    causes(e).map(ToString::to_string).collect()
}

fn causes<'e>(e: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(e), |&e| e.source())
}

#[cfg(test)]
mod tests;
