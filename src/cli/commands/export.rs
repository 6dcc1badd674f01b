use clap::Subcommand;

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, stages};
use crate::error::{Error, Hint};
use crate::export::{self, Contract, Format};
use crate::iam::operator_policy::RolePattern;
use crate::model::answer::Fact;
use crate::model::name::ClusterName;
use crate::model::resource::{Queue, Resource, ResourceId};
use crate::model::settings::Settings;
use crate::model::tags::EXTERNAL;
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
    Cluster {
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
    },
    /// Print names and ARNs of the hub, and the names of the queues of clusters, as data.
    Hub {
        /// Language of the text.
        #[arg(long, value_enum, default_value = "terraform", value_name = "FORMAT")]
        format: HubFormat,
    },
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
    let exported = match &args.what {
        What::Cluster {
            name,
            format,
            module,
            controller_role,
        } => {
            let role = controller_role.as_ref().map(|role| arn(hub, role)).transpose()?;
            let role = role.as_deref();
            match (format, role, module) {
                (Format::Ack, None, _) => {
                    return Err(Error::usage(
                        "a manifest for ACK needs `--controller-role`: the policy of the queue names the role",
                    ));
                }
                (Format::CloudFormation | Format::Ack, _, true) => {
                    return Err(Error::usage("`--module` is for the format terraform only"));
                }
                _ => cluster(&hubs, hub, name, role, *format, *module).await,
            }
        }
        What::Hub {
            format: HubFormat::Terraform,
        } => {
            let read = stages::survey(&hubs, hub, |_| Query::default(), saved_settings).await;
            read.and_then(|(_, settings)| Ok(export::hub(&hub.scope, &settings?)))
        }
    };
    let report = match exported {
        Ok(text) => {
            hub.ui.result(text.trim_end())?;
            HubReport {
                export: Some(text),
                warnings: hub.ui.warnings(),
                ..hub.report(&Intent::default())
            }
        }
        Err(error) => hub.failed(error),
    };
    stages::finish(&hubs, vec![report], Ending::Done)
}

/// The ARN of a role of this account.
fn arn(hub: &ConnectedHub, role: &RolePattern) -> Result<String, Error> {
    let arn = role.arn(&hub.scope, &Default::default()).filter(|_| !role.is_open());
    let arn = arn.filter(|arn| hub.scope.own_role(arn).is_some());
    arn.ok_or_else(|| Error::usage(format!("`{role}` is not a role of account {}", hub.scope.account)))
}

/// The text for a cluster. Notes say what to do about a queue that exists already.
async fn cluster(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    name: &ClusterName,
    role: Option<&str>,
    format: Format,
    module: bool,
) -> Result<String, Error> {
    let pass = |survey: &Survey| {
        let settings = saved_settings(survey)?;
        let queue = survey.resource(&ResourceId::Queue(survey.cluster_queue(name))).clone();
        Ok::<_, Error>((settings, queue))
    };
    let (survey, read) = stages::survey(hubs, hub, |_| Query::default(), pass).await?;
    let (settings, queue): (Settings, Fact<Resource>) = read?;
    let contract = Contract::new(&hub.scope, &settings, name, role, format);
    let text = match (format, role) {
        (Format::Ack, Some(role)) => contract.ack(role),
        (Format::Terraform, _) => contract.terraform(module),
        (Format::CloudFormation | Format::Ack, _) => contract.cloud_formation(),
    };
    if module {
        let call = export::module_call(name, role.and_then(|arn| arn.rsplit('/').next()));
        let lines: Vec<String> = call.lines().map(str::to_owned).collect();
        hub.ui
            .note("Save it in a directory of its own. To use it for this cluster:", &lines);
    }
    if let (Format::Ack, Some(key)) = (format, settings.options.key()) {
        hub.ui.warn_text(&format!(
            "the policy of key `{key}` must allow the controller role `kms:Decrypt`: the policy of a queue cannot"
        ));
    }
    match &queue {
        Fact::Present(found) => {
            if let Some(queue) = found.as_queue() {
                existing(hub, name, queue, format, module);
            }
        }
        Fact::Unreadable(fault) => hub.ui.warn_text(&format!(
            "queue `{}` could not be read, so it is unknown whether something manages it already: {fault}",
            survey.cluster_queue(name)
        )),
        Fact::Absent | Fact::NotAsked => {}
    }
    Ok(text)
}

/// Says what to do about a queue that exists already.
fn existing(hub: &ConnectedHub, cluster: &ClusterName, queue: &Queue, format: Format, module: bool) {
    let (scope, name) = (&hub.scope, &queue.name);
    if queue.origin(scope).is_none() {
        let owner = queue.tags.get(EXTERNAL);
        if owner != Some(&format.to_string()) {
            let owner = owner.map_or_else(
                || "another tool".to_owned(),
                |owner| format!("`{}`", owner.escape_debug()),
            );
            hub.ui.warn_text(&format!(
                "queue `{name}` exists, and {owner} manages it: two owners undo each other's changes. Release it there first; \
                 {PAGE} has the steps"
            ));
        }
        return;
    }
    if format == Format::Terraform {
        let module = match module {
            true => format!("module.kibus_{cluster}."),
            false => String::new(),
        };
        let url = scope.queue_url(scope.options.endpoint_url.as_deref(), name);
        let import = |kind: &str| format!("terraform import '{module}{kind}.interruptions' {url}");
        hub.ui.note(
            &format!(
                "Kibus manages queue `{name}`. To hand it over, import it before `terraform apply`, which replaces the \
                 statements of kibus:"
            ),
            &[import("aws_sqs_queue"), import("aws_sqs_queue_policy")],
        );
    } else {
        hub.ui.warn_text(&format!(
            "kibus manages queue `{name}`. To hand it over, import it into the tool: {PAGE} has the steps"
        ));
    }
    hub.ui.warn(&Hint::command(
        "kibus no longer changes the queue once the tool has applied its policy and its tags. To see what kibus has left then:",
        scope.kibus(format!("verify {cluster}")),
    ));
}
