use std::collections::BTreeSet;

use tokio::sync::watch;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages::Consent;
use crate::cli::{failure, stages};
use crate::drill::choice::{DrillInstance, choose};
use crate::drill::steps::{Step, StepReport};
use crate::drill::{self, Drill, DrillCloud, Ended, Left};
use crate::error::{Error, ErrorKind, Hint};
use crate::model::{ClusterName, Fault, FaultKind, InstanceId, counted, instance::JOINED, now, parse_duration};
use crate::reconcile::{check_log, check_names};
use crate::survey::{Query, Survey};
use crate::ui::json::DrillReport;
use crate::ui::{Body, HubReport, Output, Ui, text};

/// The command that removes the leftovers of a drill.
const CLEAN: &str = "drill --clean";
/// The state after a drill.
const REMOVED: &str = "everything that the drill made is removed";
const UNCHANGED: &str = "Nothing is changed yet.";
/// The permissions of a drill.
const DOCUMENT: &str = "policy operator --for drill";

/// Interrupt a Spot instance of a cluster with AWS FIS, and trace the outcome.
///
/// This is a real interruption. Shows each step with its time: the experiment, the warning at the hub and its delivery,
/// Karpenter, and the termination of the instance. Receives no messages from queues. Removes everything that it
/// creates, even after Ctrl-C. Exits with 2 if a step failed. To test a cluster without an interruption, use `verify
/// --probe`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("exact").args(["instance", "clean"])))]
#[command(mut_args(|arg| if arg.get_id() == "yes" { arg.requires("exact") } else { arg }))]
pub(in crate::cli) struct Args {
    /// Name of the EKS cluster.
    #[arg(required_unless_present = "clean", conflicts_with = "clean")]
    cluster: Option<ClusterName>,
    /// Spot instance to interrupt [default: the newest one that is not the only node in its node pool].
    #[arg(long, value_name = "ID", requires = "cluster")]
    instance: Option<InstanceId>,
    /// Time until the interruption, from 2m to 15m. EC2 sends the warning two minutes before it, and a rebalance
    /// recommendation at the start.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = minutes)]
    warning: u64,
    /// Stop and delete the leftovers of drills: experiment, template and role. Asks for confirmation.
    #[arg(long)]
    clean: bool,
    #[command(flatten)]
    consent: Consent,
}

fn minutes(text: &str) -> Result<u64, &'static str> {
    let minutes = parse_duration(text).filter(|seconds| seconds % 60 == 0).map(|seconds| seconds / 60);
    minutes.filter(|minutes| (2..=15).contains(minutes)).ok_or("expected whole minutes from 2m to 15m")
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    hub.stop.before_changes(!args.consent.dry_run);
    match &args.cluster {
        _ if !hub.scope.region.has_spot_interruptions() => Err(not_offered(hub, args.cluster.as_ref())),
        None => clean(hub, args.consent).await,
        Some(cluster) => interrupt_one(hub, &args, cluster).await,
    }
}

fn not_offered(hub: &ConnectedHub<'_>, cluster: Option<&ClusterName>) -> Error {
    let region = &hub.scope.region;
    let message = format!("AWS FIS cannot interrupt Spot instances in {region}");
    let name = cluster.map_or(String::new(), |cluster| format!(" {cluster}"));
    Error::new(ErrorKind::Refused, message)
        .hint_command("to test a cluster without an interruption:", hub.scope.kibus(format!("verify --probe{name}")))
}

/// Removes the leftovers of drills.
async fn clean(hub: &ConnectedHub<'_>, consent: Consent) -> Result<HubReport, Error> {
    let left = drill::find(&hub.cloud, &hub.scope).await.map_err(|fault| failed(hub, &fault))?;
    if left.parts().is_empty() {
        hub.ui.sentence("Nothing to remove: drills have left nothing behind.")?;
        return Ok(HubReport::of(&hub.scope));
    }
    let ui = hub.ui;
    show_line(ui, &text::drill_left(&hub.scope, &left, ui.result_style()))?;
    if consent.dry_run {
        ui.sentence(UNCHANGED)?;
        return Ok(HubReport { differs: consent.differs(true), ..HubReport::of(&hub.scope) });
    }
    stages::ask(hub, consent, ("Stop and delete these?", ""), ("remove them", "")).await?;
    let _removing = ui.spinner("removing the leftovers of a drill");
    let removing = async |_| drill::remove(&hub.cloud, &hub.scope, &left).await;
    let (removed, signal) = hub.stop.during(ui, removing).await?;
    match removed {
        Some(Ok(())) => ui.sentence("Everything is removed.")?,
        Some(Err(fault)) => return Err(unclean(hub, &fault)),
        None => return Err(failure::cut_short(hub, signal)),
    }
    Ok(HubReport::of(&hub.scope))
}

fn what(left: &Left) -> String {
    left.parts().into_iter().map(|(kind, name)| format!("{kind} {name}")).collect::<Vec<_>>().join(", ")
}

/// Chooses an instance, asks for confirmation, and interrupts it.
async fn interrupt_one(hub: &ConnectedHub<'_>, args: &Args, cluster: &ClusterName) -> Result<HubReport, Error> {
    let unchanged = |error| args.consent.unchanged(error);
    let names = BTreeSet::from([cluster.clone()]);
    let pass = |survey: &Survey| check_log(true, survey).and_then(|_| check_names(survey, &names));
    let (survey, checked) = stages::survey(hub, |_| Query::default(), pass).await?;
    checked.map_err(|blocked| unchanged(Error::from(blocked)))?;
    let left = drill::find(&hub.cloud, &hub.scope).await.map_err(|fault| unchanged(failed(hub, &fault)))?;
    if !left.parts().is_empty() {
        return Err(unchanged(another(hub, &what(&left))));
    }
    let unknown = || Error::new(ErrorKind::Refused, "the settings of the hub are unknown, and so is the drill role");
    let unknown = || unchanged(unknown().hint_command("to see why:", hub.scope.kibus("verify")));
    let options = survey.options().cloned().ok_or_else(unknown)?;
    let instance = target_instance(hub, args, cluster).await.map_err(unchanged)?;
    let mut report = DrillReport {
        cluster: cluster.clone(),
        queue: survey.cluster_queue(cluster),
        instance,
        steps: Vec::new(),
        sent: None,
        left: false,
    };
    let drill = Drill {
        scope: hub.scope.clone(),
        options,
        cluster: cluster.clone(),
        queue: report.queue.clone(),
        instance: report.instance.id.clone(),
        minutes: args.warning,
    };
    show_line(hub.ui, &text::drill_plan(&drill, &report.instance, now(), hub.ui.result_style()))?;
    let (mut error, mut differs) = (None, args.consent.differs(true));
    if args.consent.dry_run {
        hub.ui.sentence(UNCHANGED)?;
    } else {
        confirm(hub, args, &report).await?;
        (error, differs) = interrupt(hub, &drill, &mut report).await?;
    }
    Ok(HubReport { error, differs, ..HubReport::with(&hub.scope, Body::Drill(report)) })
}

/// Writes lines of text, beside a JSON document if there is one.
fn show_line(ui: &Ui, line: &str) -> Result<(), Error> {
    match ui.output {
        Output::Text => ui.out(line),
        Output::Json => {
            line.lines().for_each(|line| ui.note(line, &[]));
            Ok(())
        }
    }
}

async fn target_instance(hub: &ConnectedHub<'_>, args: &Args, cluster: &ClusterName) -> Result<DrillInstance, Error> {
    let _reading = hub.ui.spinner("reading the instances of the cluster");
    let joined = format!("tag:{JOINED}");
    let mut filters = vec![(joined.as_str(), cluster.as_str())];
    filters.extend(args.instance.as_ref().map(|id| ("instance-id", id.as_str())));
    let mut all = Vec::new();
    for filter in filters {
        all.extend(hub.cloud.instances(filter).await.map_err(|fault| failed(hub, &fault))?);
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all.dedup_by(|a, b| a.id == b.id);
    choose(&all, cluster, args.instance.as_ref()).map_err(|why| Error::new(ErrorKind::Refused, why))
}

/// Asks the user to type the name of the cluster.
async fn confirm(hub: &ConnectedHub<'_>, args: &Args, report: &DrillReport) -> Result<(), Error> {
    let cost = if hub.scope.options.sandbox {
        "This interrupts an instance of the sandbox."
    } else {
        "This interrupts a real instance. AWS FIS costs $0.10 a minute."
    };
    hub.ui.note(cost, &[]);
    let (cluster, id) = (report.cluster.as_str(), &report.instance.id);
    let question = format!("Type `{cluster}` to continue");
    let named = match args.instance {
        Some(_) => String::new(),
        None => format!(" --instance {id}"),
    };
    stages::ask(hub, args.consent, (&question, cluster), ("interrupt it", &named)).await
}

/// Interrupts the instance, and shows each step. Returns the error to end with, and whether a step has failed.
async fn interrupt(
    hub: &ConnectedHub<'_>,
    drill: &Drill,
    report: &mut DrillReport,
) -> Result<(Option<Error>, bool), Error> {
    // With stdout closed, the command fails when it writes the rest; the drill's resources are removed first.
    let ui = hub.ui;
    let tell = |step: &StepReport| drop(show_line(ui, &text::drill_step(step, ui.result_style().paint)));
    let wait = |reason: &str| ui.note(&format!("waiting: {reason}"), &[]);
    let begun = now() / 1_000;
    let running = async |stop: watch::Receiver<bool>| drill::run(&hub.cloud, drill, &tell, &wait, &stop).await;
    let (ended, interrupted) = hub.stop.during(hub.ui, running).await?;
    let Some(ended) = ended else {
        report.left = true;
        let mut error = failure::cut_short(hub, interrupted).note("the experiment may continue");
        error.hints.clear();
        return Ok((Some(clean_up(hub, error)), false));
    };
    report.left = ended.left.is_some();
    report.steps.clone_from(&ended.steps);
    if let Some(error) = error_of(hub, &ended, interrupted) {
        return Ok((Some(error), false));
    }
    hub.ui.sentence("Everything that the drill made is removed.")?;
    // The sandbox has no queue metrics.
    if !hub.scope.options.sandbox
        && let Ok(sent) = hub.cloud.sent(&drill.queue, begun).await
    {
        report.sent = Some(sent);
        let sent = counted(sent, "message");
        hub.ui.sentence(&format!(
            "SQS has counted {sent} sent to {} since the start; its counts lag by minutes.",
            drill.queue
        ))?;
    }
    if ended.steps.iter().any(|step| step.step == Step::Warning) {
        let logs = "kubectl logs -n kube-system -l app.kubernetes.io/name=karpenter";
        hub.ui.next_steps(&[Hint::command("To see what Karpenter did:", logs)])?;
    }
    Ok((None, ended.has_failed()))
}

fn error_of(hub: &ConnectedHub<'_>, ended: &Ended, interrupted: ErrorKind) -> Option<Error> {
    if let Some(fault) = &ended.left {
        return Some(unclean(hub, fault));
    }
    let fault = ended.fault.as_ref()?;
    Some(match fault.kind {
        FaultKind::Exists => another(hub, &format!("role {}", hub.scope.drill_role())),
        FaultKind::Stopped | FaultKind::NotBegun => {
            let error = Error::new(interrupted, "stopped early").note(REMOVED);
            match ended.steps.as_slice() {
                [] => error,
                _ => error.note("if EC2 has sent the warning, the instance may still be interrupted"),
            }
        }
        _ => failed(hub, fault).note(REMOVED),
    })
}

/// Another drill is running, or was cut off.
fn another(hub: &ConnectedHub<'_>, what: &str) -> Error {
    let bus = &hub.scope.bus;
    let message = format!("another drill on bus `{bus}` is running, or was cut off");
    clean_up(hub, Error::new(ErrorKind::Refused, message).note(format!("exists: {what}")))
}

fn clean_up(hub: &ConnectedHub<'_>, error: Error) -> Error {
    error.hint_command("to stop it and remove its leftovers:", hub.scope.kibus(CLEAN))
}

fn unclean(hub: &ConnectedHub<'_>, fault: &Fault) -> Error {
    let error = Error::failed("cannot remove everything that the drill created");
    clean_up(hub, failure::because(hub, error, fault))
}

/// A call failed. Kibus changes nothing that it does not manage.
fn failed(hub: &ConnectedHub<'_>, fault: &Fault) -> Error {
    let error = match fault.kind {
        FaultKind::NotManaged => Error::new(ErrorKind::Refused, "kibus does not manage the drill role"),
        _ => Error::failed("cannot run the drill"),
    };
    let mut error = failure::because(hub, error, fault);
    if let FaultKind::Denied { .. } = fault.kind {
        error.hints.clear();
        return error.hint_command("to print the permissions that a drill needs:", hub.scope.kibus(DOCUMENT));
    }
    error
}
