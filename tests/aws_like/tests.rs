//! Each behavior, by calls of the SDK: what strikes, and that it ends.

mod events;
mod iam;
mod lambda;
mod parameters;
mod sqs;

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{Environment, FunctionCode, Runtime};
use aws_sdk_sqs::types::QueueAttributeName;
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::retry::RetryConfig;

use kibus::wire::aws_json::{JsonClient, LOGS, PARAMETERS, TAGGING};
use kibus::wire::ec2;
use serde_json::{Value, json};

use super::{Behavior, Proxy, Server};
use crate::support::emulator::plain_http;

/// The clients of an account behind the proxy, without retries.
struct Clients {
    account: String,
    proxy: Proxy,
    sdk: aws_config::SdkConfig,
    sqs: aws_sdk_sqs::Client,
    events: aws_sdk_eventbridge::Client,
    iam: aws_sdk_iam::Client,
    lambda: aws_sdk_lambda::Client,
    logs: JsonClient,
    parameters: JsonClient,
    tagging: JsonClient,
    ec2: ec2::Client,
}

impl Clients {
    async fn of(account: &str, ids: &str) -> Self {
        let proxy = Proxy::start(Server::shared().port(), ids).await;
        let credentials = aws_sdk_sts::config::Credentials::new(account, "test", None, None, "test");
        let sdk = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::v2026_01_12())
            .region(aws_config::Region::new("us-west-2"))
            .http_client(plain_http())
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
            logs: JsonClient::new(&sdk, LOGS, StaticRuntimePlugin::new()),
            parameters: JsonClient::new(&sdk, PARAMETERS, StaticRuntimePlugin::new()),
            tagging: JsonClient::new(&sdk, TAGGING, StaticRuntimePlugin::new()),
            ec2: ec2::Client::new(&sdk),
            sdk,
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
        self.read_queue_with(&self.sqs).await
    }

    async fn read_queue_with(&self, sqs: &aws_sdk_sqs::Client) -> String {
        let call = sqs.get_queue_attributes().queue_url(self.url("q"));
        said(call.attribute_names(QueueAttributeName::All).send().await)
    }

    /// A client that shares no connection with another one.
    fn other_connection(&self) -> aws_sdk_sqs::Client {
        let config = aws_sdk_sqs::config::Builder::from(&self.sdk).http_client(plain_http());
        aws_sdk_sqs::Client::from_conf(config.build())
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
fn nothing_strikes_when_all_are_off() {
    with("200000000000", "none", async |aws| {
        assert_eq!(aws.create_queue("30").await, "ok");
        assert_eq!(aws.read_queue().await, "ok");
        assert_eq!(aws.proxy.like.take_struck(), []);
    });
}

#[test]
fn s13_s27_l21_i10_g1_t4_and_n2_buckets_empty_and_refill() {
    with("200000000011", "S13 S27 L21 I10 G1 T4 N2", async |aws| {
        let queues = async || aws.create_queue("30").await;
        let roles = async || said(aws.iam.list_roles().send().await);
        let tags = async || said(aws.sqs.list_queue_tags().queue_url(aws.url("q")).send().await);
        let mappings = async || said(aws.lambda.list_event_source_mappings().send().await);
        let groups = async || said(aws.logs.call::<Value>("DescribeLogGroups", json!({})).await);
        let parameters = async || {
            let put = json!({ "Name": "/x", "Type": "String", "Value": "x", "Overwrite": true });
            said(aws.parameters.call::<Value>("PutParameter", put).await)
        };
        let instances = async || {
            let answer = aws.ec2.call("DescribeTags", &[], |_| Ok(())).await;
            answer.map_or_else(|e| e.code().unwrap().to_owned(), |()| "ok".to_owned())
        };
        assert_eq!(often(queues).await, set(["ThrottlingException", "ok"]));
        assert_eq!(often(roles).await, set(["Throttling", "ok"]));
        assert_eq!(often(tags).await, set(["RequestThrottled", "ok"]));
        assert_eq!(often(mappings).await, set(["TooManyRequestsException", "ok"]));
        assert_eq!(often(groups).await, set(["ThrottlingException", "ok"]));
        assert_eq!(often(parameters).await, set(["ThrottlingException", "ok"]));
        assert_eq!(often(instances).await, set(["RequestLimitExceeded", "ok"]));
        for behavior in "S13 S27 L21 I10 G1 T4 N2".split(' ').map(|id| id.parse::<Behavior>().unwrap()) {
            assert!(aws.proxy.like.strikes(behavior) > 0, "{behavior:?}");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(tags().await, "ok");
    });
}

#[test]
fn t1_the_tagging_api_learns_and_forgets_late() {
    with("200000000017", "T1", async |aws| {
        let listed = async || {
            let answer: Value = aws.tagging.call("GetResources", json!({})).await.unwrap();
            answer["ResourceTagMappingList"].as_array().unwrap().len()
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
