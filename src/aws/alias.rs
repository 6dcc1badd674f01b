//! Aliases of Lambda functions, and the versions behind them.
//!
//! A version has no tags. What its code is said to be stands in its description, written when it is published. An
//! alias only moves to a version that has passed its self-test, and its description lists the versions before.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_lambda::types::{AliasRoutingConfiguration, FunctionConfiguration};

use super::AwsCloud;
use super::error::{Answer, if_present, in_use, rejected};
use super::function;
use super::self_test;
use super::settle::{Waiting, taken};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::{Alias, Code, FunctionSettings, History};

impl AwsCloud {
    /// What a published version of a function consists of; nothing if there is no such version.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn version(&self, name: &FunctionName, number: u64) -> Result<Option<FunctionSettings>, Fault> {
        let call = self.lambda.get_function().function_name(name.as_str());
        let answer = call.qualifier(number.to_string()).send().await;
        let version = if_present(answer.answer("lambda:GetFunction"))?;
        Ok(version
            .and_then(|version| version.configuration)
            .map(|configuration| published(&configuration)))
    }
}

pub(super) async fn read(cloud: &AwsCloud, name: &FunctionName, alias: &str) -> Result<Option<Alias>, Fault> {
    let call = cloud.lambda.get_alias().function_name(name.as_str()).name(alias);
    let (answer, versions) = tokio::join!(call.send(), published_versions(cloud, name));
    let Some(answer) = if_present(answer.answer("lambda:GetAlias"))? else {
        return Ok(None);
    };
    let versions = versions?;
    let number = answer.function_version.as_deref().unwrap_or_default();
    let call = cloud
        .lambda
        .get_function()
        .function_name(name.as_str())
        .qualifier(number);
    let version = if_present(call.send().await.answer("lambda:GetFunction"))?;
    // An alias can outlive its version. Then all of its settings differ.
    let configuration = version
        .and_then(|version| version.configuration)
        .unwrap_or_else(function::nothing);
    let number: Option<u64> = number.parse().ok();
    let description = answer.description.unwrap_or_default();
    let weights = answer
        .routing_config
        .and_then(|routing| routing.additional_version_weights);
    let mut history = History::saved(&description, number);
    history.before.retain(|number| versions.contains(number));
    Ok(Some(Alias {
        function: name.clone(),
        name: alias.to_owned(),
        settings: published(&configuration),
        version: number,
        shares: weights
            .unwrap_or_default()
            .into_iter()
            .map(|(version, weight)| format!("version {version}: {weight}"))
            .collect(),
        history,
        versions,
    }))
}

/// The existing versions that kibus published: their description says which code they have, and they have it.
async fn published_versions(cloud: &AwsCloud, name: &FunctionName) -> Result<BTreeSet<u64>, Fault> {
    let call = cloud.lambda.list_versions_by_function().function_name(name.as_str());
    let mut pages = call.into_paginator().items().send();
    let mut versions = BTreeSet::new();
    while let Some(version) = pages.next().await {
        let Some(version) = if_present(version.answer("lambda:ListVersionsByFunction"))? else {
            break;
        };
        // `$LATEST` has no number.
        let number = version.version().and_then(|number| number.parse::<u64>().ok());
        versions.extend(number.filter(|_| published(&version).code.is_as_recorded()));
    }
    Ok(versions)
}

/// What a published version consists of.
fn published(configuration: &FunctionConfiguration) -> FunctionSettings {
    let (version, sha256) = said(configuration.description().unwrap_or_default());
    function::settings(configuration, version, sha256)
}

pub(super) async fn create(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    let action = "lambda:CreateAlias";
    let version = publish(cloud, &alias.function, waiting).await?;
    prove(cloud, alias, version, None, waiting).await?;
    let history = History::default();
    taken(action, waiting, || {
        let call = cloud.lambda.create_alias().function_name(alias.function.as_str());
        let call = call.name(&alias.name).function_version(version.to_string());
        let call = call.description(history.describe(version));
        async move { call.send().await.answer(action) }
    })
    .await
    .map(drop)
}

/// Moves the alias: to what the function is now, or back to the version that the plan names.
pub(super) async fn update(cloud: &AwsCloud, from: &Alias, to: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    if let (Some(version), Some(_)) = (to.version, to.history.back_from) {
        self_test::pass(cloud, to, version, from.version, waiting).await??;
        // What came after stays: it is to be fixed, or to be gone forward to.
        return point(cloud, to, version, &to.history, waiting).await;
    }
    let version = publish(cloud, &to.function, waiting).await?;
    prove(cloud, to, version, from.version, waiting).await?;
    point(cloud, to, version, &to.history.moved_to(version), waiting).await?;
    let unused = from
        .versions
        .difference(&to.versions)
        .filter(|number| **number != version);
    delete_versions(cloud, &to.function, unused).await
}

/// Lets a version that was just published take its self-test.
async fn prove(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    live: Option<u64>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let verdict = self_test::pass(cloud, alias, version, live, waiting).await?;
    if verdict.is_err() {
        function::doubt(cloud, &alias.function).await;
    }
    verdict
}

async fn point(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    history: &History,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let action = "lambda:UpdateAlias";
    taken(action, waiting, || {
        let call = cloud.lambda.update_alias().function_name(alias.function.as_str());
        let call = call.name(&alias.name).function_version(version.to_string());
        let call = call.description(history.describe(version));
        // Without a word about them, the weights of other versions stay.
        let alone = AliasRoutingConfiguration::builder().set_additional_version_weights(Some(HashMap::new()));
        let call = call.routing_config(alone.build());
        async move { call.send().await.answer(action) }
    })
    .await
    .map(drop)
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

async fn delete_versions(
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
