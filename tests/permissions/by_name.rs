//! S14: in a Region whose SQS has no tag conditions, the documents name queues by a name pattern, and are sufficient.

use serde_json::Value;

use super::account::Account;
use super::{Operator, emulators_own};
use crate::support::emulator::ACCOUNT;

const REGION: &str = "eu-central-2";

#[tokio::test]
async fn documents_without_tag_conditions_are_enough() {
    let account = Account::start(REGION).await;
    let document = account.document("policy operator").await;
    let clusters = account.document("policy operator --for clusters").await;
    let own =
        emulators_own::of_operator(|service, resource| format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"));
    let mut operator = Operator::new(&account, account.user("operator", &[&document, &clusters, &own]).await);
    let router = operator.document("policy router").await;
    for (who, document) in [("operator", &document), ("clusters", &clusters), ("router", &router)] {
        let conditions = conditions(document);
        assert!(conditions.iter().all(|key| !key.contains("Tag/")), "{who}: {conditions:?}");
    }
    let own = operator.bootstraps("bootstrap-hub --yes").await;
    operator.kibus("verify --probe").await;
    operator.kibus("add-cluster base --yes --no-controller-role").await;

    let sqs = aws_sdk_sqs::Client::new(&account.sdk(&account.user("router", &[&router]).await));
    // A user sends here with the router's document, which the locks of the queues would deny.
    account.unlock(&["karpenter-base", "kibus-probe", "kibus-hub", "kibus-hub-dlq"]).await;
    for (queue, sends) in
        [("karpenter-base", true), ("kibus-probe", true), ("kibus-hub", false), ("kibus-hub-dlq", false)]
    {
        let url = format!("{}/{ACCOUNT}/{queue}", account.endpoint);
        let sent = sqs.send_message().queue_url(url).message_body("x").send().await;
        assert_eq!(sent.is_ok(), sends, "{queue}: {sent:?}");
    }

    operator.removes("base", &own).await;
}

fn conditions(document: &Value) -> Vec<&str> {
    let statements = document["Statement"].as_array().unwrap();
    let operators = statements.iter().filter_map(|statement| statement["Condition"].as_object());
    let keys = operators.flat_map(serde_json::Map::values).filter_map(Value::as_object);
    keys.flat_map(|keys| keys.keys().map(String::as_str)).collect()
}
