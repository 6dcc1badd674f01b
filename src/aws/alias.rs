//! Aliases of Lambda functions, and the versions behind them.
//!
//! A version has no tags. What its code is said to be stands in its description, written when it is published. An
//! alias only ever moves to a version that has passed its self-test, and remembers in its own description where it
//! comes from.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_lambda::types::{AliasRoutingConfiguration, FunctionConfiguration};

use super::AwsCloud;
use super::error::{OrFault, if_present, in_use, rejected};
use super::function;
use super::self_test;
use super::wait::{Waiting, taken};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::{Alias, Code, FunctionSettings, History};

impl AwsCloud {
    /// What a published version of a function consists of; nothing if there is no such version.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn version(&self, name: &FunctionName, number: u64) -> Result<Option<FunctionSettings>, Fault> {
        let version = configuration(self, name, &number.to_string()).await?;
        Ok(version.map(|configuration| published(&configuration)))
    }
}

pub(super) async fn read(cloud: &AwsCloud, name: &FunctionName, alias: &str) -> Result<Option<Alias>, Fault> {
    let alias_itself = async {
        let call = cloud.lambda.get_alias().function_name(name.as_str()).name(alias);
        if_present(call.send().await.or_fault("lambda:GetAlias"))
    };
    let (answer, behind) = tokio::try_join!(alias_itself, configuration(cloud, name, alias))?;
    let Some(answer) = answer else {
        return Ok(None);
    };
    let number = answer.function_version.as_deref().unwrap_or_default();
    // The alias may have moved between the two answers.
    let behind = match behind {
        Some(behind) if behind.version() != Some(number) => configuration(cloud, name, number).await?,
        behind => behind,
    };
    // An alias can outlive its version; then none of its settings are right.
    let configuration = behind.unwrap_or_else(function::nothing);
    let number: Option<u64> = number.parse().ok();
    let description = answer.description.unwrap_or_default();
    let weights = answer
        .routing_config
        .and_then(|routing| routing.additional_version_weights);
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
        history: number
            .map(|number| History::saved(&description, number))
            .unwrap_or_default(),
    }))
}

/// The configuration of the version with this number, or behind this alias; `None` if there is no such version.
async fn configuration(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
) -> Result<Option<FunctionConfiguration>, Fault> {
    let call = cloud.lambda.get_function().function_name(name.as_str());
    let answer = call.qualifier(qualifier).send().await.or_fault("lambda:GetFunction");
    Ok(if_present(answer)?.and_then(|version| version.configuration))
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
        async move { call.send().await.or_fault(action) }
    })
    .await?;
    prune(cloud, &alias.function, version, &history).await
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
    let history = from.forward_to(version);
    point(cloud, to, version, &history, waiting).await?;
    prune(cloud, &to.function, version, &history).await
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
    let Alias {
        function,
        name,
        settings: _, // published with the version
        version: _,  // Lambda numbers what is published
        shares: _,   // kibus sets none
        history: _,  // depends on that number
    } = alias;
    taken(action, waiting, || {
        let call = cloud.lambda.update_alias().function_name(function.as_str());
        let call = call.name(name).function_version(version.to_string());
        let call = call.description(history.describe(version));
        // If the call leaves them out, the weights of other versions stay.
        let alone = AliasRoutingConfiguration::builder().set_additional_version_weights(Some(HashMap::new()));
        let call = call.routing_config(alone.build());
        async move { call.send().await.or_fault(action) }
    })
    .await
    .map(drop)
}

/// Its versions stay; they go with the function.
pub(super) async fn delete(cloud: &AwsCloud, name: &FunctionName, alias: &str) -> Result<(), Fault> {
    let call = cloud.lambda.delete_alias().function_name(name.as_str()).name(alias);
    if_present(call.send().await.or_fault("lambda:DeleteAlias")).map(drop)
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
            async move { call.send().await.or_fault(action) }
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
        async move { call.send().await.or_fault(action) }
    })
    .await?;
    function::settle(cloud, name, published.version(), waiting).await
}

/// Removes the versions that came before and are none to go back to: too old, or never in use.
async fn prune(cloud: &AwsCloud, name: &FunctionName, live: u64, history: &History) -> Result<(), Fault> {
    let call = cloud.lambda.list_versions_by_function().function_name(name.as_str());
    let mut versions = call.into_paginator().items().send();
    let mut ours = BTreeSet::new();
    while let Some(version) = versions.next().await {
        let version = version.or_fault("lambda:ListVersionsByFunction")?;
        let (said, _) = said(version.description().unwrap_or_default());
        // `$LATEST` has no number.
        let number = version.version().and_then(|number| number.parse::<u64>().ok());
        ours.extend(number.filter(|_| !said.is_empty()));
    }
    for number in ours.range(..live).filter(|number| !history.before.contains(number)) {
        let call = cloud
            .lambda
            .delete_function()
            .function_name(name.as_str())
            .qualifier(number.to_string());
        match if_present(call.send().await.or_fault("lambda:DeleteFunction")) {
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
