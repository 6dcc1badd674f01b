//! CloudWatch dashboards.

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::error::if_present;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, document, still_absent};
use crate::cloud::Fault;
use crate::model::{Dashboard, DashboardField, DashboardName, ResourceId, calls::cloudwatch};

pub(super) async fn read(cloud: &AwsCloud, name: &DashboardName) -> Result<Option<Dashboard>, Fault> {
    let input = json!({ "DashboardName": name });
    let answer = cloud.json::<Value>(&cloud.metrics, cloudwatch::GET_DASHBOARD, input);
    Ok(if_present(answer.await)?.map(|answer| Dashboard {
        name: name.clone(),
        body: document::read(answer["DashboardBody"].as_str().unwrap_or_default()),
    }))
}

pub(super) async fn create(cloud: &Writing<'_>, dashboard: &Dashboard) -> Result<(), Fault> {
    // The call silently replaces a dashboard of this name.
    let id = ResourceId::Dashboard(dashboard.name.clone());
    still_absent(cloud, cloudwatch::PUT_DASHBOARD, &id).await?;
    put(cloud, dashboard).await
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Dashboard>) -> Result<(), Fault> {
    let Changes { fields, tags: _ } = Changes::among(cloudwatch::PUT_DASHBOARD, update.fields)?;
    for field in fields {
        match field {
            DashboardField::Body => put(cloud, update.to).await?,
        }
    }
    Ok(())
}

pub(super) async fn delete(cloud: &Writing<'_>, name: &DashboardName) -> Result<(), Fault> {
    let input = json!({ "DashboardNames": [name] });
    let send = || cloud.json::<IgnoredAny>(&cloud.metrics, cloudwatch::DELETE_DASHBOARDS, input.clone());
    if_present(cloud.until_seen(cloudwatch::DELETE_DASHBOARDS, &[], send).await).map(drop)
}

async fn put(cloud: &Writing<'_>, dashboard: &Dashboard) -> Result<(), Fault> {
    let input = json!({ "DashboardName": dashboard.name, "DashboardBody": dashboard.body.compact() });
    let send = || cloud.json::<IgnoredAny>(&cloud.metrics, cloudwatch::PUT_DASHBOARD, input.clone());
    let put = cloud.until_seen(cloudwatch::PUT_DASHBOARD, &[], send);
    put.await.map(drop)
}
