use std::collections::BTreeSet;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::router_file::RouterFile;
use crate::cli::{failure, stages};
use crate::error::Error;
use crate::message::{Message, fixes};
use crate::model::{ClusterName, Fact, FindingCode, Probed, counted};
use crate::reconcile::{Check, Intent, Target, reconcile};
use crate::survey::{Query, Survey};
use crate::ui::json::Probe;
use crate::ui::{HubReport, text};

/// Check the hub and its clusters for drift; change nothing.
///
/// Runs the self-test of the live router, which sends a message to the probe queue. Each finding has a code, which
/// `kibus explain CODE` describes. -v shows the meaning of each finding, and the differences. Exits with 2 for critical
/// findings or errors, with 0 for warnings or no findings, and with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to check, in addition to the hub [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Send a probe to each cluster, and check that Karpenter reads it; without NAMEs, also send one through the bus.
    /// Takes up to 150 seconds. Each look at a queue hides its messages for a second.
    #[arg(long)]
    probe: bool,
    #[command(flatten)]
    router: RouterFile,
}

/// Reports instead of applying the plan that would fix what is found.
pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let mut target = Target::keep(args.names);
    let survey = stages::survey_for(hub, &target).await?;
    // Before the slow steps: an unusable router file ends the check.
    args.router.complete(hub.ui, &mut target, &survey)?;
    target.check = if args.probe { Check::Probe } else { Check::Test };
    let pass = |survey: &Survey| reconcile(survey, &target);
    let (survey, intent) = stages::extended(hub, (survey, Query::default()), pass).await?;
    show_probes(hub, &survey)?;
    let intent = intent?;
    hub.ui.warn_of(&intent.warnings);
    show_findings(hub, &survey, &intent)?;
    Ok(HubReport {
        probes: probed(&survey).map(Probe::from).collect(),
        error: failure::incomplete(hub, intent.incomplete.len(), &intent.incomplete),
        differs: intent.findings.iter().any(|finding| finding.severity.needs_work()),
        ..HubReport::new(&hub.scope, &intent)
    })
}

fn show_probes(hub: &ConnectedHub<'_>, survey: &Survey) -> Result<(), Error> {
    let style = hub.ui.result_style();
    for probed in probed(survey) {
        if probed.finding(&hub.scope, None).is_none() {
            hub.ui.result(&text::block(&probed.sentence(), style))?;
        }
    }
    Ok(())
}

fn probed(survey: &Survey) -> impl Iterator<Item = &Probed> {
    survey.known.probes.values().filter_map(Fact::present)
}

fn show_findings(hub: &ConnectedHub<'_>, survey: &Survey, intent: &Intent) -> Result<(), Error> {
    // An unusable record also counts as a cluster.
    let unusable = |finding: &&Message| finding.code == Some(FindingCode::RecordUnusable);
    let found = intent.findings.iter().filter(unusable).filter_map(|finding| finding.cluster.as_ref());
    let names: BTreeSet<_> = intent.clusters.iter().map(|cluster| &cluster.name).chain(found).collect();
    let clusters = match (names.len(), survey.records().fault()) {
        (_, Some(_)) => "clusters unknown".to_owned(),
        (count, None) => counted(count, "cluster"),
    };
    let ConnectedHub { ui, scope, .. } = hub;
    if intent.findings.is_empty() {
        let bus = &scope.bus;
        if ui.verbose > 0 {
            ui.result(&text::passed(&intent.passed, ui.result_style()).join("\n"))?;
        }
        return ui.result(&match clusters.as_str() {
            "0 clusters" => format!("No findings. Hub {bus} is up to date; no clusters yet."),
            _ => format!("No findings. Hub {bus} and {clusters} are up to date."),
        });
    }
    let fixes = fixes(scope, &intent.findings);
    ui.result(&text::findings(scope, &clusters, intent, &fixes, ui.result_style()))
}
