//! Hostile messages and payloads, through the real router.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::function::{CLUSTER, Ended, Function};
use crate::support::tls::Authority;

/// The maximum number of entities that the router accepts in one event.
pub(super) const MOST: usize = 10_000;
/// The memory of the function, in KiB.
pub(super) const MEMORY: u64 = 256 * 1024;

pub(super) fn spot(id: &str) -> String {
    let event = include_str!("../events/spot-interruption-warning.json");
    let mut event: Value = serde_json::from_str(event).unwrap();
    event["id"] = json!(id);
    event.to_string()
}

/// A health event with these entities, as JSON.
fn health(entities: &str) -> String {
    let event = include_str!("../events/health-scheduled-change-single.json");
    let mut event: Value = serde_json::from_str(event).unwrap();
    event["id"] = json!("health");
    event["resources"] = json!([]);
    event["detail"]["affectedEntities"] = json!("ENTITIES");
    event.to_string().replace("\"ENTITIES\"", entities)
}

/// A health event about this many instances.
pub(super) fn about(instances: usize) -> String {
    let entities: Vec<String> = (0..instances).map(|n| format!(r#"{{"entityValue":"i-{n:x}"}}"#)).collect();
    health(&format!("[{}]", entities.join(",")))
}

/// A batch in which each body is a message with its place as id.
pub(super) fn batch(bodies: &[String]) -> String {
    let record = |(place, body): (usize, &String)| {
        json!({
            "messageId": place.to_string(), "receiptHandle": "r", "body": body,
            "attributes": {"ApproximateReceiveCount": "2", "SentTimestamp": "1795183351183"},
            "eventSourceARN": "arn:aws:sqs:us-east-2:111122223333:kibus-hub",
        })
    };
    json!({ "Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>() }).to_string()
}

pub(super) fn retried(places: &[usize]) -> Ended {
    let failures: Vec<Value> = places.iter().map(|place| json!({"itemIdentifier": place.to_string()})).collect();
    Ended::Answered(json!({ "batchItemFailures": failures }))
}

pub(super) fn ids(sent: &[String]) -> Vec<String> {
    let id = |body: &String| serde_json::from_str::<Value>(body).unwrap()["id"].as_str().unwrap().to_owned();
    let mut ids: Vec<String> = sent.iter().map(id).collect();
    ids.sort();
    ids
}

/// The transport of production. A server that the router does not trust receives no event and no credentials.
#[tokio::test]
async fn the_router_sends_only_to_a_server_that_it_trusts() {
    let (known, unknown) = (Authority::new("known"), Authority::new("unknown"));
    let files = tempfile::tempdir().unwrap();
    let bundle = files.path().join("bundle.pem");
    std::fs::write(&bundle, known.pem()).unwrap();
    let trust = [("SSL_CERT_FILE", bundle.to_str().unwrap())];
    // Calls to an untrusted server are retried until the invocation ends, so all run at once.
    let cases = [
        ("known", &known, 2999, true),
        ("of an unknown authority", &unknown, 2999, false),
        ("expired", &known, 2020, false),
    ];
    join_all(cases.map(async |(name, authority, until, is_trusted)| {
        let mut function = Function::start_behind(Some((authority, until)), &trust).await;
        let ended = function.invoke(batch(&[spot("one")])).await;
        let expected = if is_trusted { retried(&[]) } else { retried(&[0]) };
        assert_eq!(ended, expected, "{name}");
        assert_eq!(function.take_sent().len(), usize::from(is_trusted), "{name}");
    }))
    .await;
}

#[tokio::test]
async fn an_event_with_too_many_entities_returns_alone() {
    let mut function = Function::start(&[]).await;
    let bodies = [spot("before"), about(MOST + 1), spot("after"), about(MOST)];
    assert_eq!(function.invoke(batch(&bodies)).await, retried(&[1]));
    assert_eq!(ids(&function.take_sent()), ["after", "before", "health"]);
    // An event that is not a batch.
    assert_eq!(function.invoke(about(MOST + 1)).await, Ended::Failed("NotABatch".to_owned()));
    assert_eq!(function.take_sent(), Vec::<String>::new());
    let log = function.log().await;
    assert!(log.contains(r#""reason":"too many entities""#), "{log}");
    assert!(log.contains(r#""RetriedTooManyEntities":1"#), "{log}");
}

/// SQS returns up to 1 MiB per message, and Lambda up to 6 MB per batch.
#[tokio::test]
async fn the_largest_batch_of_the_smallest_entities_fits_into_memory() {
    let mut function = Function::start(&[]).await;
    let many = format!("[{}1]", "1,".repeat(480_000));
    let twice = format!("[{0}1],\"affectedEntities\":[{0}1]", "1,".repeat(240_000));
    let bodies = [many.as_str(), &many, &many, &twice, &twice].map(health);
    let payload = batch(&[&[spot("neighbor")], &bodies[..]].concat());
    assert!((4 << 20..6 << 20).contains(&payload.len()), "{}", payload.len());
    assert_eq!(function.invoke(payload).await, retried(&[1, 2, 3, 4, 5]));
    assert_eq!(ids(&function.take_sent()), ["neighbor"]);
    assert!(function.peak() < MEMORY / 2, "{} KiB", function.peak());
    let log = function.log().await;
    assert!(log.contains(r#""reason":"ambiguous event""#), "{log}");
}

#[tokio::test]
async fn a_hostile_message_harms_no_neighbor() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let member = |name: &str, value: &str| spot("x").replacen('{', &format!("{{\"{name}\":{value},"), 1);
    let escape = "\\u001b]0;title\\u0007\\n\\u202e../../x";
    let hostile = [
        String::new(),
        "\0".to_owned(),
        "<html>".to_owned(),
        deep("[", "]"),
        deep("{\"detail\":", "}"),
        member("x", &deep("[", "]")),
        member("detail", &deep("{\"detail\":", "}")),
        member("source", "1e999999"),
        member("time", "\"-999999999999-01-01T00:00:00Z\""),
        member("resources", &deep("[", "]")),
        member("id", &format!("\"{}\"", "x".repeat(900_000))),
        format!("{{{}\"a\":1}}", "\"a\":1,".repeat(150_000)),
        spot("x").replace("i-", "i-\\ud800"),
        spot("x").replace("i-", escape),
        spot("x").replace("111122223333", "1"),
        health("{}"),
        health("\"i-1\""),
        health("[[],null,1,{\"entityValue\":1},{\"entityValue\":{}}]"),
        health(&format!("[{{\"entityValue\":\"{escape}\"}}]")),
        health(&format!("[{{\"entityValue\":\"i-1\",\"x\":{}}}]", deep("[", "]"))),
    ];
    let mut function = Function::start(&[]).await;
    for (number, body) in hostile.iter().enumerate() {
        let bodies = [spot("before"), body.clone(), spot("after")];
        let ended = function.invoke(batch(&bodies)).await;
        let Ended::Answered(answer) = &ended else { panic!("{number}: {ended:?}") };
        let failures = answer["batchItemFailures"].as_array().unwrap();
        assert!(failures.iter().all(|failure| failure["itemIdentifier"] == "1"), "{number}: {answer}");
        let sent = function.take_sent();
        let neighbors = ["before", "after"].map(spot);
        assert!(neighbors.iter().all(|body| sent.contains(body)), "{number}: {sent:?}");
    }
    let log = function.log().await;
    assert!(!log.contains("panicked"), "{log}");
    assert_eq!(log.chars().find(|c| c.is_control() && *c != '\n'), None, "{log:?}");
    assert!(!log.contains("title"), "{log}");
}

/// Someone has mapped a queue to the function. On AWS, a batch comes from one queue; whatever arrives, each record is judged separately.
#[tokio::test]
async fn records_of_another_queue_return_unread() {
    let mut function = Function::start(&[]).await;
    let hub = "arn:aws:sqs:us-east-2:111122223333:kibus-hub";
    let sources = [
        json!(hub),
        json!("arn:aws:sqs:us-east-2:111122223333:mine"),
        json!("arn:aws:sqs:us-east-2:999999999999:kibus-hub"),
        json!(null),
        json!(hub),
    ];
    let record = |(place, source): (usize, &Value)| {
        // The last one returns to the hub queue.
        let body = if place == 4 { about(MOST + 1) } else { spot(&place.to_string()) };
        json!({
            "messageId": place.to_string(), "receiptHandle": format!("r{place}"), "body": body,
            "attributes": {"ApproximateReceiveCount": "2"}, "eventSourceARN": source,
        })
    };
    let records: Vec<Value> = sources.iter().enumerate().map(record).collect();
    let payload = |records: &[Value]| json!({ "Records": records }).to_string();
    // Only the record without a queue is answered with its outcome.
    let failures = [1, 2, 4].map(|place| json!({"itemIdentifier": place.to_string()}));
    let decisions = json!({"3": [{"decision": "delivered", "reason": null, "cluster": CLUSTER}]});
    let expected = Ended::Answered(json!({"batchItemFailures": failures, "decisions": decisions}));
    assert_eq!(function.invoke(payload(&records)).await, expected);
    assert_eq!(ids(&function.take_sent()), ["0", "3"]);
    assert_eq!(function.take_hidden(), ["r4"]);
    // A mapping that treats any answer as success must not lose them either.
    let failed = Ended::Failed("NotRouted".to_owned());
    assert_eq!(function.invoke(payload(&records[1..3])).await, failed);
    assert_eq!((function.take_sent(), function.take_hidden()), (vec![], vec![]));
    let log = function.log().await;
    assert_eq!(log.matches(r#""reason":"other queue""#).count(), 4, "{log}");
    assert_eq!(log.matches(r#""RetriedOtherQueue":2"#).count(), 2, "{log}");
}

#[tokio::test]
async fn a_hostile_payload_is_an_error_of_its_invocation_only() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000)).into_bytes();
    let record = |member: &str| format!("{{\"Records\":[{{\"messageId\":\"m\",{member}}}]}}").into_bytes();
    let mut function = Function::start(&[]).await;
    for (number, payload) in [
        Vec::new(),
        b"\xff\xfe".to_vec(),
        b"\"\xff\"".to_vec(),
        b"{\"Records\":\"\xff\"}".to_vec(),
        b"nothing".to_vec(),
        b"1e999".to_vec(),
        deep("[", "]"),
        deep("{\"Records\":", "}"),
        b"{\"Records\":1}".to_vec(),
        b"{\"Records\":[1]}".to_vec(),
        b"{\"Records\":[],\"Records\":[]}".to_vec(),
        record("\"attributes\":{\"ApproximateReceiveCount\":3}"),
        record("\"attributes\":{\"ApproximateReceiveCount\":\"-3\",\"SentTimestamp\":\"9223372036854775808\"}"),
        record("\"attributes\":{\"SentTimestamp\":\"-9223372036854775808\"}"),
        record("\"eventSourceARN\":\"../x\""),
        record("\"body\":null"),
        record(&format!("\"body\":\"{}\"", "x".repeat(4 << 20))),
    ]
    .into_iter()
    .enumerate()
    {
        let ended = function.invoke(payload).await;
        assert_ne!(ended, Ended::Failed("panic".to_owned()), "{number}");
        assert_eq!(function.invoke(batch(&[spot("next")])).await, retried(&[]), "{number}");
        assert_eq!(ids(&function.take_sent()), ["next"], "{number}");
    }
    let log = function.log().await;
    assert!(!log.contains("panicked"), "{log}");
}
