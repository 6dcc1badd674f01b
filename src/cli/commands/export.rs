use clap::Subcommand;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages;
use crate::error::{Error, Hint};
use crate::export::{self, Contract, Format};
use crate::iam::operator_policy::RolePattern;
use crate::model::{ClusterName, ClusterRecord, Fact, QueueName, ResourceId, RoleName};
use crate::reconcile::saved_settings;
use crate::survey::{Query, Survey};
use crate::ui::{Body, HubReport};

/// The page with the steps for each tool.
const PAGE: &str = "docs/terraform.md";

/// Export a cluster or the hub to Terraform or CloudFormation.
///
/// The output depends on the hub's queue names, key and tags. If these change, export again. Reads only the settings of
/// the hub, and the record and queue of the cluster; changes nothing.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print code that creates the record and the queue of a cluster, and the permission for its controller.
    ///
    /// The tool that applies it owns all three; the record registers the cluster on the bus. Kibus routes events to the queue and checks
    /// it, but never changes it.
    Cluster(ClusterArgs),
    /// Print the names and ARNs of the hub, and the queue names of clusters, as data.
    Hub {
        /// Language of the output.
        #[arg(long, value_enum, default_value = "terraform", value_name = "FORMAT")]
        format: HubFormat,
    },
}

#[derive(Debug, clap::Args)]
struct ClusterArgs {
    /// Name of the EKS cluster.
    #[arg(value_name = "CLUSTER")]
    name: ClusterName,
    /// Language of the output.
    #[arg(long, value_enum, default_value = "terraform", value_name = "FORMAT")]
    format: Format,
    /// Print a Terraform module with variables, for any cluster of the hub.
    #[arg(long, conflicts_with = "controller_role")]
    module: bool,
    /// Role of the Karpenter controller: a name, a path and name, or an ARN. Without it, the role name is an input of the output code.
    #[arg(long, value_name = "ROLE")]
    controller_role: Option<RolePattern>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum HubFormat {
    /// Terraform locals and outputs.
    Terraform,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    if matches!(&args.what, What::Cluster(args) if args.format != Format::Terraform && args.module) {
        return Err(Error::usage("`--module` requires the format terraform"));
    }
    let hub = context.hub().await?;
    let text = match args.what {
        What::Cluster(args) => {
            let role = args.controller_role.as_ref().map(|role| own_role(hub, role)).transpose()?;
            cluster(hub, &args, role.as_ref()).await?
        }
        What::Hub { format: HubFormat::Terraform } => {
            let (_, settings) = stages::survey(hub, |_| Query::default(), saved_settings).await?;
            export::hub(&hub.scope, &settings?)
        }
    };
    hub.ui.result(text.trim_end())?;
    Ok(HubReport::with(&hub.scope, Body::Export(text)))
}

/// A role of this account.
fn own_role(hub: &ConnectedHub<'_>, role: &RolePattern) -> Result<RoleName, Error> {
    let arn = role.arn(&hub.scope, &Default::default()).filter(|_| !role.is_open());
    let own = arn.and_then(|arn| hub.scope.own_role(&arn));
    own.ok_or_else(|| Error::usage(format!("`{role}` is not a role in account {}", hub.scope.account)))
}

/// The output for a cluster. Further steps go to stderr.
async fn cluster(hub: &ConnectedHub<'_>, args: &ClusterArgs, role: Option<&RoleName>) -> Result<String, Error> {
    let ConnectedHub { scope, ui, .. } = hub;
    let pass = |survey: &Survey| {
        let settings = saved_settings(survey)?;
        let queue = survey.cluster_queue(&args.name);
        let answer = survey.resource(&ResourceId::Queue(queue.clone())).clone();
        survey.record_answer(&args.name);
        Ok::<_, Error>((settings, queue, answer, survey.record(&args.name).cloned()))
    };
    let (_, read) = stages::survey(hub, |_| Query::default(), pass).await?;
    let (settings, queue, answer, record) = read?;
    match answer {
        Fact::Unreadable(fault) => {
            ui.warn_text(&format!("unknown whether something already manages the queue: {fault}"));
        }
        Fact::Present(_) => existing(hub, args, &queue, record.as_ref()),
        Fact::Absent | Fact::NotAsked => {}
    }
    let contract = Contract::new(scope, &settings, &args.name, role, args.format);
    Ok(match args.format {
        Format::Terraform => contract.terraform(args.module),
        Format::CloudFormation => contract.cloud_formation(),
    })
}

/// Reports what to do about a queue that already exists.
fn existing(hub: &ConnectedHub<'_>, args: &ClusterArgs, name: &QueueName, record: Option<&ClusterRecord>) {
    let ConnectedHub { scope, ui, .. } = hub;
    match record {
        // It is applied again.
        Some(record) if !record.is_of_kibus() => return,
        Some(record) if record.has_own_queue() => {}
        _ => {
            return ui.warn_text(&format!(
                "queue `{name}` exists and something else manages it: two owners would undo each other's changes. \
                Release it there first; {PAGE} has the steps"
            ));
        }
    }
    let url = scope.queue_url(scope.options.endpoint_url.as_deref(), name);
    let parameter = scope.record_parameter(&args.name);
    let import = |resource: &str, id: &str| {
        let inside = if args.module { "module.interruptions." } else { "" };
        format!("terraform import '{inside}{resource}' {id}")
    };
    let text = format!("kibus manages queue `{name}`. To hand it over, import it before you apply this");
    ui.warn(&match args.format {
        Format::Terraform => {
            let imports = [
                import("aws_ssm_parameter.record", parameter.as_str()),
                import("aws_sqs_queue.interruptions", &url),
                import("aws_sqs_queue_policy.interruptions", &url),
            ];
            Hint::command(format!("{text}:"), imports.join("\n"))
        }
        Format::CloudFormation => Hint::text(format!("{text}; {PAGE} has the steps")),
    });
    ui.warn(&Hint::command(
        "once this is applied, kibus no longer changes the queue. To see what is left from kibus:",
        scope.kibus(format!("verify {}", args.name)),
    ));
}
