//! Waits until Lambda has finished setting up a function, or a version of one.

use aws_sdk_lambda::types::{FunctionConfiguration, LastUpdateStatus, State};

use super::configuration::{LambdaFailure, failure, nothing};
use crate::aws::AwsCloud;
use crate::aws::error::{OrFault, rejected};
use crate::aws::wait::{Tried, WaitReason, Waiting, found, settled};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;

/// Waits until Lambda has finished a change of a function, or of a version of it; returns its configuration.
pub(in crate::aws) async fn ready(
    cloud: &AwsCloud,
    name: &FunctionName,
    version: Option<&str>,
    waiting: Waiting<'_>,
) -> Result<FunctionConfiguration, Fault> {
    let action = "lambda:GetFunction";
    settled(action, waiting, || async move {
        // It was found a moment ago, or is new.
        let answer = found(action, WaitReason::FunctionUnknown, waiting, || {
            let call = cloud.lambda.get_function().function_name(name.as_str());
            let call = call.set_qualifier(version.map(str::to_owned));
            async move { call.send().await.or_fault(action) }
        })
        .await?;
        let configuration = answer.configuration.unwrap_or_else(nothing);
        match failure(&configuration) {
            Some((LambdaFailure::Function, reason)) => {
                return Err(Fault {
                    kind: FaultKind::FunctionFailed { function: name.clone() },
                    ..rejected(action, reason)
                });
            }
            Some((LambdaFailure::Update, reason)) => {
                return Err(Fault {
                    kind: FaultKind::FunctionUpdateFailed,
                    ..rejected(action, reason)
                });
            }
            None => {}
        }
        match (configuration.state(), configuration.last_update_status()) {
            (_, Some(LastUpdateStatus::InProgress)) => Ok(Tried::NotYet(WaitReason::FunctionBusy)),
            // An invocation activates an inactive function. Not every server reports a state.
            (None | Some(State::Active | State::Inactive), _) => Ok(Tried::Done(configuration)),
            _ => Ok(Tried::NotYet(WaitReason::FunctionBusy)),
        }
    })
    .await
}
