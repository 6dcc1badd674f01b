//! What scenarios do with an account without kibus: they change it, wait for it, and read all of it.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::account::Account;
use crate::support::workbench::sha256;

/// The version of the router.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// The Regions of scenarios; the first is the default.
pub(super) const REGIONS: [&str; 3] = ["us-west-2", "eu-west-1", "cn-north-1"];

impl Account {
    /// The same account in another Region.
    pub(super) fn in_region(&self, region: &str) -> Self {
        assert!(REGIONS.contains(&region), "{region}");
        Self {
            region: region.to_owned(),
            ..self.clone()
        }
    }

    /// Uploads a router as the code of the function, and sets the tags that describe it.
    pub(super) async fn upload(&self, router: &[u8]) {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file("bootstrap", options).unwrap();
        zip.write_all(router).unwrap();
        let archive = zip.finish().unwrap().into_inner();
        let code = json!({ "ZipFile": aws_smithy_types::base64::encode(&archive) });
        let call = format!("functions/kibus-router/code {code}");
        self.call("lambda", "PUT", &call).await;
        let tags = json!({"kibus:router-version": OURS, "kibus:router-sha256": sha256(&archive)});
        let arn = format!("arn:aws:lambda:{}:{}:function:kibus-router", self.region, self.id);
        let call = format!("tags/{arn} {}", json!({ "Tags": tags }));
        self.call("lambda", "POST", &call).await;
    }

    /// Publishes the code of the function with the description that kibus would write, and points the alias to it.
    pub(super) async fn publish(&self) {
        let begun = Instant::now();
        let function = loop {
            let function = self.json("lambda", "GET", "functions/kibus-router/configuration").await;
            if function["State"] == "Active" && function["LastUpdateStatus"] == "Successful" {
                break function;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{function}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let hash = aws_smithy_types::base64::decode(function["CodeSha256"].as_str().unwrap()).unwrap();
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let description = json!({ "Description": format!("kibus-router {OURS} sha256 {hex}") });
        let call = format!("functions/kibus-router/versions {description}");
        let version = self.json("lambda", "POST", &call).await;
        let version = json!({ "FunctionVersion": version["Version"] });
        let call = format!("functions/kibus-router/aliases/live {version}");
        self.call("lambda", "PUT", &call).await;
    }

    /// Waits until a queue has no messages, including those in flight.
    pub(super) async fn settle(&self, queue: &str) {
        let all = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
        self.until_none(queue, &all).await;
    }

    /// Waits until no message of a queue is in flight.
    pub(super) async fn until_visible(&self, queue: &str) {
        self.until_none(queue, &["ApproximateNumberOfMessagesNotVisible"]).await;
    }

    /// Waits until all these counts of a queue are zero.
    async fn until_none(&self, queue: &str, counts: &[&str]) {
        let begun = Instant::now();
        let parameters = json!({"QueueUrl": queue, "AttributeNames": ["All"]}).to_string();
        loop {
            let answer = self.json("sqs", "GetQueueAttributes", &parameters).await;
            if counts.iter().all(|count| answer["Attributes"][count] == "0") {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{queue}: {answer}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The messages in a queue, one per line, sorted.
    pub(super) async fn messages(&self, queue: &str) -> Vec<String> {
        let parameters = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10}).to_string();
        let answer = self.json("sqs", "ReceiveMessage", &parameters).await;
        let messages = answer["Messages"].as_array().cloned().unwrap_or_default();
        let mut bodies: Vec<_> = messages
            .iter()
            .map(|message| message["Body"].as_str().unwrap().to_owned())
            .collect();
        bodies.sort();
        bodies
    }

    /// Receives and deletes the messages in a queue.
    pub(super) async fn take_messages(&self, queue: &str) -> Vec<String> {
        let parameters = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10}).to_string();
        let mut bodies = Vec::new();
        loop {
            let answer = self.json("sqs", "ReceiveMessage", &parameters).await;
            let messages = answer["Messages"].as_array().cloned().unwrap_or_default();
            if messages.is_empty() {
                return bodies;
            }
            for message in messages {
                let delete = json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]});
                self.call("sqs", "DeleteMessage", &delete.to_string()).await;
                bodies.push(message["Body"].as_str().unwrap().to_owned());
            }
        }
    }

    /// The functions, after Lambda has finished pending updates.
    async fn functions(&self) -> String {
        let begun = Instant::now();
        loop {
            let functions = self.call("lambda", "GET", "functions/").await;
            if !functions.contains("Pending") && !functions.contains("InProgress") {
                return functions;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "a function does not settle: {functions}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// All resources in the account that kibus could change.
    pub(super) async fn dump(&self) -> BTreeMap<String, String> {
        let mut dump = self.dump_roles().await;
        for region in REGIONS {
            let there = self.in_region(region).dump_region().await;
            dump.extend(there.into_iter().map(|(key, value)| (format!("{region} {key}"), value)));
        }
        dump
    }

    async fn dump_region(&self) -> BTreeMap<String, String> {
        let mut dump = BTreeMap::new();
        let queues = self.json("sqs", "ListQueues", "{}").await;
        for url in strings(&queues["QueueUrls"]) {
            let name = url.rsplit('/').next().unwrap();
            let all = json!({"QueueUrl": name, "AttributeNames": ["All"]}).to_string();
            let one = json!({"QueueUrl": name}).to_string();
            let mut queue = self.json("sqs", "GetQueueAttributes", &all).await;
            if name.ends_with("-probe") {
                // The messages of self-tests.
                without(&mut queue["Attributes"], "Approximate");
            }
            dump.insert(format!("queue {name}"), queue.to_string());
            dump.insert(
                format!("queue tags {name}"),
                self.call("sqs", "ListQueueTags", &one).await,
            );
        }
        let rules = self.json("events", "ListRules", "{}").await;
        for rule in rules["Rules"].as_array().unwrap() {
            let name = rule["Name"].as_str().unwrap();
            dump.insert(format!("rule {name}"), rule.to_string());
            let (of_rule, of_arn) = (
                json!({"Rule": name}).to_string(),
                json!({"ResourceARN": rule["Arn"]}).to_string(),
            );
            dump.insert(
                format!("targets {name}"),
                self.call("events", "ListTargetsByRule", &of_rule).await,
            );
            dump.insert(
                format!("rule tags {name}"),
                self.call("events", "ListTagsForResource", &of_arn).await,
            );
        }
        dump.insert("functions".to_owned(), self.functions().await);
        let mappings = self.call("lambda", "GET", "event-source-mappings/").await;
        dump.insert("mappings".to_owned(), mappings);
        dump.extend(self.dump_parameters().await);
        let mut groups = self.json("logs", "DescribeLogGroups", "{}").await;
        for group in groups["logGroups"].as_array_mut().into_iter().flatten() {
            without(group, "storedBytes");
        }
        dump.insert("log groups".to_owned(), groups.to_string());
        dump
    }

    async fn dump_parameters(&self) -> BTreeMap<String, String> {
        let mut dump = BTreeMap::new();
        let mut next = Value::Null;
        loop {
            let mut list = json!({ "Path": "/", "Recursive": true });
            if next.is_string() {
                list["NextToken"] = next;
            }
            let page = self.json("ssm", "GetParametersByPath", &list.to_string()).await;
            for parameter in page["Parameters"].as_array().into_iter().flatten() {
                let name = parameter["Name"].as_str().unwrap();
                let tags = json!({ "ResourceType": "Parameter", "ResourceId": name }).to_string();
                dump.insert(format!("parameter {name}"), parameter.to_string());
                dump.insert(
                    format!("parameter tags {name}"),
                    self.call("ssm", "ListTagsForResource", &tags).await,
                );
            }
            next = page["NextToken"].clone();
            if !next.is_string() {
                return dump;
            }
        }
    }

    /// The roles, which are global.
    async fn dump_roles(&self) -> BTreeMap<String, String> {
        let mut dump = BTreeMap::new();
        for role in between(&self.call("iam", "ListRoles", "").await, "<RoleName>", "</RoleName>") {
            let name = format!("RoleName={role}");
            for operation in [
                "GetRole",
                "ListRoleTags",
                "ListAttachedRolePolicies",
                "ListRolePolicies",
            ] {
                let answer = self.call("iam", operation, &name).await;
                dump.insert(format!("{operation} {role}"), without_request_id(&answer));
                if operation == "ListRolePolicies" {
                    for policy in between(&answer, "<member>", "</member>") {
                        let answer = self
                            .call("iam", "GetRolePolicy", &format!("{name} PolicyName={policy}"))
                            .await;
                        dump.insert(format!("policy {role} {policy}"), without_request_id(&answer));
                    }
                }
            }
        }
        dump
    }
}

/// Removes the members whose names begin so.
fn without(object: &mut Value, beginning: &str) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|name, _| !name.starts_with(beginning));
    }
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn between(text: &str, begin: &str, end: &str) -> Vec<String> {
    let parts = text.split(begin).skip(1);
    parts
        .filter_map(|part| part.split_once(end))
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn without_request_id(answer: &str) -> String {
    answer.split("<ResponseMetadata>").next().unwrap_or_default().to_owned()
}
