//! The error codes of AWS, as questions. Nothing else in the crate knows what a code means.
//!
//! Every question takes a code as [`bare`] gives it. The KMS codes are those that SQS (`KMS.`) and Lambda (`KMS`) pass on.

/// A code without what the protocols add to it: a namespace and `#`, `AWS.SimpleQueueService.`, `;Sender`.
#[must_use]
pub fn bare(code: &str) -> &str {
    let code = code.split_once(';').map_or(code, |(code, _)| code);
    let code = code.rsplit_once('#').map_or(code, |(_, code)| code);
    code.strip_prefix("AWS.SimpleQueueService.").unwrap_or(code)
}

/// Whether a permission is missing.
#[must_use]
pub fn is_denied(code: &str) -> bool {
    matches!(
        code,
        "AccessDenied"
            | "AccessDeniedException"
            | "UnauthorizedOperation"
            | "UnauthorizedAccess"
            | "AuthorizationError"
            | "AuthorizationErrorException"
            | "NotAuthorized"
            | "KMS.AccessDeniedException"
    )
}

/// Whether KMS denied Lambda the key of a function's environment variables.
#[must_use]
pub fn is_service_denied(code: &str) -> bool {
    code == "KMSAccessDeniedException"
}

/// Whether the KMS key behind a resource exists but cannot be used, or does not exist.
#[must_use]
pub fn is_unusable_key(code: &str) -> bool {
    matches!(
        code,
        "KMS.DisabledException"
            | "KMS.InvalidKeyUsageException"
            | "KMS.InvalidStateException"
            | "KMS.NotFoundException"
            | "KMS.OptInRequired"
            | "KMSDisabledException"
            | "KMSInvalidStateException"
            | "KMSNotFoundException"
    )
}

/// What is wrong with the KMS key behind a resource, as a predicate; `None` if the code is not about a key.
#[must_use]
pub fn key_problem(code: &str) -> Option<&'static str> {
    match code {
        "KMS.AccessDeniedException" => Some("denies kms:GenerateDataKey or kms:Decrypt"),
        "KMS.DisabledException" => Some("is disabled"),
        "KMS.InvalidStateException" => Some("is pending deletion or cannot be used now"),
        "KMS.NotFoundException" => Some("does not exist"),
        _ => is_unusable_key(code).then_some("cannot be used"),
    }
}

/// Whether the credentials were valid once.
#[must_use]
pub fn is_expired(code: &str) -> bool {
    matches!(code, "ExpiredToken" | "ExpiredTokenException" | "RequestExpired")
}

/// Whether AWS does not accept the credentials or the signature.
#[must_use]
pub fn is_unauthenticated(code: &str) -> bool {
    matches!(
        code,
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
            | "MissingAuthenticationTokenException"
    )
}

/// Whether the account is not subscribed to the service.
#[must_use]
pub fn is_not_subscribed(code: &str) -> bool {
    code == "OptInRequired"
}

/// Whether there were too many calls.
#[must_use]
pub fn is_throttled(code: &str) -> bool {
    matches!(
        code,
        "Throttling"
            | "ThrottlingException"
            | "ThrottledException"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "RequestLimitExceeded"
            | "TooManyRequestsException"
            | "BandwidthLimitExceeded"
            | "EC2ThrottledException"
            | "SlowDown"
            | "PriorRequestNotComplete"
            | "KMS.ThrottlingException"
    )
}

/// Whether the service itself failed.
#[must_use]
pub fn is_server_error(code: &str) -> bool {
    matches!(
        code,
        "InternalError" | "InternalFailure" | "ServiceUnavailable" | "RequestTimeout"
    )
}

/// Whether the resource does not exist.
#[must_use]
pub fn is_absent(code: &str) -> bool {
    matches!(
        code,
        "NonExistentQueue"
            | "QueueDoesNotExist"
            | "NoSuchEntity"
            | "NoSuchEntityException"
            | "NotFoundException"
            | "ResourceNotFoundException"
    )
}

/// Whether a resource of the same name exists.
#[must_use]
pub fn is_existing(code: &str) -> bool {
    matches!(
        code,
        "QueueAlreadyExists"
            | "QueueNameExists"
            | "EntityAlreadyExists"
            | "EntityAlreadyExistsException"
            | "ResourceAlreadyExistsException"
    )
}

/// Whether the resource's state does not allow the call. Lambda also says so of a resource that exists.
#[must_use]
pub fn is_conflict(code: &str) -> bool {
    matches!(code, "ResourceConflictException" | "ConflictException")
}

/// Whether a quota is used up.
#[must_use]
pub fn is_limit(code: &str) -> bool {
    matches!(
        code,
        "LimitExceeded"
            | "LimitExceededException"
            | "OverLimit"
            | "CodeStorageExceededException"
            | "ServiceQuotaExceededException"
    )
}

/// Whether a request has too many bytes.
#[must_use]
pub fn is_too_long(code: &str) -> bool {
    code == "BatchRequestTooLong"
}

/// Whether Lambda does not accept a parameter.
#[must_use]
pub fn is_invalid_parameter(code: &str) -> bool {
    code == "InvalidParameterValueException"
}

/// Whether SQS rejects the value of an attribute; it has one code for all of them.
#[must_use]
pub fn is_invalid_attribute(code: &str) -> bool {
    matches!(code, "InvalidAttributeValue" | "InvalidParameterValue")
}

/// Whether IAM does not accept a policy.
#[must_use]
pub fn is_malformed_policy(code: &str) -> bool {
    matches!(code, "MalformedPolicyDocument" | "MalformedPolicyDocumentException")
}

/// Whether the service does not accept the request; EventBridge also says so of a rule that has targets.
#[must_use]
pub fn is_invalid(code: &str) -> bool {
    code == "ValidationException"
}

/// Whether something that belongs to the resource must be deleted first.
#[must_use]
pub fn is_delete_conflict(code: &str) -> bool {
    matches!(code, "DeleteConflict" | "DeleteConflictException")
}

/// Whether a queue of the name was deleted less than a minute ago.
#[must_use]
pub fn is_deleted_recently(code: &str) -> bool {
    code == "QueueDeletedRecently"
}

/// Whether an event source mapping is being changed.
#[must_use]
pub fn is_in_use(code: &str) -> bool {
    code == "ResourceInUseException"
}

/// Whether Lambda has not finished setting up a function, or its code.
#[must_use]
pub fn is_not_ready(code: &str) -> bool {
    matches!(code, "CodeArtifactUserPendingException" | "ResourceNotReadyException")
}

/// Whether someone else changes the resource at the same time.
#[must_use]
pub fn is_concurrent_change(code: &str) -> bool {
    matches!(
        code,
        "ConcurrentModification" | "ConcurrentModificationException" | "OperationAbortedException"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_writes_the_same_code() {
        for (code, expected) in [
            ("QueueDoesNotExist", "QueueDoesNotExist"),
            ("com.amazonaws.sqs#QueueDoesNotExist", "QueueDoesNotExist"),
            ("AWS.SimpleQueueService.NonExistentQueue;Sender", "NonExistentQueue"),
            ("KMS.DisabledException;Sender", "KMS.DisabledException"),
            ("", ""),
        ] {
            assert_eq!(bare(code), expected, "{code}");
        }
    }
}
