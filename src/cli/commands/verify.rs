use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::{FutureExt, OptionFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::router_file::RouterFile;
use crate::cli::{Ending, failure, stages};
use crate::error::{Error, ErrorKind};
use crate::model::answer::Fact;
use crate::model::name::{ClusterName, QueueName};
use crate::model::notation::counted;
use crate::model::status::{Depth, PROBE_LIMIT, ProbeResult, Probed};
use crate::plan::finding::fixes;
use crate::probe;
use crate::reconcile::{Intent, Target, Wish, asks_live_router, checked_clusters, queues_to_watch, reconcile};
use crate::survey::{Survey, Tried};
use crate::ui::{HubReport, text};

/// How often a probe says that it still runs.
const PROGRESS: Duration = Duration::from_secs(10);

/// Check the hub and its clusters for drift; change nothing.
///
/// Runs the self-test of the live router, which sends a message to the probe queue. Each finding has a code, which
/// `kibus explain CODE` describes. -v shows what each means, and what differs. Exits with 2 if findings need work
/// (critical, error), with 0 if there are only warnings or none, and with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to check, besides the hub [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Send a probe to each cluster, and check that Karpenter reads it; without NAMEs, also one through the bus. Takes up to
    /// 150 seconds. A look at a queue hides its messages for a second.
    #[arg(long)]
    probe: bool,
    #[command(flatten)]
    router: RouterFile,
}

/// Surveys every hub, and reports instead of applying the plan that would fix it.
pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let target = Target::keep(args.names.iter().cloned());
    let examined = hubs
        .each(async |hub| examine(&hubs, hub, &args, target.clone()).await)
        .await;
    let (mut reports, mut ending) = (Vec::new(), Ending::Done);
    for (hub, examined) in hubs.list.iter().zip(examined) {
        let report = match examined {
            Ok((survey, target)) => check(&hubs, hub, &survey, &target)?,
            Err(error) => hub.left_out(error)?,
        };
        if report.error.is_none() && report.findings.iter().any(|finding| finding.severity.needs_work()) {
            ending = Ending::With(ErrorKind::Differences);
        }
        reports.push(report);
    }
    stages::finish(&hubs, reports, ending)
}

/// Reads what is needed to know of a hub, and tries what can be tried on it.
async fn examine(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    args: &Args,
    mut target: Target,
) -> Result<(Survey, Target), Error> {
    let (mut survey, _) = stages::survey_for(hubs, hub, &target).await?;
    args.router.complete(&hub.ui, &mut target, &survey)?;
    // A probe deletes the message of a self-test that was sent before.
    let live = match asks_live_router(&survey) {
        true => probe::live(&hub.cloud, &hub.scope).await,
        false => Fact::NotAsked,
    };
    let probes = OptionFuture::from(args.probe.then(|| probed(hub, &survey, &target)));
    let (later, probed) = tokio::join!(samples(hub, &survey, &target, args.probe), probes);
    survey.tried = Tried {
        later,
        watched: args.probe,
        live,
        probed: probed.unwrap_or_default(),
    };
    Ok((survey, target))
}

fn check(hubs: &Hubs<'_>, hub: &ConnectedHub, survey: &Survey, target: &Target) -> Result<HubReport, Error> {
    let intent = reconcile(survey, target);
    if !survey.tried.probed.is_empty() {
        hubs.part(hub, false)?;
        show_probes(hub, survey, target)?;
    } else if let Ok(intent) = &intent {
        hubs.part(hub, !intent.findings.is_empty())?;
    }
    let intent = match intent {
        Ok(intent) => intent,
        Err(blocked) => return Ok(hub.failed(failure::blocked(hub, &blocked))),
    };
    hub.ui.warn_of(&intent);
    show(hub, survey, &intent)?;
    Ok(HubReport {
        probes: survey.tried.probed.clone(),
        error: failure::incomplete(hub, intent.incomplete),
        ..hub.report(&intent)
    })
}

fn show_probes(hub: &ConnectedHub, survey: &Survey, target: &Target) -> Result<(), Error> {
    let (clusters, style) = (checked_clusters(survey, target), hub.ui.result_style());
    for probed in &survey.tried.probed {
        if probed.finding(&hub.scope).is_none() {
            hub.ui.result(&text::block(&probed.sentence(), style))?;
        }
        let tags = probed.cluster.as_ref().and_then(|name| clusters.get(name));
        if let (ProbeResult::NotRead | ProbeResult::Unknown(_), Some(tags)) = (&probed.result, tags) {
            hub.ui
                .result(&text::block(&text::how_to_check(&probed.queue, tags), style))?;
        }
    }
    Ok(())
}

fn show(hub: &ConnectedHub, survey: &Survey, intent: &Intent) -> Result<(), Error> {
    // A cluster whose queue is missing is one too.
    let found = intent.findings.iter().filter_map(|finding| finding.cluster.as_ref());
    let names: BTreeSet<_> = intent
        .clusters
        .iter()
        .map(|cluster| &cluster.name)
        .chain(found)
        .collect();
    let clusters = match (names.len(), survey.discovered().fault()) {
        (_, Some(_)) => "clusters unknown".to_owned(),
        (count, None) => counted(count, "cluster"),
    };
    let ConnectedHub { ui, heading, .. } = hub;
    if intent.findings.is_empty() {
        let bus = &heading.bus;
        return ui.result(&match clusters.as_str() {
            "0 clusters" => format!("No findings. Hub {bus} is up to date; no clusters yet."),
            _ => format!("No findings. Hub {bus} and {clusters} are up to date."),
        });
    }
    let fixes = fixes(&hub.scope, &intent.findings);
    ui.result(&text::findings(heading, &clusters, intent, &fixes, ui.result_style()))
}

/// Reads the queues in which messages wait again: a message that is seen once may just have arrived.
async fn samples(hub: &ConnectedHub, survey: &Survey, target: &Target, watch: bool) -> BTreeMap<QueueName, Vec<Depth>> {
    let queues = queues_to_watch(survey, target, watch);
    if queues.is_empty() {
        return BTreeMap::new();
    }
    let how = if watch { "watching for a minute" } else { "checking" };
    let text = format!("messages wait: {how} whether they are received");
    let _waiting = hub.ui.spinner(&text);
    match watch {
        true => probe::watch_counts(&hub.cloud, &queues).await,
        false => probe::glance(&hub.cloud, &hub.scope, &queues).await,
    }
}

/// Probes the clusters, and without names of clusters the bus too. Says before how long it may take, and then how far it is.
async fn probed(hub: &ConnectedHub, survey: &Survey, target: &Target) -> Vec<Probed> {
    let turns = Semaphore::new(hub.limit);
    let mut clusters = checked_clusters(survey, target);
    clusters.retain(|_, tags| !tags.being_deleted(survey.now));
    let bus = (target.others == Wish::Keep).then(|| probe::bus(&hub.cloud, &hub.scope).left_future());
    let probes = clusters.keys().map(|name| {
        let queue = survey.cluster_queue(name);
        probe::cluster(&hub.cloud, &hub.scope, &turns, name.clone(), queue).right_future()
    });
    let mut running: FuturesUnordered<_> = bus.into_iter().chain(probes).collect();
    let all = running.len();
    if all == 0 {
        return Vec::new();
    }
    let what = match (target.others == Wish::Keep, clusters.len()) {
        (true, 0) => "the bus".to_owned(),
        (true, count) => format!("the bus and {}", counted(count, "cluster")),
        (false, count) => counted(count, "cluster"),
    };
    let text = format!("probing {what}, for at most {} seconds", PROBE_LIMIT.as_secs());
    hub.ui.slowed(&text);
    let _probing = hub.ui.spinner(&text);
    let began = Instant::now();
    let mut ticks = interval_at(began + PROGRESS, PROGRESS);
    let mut probed = Vec::new();
    loop {
        tokio::select! {
            next = running.next() => match next {
                Some(one) => probed.push(one),
                None => break,
            },
            _ = ticks.tick() => hub.ui.slowed(&format!(
                "still probing: {} of {all} results missing after {}s",
                running.len(),
                began.elapsed().as_secs()
            )),
        }
    }
    probed.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    probed
}
