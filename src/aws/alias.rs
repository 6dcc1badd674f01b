//! Aliases of Lambda functions.
//!
//! An alias only moves to a version that has passed its self-test. One that fails is deleted, so that no rollback finds it.

use std::collections::HashMap;

use aws_sdk_lambda::types::{AliasRoutingConfiguration, State};

use super::AwsCloud;
use super::changes::Update;
use super::error::if_present;
use super::function;
use super::self_test;
use super::version::{self, configuration, publish, published};
use super::wait::Waiting;
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::Alias;
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
    let weights = answer.routing_config.and_then(|r| r.additional_version_weights);
    let weights = weights.unwrap_or_default().into_iter();
    let alias = Alias {
        function: name.clone(),
        name: alias.to_owned(),
        settings: published(&configuration),
        version: number,
        moves_to: None,
        shares: weights
            .map(|(version, weight)| format!("version {version}: {weight}"))
            .collect(),
        versions,
    };
    Ok(Some((alias, state)))
}

pub(super) async fn create(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    let version = published_and_tested(cloud, alias, None, waiting).await?;
    let call = cloud.lambda.create_alias().function_name(&alias.function);
    let call = call.name(&alias.name).function_version(version.to_string());
    let answer = cloud.accepted("lambda:CreateAlias", waiting, || call.clone().send());
    answer.await.map(drop)
}

/// Points the alias to what the function is now, or to the older version that the plan names.
pub(super) async fn update(
    cloud: &AwsCloud,
    Update { from, to, .. }: Update<'_, Alias>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    if let Some(version) = to.moves_to {
        tested(cloud, to, version, from.version, waiting).await?;
        // Newer versions stay, so that a later upgrade can use them.
        return point(cloud, to, version, waiting).await;
    }
    let version = published_and_tested(cloud, to, from.version, waiting).await?;
    point(cloud, to, version, waiting).await?;
    let unused = from
        .versions
        .difference(&to.versions)
        .filter(|number| **number != version);
    version::delete(cloud, &to.function, unused).await
}

/// Publishes a version that works, while the alias points to version `live`, if it exists.
async fn published_and_tested(
    cloud: &AwsCloud,
    alias: &Alias,
    live: Option<u64>,
    waiting: Waiting<'_>,
) -> Result<u64, Fault> {
    let version = publish(cloud, alias, waiting).await?;
    match tested(cloud, alias, version, live, waiting).await {
        Ok(()) => Ok(version),
        Err(fault) => {
            // Lambda answers with the live version if nothing has changed. A stop is no verdict.
            if live != Some(version) && fault.kind == FaultKind::Rejected {
                // The fault of the test tells more than that of the delete.
                version::delete(cloud, &alias.function, std::iter::once(&version))
                    .await
                    .ok();
            }
            Err(fault)
        }
    }
}

async fn tested(
    cloud: &AwsCloud,
    alias: &Alias,
    version: u64,
    live: Option<u64>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let state = match live {
        Some(live) => format!("alias `{}` stays at version {live}", alias.name),
        None => format!("alias `{}` points to no version yet", alias.name),
    };
    self_test::pass(cloud, (&alias.function, version), &alias.settings, &state, waiting).await
}

async fn point(cloud: &AwsCloud, alias: &Alias, version: u64, waiting: Waiting<'_>) -> Result<(), Fault> {
    let Alias {
        function,
        name,
        settings: _, // published with the version
        version: _,  // Lambda numbers what is published
        moves_to: _, // the version, if it exists already
        shares: _,   // kibus sets none
        versions: _, // the others are deleted after the move
    } = alias;
    let call = cloud.lambda.update_alias().function_name(function);
    let call = call.name(name).function_version(version.to_string());
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
