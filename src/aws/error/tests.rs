//! What each error of AWS means.

use aws_sdk_iam::operation::get_role::GetRoleError;
use aws_sdk_sts::operation::get_caller_identity::GetCallerIdentityError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::error::metadata::ErrorMetadata;

use super::*;
use crate::aws::wait::{INVOKE, WaitReason, settling};

fn denied(principal: Option<&str>, resource: Option<&str>) -> FaultKind {
    FaultKind::Denied { principal: principal.map(Into::into), resource: resource.map(Into::into) }
}

#[test]
fn codes_are_answers_to_questions() {
    let exists = "Function already exist: kibus-router";
    let busy = "The operation cannot be performed at this time. An update is in progress for resource: x";
    for (action, code, message, kind) in [
        ("sqs:GetQueueAttributes", "AWS.SimpleQueueService.NonExistentQueue", "", FaultKind::Gone),
        ("sqs:GetQueueAttributes", "QueueDoesNotExist", "", FaultKind::Gone),
        ("sqs:GetQueueAttributes", "com.amazonaws.sqs#QueueDoesNotExist", "", FaultKind::Gone),
        ("sqs:TagQueue", "AWS.SimpleQueueService.NonExistentQueue;Sender", "", FaultKind::Gone),
        ("sqs:CreateQueue", "QueueAlreadyExists", "", FaultKind::Exists),
        ("sqs:CreateQueue", "QueueNameExists", "", FaultKind::Exists),
        ("iam:GetRole", "NoSuchEntity", "", FaultKind::Gone),
        ("iam:CreateRole", "EntityAlreadyExists", "", FaultKind::Exists),
        ("iam:CreateRole", "LimitExceeded", "", FaultKind::Rejected),
        ("iam:DeleteRole", "DeleteConflict", "", FaultKind::Rejected),
        ("logs:CreateLogGroup", "ResourceAlreadyExistsException", "", FaultKind::Exists),
        ("lambda:CreateFunction", "ResourceConflictException", exists, FaultKind::Exists),
        ("lambda:CreateFunction", "CodeStorageExceededException", "", FaultKind::Rejected),
        ("lambda:UpdateFunctionCode", "ResourceConflictException", busy, FaultKind::Rejected),
        ("events:PutRule", "InvalidEventPatternException", "", FaultKind::Rejected),
        ("iam:GetRole", "Throttling", "", FaultKind::Throttled),
        ("sqs:ListQueueTags", "RequestThrottled", "", FaultKind::Throttled),
        ("sts:GetCallerIdentity", "ExpiredToken", "", FaultKind::ExpiredCredentials),
        ("sts:GetCallerIdentity", "InvalidClientTokenId", "", FaultKind::BadCredentials),
        ("sts:GetCallerIdentity", "SignatureDoesNotMatch", "", FaultKind::BadCredentials),
    ] {
        assert_eq!(refusal(action, Some(code), message).kind, kind, "{action} {code}");
    }
}

#[test]
fn a_limit_of_concurrency_is_a_limit() {
    let message = "Specified ReservedConcurrentExecutions for function decreases account's \
                   UnreservedConcurrentExecution below its minimum value of [100].";
    let fault = refusal("lambda:PutFunctionConcurrency", Some("InvalidParameterValueException"), message);
    assert!(fault.advice.is_some_and(|advice| advice.contains("reserve less")), "{fault:?}");
}

#[test]
fn a_limit_has_advice_of_its_call() {
    for (action, text) in [
        ("events:PutTargets", "a rule has at most 5"),
        ("cloudwatch:PutMetricAlarm", "request more in Service Quotas"),
        ("ssm:PutParameter", "request more in Service Quotas"),
        ("iam:PutRolePolicy", "delete those that the role does not need, or replace them with managed policies"),
        ("x:Y", "remove what is not needed"),
    ] {
        let code = match action {
            "cloudwatch:PutMetricAlarm" => "com.amazonaws.cloudwatch.v2010_08_01#LimitExceededFault",
            "ssm:PutParameter" => "ParameterLimitExceeded",
            _ => "LimitExceeded",
        };
        let advice = refusal(action, Some(code), "").advice;
        assert!(advice.is_some_and(|advice| advice.contains(text)), "{action}: {advice:?}");
    }
}

#[test]
fn a_denial_names_what_it_is_about() {
    for (about, resource) in [
        ("role x because no policy allows it", "role x"),
        ("role x", "role x"),
        ("x because no policy allows it", "x"),
        ("arn:aws:iam::1:role/x because", "arn:aws:iam::1:role/x"),
        ("\"*\"", "*"),
    ] {
        let message = format!("User: u is not authorized to perform: iam:GetRole on resource: {about}");
        assert_eq!(
            refusal("iam:GetRole", Some("AccessDenied"), &message).kind,
            denied(Some("u"), Some(resource)),
            "{about}"
        );
    }
}

#[test]
fn a_denial_says_who_and_what() {
    let user = "arn:aws:iam::111122223333:user/operator";
    let session = "arn:aws:sts::111122223333:assumed-role/Admin/me";
    for (action, code, message, kind, needed) in [
        (
            "iam:CreateRole",
            "AccessDenied",
            format!(
                "User: {user} is not authorized to perform: iam:CreateRole on resource: \
                 arn:aws:iam::111122223333:role/x because no identity-based policy allows the iam:CreateRole action"
            ),
            denied(Some(user), Some("arn:aws:iam::111122223333:role/x")),
            "iam:CreateRole",
        ),
        (
            "sqs:CreateQueue",
            "AccessDeniedException",
            format!(
                "User: {session} is not authorized to perform: sqs:createqueue on resource: \
                 arn:aws:sqs:us-west-2:111122223333:x."
            ),
            denied(Some(session), Some("arn:aws:sqs:us-west-2:111122223333:x")),
            "sqs:CreateQueue",
        ),
        (
            "sqs:CreateQueue",
            "AccessDenied",
            "Access to the resource https://sqs.us-west-2.amazonaws.com/ is denied.".to_owned(),
            denied(None, Some("https://sqs.us-west-2.amazonaws.com/")),
            "sqs:CreateQueue",
        ),
        (
            "tag:GetResources",
            "AccessDeniedException",
            format!("User: {user} is not authorized to perform: tag:GetResources because no policy allows it"),
            denied(Some(user), None),
            "tag:GetResources",
        ),
        (
            "lambda:CreateFunction",
            "AccessDeniedException",
            format!(
                "User: {user} is not authorized to perform: iam:PassRole on resource: \
                 arn:aws:iam::111122223333:role/x because no identity-based policy allows the iam:PassRole action"
            ),
            denied(Some(user), Some("arn:aws:iam::111122223333:role/x")),
            "iam:PassRole",
        ),
        (
            "ec2:DescribeTags",
            "UnauthorizedOperation",
            "You are not authorized to perform this operation.".to_owned(),
            denied(None, None),
            "ec2:DescribeTags",
        ),
        (
            "ec2:CreateTags",
            "UnauthorizedOperation",
            format!(
                "You are not authorized to perform this operation. User: {user} is not authorized to perform: \
                 ec2:CreateTags on resource: arn:aws:ec2:us-west-2:111122223333:instance/i-1 with an explicit deny. \
                 Encoded authorization failure message: AbC"
            ),
            denied(Some(user), Some("arn:aws:ec2:us-west-2:111122223333:instance/i-1")),
            "ec2:CreateTags",
        ),
    ] {
        let fault = refusal(action, Some(code), &message);
        assert_eq!((fault.kind, fault.action.as_str()), (kind, needed), "{message}");
    }
}

#[test]
fn refusals_that_pass_are_distinguished_from_errors() {
    let invalid = "InvalidParameterValueException";
    for (code, message, reason) in [
        (invalid, "The role defined for the function cannot be assumed by Lambda.", Some(WaitReason::RoleNotAssumable)),
        (
            invalid,
            "The function execution role does not have permissions to call ReceiveMessage on SQS",
            Some(WaitReason::RolePermissions),
        ),
        (invalid, "Queue visibility timeout: 30 seconds is less than Function timeout: 60 seconds", None),
        ("AWS.SimpleQueueService.QueueDeletedRecently", "", Some(WaitReason::QueueDeletedRecently)),
        ("QueueDeletedRecently", "", Some(WaitReason::QueueDeletedRecently)),
        ("MalformedPolicyDocument", "Invalid principal in policy: \"AWS\":\"...\"", Some(WaitReason::PrincipalUnknown)),
        ("MalformedPolicyDocument", "Syntax errors in policy.", None),
        ("ResourceConflictException", "An update is in progress for resource: x", Some(WaitReason::FunctionBusy)),
        (
            "ResourceConflictException",
            "The function is currently in the following state: Pending",
            Some(WaitReason::FunctionBusy),
        ),
        ("ResourceConflictException", "Function already exist: x", None),
        (
            "ResourceConflictException",
            "The function could not be updated due to a concurrent update operation.",
            Some(WaitReason::FunctionBusy),
        ),
        ("CodeArtifactUserPendingException", "", Some(WaitReason::FunctionBusy)),
        ("ResourceNotReadyException", "", Some(WaitReason::FunctionBusy)),
        (
            "ResourceInUseException",
            "Cannot delete the event source mapping because it is in use.",
            Some(WaitReason::MappingInUse),
        ),
        ("ValidationException", "Rule can't be deleted since it has targets.", Some(WaitReason::TargetsLeaving)),
        ("ValidationException", "1 validation error detected", None),
        (
            invalid,
            "Lambda was unable to configure access to your environment variables because the KMS key is invalid for \
             CreateGrant. Please check your KMS key settings. KMS Exception: InvalidArnException KMS Message: ARN does \
             not refer to a valid principal",
            Some(WaitReason::RoleWithoutGrant),
        ),
        (
            invalid,
            "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue.",
            Some(WaitReason::SourceUnknown),
        ),
        (
            "AccessDeniedException",
            "The role defined for the function cannot be assumed by Lambda.",
            Some(WaitReason::RoleNotAssumable),
        ),
        ("InvalidParameterValue", NO_DEAD_LETTER_QUEUE, Some(WaitReason::DeadLetterQueueUnknown)),
        ("AWS.SimpleQueueService.NonExistentQueue", NO_DEAD_LETTER_QUEUE, Some(WaitReason::DeadLetterQueueUnknown)),
        ("InvalidParameterValue", "Invalid value for the parameter RedrivePolicy.", None),
        ("ConcurrentModification", "", Some(WaitReason::ConcurrentChange)),
        ("NoSuchEntity", "Scope ARN: arn:aws:iam::1:policy/x does not exist or is not attachable.", None),
        ("DeleteConflict", "Cannot delete entity, must delete policies first.", Some(WaitReason::PoliciesLeaving)),
        ("DeleteConflict", "Cannot delete entity, must detach all policies first.", None),
        ("ConcurrentModificationException", "", Some(WaitReason::ConcurrentChange)),
        ("AccessDenied", "", None),
    ] {
        assert_eq!(settling(&refusal("x:Y", Some(code), message)), reason, "{code} {message}");
    }
}

/// Serverless, issue 5215.
const NO_DEAD_LETTER_QUEUE: &str = "Value {\"deadLetterTargetArn\":\"arn:aws:sqs:us-west-2:111122223333:kibus-hub-dlq\",\
    \"maxReceiveCount\":20} for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.";

/// S7, S23: SQS has one code for all of these.
#[test]
fn s23_only_a_policy_can_be_a_malformed_policy() {
    for (message, is_policy) in [
        ("Invalid value for the parameter Policy.", true),
        (NO_DEAD_LETTER_QUEUE, false),
        ("Invalid value for the parameter RedriveAllowPolicy.", false),
        ("Invalid value for the parameter MessageRetentionPeriod.", false),
    ] {
        for code in ["InvalidParameterValue", "InvalidAttributeValue"] {
            let fault = refusal("sqs:CreateQueue", Some(code), message);
            let advised = fault.advice.is_some_and(|advice| advice.contains("show the policy"));
            assert_eq!((fault.kind, advised), (FaultKind::Rejected, is_policy), "{code} {message}");
        }
    }
}

const NOT_ASSUMABLE: &str = "The role defined for the function cannot be assumed by Lambda.";
const KEY_DENIED: &str = "Lambda was unable to decrypt the environment variables because KMS access was denied. Please \
    check the function's KMS key settings. KMS Exception: AccessDeniedException KMS Message: User: \
    arn:aws:sts::111122223333:assumed-role/kibus-router-us-west-2/kibus-router is not authorized to perform: kms:Decrypt \
    on resource: arn:aws:kms:us-west-2:111122223333:key/1";

/// L18: an invocation has minutes, not the quarter of an hour that a deployment has.
#[test]
fn a_version_that_cannot_run_yet_has_a_reason_of_its_own() {
    for (code, message, reason) in [
        ("AccessDeniedException", NOT_ASSUMABLE, WaitReason::VersionWithoutRole),
        ("KMSAccessDeniedException", KEY_DENIED, WaitReason::VersionWithoutKey),
    ] {
        assert_eq!(settling(&refusal(INVOKE, Some(code), message)), Some(reason), "{code}");
    }
}

/// L18, shortfall 7: whoever runs kibus needs no permission for what Lambda does.
#[test]
fn a_denial_of_lambda_is_not_a_denial_of_the_caller() {
    for (action, code, message) in [
        (INVOKE, "AccessDeniedException", NOT_ASSUMABLE),
        ("lambda:CreateFunction", "InvalidParameterValueException", NOT_ASSUMABLE),
        (INVOKE, "KMSAccessDeniedException", KEY_DENIED),
        (
            "lambda:CreateEventSourceMapping",
            "InvalidParameterValueException",
            "The provided execution role does not have permissions to call ReceiveMessage on SQS",
        ),
    ] {
        let fault = refusal(action, Some(code), message);
        assert_eq!((fault.kind, fault.action.as_str()), (FaultKind::ServiceDenied, action), "{message}");
    }
}

/// Shortfall 7.
#[test]
fn a_denial_is_the_callers_unless_it_names_another_role_session() {
    let session = |role: &str| format!("arn:aws:sts::111122223333:assumed-role/{role}/x");
    let user = "arn:aws:iam::111122223333:user/operator".to_owned();
    for (principal, caller, of_the_caller_itself) in [
        (session("ops"), session("ops"), true),
        (session("kibus-router-us-west-2"), session("ops"), false),
        (session("kibus-router-us-west-2"), user.clone(), false),
        (user.clone(), user.clone(), true),
        // Some answers name the caller in another way.
        (user, session("ops"), true),
    ] {
        let message = format!("User: {principal} is not authorized to perform: kms:Decrypt on resource: x");
        let fault = of_the_caller(refusal("x:Y", Some("AccessDenied"), &message), &caller);
        assert_eq!(fault.is_denied(), of_the_caller_itself, "{principal} {caller}");
    }
}

/// I8.
#[test]
fn an_absent_boundary_is_not_an_absent_role() {
    let message = "Scope ARN: arn:aws:iam::111122223333:policy/x does not exist or is not attachable.";
    for action in ["iam:CreateRole", "iam:PutRolePermissionsBoundary"] {
        let fault = refusal(action, Some("NoSuchEntity"), message);
        assert_eq!(fault.kind, FaultKind::Rejected, "{action}");
        assert!(fault.advice.is_some_and(|advice| advice.contains("--permissions-boundary")), "{fault:?}");
    }
    let fault = refusal("iam:PutRolePolicy", Some("NoSuchEntity"), "The role with name x cannot be found.");
    assert_eq!(fault.kind, FaultKind::Gone);
}

/// S18: a key that cannot be used is named.
#[test]
fn the_codes_of_kms_are_about_the_key() {
    for (code, kind) in [
        ("KMS.DisabledException", FaultKind::Rejected),
        ("KMS.NotFoundException", FaultKind::Rejected),
        ("KMS.InvalidStateException", FaultKind::Rejected),
        ("KMSDisabledException", FaultKind::Rejected),
        ("KMS.ThrottlingException", FaultKind::Throttled),
    ] {
        let fault = refusal("sqs:ReceiveMessage", Some(code), "arn:aws:kms:us-west-2:1:key/1 is disabled.");
        assert_eq!(fault.kind, kind.clone(), "{code}");
        let advised = fault.advice.is_some_and(|advice| advice.contains("enable the key"));
        assert_eq!(advised, kind == FaultKind::Rejected, "{code}");
        assert!(fault.message.contains("key/1"), "{code}");
    }
}

#[test]
fn a_caller_may_be_a_role_session() {
    for (caller, role) in [
        ("arn:aws:sts::111122223333:assumed-role/ops/me@example.com", Some("ops")),
        ("arn:aws:iam::111122223333:user/ops", None),
        ("arn:aws:iam::111122223333:root", None),
        ("arn:aws:sts::111122223333:federated-user/ops", None),
    ] {
        assert_eq!(session_role(caller), role, "{caller}");
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Text(&'static str, #[source] Option<Box<Text>>);

#[test]
fn a_call_without_an_answer_fails_with_its_cause() {
    for (text, kind, message) in [
        (
            "the credential provider was not enabled",
            FaultKind::NoCredentials,
            "dispatch failure: the credential provider was not enabled",
        ),
        (
            "the SSO token has expired and cannot be refreshed",
            FaultKind::ExpiredCredentials,
            "dispatch failure: the SSO token has expired and cannot be refreshed",
        ),
        (
            "the credentials provider was not properly configured",
            FaultKind::BadCredentials,
            "dispatch failure: the credentials provider was not properly configured",
        ),
        ("Connection refused (os error 111)", FaultKind::Unreachable, "Connection refused (os error 111)"),
    ] {
        let cause = Text("dispatch failure", Some(Box::new(Text(text, None))));
        let error: SdkError<GetCallerIdentityError, HttpResponse> = SdkError::timeout_error(cause);
        let fault = failed("sts:GetCallerIdentity", &error);
        assert_eq!((fault.kind, fault.message.as_str()), (kind, message));
    }
}

/// S27, I10: a throttle may have any code.
#[test]
fn a_throttle_is_known_by_its_status_or_its_code() {
    for (status, code, kind) in [
        (429, Some("Odd"), FaultKind::Throttled),
        (429, Some("ServiceUnavailable"), FaultKind::Throttled),
        (429, None, FaultKind::Throttled),
        (429, Some("AccessDenied"), denied(None, None)),
        (503, Some("SlowDown"), FaultKind::Throttled),
        (503, Some("ServiceUnavailable"), FaultKind::Rejected),
        (503, None, FaultKind::Rejected),
    ] {
        let mut metadata = ErrorMetadata::builder();
        if let Some(code) = code {
            metadata = metadata.code(code);
        }
        let raw = HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::empty());
        let error = SdkError::service_error(GetRoleError::generic(metadata.build()), raw);
        let fault = failed("iam:GetRole", &error);
        assert_eq!(fault.advice.is_some(), (status, code) == (503, None), "{status}");
        assert_eq!(fault.kind, kind, "{status} {code:?}");
    }
}
