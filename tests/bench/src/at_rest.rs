//! How long an event takes from a quiet hub queue to the queue of its cluster, through the emulator's poller.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::measure::median;
use crate::provisioning::emulator::Emulator;
use crate::provisioning::{process, ran};

const ACCOUNT: &str = "111111111111";
const CLUSTER: &str = "c0001";
const INSTANCE: &str = "i-0c3d4e5f60718293a";
/// How long the queue is quiet before each event.
const QUIET: Duration = Duration::from_secs(5);

/// Sends one event after the other and prints how long they took.
pub async fn run(kibus: &Path, router: &Path, runs: usize) -> Result<(), Box<dyn Error>> {
    let emulator = Emulator::start(kibus.to_owned())?;
    emulator.create_roles(ACCOUNT, &[CLUSTER.to_owned()]).await?;
    let command = || {
        let mut command = process(kibus, &format!("http://{}", emulator.address), ACCOUNT);
        command.env("AWS_SESSION_TOKEN", &emulator.token);
        command
    };
    let mut hub = command();
    hub.args(["bootstrap-hub", "--yes", "--router-binary"]).arg(router);
    ran(hub).await?;
    let mut cluster = command();
    cluster.args(["add-cluster", "--yes", CLUSTER]);
    ran(cluster).await?;
    let tags = format!(
        "Action=CreateTags&ResourceId.1={INSTANCE}&Tag.1.Key=karpenter.sh%2Fnodepool&Tag.1.Value=default\
         &Tag.2.Key=eks%3Aeks-cluster-name&Tag.2.Value={CLUSTER}&Version=2016-11-15"
    );
    emulator.call(ACCOUNT, "ec2", None, tags).await?;
    let url = |queue: &str| format!("http://{}/{ACCOUNT}/{queue}", emulator.address);
    let event = json!({
        "version": "0", "id": "1", "source": "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning",
        "account": ACCOUNT, "region": "us-west-2", "time": "2026-11-20T14:02:31Z", "resources": [],
        "detail": {"instance-id": INSTANCE, "instance-action": "terminate"},
    });
    let sqs = async |action: &str, body: Value| -> Result<Value, Box<dyn Error>> {
        let target = format!("AmazonSQS.{action}");
        let text = emulator.call(ACCOUNT, "sqs", Some(&target), body.to_string()).await?;
        Ok(serde_json::from_str(if text.is_empty() { "{}" } else { &text })?)
    };
    let mut millis = Vec::new();
    for run in 0..=runs {
        tokio::time::sleep(QUIET).await;
        let queue = url(&format!("karpenter-{CLUSTER}"));
        sqs("SendMessage", json!({"QueueUrl": url("kibus-hub"), "MessageBody": event.to_string()})).await?;
        let begun = Instant::now();
        let message = loop {
            let got = sqs("ReceiveMessage", json!({"QueueUrl": queue})).await?;
            if let Some(message) = got["Messages"].as_array().and_then(|messages| messages.first()) {
                break message.clone();
            }
            if begun.elapsed() > Duration::from_secs(60) {
                return Err("the event did not arrive within 60 s".into());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        sqs("DeleteMessage", json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]})).await?;
        // The first event starts the function's process.
        if run > 0 {
            millis.push(took);
        }
    }
    millis.sort_by(f64::total_cmp);
    println!("| events, one by one | median | fastest | slowest |");
    println!("| --- | --- | --- | --- |");
    println!(
        "| {runs} | {:.0} ms | {:.0} ms | {:.0} ms |",
        median(millis.clone()),
        millis[0],
        millis[millis.len() - 1]
    );
    Ok(())
}
