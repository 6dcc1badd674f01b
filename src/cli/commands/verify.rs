//! `kibus verify`.

use std::collections::BTreeMap;

use futures_util::future::{OptionFuture, join_all};

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::router_file::RouterFile;
use crate::cli::{Ending, failure, stages};
use crate::error::Error;
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, QueueName};
use crate::model::probe::{BUS_LIMIT, ProbeResult, Probed, RESEND};
use crate::model::self_test::LiveTest;
use crate::model::status::Depth;
use crate::probe::{self, counts};
use crate::reconcile::{
    Intent, OfferedRouter, Others, Target, asks_live_router, checked_clusters, needs, queues_to_watch, reconcile,
};
use crate::survey::{Survey, Tried};
use crate::ui::{Heading, HubReport, text};

/// Check the hub and its clusters for drift; change nothing.
///
/// Runs the self-test of the live router, which sends a message to the probe queue. Each finding has a code, which
/// `kibus explain CODE` describes. Exits with 0 without findings, with 2 if there are findings, and with 1 if something
/// could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to check, besides the hub [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Send a probe through the bus, or, with NAMEs, to each cluster, and check that it is read. Watches message counts
    /// for a minute if messages wait.
    #[arg(long)]
    probe: bool,
    #[command(flatten)]
    router: RouterFile,
}

/// Surveys every hub, and reports instead of applying the plan that would fix it.
pub(in crate::cli) async fn run(args: Args, mut hubs: Hubs<'_>) -> Result<Ending, Error> {
    let router = OfferedRouter::of_version(env!("CARGO_PKG_VERSION"));
    let target = Target::keep(router, args.names);
    let surveys = stages::survey(&hubs, |survey| needs(&target, survey)).await?;
    let mut cases = Vec::new();
    for (at, mut survey) in surveys.into_iter().enumerate() {
        let mut target = target.clone();
        args.router
            .complete(hubs.ui, &mut hubs.list[at], &mut target, &survey)?;
        let hub = &hubs.list[at];
        // A probe deletes the message of a self-test that was sent before.
        let live = live(hub, &survey).await;
        let probes = OptionFuture::from(args.probe.then(|| probed(&hubs, hub, &survey, &target)));
        let (later, probed) = tokio::join!(samples(&hubs, hub, &survey, args.probe), probes);
        survey.tried = Tried {
            later,
            watched: args.probe,
            live,
            probed: probed.transpose()?.unwrap_or_default(),
        };
        cases.push(check(&hubs, hub, &survey, &target)?);
    }
    stages::report_all(&hubs, cases)
}

fn check(hubs: &Hubs<'_>, hub: &ConnectedHub, survey: &Survey, target: &Target) -> Result<(HubReport, Ending), Error> {
    let intent = match reconcile(survey, target) {
        Ok(intent) => intent,
        Err(blocked) => {
            let error = hubs.complete(failure::blocked(&hubs.place(hub), &blocked));
            let mut report = HubReport::of(&hub.scope);
            report.error = Some(error.clone());
            return Ok((report, Ending::Failed(Box::new(error))));
        }
    };
    hubs.ui.warn_of(&intent, &hubs.global_options);
    let error = failure::incomplete(intent.incomplete).map(|error| hubs.complete(error));
    let mut report = HubReport::new(&hub.scope, &intent);
    report.probes = survey.tried.probed.clone();
    report.error = error.clone();
    show(hubs, hub, survey, &intent)?;
    let ending = match error {
        Some(error) => Ending::Failed(Box::new(error)),
        None if intent.findings.is_empty() => Ending::Done,
        None => Ending::Differences,
    };
    Ok((report, ending))
}

fn show(hubs: &Hubs<'_>, hub: &ConnectedHub, survey: &Survey, intent: &Intent) -> Result<(), Error> {
    let clusters = match (intent.clusters.len(), survey.discovered.fault()) {
        (_, Some(_)) => "clusters unknown".to_owned(),
        (1, None) => "1 cluster".to_owned(),
        (count, None) => format!("{count} clusters"),
    };
    if intent.findings.is_empty() {
        let bus = &hub.scope.bus;
        return hubs
            .ui
            .result(&format!("No findings. Hub {bus} and {clusters} are up to date."));
    }
    hubs.ui.result(&text::findings(
        &Heading::from(&hub.scope),
        &clusters,
        intent,
        &hubs.global_options,
        hubs.ui.result_style(),
    ))
}

/// Reads the queues in which messages wait again: a message that is seen once may just have arrived.
async fn samples(hubs: &Hubs<'_>, hub: &ConnectedHub, survey: &Survey, watch: bool) -> BTreeMap<QueueName, Vec<Depth>> {
    let queues = queues_to_watch(survey);
    if queues.is_empty() {
        return BTreeMap::new();
    }
    if watch {
        let _waiting = hubs
            .ui
            .spinner("messages wait: watching for a minute whether they are received");
        counts::watch(&hub.cloud, &queues).await
    } else {
        let _waiting = hubs.ui.spinner("messages wait: checking whether they are received");
        counts::glance(&hub.cloud, &queues).await
    }
}

async fn live(hub: &ConnectedHub, survey: &Survey) -> Fact<LiveTest> {
    if asks_live_router(survey) {
        probe::live(&hub.cloud, &hub.scope).await
    } else {
        Fact::NotAsked
    }
}

async fn probed(hubs: &Hubs<'_>, hub: &ConnectedHub, survey: &Survey, target: &Target) -> Result<Vec<Probed>, Error> {
    let clusters = checked_clusters(survey, target);
    let probed = if target.others == Others::Keep {
        let _waiting = hubs.ui.spinner(&format!(
            "waiting for a probe of the bus, sent every {}s for up to {}s: a new rule takes up to a minute",
            RESEND.as_secs(),
            BUS_LIMIT.as_secs()
        ));
        vec![probe::bus(&hub.cloud, &hub.scope).await]
    } else {
        let _watching = hubs.ui.spinner("watching the queues of clusters, for up to 90s");
        let probes = clusters.keys().map(|name| {
            let queue = survey.cluster_queue(name);
            probe::cluster(&hub.cloud, &hub.scope, name.clone(), queue)
        });
        join_all(probes).await
    };
    for probed in &probed {
        if probed.finding().is_none() {
            hubs.ui.result(&format!("  {}", probed.sentence()))?;
        }
        let tags = probed.cluster.as_ref().and_then(|name| clusters.get(name));
        if let (ProbeResult::NotRead | ProbeResult::Unknown(_), Some(tags)) = (&probed.result, tags) {
            hubs.ui.result(&text::how_to_check(&probed.queue, tags))?;
        }
    }
    Ok(probed)
}
