//! How long an event takes from a quiet hub queue to the queue of its cluster, through the emulator's poller.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::measure::median;
use crate::provisioning::emulator::Emulator;

const ACCOUNT: &str = "111111111111";
const CLUSTER: &str = "c0001";
const INSTANCE: &str = "i-0c3d4e5f60718293a";
/// How long the queue is quiet before each event.
const QUIET: Duration = Duration::from_secs(5);

/// Sends one event after another and prints how long they took.
pub async fn run(kibus: &Path, router: &Path, runs: usize) -> Result<(), Box<dyn Error>> {
    let emulator = Emulator::start(kibus)?;
    emulator.create_roles(ACCOUNT, &[CLUSTER.to_owned()]).await;
    emulator.bootstrap(ACCOUNT, router).await?;
    emulator.kibus(ACCOUNT, &["add-cluster", "--yes", CLUSTER]).await?;
    let account = emulator.account(ACCOUNT);
    let tags = [("karpenter.sh/nodepool", "default"), ("eks:eks-cluster-name", CLUSTER)];
    account.tag_instance(INSTANCE, tags).await;
    let event = json!({
        "version": "0", "id": "1", "source": "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning",
        "account": ACCOUNT, "region": "us-west-2", "time": "2026-11-20T14:02:31Z", "resources": [],
        "detail": {"instance-id": INSTANCE, "instance-action": "terminate"},
    });
    let queue = format!("karpenter-{CLUSTER}");
    let mut millis = Vec::new();
    for run in 0..=runs {
        tokio::time::sleep(QUIET).await;
        account.call("sqs", "SendMessage", &json!({"QueueUrl": "kibus-hub", "MessageBody": event}).to_string()).await;
        let begun = Instant::now();
        let message = loop {
            let got = account.json("sqs", "ReceiveMessage", &json!({ "QueueUrl": queue }).to_string()).await;
            if got["Messages"][0].is_object() {
                break got["Messages"][0].clone();
            }
            if begun.elapsed() > Duration::from_secs(60) {
                return Err("the event did not arrive within 60 s".into());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        let taken = json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]}).to_string();
        account.call("sqs", "DeleteMessage", &taken).await;
        // The first event starts the function's process.
        if run > 0 {
            millis.push(took);
        }
    }
    millis.sort_by(f64::total_cmp);
    println!("| events, one by one | median | fastest | slowest |");
    println!("| --- | --- | --- | --- |");
    let (fastest, slowest) = (millis[0], millis[millis.len() - 1]);
    println!("| {runs} | {:.0} ms | {fastest:.0} ms | {slowest:.0} ms |", median(millis));
    Ok(())
}
