//! An account on an emulator, called without kibus.

use std::time::{Duration, Instant};

use hyper::Request;
use hyper::body::Bytes;
use hyper::http::request::Builder;
use serde_json::{Value, json};

use super::proxy::{Answer, forward};

/// One account on an emulator or a proxy, in one Region.
#[derive(Clone)]
pub struct Account {
    pub id: String,
    /// The port of the emulator or the proxy.
    pub server: u16,
    pub region: String,
}

impl Account {
    pub fn new(id: &str, server: u16, region: &str) -> Self {
        Self { id: id.to_owned(), server, region: region.to_owned() }
    }

    /// This account in another Region.
    pub fn in_region(&self, region: &str) -> Self {
        Self { region: region.to_owned(), ..self.clone() }
    }

    /// Sends a request. Emulators read the account, the Region and the service from a signature that they do not verify.
    pub async fn request(&self, service: &str, request: Builder, body: impl Into<Bytes>) -> Answer {
        let Self { id, server, region } = self;
        let scope = format!("{id}/20260101/{region}/{service}/aws4_request");
        let body = body.into();
        let request = request
            .header("host", format!("127.0.0.1:{server}"))
            .header("content-length", body.len())
            .header("authorization", format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"));
        forward(*server, request.body(body).unwrap()).await.unwrap()
    }

    /// Sends a request of a JSON protocol.
    pub async fn json_request(&self, service: &str, operation: &str, body: impl Into<Bytes>) -> Answer {
        let target = match service {
            "sqs" => "AmazonSQS",
            "events" => "AWSEvents",
            "logs" => "Logs_20140328",
            "kms" => "TrentService",
            "ssm" => "AmazonSSM",
            "cloudwatch" => "GraniteServiceVersion20100801",
            "tagging" => "ResourceGroupsTaggingAPI_20170126",
            other => panic!("{other} has no target"),
        };
        // CloudWatch signs with its former name.
        let service = if service == "cloudwatch" { "monitoring" } else { service };
        let request = Request::post("/")
            .header("x-amz-target", format!("{target}.{operation}"))
            .header("content-type", "application/x-amz-json-1.1");
        self.request(service, request, body).await
    }

    /// Sends a request of a query protocol.
    pub async fn form_request(&self, service: &str, form: String) -> Answer {
        let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
        self.request(service, request, form).await
    }

    /// Creates EKS clusters; existing ones stay.
    pub async fn create_eks_clusters(&self, names: &[String]) {
        for name in names {
            self.send("eks", "POST", &format!("clusters {}", json!({ "name": name }))).await;
        }
    }

    /// Adds tags to an instance of EC2.
    pub async fn tag_instance(&self, id: &str, tags: impl IntoIterator<Item = (&str, &str)>) {
        let tag = |((key, value), at): ((&str, &str), usize)| format!(" Tag.{at}.Key={key} Tag.{at}.Value={value}");
        let tags: String = tags.into_iter().zip(1..).map(tag).collect();
        self.call("ec2", "CreateTags", &format!("Version=2016-11-15 ResourceId.1={id}{tags}")).await;
    }

    /// Creates a customer managed KMS key with this policy, or with the default policy, and returns its ARN.
    pub async fn create_key(&self, policy: Option<&Value>) -> String {
        let input = policy.map_or(json!({}), |policy| json!({ "Policy": policy.to_string() }));
        let made = self.json("kms", "CreateKey", &input.to_string()).await;
        made["KeyMetadata"]["Arn"].as_str().unwrap().to_owned()
    }

    /// Deletes the Lambda functions: an emulator keeps the environment of each function that ran.
    pub async fn delete_functions(&self) {
        let list = self.json("lambda", "GET", "functions/").await;
        for function in list["Functions"].as_array().into_iter().flatten() {
            self.call("lambda", "DELETE", &format!("functions/{}", function["FunctionName"].as_str().unwrap())).await;
        }
    }

    /// Makes a call: an operation of a JSON or query protocol, by name, or of a REST protocol, by method and path.
    /// `parameters` are `{...}` for JSON, `A=b C=d` for a query; `MAPPING` in a path is the only mapping's id.
    pub async fn call(&self, service: &str, operation: &str, parameters: &str) -> String {
        let (succeeded, text) = self.send(service, operation, parameters).await;
        assert!(succeeded, "{service} {operation} {parameters}: {text}");
        text
    }

    /// Makes a call, and returns whether it succeeded.
    pub async fn send(&self, service: &str, operation: &str, parameters: &str) -> (bool, String) {
        let answer = self.answer(service, operation, parameters).await;
        let text = String::from_utf8(answer.body().to_vec()).unwrap();
        (answer.status().is_success(), text)
    }

    /// The answer to a call.
    pub async fn answer(&self, service: &str, operation: &str, parameters: &str) -> Answer {
        match service {
            "sqs" | "events" | "logs" | "kms" | "ssm" | "cloudwatch" | "tagging" => {
                self.json_request(service, operation, self.with_urls(parameters)).await
            }
            "eks" => {
                let (path, body) = parameters.split_once(' ').unwrap_or((parameters, ""));
                let request = Request::builder().method(operation).uri(format!("/{path}"));
                self.request(service, request, body.to_owned()).await
            }
            "lambda" => {
                let (path, body) = parameters.split_once(' ').unwrap_or((parameters, ""));
                let path = match path.split_once("MAPPING") {
                    Some((before, after)) => format!("{before}{}{after}", self.mapping().await),
                    None => path.to_owned(),
                };
                let request = Request::builder().method(operation);
                let request = request.uri(format!("/2015-03-31/{path}"));
                self.request(service, request, body.to_owned()).await
            }
            _ => {
                let pairs = parameters.split_whitespace().filter_map(|pair| pair.split_once('='));
                let form = pairs.map(|(key, value)| format!("&{key}={}", encoded(value)));
                let form = format!("Action={operation}{}", form.collect::<String>());
                self.form_request(service, form).await
            }
        }
    }

    pub async fn json(&self, service: &str, operation: &str, parameters: &str) -> Value {
        serde_json::from_str(&self.call(service, operation, parameters).await).unwrap_or_default()
    }

    /// Waits until a queue has no messages, including those in flight.
    pub async fn settle(&self, queue: &str) {
        self.until_none(queue, &["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]).await;
    }

    /// Waits until no message of a queue is in flight.
    pub async fn until_visible(&self, queue: &str) {
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

    async fn receive(&self, queue: &str) -> Vec<Value> {
        let parameters = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10}).to_string();
        let answer = self.json("sqs", "ReceiveMessage", &parameters).await;
        answer["Messages"].as_array().cloned().unwrap_or_default()
    }

    async fn delete(&self, queue: &str, message: &Value) {
        let delete = json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]});
        self.call("sqs", "DeleteMessage", &delete.to_string()).await;
    }

    /// The messages in a queue, sorted.
    pub async fn messages(&self, queue: &str) -> Vec<String> {
        let mut bodies: Vec<_> = self.receive(queue).await.iter().map(body).collect();
        bodies.sort();
        bodies
    }

    /// Receives and deletes the messages in a queue.
    pub async fn take_messages(&self, queue: &str) -> Vec<String> {
        let mut bodies = Vec::new();
        loop {
            let messages = self.receive(queue).await;
            if messages.is_empty() {
                return bodies;
            }
            for message in messages {
                self.delete(queue, &message).await;
                bodies.push(body(&message));
            }
        }
    }

    /// Receives the messages in a queue, and deletes them after this time.
    pub async fn hold_messages(&self, queue: &str, time: Duration) {
        let messages = self.receive(queue).await;
        if !messages.is_empty() {
            tokio::time::sleep(time).await;
        }
        for message in messages {
            self.delete(queue, &message).await;
        }
    }

    /// Lambda's answer at a path, after pending updates have finished.
    pub async fn settled(&self, path: &str) -> String {
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

    async fn mapping(&self) -> String {
        let list = Box::pin(self.json("lambda", "GET", "event-source-mappings/")).await;
        list["EventSourceMappings"][0]["UUID"].as_str().unwrap().to_owned()
    }

    /// A queue can be given by name instead of its URL.
    fn with_urls(&self, parameters: &str) -> String {
        let Self { id, server, .. } = self;
        let mut parameters: Value = serde_json::from_str(parameters).unwrap_or_else(|e| panic!("{parameters}: {e}"));
        if let Some(queue) = parameters["QueueUrl"].as_str().filter(|queue| !queue.contains("://")) {
            parameters["QueueUrl"] = json!(format!("http://127.0.0.1:{server}/{id}/{queue}"));
        }
        // Message bodies are text.
        if parameters["MessageBody"].is_object() {
            parameters["MessageBody"] = json!(parameters["MessageBody"].to_string());
        }
        parameters.to_string()
    }
}

fn body(message: &Value) -> String {
    message["Body"].as_str().unwrap().to_owned()
}

fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}
