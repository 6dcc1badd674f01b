//! The parameter with the settings of a hub. Creating is atomic: without `Overwrite`, Parameter Store refuses a name that
//! exists (Systems Manager API reference, `PutParameter`).

use crate::model::resource::calls::ssm;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::changes::{Changes, Update};
use super::error::{if_present, rejected};
use super::wait::{Tried, WaitReason, Waiting, settled};
use super::{AwsCloud, alias, pages, self_test};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::BusName;
use crate::model::resource::{Parameter, ParameterField, ParameterName, SETTINGS_PATH};
use crate::model::settings::{Settings, SettingsChange};
use crate::model::tags::Tags;

const PUT: &str = ssm::PUT_PARAMETER;

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
struct Listed {
    tag_list: Option<Vec<Tag>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tag {
    key: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    parameters: Option<Vec<Named>>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct History {
    parameters: Option<Vec<Written>>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Written {
    version: u64,
    value: String,
    last_modified_user: Option<String>,
}

pub(super) async fn read(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Parameter>, Fault> {
    let tags = async {
        let input = json!({ "ResourceType": "Parameter", "ResourceId": name.as_str() });
        let send = || cloud.ssm.call::<Listed>("ListTagsForResource", input.clone());
        if_present(cloud.call(ssm::LIST_TAGS_FOR_RESOURCE, send).await)
    };
    let (Some(held), Some(tags)) = tokio::try_join!(held(cloud, name), tags)? else {
        return Ok(None);
    };
    let tags = tags.tag_list.into_iter().flatten().map(|tag| (tag.key, tag.value));
    Ok(Some(Parameter {
        name: name.clone(),
        settings: Settings::read(&held.value),
        version: held.version,
        tags: tags.collect(),
    }))
}

async fn held(cloud: &AwsCloud, name: &ParameterName) -> Result<Option<Held>, Fault> {
    let input = json!({ "Name": name.as_str() });
    let send = || cloud.ssm.call::<Found>("GetParameter", input.clone());
    let found = if_present(cloud.call(ssm::GET_PARAMETER, send).await)?;
    Ok(found.map(|found| found.parameter))
}

/// The buses whose settings exist.
pub(super) async fn buses(cloud: &AwsCloud) -> Result<BTreeSet<BusName>, Fault> {
    let page = |token: Option<String>| {
        let input = json!({ "Path": SETTINGS_PATH, "NextToken": token });
        async {
            let page = cloud.ssm.call::<Page>("GetParametersByPath", input).await;
            page.map(|page| (page.parameters, page.next_token))
        }
    };
    let parameters = pages::all(cloud, ssm::GET_PARAMETERS_BY_PATH, page).await?;
    let bus = |named: Named| named.name.strip_prefix(SETTINGS_PATH)?.parse().ok();
    Ok(parameters.into_iter().filter_map(bus).collect())
}

/// Who wrote the settings after this version. It is asked only to tell people, so a denial is an empty answer.
pub(super) async fn changes_since(cloud: &AwsCloud, name: &ParameterName, version: u64) -> Vec<SettingsChange> {
    let page = |token: Option<String>| {
        let input = json!({ "Name": name.as_str(), "NextToken": token });
        async {
            let page = cloud.ssm.call::<History>("GetParameterHistory", input).await;
            page.map(|page| (page.parameters, page.next_token))
        }
    };
    let history = pages::all(cloud, ssm::GET_PARAMETER_HISTORY, page).await;
    let later = history
        .unwrap_or_default()
        .into_iter()
        .filter(|written| written.version > version);
    later
        .map(|written| SettingsChange {
            settings: Settings::read(&written.value),
            by: written.last_modified_user,
        })
        .collect()
}

pub(super) async fn create(cloud: &AwsCloud, parameter: &Parameter, waiting: Waiting<'_>) -> Result<(), Fault> {
    let tags: Vec<Value> = listed(&parameter.tags);
    let mut input = written(parameter)?;
    input["Tags"] = tags.into();
    settled(PUT, waiting, || async {
        match send(cloud, PUT, "PutParameter", &input).await {
            // The name of a parameter that was deleted moments ago.
            Err(fault) if fault.kind == FaultKind::Exists && held(cloud, &parameter.name).await?.is_none() => {
                Ok(Tried::NotYet(WaitReason::ParameterLeaving))
            }
            answer => answer.map(Tried::Done),
        }
    })
    .await
}

/// A version that becomes pinned passes its self-test before anything is written.
pub(super) async fn update(
    cloud: &AwsCloud,
    Update { from, to, fields }: Update<'_, Parameter>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let Changes { fields, tags } = Changes::among(PUT, fields)?;
    let mut writes = false;
    for field in fields {
        match field {
            // One value holds them all.
            ParameterField::Options
            | ParameterField::PinnedVersion
            | ParameterField::OldKeys
            | ParameterField::Content => {
                writes = true;
            }
        }
    }
    if !tags.remove.is_empty() {
        let input = json!({ "ResourceType": "Parameter", "ResourceId": to.name.as_str(), "TagKeys": tags.remove });
        send(cloud, ssm::REMOVE_TAGS_FROM_RESOURCE, "RemoveTagsFromResource", &input).await?;
    }
    if writes {
        let pinned = |parameter: &Parameter| parameter.settings().and_then(|settings| settings.pinned_version);
        if let Some(version) = pinned(to).filter(|version| pinned(from) != Some(*version)) {
            passes(cloud, version, waiting).await?;
        }
        let mut input = written(to)?;
        input["Overwrite"] = true.into();
        let overwrite = || send(cloud, PUT, "PutParameter", &input);
        super::wait::seen(PUT, &[], waiting, overwrite).await?;
    }
    if !tags.set.0.is_empty() {
        let input = json!({ "ResourceType": "Parameter", "ResourceId": to.name.as_str(), "Tags": listed(&tags.set) });
        send(cloud, ssm::ADD_TAGS_TO_RESOURCE, "AddTagsToResource", &input).await?;
    }
    Ok(())
}

pub(super) async fn delete(cloud: &AwsCloud, name: &ParameterName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let input = json!({ "Name": name.as_str() });
    let delete = || send(cloud, ssm::DELETE_PARAMETER, "DeleteParameter", &input);
    if_present(super::wait::seen(ssm::DELETE_PARAMETER, &[], waiting, delete).await).map(drop)
}

async fn passes(cloud: &AwsCloud, version: u64, waiting: Waiting<'_>) -> Result<(), Fault> {
    let function = cloud.scope.router_function();
    let found = alias::configuration(cloud, &function, &version.to_string()).await?;
    let Some(settings) = found.as_ref().map(alias::published) else {
        return Err(rejected(
            PUT,
            format!("version {version} of function `{function}` does not exist"),
        ));
    };
    self_test::pass(
        cloud,
        (&function, version),
        &settings,
        "the alias does not move",
        waiting,
    )
    .await
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

fn listed(tags: &Tags) -> Vec<Value> {
    let tag = |(key, value): (&String, &String)| json!({ "Key": key, "Value": value });
    tags.0.iter().map(tag).collect()
}

/// Makes a call whose answer has nothing of interest.
async fn send(cloud: &AwsCloud, action: &str, operation: &'static str, input: &Value) -> Result<(), Fault> {
    let answer = cloud.call(action, || cloud.ssm.call::<IgnoredAny>(operation, input.clone()));
    answer.await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::options::HubOptions;
    use crate::model::scope::tests::scope;

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
