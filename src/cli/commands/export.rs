use clap::Subcommand;

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, stages};
use crate::error::{Error, Hint};
use crate::export::{self, Contract, Format};
use crate::iam::operator_policy::RolePattern;
use crate::model::{ClusterName, Queue, Resource, ResourceId, tags::EXTERNAL};
use crate::reconcile::{Intent, saved_settings};
use crate::survey::{Query, Survey};
use crate::ui::HubReport;

/// The page with the steps for each tool.
const PAGE: &str = "docs/infrastructure-as-code.md";

/// Print a cluster or the hub for Terraform, CloudFormation or ACK.
///
/// The text is for the current hub: its prefix, key, tags and lock. Export again after a change of these. Only the settings of the
/// hub and the queue of the cluster are read; nothing is changed.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print what creates the queue of a cluster and the permission of its controller.
    ///
    /// The tool that applies it owns the queue. Kibus routes events to it and checks it, but never changes it.
    Cluster(ClusterArgs),
    /// Print names and ARNs of the hub, and the names of the queues of clusters, as data.
    Hub {
        /// Language of the text.
        #[arg(long, value_enum, default_value = "terraform", value_name = "FORMAT")]
        format: HubFormat,
    },
}

#[derive(Debug, clap::Args)]
struct ClusterArgs {
    /// Name of the EKS cluster.
    #[arg(value_name = "CLUSTER")]
    name: ClusterName,
    /// Language of the text.
    #[arg(long, value_enum, default_value = "terraform", value_name = "FORMAT")]
    format: Format,
    /// Print a Terraform module with variables, for any cluster of the hub.
    #[arg(long)]
    module: bool,
    /// Role of the Karpenter controller: a name, a path and name, or an ARN. Without it, the text asks for the name.
    #[arg(long, value_name = "ROLE")]
    controller_role: Option<RolePattern>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum HubFormat {
    /// Locals and outputs of Terraform.
    Terraform,
}

pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let ([hub], []) = (hubs.list.as_slice(), hubs.unreached.as_slice()) else {
        return Err(Error::usage("an export is for one hub"));
    };
    let exported = match args.what {
        What::Cluster(args) => {
            let role = args.controller_role.as_ref().map(|role| arn(hub, role)).transpose()?;
            if args.format == Format::Ack && role.is_none() {
                return Err(Error::usage("a manifest for ACK names the role: use `--controller-role`"));
            }
            if args.format != Format::Terraform && args.module {
                return Err(Error::usage("`--module` is for the format terraform only"));
            }
            cluster(&hubs, hub, &args, role.as_deref()).await
        }
        What::Hub { format: HubFormat::Terraform } => {
            let read = stages::survey(&hubs, hub, |_| Query::default(), saved_settings).await;
            read.and_then(|(_, settings)| Ok(export::hub(&hub.scope, &settings?)))
        }
    };
    let report = match exported {
        Ok(text) => {
            hub.ui.result(text.trim_end())?;
            HubReport { export: Some(text), warnings: hub.ui.warnings(), ..hub.report(&Intent::default()) }
        }
        Err(error) => hub.failed(error),
    };
    stages::finish(&hubs, vec![report], Ending::Done)
}

/// The ARN of a role of this account.
fn arn(hub: &ConnectedHub, role: &RolePattern) -> Result<String, Error> {
    let arn = role.arn(&hub.scope, &Default::default());
    let arn = arn.filter(|arn| !role.is_open() && hub.scope.own_role(arn).is_some());
    arn.ok_or_else(|| Error::usage(format!("`{role}` is not a role of account {}", hub.scope.account)))
}

/// The text for a cluster. What is to do besides is said on stderr.
async fn cluster(hubs: &Hubs<'_>, hub: &ConnectedHub, args: &ClusterArgs, role: Option<&str>) -> Result<String, Error> {
    let ConnectedHub { scope, ui, .. } = hub;
    let pass = |survey: &Survey| {
        let settings = saved_settings(survey)?;
        let queue = survey.resource(&ResourceId::Queue(survey.cluster_queue(&args.name)));
        Ok::<_, Error>((settings, queue.clone()))
    };
    let (_, read) = stages::survey(hubs, hub, |_| Query::default(), pass).await?;
    let (settings, queue) = read?;
    if let (Format::Ack, Some(key)) = (args.format, settings.options.key()) {
        ui.warn_text(&format!("the policy of key `{key}` must allow the role `kms:Decrypt`: that of a queue cannot"));
    }
    if let Some(fault) = queue.fault() {
        ui.warn_text(&format!("unknown whether something manages the queue already: {fault}"));
    }
    if let Some(queue) = queue.present().and_then(Resource::as_queue) {
        existing(hub, args, queue);
    }
    let contract = Contract::new(scope, &settings, &args.name, role, args.format);
    Ok(match args.format {
        Format::Terraform => contract.terraform(args.module),
        Format::CloudFormation => contract.cloud_formation(),
        Format::Ack => contract.ack(),
    })
}

/// Says what to do about a queue that exists already.
fn existing(hub: &ConnectedHub, args: &ClusterArgs, queue: &Queue) {
    let (ConnectedHub { scope, ui, .. }, name) = (hub, &queue.name);
    let owner = queue.tags.get(EXTERNAL);
    if queue.origin(scope).is_none() {
        if owner != Some(&args.format.word()) {
            let owner = owner.unwrap_or("another tool").escape_debug();
            ui.warn_text(&format!(
                "queue `{name}` exists, and {owner} manages it: two owners undo each other's changes. Release it there \
                 first; {PAGE} has the steps"
            ));
        }
        return;
    }
    let import = |kind: &str| {
        let inside = if args.module { "module.interruptions." } else { "" };
        let url = scope.queue_url(scope.options.endpoint_url.as_deref(), name);
        format!("terraform import '{inside}{kind}.interruptions' {url}")
    };
    let text = format!("kibus manages queue `{name}`. To hand it over, import it before you apply this");
    ui.warn(&match args.format {
        Format::Terraform => {
            let imports = [import("aws_sqs_queue"), import("aws_sqs_queue_policy")];
            Hint::command(format!("{text}:"), imports.join("\n"))
        }
        _ => Hint::text(format!("{text}; {PAGE} has the steps")),
    });
    ui.warn(&Hint::command(
        "once it is applied, kibus no longer changes the queue. To see what kibus has left then:",
        scope.kibus(format!("verify {}", args.name)),
    ));
}
