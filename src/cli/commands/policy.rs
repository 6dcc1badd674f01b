//! `kibus policy`.

use clap::Subcommand;

use crate::cli::Ending;
use crate::cli::hub::{Hub, Hubs};
use crate::cloud::Read;
use crate::error::Error;
use crate::model::cluster::Cluster;
use crate::model::document::Document;
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, KmsKey, PermissionsBoundary, QueueName, QueuePrefix, RoleName};
use crate::model::options::{ClusterOptions, HubOptions, OrNone};
use crate::model::resource::{Resource, ResourceId};
use crate::model::tags::Tags;
use crate::model::{operator_policy, policy};
use crate::ui::Ui;

/// Print the least-privilege IAM policy of a party: who runs kibus, the router, or a cluster's Karpenter.
///
/// The document is for the bus, account and Region in hand, which are found as for every other command, so
/// credentials are needed, but no permission. What a hub remembers is taken from there, if it may be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    party: Party,
}

#[derive(Debug, Subcommand)]
enum Party {
    /// Who runs kibus: everything that any of its commands calls.
    Operator {
        /// A controller role that clusters run as; may be given several times. [default: the usual names]
        #[arg(long = "controller-role", value_name = "ROLE")]
        roles: Vec<RoleName>,
        /// The policy that bounds the router's role, or `none`; an operator may then give the role no other, and
        /// cannot take it away. [default: what the hub has, else none]
        #[arg(long, env = "KIBUS_PERMISSIONS_BOUNDARY", value_name = "ARN")]
        permissions_boundary: Option<OrNone<PermissionsBoundary>>,
        #[command(flatten)]
        hub: HubFlags,
    },
    /// The router function.
    Router {
        #[command(flatten)]
        hub: HubFlags,
    },
    /// The Karpenter controller of a cluster, registered or not.
    Controller {
        /// The EKS cluster's name.
        #[arg(value_name = "CLUSTER")]
        cluster: ClusterName,
        /// The version of Karpenter that the cluster runs; those before 0.33 need one permission more.
        #[arg(long, env = "KIBUS_KARPENTER_VERSION", value_name = "VERSION")]
        karpenter_version: Option<KarpenterVersion>,
        #[command(flatten)]
        hub: HubFlags,
    },
}

/// Where a document is for.
struct At<'a> {
    hub: &'a Hub,
    ui: &'a Ui,
}

/// What a document depends on besides names.
#[derive(Debug, clap::Args)]
struct HubFlags {
    /// What the names of clusters' queues begin with. [default: what the hub has, else karpenter-]
    #[arg(long, env = "KIBUS_QUEUE_PREFIX", value_name = "PREFIX")]
    queue_prefix: Option<QueuePrefix>,
    /// The customer key of the queues, or `none`. [default: what the hub has, else none]
    #[arg(long, env = "KIBUS_KMS_KEY", value_name = "ARN")]
    kms_key: Option<OrNone<KmsKey>>,
}

/// Find out what the document depends on, and print it.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let Some(hub) = hubs.list.first() else {
        return Ok(Ending::Done);
    };
    let at = At { hub, ui: hubs.ui };
    let document = match args.party {
        Party::Operator {
            roles,
            permissions_boundary,
            hub,
        } => {
            let options = hub.options(&at).await?;
            let boundary = permissions_boundary.or(options.permissions_boundary.clone());
            operator(&at, &roles, &options, boundary.as_ref().and_then(|b| b.0.as_ref()))
        }
        Party::Router { hub } => policy::router(&at.hub.scope, hub.options(&at).await?.key()),
        Party::Controller {
            cluster,
            karpenter_version,
            hub,
        } => {
            let options = hub.options(&at).await?;
            controller(&at, &options, cluster, karpenter_version).await?
        }
    };
    at.ui.out(&document.pretty())?;
    Ok(Ending::Done)
}

fn operator(at: &At<'_>, roles: &[RoleName], hub: &HubOptions, boundary: Option<&PermissionsBoundary>) -> Document {
    let (prefix, key) = (hub.prefix(), hub.key());
    let document = operator_policy::operator(&at.hub.scope, &prefix, roles, key, boundary);
    if let Some(over) = operator_policy::too_long(&document) {
        at.ui.warn_text(&format!(
            "this is {over} characters more than one managed policy holds: make two of its statements"
        ));
    }
    document
}

async fn controller(
    at: &At<'_>,
    hub: &HubOptions,
    cluster: ClusterName,
    karpenter_version: Option<KarpenterVersion>,
) -> Result<Document, Error> {
    let prefix = hub.prefix();
    let given = ClusterOptions {
        tags: None,
        karpenter_version,
    };
    let saved = tags(at, at.hub.scope.cluster_queue(&prefix, &cluster)).await;
    let saved = saved.as_ref().map(ClusterOptions::saved).transpose()?;
    let options = given.or(saved.unwrap_or_default());
    let cluster = Cluster::new(&at.hub.scope, &prefix, cluster, None, options);
    Ok(cluster.controller_document(&at.hub.scope, hub.key()))
}

impl HubFlags {
    /// What was said, else what the hub remembers.
    async fn options(self, at: &At<'_>) -> Result<HubOptions, Error> {
        let said = HubOptions {
            queue_prefix: self.queue_prefix,
            kms_key: self.kms_key,
            ..HubOptions::default()
        };
        let saved = tags(at, at.hub.scope.dead_letter_queue()).await;
        let saved = saved.as_ref().map(HubOptions::saved).transpose()?;
        Ok(said.or(saved.unwrap_or_default()))
    }
}

/// The tags of a queue of this bus. Who asks for a policy may well not be allowed to read it yet.
async fn tags(at: &At<'_>, queue: QueueName) -> Option<Tags> {
    let id = ResourceId::Queue(queue);
    match at.hub.cloud.read(&id).await {
        Ok(queue) => {
            let tags = queue.as_ref().and_then(Resource::tags).cloned();
            tags.filter(|tags| tags.belong_to(&at.hub.scope.bus))
        }
        Err(_) => {
            at.ui.warn_text(&format!(
                "{id} could not be read: the document uses the options given and the defaults"
            ));
            None
        }
    }
}
