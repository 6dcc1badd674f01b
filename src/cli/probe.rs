//! `kibus verify --probe`: an event of kibus's own, and what becomes of it.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::clusters::{self, Registered};
use super::context::Context;
use crate::cloud::Fault;
use crate::error::Error;
use crate::model::karpenter::{KarpenterVersion, Setting};
use crate::model::name::{ClusterName, QueueName};
use crate::model::options::{ClusterOptions, HubOptions};
use crate::model::queue_consumer::{self, ConsumerVerdict, LONGEST, QueueSample};
use crate::model::queue_setting::namespace;
use crate::model::scope::LIVE;
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE};
use crate::model::tags::Tags;
use crate::plan::finding::{Finding, FindingCode, Subject};
use crate::ui::json::ProbeReport;

/// How long a probe of the bus may take: a function's cold start, the window of its mapping, and retries.
const BUS_LIMIT: Duration = Duration::from_secs(45);
/// The pause between two samples of a queue.
const PAUSE: Duration = Duration::from_secs(1);

/// A probe, and what was found out by it.
pub(super) struct Probed {
    cluster: Option<ClusterName>,
    queue: QueueName,
    took: Duration,
    found: Found,
}

/// What was found out.
enum Found {
    CameThrough,
    Lost,
    NotDelivered(String),
    Read,
    NotRead,
    CannotTell(String),
}

/// Probes the bus, or the queues of the clusters that were asked about, and says what was found out.
pub(super) async fn run(
    context: &Context<'_>,
    options: &HubOptions,
    registered: &Registered,
    of_clusters: bool,
) -> Result<Vec<Probed>, Error> {
    let probed = if of_clusters {
        let _watching = context.ui.spinner("watching the queues of clusters, for up to 90 s");
        let probes = registered.clusters.keys().map(|name| {
            let queue = context.scope.cluster_queue(&clusters::prefix(options), name);
            of_cluster(context, name.clone(), queue)
        });
        futures_util::future::join_all(probes).await
    } else {
        let _watching = context.ui.spinner("waiting for a probe of the bus");
        vec![of_bus(context).await]
    };
    for probed in &probed {
        if probed.finding().is_none() {
            context.ui.result(&format!("  {}", probed.sentence()))?;
        }
        let tags = probed.cluster.as_ref().and_then(|name| registered.clusters.get(name));
        if let (Found::NotRead | Found::CannotTell(_), Some(tags)) = (&probed.found, tags) {
            context.ui.result(&look_into(&probed.queue, tags))?;
        }
    }
    Ok(probed)
}

async fn of_bus(context: &Context<'_>) -> Probed {
    let queue = context.scope.probe_queue();
    let began = Instant::now();
    let found = put_and_take(context, &queue, began).await;
    Probed {
        cluster: None,
        took: began.elapsed(),
        found: found.unwrap_or_else(|fault| Found::CannotTell(fault.to_string())),
        queue,
    }
}

async fn put_and_take(context: &Context<'_>, queue: &QueueName, began: Instant) -> Result<Found, Fault> {
    let probe = name();
    context.cloud.put_event(&event(json!({ "probe": probe }))).await?;
    while began.elapsed() < BUS_LIMIT {
        if context.cloud.take_probe(queue, &probe).await? {
            return Ok(Found::CameThrough);
        }
    }
    Ok(Found::Lost)
}

async fn of_cluster(context: &Context<'_>, cluster: ClusterName, queue: QueueName) -> Probed {
    let probe = name();
    let began = Instant::now();
    // Handed over directly, the router answers when the probe is in the queue; by way of the bus nobody would know.
    let event = event(json!({ "cluster": cluster.as_str(), "probe": probe }));
    let function = context.scope.router_function();
    let found = match context.cloud.route_probe(&function, LIVE, &event).await {
        Err(fault) => Found::CannotTell(fault.to_string()),
        Ok(Err(words)) => Found::NotDelivered(words),
        Ok(Ok(counts)) if counts["Delivered"] != 1 => Found::NotDelivered(reasons(&counts)),
        Ok(Ok(_)) => watch(context, &queue, &probe).await,
    };
    Probed {
        cluster: Some(cluster),
        queue,
        took: began.elapsed(),
        found,
    }
}

/// Watches a queue that a probe was just delivered to, until it is clear what becomes of it.
async fn watch(context: &Context<'_>, queue: &QueueName, probe: &str) -> Found {
    let began = Instant::now();
    let mut samples = Vec::new();
    let mut blind = None;
    loop {
        let (waiting, in_flight) = match context.cloud.message_counts(queue).await {
            Ok(counts) => counts,
            Err(fault) => return Found::CannotTell(fault.to_string()),
        };
        let mut sample = QueueSample {
            at: began.elapsed(),
            waiting,
            in_flight,
            there: None,
        };
        // A look is not needed while SQS says that something waits, except at the end, to know whether it is this.
        if blind.is_none() && in_flight == 0 && (waiting == 0 || sample.at >= LONGEST) {
            match context.cloud.look_for_probe(queue, probe).await {
                Ok(there) => sample.there = there,
                Err(fault) => blind = Some(fault),
            }
        }
        samples.push(sample);
        match queue_consumer::judge(&samples) {
            Some(ConsumerVerdict::Read) => return Found::Read,
            Some(ConsumerVerdict::NotRead) => return Found::NotRead,
            Some(ConsumerVerdict::Unknown) => {
                let why = "what SQS says about the queue decides neither way";
                return Found::CannotTell(blind.map_or_else(|| why.to_owned(), |fault| fault.to_string()));
            }
            None => sleep(PAUSE).await,
        }
    }
}

/// A name that no other probe has.
fn name() -> String {
    let time = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{:x}-{:x}", time.as_nanos(), std::process::id())
}

fn event(detail: Value) -> Value {
    json!({ "version": "0", "source": PROBE_SOURCE, "detail-type": PROBE_DETAIL_TYPE, "resources": [], "detail": detail })
}

/// Why the router delivered nothing, by the names of its own metrics.
fn reasons(counts: &Value) -> String {
    let all = counts.as_object().into_iter().flatten();
    let why: Vec<&str> = all
        .filter(|(name, count)| **count != 0 && name.len() > DROPPED.len() && name.starts_with(DROPPED))
        .map(|(name, _)| name.as_str())
        .collect();
    if why.is_empty() {
        return format!("it answered {counts}");
    }
    format!("it counted {}", why.join(", "))
}

const DROPPED: &str = "Dropped";

impl Probed {
    /// What was found out, in a sentence.
    fn sentence(&self) -> String {
        let queue = &self.queue;
        let took = format!("{:.1} s", self.took.as_secs_f64());
        match &self.found {
            Found::CameThrough => format!("a probe came through the bus in {took}"),
            Found::Lost => format!(
                "a probe did not come through the bus within {} s: put on the event bus, it never reached queue \
                 `{queue}`",
                BUS_LIMIT.as_secs()
            ),
            Found::NotDelivered(why) => format!("the router did not deliver a probe to queue `{queue}`: {why}"),
            Found::Read => format!("Karpenter is reading queue `{queue}`: something took a probe within {took}"),
            Found::NotRead => format!("nothing reads queue `{queue}`: a probe waits there since {took}"),
            Found::CannotTell(why) if self.cluster.is_none() => {
                format!("cannot tell whether a probe comes through the bus: {why}")
            }
            Found::CannotTell(why) => format!("cannot tell whether something reads queue `{queue}`: {why}"),
        }
    }

    /// What is wrong, if something is.
    pub(super) fn finding(&self) -> Option<Finding> {
        let code = match self.found {
            Found::CameThrough | Found::Read => return None,
            Found::Lost => FindingCode::ProbeLost,
            Found::NotDelivered(_) => FindingCode::ProbeNotDelivered,
            Found::NotRead => FindingCode::QueueNotRead,
            Found::CannotTell(_) => FindingCode::ProbeUnknown,
        };
        let bus = || Subject::Other("bus".to_owned());
        let subject = self.cluster.clone().map_or_else(bus, Subject::Cluster);
        Some(Finding::new(code, subject, self.sentence()))
    }

    /// What was found out, as JSON output has it.
    pub(super) fn report(&self) -> ProbeReport {
        ProbeReport {
            cluster: self.cluster.clone(),
            queue_name: self.queue.clone(),
            verdict: match self.found {
                Found::CameThrough => "came-through",
                Found::Lost => "lost",
                Found::NotDelivered(_) => "not-delivered",
                Found::Read => "read",
                Found::NotRead => "not-read",
                Found::CannotTell(_) => "unknown",
            },
            milliseconds: self.took.as_millis().try_into().unwrap_or(u64::MAX),
        }
    }
}

/// How to see which queue a cluster's Karpenter reads.
fn look_into(queue: &QueueName, tags: &Tags) -> String {
    let version = ClusterOptions::saved(tags)
        .ok()
        .and_then(|chosen| chosen.karpenter_version);
    let setting = version.map_or(Setting::HelmValue, KarpenterVersion::setting);
    let (key, shows) = if setting == Setting::HelmValue {
        (
            "settings.interruptionQueue",
            r#"get deployment karpenter -o jsonpath='{.spec.template.spec.containers[*].env[?(@.name=="INTERRUPTION_QUEUE")].value}'"#,
        )
    } else {
        (
            "settings.aws.interruptionQueueName",
            r"get configmap karpenter-global-settings -o jsonpath='{.data.aws\.interruptionQueueName}'",
        )
    };
    let kubectl = format!("kubectl -n {}", namespace(setting));
    format!(
        "  In that cluster, this shows which queue Karpenter reads; it should be {queue} (its Helm value is {key}, and \
         a wrong key is ignored without a word):\n      {kubectl} {shows}\n  and this whether it runs, and what it says about \
         the queue:\n      {kubectl} logs deployment/karpenter --tail=200"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_router_says_why_by_its_metrics() {
        for (counts, why) in [
            (
                json!({"Delivered": 0, "Dropped": 1, "DroppedUnregistered": 1, "SendCalls": 1}),
                "it counted DroppedUnregistered",
            ),
            (
                json!({"Delivered": 0, "Dropped": 0}),
                "it answered {\"Delivered\":0,\"Dropped\":0}",
            ),
            (json!(null), "it answered null"),
        ] {
            assert_eq!(reasons(&counts), why);
        }
    }

    #[test]
    fn the_command_fits_the_clusters_karpenter() {
        let queue = "karpenter-base".parse().unwrap();
        for (version, says) in [
            (None, "INTERRUPTION_QUEUE"),
            (Some("0.31.0"), "karpenter-global-settings"),
            (Some("1.6.3"), "INTERRUPTION_QUEUE"),
        ] {
            let chosen = ClusterOptions {
                karpenter_version: version.map(|version| version.parse().unwrap()),
                ..ClusterOptions::default()
            };
            let text = look_into(&queue, &chosen.saved_tags());
            assert!(
                text.contains(says) && text.contains("karpenter-base"),
                "{version:?}: {text}"
            );
        }
    }
}
