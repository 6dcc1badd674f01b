//! The EKS calls of `add-cluster`. The operator's document does not allow them, and the command continues without them.

use std::collections::BTreeSet;

use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use kibus::wire::aws_json::{EKS, JsonClient};
use serde_json::json;

use super::{Operator, actions};
use crate::support::emulator::ACCOUNT;

/// The calls that an operator without the document for EKS tries.
pub(super) const TRIED: [&str; 3] = ["eks:DescribeCluster", "eks:ListClusters", "eks:ListPodIdentityAssociations"];

/// Two new clusters: one whose role is in its pod identity association, and one that has none.
pub(super) async fn is_asked_with_its_document(operator: &mut Operator<'_>) {
    let account = operator.account;
    let eks = JsonClient::new(&account.root(), EKS, StaticRuntimePlugin::new());
    let role = format!("arn:aws:iam::{ACCOUNT}:role/KarpenterControllerRole-base");
    for name in ["pods", "tokens"] {
        let cluster = json!({ "name": name, "roleArn": role });
        eks.post("CreateCluster", &["clusters"], &cluster).await.unwrap();
    }
    let path = ["clusters", "pods", "pod-identity-associations"];
    let association = json!({
        "namespace": "karpenter",
        "serviceAccount": "karpenter",
        "roleArn": role,
    });
    let created = eks.post("CreatePodIdentityAssociation", &path, &association).await;
    created.unwrap();
    let document = account.document("policy operator --for eks").await;
    let ordinary = account.document("policy operator").await;
    let clusters = account.document("policy operator --for clusters base").await;
    let keys = account.user("operator-with-eks", &[&document, &ordinary, &clusters]).await;
    let mut with_eks = Operator::new(account, keys);
    let planned = with_eks.kibus("add-cluster pods --dry-run").await;
    assert!(planned.contains("KarpenterControllerRole-base"), "{planned}");
    with_eks.kibus_ends("add-cluster tokens --dry-run", 1).await;
    let asked: BTreeSet<_> = with_eks.called.into_iter().filter(|call| call.starts_with("eks:")).collect();
    assert_eq!(asked, actions(&document));
}
