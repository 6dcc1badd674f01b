//! The resources in an emulator account, of each kind that kibus creates, found without kibus. The only list of kinds
//! for code that looks for leftovers: the scenarios that compare an account, and the tests of permissions and of
//! interrupted commands.

use kibus::model::{Kind, resource::SETTINGS_PATH};
use serde_json::{Value, json};

use super::account::Account;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    /// Its name, without the path that all of its kind share; for a part of another resource, that resource's name.
    pub(crate) name: String,
    /// The name for it in calls.
    pub(crate) id: String,
}

/// Everything; dependent resources come first.
pub(crate) async fn all(account: &Account) -> Vec<Found> {
    let mut all = Vec::new();
    for kind in Kind::ALL.iter().rev() {
        all.extend(of_kind(account, *kind).await);
    }
    all
}

async fn of_kind(account: &Account, kind: Kind) -> Vec<Found> {
    let path = match kind {
        Kind::Parameter | Kind::Record => SETTINGS_PATH,
        Kind::LogGroup => "/aws/lambda/",
        _ => "",
    };
    let whole = |id: &str| Found { kind, name: id.strip_prefix(path).unwrap_or(id).to_owned(), id: id.to_owned() };
    let named = |items: Vec<Value>, member: &str| -> Vec<Found> {
        items.iter().map(|item| whole(item[member].as_str().unwrap())).collect()
    };
    let everything = json!({ "Path": "/", "Recursive": true });
    match kind {
        Kind::Parameter | Kind::Record => {
            let mut all = named(pages(account, "ssm", "GetParametersByPath", "Parameters", everything).await, "Name");
            all.retain(|found| found.id.contains("/clusters/") == (kind == Kind::Record));
            all
        }
        Kind::Queue => {
            let urls = pages(account, "sqs", "ListQueues", "QueueUrls", json!({ "MaxResults": 1000 })).await;
            let queue =
                |url: &str| Found { kind, name: url.rsplit('/').next().unwrap().to_owned(), id: url.to_owned() };
            urls.iter().map(|url| queue(url.as_str().unwrap())).collect()
        }
        Kind::Role => {
            let roles = account.call("iam", "ListRoles", "MaxItems=1000").await;
            texts(&roles, "RoleName").map(whole).collect()
        }
        Kind::RolePolicy => {
            let mut all = Vec::new();
            for role in Box::pin(of_kind(account, Kind::Role)).await {
                let policies = account.call("iam", "ListRolePolicies", &format!("RoleName={}", role.name)).await;
                all.extend(texts(&policies, "member").map(|id| Found {
                    kind,
                    name: role.name.clone(),
                    id: id.to_owned(),
                }));
            }
            all
        }
        Kind::LogGroup => {
            named(pages(account, "logs", "DescribeLogGroups", "logGroups", json!({})).await, "logGroupName")
        }
        Kind::Function => {
            let mut functions = account.json("lambda", "GET", "functions?MaxItems=10000").await;
            named(items(&mut functions, "Functions"), "FunctionName")
        }
        Kind::Alias => {
            let mut all = Vec::new();
            for function in Box::pin(of_kind(account, Kind::Function)).await {
                let mut aliases = account.json("lambda", "GET", &format!("functions/{}/aliases", function.name)).await;
                let aliases = named(items(&mut aliases, "Aliases"), "Name").into_iter();
                all.extend(aliases.map(|alias| Found { name: function.name.clone(), ..alias }));
            }
            all
        }
        Kind::EventSourceMapping => {
            let mut mappings = account.json("lambda", "GET", "event-source-mappings").await;
            let mappings = items(&mut mappings, "EventSourceMappings").into_iter();
            let mapping = |mapping: Value| Found {
                kind,
                name: mapping["FunctionArn"].as_str().unwrap().split(':').nth(6).unwrap().to_owned(),
                id: mapping["UUID"].as_str().unwrap().to_owned(),
            };
            mappings.map(mapping).collect()
        }
        Kind::Alarm => {
            named(pages(account, "cloudwatch", "DescribeAlarms", "MetricAlarms", json!({})).await, "AlarmName")
        }
        Kind::Dashboard => {
            named(pages(account, "cloudwatch", "ListDashboards", "DashboardEntries", json!({})).await, "DashboardName")
        }
        Kind::Rule => named(pages(account, "events", "ListRules", "Rules", json!({})).await, "Name"),
    }
}

/// All items of a list of a JSON protocol.
async fn pages(account: &Account, service: &str, operation: &str, list: &str, mut input: Value) -> Vec<Value> {
    let next = if service == "logs" { "nextToken" } else { "NextToken" };
    let mut all = Vec::new();
    loop {
        let mut page = account.json(service, operation, &input.to_string()).await;
        all.extend(items(&mut page, list));
        input[next] = page[next].take();
        if input[next].as_str().is_none_or(str::is_empty) {
            return all;
        }
    }
}

fn items(page: &mut Value, list: &str) -> Vec<Value> {
    match page[list].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// The texts of all elements of this name in an answer of IAM.
fn texts<'a>(answer: &'a str, element: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    let elements: Vec<&str> = answer.split(&begin).skip(1).map(|rest| rest.split(&end).next().unwrap()).collect();
    elements.into_iter()
}

/// Everything that the emulator reports about one resource that kibus could change, except values that change by themselves.
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

/// Removes the members with this name prefix.
fn without(object: &mut Value, beginning: &str) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|name, _| !name.starts_with(beginning));
    }
}

fn without_request_id(answer: &str) -> String {
    answer.split("<ResponseMetadata>").next().unwrap_or_default().to_owned()
}
