//! Local servers in place of EC2 and SQS. They know every instance and every queue, and answer with a set latency.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Method, Request};
use kibus_harness::hub_queue::Hub;
use kibus_harness::proxy::{Answer, JSON, Port, answer};
use kibus_harness::tls::Authority;

/// The number of clusters. The number of an instance determines its cluster.
pub const CLUSTERS: u64 = 10;

/// The servers: their latency, and what they received.
#[derive(Default)]
pub struct FakeServices {
    latency_millis: AtomicU64,
    calls: AtomicU64,
    /// Messages by queue.
    messages: Mutex<BTreeMap<String, u64>>,
    /// The messages that wait for the router in the hub queue.
    pub hub: Mutex<Hub>,
}

impl FakeServices {
    /// Delays every answer from now on.
    pub fn set_latency(&self, latency: Duration) {
        let millis = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
        self.latency_millis.store(millis, Ordering::Relaxed);
    }

    /// The calls and the messages of each queue since the last time.
    pub fn take(&self) -> (u64, BTreeMap<String, u64>) {
        let calls = self.calls.swap(0, Ordering::Relaxed);
        (calls, std::mem::take(&mut *self.messages.lock().unwrap()))
    }

    /// Listens on a free port of 127.0.0.1, with TLS if there is an authority for it. Returns the URL.
    pub async fn listen(self: &Arc<Self>, tls: Option<&Authority>) -> String {
        let (port, services) = (Port::open().await, Arc::clone(self));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin: Arc<str> = format!("{scheme}://127.0.0.1:{}", port.number()).into();
        port.serve_as(tls, move |request| {
            let (services, origin) = (Arc::clone(&services), Arc::clone(&origin));
            async move { Ok(services.answer(&request, &origin).await) }
        })
    }

    async fn answer(&self, request: &Request<Bytes>, origin: &str) -> Answer {
        if request.method() == Method::HEAD {
            // The router opens a connection without a call.
            return Answer::default();
        }
        let body = std::str::from_utf8(request.body()).expect("a request that is text");
        self.calls.fetch_add(1, Ordering::Relaxed);
        let latency = self.latency_millis.load(Ordering::Relaxed);
        if latency > 0 {
            tokio::time::sleep(Duration::from_millis(latency)).await;
        }
        match request.headers().get("x-amz-target").and_then(|target| target.to_str().ok()) {
            None => answer(200, "text/xml", ec2(body)),
            Some(target) => answer(200, JSON, self.sqs(target, body, origin)),
        }
    }

    fn sqs(&self, target: &str, body: &str, origin: &str) -> String {
        const MD5: &str = "00000000000000000000000000000000";
        match target {
            "AmazonSQS.GetQueueUrl" => {
                let name = values(body, "QueueName").next().expect("a queue");
                format!("{{\"QueueUrl\":\"{origin}/111122223333/{name}\"}}")
            }
            "AmazonSQS.SendMessage" => {
                self.count(body, 1);
                format!("{{\"MessageId\":\"m\",\"MD5OfMessageBody\":\"{MD5}\"}}")
            }
            "AmazonSQS.SendMessageBatch" => {
                let entries: Vec<String> = values(body, "Id")
                    .map(|id| format!("{{\"Id\":\"{id}\",\"MessageId\":\"m{id}\",\"MD5OfMessageBody\":\"{MD5}\"}}"))
                    .collect();
                self.count(body, entries.len() as u64);
                format!("{{\"Successful\":[{}],\"Failed\":[]}}", entries.join(","))
            }
            other => {
                let input = serde_json::from_str(body).expect("a request that is JSON");
                let answer = self.hub.lock().unwrap().answer(other, &input).flatten();
                answer.unwrap_or_else(|| panic!("an unexpected call: {other}")).to_string()
            }
        }
    }

    fn count(&self, body: &str, messages: u64) {
        let url = values(body, "QueueUrl").next().expect("a queue");
        let name = url.rsplit('/').next().unwrap_or_default();
        *self.messages.lock().unwrap().entry(name.to_owned()).or_default() += messages;
    }
}

/// The values of a member of a JSON text, without parsing all of it, because the servers share the CPU with the measured
/// function. Quotes inside messages are escaped, so their members do not match.
fn values<'a>(body: &'a str, member: &str) -> impl Iterator<Item = &'a str> {
    let key = format!("\"{member}\":");
    let width = key.len();
    let places: Vec<usize> = body.match_indices(&key).map(|(place, _)| place).collect();
    places.into_iter().filter_map(move |place| {
        let rest = body[place + width..].trim_start().strip_prefix('"')?;
        rest.split('"').next()
    })
}

fn ec2(form: &str) -> String {
    let ids = form.split(['&', '=']).filter(|part| part.starts_with("i-"));
    if form.contains("Action=DescribeTags") {
        let items: String = ids
            .flat_map(|id| {
                tags(id).into_iter().map(move |(key, value)| {
                    format!(
                        "<item><resourceId>{id}</resourceId><resourceType>instance</resourceType><key>{key}</key><value>{value}</value></item>"
                    )
                })
            })
            .collect();
        return format!(
            "<DescribeTagsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r</requestId><tagSet>{items}</tagSet></DescribeTagsResponse>"
        );
    }
    assert!(form.contains("Action=DescribeInstances"), "an unexpected call");
    let items: String = ids
        .map(|id| {
            let tags: String = tags(id)
                .into_iter()
                .map(|(key, value)| format!("<item><key>{key}</key><value>{value}</value></item>"))
                .collect();
            format!(
                "<item><reservationId>r-1</reservationId><ownerId>111122223333</ownerId><instancesSet><item><instanceId>{id}</instanceId><instanceType>m5.large</instanceType><instanceState><code>16</code><name>running</name></instanceState><tagSet>{tags}</tagSet></item></instancesSet></item>"
            )
        })
        .collect();
    format!(
        "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r</requestId><reservationSet>{items}</reservationSet></DescribeInstancesResponse>"
    )
}

/// The tags of an instance: Karpenter's and a name.
fn tags(id: &str) -> [(String, String); 6] {
    let number = u64::from_str_radix(id.trim_start_matches("i-"), 16).expect("an instance of the benchmark");
    let cluster = format!("c{}", number % CLUSTERS);
    [
        (format!("kubernetes.io/cluster/{cluster}"), "owned".to_owned()),
        ("eks:eks-cluster-name".to_owned(), cluster.clone()),
        ("karpenter.sh/nodepool".to_owned(), "default".to_owned()),
        ("karpenter.sh/nodeclaim".to_owned(), format!("default-{number:05x}")),
        ("karpenter.k8s.aws/ec2nodeclass".to_owned(), "default".to_owned()),
        ("Name".to_owned(), format!("{cluster}/karpenter")),
    ]
}
