//! Aliases of Lambda functions.
//!
//! An alias only moves to a version that has passed its self-test. One that fails is deleted, so that no rollback finds it.

use std::collections::HashMap;

use aws_sdk_lambda::operation::get_alias::GetAliasOutput;
use aws_sdk_lambda::types::{AliasRoutingConfiguration, State};

use super::changes::Update;
use super::error::if_present;
use super::version::{self, configuration, publish, published};
use super::wait::Waiting;
use super::{AwsCloud, function, self_test};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::Alias;
use crate::model::resource::calls::lambda;
use crate::model::status::VersionState;

/// The alias, and the state of the version that it points to, if that exists.
pub(super) async fn read(
    cloud: &AwsCloud,
    name: &FunctionName,
    alias: &str,
) -> Result<Option<(Alias, Option<VersionState>)>, Fault> {
    let (answer, behind, versions) = tokio::try_join!(
        get(cloud, name, alias),
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
    let alias = Alias {
        function: name.clone(),
        name: alias.to_owned(),
        settings: published(&configuration),
        version: number,
        moves_to: None,
        shares: weights(&answer)
            .into_iter()
            .map(|(version, weight)| format!("version {version}: {weight}"))
            .collect(),
        versions,
        revision: answer.revision_id,
    };
    Ok(Some((alias, state)))
}

async fn get(cloud: &AwsCloud, name: &FunctionName, alias: &str) -> Result<Option<GetAliasOutput>, Fault> {
    let call = cloud.lambda.get_alias().function_name(name).name(alias);
    if_present(cloud.call(lambda::GET_ALIAS, || call.clone().send()).await)
}

/// The other versions of an alias, with their shares of the invocations.
fn weights(answer: &GetAliasOutput) -> HashMap<String, f64> {
    let routing = answer.routing_config();
    let weights = routing.and_then(AliasRoutingConfiguration::additional_version_weights);
    weights.cloned().unwrap_or_default()
}

pub(super) async fn create(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<(), Fault> {
    let version = published_and_tested(cloud, alias, None, waiting).await?;
    let call = cloud.lambda.create_alias().function_name(&alias.function);
    let call = call.name(&alias.name).function_version(version.to_string());
    let answer = cloud.accepted(lambda::CREATE_ALIAS, waiting, || call.clone().send());
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
        return point(cloud, from, version, waiting).await;
    }
    let version = published_and_tested(cloud, to, from.version, waiting).await?;
    point(cloud, from, version, waiting).await?;
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

/// Points the alias that was read to this version alone, unless it has changed since.
async fn point(cloud: &AwsCloud, read: &Alias, version: u64, waiting: Waiting<'_>) -> Result<(), Fault> {
    let Alias {
        function,
        name,
        settings: _, // published with the version
        version: _,  // Lambda numbers what is published
        moves_to: _, // the version, if it exists already
        shares: _,   // kibus sets none
        versions: _, // the others are deleted after the move
        revision,
    } = read;
    let call = cloud.lambda.update_alias().function_name(function);
    let call = call.name(name).function_version(version.to_string());
    // If the call leaves them out, the weights of other versions stay.
    let alone = AliasRoutingConfiguration::builder().set_additional_version_weights(Some(HashMap::new()));
    let call = call.routing_config(alone.build()).set_revision_id(revision.clone());
    match cloud
        .accepted(lambda::UPDATE_ALIAS, waiting, || call.clone().send())
        .await
    {
        // If the answer was lost, the SDK has repeated the call, and the first one made the change.
        Err(fault) if fault.kind == FaultKind::Changed => {
            let now = get(cloud, function, name).await?;
            let moved =
                now.is_some_and(|now| now.function_version() == Some(&version.to_string()) && weights(&now).is_empty());
            moved.then_some(()).ok_or(fault)
        }
        answer => answer.map(drop),
    }
}

/// Its versions stay until the function is deleted.
pub(super) async fn delete(cloud: &AwsCloud, name: &FunctionName, alias: &str, _: Waiting<'_>) -> Result<(), Fault> {
    let call = cloud.lambda.delete_alias().function_name(name).name(alias);
    if_present(cloud.call(lambda::DELETE_ALIAS, || call.clone().send()).await).map(drop)
}
