//! The configuration that Lambda reports of a function, or of a version of one.

use aws_sdk_lambda::types::{
    Architecture as LambdaArchitecture, FunctionConfiguration, LastUpdateStatus, LogFormat, LoggingConfig, Runtime,
    State,
};

use crate::model::resource::{Architecture, Code, Extras, FunctionSettings, Logging};

/// The settings of a function or a version. The version of its code is unknown.
pub(in crate::aws) fn settings(configuration: &FunctionConfiguration) -> FunctionSettings {
    let environment = configuration
        .environment()
        .and_then(|environment| environment.variables());
    let architecture = configuration.architectures().first().map(LambdaArchitecture::as_str);
    FunctionSettings {
        role: configuration.role().unwrap_or_default().to_owned(),
        runtime: configuration
            .runtime()
            .map(Runtime::as_str)
            .unwrap_or_default()
            .to_owned(),
        // Lambda's default, where an answer leaves it out.
        architecture: architecture
            .and_then(|name| name.parse().ok())
            .unwrap_or(Architecture::X86_64),
        handler: configuration.handler().unwrap_or_default().to_owned(),
        memory: configuration.memory_size().map_or(0, unsigned),
        timeout: configuration.timeout().map_or(0, unsigned),
        environment: environment.cloned().unwrap_or_default().into_iter().collect(),
        code: Code::of_unknown_version(hex_of(configuration.code_sha256().unwrap_or_default())),
        logging: logging(configuration),
        extras: extras(configuration),
    }
}

/// Where the log goes: by default, and if an answer leaves it out, to a group of the function's name.
fn logging(configuration: &FunctionConfiguration) -> Logging {
    let config = configuration.logging_config();
    let group = config.and_then(LoggingConfig::log_group).map(str::to_owned);
    let format = config.and_then(LoggingConfig::log_format).map(LogFormat::as_str);
    Logging {
        group: group.unwrap_or_else(|| format!("/aws/lambda/{}", configuration.function_name().unwrap_or_default())),
        format: format.unwrap_or("Text").to_owned(),
    }
}

fn extras(configuration: &FunctionConfiguration) -> Extras {
    let layers = configuration.layers().iter().filter_map(|layer| layer.arn());
    let network = configuration
        .vpc_config()
        .map(|vpc| vpc.subnet_ids().iter().chain(vpc.security_group_ids()));
    let key = configuration.kms_key_arn().filter(|key| !key.is_empty());
    Extras {
        layers: layers.map(str::to_owned).collect(),
        network: network.into_iter().flatten().cloned().collect(),
        file_systems: configuration
            .file_system_configs()
            .iter()
            .map(|system| system.arn().to_owned())
            .collect(),
        kms_key: key.map(str::to_owned),
    }
}

/// An empty configuration.
pub(in crate::aws) fn nothing() -> FunctionConfiguration {
    FunctionConfiguration::builder().build()
}

/// What failed in Lambda.
pub(super) enum LambdaFailure {
    /// Setting up the function.
    Function,
    /// The last update.
    Update,
}

/// What failed in Lambda for a function, with the reason.
pub(super) fn failure(configuration: &FunctionConfiguration) -> Option<(LambdaFailure, String)> {
    let (failure, reason) = match (configuration.state(), configuration.last_update_status()) {
        (Some(State::Failed), _) => (LambdaFailure::Function, configuration.state_reason()),
        (_, Some(LastUpdateStatus::Failed)) => (LambdaFailure::Update, configuration.last_update_status_reason()),
        _ => return None,
    };
    let reason = reason.unwrap_or("Lambda failed to set up the function and gave no reason");
    Some((failure, reason.to_owned()))
}

/// The hex of a hash that Lambda reports in base64; empty if it is invalid.
fn hex_of(base64: &str) -> String {
    aws_smithy_types::base64::decode(base64)
        .map(hex::encode)
        .unwrap_or_default()
}

/// The base64 of a hash in hex, as Lambda expects it; empty if it is invalid.
pub(in crate::aws) fn base64_of(hex: &str) -> String {
    aws_smithy_types::base64::encode(hex::decode(hex).unwrap_or_default())
}

/// Lambda's numbers are never negative, whatever their type.
pub(super) fn unsigned(number: i32) -> u32 {
    number.try_into().unwrap_or_default()
}
