//! The parameter with the settings of a hub. Creating is atomic: without `Overwrite`, Parameter Store refuses a name that
//! exists (Systems Manager API reference, `PutParameter`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::error::{if_present, rejected};
use super::invoke::pass_self_test;
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, alias};
use crate::cloud::{Fault, FaultKind};
use crate::model::{
    BusName, Parameter, ParameterField, ParameterName, Settings, Tags, calls::ssm, resource::SETTINGS_PATH,
};

const PUT: &str = ssm::PUT_PARAMETER;
pub(super) const LIST: [&str; 2] = ["Parameters", "NextToken"];

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

pub(super) async fn read(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Parameter>, Fault> {
    let tags = async {
        let answer = cloud.json::<Value>(&cloud.ssm, ssm::LIST_TAGS_FOR_RESOURCE, resource(name));
        if_present(answer.await)
    };
    let (Some(held), Some(tags)) = tokio::try_join!(held(cloud, name), tags)? else {
        return Ok(None);
    };
    let text = |tag: &Value, member: &str| tag[member].as_str().map(str::to_owned);
    let tags = tags["TagList"].as_array().into_iter().flatten();
    let tags = tags.filter_map(|tag| Some((text(tag, "Key")?, text(tag, "Value")?)));
    Ok(Some(Parameter {
        name: name.clone(),
        settings: Settings::read(&held.value),
        version: held.version,
        tags: tags.collect(),
    }))
}

async fn held(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Held>, Fault> {
    let input = json!({ "Name": name.as_str() });
    let found = if_present(cloud.json::<Found>(&cloud.ssm, ssm::GET_PARAMETER, input).await)?;
    Ok(found.map(|found| found.parameter))
}

pub(super) async fn buses(cloud: &AwsCloud) -> Result<BTreeSet<BusName>, Fault> {
    let input = json!({ "Path": SETTINGS_PATH });
    let parameters = cloud.json_pages(&cloud.ssm, ssm::GET_PARAMETERS_BY_PATH, input, LIST).await?;
    let bus = |found: &Value| found["Name"].as_str()?.strip_prefix(SETTINGS_PATH)?.parse().ok();
    Ok(parameters.iter().filter_map(bus).collect())
}

pub(super) async fn create(cloud: &Writing<'_>, parameter: &Parameter) -> Result<(), Fault> {
    let mut input = written(parameter)?;
    input["Tags"] = listed(&parameter.tags);
    cloud
        .settled(PUT, WaitReason::ParameterLeaving, || async {
            match send(cloud, PUT, &input).await {
                // The name of a parameter that was deleted moments ago.
                Err(fault) if fault.kind == FaultKind::Exists && held(cloud, &parameter.name).await?.is_none() => {
                    Ok(None)
                }
                answer => answer.map(Some),
            }
        })
        .await
}

/// A version that becomes pinned passes its self-test before anything is written.
pub(super) async fn update(
    cloud: &Writing<'_>,
    Update { from, to, fields }: Update<'_, Parameter>,
) -> Result<(), Fault> {
    let Changes { fields, tags } = Changes::<ParameterField>::among(PUT, fields)?;
    let (mut untag, mut tag) = (resource(&to.name), resource(&to.name));
    untag["TagKeys"] = json!(tags.remove);
    tag["Tags"] = listed(&tags.set);
    // The value lists the user's tags: what it does not list any more is never removed.
    if !tags.remove.is_empty() {
        send(cloud, ssm::REMOVE_TAGS_FROM_RESOURCE, &untag).await?;
    }
    // One value holds all fields.
    if !fields.is_empty() {
        let pinned = |parameter: &Parameter| parameter.settings().and_then(|settings| settings.pinned_version);
        if let Some(version) = pinned(to).filter(|version| pinned(from) != Some(*version)) {
            passes(cloud, version).await?;
        }
        let mut input = written(to)?;
        input["Overwrite"] = true.into();
        cloud.until_seen(PUT, &[], || send(cloud, PUT, &input)).await?;
    }
    if !tags.set.0.is_empty() {
        send(cloud, ssm::ADD_TAGS_TO_RESOURCE, &tag).await?;
    }
    Ok(())
}

pub(super) async fn delete(cloud: &Writing<'_>, name: &ParameterName) -> Result<(), Fault> {
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

/// The part of the request that is the same for a create and an update.
fn written(parameter: &Parameter) -> Result<Value, Fault> {
    let Parameter {
        name,
        settings,
        version: _, // Parameter Store counts
        tags: _,    // set at the creation, or by calls of their own
    } = parameter;
    let settings = settings.as_ref().map_err(|bad| rejected(PUT, bad.to_string()))?;
    // Without a tier, the default of the account decides, and another one costs.
    Ok(json!({ "Name": name.as_str(), "Type": "String", "Tier": "Standard", "Value": settings.document() }))
}

fn listed(tags: &Tags) -> Value {
    let tag = |(key, value): (&String, &String)| json!({ "Key": key, "Value": value });
    tags.0.iter().map(tag).collect()
}

/// What a call about tags is about.
fn resource(name: &ParameterName) -> Value {
    json!({ "ResourceType": "Parameter", "ResourceId": name.as_str() })
}

/// Makes a call whose answer has nothing of interest.
async fn send(cloud: &AwsCloud, action: &'static str, input: &Value) -> Result<(), Fault> {
    let answer = cloud.json::<IgnoredAny>(&cloud.ssm, action, input.clone());
    answer.await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HubOptions, scope::tests::scope};

    #[test]
    fn a_write_names_the_tier_that_costs_nothing() {
        let parameter = Parameter {
            name: scope().settings_parameter(),
            settings: Ok(HubOptions::default().into()),
            version: 0,
            tags: Tags::default(),
        };
        assert_eq!(written(&parameter).unwrap()["Tier"], "Standard");
    }
}
