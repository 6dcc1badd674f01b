//! `kibus verify`.

use std::collections::BTreeSet;

use super::clusters::Registered;
use super::context::Context;
use super::{Ending, explain, probe, rollback};
use crate::cloud;
use crate::error::{Error, ErrorKind};
use crate::model::hub::{self, Hub};
use crate::model::name::ClusterName;
use crate::model::resource::{Code, Resource, ResourceId};
use crate::model::world::Observed;
use crate::plan::{self, Change, Plan};
use crate::ui::json::{HubReport, Problem, Report};

/// Check that the hub and its clusters are as they should be; changes nothing.
///
/// Ends with 0 if all is well, with 2 if something differs, and with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only these clusters, and the hub.
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Send a probe: through the bus itself, or, with NAMEs, to the queue of each of those clusters, and see whether
    /// something reads it.
    #[arg(long)]
    probe: bool,
}

/// Observe everything, plan what would mend it, and report instead of carrying it out.
pub(super) async fn run(args: Args, context: Context<'_>) -> Result<Ending, Error> {
    let reading = context.ui.spinner("reading the hub");
    let hub = cloud::observe(&context.cloud, hub::ids(&context.scope), context.limit).await;
    drop(reading);
    let memory = ResourceId::Queue(context.scope.dead_letter_queue());
    if let Some((id, fault)) = hub.faults.iter().find(|(id, _)| *id == memory) {
        return Err(explain::unreadable(&context, id, fault));
    }
    let choices = context.hub_choices(&hub.observed)?;
    let mut registered = Registered::find(&context, &choices).await?;
    let mut problems = keep_only(&mut registered, &args.names);
    registered.read_policies(&context).await;

    let mut wanted = Hub::new(&context.scope, choices.clone(), code(&context, &hub.observed)).world();
    wanted.extend(registered.world(&context, &choices)?);
    let mut observed = hub.observed;
    observed.extend(registered.observed.clone());
    let plan = plan::plan(&context.scope, &wanted, &observed);

    let refusals = plan::check(&context.scope, &plan, &observed);
    problems.extend(
        refusals
            .iter()
            .map(|refusal| problem("refused", "", &refusal.to_string())),
    );
    let faults: Vec<_> = hub.faults.iter().chain(&registered.faults).collect();
    for (id, fault) in &faults {
        problems.push(problem("unreadable", &id.to_string(), &fault.to_string()));
    }
    let probed = match args.probe {
        true => probe::run(&context, &choices, &registered, !args.names.is_empty()).await?,
        false => Vec::new(),
    };
    problems.extend(probed.iter().filter_map(probe::Probed::problem));
    let warnings: Vec<String> = rollback::standing(&context.scope, &observed).into_iter().collect();
    for warning in &warnings {
        context.ui.warn(warning);
    }
    let report = HubReport {
        bus: context.scope.bus.clone(),
        account: context.scope.account.clone(),
        region: context.scope.region.clone(),
        plan: &plan,
        clusters: registered.report(&context, &choices),
        problems: problems.clone(),
        probes: probed.iter().map(probe::Probed::report).collect(),
        warnings,
        applied: false,
        error: None,
    };
    context.ui.report(&Report { hubs: vec![report] })?;
    show(&context, &plan, &problems, &registered)?;
    if let Some((id, fault)) = faults.first() {
        let error = explain::unreadable(&context, id, fault);
        return Ok(Ending::Failed(Box::new(Error {
            kind: ErrorKind::Failed,
            ..error
        })));
    }
    Ok(if plan.is_empty() && problems.is_empty() {
        Ending::Done
    } else {
        Ending::Differences
    })
}

/// Narrows what was found to what was asked about; what is not there is a problem.
fn keep_only(registered: &mut Registered, names: &[ClusterName]) -> Vec<Problem> {
    if names.is_empty() {
        return Vec::new();
    }
    let asked: BTreeSet<&ClusterName> = names.iter().collect();
    let missing = asked.iter().filter(|name| !registered.clusters.contains_key(**name));
    let problems = missing
        .map(|name| problem("not-registered", name.as_str(), "the cluster is not registered"))
        .collect();
    registered.clusters.retain(|name, _| asked.contains(name));
    let kept: Observed = registered
        .observed
        .iter()
        .filter(|(id, _)| {
            let tags = registered.observed.resource(id).and_then(Resource::tags);
            tags.is_some_and(|tags| {
                tags.get(crate::model::tags::CLUSTER)
                    .is_some_and(|name| asked.iter().any(|n| n.as_str() == name))
            })
        })
        .map(|(id, seen)| (id.clone(), seen.clone()))
        .collect();
    registered.observed = kept;
    problems
}

/// The code that the function should have: the router of our version, whichever build of it is there.
fn code(context: &Context<'_>, observed: &Observed) -> Code {
    let ours = Code::of_archive(env!("CARGO_PKG_VERSION"), "");
    match observed.resource(&ResourceId::Function(context.scope.router_function())) {
        Some(Resource::Function(function)) if ours.satisfied_by(&function.settings.code) => {
            function.settings.code.clone()
        }
        _ => ours,
    }
}

fn problem(code: &str, subject: &str, message: &str) -> Problem {
    Problem {
        code: code.to_owned(),
        subject: subject.to_owned(),
        message: message.to_owned(),
    }
}

fn show(context: &Context<'_>, plan: &Plan, problems: &[Problem], registered: &Registered) -> Result<(), Error> {
    let ui = context.ui;
    let clusters = registered.clusters.len();
    if plan.is_empty() && problems.is_empty() {
        let bus = &context.scope.bus;
        return ui.result(&match clusters {
            0 => format!("No differences: hub {bus} is as it should be, and has no clusters."),
            1 => format!("No differences: hub {bus} and its cluster are as they should be."),
            _ => format!("No differences: hub {bus} and its {clusters} clusters are as they should be."),
        });
    }
    if !plan.is_empty() {
        ui.show_plan(&context.heading(), plan)?;
    }
    for problem in problems {
        ui.result(&match problem.subject.as_str() {
            "" => format!("  ! {}", problem.message),
            subject => format!("  ! {subject}: {}", problem.message),
        })?;
    }
    let mends: BTreeSet<String> = plan
        .changes
        .iter()
        .map(|change| mend(context, registered, change))
        .collect();
    let count = plan.changes.len() + problems.len();
    let mut text = if count == 1 {
        "1 finding.".to_owned()
    } else {
        format!("{count} findings.")
    };
    if !mends.is_empty() {
        text.push_str(" To mend:");
        for command in mends {
            text.push_str(&format!("\n    {command}"));
        }
    }
    ui.result(&text)
}

/// The command that makes a change: a cluster's things by add-cluster, all else by bootstrap-hub.
fn mend(context: &Context<'_>, registered: &Registered, change: &Change) -> String {
    let of_cluster = registered.clusters.iter().find(|(name, tags)| match &change.id {
        ResourceId::Queue(_) => change
            .before
            .as_ref()
            .and_then(Resource::tags)
            .is_some_and(|tags| tags.cluster_of(&context.scope.bus).as_ref() == Some(*name)),
        ResourceId::RolePolicy(role, policy) => {
            tags.controller_role().as_ref() == Some(role) && *policy == context.scope.controller_policy(name)
        }
        _ => false,
    });
    match of_cluster {
        Some((name, _)) => context.command(&format!("add-cluster {name}")),
        None => context.command("bootstrap-hub"),
    }
}
