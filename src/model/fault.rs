//! Why a call to AWS failed: the kinds of failure, and the words and advice for each.

use super::name::FunctionName;
use super::scope::Scope;
use crate::error::{Hint, Invocation};

/// A call to AWS that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {message}")]
pub struct Fault {
    /// The kind of failure.
    pub kind: FaultKind,
    /// The call, as IAM names it: `sqs:CreateQueue`.
    pub action: String,
    /// The error code in the answer, if there is one.
    pub code: Option<String>,
    /// The message in the answer.
    pub message: String,
}

/// The kind of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The caller is not allowed to make the call.
    Denied {
        /// The caller, if the answer names it.
        principal: Option<String>,
        /// The resource, if the answer names it.
        resource: Option<String>,
    },
    /// No credentials were found.
    NoCredentials,
    /// The credentials have expired.
    ExpiredCredentials,
    /// The credentials are not valid.
    BadCredentials,
    /// The endpoint did not answer, or does not exist.
    Unreachable,
    /// The answer is not one that AWS gives: empty, too long, or of another format.
    NotFromAws,
    /// Too many calls, after retries too.
    Throttled,
    /// No concurrency is left for an invocation; the message says of what.
    ConcurrencyUsedUp {
        /// Whether it is the concurrency that is reserved for the function, else that of the account.
        reserved: bool,
    },
    /// The resource exists, though it was absent when it was read.
    Exists,
    /// A resource of the same name exists that kibus does not manage, though none existed when it was read.
    NotManaged,
    /// The resource is missing, though it existed when it was read.
    Gone,
    /// AWS denied Lambda what it does with the function's role. No permission of the caller is missing.
    ServiceDenied,
    /// The KMS key behind a resource cannot be used, or does not exist.
    UnusableKey,
    /// The policy that was given as the permissions boundary does not exist.
    BoundaryMissing,
    /// The change did not take effect in the usual time.
    Unsettled {
        /// What to check.
        advice: Option<&'static str>,
    },
    /// Someone asked to stop while the call waited for AWS; the message says for what.
    Stopped,
    /// A quota is reached.
    Limit,
    /// Lambda can neither run nor update the function.
    FunctionFailed {
        /// The function.
        function: FunctionName,
    },
    /// Lambda accepted an update of the function and did not apply it.
    FunctionUpdateFailed,
    /// A policy in the call is not valid.
    MalformedPolicy,
    /// The call was rejected for another reason; the message says which.
    Rejected,
}

impl Fault {
    /// Whether the caller is not allowed to make the call.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self.kind, FaultKind::Denied { .. })
    }

    /// Why the call failed, one line each, and what helps.
    #[must_use]
    pub fn explanation(&self, scope: &Scope) -> (Vec<String>, Option<Hint>) {
        let Self {
            kind,
            action,
            code,
            message,
        } = self;
        let (note, hint) = match kind {
            FaultKind::Denied { principal, resource } => {
                let part = |word, name: &Option<String>| match name {
                    Some(name) => format!(" {word} {name}"),
                    None => String::new(),
                };
                let (who, what) = (part("for", principal), part("on", resource));
                (
                    format!("AWS denied {action}{who}{what}"),
                    Some(Hint::command(
                        "grant the permissions that this command prints",
                        Invocation::kibus("policy operator"),
                    )),
                )
            }
            FaultKind::NoCredentials => (
                format!("{action}: no credentials found"),
                Some(Hint::text(
                    "set credentials in the environment, a profile (--profile) or a role",
                )),
            ),
            FaultKind::ExpiredCredentials => (
                format!("{action}: the credentials have expired"),
                Some(Hint::command(
                    "with IAM Identity Center, sign in again",
                    "aws sso login",
                )),
            ),
            FaultKind::BadCredentials => (
                format!("{action}: the credentials are not valid"),
                Some(Hint::text(
                    "check the access key, or use another profile with --profile",
                )),
            ),
            FaultKind::Unreachable => (
                format!("{action}: {message}"),
                Some(Hint::text(if action == "tag:GetResources" {
                    "check the network; this service has no FIPS endpoint: if AWS_USE_FIPS_ENDPOINT is set, unset it for this \
                     command"
                        .to_owned()
                } else {
                    format!("check the network, and that {} has this service", scope.region)
                })),
            ),
            FaultKind::NotFromAws => (
                format!("{action} failed: {message}"),
                Some(Hint::text(
                    "check that the endpoint (--endpoint-url, AWS_ENDPOINT_URL) and every proxy on the way pass the answers \
                     of AWS",
                )),
            ),
            FaultKind::Throttled => (
                format!("{action}: {message}"),
                Some(Hint::text(
                    "other programs of this account may use up the rate: wait, or stop them, and run again",
                )),
            ),
            FaultKind::ConcurrencyUsedUp { reserved } => (
                format!("{action}: {message}"),
                Some(if *reserved {
                    Hint::command(
                        "wait until the router has routed what waits; if it stays, reserve more",
                        Invocation::kibus("bootstrap-hub --reserved-concurrency NUMBER"),
                    )
                } else {
                    Hint::text("wait, or request more concurrency for the account in Service Quotas")
                }),
            ),
            FaultKind::Exists => (
                format!("{action}: it exists now, created by another process or by a call whose answer was lost"),
                None,
            ),
            FaultKind::NotManaged => (
                format!("{action}: {message}; nothing of it was changed"),
                Some(Hint::text(
                    "use another bus, cluster or queue prefix, or delete the resource if nothing needs it",
                )),
            ),
            FaultKind::Gone => (format!("{action}: another process has deleted it"), None),
            FaultKind::ServiceDenied => (
                format!("{action}: AWS denied this to Lambda, not to the caller: {message}"),
                Some(Hint::command(
                    "compare the router role and its policy with their desired state",
                    Invocation::kibus("verify"),
                )),
            ),
            FaultKind::UnusableKey => (
                format!("{action}: the KMS key cannot be used: {message}"),
                Some(Hint::text("enable the key, or set another one with --kms-key")),
            ),
            FaultKind::BoundaryMissing => (
                format!("{action}: the permissions boundary does not exist: {message}"),
                Some(Hint::text(
                    "create that policy, or set another one with --permissions-boundary",
                )),
            ),
            FaultKind::Unsettled { advice } => (format!("{action}: {message}"), advice.map(Hint::text)),
            FaultKind::Stopped => (format!("{action}: stopped while waiting: {message}"), None),
            FaultKind::Limit => (
                format!("{action}: a quota is reached: {message}"),
                Some(Hint::text(limit_advice(action))),
            ),
            FaultKind::FunctionFailed { function } => (
                format!("function `{function}` failed in Lambda and cannot be updated: {message}"),
                Some(recreate_function(scope, function)),
            ),
            FaultKind::FunctionUpdateFailed => {
                let notes = vec![
                    format!("Lambda did not apply the update: {message}"),
                    "the live version keeps running".to_owned(),
                ];
                return (
                    notes,
                    Some(Hint::text("fix the reason; the next run repeats the update")),
                );
            }
            FaultKind::MalformedPolicy => (
                format!("{action}: AWS rejected the policy: {message}"),
                Some(Hint::text(
                    "show the policy with --dry-run -v; often it names a principal or a key that does not exist",
                )),
            ),
            FaultKind::Rejected => {
                let code = code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
                (format!("{action} failed{code}: {message}"), None)
            }
        };
        (vec![note], hint)
    }
}

/// How to replace a function that Lambda can neither run nor update.
#[must_use]
pub fn recreate_function(scope: &Scope, function: &FunctionName) -> Hint {
    Hint::command(
        "fix the reason and delete the function; bootstrap-hub then creates it again",
        format!(
            "aws lambda delete-function --region {} --function-name {function}",
            scope.region
        ),
    )
}

/// What helps when the quota that limits this call is reached.
fn limit_advice(action: &str) -> &'static str {
    match action {
        "iam:PutRolePolicy" => {
            "all inline policies of a role share 10240 characters: remove those that are not needed, or replace them \
             with managed policies"
        }
        "events:PutRule" => {
            "delete rules that are not needed, like those of clusters that are on the bus now, or request more in \
             Service Quotas"
        }
        "events:PutTargets" => "remove targets that are not needed; a rule has at most 5",
        "lambda:PutFunctionConcurrency" => {
            "reserve less with --reserved-concurrency, or request more in Service Quotas"
        }
        _ => "remove what is not needed, or request more in Service Quotas",
    }
}
