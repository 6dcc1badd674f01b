//! The meaning of AWS error codes. Nothing else in the crate knows what a code means.
//!
//! Every function expects a code as returned by [`bare`]. The KMS codes are those that SQS (`KMS.`) and Lambda (`KMS`) pass on.

use aws_smithy_runtime_api::http::Headers;
use serde_json::Value;

/// A code without the parts that the protocols add: a namespace and `#`, `AWS.SimpleQueueService.`, `;Sender`.
pub fn bare(code: &str) -> &str {
    let code = code.split_once(';').map_or(code, |(code, _)| code);
    let code = code.rsplit_once('#').map_or(code, |(_, code)| code);
    code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code)
}

/// The code in a response with this JSON document as its body: from a header, or from the document. Without a namespace
/// and `#`, `;Sender`, or `:` and a URL.
pub fn of_json(headers: &Headers, document: &Value) -> Option<String> {
    let mut names = ["x-amzn-query-error", "x-amzn-errortype"].iter();
    let in_header = names.find_map(|name| headers.get(*name));
    let in_document = || ["__type", "code"].iter().find_map(|name| document.get(name)?.as_str());
    let code = in_header.or_else(in_document)?;
    let code = code.split([';', ':']).next()?;
    Some(code.rsplit('#').next()?.to_owned())
}

macro_rules! questions {
    ($($(#[$doc:meta])* $question:ident: $($code:literal)|+;)*) => {$(
        $(#[$doc])*
        pub fn $question(code: &str) -> bool {
            matches!(code, $($code)|+)
        }
    )*};
}

questions! {
    is_denied:
        "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" | "UnauthorizedAccess"
        | "AuthorizationError" | "AuthorizationErrorException" | "NotAuthorized" | "KMS.AccessDeniedException";
    /// Whether KMS denied Lambda the key of a function's environment variables.
    is_service_denied: "KMSAccessDeniedException";
    /// Whether the KMS key behind a resource exists but cannot be used, or does not exist.
    is_unusable_key:
        "KMS.DisabledException" | "KMS.InvalidKeyUsageException" | "KMS.InvalidStateException"
        | "KMS.NotFoundException" | "KMS.OptInRequired" | "KMSDisabledException" | "KMSInvalidStateException"
        | "KMSNotFoundException";
    /// Whether the credentials used to be valid.
    is_expired: "ExpiredToken" | "ExpiredTokenException" | "RequestExpired";
    /// Whether AWS does not accept the credentials or the signature.
    is_unauthenticated:
        "InvalidClientTokenId" | "UnrecognizedClientException" | "SignatureDoesNotMatch"
        | "InvalidSignatureException" | "InvalidSignature" | "InvalidAccessKeyId" | "AuthFailure"
        | "IncompleteSignature" | "IncompleteSignatureException" | "InvalidSecurity"
        | "MissingAuthenticationToken" | "MissingAuthenticationTokenException" | "RequestTimeTooSkewed";
    is_not_subscribed: "OptInRequired";
    is_throttled:
        "Throttling" | "ThrottlingException" | "Throttled" | "ThrottledException" | "RequestThrottled"
        | "RequestThrottledException" | "RequestLimitExceeded" | "TooManyRequestsException"
        | "BandwidthLimitExceeded" | "EC2ThrottledException" | "SlowDown" | "PriorRequestNotComplete"
        | "KMS.ThrottlingException";
    is_server_error: "InternalError" | "InternalFailure" | "ServiceUnavailable" | "RequestTimeout";
    is_absent:
        "DashboardNotFoundError" | "NonExistentQueue" | "QueueDoesNotExist" | "NoSuchEntity" | "NoSuchEntityException"
        | "NotFound" | "NotFoundException" | "ResourceNotFound" | "ResourceNotFoundException" | "ParameterNotFound"
        | "InvalidResourceId";
    /// Whether IAM rejects the parameters of a call.
    is_existing:
        "QueueAlreadyExists" | "QueueNameExists" | "EntityAlreadyExists" | "EntityAlreadyExistsException"
        | "ResourceAlreadyExistsException" | "ParameterAlreadyExists";
    /// Whether the resource's state does not allow the call. Lambda also returns it for a resource that exists.
    is_conflict: "ResourceConflictException" | "ConflictException";
    /// Whether the resource has a different revision than the call names.
    is_other_revision: "PreconditionFailedException";
    is_limit:
        "LimitExceeded" | "LimitExceededException" | "LimitExceededFault" | "OverLimit" | "CodeStorageExceededException"
        | "ParameterLimitExceeded" | "ParameterMaxVersionLimitExceeded" | "ServiceQuotaExceededException";
    is_too_long: "BatchRequestTooLong";
    /// Whether Lambda does not accept a parameter.
    is_invalid_parameter: "InvalidParameterValueException";
    /// Whether SQS rejects the value of an attribute; it has one code for all of them.
    is_invalid_attribute: "InvalidAttributeValue" | "InvalidParameterValue";
    is_malformed_policy: "MalformedPolicyDocument" | "MalformedPolicyDocumentException";
    /// Whether the service does not accept the request; EventBridge also returns it for a rule that has targets.
    is_invalid: "ValidationException";
    /// Whether something that belongs to the resource must be deleted first.
    is_delete_conflict: "DeleteConflict" | "DeleteConflictException";
    /// Whether a queue with this name was deleted less than a minute ago.
    is_deleted_recently: "QueueDeletedRecently";
    /// Whether an event source mapping is being changed.
    is_in_use: "ResourceInUseException";
    /// Whether Lambda has not finished setting up a function, or its code.
    is_not_ready: "CodeArtifactUserPendingException" | "ResourceNotReadyException";
    is_concurrent_change:
        "ConcurrentModification" | "ConcurrentModificationException" | "OperationAbortedException" | "TooManyUpdates";
}

/// What is wrong with the KMS key behind a resource, as a predicate; `None` if the code is not about a key.
pub fn key_problem(code: &str) -> Option<&'static str> {
    match code {
        "KMS.AccessDeniedException" => Some("denies kms:GenerateDataKey or kms:Decrypt"),
        "KMS.DisabledException" => Some("is disabled"),
        "KMS.InvalidStateException" => Some("is pending deletion or cannot be used now"),
        "KMS.NotFoundException" => Some("does not exist"),
        _ => is_unusable_key(code).then_some("cannot be used"),
    }
}
