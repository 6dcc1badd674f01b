//! The document of an operator of a hub whose controllers have access by the policies of their queues names no controller role, and is
//! enough for every cluster.

use std::collections::BTreeSet;

use aws_sdk_iam::Client as Iam;

use super::account::{Account, REGION};
use super::{ASSUME_NOBODY, Operator, ROUTER_ROLE, arn, attach_to_router, emulators_own};

#[tokio::test]
async fn no_controller_role_is_needed() {
    let account = Account::start(REGION).await;
    let iam = Iam::new(&account.root());
    for role in ["base-karpenter", "two-karpenter"] {
        let call = iam.create_role().role_name(role);
        call.assume_role_policy_document(ASSUME_NOBODY).send().await.unwrap();
    }
    let mut operator = Operator { account: &account, keys: account.user("operator").await, called: BTreeSet::new() };
    let document = account.document("policy operator base two --grant=queue-policy").await;
    assert!(!document.to_string().contains("-karpenter"), "{document}");
    account.allow("operator", "kibus-operator", &document).await;
    let own = emulators_own::of_operator(arn);
    account.allow("operator", "emulators-own", &own).await;
    let router = operator.document("policy router").await;
    let own = account.managed("emulators-own-of-router", &emulators_own::of_router(&router)).await;
    let hub = "bootstrap-hub --yes --grant=queue-policy";
    tokio::join!(operator.kibus(hub), attach_to_router(&iam, ROUTER_ROLE, &own));
    operator.called.clear();
    operator.kibus("add-cluster base two --yes --no-eks-check").await;
    operator.kibus("add-cluster base --yes").await;
    operator.kibus("verify").await;
    assert_eq!(operator.document("policy operator").await, document);
    operator.kibus("remove-cluster two --yes").await;
    let changes = ["Put", "Create", "Delete", "Attach", "Update"].map(|verb| format!("iam:{verb}"));
    let is_change = |call: &&String| changes.iter().any(|change| call.starts_with(change));
    assert_eq!(operator.called.iter().filter(is_change).collect::<Vec<_>>(), [""; 0]);
}
