//! What EventBridge does.

use aws_sdk_eventbridge::types::{PutEventsRequestEntry, Target};
use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};

use super::observation::{Seen, Unseen};
use super::run::Run;
use super::sqs;

/// How long a new rule may take to match, in seconds.
const MATCHED: u32 = 120;

fn entry(source: &str, detail: &Value) -> PutEventsRequestEntry {
    let entry = PutEventsRequestEntry::builder().source(source).detail_type("Kibus Real Account");
    entry.detail(detail.to_string()).build()
}

/// E11: an event of a source that only AWS may use.
pub(super) async fn refused_source(run: &Run) -> Seen {
    let put = run.events.put_events().entries(entry("aws.ec2", &json!({}))).send().await?;
    let entry = put.entries().first().ok_or("the answer has no entry")?;
    Ok(format!(
        "PutEvents of source aws.ec2: 200, FailedEntryCount {}, {} \"{}\"",
        put.failed_entry_count(),
        entry.error_code().unwrap_or("no code"),
        entry.error_message().unwrap_or_default()
    ))
}

/// E1 and P9: when a new rule matches the first event. R5: how the rule comes back.
pub(super) async fn new_rule(run: &Run) -> Result<Vec<Seen>, Unseen> {
    let (queue, rule) = (sqs::create(run, "matched").await?, run.name("matched"));
    let queue_arn = run.arn("sqs", &rule);
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": run.arn("events", &format!("rule/{rule}"))}},
        }],
    });
    let set = run.sqs.set_queue_attributes().queue_url(&queue);
    set.attributes(QueueAttributeName::Policy, policy.to_string()).send().await?;
    // As long as a queue policy takes at most (S4), so that only the rule is late.
    run.wait(60).await;
    let pattern = format!("{{ \"source\": [\"kibus.rt\"], \"account\": [\"{}\"] }}", run.account);
    run.events.put_rule().name(&rule).event_pattern(&pattern).send().await?;
    let target = Target::builder().id("queue").arn(queue_arn).build();
    let target = target.map_err(|_| "the target is incomplete")?;
    run.events.put_targets().rule(&rule).targets(target).send().await?;
    let stored = run.events.describe_rule().name(&rule).send().await?;

    let (mut sent, mut arrived) = (0_u32, None);
    let matched = run.until(MATCHED, async || {
        let event = entry("kibus.rt", &json!({"sent": sent}));
        sent += 1;
        run.events.put_events().entries(event).send().await.ok()?;
        let receive = run.sqs.receive_message().queue_url(&queue).max_number_of_messages(10);
        let messages = receive.send().await.ok()?.messages.unwrap_or_default();
        let numbers = messages.iter().filter_map(|message| {
            let event: Value = serde_json::from_str(message.body()?).ok()?;
            event["detail"]["sent"].as_u64()
        });
        arrived = numbers.min();
        arrived.map(drop)
    });
    let after = matched.await.map(|matched| matched.1);
    let matched = format!(
        "one event a second after PutTargets: the first of them arrived {} later; it was event {}",
        sqs::seconds(after, MATCHED),
        arrived.map_or_else(|| "none".to_owned(), |number| (number + 1).to_string())
    );
    let stored = format!(
        "EventPattern {}, EventBusName {}, Description {}",
        if stored.event_pattern() == Some(&pattern) { "as sent" } else { "changed" },
        stored.event_bus_name().unwrap_or("absent"),
        stored.description().map_or_else(|| "absent".to_owned(), |text| format!("\"{text}\"")),
    );
    Ok(vec![Ok(matched.clone()), Ok(matched), Ok(stored)])
}
