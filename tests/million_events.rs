//! `kibus events` on a log of a million lines, which a server on this machine returns in pages like CloudWatch Logs.

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::hostile::process::command;
use crate::support::proxy::{Operation, Port, answer, refusal};

const LINES: usize = 1_000_000;
/// The maximum size of a page in bytes, with 26 more per line, and in lines (CloudWatch Logs API reference, `FilterLogEvents`).
const PAGE_BYTES: usize = 1024 * 1024;
const PAGE_LINES: usize = 10_000;
/// The log ends when the test begins, and has one line per this many milliseconds.
const STEP: i64 = 500;
static BEGIN: LazyLock<i64> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap() - i64::try_from(LINES).unwrap() * STEP
});

const CALLER: &str = "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::111122223333:user/o</Arn>\
    <UserId>A</UserId><Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>";

fn line(number: usize) -> String {
    json!({
        "level": "info", "message": "delivered", "reason": null, "signal": "spot-interruption", "urgency": "urgent",
        "cluster": format!("tenant-{}", number % 50), "nodepool": "default", "type": "m5.2xlarge",
        "instances": [format!("i-{number:017x}")], "items": 1, "time": "2026-11-24T03:12:41Z", "delay": number % 400,
        "receives": 1, "message_id": format!("00000000-0000-0000-0000-{number:012x}"),
        "request": format!("00000000-0000-0000-0001-{number:012x}"),
    })
    .to_string()
}

/// A page of the lines in a range of time. Each page but the last has a token.
fn page(request: &Value) -> Value {
    let at = |time: &Value, unset: usize| match time.as_i64() {
        Some(time) => usize::try_from((time - *BEGIN).max(0) / STEP).unwrap().min(LINES),
        None => unset,
    };
    let start = request["nextToken"].as_str().map(|token| token.parse().unwrap());
    let (start, end) = (start.unwrap_or_else(|| at(&request["startTime"], 0)), at(&request["endTime"], LINES));
    let (mut events, mut bytes, mut number) = (Vec::new(), 0, start);
    while number < end && events.len() < PAGE_LINES {
        let message = line(number);
        bytes += message.len() + 26;
        if bytes > PAGE_BYTES {
            break;
        }
        let time = *BEGIN + i64::try_from(number).unwrap() * STEP;
        let id = format!("{number:056}");
        events.push(json!({
            "eventId": id, "timestamp": time, "ingestionTime": time, "message": message, "logStreamName": "stream",
        }));
        number += 1;
    }
    if number < end {
        json!({ "events": events, "nextToken": number.to_string() })
    } else {
        json!({ "events": events })
    }
}

async fn measure(arguments: &str) -> (f64, usize, u64) {
    let calls = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&calls);
    let url = Port::open().await.serve(move |request: Request<Bytes>| {
        let operation = Operation::of(&request);
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let counted = Arc::clone(&counted);
        async move {
            let answered = |value: Value| answer(200, "application/x-amz-json-1.1", value.to_string());
            Ok(match operation.name.as_str() {
                "sts:GetCallerIdentity" => answer(200, "text/xml", CALLER.to_owned()),
                "logs:DescribeLogGroups" => {
                    answered(json!({ "logGroups": [{ "logGroupName": "/aws/lambda/kibus-router" }] }))
                }
                "logs:ListTagsForResource" => answered(json!({ "tags": {} })),
                "logs:FilterLogEvents" => {
                    counted.fetch_add(1, Ordering::Relaxed);
                    answered(page(&body))
                }
                _ => refusal(&operation, 400, "ParameterNotFound", "absent"),
            })
        }
    });
    let began = Instant::now();
    let file = tempfile::tempfile().unwrap();
    let variables = [("AWS_ACCESS_KEY_ID", "key"), ("AWS_ENDPOINT_URL", &url)];
    let mut child = command(arguments, &variables).stdout(Stdio::from(file)).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id().unwrap());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0_u64));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(child.wait().await.unwrap().success());
    (began.elapsed().as_secs_f64(), calls.load(Ordering::Relaxed), peak / 1024)
}

/// `cargo test --test main million_events -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; docs/performance.md has its numbers"]
async fn a_million_lines_are_read_in_five_minutes() {
    let mut rows = String::new();
    for arguments in ["events --since 7d", "events --since 7d --limit 100000", "events --since 7d --limit 1000000"] {
        let (seconds, calls, memory) = measure(arguments).await;
        rows.push_str(&format!("| `{arguments}` | {seconds:.1} s | {calls} | {memory} MiB |\n"));
        assert!(seconds < 300.0, "{rows}");
    }
    // Where `--nocapture` shows it.
    std::io::stdout().write_all(rows.as_bytes()).unwrap();
}
