//! Reads what EKS knows of clusters.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use super::{Reader, when};
use crate::cloud::{Fault, Read};
use crate::model::fact::Fact;
use crate::model::name::ClusterName;
use crate::survey::{Eks, EksQuery};

impl<R: Read> Reader<'_, R> {
    pub(super) async fn eks(&self, query: &EksQuery) -> Eks {
        let cloud = self.cloud;
        let (clusters, associations, issuers) = tokio::join!(
            when(query.clusters, || self.call(|| cloud.eks_clusters())),
            self.of_each(&query.associations, async |cluster| {
                self.call(|| cloud.pod_identity_associations(cluster)).await
            }),
            self.of_each(&query.issuers, async |cluster| {
                self.call(|| cloud.oidc_issuer(cluster)).await
            }),
        );
        Eks {
            clusters: clusters.map(Fact::of).unwrap_or_default(),
            associations: associations.into_iter().collect(),
            issuers: issuers.into_iter().collect(),
        }
    }

    async fn of_each<T>(
        &self,
        clusters: &BTreeSet<ClusterName>,
        read: impl AsyncFn(&ClusterName) -> Result<Option<T>, Fault>,
    ) -> Vec<(ClusterName, Fact<T>)> {
        let reads = clusters
            .iter()
            .map(async |cluster| (cluster.clone(), Fact::of_option(read(cluster).await)));
        join_all(reads).await
    }
}
