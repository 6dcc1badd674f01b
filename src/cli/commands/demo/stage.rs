//! The demo's account on the local AWS emulator, with clusters and instances.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches};
use tokio::time::{Instant, sleep};

use crate::aws::{AwsCloud, Connect};
use crate::cli::stop::Stop;
use crate::cli::{Cli, Ending, run_at};
use crate::cloud::{Fault, Read, Waiting, Write};
use crate::error::Error;
use crate::model::cluster::Cluster;
use crate::model::hub;
use crate::model::name::{ClusterName, PermissionsBoundary, QueuePrefix, RoleName};
use crate::model::policy;
use crate::model::resource::{Resource, ResourceId, Role};
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::plan::Op;
use crate::sandbox::{DEFAULT_REGION, Endpoint};
use crate::ui::Ui;
use crate::wire::ec2;

/// How long the demo waits for one result.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The demo's account, and how to run kibus in it.
pub(super) struct Stage<'a> {
    ui: &'a Ui,
    endpoint: Endpoint,
    cloud: AwsCloud,
    ec2: ec2::Client,
    scope: Scope,
}

/// A cluster of the demo.
pub(super) struct DemoCluster {
    pub(super) name: ClusterName,
    /// The id of the instance that its Karpenter launched.
    pub(super) instance: String,
}

impl<'a> Stage<'a> {
    pub(super) async fn set(ui: &'a Ui, endpoint: Endpoint) -> Result<Self, Error> {
        let connect = Connect {
            region: Some(DEFAULT_REGION.parse()?),
            endpoint_url: Some(endpoint.url()),
            isolated: true,
            session_token: Some(endpoint.secret.as_str().to_owned()),
            ..Connect::default()
        };
        let session = connect.connect().await?;
        let cloud = AwsCloud::new(&session, "kibus".parse()?);
        let scope = cloud.scope().clone();
        Ok(Self {
            ui,
            endpoint,
            cloud,
            ec2: ec2::Client::new(session.config()),
            scope,
        })
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(super) fn cloud(&self) -> &AwsCloud {
        &self.cloud
    }

    /// Prints what comes next.
    pub(super) fn say(&self, text: &str) -> Result<(), Error> {
        self.ui.result(&format!("\n{text}"))
    }

    /// Prints and runs a kibus command. Fails if it does not end with exit code 0.
    pub(super) async fn kibus(&self, arguments: &str) -> Result<(), Error> {
        self.ui.result(&format!("\n$ kibus {arguments}"))?;
        let words = std::iter::once("kibus").chain(arguments.split_whitespace());
        let cli = Cli::command()
            .try_get_matches_from(words)
            .and_then(|matches| Cli::from_arg_matches(&matches))
            .map_err(|e| Error::usage(e.to_string()))?;
        match Box::pin(run_at(
            cli,
            self.ui,
            &Stop::default(),
            &format!("kibus {arguments}"),
            Some(self.endpoint.clone()),
        ))
        .await?
        {
            Ending::Done => Ok(()),
            Ending::Differences => Err(Error::failed(format!("`kibus {arguments}` found differences"))),
            Ending::Failed(error) => Err(*error),
        }
    }

    /// Creates a cluster: the role of its Karpenter controller, and an instance with the tags that Karpenter sets.
    pub(super) async fn cluster(&self, name: &str) -> Result<DemoCluster, Error> {
        let name: ClusterName = name.parse()?;
        let role = Resource::Role(Role {
            name: controller_role(&name)?,
            path: "/".parse()?,
            trust: policy::router_trust(),
            permissions_boundary: None::<PermissionsBoundary>,
            tags: Tags::default(),
        });
        self.cloud
            .write(&Op::Create(role), Waiting::unattended())
            .await
            .map_err(|fault| setup_failed("a controller role", &fault))?;
        let owned = format!("kubernetes.io/cluster/{name}");
        let tags = [
            (owned.as_str(), "owned"),
            ("eks:eks-cluster-name", name.as_str()),
            ("karpenter.sh/nodepool", "default"),
            ("karpenter.k8s.aws/ec2nodeclass", "default"),
        ];
        let instance = self.instance(&format!("an instance of {name}"), &tags).await?;
        Ok(DemoCluster { name, instance })
    }

    /// Launches an instance with these tags.
    pub(super) async fn instance(&self, what: &str, tags: &[(&str, &str)]) -> Result<String, Error> {
        let launch = ec2::run_instances::Launch {
            image: "ami-12345678".to_owned(),
            instance_type: "m5.large".to_owned(),
            count: 1,
            tags: tags
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let launched = ec2::run_instances::run_instances(&self.ec2, &launch).await;
        let ids = launched.map_err(|e| Error::failed(format!("cannot launch {what}")).note(e.to_string()))?;
        ids.into_iter()
            .next()
            .ok_or_else(|| Error::failed(format!("cannot launch {what}")))
    }

    /// The names of all resources that kibus could create or change in this account.
    pub(super) async fn resource_names(&self) -> Result<BTreeSet<String>, Error> {
        let prefix: QueuePrefix = "".parse()?;
        let fault = |fault: Fault| Error::failed("cannot list the resources").note(fault.to_string());
        let queues = self.cloud.cluster_queues(&prefix).await.map_err(fault)?;
        let roles = self.cloud.role_names().await.map_err(fault)?;
        let policies = roles.iter().flat_map(|role| {
            ["base", "tenant-1"]
                .into_iter()
                .filter_map(|name| name.parse().ok())
                .map(|name: ClusterName| Cluster::policy_id(&self.scope, &name, role))
        });
        let mut there = BTreeSet::new();
        for id in hub::ids(&self.scope).into_iter().chain(policies) {
            if self.cloud.read(&id).await.map_err(fault)?.is_some() {
                there.insert(id);
            }
        }
        let names = queues
            .into_iter()
            .map(ResourceId::Queue)
            .chain(roles.into_iter().map(ResourceId::Role));
        Ok(names.chain(there).map(|id| id.to_string()).collect())
    }

    /// Repeats `ask` until it returns a value, for at most [`TIMEOUT`].
    pub(super) async fn until<T>(
        &self,
        what: &str,
        mut ask: impl AsyncFnMut() -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(answer) = ask().await? {
                return Ok(answer);
            }
            if Instant::now() > deadline {
                return Err(Error::failed(format!(
                    "{what} did not happen within {}s",
                    TIMEOUT.as_secs()
                )));
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
}

fn controller_role(cluster: &ClusterName) -> Result<RoleName, Error> {
    Ok(format!("KarpenterServiceAccount-{cluster}").parse()?)
}

fn setup_failed(what: &str, fault: &Fault) -> Error {
    Error::failed(format!("cannot set up {what}")).note(fault.to_string())
}
