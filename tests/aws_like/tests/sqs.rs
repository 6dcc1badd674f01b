//! Behaviors of SQS.

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::json;

use super::{said, with};
use crate::aws_like::Behavior;

#[test]
fn s1_a_name_is_refused_after_a_delete() {
    with("200000000001", "S1", async |aws| {
        aws.create_queue("30").await;
        aws.sqs.delete_queue().queue_url(aws.url("q")).send().await.unwrap();
        assert_eq!(aws.create_queue("30").await, "AWS.SimpleQueueService.QueueDeletedRecently");
        aws.proxy.like.settle().await;
        assert_eq!(aws.create_queue("30").await, "ok");
        assert_eq!(aws.proxy.like.strikes(Behavior::S1), 1);
    });
}

#[test]
fn s2_an_existing_queue_keeps_its_tags() {
    with("200000000002", "S2", async |aws| {
        aws.create_queue("30").await;
        assert_eq!(aws.create_queue("31").await, "QueueAlreadyExists");
        let call = aws.sqs.create_queue().queue_name("q").tags("kibus:bus", "another");
        assert_eq!(said(call.send().await), "ok");
        let tags = aws.sqs.list_queue_tags().queue_url(aws.url("q")).send().await.unwrap();
        assert_eq!(tags.tags.unwrap()["kibus:bus"], "30");
    });
}

#[test]
fn s3_a_new_queue_is_not_found() {
    with("200000000003", "S3", async |aws| {
        assert_eq!(aws.create_queue("30").await, "ok");
        assert_eq!(aws.read_queue().await, "AWS.SimpleQueueService.NonExistentQueue");
        aws.proxy.like.settle().await;
        assert_eq!(aws.read_queue().await, "ok");
    });
}

#[test]
fn s9_a_deleted_queue_answers_for_a_while() {
    with("200000000004", "S9", async |aws| {
        aws.create_queue("30").await;
        let delete = async || said(aws.sqs.delete_queue().queue_url(aws.url("q")).send().await);
        let absent = "AWS.SimpleQueueService.NonExistentQueue";
        assert_eq!(delete().await, "ok");
        assert_eq!(delete().await, absent);
        let send = aws.sqs.send_message().queue_url(aws.url("q")).message_body("lost");
        assert_eq!(said(send.send().await), "ok");
        assert_eq!(aws.create_queue("30").await, "ok", "the queue still exists");
        let listed = aws.sqs.list_queues().send().await.unwrap();
        assert_eq!(listed.queue_urls.unwrap_or_default().len(), 1);
        tokio::time::sleep(Behavior::S9.time() * 3 / 5).await;
        let reads = [aws.read_queue().await, aws.read_queue().await, aws.read_queue().await];
        assert_eq!(reads, [absent, "ok", absent]);
        aws.proxy.like.settle().await;
        assert_eq!(aws.read_queue().await, absent);
        assert_eq!(aws.create_queue("30").await, "ok");
    });
}

#[test]
fn s22_a_deleted_queue_answers_on_every_other_connection() {
    with("200000000122", "held S22", async |aws| {
        aws.create_queue("30").await;
        let (first, second) = (aws.other_connection(), aws.other_connection());
        aws.sqs.delete_queue().queue_url(aws.url("q")).send().await.unwrap();
        let absent = "AWS.SimpleQueueService.NonExistentQueue";
        for _ in 0..3 {
            assert_eq!(aws.read_queue_with(&first).await, absent);
            assert_eq!(aws.read_queue_with(&second).await, "ok");
        }
        aws.proxy.like.settle().await;
        assert_eq!(aws.read_queue_with(&second).await, absent);
    });
}

#[test]
fn s23_a_new_dead_letter_queue_is_not_found() {
    with("200000000123", "held S23", async |aws| {
        aws.create_queue("30").await;
        let create = async || {
            let target = format!("arn:aws:sqs:us-west-2:{}:q", aws.account);
            let redrive = json!({"deadLetterTargetArn": target, "maxReceiveCount": 5}).to_string();
            let call = aws.sqs.create_queue().queue_name("source");
            said(call.attributes(QueueAttributeName::RedrivePolicy, redrive).send().await)
        };
        assert_eq!(create().await, "InvalidParameterValue");
        aws.proxy.like.settle().await;
        assert_eq!(create().await, "ok");
    });
}

#[test]
fn s12_counts_are_late() {
    with("200000000005", "S12", async |aws| {
        aws.create_queue("30").await;
        let send = aws.sqs.send_message().queue_url(aws.url("q")).message_body("m");
        send.send().await.unwrap();
        let count = async || {
            let call = aws.sqs.get_queue_attributes().queue_url(aws.url("q"));
            let answer = call.attribute_names(QueueAttributeName::All).send().await.unwrap();
            answer.attributes.unwrap()[&QueueAttributeName::ApproximateNumberOfMessages].clone()
        };
        assert_eq!(count().await, "0");
        aws.proxy.like.settle().await;
        assert_eq!(count().await, "1");
    });
}

#[test]
fn i9_a_condition_does_not_see_new_tags() {
    with("200000000043", "held I9", async |aws| {
        aws.create_queue("30").await;
        let set = async || {
            let call = aws.sqs.set_queue_attributes().queue_url(aws.url("q"));
            said(call.attributes(QueueAttributeName::VisibilityTimeout, "60").send().await)
        };
        assert_eq!(set().await, "ok");
        let tag = aws.sqs.tag_queue().queue_url(aws.url("q")).tags("kibus:bus", "kibus");
        tag.send().await.unwrap();
        let denied = "AccessDenied";
        assert_eq!([set().await, set().await, set().await], [denied, denied, "ok"]);
    });
}

#[test]
fn s4_attributes_are_late() {
    with("200000000009", "S4", async |aws| {
        aws.create_queue("30").await;
        let set = aws.sqs.set_queue_attributes().queue_url(aws.url("q"));
        let set = set.attributes(QueueAttributeName::VisibilityTimeout, "60");
        set.send().await.unwrap();
        let visibility = async || {
            let call = aws.sqs.get_queue_attributes().queue_url(aws.url("q"));
            let answer = call.attribute_names(QueueAttributeName::All).send().await.unwrap();
            answer.attributes.unwrap()[&QueueAttributeName::VisibilityTimeout].clone()
        };
        assert_eq!(visibility().await, "30");
        aws.proxy.like.settle().await;
        assert_eq!(visibility().await, "60");
    });
}

#[test]
fn s24_a_queue_takes_the_dead_letters_of_those_that_it_allows() {
    with("200000000011", "S24", async |aws| {
        aws.create_queue("30").await;
        let arn = |queue: &str| format!("arn:aws:sqs:us-west-2:{}:{queue}", aws.account);
        let redrive = format!(r#"{{"deadLetterTargetArn": "{}", "maxReceiveCount": 1}}"#, arn("q"));
        let by_queue = format!(r#"{{"redrivePermission": "byQueue", "sourceQueueArns": ["{}"]}}"#, arn("source"));
        for (allow, comes) in [
            ("", "ok"),
            (r#"{"redrivePermission": "allowAll"}"#, "ok"),
            (r#"{"redrivePermission": "denyAll"}"#, "InvalidParameterValue"),
            (&by_queue.replace("source\"", "other\""), "InvalidParameterValue"),
            (&by_queue, "ok"),
        ] {
            let set = aws.sqs.set_queue_attributes().queue_url(aws.url("q"));
            let set = set.attributes(QueueAttributeName::RedriveAllowPolicy, allow);
            assert_eq!(said(set.send().await), "ok");
            let create = aws.sqs.create_queue().queue_name("source");
            let create = create.attributes(QueueAttributeName::RedrivePolicy, &redrive);
            assert_eq!(said(create.send().await), comes, "create, {allow}");
            let delete = aws.sqs.delete_queue().queue_url(aws.url("source"));
            said(delete.send().await);
            said(aws.sqs.create_queue().queue_name("source").send().await);
            let set = aws.sqs.set_queue_attributes().queue_url(aws.url("source"));
            let set = set.attributes(QueueAttributeName::RedrivePolicy, &redrive);
            assert_eq!(said(set.send().await), comes, "set, {allow}");
            let delete = aws.sqs.delete_queue().queue_url(aws.url("source"));
            said(delete.send().await);
        }
        assert_eq!(aws.proxy.like.strikes(Behavior::S24), 4);
    });
}

#[test]
fn s28_a_receive_without_a_visibility_timeout_gives_copies() {
    with("200000000128", "S28", async |aws| {
        aws.create_queue("30").await;
        let send = aws.sqs.send_message().queue_url(aws.url("q")).message_body("m");
        send.send().await.unwrap();
        for (hides, expected) in [(0, 10), (1, 1)] {
            let receive = aws.sqs.receive_message().queue_url(aws.url("q"));
            let receive = receive.max_number_of_messages(10).visibility_timeout(hides);
            let found = receive.send().await.unwrap().messages.unwrap_or_default();
            assert_eq!(found.len(), expected, "{hides}");
            assert!(found.iter().all(|copy| copy.message_id() == found[0].message_id()));
        }
        assert_eq!(aws.proxy.like.strikes(Behavior::S28), 1);
    });
}

#[test]
fn s18_a_disabled_key_has_its_own_code() {
    with("200000000010", "S18", async |aws| {
        aws.create_queue("30").await;
        let key = |key| (QueueAttributeName::KmsMasterKeyId, key);
        let (name, value) = key("alias/absent");
        let set = aws.sqs.set_queue_attributes().queue_url(aws.url("q"));
        set.attributes(name, value).send().await.unwrap();
        let entry = aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder().id("1").message_body("m");
        let send = aws.sqs.send_message_batch().queue_url(aws.url("q"));
        let answer = send.entries(entry.build().unwrap()).send().await;
        assert_eq!(said(answer), "KMS.NotFoundException");
    });
}
