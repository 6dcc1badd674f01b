//! What there is in an account, of each kind that kibus creates, found without kibus. The only list of the kinds for what looks
//! for leftovers: a run in a real account, the scenarios that compare an account, and the test of permissions.

use std::error::Error;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use kibus::model::{Kind, resource::SETTINGS_PATH};
use kibus::wire::aws_json::{JsonClient, JsonService, LOGS, METRICS, PARAMETERS};
use serde_json::{Value, json};

use super::account::Account;
use super::emulator::{plain_http, secret};

const LOG_GROUPS: &str = "/aws/lambda/";

type Failed = Box<dyn Error + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    /// The name, without the path that all of its kind have; of what is part of something else, the name of that.
    pub(crate) name: String,
    /// What a call names it by.
    pub(crate) id: String,
}

impl Found {
    fn new(kind: Kind, name: &str, id: impl Into<String>) -> Self {
        Self { kind, name: name.to_owned(), id: id.into() }
    }
}

/// What the caller of a configuration finds in its account and Region.
pub(crate) struct Inventory {
    events: aws_sdk_eventbridge::Client,
    iam: aws_sdk_iam::Client,
    lambda: aws_sdk_lambda::Client,
    sqs: aws_sdk_sqs::Client,
    config: SdkConfig,
}

impl Inventory {
    pub(crate) fn new(config: &SdkConfig) -> Self {
        Self {
            events: aws_sdk_eventbridge::Client::new(config),
            iam: aws_sdk_iam::Client::new(config),
            lambda: aws_sdk_lambda::Client::new(config),
            sqs: aws_sdk_sqs::Client::new(config),
            config: config.clone(),
        }
    }

    /// What is in an account, on its emulator.
    pub(crate) fn of(account: &Account) -> Self {
        let credentials = Credentials::new(&account.id, "test", secret(account.server), None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new(account.region.clone()))
            .http_client(plain_http())
            .endpoint_url(format!("http://127.0.0.1:{}", account.server))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build();
        Self::new(&config)
    }

    fn json(&self, service: JsonService) -> JsonClient {
        JsonClient::new(&self.config, service, StaticRuntimePlugin::new())
    }

    /// Everything whose name begins like this; what needs something else comes before it.
    pub(crate) async fn all(&self, prefix: &str) -> Result<Vec<Found>, Failed> {
        let mut all = Vec::new();
        for kind in Kind::ALL.iter().rev() {
            all.extend(self.of_kind(*kind, prefix).await?);
        }
        all.retain(|found| found.name.starts_with(prefix));
        Ok(all)
    }

    /// All of a kind, or those whose names begin like this.
    async fn of_kind(&self, kind: Kind, prefix: &str) -> Result<Vec<Found>, Failed> {
        let mut all = Vec::new();
        match kind {
            Kind::Parameter | Kind::Record => {
                // One elsewhere would be a mistake of kibus.
                let path = if prefix.is_empty() { "/" } else { SETTINGS_PATH };
                let input = json!({ "Path": path, "Recursive": true });
                let list = ("GetParametersByPath", "Parameters", "NextToken");
                for parameter in pages(&self.json(PARAMETERS), list, input).await? {
                    let name = parameter["Name"].as_str().unwrap_or_default();
                    if name.contains("/clusters/") == (kind == Kind::Record) {
                        all.push(Found::new(kind, name.trim_start_matches(SETTINGS_PATH), name));
                    }
                }
            }
            Kind::Queue => {
                let list = self.sqs.list_queues().queue_name_prefix(prefix).max_results(1000);
                let mut urls = list.into_paginator().items().send();
                while let Some(url) = urls.try_next().await? {
                    all.push(Found::new(kind, url.rsplit('/').next().unwrap_or_default(), &url));
                }
            }
            Kind::Role => {
                let mut roles = self.iam.list_roles().into_paginator().items().send();
                while let Some(role) = roles.try_next().await? {
                    all.push(Found::new(kind, &role.role_name, &role.role_name));
                }
            }
            Kind::RolePolicy => {
                let roles = Box::pin(self.of_kind(Kind::Role, prefix)).await?;
                for role in roles.iter().filter(|role| role.name.starts_with(prefix)) {
                    let policies = self.iam.list_role_policies().role_name(&role.name);
                    let mut names = policies.into_paginator().items().send();
                    while let Some(policy) = names.try_next().await? {
                        all.push(Found::new(kind, &role.name, policy));
                    }
                }
            }
            Kind::LogGroup => {
                let path = if prefix.is_empty() { "" } else { LOG_GROUPS };
                let named = Some(format!("{path}{prefix}")).filter(|named| !named.is_empty());
                let input = json!({ "logGroupNamePrefix": named });
                let list = ("DescribeLogGroups", "logGroups", "nextToken");
                for group in pages(&self.json(LOGS), list, input).await? {
                    let name = group["logGroupName"].as_str().unwrap_or_default();
                    all.push(Found::new(kind, name.trim_start_matches(LOG_GROUPS), name));
                }
            }
            Kind::Function => {
                let mut functions = self.lambda.list_functions().into_paginator().items().send();
                while let Some(function) = functions.try_next().await? {
                    let name = function.function_name.unwrap_or_default();
                    all.push(Found::new(kind, &name, &name));
                }
            }
            Kind::Alias => {
                let functions = Box::pin(self.of_kind(Kind::Function, prefix)).await?;
                for function in functions.iter().filter(|function| function.name.starts_with(prefix)) {
                    let aliases = self.lambda.list_aliases().function_name(&function.name).send();
                    let names = aliases.await?.aliases.unwrap_or_default().into_iter();
                    all.extend(names.filter_map(|alias| Some(Found::new(kind, &function.name, alias.name?))));
                }
            }
            Kind::EventSourceMapping => {
                let mut mappings = self.lambda.list_event_source_mappings().into_paginator().items().send();
                while let Some(mapping) = mappings.try_next().await? {
                    let function = mapping.function_arn().and_then(|arn| arn.split(':').nth(6));
                    let function = function.unwrap_or_default().to_owned();
                    all.push(Found::new(kind, &function, mapping.uuid.unwrap_or_default()));
                }
            }
            Kind::Alarm => {
                let input = json!({ "AlarmNamePrefix": given(prefix) });
                let list = ("DescribeAlarms", "MetricAlarms", "NextToken");
                for alarm in pages(&self.json(METRICS), list, input).await? {
                    let name = alarm["AlarmName"].as_str().unwrap_or_default();
                    all.push(Found::new(kind, name, name));
                }
            }
            Kind::Dashboard => {
                let input = json!({ "DashboardNamePrefix": prefix });
                let list = ("ListDashboards", "DashboardEntries", "NextToken");
                for dashboard in pages(&self.json(METRICS), list, input).await? {
                    let name = dashboard["DashboardName"].as_str().unwrap_or_default();
                    all.push(Found::new(kind, name, name));
                }
            }
            Kind::Rule => {
                let rules = self.events.list_rules().set_name_prefix(given(prefix)).send().await?;
                let names = rules.rules().iter().filter_map(|rule| rule.name());
                all.extend(names.map(|name| Found::new(kind, name, name)));
            }
        }
        Ok(all)
    }
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// All items of a list, by the name of the operation, of its items, and of what names the next page.
async fn pages(
    client: &JsonClient,
    (operation, items, next): (&'static str, &str, &str),
    mut input: Value,
) -> Result<Vec<Value>, Failed> {
    let mut all = Vec::new();
    loop {
        let mut page: Value = client.call(operation, input.clone()).await?;
        if let Value::Array(more) = page[items].take() {
            all.extend(more);
        }
        input[next] = page[next].take();
        if input[next].is_null() {
            return Ok(all);
        }
    }
}

/// All that the emulator says about one resource that kibus could change, and does not change by itaccount.
pub(crate) async fn all_about(account: &Account, Found { kind, name, id }: &Found) -> Vec<String> {
    match kind {
        Kind::Parameter | Kind::Record => {
            let tags = json!({ "ResourceType": "Parameter", "ResourceId": id });
            let of_name = json!({ "Name": id });
            vec![
                account.call("ssm", "GetParameter", &of_name.to_string()).await,
                account.call("ssm", "ListTagsForResource", &tags.to_string()).await,
            ]
        }
        Kind::Queue => {
            let all = json!({ "QueueUrl": name, "AttributeNames": ["All"] });
            let mut queue = account.json("sqs", "GetQueueAttributes", &all.to_string()).await;
            if name.ends_with("-probe") {
                // The messages of self-tests.
                without(&mut queue["Attributes"], "Approximate");
            }
            let tags = json!({ "QueueUrl": name }).to_string();
            vec![queue.to_string(), account.call("sqs", "ListQueueTags", &tags).await]
        }
        Kind::Role => {
            let (name, mut all) = (format!("RoleName={id}"), Vec::new());
            for operation in ["GetRole", "ListRoleTags", "ListAttachedRolePolicies"] {
                all.push(without_request_id(&account.call("iam", operation, &name).await));
            }
            all
        }
        Kind::RolePolicy => {
            let of_role = format!("RoleName={name} PolicyName={id}");
            vec![without_request_id(&account.call("iam", "GetRolePolicy", &of_role).await)]
        }
        Kind::LogGroup => {
            let named = json!({ "logGroupNamePrefix": id });
            let mut groups = account.json("logs", "DescribeLogGroups", &named.to_string()).await;
            for group in groups["logGroups"].as_array_mut().into_iter().flatten() {
                without(group, "storedBytes");
            }
            vec![groups.to_string()]
        }
        Kind::Function => vec![account.settled(&format!("functions/{id}/configuration")).await],
        Kind::Alias => vec![account.call("lambda", "GET", &format!("functions/{name}/aliases/{id}")).await],
        Kind::EventSourceMapping => {
            vec![account.call("lambda", "GET", &format!("event-source-mappings/{id}")).await]
        }
        Kind::Alarm => {
            let of_name = format!("AlarmNames.member.1={id}");
            vec![without_request_id(&account.call("monitoring", "DescribeAlarms", &of_name).await)]
        }
        Kind::Dashboard => {
            let of_name = format!("DashboardName={id}");
            vec![without_request_id(&account.call("monitoring", "GetDashboard", &of_name).await)]
        }
        Kind::Rule => {
            let rule = account.json("events", "DescribeRule", &json!({ "Name": id }).to_string()).await;
            let (of_rule, of_arn) = (json!({ "Rule": id }), json!({ "ResourceARN": rule["Arn"] }));
            vec![
                rule.to_string(),
                account.call("events", "ListTargetsByRule", &of_rule.to_string()).await,
                account.call("events", "ListTagsForResource", &of_arn.to_string()).await,
            ]
        }
    }
}

/// Removes the members whose names begin so.
fn without(object: &mut Value, beginning: &str) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|name, _| !name.starts_with(beginning));
    }
}

fn without_request_id(answer: &str) -> String {
    answer.split("<ResponseMetadata>").next().unwrap_or_default().to_owned()
}
