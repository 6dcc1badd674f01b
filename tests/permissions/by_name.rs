//! S14: in a Region whose SQS has no tag conditions, the documents name queues by the pattern of their names, and are enough.

use std::collections::BTreeSet;

use serde_json::Value;

use super::account::Account;
use super::{Operator, attach_to_router, emulators_own};
use crate::support::emulator::ACCOUNT;

const REGION: &str = "eu-central-2";

#[tokio::test]
async fn documents_without_tag_conditions_are_enough() {
    let account = Account::start(REGION).await;
    let keys = account.user("operator").await;
    let mut operator = Operator { account: &account, keys, called: BTreeSet::new() };
    let document = operator.document("policy operator").await;
    account.allow("operator", "kibus-operator", &document).await;
    let clusters = operator.document("policy operator --for clusters").await;
    account.allow("operator", "kibus-clusters", &clusters).await;
    let own =
        emulators_own::of_operator(|service, resource| format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"));
    account.allow("operator", "emulators-own", &own).await;
    let router = operator.document("policy router").await;
    for (who, document) in [("operator", &document), ("clusters", &clusters), ("router", &router)] {
        let conditions = conditions(document);
        assert!(conditions.iter().all(|key| !key.contains("Tag/")), "{who}: {conditions:?}");
    }
    let iam = aws_sdk_iam::Client::new(&account.root());
    let own = account.managed("emulators-own-of-router", &emulators_own::of_router(&router)).await;
    let role = format!("kibus-router-{REGION}");
    // The router's self-test is denied until the emulator has what it alone requires.
    tokio::join!(operator.kibus("bootstrap-hub --yes"), attach_to_router(&iam, &role, &own));
    operator.kibus("verify --probe").await;
    operator.kibus("add-cluster base --yes --no-controller-role").await;

    let keys = account.user("router").await;
    account.allow("router", "kibus-router", &router).await;
    let sqs = aws_sdk_sqs::Client::new(&account.sdk(&keys));
    // A user sends here with the router's document, which the locks of the queues would deny.
    account.unlock(&["karpenter-base", "kibus-probe", "kibus-hub", "kibus-hub-dlq"]).await;
    for (queue, sends) in
        [("karpenter-base", true), ("kibus-probe", true), ("kibus-hub", false), ("kibus-hub-dlq", false)]
    {
        let url = format!("{}/{ACCOUNT}/{queue}", account.endpoint);
        let sent = sqs.send_message().queue_url(url).message_body("x").send().await;
        assert_eq!(sent.is_ok(), sends, "{queue}: {sent:?}");
    }

    let call = iam.detach_role_policy().role_name(&role).policy_arn(&own);
    call.send().await.unwrap();
    operator.kibus("remove-cluster base --yes").await;
    operator.kibus("teardown --yes").await;
}

/// The keys of all conditions of a document.
fn conditions(document: &Value) -> Vec<&str> {
    let statements = document["Statement"].as_array().unwrap();
    let operators = statements.iter().filter_map(|statement| statement["Condition"].as_object());
    let keys = operators.flat_map(serde_json::Map::values).filter_map(Value::as_object);
    keys.flat_map(|keys| keys.keys().map(String::as_str)).collect()
}
