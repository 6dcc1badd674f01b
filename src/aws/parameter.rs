//! Parameters of Parameter Store: the one with the settings of a hub, and what writes of settings and records share.
//! Creating is atomic: without `Overwrite`, Parameter Store refuses a name that exists (Systems Manager API reference,
//! `PutParameter`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::error::{if_present, rejected};
use super::invoke::pass_self_test;
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, alias};
use crate::cloud::{Fault, FaultKind, Read};
use crate::model::{
    BusName, ClusterRecord, MOST_PAGES, Parameter, ParameterField, ParameterName, Settings, Tags, calls::ssm,
    resource::SETTINGS_PATH,
};

const PUT: &str = ssm::PUT_PARAMETER;
const LIST: [&str; 2] = ["Parameters", "NextToken"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    parameter: Held,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Held {
    value: String,
    version: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Put {
    version: u64,
}

pub(super) async fn read(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Parameter>, Fault> {
    let held = held(cloud, name).await?;
    Ok(held.map(|held| Parameter {
        name: name.clone(),
        settings: Settings::from_document(&held.value),
        version: held.version,
        tags_of_new: Tags::default(),
    }))
}

async fn held(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Held>, Fault> {
    let input = json!({ "Name": name.as_str() });
    let found = if_present(cloud.json::<Found>(&cloud.ssm, ssm::GET_PARAMETER, input).await)?;
    Ok(found.map(|found| found.parameter))
}

pub(super) async fn buses(cloud: &AwsCloud) -> Result<BTreeSet<BusName>, Fault> {
    // AWS would compare a trailing slash with the policy, too.
    let input = json!({ "Path": SETTINGS_PATH.trim_end_matches('/') });
    let parameters = cloud.json_pages(&cloud.ssm, ssm::GET_PARAMETERS_BY_PATH, input, LIST).await?;
    let bus = |found: &Value| found["Name"].as_str()?.strip_prefix(SETTINGS_PATH)?.parse().ok();
    Ok(parameters.iter().filter_map(bus).collect())
}

pub(super) async fn create(cloud: &Writing<'_>, parameter: &Parameter) -> Result<(), Fault> {
    put_new(cloud, &parameter.name, document(parameter)?, &parameter.tags_of_new).await
}

/// A version must pass its self-test before it is pinned; nothing is written before that.
pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Parameter>) -> Result<(), Fault> {
    let Update { from, to, fields } = update;
    let Changes { fields: _, tags: _ } = Changes::<ParameterField>::among(PUT, fields)?;
    let pinned = |parameter: &Parameter| parameter.settings().and_then(|settings| settings.pinned_version);
    if let Some(version) = pinned(to).filter(|version| pinned(from) != Some(*version)) {
        passes(cloud, version).await?;
    }
    put_over(cloud, &to.name, document(to)?, from.version).await
}

/// Deletes the settings of a hub, unless a record of kibus remains: a cluster that another run has added in the meantime.
pub(super) async fn delete(cloud: &Writing<'_>, name: &ParameterName) -> Result<(), Fault> {
    let action = ssm::DELETE_PARAMETER;
    cloud
        .settled(action, WaitReason::RecordsLeaving, || async {
            Ok(added_meanwhile(cloud).await?.is_none().then_some(()))
        })
        .await
        .map_err(|fault| match fault.kind {
            FaultKind::Unsettled => {
                let message = "another run has just added a cluster to this hub; the settings of the hub stay";
                Fault { kind: FaultKind::Changed, message: message.to_owned(), ..fault }
            }
            _ => fault,
        })?;
    delete_one(cloud, name).await
}

/// A record that kibus created, if one remains. A record that another tool created may outlive its hub.
async fn added_meanwhile(cloud: &AwsCloud) -> Result<Option<ParameterName>, Fault> {
    let mut token = None;
    for _ in 0..MOST_PAGES {
        let (records, next) = cloud.records_page(token).await?;
        let of_kibus = |content: &ClusterRecord| content.is_of_kibus();
        if let Some(record) = records.into_iter().find(|record| record.record().is_none_or(of_kibus)) {
            return Ok(Some(record.name));
        }
        token = next;
        if token.is_none() {
            return Ok(None);
        }
    }
    Err(Fault::endless(ssm::GET_PARAMETERS_BY_PATH))
}

async fn delete_one(cloud: &Writing<'_>, name: &ParameterName) -> Result<(), Fault> {
    let input = json!({ "Name": name.as_str() });
    let action = ssm::DELETE_PARAMETER;
    if_present(cloud.until_seen(action, &[], || send(cloud, action, &input)).await).map(drop)
}

async fn passes(cloud: &Writing<'_>, version: u64) -> Result<(), Fault> {
    let function = cloud.scope.router_function();
    let found = alias::configuration(cloud, &function, &version.to_string()).await?;
    let Some(settings) = found.as_ref().map(alias::published) else {
        return Err(rejected(PUT, format!("version {version} of function `{function}` does not exist")));
    };
    let (version, state) = ((&function, version), "the alias does not move");
    pass_self_test(cloud, version, &settings, state).await
}

fn document(parameter: &Parameter) -> Result<String, Fault> {
    let settings = parameter.settings.as_ref().map_err(|bad| rejected(PUT, bad.to_string()))?;
    Ok(settings.document())
}

/// Creates a parameter; fails if it exists.
pub(super) async fn put_new(
    cloud: &Writing<'_>,
    name: &ParameterName,
    value: String,
    tags: &Tags,
) -> Result<(), Fault> {
    let mut input = written(name, value);
    let tag = |(key, value): (&String, &String)| json!({ "Key": key, "Value": value });
    input["Tags"] = tags.0.iter().map(tag).collect();
    cloud
        .settled(PUT, WaitReason::ParameterLeaving, || async {
            match send(cloud, PUT, &input).await {
                // The name may belong to a parameter that was just deleted.
                Err(fault) if fault.kind == FaultKind::Exists && held(cloud, name).await?.is_none() => Ok(None),
                answer => answer.map(Some),
            }
        })
        .await
}

/// Writes a parameter over the version that was read. Every write increments the version, so a higher version shows
/// another writer, unless all writes had this value: the SDK repeats a write if its response is lost.
pub(super) async fn put_over(cloud: &Writing<'_>, name: &ParameterName, value: String, read: u64) -> Result<(), Fault> {
    let mut input = written(name, value.clone());
    input["Overwrite"] = true.into();
    let put = || cloud.json::<Put>(&cloud.ssm, PUT, input.clone());
    let Put { version } = cloud.until_seen(PUT, &[], put).await?;
    if version == read + 1 {
        return Ok(());
    }
    if version <= read {
        let message = "it was deleted after the plan was made, and this command has written it again";
        return Err(Fault::new(FaultKind::Gone, PUT, message));
    }
    let history = cloud.json_pages(&cloud.ssm, ssm::GET_PARAMETER_HISTORY, json!({ "Name": name.as_str() }), LIST);
    // It only shows who it was, so a denial counts as an empty answer.
    let history = history.await.unwrap_or_default();
    let of_others = |one: &&Value| one["Version"].as_u64() > Some(read) && one["Value"].as_str() != Some(&value);
    let others: Vec<&Value> = history.iter().filter(of_others).collect();
    if others.is_empty() && !history.is_empty() {
        return Ok(());
    }
    let by = others.iter().rev().find_map(|one| one["LastModifiedUser"].as_str()).unwrap_or("someone else");
    let message = format!(
        "{} wrote it after the plan was made; it now holds the value of this command, and `aws ssm \
         get-parameter-history` shows the other value",
        by.escape_debug()
    );
    Err(Fault::new(FaultKind::Changed, PUT, message))
}

fn written(name: &ParameterName, value: String) -> Value {
    // Without a tier, the account's default applies, and other tiers cost money.
    json!({ "Name": name.as_str(), "Type": "String", "Tier": "Standard", "Value": value })
}

/// Makes a call and ignores its answer.
pub(super) async fn send(cloud: &AwsCloud, action: &'static str, input: &Value) -> Result<(), Fault> {
    let answer = cloud.json::<IgnoredAny>(&cloud.ssm, action, input.clone());
    answer.await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_names_the_tier_that_costs_nothing() {
        assert_eq!(written(&"/kibus/kibus".parse().unwrap(), "{}".to_owned())["Tier"], "Standard");
    }
}
