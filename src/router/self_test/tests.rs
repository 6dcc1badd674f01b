//! What each access problem names, and how long a call is retried.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use aws_smithy_types::{DateTime, date_time::Format};

use super::*;
use crate::model::{
    HubOptions, OrNone, policy,
    router_function::is_self_test_message,
    scope::tests::{scope, scope_in},
    table::rows,
};
use crate::router::batch::Message;
use crate::wire::sns::Notice;

/// Services that answer every call the same way.
struct Alike {
    instance_tags: Result<(), CallError>,
    send: Option<Result<(), CallError>>,
    queue_tags: Result<Tags, CallError>,
    calls: Mutex<Vec<String>>,
}

impl Services for Alike {
    async fn instance_tags(&self, ids: &[InstanceId], _: &CallCounts) -> Result<HashMap<InstanceId, Tags>, CallError> {
        self.calls.lock().unwrap().push(format!("tags of {}", ids[0]));
        self.instance_tags.clone().map(|()| HashMap::new())
    }

    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), CallError>>, CallError> {
        self.calls.lock().unwrap().push(format!("{queue} {}", bodies[0]));
        match &self.send {
            Some(answer) => Ok(vec![answer.clone()]),
            None => std::future::pending().await,
        }
    }

    async fn queue_tags(&self, _: &QueueName) -> Result<Tags, CallError> {
        self.queue_tags.clone()
    }

    async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<Message>, CallError> {
        unreachable!()
    }

    async fn delete(&self, _: &QueueName, _: &[&str]) -> Result<usize, CallError> {
        unreachable!()
    }

    async fn hide(&self, _: &QueueName, _: &[(&str, u32)]) -> Result<(), CallError> {
        unreachable!()
    }

    async fn publish(&self, _: &str, _: &[Notice]) -> Result<usize, String> {
        unreachable!()
    }
}

fn refused(code: &str) -> CallError {
    CallError::of_code(code, "said", true)
}

fn healthy() -> Alike {
    Alike {
        instance_tags: Ok(()),
        send: Some(Ok(())),
        queue_tags: Ok(Tags::of_bus(&scope().bus).with(CLUSTER, "-")),
        calls: Mutex::default(),
    }
}

/// The text and the code of each problem, with 100 ms for the calls.
async fn found(calls: &Alike) -> Vec<(String, String)> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let ends = (now + Duration::from_millis(1600)).as_millis();
    let found = problems(calls, &scope(), &Deadline::at(ends.try_into().unwrap())).await;
    found.into_iter().map(|problem| (problem.text, problem.code)).collect()
}

#[tokio::test]
async fn the_test_calls_ec2_and_sends_a_message_with_a_time() {
    let calls = healthy();
    assert_eq!(found(&calls).await, []);
    let mut made = calls.calls.into_inner().unwrap();
    made.sort();
    let (queue, body) = made[0].split_once(' ').unwrap();
    assert_eq!((queue, made[1].as_str()), ("kibus-probe", "tags of i-00000000000000000"));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(is_self_test_message(&body), "{body}");
    let time = body["time"].as_str().unwrap();
    assert!(DateTime::from_str(time, Format::DateTime).unwrap().secs() > 1_700_000_000, "{time}");
}

/// S14, S15, S18, L18: the message names the cause.
#[tokio::test]
async fn a_refused_send_names_the_statement_the_tags_or_the_key() {
    let table = "
        AccessDenied                            | both  | is denied; check statement KibusSendToClusters of the router's policy and whether SQS in us-west-2 supports tags as conditions, because the queue has the tags; if it does not, set the hub option --tag-conditions=false
        AccessDenied                            | none  | is denied; check statement KibusSendToClusters of the router's policy and the tags kibus:bus and kibus:cluster of the queue, which lacks one of them
        AccessDeniedException                   | -     | is denied; check statement KibusSendToClusters of the router's policy
        AWS.SimpleQueueService.NonExistentQueue | both  | failed, because the queue does not exist
        KMS.DisabledException                   | both  | failed, because the queue's KMS key is disabled; SQS caches a data key for five minutes, and sends may succeed with it until then, so check again later
        KMS.NotFoundException                   | both  | failed, because the queue's KMS key does not exist; SQS caches a data key for five minutes, and sends may succeed with it until then, so check again later
        KMS.AccessDeniedException               | both  | failed, because the queue's KMS key denies kms:GenerateDataKey or kms:Decrypt; check statement KibusUseKey of the router's policy, and the key's policy; SQS caches a data key for five minutes, and sends may succeed with it until then, so check again later
        InvalidMessageContents                  | both  | failed";
    for [code, tags, expected] in rows(table) {
        let queue_tags = match tags {
            "both" => healthy().queue_tags,
            "none" => Ok(Tags::default()),
            _ => Err(refused("AccessDenied")),
        };
        let calls = Alike { send: Some(Err(refused(code))), queue_tags, ..healthy() };
        let bare = aws_code::bare(code);
        let expected = format!("sqs:SendMessage to queue `kibus-probe` {expected}: {bare} (said)");
        assert_eq!(found(&calls).await, [(expected, bare.to_owned())]);
    }
}

/// S14: where SQS does not support tags as conditions, the statement has none.
#[tokio::test]
async fn a_denied_send_is_not_about_tags_where_the_statement_has_none() {
    let error = refused("AccessDenied");
    let text = |region| send_text(&scope_in("aws", region), &scope().probe_queue(), &error, Some(&Tags::default()));
    assert!(text("us-west-2").contains("kibus:cluster"), "{}", text("us-west-2"));
    assert!(text("ap-south-2").ends_with("of the router's policy"), "{}", text("ap-south-2"));
}

#[tokio::test]
async fn a_refused_read_of_tags_names_the_statement_and_a_call_without_an_answer_times_out_with_its_own_words() {
    let denied = "ec2:DescribeTags is denied; check statement KibusReadInstanceTags of the router's policy: \
                  UnauthorizedOperation (said)";
    let silent = "sqs:SendMessage to queue `kibus-probe` failed: RequestTimeout \
                  (timed out: no answer within the time of the self-test)";
    for (calls, text) in [
        (Alike { instance_tags: Err(refused("UnauthorizedOperation")), ..healthy() }, denied),
        (Alike { send: None, ..healthy() }, silent),
    ] {
        let found = found(&calls).await;
        assert_eq!(found.iter().map(|(problem, _)| problem.as_str()).collect::<Vec<_>>(), [text]);
    }
}

#[test]
fn the_statements_that_are_named_exist() {
    let key = "arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap();
    let options = HubOptions { kms_key: Some(OrNone(Some(key))), ..HubOptions::default() };
    let policy = policy::router_policy(&scope(), &options).compact();
    for statement in ["KibusReadInstanceTags", "KibusSendToClusters", "KibusUseKey"] {
        assert!(policy.contains(&format!("\"{statement}\"")), "{statement}");
        assert!(include_str!("../self_test.rs").contains(&format!("{statement} of the router's policy")));
    }
}

#[tokio::test]
async fn a_throttled_call_is_retried_until_the_time_is_up() {
    let calls = Alike { instance_tags: Err(refused("RequestLimitExceeded")), ..healthy() };
    let found = found(&calls).await;
    assert_eq!(found[0].1, "RequestLimitExceeded");
    assert!(calls.calls.lock().unwrap().len() > 2, "{:?}", calls.calls);
}

#[tokio::test]
async fn a_report_has_the_version_the_handler_and_the_code_of_aws_for_each_problem() {
    let handler = RouterHandler::new("kibus".parse().unwrap(), "x-{cluster}".parse().unwrap());
    for (send, codes) in [(Ok(()), &[][..]), (Err(refused("AccessDenied")), &["AccessDenied"])] {
        let calls = Alike { send: Some(send), ..healthy() };
        let report = run(&scope(), &handler, &calls, Deadline::at(u64::MAX / 2)).await;
        let named = (report.version.as_str(), report.handler.as_str());
        assert_eq!(named, (env!("CARGO_PKG_VERSION"), "kibus/x-{cluster}"));
        assert_eq!(report.problems.iter().map(|problem| problem.code.as_str()).collect::<Vec<_>>(), codes);
        assert!(report.problems.iter().all(|problem| problem.text.starts_with("sqs:SendMessage")));
    }
}
