//! The stand-ins of EC2 and SQS: they know every instance and every queue, and answer as late as they are told to.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How many clusters there are; an instance's number says which it belongs to.
pub const CLUSTERS: u64 = 10;

/// What the stand-ins are told, and what they have seen.
#[derive(Default)]
pub struct World {
    latency_millis: AtomicU64,
    calls: AtomicU64,
    /// Messages by queue.
    messages: Mutex<BTreeMap<String, u64>>,
}

impl World {
    /// From now on every answer comes so much later.
    pub fn set_latency(&self, latency: Duration) {
        let millis = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX);
        self.latency_millis.store(millis, Ordering::Relaxed);
    }

    /// The calls since the last time, and the messages that each queue got.
    pub fn take(&self) -> (u64, BTreeMap<String, u64>) {
        let calls = self.calls.swap(0, Ordering::Relaxed);
        (calls, std::mem::take(&mut *self.messages.lock().unwrap()))
    }

    /// Listens on a free port of 127.0.0.1, with TLS if there is an acceptor for it.
    pub async fn listen(self: &Arc<Self>, tls: Option<TlsAcceptor>) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin: Arc<str> = format!("{scheme}://{address}").into();
        let world = Arc::clone(self);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (world, tls, origin) = (Arc::clone(&world), tls.clone(), Arc::clone(&origin));
                let _ = stream.set_nodelay(true);
                tokio::spawn(async move {
                    match tls {
                        None => world.serve(stream, origin).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                world.serve(stream, origin).await;
                            }
                        }
                    }
                });
            }
        });
        Ok(address)
    }

    async fn serve(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin, origin: Arc<str>) {
        let service = service_fn(|request: Request<Incoming>| {
            let (world, origin) = (Arc::clone(&self), Arc::clone(&origin));
            async move { world.answer(request, &origin).await }
        });
        // A client that goes away is no concern of the server.
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(&self, request: Request<Incoming>, origin: &str) -> Result<Response<Full<Bytes>>, hyper::Error> {
        if request.method() == Method::HEAD {
            // A connection is being opened: nothing is asked.
            return Ok(Response::default());
        }
        let target = request.headers().get("x-amz-target").cloned();
        let body = request.into_body().collect().await?.to_bytes();
        let body = std::str::from_utf8(&body).expect("a request that is text");
        self.calls.fetch_add(1, Ordering::Relaxed);
        let latency = self.latency_millis.load(Ordering::Relaxed);
        if latency > 0 {
            tokio::time::sleep(Duration::from_millis(latency)).await;
        }
        let (kind, text) = match target.as_ref().and_then(|target| target.to_str().ok()) {
            None => ("text/xml", ec2(body)),
            Some(target) => ("application/x-amz-json-1.0", self.sqs(target, body, origin)),
        };
        Ok(Response::builder()
            .header("content-type", kind)
            .body(Full::from(text))
            .expect("a response"))
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
            other => panic!("a call that no router here makes: {other}"),
        }
    }

    fn count(&self, body: &str, messages: u64) {
        let url = values(body, "QueueUrl").next().expect("a queue");
        let name = url.rsplit('/').next().unwrap_or_default();
        *self.messages.lock().unwrap().entry(name.to_owned()).or_default() += messages;
    }
}

/// The values of a member of a JSON text, without reading the whole of it: the stand-ins share the processor with
/// what is measured. Quotes inside of messages are escaped, so that no member of theirs is taken for one.
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
    assert!(
        form.contains("Action=DescribeInstances"),
        "a call that no router here makes"
    );
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

/// What Karpenter tags an instance with, and a name.
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
