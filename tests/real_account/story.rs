//! The story: what an operator does with a bus, from the first command to the last.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use super::iam;
use super::run::Run;

/// How long AWS may take to show a change everywhere, in seconds. Attributes of queues take up to 60 (S4).
const SETTLED: u32 = 180;

/// How often a probe of the bus is repeated. A new rule may miss the first (E1).
const PROBES: u32 = 4;

/// The clusters. No real cluster has such a name, so no event is for them.
const ONE: &str = "kibus-rt-one";
const TWO: &str = "kibus-rt-two";

/// Runs every step; a step that fails panics with what kibus printed.
pub(super) async fn tell(run: &Run) {
    let role = run.role("controller");
    iam::create_role(run, &role, "ec2.amazonaws.com").await.unwrap();
    let add_one = ["add-cluster", ONE, "--no-eks-check", "--controller-role", &role, "--yes"];
    let template = run.queue_template();
    let bootstrap = ["bootstrap-hub", "--queue-name", &template, "--yes"];

    step(run, &bootstrap).await;
    probe(run).await;
    step(run, &add_one).await;
    step(run, &["add-cluster", TWO, "--no-eks-check", "--no-controller-role", "--yes"]).await;
    clean(run).await;

    drift(run, &role).await;
    step(run, &bootstrap).await;
    step(run, &add_one).await;
    clean(run).await;
    probe(run).await;

    step(run, &["remove-cluster", ONE, TWO, "--yes"]).await;
    step(run, &add_one).await;
    clean(run).await;

    step(run, &["teardown", "--yes"]).await;
    step(run, &bootstrap).await;
    clean(run).await;
    probe(run).await;
    step(run, &["teardown", "--yes"]).await;
}

/// Runs a command that must succeed.
async fn step(run: &Run, words: &[&str]) {
    let ended = run.kibus(&run.bus, words).await;
    assert_eq!(ended.code, Some(0), "{}", ended.text);
    let names: Vec<_> = words.iter().take_while(|word| !word.starts_with("--")).copied().collect();
    run.tell(&names.join(" "));
}

/// Waits until `verify` finds nothing.
async fn clean(run: &Run) {
    let mut last = String::new();
    let found_nothing = run.until(SETTLED, async || {
        let ended = run.kibus(&run.bus, &["verify"]).await;
        last = ended.text;
        (ended.code == Some(0)).then_some(())
    });
    let Some(((), after)) = found_nothing.await else { panic!("verify does not become clean:\n{last}") };
    run.tell(&format!("verify: no findings after {after:.1} s"));
}

/// Sends probes until one arrives. Nothing reads the queues of the clusters, which `verify` reports too.
async fn probe(run: &Run) {
    let mut last = String::new();
    for time in 1..=PROBES {
        let ended = run.kibus(&run.bus, &["verify", "--probe"]).await;
        if ended.stdout.contains("probe delivered through the bus") {
            run.tell(&format!("verify --probe: delivered, run {time}"));
            return;
        }
        last = ended.text;
    }
    panic!("no probe arrives:\n{last}");
}

/// Changes what an operator may change by accident, and waits until `verify` reports all of it.
async fn drift(run: &Run, controller: &str) {
    let queue = run.queue_template().replace("{cluster}", ONE);
    // A queue is not found everywhere at once (S3).
    let changed = run.until(SETTLED, async || {
        let url = run.sqs.get_queue_url().queue_name(&queue).send().await.ok()?;
        let set = run.sqs.set_queue_attributes().set_queue_url(url.queue_url);
        let set = set.attributes(QueueAttributeName::VisibilityTimeout, "77");
        set.send().await.ok()
    });
    changed.await.unwrap();
    let rule = format!("{}-spot-interruption", run.bus);
    run.events.disable_rule().name(rule).send().await.unwrap();
    let router = format!("{}-router-{}", run.bus, run.region);
    iam::delete_policies(run, controller).await.unwrap();
    // A role that is deleted and made again has another identity (L19), so this is the hardest of them. IAM may still see
    // the policies that were just deleted (I4).
    let deleted = run.until(SETTLED, async || iam::delete_role(run, &router).await.ok());
    deleted.await.unwrap();
    let expected = BTreeSet::from(["K102", "K111", "K210", "K223"].map(str::to_owned));
    let mut last = String::new();
    let reported = run.until(SETTLED, async || {
        let ended = run.kibus(&run.bus, &["verify", "--output", "json"]).await;
        last = ended.text;
        expected.is_subset(&codes(&ended.stdout)).then_some(())
    });
    let Some(((), after)) = reported.await else { panic!("verify does not report {expected:?}:\n{last}") };
    run.tell(&format!("drift: K102, K111, K210, K223 after {after:.1} s"));
}

fn codes(document: &str) -> BTreeSet<String> {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let problems = document["hubs"][0]["problems"].as_array().cloned().unwrap_or_default();
    problems.iter().filter_map(|problem| problem["code"].as_str().map(str::to_owned)).collect()
}
