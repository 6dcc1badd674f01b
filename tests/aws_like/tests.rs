//! Each behavior, by calls of the SDK: what strikes, and that it ends.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use aws_sdk_eventbridge::types::Target;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{Environment, FunctionCode, Runtime, ScalingConfig};
use aws_sdk_sqs::types::QueueAttributeName;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::RetryConfig;

use kibus::ec2;

use super::{Behavior, Proxy, Server};

/// The clients of an account behind the proxy, without retries.
struct Clients {
    account: String,
    proxy: Proxy,
    sqs: aws_sdk_sqs::Client,
    events: aws_sdk_eventbridge::Client,
    iam: aws_sdk_iam::Client,
    lambda: aws_sdk_lambda::Client,
    logs: aws_sdk_cloudwatchlogs::Client,
    tagging: aws_sdk_resourcegroupstagging::Client,
    ec2: ec2::Client,
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
            logs: aws_sdk_cloudwatchlogs::Client::new(&sdk),
            tagging: aws_sdk_resourcegroupstagging::Client::new(&sdk),
            ec2: ec2::Client::new(&sdk),
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

    async fn create_function(&self, role: &str, has_variables: bool) -> String {
        // An archive without entries.
        let mut empty = b"PK\x05\x06".to_vec();
        empty.resize(22, 0);
        let call = self.lambda.create_function().function_name("f").role(role);
        let call = call.runtime(Runtime::Providedal2023).handler("h");
        let variables = Environment::builder().variables("A", "b").build();
        let call = call.set_environment(has_variables.then_some(variables));
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

/// What twenty calls said, each once.
async fn often(call: impl AsyncFn() -> String) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for _ in 0..20 {
        all.insert(call().await);
    }
    all
}

fn set(texts: [&str; 2]) -> BTreeSet<String> {
    texts.map(str::to_owned).into()
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
        assert_eq!(aws.create_function(role, false).await, "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        assert_eq!(aws.create_function(role, false).await, "ok");
        let invoke = async || said(aws.lambda.invoke().function_name("f").send().await);
        assert_eq!(invoke().await, "AccessDeniedException");
        tokio::time::sleep(Behavior::L18.time() + Duration::from_millis(50)).await;
        assert_ne!(invoke().await, "AccessDeniedException");
        assert_eq!(aws.proxy.like.strikes(Behavior::L18), 1);
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
fn s18_a_disabled_key_has_its_own_code() {
    with("200000000010", "S18", async |aws| {
        aws.create_queue("30").await;
        let key = |key| (QueueAttributeName::KmsMasterKeyId, key);
        let (name, value) = key("alias/absent");
        let set = aws.sqs.set_queue_attributes().queue_url(aws.url("q"));
        set.attributes(name, value).send().await.unwrap();
        let entry = aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder()
            .id("1")
            .message_body("m");
        let send = aws.sqs.send_message_batch().queue_url(aws.url("q"));
        let answer = send.entries(entry.build().unwrap()).send().await;
        assert_eq!(said(answer), "KMS.NotFoundException");
    });
}

#[test]
fn s13_l21_g1_and_t4_buckets_empty_and_refill() {
    with("200000000011", "S13 L21 G1 T4", async |aws| {
        aws.create_queue("30").await;
        let tags = async || said(aws.sqs.list_queue_tags().queue_url(aws.url("q")).send().await);
        let mappings = async || said(aws.lambda.list_event_source_mappings().send().await);
        let groups = async || said(aws.logs.describe_log_groups().send().await);
        let instances = async || {
            let answer = aws.ec2.call("DescribeTags", &ec2::Params::new()).await;
            answer.map_or_else(|e| e.code().unwrap().to_owned(), |_| "ok".to_owned())
        };
        assert_eq!(often(tags).await, set(["RequestThrottled", "ok"]));
        assert_eq!(often(mappings).await, set(["TooManyRequestsException", "ok"]));
        assert_eq!(often(groups).await, set(["ThrottlingException", "ok"]));
        assert_eq!(often(instances).await, set(["RequestLimitExceeded", "ok"]));
        for behavior in [Behavior::S13, Behavior::L21, Behavior::G1, Behavior::T4] {
            assert!(aws.proxy.like.strikes(behavior) > 0, "{behavior:?}");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(tags().await, "ok");
    });
}

#[test]
fn e1_e4_and_e12_a_new_rule_is_late() {
    with("200000000012", "E1 E4 E12", async |aws| {
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
            .arn("arn:aws:sqs:us-west-2:200000000012:q")
            .build();
        let put = aws.events.put_targets().rule("u").targets(target.unwrap());
        assert_eq!(said(put.clone().send().await), "ResourceNotFoundException");
        aws.proxy.like.settle().await;
        assert_eq!(said(put.send().await), "ok");
        let list = async || {
            let answer = aws.events.list_targets_by_rule().rule("u").send().await.unwrap();
            answer.targets.unwrap_or_default().len()
        };
        assert_eq!(list().await, 0, "E12");
        tokio::time::sleep(Behavior::E12.time()).await;
        assert_eq!(list().await, 1);
        assert_eq!(
            aws.proxy.like.take_struck(),
            [Behavior::E1, Behavior::E4, Behavior::E12]
        );
    });
}

#[test]
fn i2_a_trust_policy_with_a_new_role_is_refused() {
    with("200000000019", "I2", async |aws| {
        aws.create_role().await;
        let trust = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::200000000019:role/r"},"Action":"sts:AssumeRole"}]}"#;
        let create = async || {
            let call = aws.iam.create_role().role_name("other");
            said(call.assume_role_policy_document(trust).send().await)
        };
        assert_eq!(create().await, "MalformedPolicyDocument");
        aws.proxy.like.settle().await;
        assert_eq!(create().await, "ok");
    });
}

#[test]
fn i4_deleted_policies_linger() {
    with("200000000013", "I4", async |aws| {
        aws.create_role().await;
        let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}"#;
        let put = aws
            .iam
            .put_role_policy()
            .role_name("r")
            .policy_name("p")
            .policy_document(policy);
        put.send().await.unwrap();
        aws.iam
            .delete_role_policy()
            .role_name("r")
            .policy_name("p")
            .send()
            .await
            .unwrap();
        let delete = async || said(aws.iam.delete_role().role_name("r").send().await);
        assert_eq!(delete().await, "DeleteConflict");
        aws.proxy.like.settle().await;
        assert_eq!(delete().await, "ok");
    });
}

#[test]
fn l2_and_l19_variables_are_sealed_for_a_role() {
    with("200000000014", "L2 L19", async |aws| {
        aws.create_role().await;
        let role = "arn:aws:iam::200000000014:role/r";
        assert_eq!(aws.create_function(role, true).await, "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        assert_eq!(aws.create_function(role, true).await, "ok");
        let invoke = async || said(aws.lambda.invoke().function_name("f").send().await);
        assert_ne!(invoke().await, "KMSAccessDeniedException");
        aws.iam.delete_role().role_name("r").send().await.unwrap();
        aws.create_role().await;
        assert_eq!(invoke().await, "KMSAccessDeniedException");
        aws.proxy.like.settle().await;
        let cleared = aws.lambda.update_function_configuration().function_name("f").role(role);
        let none = Environment::builder().set_variables(Some(HashMap::new()));
        cleared.environment(none.build()).send().await.unwrap();
        assert_ne!(invoke().await, "KMSAccessDeniedException", "L20");
    });
}

#[test]
fn l4_to_l7_a_new_function_is_busy() {
    with("200000000015", "L4 L5 L6 L7", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000015:role/r", false).await;
        let get = async || aws.lambda.get_function_configuration().function_name("f").send().await;
        assert_eq!(said(get().await), "ResourceNotFoundException");
        tokio::time::sleep(Behavior::L4.time()).await;
        assert_eq!(get().await.unwrap().state.unwrap().as_str(), "Pending");
        let update = async || {
            let call = aws.lambda.update_function_configuration().function_name("f");
            said(call.timeout(5).send().await)
        };
        assert_eq!(update().await, "CodeArtifactUserPendingException");
        assert_eq!(update().await, "ResourceConflictException", "it is Pending");
        aws.proxy.like.settle().await;
        assert_eq!(update().await, "ResourceConflictException", "a concurrent update");
        assert_eq!(update().await, "ok");
        assert_eq!(get().await.unwrap().last_update_status.unwrap().as_str(), "InProgress");
        assert_eq!(update().await, "ResourceConflictException", "an update in progress");
    });
}

#[test]
fn l14_a_deleted_function_keeps_its_name_for_a_while() {
    with("200000000020", "L14", async |aws| {
        aws.create_role().await;
        aws.create_function("arn:aws:iam::200000000020:role/r", false).await;
        let delete = aws.lambda.delete_function().function_name("f").send().await;
        assert_eq!(said(delete), "ok");
        let get = async || aws.lambda.get_function().function_name("f").send().await;
        let state = get().await.unwrap().configuration.unwrap().state.unwrap();
        assert_eq!(state.as_str(), "Deleting");
        aws.proxy.like.settle().await;
        assert_eq!(said(get().await), "ResourceNotFoundException");
    });
}

#[test]
fn m1_m2_m7_and_m10_a_mapping_is_in_transition() {
    with("200000000016", "M1 M2 M7 M10", async |aws| {
        aws.create_role().await;
        aws.create_queue("30").await;
        aws.create_function("arn:aws:iam::200000000016:role/r", false).await;
        let scaling = ScalingConfig::builder().maximum_concurrency(10).build();
        let create = async || {
            let call = aws.lambda.create_event_source_mapping().function_name("f");
            let call = call.event_source_arn("arn:aws:sqs:us-west-2:200000000016:q");
            call.scaling_config(scaling.clone()).send().await
        };
        assert_eq!(said(create().await), "InvalidParameterValueException");
        aws.proxy.like.settle().await;
        let created = create().await.unwrap();
        assert_eq!(created.state.as_deref(), Some("Creating"));
        let uuid = created.uuid.unwrap();
        let state = async || {
            aws.lambda
                .get_event_source_mapping()
                .uuid(&uuid)
                .send()
                .await
                .map(|m| m.state.unwrap())
        };
        let delete = async || said(aws.lambda.delete_event_source_mapping().uuid(&uuid).send().await);
        assert_eq!(delete().await, "ResourceInUseException");
        assert_eq!(state().await.unwrap(), "Creating");
        aws.proxy.like.settle().await;
        assert_eq!(state().await.unwrap(), "Enabled");
        let reserve = aws.lambda.put_function_concurrency().function_name("f");
        reserve.reserved_concurrent_executions(5).send().await.unwrap();
        assert_eq!(aws.proxy.like.overbooked().len(), 1);
        assert_eq!(aws.proxy.like.strikes(Behavior::M10), 1);
        assert_eq!(delete().await, "ok");
        assert_eq!(state().await.unwrap(), "Deleting");
        let list = aws
            .lambda
            .list_event_source_mappings()
            .function_name("f")
            .send()
            .await
            .unwrap();
        assert_eq!(list.event_source_mappings.unwrap_or_default().len(), 1);
        aws.proxy.like.settle().await;
        assert_eq!(said(state().await), "ResourceNotFoundException");
    });
}

#[test]
fn t1_the_tagging_api_learns_and_forgets_late() {
    with("200000000017", "T1", async |aws| {
        let listed = async || {
            let answer = aws.tagging.get_resources().send().await.unwrap();
            answer.resource_tag_mapping_list.unwrap_or_default().len()
        };
        aws.create_queue("30").await;
        assert_eq!(listed().await, 0);
        aws.proxy.like.settle().await;
        assert_eq!(listed().await, 1);
        aws.sqs.delete_queue().queue_url(aws.url("q")).send().await.unwrap();
        assert_eq!(listed().await, 1);
        aws.proxy.like.settle().await;
        assert_eq!(listed().await, 0);
    });
}
