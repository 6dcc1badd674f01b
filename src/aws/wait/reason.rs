//! What AWS is waited for, how long, and what to check then.
//!
//! The limits are those of Terraform's provider, which waits for the same answers. For a new role AWS support says that
//! Lambda may need up to 15 minutes (terraform-provider-aws, pull request 44517).

use std::time::Duration;

use crate::model::notation::duration_text;

macro_rules! reasons {
    ($($reason:ident, $seconds:expr, $text:literal;)*) => {
        /// What is being waited for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(in crate::aws) enum WaitReason {
            $($reason,)*
        }

        impl WaitReason {
            /// The reason as text that follows "waiting: ".
            pub(in crate::aws) fn text(self) -> &'static str {
                match self {
                    $(Self::$reason => $text,)*
                }
            }

            /// The longest wait: what this usually takes at most, with a margin.
            pub(in crate::aws) fn bound(self) -> Duration {
                Duration::from_secs(match self {
                    $(Self::$reason => $seconds,)*
                })
            }
        }
    };
}

// Each reason with its longest wait in seconds.
reasons! {
    ParameterLeaving, 60, "Parameter Store does not reuse the name of a deleted parameter for 30 seconds";
    QueueDeletedRecently, 70, "SQS does not reuse the name of a deleted queue for 60 seconds";
    QueueUnknown, 20, "SQS does not find the new queue yet";
    MarkUnknown, 20, "SQS does not show the mark of the delete on the queue yet";
    DeadLetterQueueUnknown, 2 * 60, "SQS does not find the new dead-letter queue yet";
    // Lambda does not see a new role or its trust policy immediately.
    RoleNotAssumable, 15 * 60, "Lambda cannot assume the new role yet";
    // KMS does not see a new role immediately, and Lambda needs a grant for it.
    RoleWithoutGrant, 15 * 60, "KMS does not accept the new role in a grant yet";
    VersionWithoutRole, 5 * 60, "the new version cannot assume its role yet";
    VersionWithoutKey, 5 * 60, "the new version cannot decrypt its environment variables yet";
    RolePermissions, 2 * 60, "Lambda does not see the role's new permissions yet";
    RoleUnknown, 2 * 60, "IAM does not find the new role yet";
    // A condition does not see the boundary that a role was just given.
    BoundaryUnknown, 2 * 60, "denied; AWS may not see the new permissions boundary of the role yet";
    // A condition does not see the tags that a queue was just given.
    TagsUnknown, 2 * 60, "denied; AWS may not see the new tags of the queue yet";
    PrincipalUnknown, 2 * 60, "IAM does not find a principal of the policy yet";
    PoliciesLeaving, 2 * 60, "IAM has not removed the policies of the role yet";
    RuleUnknown, 2 * 60, "EventBridge does not find the new rule yet";
    TargetsLeaving, 5 * 60, "EventBridge has not removed the targets of the rule yet";
    FunctionUnknown, 2 * 60, "Lambda does not find the new function yet";
    FunctionBusy, 3 * 60, "Lambda is still setting the function up";
    FunctionLeaving, 5 * 60, "Lambda is still deleting the function";
    SourceUnknown, 2 * 60, "Lambda does not find the new queue yet";
    MappingUnknown, 2 * 60, "Lambda does not find the new event source mapping yet";
    MappingBusy, 10 * 60, "Lambda is still setting the event source mapping up";
    MappingInUse, 5 * 60, "Lambda has not finished an earlier change of the event source mapping";
    MappingLeaving, 5 * 60, "Lambda is still removing the event source mapping";
    ConcurrentChange, 2 * 60, "another change of the same resource is in progress";
}

impl WaitReason {
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
