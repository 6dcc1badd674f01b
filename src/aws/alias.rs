//! Aliases of Lambda functions.
//!
//! An alias only moves to a version that has passed its self-test, and its description lists the versions before.

use std::collections::HashMap;

use aws_sdk_lambda::types::{AliasRoutingConfiguration, State};

use super::AwsCloud;
use super::changes::Update;
use super::error::if_present;
use super::function;
use super::self_test;
use super::version::{self, configuration, publish, published};
use super::wait::Waiting;
use crate::cloud::Fault;
use crate::model::name::FunctionName;
use crate::model::resource::{Alias, History};
use crate::model::status::VersionState;

/// The alias, and the state of the version that it points to, if that exists.
pub(super) async fn read(
    cloud: &AwsCloud,
    name: &FunctionName,
    alias: &str,
) -> Result<Option<(Alias, Option<VersionState>)>, Fault> {
    let itself = async {
        let call = cloud.lambda.get_alias().function_name(name).name(alias);
        if_present(cloud.call("lambda:GetAlias", || call.clone().send()).await)
    };
    let (answer, behind, versions) = tokio::try_join!(
        itself,
        configuration(cloud, name, alias),
        version::published_by_kibus(cloud, name)
    )?;
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
    let state = behind.as_ref().map(|behind| VersionState {
        version: behind.version().and_then(|number| number.parse().ok()),
        state: behind.state().map(State::as_str).unwrap_or_default().to_owned(),
        reason: behind.state_reason().map(str::to_owned),
    });
    let configuration = behind.unwrap_or_else(function::nothing);
    let number: Option<u64> = number.parse().ok();
    let description = answer.description.unwrap_or_default();
    let weights = answer.routing_config.and_then(|r| r.additional_version_weights);
    let weights = weights.unwrap_or_default().into_iter();
    let mut history = History::saved(&description, number);
    history.before.retain(|number| versions.contains(number));
    let alias = Alias {
        function: name.clone(),
        name: alias.to_owned(),
        settings: published(&configuration),
        version: number,
        shares: weights
            .map(|(version, weight)| format!("version {version}: {weight}"))
            .collect(),
        history,
        versions,
    };
    Ok(Some((alias, state)))
}

pub(super) async fn create(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    let version = publish(cloud, alias, waiting).await?;
    self_test::pass(cloud, alias, version, None, waiting).await?;
    let call = cloud.lambda.create_alias().function_name(&alias.function);
    let call = call.name(&alias.name).function_version(version.to_string());
    let call = call.description(History::default().describe(version));
    let answer = cloud.accepted("lambda:CreateAlias", waiting, || call.clone().send());
    answer.await.map(drop)
}

/// Points the alias to what the function is now, or to the older version that the plan names.
pub(super) async fn update(
    cloud: &AwsCloud,
    Update { from, to, .. }: Update<'_, Alias>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    if let (Some(version), Some(_)) = (to.version, to.history.rolled_back_from) {
        self_test::pass(cloud, to, version, from.version, waiting).await?;
        // Newer versions stay, so that a later upgrade can use them.
        return point(cloud, to, version, &to.history, waiting).await;
    }
    let version = publish(cloud, to, waiting).await?;
    self_test::pass(cloud, to, version, from.version, waiting).await?;
    point(cloud, to, version, &to.history.moved_to(version), waiting).await?;
    let unused = from
        .versions
        .difference(&to.versions)
        .filter(|number| **number != version);
    version::delete(cloud, &to.function, unused).await
}

async fn point(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    history: &History,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let Alias {
        function,
        name,
        settings: _, // published with the version
        version: _,  // Lambda numbers what is published
        shares: _,   // kibus sets none
        history: _,  // depends on that number
        versions: _, // the others are deleted after the move
    } = alias;
    let call = cloud.lambda.update_alias().function_name(function);
    let call = call.name(name).function_version(version.to_string());
    let call = call.description(history.describe(version));
    // If the call leaves them out, the weights of other versions stay.
    let alone = AliasRoutingConfiguration::builder().set_additional_version_weights(Some(HashMap::new()));
    let call = call.routing_config(alone.build());
    let answer = cloud.accepted("lambda:UpdateAlias", waiting, || call.clone().send());
    answer.await.map(drop)
}

/// Its versions stay until the function is deleted.
pub(super) async fn delete(cloud: &AwsCloud, name: &FunctionName, alias: &str, _: Waiting<'_>) -> Result<(), Fault> {
    let call = cloud.lambda.delete_alias().function_name(name).name(alias);
    if_present(cloud.call("lambda:DeleteAlias", || call.clone().send()).await).map(drop)
}
