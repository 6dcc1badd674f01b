//! `discover` in an account with foreign resources: its reads, against its document.

use std::collections::BTreeSet;

use serde_json::json;

use super::account::{Account, REGION, calls};
use super::{NEEDS_NO_LEAVE, actions, arn, emulators_own, of};

/// A queue with a name that the operator's document does not cover, and a rule that sends to it.
async fn create_foreign_rule(account: &Account) {
    let rule = "Karpenter-base-SpotInterruptionRule-1A2B";
    let pattern = r#"{"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}"#;
    let target = json!({"Id": "KarpenterInterruptionQueueTarget", "Arn": arn("sqs", "base")});
    for (service, operation, input) in [
        ("sqs", "CreateQueue", json!({"QueueName": "base"})),
        ("events", "PutRule", json!({"Name": rule, "EventPattern": pattern})),
        ("events", "PutTargets", json!({"Rule": rule, "Targets": [target]})),
    ] {
        account.calls().call(service, operation, &input.to_string()).await;
    }
}

#[tokio::test]
async fn a_discovery_reads_what_its_documents_allow() {
    let account = Account::start(REGION).await;
    create_foreign_rule(&account).await;
    let ordinary = account.document("policy operator").await;
    let besides = account.document("policy operator --for discover").await;
    let keys = account.user("operator", &[&ordinary, &emulators_own::of_operator(arn)]).await;
    let ran = account.kibus(&keys, "discover").await;
    assert_eq!(ran.code, Some(1), "the queue is denied: {}", ran.stdout);
    account.allow("operator", "kibus-discover", &besides).await;
    let ran = account.kibus(&keys, "discover").await;
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let first =
        "Grant access to EKS, which names the clusters of `base`; then repeat this:   kibus policy operator --for eks";
    assert!(ran.stdout.contains(first), "{}", ran.stdout);
    let mut called: BTreeSet<_> = calls(&ran).difference(&of(&NEEDS_NO_LEAVE)).cloned().collect();
    assert!(called.remove("eks:ListClusters"), "denied, but the command continues");
    let unused: BTreeSet<_> = actions(&besides).difference(&called).cloned().collect();
    assert_eq!(unused, BTreeSet::new());
    let beyond: BTreeSet<_> = called.difference(&actions(&ordinary)).cloned().collect();
    assert!(beyond.is_subset(&actions(&besides)), "{beyond:?}");
}
