//! Aliases of Lambda functions.
//!
//! An alias only moves to a version that has passed its self-test. A version that fails is deleted, so that no rollback finds it.
//!
//! A version cannot change. Its description, written when it is published, names the router's version and the hash of
//! its code, and Lambda reports the actual hash.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use aws_sdk_lambda::operation::get_alias::GetAliasOutput;
use aws_sdk_lambda::types::{AliasRoutingConfiguration, FunctionConfiguration, State};
use futures_util::future::try_join_all;
use serde_json::Value;

use super::error::{if_present, in_use, rejected};
use super::invoke::pass_self_test;
use super::write::{Update, Writing};
use super::{AwsCloud, function};
use crate::cloud::{Fault, FaultKind};
use crate::model::{
    Alias, Code, Document, FunctionName, FunctionPermission, FunctionSettings, VersionState, calls::lambda,
    scope::LIVE, texts,
};

/// The alias, and the state of the version that it points to, if that exists.
pub(super) async fn read(
    cloud: &AwsCloud,
    name: &FunctionName,
    alias: &str,
) -> Result<Option<(Alias, Option<VersionState>)>, Fault> {
    let (answer, behind, versions) =
        tokio::try_join!(get(cloud, name, alias), configuration(cloud, name, alias), published_by_kibus(cloud, name))?;
    let Some(answer) = answer else {
        return Ok(None);
    };
    let number = answer.function_version.as_deref().unwrap_or_default();
    // The alias may have moved between the two answers.
    let behind = match behind {
        Some(behind) if behind.version() != Some(number) => configuration(cloud, name, number).await?,
        behind => behind,
    };
    // An alias can outlive its version; then none of its settings are correct.
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
        shares: weights(&answer).into_iter().map(|(version, weight)| format!("version {version}: {weight}")).collect(),
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

pub(super) async fn create(cloud: &Writing<'_>, alias: &Alias) -> Result<(), Fault> {
    let version = published_and_tested(cloud, alias, None).await?;
    let call = cloud.lambda.create_alias().function_name(&alias.function);
    let call = call.name(&alias.name).function_version(version.to_string());
    let send = || call.clone().send();
    cloud.write(lambda::CREATE_ALIAS, send).await
}

/// Points the alias to the function's current state, or to the older version that the plan names.
pub(super) async fn update(cloud: &Writing<'_>, Update { from, to, .. }: Update<'_, Alias>) -> Result<(), Fault> {
    if let Some(version) = to.moves_to {
        tested(cloud, to, version, from.version).await?;
        // Newer versions stay, so that a later upgrade can use them.
        return point(cloud, from, version).await;
    }
    let version = published_and_tested(cloud, to, from.version).await?;
    point(cloud, from, version).await?;
    let unused = from.versions.difference(&to.versions).filter(|number| **number != version);
    delete_versions(cloud, &to.function, unused).await
}

/// Publishes a version that works, while the alias points to version `live`, if it exists.
async fn published_and_tested(cloud: &Writing<'_>, alias: &Alias, live: Option<u64>) -> Result<u64, Fault> {
    let version = publish(cloud, alias).await?;
    match tested(cloud, alias, version, live).await {
        Ok(()) => Ok(version),
        Err(fault) => {
            // Lambda answers with the live version if nothing has changed. A stop is not a verdict.
            if live != Some(version) && fault.kind == FaultKind::Rejected {
                // The fault of the test says more than the fault of the delete.
                delete_versions(cloud, &alias.function, std::iter::once(&version)).await.ok();
            }
            Err(fault)
        }
    }
}

async fn tested(cloud: &Writing<'_>, alias: &Alias, version: u64, live: Option<u64>) -> Result<(), Fault> {
    let state = match live {
        Some(live) => format!("alias `{}` stays at version {live}", alias.name),
        None => format!("alias `{}` points to no version yet", alias.name),
    };
    pass_self_test(cloud, (&alias.function, version), &alias.settings, &state).await
}

/// Points the alias that was read to this version alone, unless it has changed since.
async fn point(cloud: &Writing<'_>, read: &Alias, version: u64) -> Result<(), Fault> {
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
    let call = cloud.lambda.update_alias().function_name(function).name(name).function_version(version.to_string());
    // If the call omits them, the weights of other versions stay.
    let alone = AliasRoutingConfiguration::builder().set_additional_version_weights(Some(HashMap::new()));
    let call = call.routing_config(alone.build()).set_revision_id(revision.clone());
    let send = || call.clone().send();
    match cloud.write(lambda::UPDATE_ALIAS, send).await {
        // If the answer was lost, the SDK has repeated the call, and the first one made the change.
        Err(fault) if fault.kind == FaultKind::Changed => {
            let now = get(cloud, function, name).await?;
            let moved =
                now.is_some_and(|now| now.function_version() == Some(&version.to_string()) && weights(&now).is_empty());
            moved.then_some(()).ok_or(fault)
        }
        answer => answer,
    }
}

/// Its versions stay until the function is deleted.
pub(super) async fn delete(cloud: &Writing<'_>, name: &FunctionName, alias: &str) -> Result<(), Fault> {
    let call = cloud.lambda.delete_alias().function_name(name).name(alias);
    if_present(cloud.call(lambda::DELETE_ALIAS, || call.clone().send()).await).map(drop)
}

const PUBLISH: &str = lambda::PUBLISH_VERSION;

/// The configuration of the version with this number, or behind this alias; `None` if there is no such version.
pub(super) async fn configuration(
    cloud: &AwsCloud,
    name: &FunctionName,
    qualifier: &str,
) -> Result<Option<FunctionConfiguration>, Fault> {
    let call = cloud.lambda.get_function().function_name(name).qualifier(qualifier);
    let answer = cloud.call(lambda::GET_FUNCTION, || call.clone().send()).await;
    Ok(if_present(answer)?.and_then(|version| version.configuration))
}

pub(super) async fn published_settings(cloud: &AwsCloud, version: &u64) -> Result<Option<FunctionSettings>, Fault> {
    let version = configuration(cloud, &cloud.scope.router_function(), &version.to_string()).await?;
    Ok(version.as_ref().map(published))
}

/// The settings of a published version. The version of its code is known if its description is kibus's and names the hash
/// that Lambda reports.
pub(super) fn published(configuration: &FunctionConfiguration) -> FunctionSettings {
    let mut settings = function::settings(configuration);
    let (version, sha256) = described(configuration.description().unwrap_or_default());
    // An alias can point to `$LATEST`, whose code can change while its description stays.
    let is_published = configuration.version().is_some_and(|v| v.parse::<u64>().is_ok());
    if is_published && sha256 == settings.code.sha256 {
        settings.code.version = version;
    }
    settings
}

/// Publishes the planned code of an alias with the function's current settings, and returns the version number.
///
/// Lambda publishes nothing if nothing changed since the last version, and answers with that one. If kibus did not publish it, its
/// description differs; then kibus changes the function's own description, so that there is something new to publish.
async fn publish(cloud: &Writing<'_>, alias: &Alias) -> Result<u64, Fault> {
    let (name, planned) = (&alias.function, &alias.settings.code);
    let description = description(planned);
    let mut version = publish_as(cloud, alias, &description).await?;
    if version.description() != Some(&description) {
        let call = cloud.lambda.update_function_configuration().function_name(name).description(&description);
        let send = || call.clone().send();
        cloud.write(lambda::UPDATE_FUNCTION_CONFIGURATION, send).await?;
        version = publish_as(cloud, alias, &description).await?;
    }
    let number = version.version().unwrap_or_default();
    // Lambda's answer decides, even if it is not a refusal.
    if published(&version).code != *planned {
        let Code { version, sha256 } = planned;
        return Err(rejected(
            PUBLISH,
            format!("version {number} of function `{name}` is not router {version} with SHA-256 {sha256}, as planned"),
        ));
    }
    number.parse().map_err(|_| rejected(PUBLISH, format!("`{number}` is not a version number")))
}

/// Publishes the function in the state after the wait for its last update. Lambda refuses if it has changed since.
async fn publish_as(cloud: &Writing<'_>, alias: &Alias, description: &str) -> Result<FunctionConfiguration, Fault> {
    let name = &alias.function;
    // The revision changes once more when Lambda has finished an update.
    let updated = function::ready(cloud, name, None).await?;
    let call = cloud.lambda.publish_version().function_name(name);
    let call = call.description(description).set_revision_id(updated.revision_id);
    // Lambda refuses if the function has other code (Lambda API reference, `PublishVersion`).
    let call = call.code_sha256(function::base64_of(&alias.settings.code.sha256));
    cloud.last_versions.lock().await.take();
    let number = match cloud.seen(PUBLISH, &[], || call.clone().send()).await {
        // If the answer was lost, the SDK has repeated the call, and the first one published the latest version.
        Err(fault) if fault.kind == FaultKind::Changed => {
            let latest = all_versions(cloud, name).await?.into_iter();
            let latest = latest.filter_map(|version| Some((version.version()?.parse::<u64>().ok()?, version)));
            let latest = latest.max_by_key(|(number, _)| *number);
            let published = latest.filter(|(_, version)| published(version) == alias.settings);
            Some(published.ok_or(fault)?.0.to_string())
        }
        answer => answer?.version,
    };
    function::ready(cloud, name, number.as_deref()).await
}

/// A list of versions, and when it was read.
pub(super) type Versions = (Instant, Vec<FunctionConfiguration>);

/// How long a list of versions can be reused.
const COUNTS: Duration = Duration::from_secs(20);

/// Every version of the router, including versions that others published, and `$LATEST`; none if the function is missing.
pub(super) async fn all_versions(cloud: &AwsCloud, name: &FunctionName) -> Result<Vec<FunctionConfiguration>, Fault> {
    // If two reads run at once, the second waits for the list of the first.
    let mut last = cloud.last_versions.lock().await;
    if let Some((_, versions)) = last.take().filter(|(at, _)| at.elapsed() < COUNTS) {
        return Ok(versions);
    }
    let call = cloud.lambda.list_versions_by_function().function_name(name);
    let page = |marker| call.clone().set_marker(marker).send();
    let versions = cloud.pages(lambda::LIST_VERSIONS_BY_FUNCTION, page, |page| (page.versions, page.next_marker));
    let versions = if_present(versions.await)?.unwrap_or_default();
    *last = Some((Instant::now(), versions.clone()));
    Ok(versions)
}

/// The existing versions that kibus published: their description names their code, and the code matches.
async fn published_by_kibus(cloud: &AwsCloud, name: &FunctionName) -> Result<BTreeSet<u64>, Fault> {
    let versions = all_versions(cloud, name).await?;
    let recorded = versions.iter().filter(|version| published(version).code.has_version());
    // `$LATEST` has no number.
    Ok(recorded.filter_map(|version| version.version()?.parse().ok()).collect())
}

async fn delete_versions(
    cloud: &AwsCloud,
    name: &FunctionName,
    numbers: impl Iterator<Item = &u64>,
) -> Result<(), Fault> {
    cloud.last_versions.lock().await.take();
    for number in numbers {
        let call = cloud.lambda.delete_function().function_name(name).qualifier(number.to_string());
        match if_present(cloud.call(lambda::DELETE_FUNCTION, || call.clone().send()).await) {
            // An alias that kibus does not manage points to it.
            Err(fault) if in_use(&fault) => {}
            answer => drop(answer?),
        }
    }
    Ok(())
}

pub(super) async fn permissions_of_router(cloud: &AwsCloud) -> Result<BTreeSet<FunctionPermission>, Fault> {
    let name = &cloud.scope.router_function();
    let policy = |qualifier: Option<String>| async move {
        let call = cloud.lambda.get_policy().function_name(name).set_qualifier(qualifier);
        match if_present(cloud.call(lambda::GET_POLICY, || call.clone().send()).await)? {
            None => Ok(Vec::new()),
            Some(answer) => statements(answer.policy().unwrap_or_default(), &cloud.scope.function_arn(name)),
        }
    };
    let versions = async {
        let versions = all_versions(cloud, name).await?;
        let numbers = versions.into_iter().filter_map(|version| version.version);
        // The policy of `$LATEST` is the policy of the function.
        let numbers = numbers.filter(|number| number.parse::<u64>().is_ok());
        try_join_all(numbers.map(|number| policy(Some(number)))).await
    };
    let named = try_join_all([None, Some(LIVE.to_owned())].map(policy));
    let (named, versions) = tokio::try_join!(named, versions)?;
    Ok(named.into_iter().chain(versions).flatten().collect())
}

fn statements(policy: &str, function: &str) -> Result<Vec<FunctionPermission>, Fault> {
    let policy =
        Document::parse(policy).map_err(|e| rejected(lambda::GET_POLICY, format!("the policy is not JSON: {e}")))?;
    let read = |statement: &Value| {
        let resource = texts(statement.get("Resource")).first().copied().unwrap_or_default();
        let qualifier = resource.strip_prefix(function).and_then(|rest| rest.strip_prefix(':'));
        let principals = match &statement["Principal"] {
            Value::Object(members) => members.values().flat_map(|value| texts(Some(value))).collect(),
            one => texts(Some(one)),
        };
        FunctionPermission {
            qualifier: qualifier.map(str::to_owned),
            sid: statement["Sid"].as_str().unwrap_or_default().to_owned(),
            action: texts(statement.get("Action")).join(", "),
            principal: principals.join(", "),
        }
    };
    Ok(policy.statements().into_iter().map(read).collect())
}

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

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn only_a_published_version_that_names_its_hash_has_a_known_version() {
        let ours = description(&Code::of_archive("0.1.0", HEX));
        let other = HEX.replace('e', "f");
        for (number, text, version) in [
            ("1", ours.as_str(), "0.1.0"),
            ("$LATEST", &ours, ""),
            ("1", "", ""),
            ("1", "mine", ""),
            ("1", "kibus-router 0.1.0", ""),
            ("1", &format!("{ours} and more"), ""),
            ("1", &format!("kibus-router 0.1.0 sha256 {other}"), ""),
            ("1", "kibus-router 0.1.0 sha256 ", ""),
        ] {
            let configuration = FunctionConfiguration::builder()
                .version(number)
                .description(text)
                .code_sha256(function::base64_of(HEX))
                .build();
            let code = published(&configuration).code;
            assert_eq!(code, Code::of_archive(version, HEX), "{number} {text}");
        }
    }

    #[test]
    fn what_is_no_policy_is_an_error() {
        assert!(statements("", "arn:aws:lambda:us-west-2:111122223333:function:kibus-router").is_err());
    }
}
