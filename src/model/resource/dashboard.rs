//! CloudWatch dashboards.

use super::particulars::{Ownership, Particulars, fields};
use crate::model::{
    Document, Scope,
    name::{all, names},
    scope::fixed,
};

names! {
    /// The name of a dashboard (CloudWatch API reference, `PutDashboard`).
    DashboardName: "dashboard name",
        "1 to 255 letters, digits, `-` and `_`",
        |s| !s.is_empty() && s.len() <= 255 && all(s, "-_");
}

fields! {
    DashboardField of Dashboard {
        name: _, // names the resource
        body,
    } {
        Body = "body": body.clone(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dashboard {
    pub name: DashboardName,
    pub body: Document,
}

impl Scope {
    /// All Regions of an account share the names of dashboards (CloudWatch API reference, `PutDashboard`).
    pub fn dashboard(&self) -> DashboardName {
        fixed(format!("{}-hub-{}", self.bus, self.region))
    }

    pub fn dashboard_arn(&self, dashboard: &DashboardName) -> String {
        let (partition, account) = (&self.partition, &self.account);
        format!("arn:{partition}:cloudwatch::{account}:dashboard/{dashboard}")
    }

    /// The ownership text in this bus's dashboard, since CloudWatch returns no tags with a dashboard.
    pub fn dashboard_marker(&self) -> String {
        format!("kibus manages this dashboard of bus `{}` in {}", self.bus, self.region)
    }
}

impl Dashboard {
    fn widgets(&self) -> &[serde_json::Value] {
        self.body.value()["widgets"].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn is_of(&self, scope: &Scope) -> bool {
        let marker = scope.dashboard_marker();
        let texts = self.widgets().iter().filter_map(|widget| widget["properties"]["markdown"].as_str());
        texts.into_iter().any(|text| text.contains(&marker))
    }
}

impl Particulars for Dashboard {
    fn ownership(&self, scope: &Scope) -> Ownership {
        Ownership::Content(self.is_of(scope))
    }

    fn summary(&self) -> String {
        format!("{} widgets", self.widgets().len())
    }
}
