//! Each behavior, by calls of the SDK: what strikes, and that it ends.

use std::time::Duration;

use aws_sdk_eventbridge::types::Target;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{FunctionCode, Runtime};
use aws_sdk_sqs::types::QueueAttributeName;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::RetryConfig;

use super::{Behavior, Proxy, Server};

/// The clients of an account behind the proxy, without retries.
struct Clients {
    account: String,
    proxy: Proxy,
    sqs: aws_sdk_sqs::Client,
    events: aws_sdk_eventbridge::Client,
    iam: aws_sdk_iam::Client,
    lambda: aws_sdk_lambda::Client,
}

impl Clients {
    async fn of(account: &str, ids: &str) -> Self {
        let proxy = Proxy::start(Server::shared().port(), ids).await;
        let credentials = aws_sdk_sts::config::Credentials::new(account, "test", None, None, "test");
        let sdk = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::v2026_01_12())
            .region(aws_config::Region::new("us-west-2"))
            .endpoint_url(&proxy.url)
            .credentials_provider(aws_sdk_sts::config::SharedCredentialsProvider::new(credentials))
            .retry_config(RetryConfig::disabled())
            .build();
        Self {
            account: account.to_owned(),
            sqs: aws_sdk_sqs::Client::new(&sdk),
            events: aws_sdk_eventbridge::Client::new(&sdk),
            iam: aws_sdk_iam::Client::new(&sdk),
            lambda: aws_sdk_lambda::Client::new(&sdk),
            proxy,
        }
    }

    async fn create_queue(&self, visibility: &str) -> String {
        let call = self.sqs.create_queue().queue_name("q");
        let call = call.attributes(QueueAttributeName::VisibilityTimeout, visibility);
        said(call.tags("kibus:bus", visibility).send().await)
    }

    /// Reads the queue.
    async fn read_queue(&self) -> String {
        let call = self.sqs.get_queue_attributes().queue_url(self.url("q"));
        said(call.attribute_names(QueueAttributeName::All).send().await)
    }

    fn url(&self, queue: &str) -> String {
        format!("{}/{}/{queue}", self.proxy.url, self.account)
    }

    async fn create_role(&self) {
        let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}"#;
        let call = self.iam.create_role().role_name("r");
        call.assume_role_policy_document(trust).send().await.unwrap();
    }

    async fn create_function(&self, role: &str) -> String {
        // An archive without entries.
        let mut empty = b"PK\x05\x06".to_vec();
        empty.resize(22, 0);
        let call = self.lambda.create_function().function_name("f").role(role);
        let call = call.runtime(Runtime::Providedal2023).handler("h");
        let code = FunctionCode::builder().zip_file(Blob::new(empty)).build();
        said(call.code(code).send().await)
    }
}

/// `ok`, or the code of the error.
fn said<T, E: ProvideErrorMetadata>(answer: Result<T, E>) -> String {
    match answer {
        Ok(_) => "ok".to_owned(),
        Err(e) => e.code().unwrap_or("an error without a code").to_owned(),
    }
}

/// Runs a test in an account of its own, with these behaviors.
fn with(account: &str, ids: &str, test: impl AsyncFnOnce(&Clients)) {
    Server::shared().runtime.block_on(async {
        test(&Clients::of(account, ids).await).await;
    });
}

#[test]
fn every_id_is_its_own_behavior() {
    for behavior in Behavior::ALL {
        assert_eq!(behavior.id().parse(), Ok(*behavior));
        assert!(!behavior.what().is_empty());
    }
    assert!("S99".parse::<Behavior>().is_err());
}

#[test]
fn nothing_strikes_when_all_are_off() {
    with("200000000000", "none", async |aws| {
        assert_eq!(aws.create_queue("30").await, "ok");
        assert_eq!(aws.read_queue().await, "ok");
        assert_eq!(aws.proxy.like.take_struck(), []);
    });
}

#[test]
fn s1_a_name_is_refused_after_a_delete() {
    with("200000000001", "S1", async |aws| {
        aws.create_queue("30").await;
        aws.sqs.delete_queue().queue_url(aws.url("q")).send().await.unwrap();
        assert_eq!(
            aws.create_queue("30").await,
            "AWS.SimpleQueueService.QueueDeletedRecently"
        );
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
fn e6_a_rule_is_not_deleted_with_targets_nor_right_after() {
    with("200000000006", "E6", async |aws| {
        let pattern = r#"{"source":["a"]}"#;
        aws.events
            .put_rule()
            .name("u")
            .event_pattern(pattern)
            .send()
            .await
            .unwrap();
        let target = Target::builder()
            .id("1")
            .arn("arn:aws:sqs:us-west-2:200000000006:q")
            .build();
        let put = aws.events.put_targets().rule("u").targets(target.unwrap());
        put.send().await.unwrap();
        let delete = async || {
            let answer = aws.events.delete_rule().name("u").send().await;
            match answer {
                Ok(_) => "ok".to_owned(),
                Err(e) => format!("{} {}", e.code().unwrap(), e.message().unwrap()),
            }
        };
        let refused = "ValidationException Rule can't be deleted since it has targets.";
        assert_eq!(delete().await, refused);
        aws.events.remove_targets().rule("u").ids("1").send().await.unwrap();
        assert_eq!(delete().await, refused);
        aws.proxy.like.settle().await;
        assert_eq!(delete().await, "ok");
    });
}

#[test]
fn i3_a_new_role_is_not_found() {
    with("200000000007", "I3", async |aws| {
        aws.create_role().await;
        let put = async || {
            let call = aws.iam.put_role_policy().role_name("r").policy_name("p");
            said(
                call.policy_document(
                    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}"#,
                )
                .send()
                .await,
            )
        };
        assert_eq!(put().await, "NoSuchEntity");
        assert_eq!(said(aws.iam.get_role().role_name("r").send().await), "NoSuchEntity");
        aws.proxy.like.settle().await;
        assert_eq!(put().await, "ok");
    });
}

#[test]
fn l1_and_l18_a_new_role_is_late() {
    with("200000000008", "L1 L18", async |aws| {
        aws.create_role().await;
        let role = "arn:aws:iam::200000000008:role/r";
        assert_eq!(aws.create_function(role).await, "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        assert_eq!(aws.create_function(role).await, "ok");
        let invoke = async || said(aws.lambda.invoke().function_name("f").send().await);
        assert_eq!(invoke().await, "AccessDeniedException");
        tokio::time::sleep(Behavior::L18.time() + Duration::from_millis(50)).await;
        assert_ne!(invoke().await, "AccessDeniedException");
        assert_eq!(aws.proxy.like.strikes(Behavior::L18), 1);
    });
}
