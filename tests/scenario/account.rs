//! An account on the server, read and changed without kibus.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::wire::forward;
use crate::workbench::sha256;

/// The version of the router.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// The Regions of scenarios; the first is the default.
pub(super) const REGIONS: [&str; 3] = ["us-west-2", "eu-west-1", "cn-north-1"];

/// One account on the server, in one Region.
#[derive(Clone)]
pub(super) struct Account {
    pub(super) id: String,
    pub(super) server: u16,
    pub(super) region: &'static str,
}

impl Account {
    /// The same account in another Region.
    pub(super) fn in_region(&self, region: &str) -> Self {
        let region = REGIONS.into_iter().find(|known| *known == region).unwrap();
        Self { region, ..self.clone() }
    }

    /// Makes a call: an operation of a JSON or query protocol by its name, or of a REST protocol by its method and path.
    /// `parameters` are `{...}` for JSON, `A=b C=d` for a query; `MAPPING` in a path is the only mapping's id.
    pub(super) async fn call(&self, service: &str, operation: &str, parameters: &str) -> String {
        let (succeeded, text) = self.send(service, operation, parameters).await;
        assert!(succeeded, "{service} {operation} {parameters}: {text}");
        text
    }

    /// Makes a call, and says whether it succeeded.
    pub(super) async fn send(&self, service: &str, operation: &str, parameters: &str) -> (bool, String) {
        let target = match service {
            "sqs" => Some("AmazonSQS"),
            "events" => Some("AWSEvents"),
            "logs" => Some("Logs_20140328"),
            "kms" => Some("TrentService"),
            _ => None,
        };
        let scope = format!("{}/20260101/{}/{service}/aws4_request", self.id, self.region);
        let request = Request::builder()
            .header("host", format!("127.0.0.1:{}", self.server))
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"),
            );
        let (request, body) = if let Some(target) = target {
            let request = request.header("x-amz-target", format!("{target}.{operation}"));
            let request = request.header("content-type", "application/x-amz-json-1.0");
            (request.method("POST").uri("/"), self.with_urls(parameters))
        } else if service == "lambda" {
            let (path, body) = parameters.split_once(' ').unwrap_or((parameters, ""));
            let path = match path.split_once("MAPPING") {
                Some((before, after)) => format!("{before}{}{after}", self.mapping().await),
                None => path.to_owned(),
            };
            (
                request.method(operation).uri(format!("/2015-03-31/{path}")),
                body.to_owned(),
            )
        } else {
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let pairs = parameters.split_whitespace().filter_map(|pair| pair.split_once('='));
            let form = pairs.map(|(key, value)| format!("&{key}={}", encoded(value)));
            (
                request.method("POST").uri("/"),
                format!("Action={operation}{}", form.collect::<String>()),
            )
        };
        let answer = forward(self.server, request.body(Bytes::from(body)).unwrap())
            .await
            .unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status.is_success(), String::from_utf8(body.to_vec()).unwrap())
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

    async fn mapping(&self) -> String {
        let list = Box::pin(self.json("lambda", "GET", "event-source-mappings/")).await;
        list["EventSourceMappings"][0]["UUID"].as_str().unwrap().to_owned()
    }

    /// A queue may be given by name instead of its URL.
    fn with_urls(&self, parameters: &str) -> String {
        let Self { id, server, .. } = self;
        let mut parameters: Value = serde_json::from_str(parameters).unwrap_or_else(|e| panic!("{parameters}: {e}"));
        if let Some(queue) = parameters["QueueUrl"].as_str() {
            parameters["QueueUrl"] = json!(format!("http://127.0.0.1:{server}/{id}/{queue}"));
        }
        // Message bodies are text.
        if parameters["MessageBody"].is_object() {
            parameters["MessageBody"] = json!(parameters["MessageBody"].to_string());
        }
        parameters.to_string()
    }

    async fn json(&self, service: &str, operation: &str, parameters: &str) -> Value {
        serde_json::from_str(&self.call(service, operation, parameters).await).unwrap_or_default()
    }

    /// Waits until a queue has no messages, including those in flight.
    pub(super) async fn settle(&self, queue: &str) {
        let begun = Instant::now();
        let parameters = json!({"QueueUrl": queue, "AttributeNames": ["All"]}).to_string();
        loop {
            let answer = self.json("sqs", "GetQueueAttributes", &parameters).await;
            let count = |name: &str| answer["Attributes"][name].as_str().unwrap().to_owned();
            let counts = [
                count("ApproximateNumberOfMessages"),
                count("ApproximateNumberOfMessagesNotVisible"),
            ];
            if counts == ["0", "0"] {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{queue} still holds {counts:?}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until no message of a queue is in flight.
    pub(super) async fn until_visible(&self, queue: &str) {
        let begun = Instant::now();
        let parameters = json!({"QueueUrl": queue, "AttributeNames": ["All"]}).to_string();
        loop {
            let answer = self.json("sqs", "GetQueueAttributes", &parameters).await;
            if answer["Attributes"]["ApproximateNumberOfMessagesNotVisible"] == "0" {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{queue} has messages in flight"
            );
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
        let mut groups = self.json("logs", "DescribeLogGroups", "{}").await;
        for group in groups["logGroups"].as_array_mut().into_iter().flatten() {
            without(group, "storedBytes");
        }
        dump.insert("log groups".to_owned(), groups.to_string());
        dump
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

fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}
