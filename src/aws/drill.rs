//! What a drill reads and changes in EC2 and in the Fault Injection Service.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{if_present, rejected};
use super::read::metric_sum;
use super::{AwsCloud, Page, taken};
use crate::cloud::{Fault, FaultKind, Read, Waiting, Write};
use crate::drill::{DrillCloud, Experiment, Template};
use crate::model::{
    Document, Instance, QueueName, Resource, ResourceId, Tags,
    calls::{ec2, fis},
};
use crate::plan::Change;
use crate::wire::ec2::{describe_instances, instances};

/// The paths of the two kinds of resource, which are also the names of their lists.
const TEMPLATES: &str = "experimentTemplates";
const EXPERIMENTS: &str = "experiments";

/// A member of a FIS response.
fn member<T: for<'a> Deserialize<'a>>(action: &str, mut answer: Value, name: &str) -> Result<T, Fault> {
    let member = answer.get_mut(name).map(Value::take).unwrap_or_default();
    serde_json::from_value(member).map_err(|e| rejected(action, format!("the answer holds no {name}: {e}")))
}

impl AwsCloud {
    /// The items of every page of a list of FIS, by the names of its path and of a parameter.
    async fn fis_list<T: for<'a> Deserialize<'a>>(
        &self,
        action: &'static str,
        list: &'static str,
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, Fault> {
        let page = |token: Option<String>| async move {
            let mut query = query.to_vec();
            query.extend(token.as_deref().map(|token| ("nextToken", token)));
            self.fis.get(super::operation(action), &[list], &query).await
        };
        let items = self.pages(action, page, |page| -> Page<Value> { taken(page, [list, "nextToken"]) });
        let read = |item| serde_json::from_value(item).map_err(|e| rejected(action, e.to_string()));
        items.await?.into_iter().map(read).collect()
    }
}

impl DrillCloud for AwsCloud {
    async fn instances(&self, filter: (&str, &str)) -> Result<Vec<Instance>, Fault> {
        let action = ec2::DESCRIBE_INSTANCES;
        let page = |token: Option<String>| async move { describe_instances(&self.ec2, filter, token.as_deref()).await };
        let read = |answer: String| match instances(&answer) {
            Ok((found, token)) => (Some(found.into_iter().map(Ok).collect()), token),
            Err(error) => (Some(vec![Err(rejected(action, error.to_string()))]), None),
        };
        self.pages(action, page, read).await?.into_iter().collect()
    }

    async fn resource(&self, id: &ResourceId) -> Result<Option<Resource>, Fault> {
        self.read(id).await
    }

    async fn change(&self, change: &Change, waiting: Waiting<'_>) -> Result<(), Fault> {
        self.write(change, waiting).await
    }

    async fn create_template(&self, template: &Document) -> Result<String, Fault> {
        let action = fis::CREATE_EXPERIMENT_TEMPLATE;
        let send = || self.fis.post("CreateExperimentTemplate", &[TEMPLATES], template.value());
        let created: Template = member(action, self.call(action, send).await?, "experimentTemplate")?;
        Ok(created.id)
    }

    async fn templates(&self) -> Result<Vec<Template>, Fault> {
        self.fis_list(fis::LIST_EXPERIMENT_TEMPLATES, TEMPLATES, &[]).await
    }

    async fn template(&self, id: &str) -> Result<Option<Template>, Fault> {
        let (action, path) = (fis::GET_EXPERIMENT_TEMPLATE, [TEMPLATES, id]);
        let send = || self.fis.get("GetExperimentTemplate", &path, &[]);
        let found = if_present(self.call(action, send).await)?;
        found.map(|answer| member(action, answer, "experimentTemplate")).transpose()
    }

    async fn delete_template(&self, id: &str) -> Result<(), Fault> {
        let path = [TEMPLATES, id];
        let send = || self.fis.delete("DeleteExperimentTemplate", &path);
        if_present(self.call(fis::DELETE_EXPERIMENT_TEMPLATE, send).await).map(drop)
    }

    async fn start_experiment(&self, template: &str, token: String, tags: &Tags) -> Result<Experiment, Fault> {
        let action = fis::START_EXPERIMENT;
        let body = json!({ "clientToken": token, "experimentTemplateId": template, "tags": tags.0 });
        let send = || self.fis.post("StartExperiment", &[EXPERIMENTS], &body);
        member(action, self.call(action, send).await?, "experiment")
    }

    async fn experiment(&self, id: &str) -> Result<Experiment, Fault> {
        let (action, path) = (fis::GET_EXPERIMENT, [EXPERIMENTS, id]);
        let send = || self.fis.get("GetExperiment", &path, &[]);
        member(action, self.call(action, send).await?, "experiment")
    }

    async fn experiments(&self, template: &str) -> Result<Vec<Experiment>, Fault> {
        let query = [("experimentTemplateId", template)];
        self.fis_list(fis::LIST_EXPERIMENTS, EXPERIMENTS, &query).await
    }

    async fn stop_experiment(&self, id: &str) -> Result<(), Fault> {
        let path = [EXPERIMENTS, id];
        let send = || self.fis.delete("StopExperiment", &path);
        match self.call(fis::STOP_EXPERIMENT, send).await {
            // An experiment that has ended in the meantime cannot be stopped.
            Err(fault) if fault.kind == FaultKind::Rejected => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn deleted(&self, queue: &QueueName, since: i64) -> Result<u64, Fault> {
        metric_sum(self, queue, "NumberOfMessagesDeleted", since).await
    }

    async fn sent(&self, queue: &QueueName, since: i64) -> Result<u64, Fault> {
        metric_sum(self, queue, "NumberOfMessagesSent", since).await
    }
}
