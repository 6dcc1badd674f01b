//! Lambda functions.
//!
//! Lambda reports the hash of a function's code. Two tags show people which code kibus uploaded; no decision depends on
//! them. They are written before the code: after an interruption, the next run sees different code, uploads it, and
//! writes the tags too.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_lambda::operation::update_function_configuration::UpdateFunctionConfigurationInput;
use aws_sdk_lambda::operation::update_function_configuration::builders::UpdateFunctionConfigurationInputBuilder;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{
    Architecture as LambdaArchitecture, Environment, FunctionCode, FunctionConfiguration, LastUpdateStatus, LogFormat,
    LoggingConfig, Runtime, State, VpcConfig,
};
use sha2::{Digest, Sha256};

use super::error::{if_present, refusal, rejected};
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, signed};
use crate::cloud::{Fault, FaultKind};
use crate::model::{
    Architecture, Code, Function, FunctionField, FunctionName, FunctionSettings, Logging, Tags,
    calls::lambda,
    tags::{ROUTER_SHA256, ROUTER_VERSION},
};

pub(super) async fn read(cloud: &AwsCloud, name: &FunctionName) -> Result<Option<Function>, Fault> {
    let call = cloud.lambda.get_function().function_name(name);
    let Some(answer) = if_present(cloud.call(lambda::GET_FUNCTION, || call.clone().send()).await)? else {
        return Ok(None);
    };
    let configuration = answer.configuration.unwrap_or_else(nothing);
    // A new function can be created once the old one is gone.
    if configuration.state() == Some(&State::Deleting) {
        return Ok(None);
    }
    if let Some(e) = &answer.tags_error {
        return Err(refusal(lambda::LIST_TAGS, Some(e.error_code()), e.message()));
    }
    let mut tags: Tags = answer.tags.unwrap_or_default().into_iter().collect();
    tags.0.retain(|key, _| ![ROUTER_VERSION, ROUTER_SHA256].contains(&key.as_str()));
    let reserved = answer.concurrency.and_then(|c| c.reserved_concurrent_executions);
    let (failed, failed_update) = failures(&configuration);
    Ok(Some(Function {
        name: name.clone(),
        settings: settings(&configuration),
        reserved_concurrency: reserved.map(unsigned),
        failed_update,
        failed,
        tags,
    }))
}

pub(super) async fn create(cloud: &Writing<'_>, function: &Function) -> Result<(), Fault> {
    let action = lambda::CREATE_FUNCTION;
    let Function {
        name,
        settings,
        reserved_concurrency,
        failed_update: _, // Lambda reports it
        failed: _,        // Lambda reports it
        tags,
    } = function;
    let FunctionSettings {
        role,
        runtime,
        architecture,
        handler,
        memory,
        timeout,
        environment,
        code,
        logging,
        extras: _, // kibus sets none
    } = settings;
    let archive = archive(cloud, action, code)?;
    let tags = tags.clone().with_all(&code_tags(code));
    let call = cloud
        .lambda
        .create_function()
        .function_name(name)
        .code(FunctionCode::builder().zip_file(archive).build())
        .architectures(architecture.as_str().into())
        .role(role)
        .runtime(runtime.as_str().into())
        .handler(handler)
        .memory_size(signed(*memory))
        .timeout(signed(*timeout))
        // Lambda does not create a grant for the role of a function without variables.
        .set_environment((!environment.is_empty()).then(|| variables(environment)))
        .logging_config(logging_config(logging))
        .set_tags(Some(tags.0.into_iter().collect()));
    cloud.write(action, || call.clone().send()).await?;
    ready(cloud, name, None).await?;
    match reserved_concurrency {
        Some(_) => reserve(cloud, function).await,
        None => Ok(()),
    }
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Function>) -> Result<(), Fault> {
    let (action, function) = (lambda::UPDATE_FUNCTION_CONFIGURATION, update.to);
    let settings = &function.settings;
    let Changes { fields, tags } = Changes::among(action, update.fields)?;
    let (mut code, mut concurrency) = (false, false);
    let mut configuration = UpdateFunctionConfigurationInput::builder();
    for field in fields {
        match field {
            FunctionField::Code | FunctionField::Architecture => code = true,
            FunctionField::Role
            | FunctionField::Runtime
            | FunctionField::Handler
            | FunctionField::Memory
            | FunctionField::Timeout
            | FunctionField::Environment
            | FunctionField::LoggingGroup
            | FunctionField::LoggingFormat
            // A failed update is sent again.
            | FunctionField::FailedUpdate => configuration = with_settings(configuration, settings),
            // Lambda keeps settings that the call omits, so settings that kibus never makes are removed explicitly.
            FunctionField::Extras => {
                let none = VpcConfig::builder().set_subnet_ids(Some(Vec::new()));
                configuration = configuration
                    .set_layers(Some(Vec::new()))
                    .vpc_config(none.set_security_group_ids(Some(Vec::new())).build())
                    .set_file_system_configs(Some(Vec::new()))
                    .kms_key_arn("");
            }
            FunctionField::ReservedConcurrency => concurrency = true,
            // No update can change this; a check of the plan refuses it.
            FunctionField::Failed => {}
        }
    }
    if code {
        upload(cloud, function).await?;
    }
    if configuration != UpdateFunctionConfigurationInput::builder() {
        let call = configuration.function_name(&function.name);
        let send = || call.clone().send_with(&cloud.lambda);
        cloud.write(action, send).await?;
        ready(cloud, &function.name, None).await?;
    }
    if concurrency {
        reserve(cloud, function).await?;
    }
    let untag = cloud.lambda.untag_resource().resource(cloud.scope.function_arn(&function.name));
    let untag = untag.set_tag_keys(Some(tags.remove.clone()));
    tags.write(
        cloud.call(lambda::UNTAG_RESOURCE, || untag.clone().send()),
        tag(cloud, &function.name, tags.set.clone()),
    )
    .await
}

async fn tag(cloud: &AwsCloud, name: &FunctionName, tags: Tags) -> Result<(), Fault> {
    let call = cloud.lambda.tag_resource().resource(cloud.scope.function_arn(name));
    let call = call.set_tags(Some(tags.0.into_iter().collect()));
    cloud.call(lambda::TAG_RESOURCE, || call.clone().send()).await.map(drop)
}

async fn upload(cloud: &Writing<'_>, function: &Function) -> Result<(), Fault> {
    let action = lambda::UPDATE_FUNCTION_CODE;
    let settings = &function.settings;
    let archive = archive(cloud, action, &settings.code)?;
    tag(cloud, &function.name, code_tags(&settings.code)).await?;
    let call = cloud.lambda.update_function_code().function_name(&function.name).zip_file(archive);
    let call = call.architectures(settings.architecture.as_str().into());
    cloud.write(action, || call.clone().send()).await?;
    ready(cloud, &function.name, None).await.map(drop)
}

pub(super) async fn delete(cloud: &Writing<'_>, name: &FunctionName) -> Result<(), Fault> {
    let call = cloud.lambda.delete_function().function_name(name);
    let send = || call.clone().send();
    if !cloud.remove(lambda::DELETE_FUNCTION, send).await? {
        return Ok(());
    }
    // Until then, its name cannot be reused.
    let read = || cloud.lambda.get_function().function_name(name).send();
    cloud.gone(GET, WaitReason::FunctionLeaving, read).await
}

async fn reserve(cloud: &Writing<'_>, function: &Function) -> Result<(), Fault> {
    let (lambda, name) = (&cloud.lambda, &function.name);
    let Some(number) = function.reserved_concurrency else {
        let send = || lambda.delete_function_concurrency().function_name(name).send();
        return cloud.write(lambda::DELETE_FUNCTION_CONCURRENCY, send).await;
    };
    let call = lambda.put_function_concurrency().function_name(name).reserved_concurrent_executions(signed(number));
    let send = || call.clone().send();
    cloud.write(lambda::PUT_FUNCTION_CONCURRENCY, send).await
}

fn code_tags(code: &Code) -> Tags {
    let tags = Tags::default().with(ROUTER_VERSION, &code.version);
    tags.with(ROUTER_SHA256, &code.sha256)
}

/// Adds all settings that are part of a function's configuration.
fn with_settings(
    configuration: UpdateFunctionConfigurationInputBuilder,
    settings: &FunctionSettings,
) -> UpdateFunctionConfigurationInputBuilder {
    let FunctionSettings {
        role,
        runtime,
        architecture: _, // updated with the code
        handler,
        memory,
        timeout,
        environment,
        code: _,
        logging,
        extras: _, // removed on their own
    } = settings;
    configuration
        .role(role)
        .runtime(runtime.as_str().into())
        .handler(handler)
        .memory_size(signed(*memory))
        .timeout(signed(*timeout))
        .environment(variables(environment))
        .logging_config(logging_config(logging))
}

/// The variables. An update with an empty map clears the function's variables; if the map is omitted, they stay.
fn variables(environment: &BTreeMap<String, String>) -> Environment {
    let variables = environment.clone().into_iter().collect();
    Environment::builder().set_variables(Some(variables)).build()
}

fn logging_config(Logging { group, format }: &Logging) -> LoggingConfig {
    LoggingConfig::builder().log_group(group).log_format(format.as_str().into()).build()
}

/// The settings of a function or a version. The version of its code is unknown.
pub(super) fn settings(configuration: &FunctionConfiguration) -> FunctionSettings {
    let environment = configuration.environment().and_then(|environment| environment.variables());
    let architecture = configuration.architectures().first().map(LambdaArchitecture::as_str);
    FunctionSettings {
        role: configuration.role().unwrap_or_default().to_owned(),
        runtime: configuration.runtime().map(Runtime::as_str).unwrap_or_default().to_owned(),
        // Lambda's default if an answer omits it.
        architecture: architecture.and_then(|name| name.parse().ok()).unwrap_or(Architecture::X86_64),
        handler: configuration.handler().unwrap_or_default().to_owned(),
        memory: configuration.memory_size().map_or(0, unsigned),
        timeout: configuration.timeout().map_or(0, unsigned),
        environment: environment.cloned().unwrap_or_default().into_iter().collect(),
        code: Code::of_unknown_version(hex_of(configuration.code_sha256().unwrap_or_default())),
        logging: logging(configuration),
        extras: extras(configuration),
    }
}

/// Where the log goes: by default, and if an answer omits it, to a group with the function's name.
fn logging(configuration: &FunctionConfiguration) -> Logging {
    let config = configuration.logging_config();
    let group = config.and_then(LoggingConfig::log_group).map(str::to_owned);
    let format = config.and_then(LoggingConfig::log_format).map(LogFormat::as_str);
    Logging {
        group: group.unwrap_or_else(|| format!("/aws/lambda/{}", configuration.function_name().unwrap_or_default())),
        format: format.unwrap_or("Text").to_owned(),
    }
}

/// Settings that the router does not need. The id of a subnet or a security group shows what it is, as an ARN does.
fn extras(configuration: &FunctionConfiguration) -> BTreeSet<String> {
    let layers = configuration.layers().iter().filter_map(|layer| layer.arn());
    let vpc = configuration.vpc_config().into_iter();
    let network = vpc.flat_map(|vpc| vpc.subnet_ids().iter().chain(vpc.security_group_ids()));
    let file_systems = configuration.file_system_configs().iter().map(|system| system.arn());
    let key = configuration.kms_key_arn().filter(|key| !key.is_empty());
    let extras = layers.chain(network.map(String::as_str)).chain(file_systems).chain(key);
    extras.map(str::to_owned).collect()
}

pub(super) fn nothing() -> FunctionConfiguration {
    FunctionConfiguration::builder().build()
}

/// Why Lambda can neither run nor update a function; otherwise, why its last update failed.
fn failures(configuration: &FunctionConfiguration) -> (Option<String>, Option<String>) {
    let why = |reason: Option<&str>| {
        let unknown = "Lambda failed to set up the function and gave no reason";
        Some(reason.unwrap_or(unknown).to_owned())
    };
    match (configuration.state(), configuration.last_update_status()) {
        (Some(State::Failed), _) => (why(configuration.state_reason()), None),
        (_, Some(LastUpdateStatus::Failed)) => (None, why(configuration.last_update_status_reason())),
        _ => (None, None),
    }
}

/// The hex of a hash that Lambda reports in base64; empty if it is invalid.
fn hex_of(base64: &str) -> String {
    aws_smithy_types::base64::decode(base64).map(hex::encode).unwrap_or_default()
}

/// The base64 of a hash in hex, as Lambda expects it; empty if it is invalid.
pub(super) fn base64_of(hex: &str) -> String {
    aws_smithy_types::base64::encode(hex::decode(hex).unwrap_or_default())
}

/// Lambda's numbers are never negative, whatever their type.
fn unsigned(number: i32) -> u32 {
    number.try_into().unwrap_or_default()
}

const GET: &str = lambda::GET_FUNCTION;

/// Waits until Lambda has finished a change of a function, or of a version of it; returns its configuration.
pub(super) async fn ready(
    cloud: &Writing<'_>,
    name: &FunctionName,
    version: Option<&str>,
) -> Result<FunctionConfiguration, Fault> {
    let call = cloud.lambda.get_function().function_name(name);
    let call = &call.set_qualifier(version.map(str::to_owned));
    cloud
        .settled(GET, WaitReason::FunctionBusy, || async move {
            // It was just found, or is new.
            let unseen = &[WaitReason::FunctionUnknown];
            let answer = cloud.seen(GET, unseen, || call.clone().send()).await?;
            let configuration = answer.configuration.unwrap_or_else(nothing);
            match failures(&configuration) {
                (Some(reason), _) => return Err(Fault::new(FaultKind::FunctionFailed, GET, reason)),
                (_, Some(reason)) => {
                    let message =
                        format!("Lambda did not apply the update, and the live version keeps running: {reason}");
                    let advice = "fix the cause; the next run repeats the update";
                    return Err(Fault::new(FaultKind::Unsettled, GET, message).advised(advice));
                }
                (None, None) => {}
            }
            // An invocation activates an inactive function. Some servers report no state.
            let is_ready = matches!(configuration.state(), None | Some(State::Active | State::Inactive));
            let is_updated = configuration.last_update_status() != Some(&LastUpdateStatus::InProgress);
            Ok((is_ready && is_updated).then_some(configuration))
        })
        .await
}

/// The planned archive. Any other is refused, so that only the code that was shown is uploaded.
fn archive(cloud: &AwsCloud, action: &str, planned: &Code) -> Result<Blob, Fault> {
    let needs = format!("the plan needs the archive with SHA-256 {}", planned.sha256);
    let unplanned = |has: &str| rejected(action, format!("{needs}, and {has}"));
    let archive = cloud.archive.as_deref().ok_or_else(|| unplanned("this run has none"))?;
    let sha256 = hex::encode(Sha256::digest(archive));
    if sha256 == planned.sha256 {
        Ok(Blob::new(archive))
    } else {
        Err(unplanned(&format!("this run has one with {sha256}")))
    }
}
