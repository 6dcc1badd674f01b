//! What each AWS error means.

use aws_sdk_iam::operation::get_role::GetRoleError;
use aws_sdk_sts::operation::get_caller_identity::GetCallerIdentityError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::{body::SdkBody, error::metadata::ErrorMetadata};

use super::*;
use crate::aws::wait::settling;
use crate::model::table::{cell, rows};

/// The kind, and the beginning of the advice. Lambda has one code for a denial of the caller and of a role, IAM one for an absent
/// role and an absent boundary, and SQS one for the values of all attributes.
#[test]
fn codes_are_answers_to_questions() {
    let table = r#"
        sqs:GetQueueAttributes | AWS.SimpleQueueService.NonExistentQueue QueueDoesNotExist com.amazonaws.sqs#QueueDoesNotExist | | Gone | -
        sqs:TagQueue | AWS.SimpleQueueService.NonExistentQueue;Sender | | Gone | -
        iam:GetRole | NoSuchEntity | | Gone | -
        sqs:CreateQueue | QueueAlreadyExists QueueNameExists | | Exists | -
        iam:CreateRole | EntityAlreadyExists | | Exists | -
        logs:CreateLogGroup | ResourceAlreadyExistsException | | Exists | -
        lambda:CreateFunction | ResourceConflictException | Function already exist: kibus-router | Exists | -
        lambda:UpdateFunctionCode | ResourceConflictException | The operation cannot be performed at this time. An update is in progress for resource: x | Rejected | -
        iam:DeleteRole | DeleteConflict | | Rejected | -
        events:PutRule | InvalidEventPatternException | | Rejected | -
        iam:GetRole | Throttling | | Throttled | -
        sqs:ListQueueTags | RequestThrottled | | Throttled | -
        sts:GetCallerIdentity | ExpiredToken | | ExpiredCredentials | -
        sts:GetCallerIdentity | InvalidClientTokenId SignatureDoesNotMatch | | BadCredentials | -

        lambda:CreateFunction | CodeStorageExceededException | | Rejected | remove unneeded resources
        iam:CreateRole | LimitExceeded | | Rejected | remove unneeded resources
        events:PutTargets | LimitExceeded | | Rejected | remove unneeded targets; a rule has at most 5
        cloudwatch:PutMetricAlarm | com.amazonaws.cloudwatch.v2010_08_01#LimitExceededFault | | Rejected | remove unneeded resources, or request more in Service Quotas
        ssm:PutParameter | ParameterLimitExceeded | | Rejected | remove unneeded resources, or request more in Service Quotas
        iam:PutRolePolicy | LimitExceeded | | Rejected | all inline policies of a role share 10240 characters, and this quota cannot be raised: delete policies that the role does not need, or replace them with managed policies
        lambda:PutFunctionConcurrency | InvalidParameterValueException | Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of [100]. | Rejected | reserve less

        iam:CreateRole | NoSuchEntity | Scope ARN: arn:aws:iam::1:policy/x does not exist or is not attachable. | Rejected | create that policy, or set another one with --permissions-boundary
        iam:PutRolePermissionsBoundary | NoSuchEntity | Scope ARN: arn:aws:iam::1:policy/x does not exist or is not attachable. | Rejected | create that policy, or set another one with --permissions-boundary
        iam:PutRolePolicy | NoSuchEntity | The role with name x cannot be found. | Gone | -

        sqs:ReceiveMessage | KMS.DisabledException KMS.DisabledException;Sender KMS.NotFoundException KMS.InvalidStateException KMSDisabledException | arn:aws:kms:us-west-2:1:key/1 is disabled. | Rejected | enable the key
        sqs:ReceiveMessage | KMS.ThrottlingException | arn:aws:kms:us-west-2:1:key/1 is disabled. | Throttled | -

        sqs:CreateQueue | InvalidParameterValue InvalidAttributeValue | Invalid value for the parameter Policy. | Rejected | show the policy
        sqs:CreateQueue | InvalidParameterValue InvalidAttributeValue | Value x for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist. | Rejected | -
        sqs:CreateQueue | InvalidParameterValue InvalidAttributeValue | Invalid value for the parameter RedriveAllowPolicy. | Rejected | -
        sqs:CreateQueue | InvalidParameterValue InvalidAttributeValue | Invalid value for the parameter MessageRetentionPeriod. | Rejected | -

        lambda:InvokeFunction | AccessDeniedException | The role defined for the function cannot be assumed by Lambda. | ServiceDenied | -
        lambda:CreateFunction | InvalidParameterValueException | The role defined for the function cannot be assumed by Lambda. | ServiceDenied | -
        lambda:InvokeFunction | KMSAccessDeniedException | KMS access was denied. User: arn:aws:sts::1:assumed-role/kibus-router/x is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:us-west-2:1:key/1 | ServiceDenied | -
        lambda:CreateEventSourceMapping | InvalidParameterValueException | The provided execution role does not have permissions to call ReceiveMessage on SQS | ServiceDenied | -"#;
    for [action, codes, message, kind, advice] in rows(table) {
        for code in codes.split(' ') {
            let fault = refusal(action, Some(code), message);
            let found = (format!("{:?}", fault.kind), fault.action.as_str(), fault.message.as_str());
            assert_eq!(found, (kind.to_owned(), action, message), "{action} {code}");
            let found = fault.advice.unwrap_or("-");
            assert!(found.starts_with(advice), "{action} {code} {message}: {found}");
        }
    }
}

#[test]
fn a_denial_says_who_and_what() {
    let table = r#"
        iam:GetRole           | AccessDenied          | User: u is not authorized to perform: iam:GetRole on resource: role x because no policy allows it | u | role x | iam:GetRole
        iam:GetRole           | AccessDenied          | User: u is not authorized to perform: iam:GetRole on resource: role x | u | role x | iam:GetRole
        iam:GetRole           | AccessDenied          | User: u is not authorized to perform: iam:GetRole on resource: x because no policy allows it | u | x | iam:GetRole
        iam:GetRole           | AccessDenied          | User: u is not authorized to perform: iam:GetRole on resource: arn:aws:iam::1:role/x because | u | arn:aws:iam::1:role/x | iam:GetRole
        iam:GetRole           | AccessDenied          | User: u is not authorized to perform: iam:GetRole on resource: "*" | u | * | iam:GetRole
        iam:CreateRole        | AccessDenied          | User: arn:aws:iam::1:user/o is not authorized to perform: iam:CreateRole on resource: arn:aws:iam::1:role/x because no identity-based policy allows the iam:CreateRole action | arn:aws:iam::1:user/o | arn:aws:iam::1:role/x | iam:CreateRole
        sqs:CreateQueue       | AccessDeniedException | User: arn:aws:sts::1:assumed-role/A/me is not authorized to perform: sqs:createqueue on resource: arn:aws:sqs:us-west-2:1:x. | arn:aws:sts::1:assumed-role/A/me | arn:aws:sqs:us-west-2:1:x | sqs:CreateQueue
        sqs:CreateQueue       | AccessDenied          | Access to the resource https://sqs.us-west-2.amazonaws.com/ is denied. | - | https://sqs.us-west-2.amazonaws.com/ | sqs:CreateQueue
        tag:GetResources      | AccessDeniedException | User: u is not authorized to perform: tag:GetResources because no policy allows it | u | - | tag:GetResources
        lambda:CreateFunction | AccessDeniedException | User: u is not authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/x because no identity-based policy allows the iam:PassRole action | u | arn:aws:iam::1:role/x | iam:PassRole
        ec2:DescribeTags      | UnauthorizedOperation | You are not authorized to perform this operation. | - | - | ec2:DescribeTags
        ec2:CreateTags        | UnauthorizedOperation | You are not authorized to perform this operation. User: u is not authorized to perform: ec2:CreateTags on resource: arn:aws:ec2:us-west-2:1:instance/i-1 with an explicit deny. Encoded authorization failure message: AbC | u | arn:aws:ec2:us-west-2:1:instance/i-1 | ec2:CreateTags"#;
    for [action, code, message, principal, resource, needed] in rows(table) {
        let fault = refusal(action, Some(code), message);
        let [principal, resource] = [principal, resource].map(|text| cell(text).map(Into::into));
        let expected = (FaultKind::Denied { principal, resource }, needed);
        assert_eq!((fault.kind, fault.action.as_str()), expected, "{message}");
    }
}

/// By call, code and message. An invocation waits minutes, not a quarter of an hour like a deployment (L18). The
/// message about a dead letter target is from Serverless, issue 5215.
#[test]
fn refusals_that_pass_are_distinguished_from_errors() {
    let table = r#"
        x:Y | InvalidParameterValueException AccessDeniedException | The role defined for the function cannot be assumed by Lambda. | RoleNotAssumable
        x:Y | InvalidParameterValueException | The function execution role does not have permissions to call ReceiveMessage on SQS | RolePermissions
        x:Y | InvalidParameterValueException | Queue visibility timeout: 30 seconds is less than Function timeout: 60 seconds | -
        x:Y | InvalidParameterValueException | Lambda was unable to configure access to your environment variables because the KMS key is invalid for CreateGrant. Please check your KMS key settings. KMS Exception: InvalidArnException KMS Message: ARN does not refer to a valid principal | RoleWithoutGrant
        x:Y | InvalidParameterValueException | Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. | SourceUnknown
        x:Y | AWS.SimpleQueueService.QueueDeletedRecently QueueDeletedRecently | | QueueDeletedRecently
        x:Y | MalformedPolicyDocument | Invalid principal in policy: "AWS":"..." | PrincipalUnknown
        x:Y | MalformedPolicyDocument | Syntax errors in policy. | -
        x:Y | ResourceConflictException | An update is in progress for resource: x | FunctionBusy
        x:Y | ResourceConflictException | The function is currently in the following state: Pending | FunctionBusy
        x:Y | ResourceConflictException | The function could not be updated due to a concurrent update operation. | FunctionBusy
        x:Y | ResourceConflictException | Function already exist: x | -
        x:Y | CodeArtifactUserPendingException ResourceNotReadyException | | FunctionBusy
        x:Y | ResourceInUseException | Cannot delete the event source mapping because it is in use. | MappingInUse
        x:Y | ValidationException | Rule can't be deleted since it has targets. | TargetsLeaving
        x:Y | ValidationException | 1 validation error detected | -
        x:Y | InvalidParameterValue AWS.SimpleQueueService.NonExistentQueue | Value x for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist. | DeadLetterQueueUnknown
        x:Y | InvalidParameterValue | Invalid value for the parameter RedrivePolicy. | -
        x:Y | ConcurrentModification ConcurrentModificationException | | ConcurrentChange
        x:Y | NoSuchEntity | Scope ARN: arn:aws:iam::1:policy/x does not exist or is not attachable. | -
        x:Y | DeleteConflict | Cannot delete entity, must delete policies first. | PoliciesLeaving
        x:Y | DeleteConflict | Cannot delete entity, must detach all policies first. | -
        x:Y | AccessDenied | | -
        lambda:InvokeFunction | AccessDeniedException | The role defined for the function cannot be assumed by Lambda. | VersionWithoutRole
        lambda:InvokeFunction | KMSAccessDeniedException | Lambda was unable to decrypt the environment variables because KMS access was denied. | VersionWithoutKey"#;
    for [action, codes, message, reason] in rows(table) {
        for code in codes.split(' ') {
            let found = settling(&refusal(action, Some(code), message)).map(|reason| format!("{reason:?}"));
            assert_eq!(found.as_deref(), cell(reason), "{action} {code} {message}");
        }
    }
}

/// Shortfall 7.
#[test]
fn a_denial_is_the_callers_unless_it_names_another_role_session() {
    let table = "
        arn:aws:sts::1:assumed-role/ops/x          | arn:aws:sts::1:assumed-role/ops/x | true
        arn:aws:sts::1:assumed-role/kibus-router/x | arn:aws:sts::1:assumed-role/ops/x | false
        arn:aws:sts::1:assumed-role/kibus-router/x | arn:aws:iam::1:user/operator      | false
        arn:aws:iam::1:user/operator               | arn:aws:iam::1:user/operator      | true
        arn:aws:iam::1:user/operator               | arn:aws:sts::1:assumed-role/ops/x | true";
    for [principal, caller, of_the_caller_itself] in rows(table) {
        let message = format!("User: {principal} is not authorized to perform: kms:Decrypt on resource: x");
        let fault = of_the_caller(refusal("x:Y", Some("AccessDenied"), &message), caller);
        assert_eq!(fault.is_denied().to_string(), of_the_caller_itself, "{principal} {caller}");
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
    for (text, kind, stage) in [
        ("the credential provider was not enabled", FaultKind::NoCredentials, "dispatch failure: "),
        ("the SSO token has expired and cannot be refreshed", FaultKind::ExpiredCredentials, "dispatch failure: "),
        ("the credentials provider was not properly configured", FaultKind::BadCredentials, "dispatch failure: "),
        ("Connection refused (os error 111)", FaultKind::Unreachable, ""),
    ] {
        let cause = Text("dispatch failure", Some(Box::new(Text(text, None))));
        let error: SdkError<GetCallerIdentityError, HttpResponse> = SdkError::timeout_error(cause);
        let fault = failed("sts:GetCallerIdentity", &error);
        assert_eq!((fault.kind, fault.message), (kind, format!("{stage}{text}")));
    }
}

/// S27, I10: a throttled call can have any code.
#[test]
fn a_throttle_is_known_by_its_status_or_its_code() {
    for (status, code, kind) in [
        (429, Some("Odd"), FaultKind::Throttled),
        (429, Some("ServiceUnavailable"), FaultKind::Throttled),
        (429, None, FaultKind::Throttled),
        (429, Some("AccessDenied"), FaultKind::Denied { principal: None, resource: None }),
        (503, Some("SlowDown"), FaultKind::Throttled),
        (503, Some("ServiceUnavailable"), FaultKind::Rejected),
        (503, None, FaultKind::Rejected),
    ] {
        let metadata = ErrorMetadata::builder();
        let metadata = if let Some(code) = code { metadata.code(code) } else { metadata };
        let raw = HttpResponse::new(StatusCode::try_from(status).unwrap(), SdkBody::empty());
        let fault = failed("iam:GetRole", &SdkError::service_error(GetRoleError::generic(metadata.build()), raw));
        assert_eq!(fault.advice.is_some(), (status, code) == (503, None), "{status}");
        assert_eq!(fault.kind, kind, "{status} {code:?}");
    }
}
