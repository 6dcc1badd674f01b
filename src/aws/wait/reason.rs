//! What AWS is waited for, how long, and what to check then.
//!
//! The limits are those of Terraform's provider, which waits for the same answers. For a new role AWS support says that
//! Lambda may need up to 15 minutes (terraform-provider-aws, pull request 44517).

use std::time::Duration;

use crate::model::duration::duration_text;

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::aws) enum WaitReason {
    /// SQS keeps a name for a minute after its queue was deleted.
    QueueDeletedRecently,
    /// SQS does not find a queue that was just created.
    QueueUnknown,
    /// SQS does not find a dead-letter queue that was just created.
    DeadLetterQueueUnknown,
    /// Lambda does not see a new role or its trust policy immediately.
    RoleNotAssumable,
    /// KMS does not see a new role immediately, and Lambda needs a grant for it.
    RoleWithoutGrant,
    /// A version that was just published cannot use its role yet.
    VersionWithoutRole,
    /// A version that was just published cannot use its grant yet.
    VersionWithoutKey,
    /// Lambda does not see a role's new permissions immediately.
    RolePermissions,
    /// IAM does not find a role that was just created.
    RoleUnknown,
    /// A condition does not see the boundary that a role was just given.
    BoundaryUnknown,
    /// A condition does not see the tags that a queue was just given.
    TagsUnknown,
    /// A policy names a principal that was just created.
    PrincipalUnknown,
    /// IAM still sees policies that were just deleted from a role.
    PoliciesLeaving,
    /// EventBridge does not find a rule that was just created.
    RuleUnknown,
    /// EventBridge still sees targets that were just removed from a rule.
    TargetsLeaving,
    /// Lambda does not find a function or a version that was just created.
    FunctionUnknown,
    /// Lambda is setting up or updating a function.
    FunctionBusy,
    /// Lambda is deleting a function.
    FunctionLeaving,
    /// Lambda does not find a queue that was just created.
    SourceUnknown,
    /// Lambda does not find a mapping that was just created.
    MappingUnknown,
    /// Lambda is setting up or updating a mapping.
    MappingBusy,
    /// Lambda refuses to change a mapping before an earlier change of it is finished.
    MappingInUse,
    /// Lambda is deleting a mapping.
    MappingLeaving,
    /// Another change of the same resource is in progress.
    ConcurrentChange,
}

impl WaitReason {
    /// The reason as text that follows "waiting: ".
    pub(in crate::aws) fn text(self) -> &'static str {
        match self {
            Self::QueueDeletedRecently => "SQS does not reuse the name of a deleted queue for 60 seconds",
            Self::QueueUnknown => "SQS does not find the new queue yet",
            Self::DeadLetterQueueUnknown => "SQS does not find the new dead-letter queue yet",
            Self::RoleNotAssumable => "Lambda cannot assume the new role yet",
            Self::RoleWithoutGrant => "KMS does not accept the new role in a grant yet",
            Self::VersionWithoutRole => "the new version cannot assume its role yet",
            Self::VersionWithoutKey => "the new version cannot decrypt its environment variables yet",
            Self::RolePermissions => "Lambda does not see the role's new permissions yet",
            Self::RoleUnknown => "IAM does not find the new role yet",
            Self::BoundaryUnknown => "denied; AWS may not see the new permissions boundary of the role yet",
            Self::TagsUnknown => "denied; AWS may not see the new tags of the queue yet",
            Self::PrincipalUnknown => "IAM does not find a principal of the policy yet",
            Self::PoliciesLeaving => "IAM has not removed the policies of the role yet",
            Self::RuleUnknown => "EventBridge does not find the new rule yet",
            Self::TargetsLeaving => "EventBridge has not removed the targets of the rule yet",
            Self::FunctionUnknown => "Lambda does not find the new function yet",
            Self::FunctionBusy => "Lambda is still setting the function up",
            Self::FunctionLeaving => "Lambda is still deleting the function",
            Self::SourceUnknown => "Lambda does not find the new queue yet",
            Self::MappingUnknown => "Lambda does not find the new event source mapping yet",
            Self::MappingBusy => "Lambda is still setting the event source mapping up",
            Self::MappingInUse => "Lambda has not finished an earlier change of the event source mapping",
            Self::MappingLeaving => "Lambda is still removing the event source mapping",
            Self::ConcurrentChange => "another change of the same resource is in progress",
        }
    }

    /// The longest wait: what this usually takes at most, with a margin.
    pub(in crate::aws) fn bound(self) -> Duration {
        Duration::from_secs(match self {
            Self::QueueUnknown => 20,
            Self::QueueDeletedRecently => 70,
            Self::RoleUnknown
            | Self::BoundaryUnknown
            | Self::TagsUnknown
            | Self::PrincipalUnknown
            | Self::PoliciesLeaving
            | Self::RolePermissions
            | Self::RuleUnknown
            | Self::FunctionUnknown
            | Self::SourceUnknown
            | Self::DeadLetterQueueUnknown
            | Self::MappingUnknown
            | Self::ConcurrentChange => 2 * 60,
            Self::FunctionBusy => 3 * 60,
            Self::VersionWithoutRole
            | Self::VersionWithoutKey
            | Self::TargetsLeaving
            | Self::FunctionLeaving
            | Self::MappingInUse
            | Self::MappingLeaving => 5 * 60,
            Self::MappingBusy => 10 * 60,
            Self::RoleNotAssumable | Self::RoleWithoutGrant => 15 * 60,
        })
    }

    /// What to check if the wait reached its limit.
    pub(super) fn advice(self) -> Option<&'static str> {
        match self {
            Self::RoleNotAssumable | Self::VersionWithoutRole => Some(
                "check that the role's trust policy allows `lambda.amazonaws.com` to assume it, and that no policy of \
                 the organization denies this",
            ),
            Self::RoleWithoutGrant | Self::VersionWithoutKey => {
                Some("check that the key policy allows the role to use the function's key")
            }
            Self::RolePermissions => Some(
                "check that the role's permissions boundary and the policies of the organization allow what the role \
                 policy allows",
            ),
            _ => None,
        }
    }

    /// The reason again after some minutes, with what the user can expect.
    pub(super) fn text_after(self, waited: Duration) -> String {
        let minutes = |time: Duration| duration_text(time.as_secs() / 60 * 60);
        let (waited, bound) = (minutes(waited), minutes(self.bound()));
        format!(
            "{}, after {waited}; this can take up to {bound}, and Ctrl-C is safe",
            self.text()
        )
    }
}
