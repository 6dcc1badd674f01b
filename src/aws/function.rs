//! Lambda functions.
//!
//! What the code is said to be stands in two tags; what it is, Lambda reports. The tags are written last, so that
//! an interruption leaves a difference that the next plan sees.

mod configuration;

use std::collections::BTreeMap;

use aws_sdk_lambda::operation::update_function_configuration::builders::UpdateFunctionConfigurationFluentBuilder;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{
    Environment, FunctionCode, FunctionConfiguration, LastUpdateStatus, LoggingConfig, State, VpcConfig,
};
use sha2::{Digest, Sha256};

use configuration::{Failure, failure, hex, unsigned};
pub(super) use configuration::{nothing, settings};

use super::AwsCloud;
use super::error::{Answer, if_present, refusal, rejected};
use super::settle::{Reason, Tried, Waiting, settled, taken};
use super::tags::{TagChanges, touches};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::{Code, Function, FunctionSettings};
use crate::model::tags::{ROUTER_SHA256, ROUTER_VERSION, Tags};
use crate::plan::FieldChange;

const CODE: [&str; 2] = [FunctionSettings::CODE, "architecture"];
const CONFIGURATION: [&str; 12] = [
    "role",
    "runtime",
    "handler",
    "memory",
    "timeout",
    "environment",
    "logging",
    "layers",
    "network",
    "file_systems",
    "kms_key",
    // What was not carried out is told once more.
    Function::FAILED_UPDATE,
];

pub(super) async fn read(cloud: &AwsCloud, name: &FunctionName) -> Result<Option<Function>, Fault> {
    let call = cloud.lambda.get_function().function_name(name.as_str());
    let Some(answer) = if_present(call.send().await.answer("lambda:GetFunction"))? else {
        return Ok(None);
    };
    if let Some(e) = &answer.tags_error {
        return Err(refusal("lambda:ListTags", Some(e.error_code()), e.message()));
    }
    let mut tags: Tags = answer.tags.unwrap_or_default().into_iter().collect();
    let version = tags.0.remove(ROUTER_VERSION).unwrap_or_default();
    let sha256 = tags.0.remove(ROUTER_SHA256).unwrap_or_default();
    let reserved = answer.concurrency.and_then(|c| c.reserved_concurrent_executions);
    let configuration = answer.configuration.unwrap_or_else(nothing);
    let (failed, failed_update) = match failure(&configuration) {
        Some((Failure::Function, reason)) => (Some(reason), None),
        Some((Failure::Update, reason)) => (None, Some(reason)),
        None => (None, None),
    };
    Ok(Some(Function {
        name: name.clone(),
        settings: settings(&configuration, version, sha256),
        reserved_concurrency: reserved.map(unsigned),
        failed_update,
        failed,
        tags,
    }))
}

pub(super) async fn create(cloud: &AwsCloud, function: &Function, waiting: Waiting<'_>) -> Result<(), Fault> {
    let action = "lambda:CreateFunction";
    let settings = &function.settings;
    let archive = archive(cloud, action, &settings.code)?;
    let mut tags = function.tags.0.clone();
    tags.extend(code_tags(&settings.code));
    taken(action, waiting, || {
        let call = cloud
            .lambda
            .create_function()
            .function_name(function.name.as_str())
            .code(FunctionCode::builder().zip_file(archive.clone()).build())
            .architectures(settings.architecture.as_str().into())
            .role(&settings.role)
            .runtime(settings.runtime.as_str().into())
            .handler(&settings.handler)
            .memory_size(signed(settings.memory))
            .timeout(signed(settings.timeout))
            .environment(environment(settings))
            .logging_config(logging_config(settings))
            .set_tags(Some(tags.clone().into_iter().collect()));
        async move { call.send().await.answer(action) }
    })
    .await?;
    settle(cloud, &function.name, None, waiting).await?;
    match function.reserved_concurrency {
        Some(_) => reserve(cloud, function, waiting).await,
        None => Ok(()),
    }
}

pub(super) async fn update(
    cloud: &AwsCloud,
    function: &Function,
    fields: &[FieldChange],
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let name = function.name.as_str();
    let settings = &function.settings;
    let mut tags = TagChanges::among(fields);
    if touches(fields, &CODE) {
        let action = "lambda:UpdateFunctionCode";
        let archive = archive(cloud, action, &settings.code)?;
        taken(action, waiting, || {
            let call = cloud
                .lambda
                .update_function_code()
                .function_name(name)
                .zip_file(archive.clone());
            let call = call.architectures(settings.architecture.as_str().into());
            async move { call.send().await.answer(action) }
        })
        .await?;
        settle(cloud, &function.name, None, waiting).await?;
        tags.set.extend(code_tags(&settings.code));
    }
    if touches(fields, &CONFIGURATION) {
        let action = "lambda:UpdateFunctionConfiguration";
        taken(action, waiting, || {
            let call = cloud
                .lambda
                .update_function_configuration()
                .function_name(name)
                .role(&settings.role)
                .runtime(settings.runtime.as_str().into())
                .handler(&settings.handler)
                .memory_size(signed(settings.memory))
                .timeout(signed(settings.timeout))
                .environment(environment(settings))
                .logging_config(logging_config(settings));
            let call = without_extras(call, fields);
            async move { call.send().await.answer(action) }
        })
        .await?;
        settle(cloud, &function.name, None, waiting).await?;
    }
    if touches(fields, &[Function::RESERVED_CONCURRENCY]) {
        reserve(cloud, function, waiting).await?;
    }
    let arn = cloud.scope.function_arn(&function.name);
    if !tags.remove.is_empty() {
        let call = cloud
            .lambda
            .untag_resource()
            .resource(&arn)
            .set_tag_keys(Some(tags.remove));
        call.send().await.answer("lambda:UntagResource")?;
    }
    if !tags.set.is_empty() {
        let call = cloud
            .lambda
            .tag_resource()
            .resource(&arn)
            .set_tags(Some(tags.set.into_iter().collect()));
        call.send().await.answer("lambda:TagResource")?;
    }
    Ok(())
}

pub(super) async fn delete(cloud: &AwsCloud, name: &FunctionName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let answer = taken("lambda:DeleteFunction", waiting, || {
        let call = cloud.lambda.delete_function().function_name(name.as_str());
        async move { call.send().await.answer("lambda:DeleteFunction") }
    });
    if_present(answer.await).map(drop)
}

/// Takes back what the code is said to be, so that the next plan gives it again: another build of the same version
/// would otherwise be no difference.
pub(super) async fn doubt(cloud: &AwsCloud, name: &FunctionName) {
    let call = cloud.lambda.untag_resource().resource(cloud.scope.function_arn(name));
    // There is a worse fault to tell. If this fails too, the same code is tried again first.
    if let Err(fault) = call.tag_keys(ROUTER_SHA256).send().await.answer("lambda:UntagResource") {
        tracing::debug!("{fault}");
    }
}

/// Waits until Lambda has done what it was told about a function, or about a version of it; gives its
/// configuration.
pub(super) async fn settle(
    cloud: &AwsCloud,
    name: &FunctionName,
    version: Option<&str>,
    waiting: Waiting<'_>,
) -> Result<FunctionConfiguration, Fault> {
    let action = "lambda:GetFunction";
    settled(action, waiting, || async move {
        let call = cloud.lambda.get_function().function_name(name.as_str());
        let answer = call
            .set_qualifier(version.map(str::to_owned))
            .send()
            .await
            .answer(action)?;
        let configuration = answer.configuration.unwrap_or_else(nothing);
        match failure(&configuration) {
            Some((Failure::Function, reason)) => {
                return Err(Fault {
                    kind: FaultKind::FunctionFailed { function: name.clone() },
                    ..rejected(action, reason)
                });
            }
            Some((Failure::Update, reason)) => {
                return Err(Fault {
                    kind: FaultKind::FunctionUpdateFailed,
                    ..rejected(action, reason)
                });
            }
            None => {}
        }
        match (configuration.state(), configuration.last_update_status()) {
            (Some(State::Pending), _) | (_, Some(LastUpdateStatus::InProgress)) => {
                Ok(Tried::NotYet(Reason::FunctionBusy))
            }
            _ => Ok(Tried::Done(configuration)),
        }
    })
    .await
}

async fn reserve(cloud: &AwsCloud, function: &Function, waiting: Waiting<'_>) -> Result<(), Fault> {
    let name = function.name.as_str();
    match function.reserved_concurrency {
        Some(number) => {
            let action = "lambda:PutFunctionConcurrency";
            taken(action, waiting, || {
                let call = cloud.lambda.put_function_concurrency().function_name(name);
                let call = call.reserved_concurrent_executions(signed(number));
                async move { call.send().await.answer(action).map(drop) }
            })
            .await
        }
        None => {
            let action = "lambda:DeleteFunctionConcurrency";
            taken(action, waiting, || {
                let call = cloud.lambda.delete_function_concurrency().function_name(name);
                async move { call.send().await.answer(action).map(drop) }
            })
            .await
        }
    }
}

/// The archive that was planned: what was shown is what is given, or nothing is.
fn archive(cloud: &AwsCloud, action: &str, planned: &Code) -> Result<Blob, Fault> {
    let unplanned = |has: &str| {
        let planned = &planned.sha256;
        Fault {
            kind: FaultKind::Rejected,
            ..rejected(
                action,
                format!("the plan wants the archive with SHA-256 {planned}, and {has}"),
            )
        }
    };
    let archive = cloud
        .archive
        .as_deref()
        .ok_or_else(|| unplanned("there is none at hand"))?;
    let sha256 = hex(&Sha256::digest(archive));
    if sha256 == planned.sha256 {
        Ok(Blob::new(archive))
    } else {
        Err(unplanned(&format!("the one at hand has {sha256}")))
    }
}

fn code_tags(code: &Code) -> BTreeMap<String, String> {
    BTreeMap::from([
        (ROUTER_VERSION.to_owned(), code.version.clone()),
        (ROUTER_SHA256.to_owned(), code.sha256.clone()),
    ])
}

fn environment(settings: &FunctionSettings) -> Environment {
    let variables = settings.environment.clone().into_iter().collect();
    Environment::builder().set_variables(Some(variables)).build()
}

fn logging_config(settings: &FunctionSettings) -> LoggingConfig {
    LoggingConfig::builder()
        .log_group(&settings.logging.group)
        .log_format(settings.logging.format.as_str().into())
        .build()
}

/// Takes away what somebody has hung on the function, as far as there is any of it. Saying nothing leaves it.
fn without_extras(
    mut call: UpdateFunctionConfigurationFluentBuilder,
    fields: &[FieldChange],
) -> UpdateFunctionConfigurationFluentBuilder {
    if touches(fields, &["layers"]) {
        call = call.set_layers(Some(Vec::new()));
    }
    if touches(fields, &["network"]) {
        let none = VpcConfig::builder().set_subnet_ids(Some(Vec::new()));
        call = call.vpc_config(none.set_security_group_ids(Some(Vec::new())).build());
    }
    if touches(fields, &["file_systems"]) {
        call = call.set_file_system_configs(Some(Vec::new()));
    }
    if touches(fields, &["kms_key"]) {
        call = call.kms_key_arn("");
    }
    call
}

fn signed(number: u32) -> i32 {
    number.try_into().unwrap_or(i32::MAX)
}
