//! EKS: which clusters exist, and as which roles Karpenter may run in them.

use crate::model::resource::calls::eks;
use std::collections::BTreeSet;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use futures_util::future::try_join_all;
use serde::Deserialize;

use super::error::if_present;
use super::{AwsCloud, pages};
use crate::cloud::Fault;
use crate::model::karpenter::{self, SERVICE_ACCOUNT};
use crate::model::name::ClusterName;

/// The longest time of a call with its retries. Kibus works without EKS, and a network may have no way to its endpoint.
const LONGEST: Duration = Duration::from_secs(20);

/// A configuration for what is asked of EKS.
pub(super) fn config(config: &SdkConfig) -> SdkConfig {
    let timeouts = config
        .timeout_config()
        .map(aws_config::timeout::TimeoutConfig::to_builder);
    let timeouts = timeouts.unwrap_or_default().operation_timeout(LONGEST);
    config
        .to_builder()
        .retry_config(RetryConfig::standard().with_max_attempts(2))
        .timeout_config(timeouts.build())
        .build()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Clusters {
    clusters: Option<Vec<String>>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Associations {
    associations: Option<Vec<Summary>>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    association_id: Option<String>,
    namespace: Option<String>,
    service_account: Option<String>,
}

#[derive(Debug, Deserialize)]
struct AssociationAnswer {
    association: Option<Association>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Association {
    role_arn: Option<String>,
    target_role_arn: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ClusterAnswer {
    cluster: Option<Cluster>,
}

#[derive(Debug, Deserialize)]
struct Cluster {
    identity: Option<Identity>,
}

#[derive(Debug, Deserialize)]
struct Identity {
    oidc: Option<Oidc>,
}

#[derive(Debug, Deserialize)]
struct Oidc {
    issuer: Option<String>,
}

/// The names of the clusters.
pub(super) async fn clusters(cloud: &AwsCloud) -> Result<BTreeSet<ClusterName>, Fault> {
    let page = |token: Option<String>| async move {
        let query: Vec<_> = token.as_deref().map(|token| ("nextToken", token)).into_iter().collect();
        let page = cloud.eks.get::<Clusters>("ListClusters", &["clusters"], &query).await;
        page.map(|page| (page.clusters, page.next_token))
    };
    let names = pages::all(cloud, eks::LIST_CLUSTERS, page).await?;
    Ok(names.into_iter().filter_map(|name| name.parse().ok()).collect())
}

/// The associations of Karpenter's service account in any namespace of a cluster; `None` if there is no such cluster.
pub(super) async fn associations(
    cloud: &AwsCloud,
    cluster: &ClusterName,
) -> Result<Option<BTreeSet<karpenter::Association>>, Fault> {
    let path = ["clusters", cluster.as_str(), "pod-identity-associations"];
    let page = |token: Option<String>| async move {
        let token = token.as_deref().map(|token| ("nextToken", token));
        let query: Vec<_> = [("serviceAccount", SERVICE_ACCOUNT)].into_iter().chain(token).collect();
        let page = cloud
            .eks
            .get::<Associations>("ListPodIdentityAssociations", &path, &query);
        page.await.map(|page| (page.associations, page.next_token))
    };
    let Some(listed) = if_present(pages::all(cloud, eks::LIST_POD_IDENTITY_ASSOCIATIONS, page).await)? else {
        return Ok(None);
    };
    let meant = listed
        .into_iter()
        .filter(|summary| summary.service_account.as_deref() == Some(SERVICE_ACCOUNT));
    let reads = meant
        .filter_map(|summary| Some((summary.association_id?, summary.namespace.unwrap_or_default())))
        .map(async |(id, namespace)| {
            let role_arn = role_of(cloud, cluster, &id).await?;
            Ok(role_arn.map(|role_arn| karpenter::Association { namespace, role_arn }))
        });
    Ok(Some(try_join_all(reads).await?.into_iter().flatten().collect()))
}

/// The ARN of the role of an association. With a target role, pods have the credentials of that one (API reference of EKS,
/// `PodIdentityAssociation`).
async fn role_of(cloud: &AwsCloud, cluster: &ClusterName, association: &str) -> Result<Option<String>, Fault> {
    let path = ["clusters", cluster.as_str(), "pod-identity-associations", association];
    let send = || {
        cloud
            .eks
            .get::<AssociationAnswer>("DescribePodIdentityAssociation", &path, &[])
    };
    // One that went between the two calls has no role any more.
    let answer = if_present(cloud.call(eks::DESCRIBE_POD_IDENTITY_ASSOCIATION, send).await)?;
    let association = answer.and_then(|answer| answer.association);
    Ok(association.and_then(|association| association.target_role_arn.or(association.role_arn)))
}

/// The URL of the issuer of a cluster; `None` if there is no such cluster, or it has no issuer.
pub(super) async fn oidc_issuer(cloud: &AwsCloud, cluster: &ClusterName) -> Result<Option<String>, Fault> {
    let path = ["clusters", cluster.as_str()];
    let send = || cloud.eks.get::<ClusterAnswer>("DescribeCluster", &path, &[]);
    let answer = if_present(cloud.call(eks::DESCRIBE_CLUSTER, send).await)?;
    let issuer = answer.and_then(|answer| answer.cluster?.identity?.oidc?.issuer);
    Ok(issuer.filter(|issuer| !issuer.is_empty()))
}
