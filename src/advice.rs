//! Why a call to AWS failed, in words, and what helps. Pure.

use crate::error::Hint;
use crate::model::answer::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::calls::{events, iam, lambda, tag};
use crate::model::scope::Scope;

/// Why a call failed, one line each, and what helps.
pub fn explanation(fault: &Fault, scope: &Scope) -> (Vec<String>, Option<Hint>) {
    (notes(fault), hint(fault, scope))
}

fn notes(fault: &Fault) -> Vec<String> {
    let Fault {
        kind,
        action,
        code,
        message,
    } = fault;
    vec![match kind {
        FaultKind::Denied { principal, resource } => {
            let part = |word, name: &Option<String>| match name {
                Some(name) => format!(" {word} {name}"),
                None => String::new(),
            };
            let (who, what) = (part("for", principal), part("on", resource));
            format!("AWS denied {action}{who}{what}")
        }
        FaultKind::NoCredentials => format!("{action}: no credentials found"),
        FaultKind::ExpiredCredentials => format!("{action}: the credentials have expired"),
        FaultKind::BadCredentials => format!("{action}: the credentials are not valid"),
        FaultKind::NotFromAws => format!("{action} failed: {message}"),
        FaultKind::Unreachable
        | FaultKind::Throttled
        | FaultKind::ConcurrencyUsedUp { .. }
        | FaultKind::Unsettled { .. } => format!("{action}: {message}"),
        FaultKind::Exists => {
            format!("{action}: it exists now, created by another process or by a call whose answer was lost")
        }
        FaultKind::NotManaged => format!("{action}: {message}; nothing of it was changed"),
        FaultKind::Gone => format!("{action}: another process has deleted it"),
        FaultKind::Changed => format!("{action}: another process has made a change since this command read the state"),
        FaultKind::ServiceDenied => format!("{action}: AWS denied this to Lambda, not to the caller: {message}"),
        FaultKind::UnusableKey => format!("{action}: the KMS key cannot be used: {message}"),
        FaultKind::BoundaryMissing => format!("{action}: the permissions boundary does not exist: {message}"),
        FaultKind::Stopped | FaultKind::NotBegun => format!("{action}: stopped while waiting: {message}"),
        FaultKind::Limit if action == FULL_ROLE => format!("the role has no room for the policy: {message}"),
        FaultKind::Limit => format!("{action}: a quota is reached: {message}"),
        FaultKind::FunctionFailed { function } => {
            format!("function `{function}` failed in Lambda and cannot be updated: {message}")
        }
        FaultKind::FunctionUpdateFailed => {
            return vec![
                format!("Lambda did not apply the update: {message}"),
                "the live version keeps running".to_owned(),
            ];
        }
        FaultKind::MalformedPolicy => format!("{action}: AWS rejected the policy: {message}"),
        FaultKind::Rejected => {
            let code = code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
            format!("{action} failed{code}: {message}")
        }
    }]
}

fn hint(fault: &Fault, scope: &Scope) -> Option<Hint> {
    let action = fault.action.as_str();
    Some(match &fault.kind {
        FaultKind::Denied { .. } => Hint::command(
            "grant the permissions that this command prints",
            scope.kibus("policy operator"),
        ),
        FaultKind::NoCredentials => Hint::text("set credentials in the environment, a profile (--profile) or a role"),
        FaultKind::ExpiredCredentials => Hint::command("with IAM Identity Center, sign in again", "aws sso login"),
        FaultKind::BadCredentials => Hint::text("check the access key, or use another profile with --profile"),
        FaultKind::Unreachable if action == tag::GET_RESOURCES => Hint::text(
            "check the network; this service has no FIPS endpoint: if AWS_USE_FIPS_ENDPOINT is set, unset it for this \
             command",
        ),
        FaultKind::Unreachable => Hint::text(format!("check the network, and that {} has this service", scope.region)),
        FaultKind::NotFromAws => Hint::text(
            "check that the endpoint (--endpoint-url, AWS_ENDPOINT_URL) and every proxy on the way pass the answers of AWS",
        ),
        FaultKind::Throttled => {
            Hint::text("other programs of this account may use up the rate: wait, or stop them, and run again")
        }
        FaultKind::ConcurrencyUsedUp { reserved: true } => Hint::command(
            "wait until the router has routed what waits; if it stays, reserve more",
            scope.kibus("bootstrap-hub --reserved-concurrency NUMBER"),
        ),
        FaultKind::ConcurrencyUsedUp { reserved: false } => {
            Hint::text("wait, or request more concurrency for the account in Service Quotas")
        }
        FaultKind::NotManaged => {
            Hint::text("use another bus, cluster or queue prefix, or delete the resource if nothing needs it")
        }
        FaultKind::ServiceDenied => Hint::command(
            "compare the router role and its policy with their desired state",
            scope.kibus("verify"),
        ),
        FaultKind::UnusableKey => Hint::text("enable the key, or set another one with --kms-key"),
        FaultKind::BoundaryMissing => Hint::text("create that policy, or set another one with --permissions-boundary"),
        FaultKind::Unsettled { advice } => Hint::text((*advice)?),
        FaultKind::Limit => Hint::text(limit_advice(action)),
        FaultKind::FunctionFailed { function } => recreate_function(scope, function),
        FaultKind::FunctionUpdateFailed => Hint::text("fix the reason; the next run repeats the update"),
        FaultKind::MalformedPolicy => {
            Hint::text("show the policy with --dry-run -v; often it names a principal or a key that does not exist")
        }
        FaultKind::Exists
        | FaultKind::Gone
        | FaultKind::Changed
        | FaultKind::Stopped
        | FaultKind::NotBegun
        | FaultKind::Rejected => return None,
    })
}

/// How to replace a function that Lambda can neither run nor update.
pub fn recreate_function(scope: &Scope, function: &FunctionName) -> Hint {
    Hint::command(
        "fix the reason and delete the function; bootstrap-hub then creates it again",
        scope.aws(format!(
            "lambda delete-function --region {} --function-name {function}",
            scope.region
        )),
    )
}

/// The call that fails if a role is full: all its inline policies share one quota (IAM user guide, "IAM and STS character
/// quotas").
const FULL_ROLE: &str = iam::PUT_ROLE_POLICY;

/// What helps when the quota that limits this call is reached.
fn limit_advice(action: &str) -> &'static str {
    match action {
        FULL_ROLE => {
            "all inline policies of a role share 10240 characters, and this quota cannot be raised: delete those that the \
             role does not need, or replace them with managed policies, which do not count"
        }
        events::PUT_RULE => {
            "delete rules that are not needed, like those of clusters that are on the bus now, or request more in \
             Service Quotas"
        }
        events::PUT_TARGETS => "remove targets that are not needed; a rule has at most 5",
        lambda::PUT_FUNCTION_CONCURRENCY => {
            "reserve less with --reserved-concurrency, or request more in Service Quotas"
        }
        _ => "remove what is not needed, or request more in Service Quotas",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn a_failure_has_a_hint_that_helps() {
        use FaultKind as Kind;
        for (action, kind, text, command) in [
            (
                "sqs:ListQueues",
                Kind::Unreachable,
                "check the network, and that us-west-2 has this service",
                None,
            ),
            // The tagging API has no FIPS endpoint in any partition.
            ("tag:GetResources", Kind::Unreachable, "AWS_USE_FIPS_ENDPOINT", None),
            (
                "iam:GetRole",
                Kind::Throttled,
                "other programs of this account may use up the rate",
                None,
            ),
            (
                "lambda:InvokeFunction",
                Kind::ConcurrencyUsedUp { reserved: true },
                "reserve more",
                Some("kibus bootstrap-hub --reserved-concurrency NUMBER"),
            ),
            (
                "lambda:InvokeFunction",
                Kind::ConcurrencyUsedUp { reserved: false },
                "request more concurrency",
                None,
            ),
            (
                "x:Y",
                Kind::Unsettled {
                    advice: Some("check it"),
                },
                "check it",
                None,
            ),
            ("events:PutTargets", Kind::Limit, "a rule has at most 5", None),
            (
                "iam:PutRolePolicy",
                Kind::Limit,
                "delete those that the role does not need, or replace them with managed policies",
                None,
            ),
            ("x:Y", Kind::Limit, "remove what is not needed", None),
        ] {
            let fault = Fault {
                kind,
                action: action.to_owned(),
                code: None,
                message: "no".to_owned(),
            };
            let hint = explanation(&fault, &scope()).1.unwrap();
            assert!(hint.text.contains(text), "{fault:?}: {hint:?}");
            assert_eq!(hint.command.as_deref(), command, "{fault:?}");
        }
    }

    #[test]
    fn what_needs_nothing_has_no_hint() {
        for kind in [
            FaultKind::Exists,
            FaultKind::Gone,
            FaultKind::Changed,
            FaultKind::Stopped,
            FaultKind::NotBegun,
            FaultKind::Rejected,
            FaultKind::Unsettled { advice: None },
        ] {
            let fault = Fault {
                kind,
                action: "x:Y".to_owned(),
                code: None,
                message: String::new(),
            };
            assert_eq!(explanation(&fault, &scope()).1, None, "{fault:?}");
        }
    }
}
