//! The report about all roles: without permission for it, the only difference is one denied call.

use aws_sdk_iam::Client as Iam;

use super::account::{Account, Keys, REGION};
use super::{Operator, arn, emulators_own};
use crate::hostile::process::Ran;

/// From this many roles on, kibus requests the report.
const MANY: usize = 20;
/// A policy that is not about queues.
const INSTANCES: &str =
    r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": "*"}}"#;

#[tokio::test]
async fn many_roles_are_read_at_once_if_that_is_allowed() {
    let account = Account::start(REGION).await;
    let iam = Iam::new(&account.root());
    let clusters: Vec<String> = (1..=MANY).map(|number| format!("c{number:02}")).collect();
    for cluster in &clusters {
        let role = format!("KarpenterControllerRole-{cluster}");
        account.role(&role).await;
        // `verify` reads it after the policies of the bus.
        let call = iam.put_role_policy().role_name(role).policy_name("another");
        call.policy_document(INSTANCES).send().await.unwrap();
    }
    let ordinary = account.document("policy operator").await;
    let roles = account.document("policy operator --for clusters --controller-role KarpenterControllerRole-*").await;
    let keys = account.user("operator", &[&ordinary, &roles, &emulators_own::of_operator(arn)]).await;
    Operator::new(&account, keys.clone()).bootstraps("bootstrap-hub --yes").await;

    let added = done(&account, &keys, &format!("add-cluster {} --yes", clusters.join(" "))).await;
    assert_eq!(reports(&added), 1, "{}", added.stderr);
    let one_by_one = done(&account, &keys, "verify").await;
    assert_eq!(reports(&one_by_one), 1, "{}", one_by_one.stderr);
    assert!(calls(&one_by_one, "iam:ListRolePolicies") >= MANY);

    let besides = account.document("policy operator --for many-clusters").await;
    account.allow("operator", "kibus-many-clusters", &besides).await;
    let at_once = done(&account, &keys, "verify").await;
    assert_eq!(reports(&at_once), 1, "{}", at_once.stderr);
    assert_eq!(calls(&at_once, "iam:ListRolePolicies"), 0, "{}", at_once.stderr);
    assert_eq!(at_once.stdout, one_by_one.stdout);
}

async fn done(account: &Account, keys: &Keys, line: &str) -> Ran {
    let ran = account.kibus(keys, line).await;
    assert_eq!(ran.code, Some(0), "`kibus {line}`:\n{}{}", ran.stdout, ran.stderr);
    ran
}

fn reports(ran: &Ran) -> usize {
    calls(ran, "iam:GetAccountAuthorizationDetails")
}

fn calls(ran: &Ran, action: &str) -> usize {
    ran.stderr.matches(&format!(" kibus::call: {action} ")).count()
}
