//! The demo's account on the local AWS emulator: clusters, instances, and all resources that kibus could create.

use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use serde_json::json;

use crate::aws::{AwsCloud, Session};
use crate::cloud::{Fault, Questions, Read, Waiting, Write};
use crate::error::Error;
use crate::model::cluster::Cluster;
use crate::model::name::{BusName, ClusterName};
use crate::model::resource::{Resource, ResourceId, Role};
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::model::{hub, policy};
use crate::plan::Change;
use crate::wire::aws_json::{EKS, JsonClient};
use crate::wire::ec2;

pub(crate) struct DemoAccount {
    pub(super) cloud: AwsCloud,
    pub(super) scope: Scope,
    ec2: ec2::Client,
    eks: JsonClient,
}

pub(crate) struct DemoCluster {
    pub(super) name: ClusterName,
    /// The id of the instance that its Karpenter launched.
    pub(super) instance: String,
}

impl DemoAccount {
    pub(crate) fn new(session: &Session, bus: BusName) -> Self {
        let cloud = AwsCloud::new(session, bus);
        Self {
            scope: cloud.scope().clone(),
            ec2: ec2::Client::new(session.config()),
            eks: JsonClient::new(session.config(), EKS, StaticRuntimePlugin::new()),
            cloud,
        }
    }

    /// Creates a cluster: in EKS, the role of its Karpenter controller, and an instance with the tags that Karpenter sets.
    pub(crate) async fn cluster(&self, name: &str) -> Result<DemoCluster, Error> {
        let name: ClusterName = name.parse()?;
        let role = Resource::Role(Role {
            name: format!("KarpenterServiceAccount-{name}").parse()?,
            path: "/".parse()?,
            trust: policy::router_trust(),
            permissions_boundary: None,
            tags: Tags::default(),
        });
        self.cloud
            .write(&Change::create(None, role), Waiting::unattended())
            .await
            .map_err(|fault| Error::failed("cannot set up a controller role").note(fault.to_string()))?;
        let cluster = json!({ "name": name.as_str() });
        let created = self.eks.post("CreateCluster", &["clusters"], &cluster).await;
        created.map_err(|e| Error::failed("cannot set up a cluster").note(e.to_string()))?;
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

    pub(crate) async fn instance(&self, what: &str, tags: &[(&str, &str)]) -> Result<String, Error> {
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let launched = ec2::run_instance(&self.ec2, "ami-12345678", "m5.large", &tags.collect()).await;
        let failed = Error::failed(format!("cannot launch {what}"));
        match launched {
            Ok(id) => id.ok_or(failed),
            Err(e) => Err(failed.note(e.to_string())),
        }
    }

    /// The names of all resources that kibus could create or change in this account.
    pub(crate) async fn resource_names(&self) -> Result<BTreeSet<String>, Error> {
        let fault = |fault: Fault| Error::failed("cannot list the resources").note(fault.to_string());
        let Self { cloud, scope, .. } = self;
        let queues = cloud.cluster_queues(&"".parse()?).await.map_err(fault)?;
        let roles = cloud.listed_roles().await.map_err(fault)?.unwrap_or_default();
        let clusters: [ClusterName; 2] = ["base".parse()?, "tenant-1".parse()?];
        let policies = |role| clusters.each_ref().map(|name| Cluster::policy_id(scope, name, role));
        let mut ids = hub::ids(scope);
        ids.extend(roles.keys().flat_map(policies));
        let queues = queues.into_iter().flatten().map(ResourceId::Queue);
        let mut found: BTreeSet<_> = queues.chain(roles.into_keys().map(ResourceId::Role)).collect();
        for id in ids {
            if cloud.read(&id).await.map_err(fault)?.is_some() {
                found.insert(id);
            }
        }
        Ok(found.iter().map(ResourceId::to_string).collect())
    }
}
