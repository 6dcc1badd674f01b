//! Waits until Lambda has finished setting up a function, or a version of one.

use aws_sdk_lambda::types::{FunctionConfiguration, LastUpdateStatus, State};

use super::configuration::{LambdaFailure, failure, nothing};
use crate::aws::AwsCloud;
use crate::aws::error::{fault, if_present};
use crate::aws::wait::{Tried, WaitReason, Waiting, settled};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::calls::lambda;

const GET: &str = lambda::GET_FUNCTION;

/// Waits until Lambda has finished a change of a function, or of a version of it; returns its configuration.
pub(in crate::aws) async fn ready(
    cloud: &AwsCloud,
    name: &FunctionName,
    version: Option<&str>,
    waiting: Waiting<'_>,
) -> Result<FunctionConfiguration, Fault> {
    let call = cloud.lambda.get_function().function_name(name);
    let call = &call.set_qualifier(version.map(str::to_owned));
    settled(GET, waiting, || async move {
        // It was found a moment ago, or is new.
        let unseen = &[WaitReason::FunctionUnknown];
        let answer = cloud.seen(GET, unseen, waiting, || call.clone().send()).await?;
        let configuration = answer.configuration.unwrap_or_else(nothing);
        match failure(&configuration) {
            Some((LambdaFailure::Function, reason)) => {
                let function = name.clone();
                return Err(fault(FaultKind::FunctionFailed { function }, GET, reason));
            }
            Some((LambdaFailure::Update, reason)) => {
                return Err(fault(FaultKind::FunctionUpdateFailed, GET, reason));
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

/// Waits until Lambda has deleted a function: its name cannot be used before.
pub(in crate::aws) async fn gone(cloud: &AwsCloud, name: &FunctionName, waiting: Waiting<'_>) -> Result<(), Fault> {
    settled(GET, waiting, || async move {
        let call = cloud.lambda.get_function().function_name(name);
        Ok(match if_present(cloud.call(GET, || call.clone().send()).await)? {
            Some(_) => Tried::NotYet(WaitReason::FunctionLeaving),
            None => Tried::Done(()),
        })
    })
    .await
}
