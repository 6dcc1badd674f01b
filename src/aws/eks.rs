//! EKS: which clusters exist, and as which roles Karpenter may run in them.

use crate::model::resource::calls::eks;
use std::collections::BTreeSet;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use futures_util::future::try_join_all;
use serde_json::Value;

use super::error::if_present;
use super::pages::taken;
use super::{AwsCloud, pages};
use crate::cloud::Fault;
use crate::model::karpenter::{Association, SERVICE_ACCOUNT};
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

/// The names of the clusters.
pub(super) async fn clusters(cloud: &AwsCloud) -> Result<BTreeSet<ClusterName>, Fault> {
    let page = |token: Option<String>| async move {
        let query: Vec<_> = token.as_deref().map(|token| ("nextToken", token)).into_iter().collect();
        let page = cloud.eks.get("ListClusters", &["clusters"], &query).await;
        page.map(|page| taken(page, ["clusters", "nextToken"]))
    };
    let names = pages::all(cloud, eks::LIST_CLUSTERS, page).await?;
    Ok(names.iter().filter_map(|name| name.as_str()?.parse().ok()).collect())
}

/// The associations of Karpenter's service account in any namespace of a cluster; `None` if there is no such cluster.
pub(super) async fn associations(
    cloud: &AwsCloud,
    cluster: &ClusterName,
) -> Result<Option<BTreeSet<Association>>, Fault> {
    let path = ["clusters", cluster.as_str(), "pod-identity-associations"];
    let page = |token: Option<String>| async move {
        let token = token.as_deref().map(|token| ("nextToken", token));
        let query: Vec<_> = [("serviceAccount", SERVICE_ACCOUNT)].into_iter().chain(token).collect();
        let page = cloud.eks.get("ListPodIdentityAssociations", &path, &query).await;
        page.map(|page| taken(page, ["associations", "nextToken"]))
    };
    let Some(listed) = if_present(pages::all(cloud, eks::LIST_POD_IDENTITY_ASSOCIATIONS, page).await)? else {
        return Ok(None);
    };
    let meant = listed
        .iter()
        .filter(|summary| summary["serviceAccount"] == SERVICE_ACCOUNT);
    let reads = meant
        .filter_map(|summary| Some((summary["associationId"].as_str()?, &summary["namespace"])))
        .map(async |(id, namespace)| {
            let role_arn = role_of(cloud, cluster, id).await?;
            let namespace = namespace.as_str().unwrap_or_default().to_owned();
            Ok(role_arn.map(|role_arn| Association { namespace, role_arn }))
        });
    Ok(Some(try_join_all(reads).await?.into_iter().flatten().collect()))
}

/// The ARN of the role of an association. With a target role, pods have the credentials of that one (API reference of EKS,
/// `PodIdentityAssociation`).
async fn role_of(cloud: &AwsCloud, cluster: &ClusterName, association: &str) -> Result<Option<String>, Fault> {
    let path = ["clusters", cluster.as_str(), "pod-identity-associations", association];
    let send = || cloud.eks.get("DescribePodIdentityAssociation", &path, &[]);
    // One that went between the two calls has no role any more.
    let answer: Option<Value> = if_present(cloud.call(eks::DESCRIBE_POD_IDENTITY_ASSOCIATION, send).await)?;
    Ok(answer.and_then(|answer| {
        let association = &answer["association"];
        let role = association["targetRoleArn"]
            .as_str()
            .or(association["roleArn"].as_str());
        role.map(str::to_owned)
    }))
}

/// The URL of the issuer of a cluster; `None` if there is no such cluster, or it has no issuer.
pub(super) async fn oidc_issuer(cloud: &AwsCloud, cluster: &ClusterName) -> Result<Option<String>, Fault> {
    let path = ["clusters", cluster.as_str()];
    let send = || cloud.eks.get("DescribeCluster", &path, &[]);
    let answer: Option<Value> = if_present(cloud.call(eks::DESCRIBE_CLUSTER, send).await)?;
    let issuer = answer.and_then(|answer| Some(answer["cluster"]["identity"]["oidc"]["issuer"].as_str()?.to_owned()));
    Ok(issuer.filter(|issuer| !issuer.is_empty()))
}
