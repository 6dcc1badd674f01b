//! Calls that AWS refuses for some time after an event on their subject, always in the same way.

use super::At;
use super::Behavior::{E4, E6, I3, I4, L1, L2, L4, L14, M7, N3, S1, S3};
use super::lambda::has_variables;
use super::memory::Event::{self, *};
use super::reply::Reply;

/// Rows: a behavior, what happened before, the calls, and the error: its status, its code and its message, where `NAME`
/// stands for the subject of the call.
macro_rules! refusals {
    ($at:ident $call:ident $($behavior:ident $event:ident [$($calls:tt)*] $status:literal $code:literal $message:literal)*) => {
        $(if matches!($call, $($calls)*)
            && let Some((name, key)) = subject($at, $event)
            && $at.strikes_since($behavior, $at.last($event, &key))
        {
            return Some($at.refuse($status, $code, &$message.replace("NAME", &name)));
        })*
    };
}

/// The refusal of a call, by the first row that strikes.
pub(super) fn refused(at: &At<'_>) -> Option<Reply> {
    let (method, path) = at.call.path();
    let operation = if path.is_empty() { at.call.operation.as_str() } else { method };
    let call = (at.call.service.as_str(), operation, path.as_slice());
    refusals! { at call
        S1 QueueDeleted [("sqs", "CreateQueue", _)] 400 "AWS.SimpleQueueService.QueueDeletedRecently"
            "You must wait 60 seconds after deleting a queue before you can create another with the same name."
        S3 QueueCreated [("sqs", other, _) if !["CreateQueue", "DeleteQueue"].contains(&other)]
            400 "AWS.SimpleQueueService.NonExistentQueue" "The specified queue does not exist."
        E4 RuleCreated [("events", other, _) if !["PutRule", "DeleteRule"].contains(&other)]
            400 "ResourceNotFoundException" "Rule NAME does not exist on EventBus default."
        E6 RuleUntargeted [("events", "DeleteRule", _)]
            400 "ValidationException" "Rule can't be deleted since it has targets."
        I3 RoleCreated [("iam", other, _) if !["CreateRole", "DeleteRole"].contains(&other)]
            404 "NoSuchEntity" "The role with name NAME cannot be found."
        I4 RoleUnpoliced [("iam", "DeleteRole", _)]
            409 "DeleteConflict" "Cannot delete entity, must delete policies first."
        L1 RoleCreated [("lambda", "POST", ["functions"]) | ("lambda", "PUT", ["functions", _, "configuration"])]
            400 "InvalidParameterValueException" "The role defined for the function cannot be assumed by Lambda."
        L2 RoleCreated
            [("lambda", "POST", ["functions"]) | ("lambda", "PUT", ["functions", _, "configuration"])
                if has_variables(&at.call.json)]
            400 "InvalidParameterValueException"
            "Lambda was unable to configure access to your environment variables because the KMS key is invalid for CreateGrant. Please check your KMS key settings. KMS Exception: InvalidArnException KMS Message: ARN does not refer to a valid principal: NAME"
        L4 FunctionCreated [("lambda", "GET", ["functions", _, ..])]
            404 "ResourceNotFoundException" "Function not found: NAME"
        L14 FunctionDeleted [("lambda", "POST", ["functions"])] 409 "ResourceConflictException"
            "The operation cannot be performed at this time. The function is currently in the following state: Deleting"
        M7 MappingChanged [("lambda", "PUT" | "DELETE", ["event-source-mappings", _])]
            400 "ResourceInUseException" "Cannot update the event source mapping because it is in use."
        N3 ParameterDeleted [("ssm", "PutParameter", _) if at.call.json["Overwrite"] != true] 400 "ParameterAlreadyExists"
            "The parameter already exists. To overwrite this value, set the overwrite option in the request to true."
    }
    None
}

/// The subject of a call, of the kind that the event was about, and its key.
fn subject(at: &At<'_>, event: Event) -> Option<(String, String)> {
    if event == RoleCreated && at.call.service == "lambda" {
        let role = at.call.text("Role")?;
        return Some((role.to_owned(), at.call.role_key(role)));
    }
    let name = at.call.subject()?;
    Some((name.to_owned(), at.call.key(name)))
}
