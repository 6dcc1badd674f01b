//! The check before the first change: its reads, and the calls that it expects of a plan, against those that are made.

use std::collections::BTreeSet;

use kibus::iam::operator_policy;
use kibus::model::{Code, Fact, Hub, HubOptions, Observed};
use kibus::plan::plan;
use kibus::preflight::planned_calls;

use super::account::{Account, REGION};
use super::{NEEDS_NO_LEAVE, actions, arn, emulators_own, of, scope};

/// AWS requires these with the calls that have tags or a role, and no call has their name.
const WITH_ANOTHER_CALL: [&str; 7] = [
    "events:TagResource",
    "iam:PassRole",
    "iam:TagRole",
    "lambda:TagResource",
    "logs:TagResource",
    "sqs:TagQueue",
    "ssm:AddTagsToResource",
];

/// Compares the writes that a check asks about for a new hub with those that its creation has made.
pub(super) fn expects_the_calls_of_a_first_hub(called: &BTreeSet<String>) {
    let scope = scope();
    let options = HubOptions::default();
    let desired = Hub::new(&scope, options.clone(), Code::of_archive("0.1.0", "aa")).desired();
    let observed: Observed = desired.ids().map(|id| (id.clone(), Fact::Absent)).collect();
    let document = operator_policy::operator(&scope, &options, &BTreeSet::new());
    let planned = planned_calls(&scope, &options, &document, &plan(&scope, &desired, &observed));
    let writes = |action: &&str| ![":Describe", ":Get", ":List"].iter().any(|read| action.contains(read));
    let simulations = planned.simulations.iter();
    let expected: BTreeSet<&str> = simulations.flat_map(|one| one.actions()).filter(writes).collect();
    let called: BTreeSet<&str> = called.iter().map(String::as_str).filter(writes).collect();
    assert_eq!(called.difference(&expected).collect::<Vec<_>>(), Vec::<&&str>::new());
    let without: Vec<&str> = expected.difference(&called).copied().collect();
    assert_eq!(without, WITH_ANOTHER_CALL);
}

/// The emulator simulates no conditions and one resource, so permissions are not ok; the scenario has the answers of AWS.
#[tokio::test]
async fn a_check_reads_what_its_documents_allow() {
    let account = Account::start(REGION).await;
    let ordinary = account.document("policy operator --no-controller-role").await;
    let besides = account.document("policy operator --for check").await;
    let keys = account.user("operator").await;
    account.allow("operator", "kibus-operator", &ordinary).await;
    account.allow("operator", "emulators-own", &emulators_own::of_operator(arn)).await;
    account.allow("operator", "emulators-own-of-check", &emulators_own::of_check()).await;
    account.allow("operator", "kibus-check", &besides).await;
    let ran = account.kibus(&keys, "bootstrap-hub --check").await;
    assert!(!ran.stdout.contains("not authorized"), "{}", ran.stdout);
    let called: BTreeSet<_> = ran.calls.difference(&of(&NEEDS_NO_LEAVE)).cloned().collect();
    let beyond: BTreeSet<_> = called.difference(&actions(&ordinary)).cloned().collect();
    assert_eq!(beyond, actions(&besides));
}
