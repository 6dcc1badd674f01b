//! A bus on the emulator, with a hub and clusters that kibus itself creates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_sqs::operation::receive_message::ReceiveMessageError;
use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::{StreamExt, stream};
use kibus::aws::{AwsCloud, Connect};
use kibus::model::Scope;
use kibus::sandbox::SandboxServer;
use serde_json::{Value, json};

use super::proxy::Proxy;
use super::workload::{TaggedInstance, Workload};
use crate::hostile::process::kibus;
use crate::support::account::Account;
use crate::support::emulator::private_server;

const REGION: &str = "us-west-2";
/// The topic for notices. Every call to it hangs in the proxy.
const HANGING_TOPIC: &str = "nobody-answers";

pub(super) struct TestBus {
    pub sqs: aws_sdk_sqs::Client,
    pub cloud: AwsCloud,
    scope: Scope,
    endpoint: String,
    server: SandboxServer,
}

#[derive(Default)]
pub(super) struct RouterLog {
    /// The drop reasons by message id.
    pub dropped: BTreeMap<String, String>,
    pub counted: BTreeMap<String, u64>,
    pub invocations: u64,
}

impl TestBus {
    /// Starts the emulator, whose functions call AWS through the proxy, and creates the hub and the clusters.
    pub(super) async fn start(proxy: &Proxy, workload: &Workload, router: &Path, receives: u32) -> Self {
        let server = private_server(&[("AWS_ENDPOINT_URL", &proxy.url)]).await;
        proxy.forward_to(server.endpoint().port);
        let endpoint = server.endpoint().url();
        let connect = Connect {
            session_token: Some(server.endpoint().secret.as_str().to_owned()),
            ..Connect::to_emulator(REGION.parse().unwrap(), endpoint.clone())
        };
        let session = connect.connect().await.unwrap();
        let bus = Self {
            sqs: aws_sdk_sqs::Client::new(session.config()),
            cloud: AwsCloud::new(&session, "kibus".parse().unwrap()),
            scope: session.scope("kibus".parse().unwrap()),
            endpoint,
            server,
        };
        let account = Account::new(bus.scope.account.as_str(), bus.server.endpoint().port, REGION);
        account.call("sns", "CreateTopic", &format!("Name={HANGING_TOPIC}")).await;
        let router = router.to_str().unwrap();
        bus.kibus(&format!("bootstrap-hub --router-binary {router} --notify {HANGING_TOPIC} --yes")).await;
        let names: Vec<String> = (0..workload.clusters).map(|cluster| workload.cluster(cluster)).collect();
        bus.kibus(&format!("add-cluster --no-controller-role {} --yes", names.join(" "))).await;
        bus.sqs.create_queue().queue_name(workload.foreign_queue()).send().await.unwrap();
        let redrive = json!({
            "deadLetterTargetArn": bus.scope.queue_arn(&bus.scope.dead_letter_queue()),
            "maxReceiveCount": receives,
        });
        let call = bus.sqs.set_queue_attributes().queue_url(bus.hub());
        call.attributes(QueueAttributeName::RedrivePolicy, redrive.to_string()).send().await.unwrap();
        stream::iter(workload.instances())
            .for_each_concurrent(8, async |TaggedInstance { id, tags }| {
                account.tag_instance(&id, tags.iter().map(|(key, value)| (key.as_str(), value.as_str()))).await;
            })
            .await;
        bus
    }

    async fn kibus(&self, line: &str) {
        let secret = self.server.endpoint().secret.as_str();
        let keys = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SESSION_TOKEN", secret), ("AWS_ENDPOINT_URL", &self.endpoint)];
        let ran = kibus(line, &keys).await;
        assert_eq!(ran.code, Some(0), "kibus {line}: {}", ran.text());
    }

    pub(super) fn url(&self, queue: &str) -> String {
        self.scope.queue_url(Some(&self.endpoint), &queue.parse().unwrap())
    }

    pub(super) fn hub(&self) -> String {
        self.url(self.scope.hub_queue().as_str())
    }

    pub(super) async fn delete(&self, queue: &str) {
        self.sqs.delete_queue().queue_url(self.url(queue)).send().await.unwrap();
    }

    /// How many messages are in the hub queue, including those in flight.
    pub(super) async fn waiting_in_hub(&self) -> usize {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let call = self.sqs.get_queue_attributes().queue_url(self.hub());
        let answer = call.set_attribute_names(Some(names.to_vec())).send().await.unwrap();
        let attributes = answer.attributes.unwrap();
        names.iter().map(|name| attributes[name].parse::<usize>().unwrap()).sum()
    }

    /// Receives and deletes some messages of a queue. Returns none only if the queue is empty or does not exist.
    pub(super) async fn take(&self, queue: &str) -> Vec<String> {
        let url = self.url(queue);
        let call = self.sqs.receive_message().queue_url(&url).max_number_of_messages(10);
        let messages = match call.wait_time_seconds(0).send().await {
            Ok(answer) => answer.messages.unwrap_or_default(),
            Err(e) if e.as_service_error().is_some_and(ReceiveMessageError::is_queue_does_not_exist) => Vec::new(),
            Err(e) => panic!("{queue} cannot be read: {e:?}"),
        };
        if messages.is_empty() {
            return Vec::new();
        }
        let mut delete = self.sqs.delete_message_batch().queue_url(&url);
        for (number, message) in messages.iter().enumerate() {
            let entry = aws_sdk_sqs::types::DeleteMessageBatchRequestEntry::builder()
                .id(number.to_string())
                .receipt_handle(message.receipt_handle.as_deref().unwrap());
            delete = delete.entries(entry.build().unwrap());
        }
        assert!(delete.send().await.unwrap().failed().is_empty());
        messages.into_iter().filter_map(|message| message.body).collect()
    }

    /// Sets the default visibility timeout of the hub queue.
    pub(super) async fn hide_in_hub(&self, seconds: u32) {
        let call = self.sqs.set_queue_attributes().queue_url(self.hub());
        call.attributes(QueueAttributeName::VisibilityTimeout, seconds.to_string()).send().await.unwrap();
    }

    pub(super) async fn dead_letters(&self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let bodies = self.take(self.scope.dead_letter_queue().as_str()).await;
            if bodies.is_empty() {
                return all;
            }
            all.extend(bodies);
        }
    }

    /// The log of the router's processes, once it no longer grows. It comes from the emulator's own log, because a log
    /// group shows at most ten thousand lines.
    pub(super) async fn router_log(&self) -> RouterLog {
        let mut last = 0;
        loop {
            let text = std::fs::read_to_string(self.server.directory().join("server.log")).unwrap();
            if text.len() == last {
                return RouterLog::read(&text);
            }
            last = text.len();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    pub(super) fn processor_time(&self) -> Duration {
        let ticks = self.functions().into_iter().filter_map(|process| {
            let stat = std::fs::read_to_string(process.join("stat")).ok()?;
            // After the name in brackets: the state, ten more fields, then the two times.
            let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
            Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
        });
        // The kernel counts CPU time in hundredths of a second.
        Duration::from_millis(10 * ticks.sum::<u64>())
    }

    /// Kills the function's processes. Returns how many there were.
    pub(super) fn kill_functions(&self) -> usize {
        let functions = self.functions();
        for process in &functions {
            let id = process.file_name().unwrap();
            let killed = std::process::Command::new("kill").arg("-KILL").arg(id).status();
            assert!(killed.unwrap().success(), "{process:?}");
        }
        functions.len()
    }

    /// The function's processes, as directories of `/proc`.
    fn functions(&self) -> Vec<PathBuf> {
        let own = self.server.directory().join("server.log");
        let own = own.parent().unwrap();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .map(|process| process.path())
            .filter(|process| {
                std::fs::read_link(process.join("exe")).is_ok_and(|executable| executable.starts_with(own))
            })
            .collect()
    }
}

impl RouterLog {
    fn read(log: &str) -> Self {
        let mut read = Self::default();
        for line in log.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let text = |member: &str| line[member].as_str().unwrap_or_default().to_owned();
            if line["message"] == "dropped" {
                read.dropped.insert(text("message_id"), text("reason"));
            }
            // A cluster's line counts the same deliveries again.
            if line.get("_aws").is_some() && line.get("cluster").is_none() {
                read.invocations += 1;
                for (name, value) in line.as_object().into_iter().flatten() {
                    *read.counted.entry(name.clone()).or_default() += value.as_u64().unwrap_or(0);
                }
            }
        }
        read
    }
}
