//! What scenarios do with an account without kibus: they change it, wait for it, and read all of it.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::account::Account;
use crate::support::inventory::Found;
use crate::support::workbench::sha256;

/// The version of the router.
const OURS: &str = env!("CARGO_PKG_VERSION");

/// The Regions of scenarios; the first is the default.
pub(super) const REGIONS: [&str; 3] = ["us-west-2", "eu-west-1", "cn-north-1"];

impl Account {
    /// This account in another Region.
    pub(super) fn in_region(&self, region: &str) -> Self {
        assert!(REGIONS.contains(&region), "{region}");
        Self { region: region.to_owned(), ..self.clone() }
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
        let mut bodies: Vec<_> = messages.iter().map(|message| message["Body"].as_str().unwrap().to_owned()).collect();
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

    /// Receives the messages in a queue, and deletes them after this time.
    pub(super) async fn hold_messages(&self, queue: &str, time: Duration) {
        let parameters = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10}).to_string();
        let answer = self.json("sqs", "ReceiveMessage", &parameters).await;
        let messages = answer["Messages"].as_array().cloned().unwrap_or_default();
        if messages.is_empty() {
            return;
        }
        tokio::time::sleep(time).await;
        for message in messages {
            let delete = json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]});
            self.call("sqs", "DeleteMessage", &delete.to_string()).await;
        }
    }

    /// What Lambda says at a path, after it has finished pending updates.
    pub(crate) async fn settled(&self, path: &str) -> String {
        let begun = Instant::now();
        loop {
            let function = self.call("lambda", "GET", path).await;
            if !function.contains("Pending") && !function.contains("InProgress") {
                return function;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "a function does not settle: {function}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// All resources in the account that kibus could change.
    pub(super) async fn dump(&self) -> BTreeMap<String, String> {
        let mut dump = BTreeMap::new();
        for region in REGIONS {
            let there = self.in_region(region);
            for found in there.inventory().all("").await.unwrap() {
                let all = there.all_about(&found).await;
                let Found { kind, name, id } = found;
                // The URL of a queue has the port of the server.
                let what = if id.ends_with(&name) {
                    format!("{region} {kind:?} {name}")
                } else {
                    format!("{region} {kind:?} {name} {id}")
                };
                let lines = all.into_iter().enumerate();
                dump.extend(lines.map(|(at, text)| (format!("{what}, answer {}", at + 1), text)));
            }
        }
        dump
    }
}
