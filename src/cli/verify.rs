//! `kibus verify`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::clusters::{Registered, saved_policy};
use super::context::Context;
use super::look::{Look, State, depths};
use super::{Ending, controller_policies, hub_options, probe, rollback};
use crate::cloud::{Fault, FaultKind};
use crate::error::Error;
use crate::model::hub::Hub;
use crate::model::inventory::Observed;
use crate::model::name::{ClusterName, QueueName};
use crate::model::resource::{Code, Resource, ResourceId};
use crate::model::status::Depth;
use crate::plan::finding::{self, Finding, Fix, Subject};
use crate::plan::{self, Plan};
use crate::ui::json::{HubReport, Problem, Report};
use crate::ui::text;

/// How long a queue gets to show that somebody reads it.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// Check that the hub and its clusters are as they should be; changes nothing.
///
/// Each finding has a code, which docs/findings.md explains. Ends with 0 if all is well, with 2 if there are
/// findings, and with 1 if something could not be read.
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

/// Observe everything, plan what would fix it, and report instead of carrying it out.
pub(super) async fn run(args: Args, context: Context<'_>) -> Result<Ending, Error> {
    let mut look = Look::take(&context).await?;
    let missing = keep_only(&mut look.registered, &args.names);
    look.registered.read_policies(&context).await;
    let (plan, mut findings) = drift(&context, &look)?;
    if look.undiscovered.is_none() {
        findings.extend(missing.into_iter().map(finding::not_registered));
    }

    let state = look.state(&context).await;
    let all = look.faults.iter().chain(&look.registered.faults).chain(&state.faults);
    let mut unreadable: Vec<Finding> = all.map(|(id, fault)| of_fault(id, fault)).collect();
    unreadable.extend(look.undiscovered.iter().map(of_discovery));
    let seen = second_look(&context, state).await;
    findings.extend(finding::traffic(&context.scope, &seen, &look.cluster_queues(&context)));
    let error = super::look::incomplete(&context, unreadable.len());
    findings.extend(unreadable);
    let probed = match args.probe {
        true => probe::run(&context, &look.options, &look.registered, !args.names.is_empty()).await?,
        false => Vec::new(),
    };
    findings.extend(probed.iter().filter_map(probe::Probed::finding));
    let key = hub_options::Key::look_at_chosen(&context, &look.options).await;
    findings.extend(key.finding);
    let mut warnings = warnings(&context, &seen);
    warnings.extend(key.unclear);
    warnings.extend(rollback::standing(&context.scope, &look.observed));
    let policies = look.registered.desired(&context, &look.options)?;
    warnings.extend(controller_policies::look(&context, &policies).await.warnings());

    let report = HubReport {
        bus: context.scope.bus.clone(),
        account: context.scope.account.clone(),
        region: context.scope.region.clone(),
        plan: &plan,
        clusters: look.registered.report(&context, &look.options),
        problems: findings
            .iter()
            .map(|finding| problem(&context, &look, finding))
            .collect(),
        probes: probed.iter().map(probe::Probed::report).collect(),
        warnings,
        status: None,
        applied: false,
        error: error.as_ref(),
    };
    for warning in &report.warnings {
        context.ui.warn(warning);
    }
    context.ui.report(&Report { hubs: vec![report] })?;
    show(&context, &plan, &findings, &look)?;
    Ok(match error {
        Some(error) => Ending::Failed(Box::new(error)),
        None if findings.is_empty() => Ending::Done,
        None => Ending::Differences,
    })
}

/// What differs from what the hub and its clusters remember that they should be, and what would be refused.
fn drift(context: &Context<'_>, look: &Look) -> Result<(Plan, Vec<Finding>), Error> {
    let scope = &context.scope;
    let mut wanted = Hub::new(scope, look.options.clone(), code(context, &look.observed)).desired();
    wanted.extend(look.registered.desired(context, &look.options)?);
    let mut observed = look.observed.clone();
    observed.extend(look.registered.observed.clone());
    let plan = plan::plan(scope, &wanted, &observed);
    let refusals = plan::check(scope, &plan, &observed);
    let mut findings = finding::changed(scope, &plan, &refusals, &owners(context, look));
    findings.extend(finding::refused(scope, &refusals));
    Ok((plan, findings))
}

/// Which cluster's a resource is.
fn owners(context: &Context<'_>, look: &Look) -> BTreeMap<ResourceId, ClusterName> {
    let policies = look.registered.clusters.iter().filter_map(|(name, tags)| {
        let policy = saved_policy(context, name, tags)?;
        Some((policy, name.clone()))
    });
    let queues = look.cluster_queues(context);
    let queues = queues.into_iter().map(|(queue, name)| (ResourceId::Queue(queue), name));
    queues.chain(policies).collect()
}

/// Looks again at the queues in which messages wait: one message that is seen once may just have come.
async fn second_look(context: &Context<'_>, state: State) -> finding::Look {
    let waits = |(_, depth): &(&QueueName, &Depth)| depth.waiting > 0;
    let again: Vec<QueueName> = state
        .depths
        .iter()
        .filter(waits)
        .map(|(queue, _)| queue.clone())
        .collect();
    let second = if again.is_empty() {
        State::default()
    } else {
        let _waiting = context
            .ui
            .spinner("messages wait: looking again in a moment whether somebody takes them");
        tokio::time::sleep(SECOND_LOOK).await;
        depths(context, again).await
    };
    finding::Look {
        queues: state
            .depths
            .into_iter()
            .map(|(queue, first)| {
                let last = second.depths.get(&queue).copied().unwrap_or(first);
                (queue, (first, last))
            })
            .collect(),
        mapping: state.mapping,
        version: state.version,
    }
}

/// Narrows what was found to what was asked about; gives the clusters that are not there.
fn keep_only(registered: &mut Registered, names: &[ClusterName]) -> Vec<ClusterName> {
    if names.is_empty() {
        return Vec::new();
    }
    let asked: BTreeSet<&ClusterName> = names.iter().collect();
    let missing = asked.iter().filter(|name| !registered.clusters.contains_key(**name));
    let missing = missing.map(|name| (*name).clone()).collect();
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
    missing
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

fn of_fault(id: &ResourceId, fault: &Fault) -> Finding {
    let denied = matches!(fault.kind, FaultKind::Denied { .. });
    let (why, fix) = if denied {
        (
            format!("AWS refused {}", fault.action),
            "ask for what `kibus policy operator` prints",
        )
    } else {
        (fault.to_string(), "run it again; -vv shows every call")
    };
    finding::unreadable(Subject::Resource(id.clone()), denied, why, Fix::ByHand(fix.to_owned()))
}

fn of_discovery(error: &Error) -> Finding {
    let why = std::iter::once(&error.message).chain(error.notes.first()).cloned();
    let why = why.collect::<Vec<_>>().join(": ");
    let fix = Fix::ByHand("run it again; -vv shows every call".to_owned());
    finding::unreadable(Subject::Other("clusters".to_owned()), why.contains("refused"), why, fix)
}

/// What deserves a look and is no finding.
fn warnings(context: &Context<'_>, seen: &finding::Look) -> Vec<String> {
    let probe = context.scope.probe_queue();
    let left = seen.queues.get(&probe).filter(|(_, last)| last.waiting > 0);
    let left = left.map(|_| format!("queue `{probe}` holds what an earlier probe left; it goes by itself in minutes"));
    left.into_iter().collect()
}

fn problem(context: &Context<'_>, look: &Look, finding: &Finding) -> Problem {
    let (kind, name) = finding.subject.words();
    Problem {
        code: finding.code.to_string(),
        subject: format!("{kind} {name}").trim_start().to_owned(),
        message: finding.message.clone(),
        fix: match &finding.fix {
            Fix::ByHand(text) => text.clone(),
            fix => commands(context, look, [fix]).join("\n"),
        },
    }
}

/// The commands that fix these, the hub's first, each once.
fn commands<'a>(context: &Context<'_>, look: &Look, fixes: impl IntoIterator<Item = &'a Fix>) -> Vec<String> {
    let mut clusters: BTreeSet<&str> = BTreeSet::new();
    let (mut hub, mut others) = (None, BTreeSet::new());
    for fix in fixes {
        match fix {
            // A hub that has lost its memory does not remember its prefix either.
            Fix::BootstrapHub => hub = Some("bootstrap-hub".to_owned() + &forgotten_prefix(look)),
            Fix::AddCluster(name) => drop(clusters.insert(name.as_str())),
            Fix::Command(command) => drop(others.insert(command.clone())),
            Fix::ByHand(_) => {}
        }
    }
    let clusters: Vec<&str> = clusters.into_iter().collect();
    let add = (!clusters.is_empty()).then(|| format!("add-cluster {}", clusters.join(" ")));
    let ours = hub.into_iter().chain(add).map(|command| context.command(&command));
    ours.chain(others).collect()
}

fn forgotten_prefix(look: &Look) -> String {
    let prefix = look.options.queue_prefix.as_ref().filter(|_| look.forgot);
    prefix.map_or_else(String::new, |prefix| format!(" --queue-prefix={prefix}"))
}

fn show(context: &Context<'_>, plan: &Plan, findings: &[Finding], look: &Look) -> Result<(), Error> {
    let ui = context.ui;
    let clusters = match (look.registered.clusters.len(), &look.undiscovered) {
        (_, Some(_)) => "its clusters are not known".to_owned(),
        (1, None) => "1 cluster".to_owned(),
        (count, None) => format!("{count} clusters"),
    };
    if findings.is_empty() {
        let bus = &context.scope.bus;
        return ui.result(&format!("No findings: hub {bus} and {clusters} are as they should be."));
    }
    let fixes = commands(context, look, findings.iter().map(|finding| &finding.fix));
    ui.result(&text::findings(
        &context.heading(),
        &clusters,
        plan,
        findings,
        &fixes,
        ui.result_style(),
    ))
}
