//! Which refusals pass by themselves.

use super::WaitReason;
use crate::aws::error::{NOT_ASSUMABLE, ROLE_PERMISSIONS, is_busy, is_service_denial};
use crate::cloud::Fault;
use crate::model::resource::calls::lambda;
use crate::wire::aws_code;

/// The call of an invocation, as IAM names it. What it is refused passes sooner than what a deployment is refused.
pub(in crate::aws) const INVOKE: &str = lambda::INVOKE_FUNCTION;

/// What SQS says of a redrive policy whose dead-letter queue it does not find (serverless, issue 5215).
const NO_DEAD_LETTER_QUEUE: &str = "Dead letter target does not exist";

/// Why a retry can succeed soon, if it can: AWS has not finished an earlier change.
pub(in crate::aws) fn settling(fault: &Fault) -> Option<WaitReason> {
    let says = |text: &str| fault.message.contains(text);
    let code = fault.code.as_deref()?;
    let invokes = fault.action == INVOKE;
    let service_denial = is_service_denial(code, &fault.message);
    let (parameter, policy) = (
        aws_code::is_invalid_parameter(code),
        aws_code::is_malformed_policy(code),
    );
    [
        (aws_code::is_deleted_recently(code), WaitReason::QueueDeletedRecently),
        (
            service_denial && invokes && says(NOT_ASSUMABLE),
            WaitReason::VersionWithoutRole,
        ),
        (service_denial && says(NOT_ASSUMABLE), WaitReason::RoleNotAssumable),
        (service_denial && says(ROLE_PERMISSIONS), WaitReason::RolePermissions),
        (aws_code::is_service_denied(code), WaitReason::VersionWithoutKey),
        (
            parameter && (says("invalid for CreateGrant") || says("does not refer to a valid principal")),
            WaitReason::RoleWithoutGrant,
        ),
        (parameter && says("NonExistentQueue"), WaitReason::SourceUnknown),
        (
            (aws_code::is_invalid_attribute(code) || aws_code::is_absent(code)) && says(NO_DEAD_LETTER_QUEUE),
            WaitReason::DeadLetterQueueUnknown,
        ),
        (
            (parameter || policy) && says("nvalid principal"),
            WaitReason::PrincipalUnknown,
        ),
        (
            aws_code::is_delete_conflict(code) && says("must delete policies first"),
            WaitReason::PoliciesLeaving,
        ),
        (
            aws_code::is_conflict(code) && is_busy(&fault.message),
            WaitReason::FunctionBusy,
        ),
        (aws_code::is_not_ready(code), WaitReason::FunctionBusy),
        (aws_code::is_in_use(code), WaitReason::MappingInUse),
        (
            aws_code::is_invalid(code) && says("since it has targets"),
            WaitReason::TargetsLeaving,
        ),
        (aws_code::is_concurrent_change(code), WaitReason::ConcurrentChange),
    ]
    .into_iter()
    .find_map(|(applies, reason)| applies.then_some(reason))
}
