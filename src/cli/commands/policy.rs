mod controller_roles;
mod hub_options;

use std::num::NonZeroUsize;

use clap::Subcommand;
use controller_roles::RoleFlags;
pub(in crate::cli) use hub_options::OF_OPERATORS;
use hub_options::{OF_READERS, OF_READING_OPERATORS, OF_ROUTERS, known, known_for_queues, shows_of_hub, with_old_keys};

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, stages};
use crate::error::{Error, Hint};
use crate::iam::operator_policy;
use crate::model::document::Document;
use crate::model::name::ClusterName;
use crate::model::options::HubOptions;
use crate::model::policy::{self, KeyUse};
use crate::model::resource::ResourceId;
use crate::model::scope::Scope;
use crate::model::signal::PROBE_SOURCE;
use crate::reconcile::Intent;
use crate::ui::HubReport;

/// Print the least-privilege IAM policy for an operator, the router, or a Karpenter controller.
///
/// The document is for the current bus, account and Region. The command needs credentials, but no permissions. It uses
/// the saved options of the hub if it can read them.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    party: Party,
}

#[derive(Debug, Subcommand)]
enum Party {
    /// Policy for an operator, who runs kibus.
    #[command(mut_args = |arg| shows_of_hub(OF_OPERATORS, arg))]
    Operator {
        /// Print the additional document for a purpose instead; attach both.
        #[arg(long = "for", value_enum, value_name = "PURPOSE",
            conflicts_with_all = ["read_only", "part", "clusters", "roles", "no_controller_role"])]
        purpose: Option<Purpose>,
        /// Allow only what `verify` and `status` read. `verify --probe` needs more.
        #[arg(long)]
        read_only: bool,
        /// Print only this part of a document that is too long for one managed policy; attach all parts.
        #[arg(long, value_name = "NUMBER")]
        part: Option<NonZeroUsize>,
        #[command(flatten)]
        roles: RoleFlags,
        #[command(flatten)]
        given: HubOptions,
    },
    /// Policy for the router function.
    #[command(mut_args = |arg| shows_of_hub(OF_ROUTERS, arg))]
    Router {
        #[command(flatten)]
        given: HubOptions,
    },
    /// Policy for the Karpenter controller of a cluster, registered or not.
    #[command(mut_args = |arg| shows_of_hub(OF_READERS, arg))]
    Controller {
        /// Name of the EKS cluster.
        #[arg(value_name = "CLUSTER")]
        cluster: ClusterName,
        #[command(flatten)]
        given: HubOptions,
    },
}

/// What needs an additional document, because the ordinary one should not allow it.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Purpose {
    /// Read the policies of many controller roles at once. The call reads all users, roles and policies of the account.
    ManyClusters,
    /// Run `bootstrap-hub --check`: simulate the caller's permissions, and count the rules of the bus. The first call shows
    /// what every user and role of the account may do.
    Check,
    /// Let `add-cluster` ask EKS whether new clusters exist, and as which roles their Karpenter controllers run.
    Eks,
    /// Run `discover`: read every rule of the bus, their queues, and the metrics of SQS in CloudWatch.
    Discover,
}

impl Purpose {
    fn document(self, scope: &Scope) -> Document {
        match self {
            Self::ManyClusters => operator_policy::many_clusters(),
            Self::Check => operator_policy::check(scope),
            Self::Eks => operator_policy::eks(scope),
            Self::Discover => operator_policy::discover(scope),
        }
    }
}

/// Reads the saved options that the document depends on, and prints the document.
pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let ([hub], []) = (hubs.list.as_slice(), hubs.unreached.as_slice()) else {
        return Err(Error::usage("a policy is for one hub"));
    };
    let document = match args.party {
        Party::Operator {
            purpose: Some(purpose), ..
        } => purpose.document(&hub.scope),
        Party::Operator {
            purpose: None,
            read_only,
            part,
            roles,
            given,
        } => {
            let document = match read_only {
                true => OF_READING_OPERATORS,
                false => OF_OPERATORS,
            };
            let known = known_for_queues(&hubs, hub, given, document).await?;
            let document = operator_policy::operator(&hub.scope, &known.options, &roles.arns(&hubs, hub).await?);
            let document = if read_only {
                hub.ui.note(
                    "`verify --probe` needs more than this document allows. The document without --read-only has these \
                     statements:",
                    &for_probes(&hub.scope),
                );
                operator_policy::reads(document)
            } else {
                with_old_keys(hub, KeyUse::Receive, &known, document)
            };
            match part {
                Some(number) => nth(&document, number)?,
                None => fits(hub, document),
            }
        }
        Party::Router { given } => {
            let known = known_for_queues(&hubs, hub, given, OF_ROUTERS).await?;
            let document = policy::router(&hub.scope, &known.options);
            with_old_keys(hub, KeyUse::Route, &known, document)
        }
        Party::Controller { cluster, given } => {
            let known = known(&hubs, hub, given, OF_READERS).await?;
            let queue = hub.scope.cluster_queue(&known.options.queue_prefix(), &cluster);
            let document = policy::controller(&hub.scope, &queue, known.options.key());
            with_old_keys(hub, KeyUse::Receive, &known, document)
        }
    };
    hub.ui.result(&document.pretty())?;
    let report = HubReport {
        policy: Some(document),
        warnings: hub.ui.warnings(),
        ..hub.report(&Intent::default())
    };
    stages::finish(&hubs, vec![report], Ending::Done)
}

/// What an operator needs for probes besides reads.
fn for_probes(scope: &Scope) -> [String; 4] {
    let (probe, router) = (scope.probe_queue(), scope.router_function());
    [
        format!("events:PutEvents with the source {PROBE_SOURCE}"),
        format!("lambda:InvokeFunction on {router}, which can route any event"),
        format!("sqs:ReceiveMessage on {probe} and the queues of clusters, and kms:Decrypt for their key"),
        format!("sqs:DeleteMessage on {probe}"),
    ]
}

/// The document, with a warning if it is too long for one managed policy.
fn fits(hub: &ConnectedHub, document: Document) -> Document {
    let fitted = operator_policy::fitted(document.clone());
    if let Some(over) = operator_policy::too_long(&fitted) {
        let count = operator_policy::parts(&document).len();
        let commands: Vec<String> = (1..=count)
            .map(|part| format!("{} --part {part}", hub.command_line))
            .collect();
        let text = format!(
            "the document is {over} characters too long for one managed policy. Create a policy from each of its {count} \
             parts, and attach all of them:"
        );
        hub.ui.warn(&Hint::command(text, commands.join("\n")));
    }
    fitted
}

/// One part of a document.
fn nth(document: &Document, number: NonZeroUsize) -> Result<Document, Error> {
    let parts = operator_policy::parts(document);
    let count = parts.len();
    parts
        .into_iter()
        .nth(number.get() - 1)
        .ok_or_else(|| Error::usage(format!("the document has no part {number}: it has {count}")))
}

fn not_read(hub: &ConnectedHub, id: &ResourceId) {
    hub.ui.warn_text(&format!(
        "{id} could not be read: the document uses the options given and the defaults"
    ));
}
