//! Published versions of Lambda functions.
//!
//! A version cannot change. Its description, written when it is published, names the router's version and the hash of its
//! code, and Lambda reports the hash of the code that it has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_lambda::types::FunctionConfiguration;
use tokio::sync::Mutex;

use super::error::{if_present, in_use, rejected};
use super::wait::Waiting;
use super::{AwsCloud, function, pages};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::FunctionName;
use crate::model::resource::calls::lambda;
use crate::model::resource::{Alias, Code, FunctionSettings};

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

/// The settings that a version of the router was published with; `None` if there is no such version.
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

/// Publishes the planned code of an alias with what the function is now, and returns the version's number.
///
/// Lambda publishes nothing if nothing changed since the last version, and answers with that one. If kibus did not
/// publish it, its description differs; then the function's own description is changed, so that there is something new
/// to publish.
///
/// # Errors
/// When a call fails, or the function has other code than planned: Lambda then publishes nothing.
pub(super) async fn publish(cloud: &AwsCloud, alias: &Alias, waiting: Waiting<'_>) -> Result<u64, Fault> {
    let (name, planned) = (&alias.function, &alias.settings.code);
    let description = description(planned);
    let mut version = publish_as(cloud, alias, &description, waiting).await?;
    if version.description() != Some(&description) {
        let call = cloud.lambda.update_function_configuration().function_name(name);
        let call = call.description(&description);
        let updated = cloud.accepted(lambda::UPDATE_FUNCTION_CONFIGURATION, waiting, || call.clone().send());
        updated.await?;
        version = publish_as(cloud, alias, &description, waiting).await?;
    }
    let number = version.version().unwrap_or_default();
    // The answer of Lambda, and not only its refusal, decides.
    if published(&version).code != *planned {
        let Code { version, sha256 } = planned;
        return Err(rejected(
            PUBLISH,
            format!("version {number} of function `{name}` is not router {version} with SHA-256 {sha256}, as planned"),
        ));
    }
    number
        .parse()
        .map_err(|_| rejected(PUBLISH, format!("`{number}` is not a version number")))
}

/// Publishes the function as the wait for its last update found it. Lambda refuses if it has changed since.
async fn publish_as(
    cloud: &AwsCloud,
    alias: &Alias,
    description: &str,
    waiting: Waiting<'_>,
) -> Result<FunctionConfiguration, Fault> {
    let name = &alias.function;
    // The revision of an update changes once more when Lambda has finished it.
    let updated = function::ready(cloud, name, None, waiting).await?;
    let call = cloud.lambda.publish_version().function_name(name);
    let call = call.description(description).set_revision_id(updated.revision_id);
    // Lambda refuses if the function has other code (Lambda API reference, `PublishVersion`).
    let call = call.code_sha256(function::base64_of(&alias.settings.code.sha256));
    cloud.last_versions.0.lock().await.take();
    let number = match cloud.accepted(PUBLISH, waiting, || call.clone().send()).await {
        // If the answer was lost, the SDK has repeated the call, and the first one published the latest version.
        Err(fault) if fault.kind == FaultKind::Changed => {
            let latest = all(cloud, name).await?.into_iter();
            let latest = latest.filter_map(|version| Some((version.version()?.parse::<u64>().ok()?, version)));
            let latest = latest.max_by_key(|(number, _)| *number);
            let published = latest.filter(|(_, version)| published(version) == alias.settings);
            Some(published.ok_or(fault)?.0.to_string())
        }
        answer => answer?.version,
    };
    function::ready(cloud, name, number.as_deref(), waiting).await
}

/// The last list of the versions of the router, which one more read uses: two questions of a survey need it.
#[derive(Clone, Debug, Default)]
pub(super) struct LastList(Arc<Mutex<Option<List>>>);

#[derive(Debug)]
struct List {
    at: Instant,
    versions: Vec<FunctionConfiguration>,
}

/// How long a list may be used again.
const COUNTS: Duration = Duration::from_secs(5);

/// Every version of the router, whoever published it, and `$LATEST`; none if there is no such function.
pub(super) async fn all(cloud: &AwsCloud, name: &FunctionName) -> Result<Vec<FunctionConfiguration>, Fault> {
    // Of two reads at once, the second one waits for the list of the first.
    let mut last = cloud.last_versions.0.lock().await;
    if let Some(list) = last.take().filter(|list| list.at.elapsed() < COUNTS) {
        return Ok(list.versions);
    }
    let call = cloud.lambda.list_versions_by_function().function_name(name);
    let page = |marker| {
        let call = call.clone().set_marker(marker);
        async { call.send().await.map(|page| (page.versions, page.next_marker)) }
    };
    let versions = pages::all(cloud, lambda::LIST_VERSIONS_BY_FUNCTION, page).await;
    let versions = if_present(versions)?.unwrap_or_default();
    *last = Some(List {
        at: Instant::now(),
        versions: versions.clone(),
    });
    Ok(versions)
}

/// The existing versions that kibus published: their description says which code they have, and they have it.
pub(super) async fn published_by_kibus(cloud: &AwsCloud, name: &FunctionName) -> Result<BTreeSet<u64>, Fault> {
    let versions = all(cloud, name).await?;
    let recorded = versions.iter().filter(|version| published(version).code.has_version());
    // `$LATEST` has no number.
    Ok(recorded.filter_map(|version| version.version()?.parse().ok()).collect())
}

/// Deletes versions.
pub(super) async fn delete(
    cloud: &AwsCloud,
    name: &FunctionName,
    numbers: impl Iterator<Item = &u64>,
) -> Result<(), Fault> {
    cloud.last_versions.0.lock().await.take();
    for number in numbers {
        let call = cloud.lambda.delete_function().function_name(name);
        let call = call.qualifier(number.to_string());
        match if_present(cloud.call(lambda::DELETE_FUNCTION, || call.clone().send()).await) {
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
}
