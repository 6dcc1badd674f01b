//! What the demo of the sandbox needs beside kibus itself: clusters and instances in an account on the local AWS emulator,
//! events, and who must receive each and who did.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::aws::{AwsCloud, Session};
use crate::cloud::{Fault, Probe, Questions, Read, Waiting, Write};
use crate::dead_letters::DeadLetters;
use crate::error::Error;
use crate::model::{
    BusName, ClusterName, HubOptions, Resource, ResourceId, Role, Scope, Signal, Tags, default_queue_template, hub,
    policy, sample_event, time_text,
};
use crate::plan::Change;
use crate::ui::json::DemoResult;
use crate::wire::aws_json::{EKS, JsonClient};
use crate::wire::ec2;

/// The name of the probe that is put on the event bus, and who receives it.
const PROBE: &str = "demo";
const PROBE_QUEUE: &str = "the probe queue";
/// Who counts what is dropped.
const ROUTER: &str = "the router";
/// How long the router may take to receive all events.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The account on the local AWS emulator.
pub(crate) struct DemoAccount {
    cloud: AwsCloud,
    scope: Scope,
    ec2: ec2::Client,
    eks: JsonClient,
}

pub(crate) struct DemoCluster {
    name: ClusterName,
    /// The id of the Spot instance that its Karpenter launched.
    pub(crate) instance: String,
}

impl DemoAccount {
    pub(crate) fn new(session: &Session, bus: BusName) -> Self {
        let cloud = AwsCloud::new(session, bus);
        Self {
            scope: cloud.scope().clone(),
            ec2: ec2::Client::new(session.config()),
            eks: JsonClient::new(session.config(), EKS, StaticRuntimePlugin::new()),
            cloud,
        }
    }

    /// Creates a cluster: in EKS, the role of its Karpenter controller, and an instance with the tags that Karpenter sets.
    pub(crate) async fn cluster(&self, name: &str) -> Result<DemoCluster, Error> {
        let name: ClusterName = name.parse()?;
        let role = Resource::Role(Role {
            name: format!("KarpenterServiceAccount-{name}").parse()?,
            path: "/".parse()?,
            trust: policy::router_trust(),
            permissions_boundary: None,
            tags: Tags::default(),
        });
        self.cloud
            .write(&Change::create(None, role), Waiting::unattended())
            .await
            .map_err(|fault| Error::failed("cannot set up a controller role").note(fault.to_string()))?;
        let cluster = json!({ "name": name.as_str() });
        let created = self.eks.post("CreateCluster", &["clusters"], &cluster).await;
        created.map_err(|e| Error::failed("cannot set up a cluster").note(e.to_string()))?;
        let owned = format!("kubernetes.io/cluster/{name}");
        let tags = [
            (owned.as_str(), "owned"),
            ("eks:eks-cluster-name", name.as_str()),
            ("karpenter.sh/nodepool", "default"),
            ("karpenter.k8s.aws/ec2nodeclass", "default"),
        ];
        let instance = self.instance(&format!("an instance of {name}"), &tags).await?;
        Ok(DemoCluster { name, instance })
    }

    pub(crate) async fn instance(&self, what: &str, tags: &[(&str, &str)]) -> Result<String, Error> {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let launched = ec2::run_instance(&self.ec2, "ami-12345678", "m5.large", &tags.collect()).await;
        let failed = Error::failed(format!("cannot launch {what}"));
        match launched {
            Ok(id) => id.ok_or(failed),
            Err(e) => Err(failed.note(e.to_string())),
        }
    }

    /// Plays the Karpenter of a cluster: takes each message of its queue, and deletes it some seconds later.
    pub(crate) async fn play_karpenter(&self, cluster: &DemoCluster) -> Error {
        let queue = self.scope.cluster_queue(&default_queue_template(), &cluster.name);
        let take = async || {
            let taken = self.cloud.receive(&queue, 30).await?;
            if !taken.is_empty() {
                sleep(Duration::from_secs(3)).await;
            }
            for message in taken {
                self.cloud.delete(&queue, &message.receipt).await?;
            }
            Ok(())
        };
        loop {
            if let Err(fault) = take().await {
                let fault: Fault = fault;
                return Error::failed("the queue of a cluster could not be read").note(fault.to_string());
            }
        }
    }

    /// The names of all resources that kibus could create or change in this account.
    pub(crate) async fn resource_names(&self) -> Result<BTreeSet<String>, Error> {
        let fault = |fault: Fault| Error::failed("cannot list the resources").note(fault.to_string());
        let Self { cloud, scope, .. } = self;
        let queues = cloud.queues(&String::new()).await.map_err(fault)?;
        let roles = cloud.listed_roles().await.map_err(fault)?.unwrap_or_default();
        let clusters: [ClusterName; 2] = ["base".parse()?, "tenant-1".parse()?];
        let policies = |role| clusters.each_ref().map(|name| scope.controller_policy_id(name, role));
        let mut ids = hub::ids(scope, [&HubOptions::all_parts()]);
        ids.extend(clusters.iter().map(|name| ResourceId::Record(scope.record_parameter(name))));
        ids.extend(roles.keys().flat_map(policies));
        let queues = queues.into_iter().flatten().map(ResourceId::Queue);
        let mut found: BTreeSet<_> = queues.chain(roles.into_keys().map(ResourceId::Role)).collect();
        for id in ids {
            if cloud.read(&id).await.map_err(fault)?.is_some() {
                found.insert(id);
            }
        }
        Ok(found.iter().map(ResourceId::to_string).collect())
    }
}

/// By who received or counted it and by the event or the metric: the instances that its copies name, or the count.
type Results = BTreeMap<(String, String), BTreeSet<String>>;

struct Sent<'a> {
    /// Its id.
    what: String,
    event: Value,
    /// The clusters that must receive it, each with its own instance.
    to: Vec<&'a DemoCluster>,
    /// If some of it is dropped: the metric of the reason.
    dropped: Option<&'static str>,
}

/// The events of the demo, who must receive each, and who did.
pub(crate) struct Ledger<'a> {
    sent: Vec<Sent<'a>>,
    results: Results,
}

/// One event of every kind that names instances for each cluster, one about instances of both and of none, and some that no
/// cluster receives.
fn events<'a>(account: &DemoAccount, clusters: [&'a DemoCluster; 2], stranger: &str) -> Vec<Sent<'a>> {
    let now = i64::try_from(account.cloud.now()).unwrap_or_default();
    let now = time_text(now.saturating_mul(1000));
    let sent = |what: &str, signal, about: &[&str], to: &[&'a DemoCluster], dropped| {
        let mut event = sample_event(&account.scope, signal, about);
        event["id"] = json!(what);
        event["time"] = json!(now);
        Sent { what: what.to_owned(), event, to: to.to_vec(), dropped }
    };
    let no_karpenter = Some("DroppedNoKarpenterMarker");
    let not_for_karpenter = Some("DroppedNotForKarpenter");
    let mut all = Vec::new();
    for cluster in clusters {
        for signal in Signal::ALL.into_iter().filter(|signal| signal.names_instances()) {
            let what = format!("{} ({})", signal.slug().replace('-', " "), cluster.name);
            all.push(sent(&what, signal, &[&cluster.instance], &[cluster], None));
        }
    }
    let [one, other] = clusters;
    let of_both = [one.instance.as_str(), &other.instance, stranger];
    all.push(sent("scheduled change of both", Signal::ScheduledChange, &of_both, &clusters, no_karpenter));
    // A state that Karpenter does not act on.
    let what = format!("state change to running ({})", one.name);
    let mut running = sent(&what, Signal::StateChange, &[&one.instance], &[], not_for_karpenter);
    running.event["detail"]["state"] = json!("running");
    all.push(running);
    all.push(sent("spot interruption (no cluster)", Signal::SpotInterruption, &[stranger], &[], no_karpenter));
    // Anyone may put a probe that names a cluster on the event bus, and no cluster receives it.
    let what = format!("probe ({})", one.name);
    all.push(sent(&what, Signal::Probe, &[one.name.as_str()], &[], not_for_karpenter));
    all
}

impl<'a> Ledger<'a> {
    /// Sends the events, waits until the router has received all of them, and reads the queues of the clusters. `stranger` is
    /// an instance that no Karpenter launched.
    pub(crate) async fn record(
        account: &DemoAccount,
        clusters: [&'a DemoCluster; 2],
        stranger: &str,
    ) -> Result<Self, Error> {
        let fault = |fault: Fault| Error::failed("the events could not be sent").note(fault.to_string());
        let DemoAccount { cloud, scope, .. } = account;
        let sent = events(account, clusters, stranger);
        for sent in &sent {
            let text = sent.event.to_string();
            cloud.send_message(&scope.hub_queue(), &text).await.map_err(fault)?;
        }
        // AWS lets nobody put its own events on the event bus, so only a probe shows that a rule brings events to the hub.
        let mut probe = sample_event(scope, Signal::Probe, &[]);
        probe["detail"] = json!({ "probe": PROBE });
        cloud.put_event(&probe).await.map_err(fault)?;
        let counted = received(account, sent.len() as u64 + 1).await?;
        let mut results = Results::new();
        let mut note = |who: &str, what: &str, of: String| {
            results.entry((who.to_owned(), what.to_owned())).or_default().insert(of);
        };
        for (metric, count) in counted {
            if metric.starts_with("Dropped") && metric != "Dropped" {
                note(ROUTER, &metric, count.to_string());
            }
        }
        if cloud.take_probe(&scope.probe_queue(), PROBE).await.map_err(fault)? > 0 {
            note(PROBE_QUEUE, PROBE, String::new());
        }
        // An empty queue is waited for.
        let queue = |cluster: &DemoCluster| scope.cluster_queue(&default_queue_template(), &cluster.name);
        let all = clusters.map(async |cluster| cloud.receive_messages(&queue(cluster)).await);
        let all = try_join_all(all).await.map_err(fault)?;
        for (cluster, bodies) in clusters.iter().zip(all) {
            for body in bodies {
                let event: Value = serde_json::from_str(&body).unwrap_or_default();
                let id = event["id"].as_str().unwrap_or(&body);
                note(cluster.name.as_str(), id, instances(&event));
            }
        }
        Ok(Self { sent, results })
    }

    /// The totals of all events, unless one was lost or misrouted, or the router counted other drops than expected.
    pub(crate) fn check(&self) -> Result<DemoResult, Error> {
        let expected = self.expected();
        let all: BTreeSet<_> = expected.keys().chain(self.results.keys()).collect();
        let differ = all.into_iter().filter(|key| expected.get(key) != self.results.get(key));
        let notes: Vec<String> = differ
            .map(|key @ (who, what)| {
                let (found, expected) = (self.results.get(key), expected.get(key));
                format!("{what}: {who} has {found:?} instead of {expected:?}")
            })
            .collect();
        if !notes.is_empty() {
            let error = Error::failed("the bus did not handle every event as expected");
            return Err(notes.into_iter().fold(error, Error::note));
        }
        let all = self.sent.len();
        let dropped = self.sent.iter().filter(|sent| sent.to.is_empty()).count();
        Ok(DemoResult {
            sent: all,
            delivered: all - dropped,
            split: self.sent.iter().filter(|sent| sent.to.len() > 1).count(),
            dropped,
        })
    }

    fn expected(&self) -> Results {
        let mut expected =
            Results::from([((PROBE_QUEUE.to_owned(), PROBE.to_owned()), BTreeSet::from([String::new()]))]);
        let mut dropped: BTreeMap<&str, usize> = BTreeMap::new();
        for sent in &self.sent {
            for cluster in &sent.to {
                let of = BTreeSet::from([cluster.instance.clone()]);
                expected.insert((cluster.name.to_string(), sent.what.clone()), of);
            }
            if let Some(metric) = sent.dropped {
                *dropped.entry(metric).or_default() += 1;
            }
        }
        expected.extend(
            dropped
                .into_iter()
                .map(|(metric, count)| ((ROUTER.to_owned(), metric.to_owned()), BTreeSet::from([count.to_string()]))),
        );
        expected
    }
}

/// Waits until the router has received this many events. Gives the sum of each of its metrics.
async fn received(DemoAccount { cloud, scope, .. }: &DemoAccount, wanted: u64) -> Result<BTreeMap<String, u64>, Error> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let lines = cloud.log_lines(&scope.router_log_group()).await;
        let lines =
            lines.map_err(|fault| Error::failed("the log of the router could not be read").note(fault.to_string()))?;
        let counted = count(&lines);
        if counted.get("Received") >= Some(&wanted) {
            return Ok(counted);
        }
        if Instant::now() > deadline {
            let limit = TIMEOUT.as_secs();
            return Err(Error::failed(format!("the delivery of every event did not happen within {limit}s")));
        }
        sleep(Duration::from_millis(200)).await;
    }
}

fn instances(event: &Value) -> String {
    let ids: Vec<&str> = match event["detail"]["affectedEntities"].as_array() {
        Some(entities) => entities.iter().filter_map(|entity| entity["entityValue"].as_str()).collect(),
        None => event["detail"]["instance-id"].as_str().into_iter().collect(),
    };
    ids.join(", ")
}

/// The sum of each metric in a log. Lines per cluster are skipped, since the line of the invocation includes them.
fn count(lines: &[String]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in lines {
        let Ok(Value::Object(members)) = serde_json::from_str(line) else {
            continue;
        };
        if !members.contains_key("_aws") || members.contains_key("cluster") {
            continue;
        }
        for (name, value) in members {
            if let Some(number) = value.as_u64() {
                *sums.entry(name).or_default() += number;
            }
        }
    }
    sums
}
