//! The operator's document with a permissions boundary is enough for every command, except to update the trust policy of
//! the router role.

use aws_sdk_iam::Client as Iam;

use super::account::{Account, REGION};
use super::denied::{Tried, not_denied};
use super::{ASSUME_NOBODY, Operator, ROUTER_ROLE, arn, emulators_own, everything};

#[tokio::test]
async fn the_bounded_document_is_enough_and_keeps_the_router_role() {
    let account = Account::start(REGION).await;
    let iam = Iam::new(&account.root());
    let boundary = account.managed("boundary", &everything()).await;
    account.role("KarpenterControllerRole-base").await;
    let options = format!("--permissions-boundary {boundary} --tag team=a");
    let document = account.document(&format!("policy operator {options}")).await;
    let clusters = account.document("policy operator --for clusters base").await;
    let own = [emulators_own::of_operator(arn), emulators_own::of_bounded(ROUTER_ROLE)];
    let keys = account.user("operator", &[&document, &clusters, &own[0], &own[1]]).await;
    let mut operator = Operator::new(&account, keys);
    let own = operator.bootstraps(&format!("bootstrap-hub --yes {options}")).await;
    operator.kibus("verify --probe").await;
    operator.kibus("add-cluster base --yes").await;
    operator.kibus("verify").await;

    let his = Iam::new(&account.sdk(&operator.keys));
    let made = [
        Tried::new(
            "let others take the router role",
            his.update_assume_role_policy().role_name(ROUTER_ROLE).policy_document(ASSUME_NOBODY).send().await.err(),
        ),
        Tried::new(
            "remove the boundary",
            his.delete_role_permissions_boundary().role_name(ROUTER_ROLE).send().await.err(),
        ),
    ];
    assert_eq!(not_denied(&made), Vec::<String>::new());

    let trust = iam.get_role().role_name(ROUTER_ROLE).send().await.unwrap();
    let trust = trust.role.unwrap().assume_role_policy_document.unwrap();
    let trust = urlencoding::decode(&trust).unwrap().into_owned();
    let assume = |document: String| {
        let call = iam.update_assume_role_policy().role_name(ROUTER_ROLE);
        call.policy_document(document).send()
    };
    assume(ASSUME_NOBODY.to_owned()).await.unwrap();
    let ran = account.kibus(&operator.keys, "bootstrap-hub --yes").await;
    assert_ne!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stderr.contains("iam:UpdateAssumeRolePolicy"), "{}", ran.stderr);
    assume(trust).await.unwrap();

    operator.kibus("bootstrap-hub --yes").await;
    operator.removes("base", &own).await;

    // Not promised by the documentation: IAM has no condition on the trust policy of a new role.
    let call = his.create_role().role_name(ROUTER_ROLE);
    let call = call.assume_role_policy_document(ASSUME_NOBODY);
    call.permissions_boundary(&boundary).send().await.unwrap();
}
