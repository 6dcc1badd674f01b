//! Published versions of Lambda functions.
//!
//! A version has no tags. Its description, written when it is published, says what its code is.

use std::collections::BTreeSet;

use aws_sdk_lambda::types::FunctionConfiguration;

use super::AwsCloud;
use super::error::{if_present, in_use, rejected};
use super::function;
use super::pages;
use super::wait::{Waiting, accepted};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::{Code, FunctionSettings};

/// The settings of a published version of a function; `None` if there is no such version.
pub(super) async fn read(
    cloud: &AwsCloud,
    name: &FunctionName,
    number: u64,
) -> Result<Option<FunctionSettings>, Fault> {
    let version = configuration(cloud, name, &number.to_string()).await?;
    Ok(version.map(|configuration| published(&configuration)))
}

/// The configuration of the version with this number, or behind this alias; `None` if there is no such version.
pub(super) async fn configuration(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
) -> Result<Option<FunctionConfiguration>, Fault> {
    let call = cloud
        .lambda
        .get_function()
        .function_name(name.as_str())
        .qualifier(qualifier);
    let answer = cloud.call("lambda:GetFunction", || call.clone().send()).await;
    Ok(if_present(answer)?.and_then(|version| version.configuration))
}

/// The settings of a published version.
pub(super) fn published(configuration: &FunctionConfiguration) -> FunctionSettings {
    let (version, sha256) = described(configuration.description().unwrap_or_default());
    function::settings(configuration, version, sha256)
}

/// Publishes what the function is now, and returns the version's number.
///
/// Lambda publishes nothing if nothing changed since the last version, and answers with that one. If kibus did not
/// publish it, its description differs; then the function's own description is changed, so that there is something new
/// to publish.
pub(super) async fn publish(cloud: &AwsCloud, name: &FunctionName, waiting: Waiting<'_>) -> Result<u64, Fault> {
    let action = "lambda:PublishVersion";
    let live = function::ready(cloud, name, None, waiting).await?;
    let Some(function) = function::read(cloud, name).await? else {
        return Err(Fault {
            kind: FaultKind::Gone,
            ..rejected(action, format!("function `{name}` is gone"))
        });
    };
    let description = description(&function.settings.code);
    let mut version = publish_as(cloud, name, &live, &description, waiting).await?;
    if version.description() != Some(&description) {
        let action = "lambda:UpdateFunctionConfiguration";
        accepted(action, waiting, || {
            let call = cloud
                .lambda
                .update_function_configuration()
                .function_name(name.as_str());
            let call = call.description(&description);
            async move { cloud.call(action, || call.clone().send()).await }
        })
        .await?;
        let live = function::ready(cloud, name, None, waiting).await?;
        version = publish_as(cloud, name, &live, &description, waiting).await?;
    }
    let number = version.version().unwrap_or_default();
    if version.description() != Some(&description) {
        return Err(rejected(
            action,
            format!("version {number} of function `{name}` was not published by kibus, and Lambda publishes no other"),
        ));
    }
    number
        .parse()
        .map_err(|_| rejected(action, format!("`{number}` is not a version number")))
}

async fn publish_as(
    cloud: &AwsCloud,
    name: &FunctionName,
    live: &FunctionConfiguration,
    description: &str,
    waiting: Waiting<'_>,
) -> Result<FunctionConfiguration, Fault> {
    let action = "lambda:PublishVersion";
    let published = accepted(action, waiting, || {
        let call = cloud
            .lambda
            .publish_version()
            .function_name(name.as_str())
            .description(description);
        // Lambda refuses if the code has changed since it was read.
        let call = call.set_code_sha256(live.code_sha256().map(str::to_owned));
        async move { cloud.call(action, || call.clone().send()).await }
    })
    .await?;
    function::ready(cloud, name, published.version(), waiting).await
}

/// The existing versions that kibus published: their description says which code they have, and they have it.
pub(super) async fn published_by_kibus(cloud: &AwsCloud, name: &FunctionName) -> Result<BTreeSet<u64>, Fault> {
    let call = cloud.lambda.list_versions_by_function().function_name(name.as_str());
    let page = |marker| {
        let call = call.clone().set_marker(marker);
        async { call.send().await.map(|page| (page.versions, page.next_marker)) }
    };
    let versions = pages::all(cloud, "lambda:ListVersionsByFunction", page).await;
    let versions = if_present(versions)?.unwrap_or_default();
    let recorded = versions
        .iter()
        .filter(|version| published(version).code.is_as_recorded());
    // `$LATEST` has no number.
    Ok(recorded.filter_map(|version| version.version()?.parse().ok()).collect())
}

/// Deletes versions.
pub(super) async fn delete(
    cloud: &AwsCloud,
    name: &FunctionName,
    numbers: impl Iterator<Item = &u64>,
) -> Result<(), Fault> {
    for number in numbers {
        let call = cloud
            .lambda
            .delete_function()
            .function_name(name.as_str())
            .qualifier(number.to_string());
        match if_present(cloud.call("lambda:DeleteFunction", || call.clone().send()).await) {
            // An alias that kibus does not manage points to it.
            Err(fault) if in_use(&fault) => {}
            answer => answer.map(drop)?,
        }
    }
    Ok(())
}

/// The description of a version: what its code is.
fn description(code: &Code) -> String {
    format!("kibus-router {} sha256 {}", code.version, code.sha256)
}

/// The router's version and the SHA-256 in a description; both empty if kibus did not write it.
fn described(description: &str) -> (String, String) {
    let words: Vec<_> = description.split(' ').collect();
    match words.as_slice() {
        ["kibus-router", version, "sha256", sha256] => ((*version).to_owned(), (*sha256).to_owned()),
        _ => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_names_the_code() {
        let code = Code::of_archive("0.1.0", "aa");
        assert_eq!(described(&description(&code)), ("0.1.0".to_owned(), "aa".to_owned()));
        for other in [
            "",
            "mine",
            "kibus-router 0.1.0",
            "kibus-router 0.1.0 sha256 aa and more",
        ] {
            assert_eq!(described(other), Default::default(), "{other}");
        }
    }
}
