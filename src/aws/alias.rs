//! Aliases of Lambda functions, and the versions behind them.
//!
//! A version has no tags. What its code is said to be stands in its description, written when it is published.

use aws_sdk_lambda::types::FunctionConfiguration;

use super::AwsCloud;
use super::error::{Answer, if_present, in_use, rejected};
use super::function;
use super::settle::{Waiting, taken};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::{Alias, Code};

/// How many versions before the one in use stay, for a way back.
const KEPT: usize = 2;

pub(super) async fn read(cloud: &AwsCloud, name: &FunctionName, alias: &str) -> Result<Option<Alias>, Fault> {
    let call = cloud.lambda.get_alias().function_name(name.as_str()).name(alias);
    let Some(answer) = if_present(call.send().await.answer("lambda:GetAlias"))? else {
        return Ok(None);
    };
    let number = answer.function_version.unwrap_or_default();
    let call = cloud
        .lambda
        .get_function()
        .function_name(name.as_str())
        .qualifier(&number);
    let version = if_present(call.send().await.answer("lambda:GetFunction"))?;
    // An alias can outlive its version; it is there, and nothing about it is right.
    let configuration = version
        .and_then(|version| version.configuration)
        .unwrap_or_else(function::nothing);
    let (version, sha256) = said(configuration.description().unwrap_or_default());
    Ok(Some(Alias {
        function: name.clone(),
        name: alias.to_owned(),
        settings: function::settings(&configuration, version, sha256),
        version: number.parse().ok(),
    }))
}

pub(super) async fn create(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    let action = "lambda:CreateAlias";
    let version = publish(cloud, &alias.function, waiting).await?;
    taken(action, waiting, || {
        let call = cloud.lambda.create_alias().function_name(alias.function.as_str());
        let call = call.name(&alias.name).function_version(version.to_string());
        async move { call.send().await.answer(action) }
    })
    .await?;
    prune(cloud, &alias.function, version).await
}

pub(super) async fn update(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    let action = "lambda:UpdateAlias";
    let version = publish(cloud, &alias.function, waiting).await?;
    taken(action, waiting, || {
        let call = cloud.lambda.update_alias().function_name(alias.function.as_str());
        let call = call.name(&alias.name).function_version(version.to_string());
        async move { call.send().await.answer(action) }
    })
    .await?;
    prune(cloud, &alias.function, version).await
}

/// Its versions stay; they go with the function.
pub(super) async fn delete(cloud: &AwsCloud, name: &FunctionName, alias: &str) -> Result<(), Fault> {
    let call = cloud.lambda.delete_alias().function_name(name.as_str()).name(alias);
    if_present(call.send().await.answer("lambda:DeleteAlias")).map(drop)
}

/// Publishes what the function is now, and gives the version's number.
///
/// Lambda publishes nothing if nothing changed since the last version, and answers with that one. If somebody else
/// published it, its description is not ours; then the function's own description is changed, which makes it
/// something new to publish.
async fn publish(cloud: &AwsCloud, name: &FunctionName, waiting: Waiting<'_>) -> Result<u64, Fault> {
    let action = "lambda:PublishVersion";
    let live = function::settle(cloud, name, None, waiting).await?;
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
        taken(action, waiting, || {
            let call = cloud
                .lambda
                .update_function_configuration()
                .function_name(name.as_str());
            let call = call.description(&description);
            async move { call.send().await.answer(action) }
        })
        .await?;
        let live = function::settle(cloud, name, None, waiting).await?;
        version = publish_as(cloud, name, &live, &description, waiting).await?;
    }
    let number = version.version().unwrap_or_default();
    if version.description() != Some(&description) {
        return Err(rejected(
            action,
            format!("version {number} of function `{name}` is not kibus's, and Lambda publishes no other"),
        ));
    }
    number
        .parse()
        .map_err(|_| rejected(action, format!("`{number}` is not the number of a version")))
}

async fn publish_as(
    cloud: &AwsCloud,
    name: &FunctionName,
    live: &FunctionConfiguration,
    description: &str,
    waiting: Waiting<'_>,
) -> Result<FunctionConfiguration, Fault> {
    let action = "lambda:PublishVersion";
    let published = taken(action, waiting, || {
        let call = cloud
            .lambda
            .publish_version()
            .function_name(name.as_str())
            .description(description);
        // Lambda refuses if the code has changed since it was looked at.
        let call = call.set_code_sha256(live.code_sha256().map(str::to_owned));
        async move { call.send().await.answer(action) }
    })
    .await?;
    function::settle(cloud, name, published.version(), waiting).await
}

/// Removes the versions that are too old to go back to.
async fn prune(cloud: &AwsCloud, name: &FunctionName, live: u64) -> Result<(), Fault> {
    let call = cloud.lambda.list_versions_by_function().function_name(name.as_str());
    let mut versions = call.into_paginator().items().send();
    let mut older = Vec::new();
    while let Some(version) = versions.next().await {
        let version = version.answer("lambda:ListVersionsByFunction")?;
        // `$LATEST` has no number.
        older.extend(
            version
                .version()
                .and_then(|number| number.parse::<u64>().ok())
                .filter(|number| *number < live),
        );
    }
    older.sort_unstable();
    older.truncate(older.len().saturating_sub(KEPT));
    for number in older {
        let call = cloud
            .lambda
            .delete_function()
            .function_name(name.as_str())
            .qualifier(number.to_string());
        match if_present(call.send().await.answer("lambda:DeleteFunction")) {
            // Somebody's own alias points to it.
            Err(fault) if in_use(&fault) => {}
            answer => answer.map(drop)?,
        }
    }
    Ok(())
}

/// A version's description: what its code is said to be.
fn description(code: &Code) -> String {
    format!("kibus-router {} sha256 {}", code.version, code.sha256)
}

/// The router's version and the SHA-256 in a description; both empty if it is not one of ours.
fn said(description: &str) -> (String, String) {
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
    fn a_description_says_what_the_code_is() {
        let code = Code::of_archive("0.1.0", "aa");
        assert_eq!(said(&description(&code)), ("0.1.0".to_owned(), "aa".to_owned()));
        for other in [
            "",
            "mine",
            "kibus-router 0.1.0",
            "kibus-router 0.1.0 sha256 aa and more",
        ] {
            assert_eq!(said(other), Default::default(), "{other}");
        }
    }
}
