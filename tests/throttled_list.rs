//! A list whose second page is throttled.

use kibus::cloud::Questions;
use serde_json::{Value, json};

use crate::aws_like::Server;
use crate::support::behaving_cloud::BehavingCloud;

/// The n-th call receives the n-th answer, so a first page that is asked for again would be missing.
#[test]
fn a_throttled_page_is_asked_for_again_and_the_pages_before_it_are_not() {
    Server::shared().runtime.block_on(async {
        let account = "320000000001";
        let BehavingCloud { proxy, cloud, .. } = BehavingCloud::of(account).await;
        let page = |queue: &str, next: Value| json!({"QueueUrls": [format!("http://x/{account}/{queue}")], "NextToken": next});
        let throttle = json!({"__type": "com.amazonaws.sqs#RequestThrottled", "message": "Rate exceeded"});
        let answers = [
            (200, page("one", json!("2"))),
            (403, throttle.clone()),
            (403, throttle),
            (200, page("two", json!("3"))),
            (200, page("three", Value::Null)),
        ];
        let answers = answers.map(|(status, body)| {
            let headers = json!({"content-type": "application/x-amz-json-1.0"});
            json!({"at_ms": 0, "operation": "sqs:ListQueues", "status": status, "headers": headers, "body": body.to_string()})
        });
        let recording = json!({"format": 1, "rows": ["S27"], "place": "a test", "seen": [], "answers": answers});
        proxy.like.play(serde_json::from_value(recording).unwrap());
        let queues = cloud.queues(&String::new()).await.unwrap();
        let names: Vec<_> = queues.iter().flatten().map(|queue| queue.as_str()).collect();
        assert_eq!(names, ["one", "three", "two"]);
        assert_eq!(proxy.like.not_played(), Vec::<String>::new());
    });
}
