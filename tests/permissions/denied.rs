//! Calls that the operator, the router and the controller must not be allowed to make, made with their own keys.

use aws_config::SdkConfig;
use aws_sdk_iam::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::QueueAttributeName;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use kibus::wire::aws_json::{ErrorResponse, JsonClient, LOGS};
use kibus::wire::ec2;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::account::{Account, Keys, REGION};
use super::{Operator, arn, emulators_own, everything};
use crate::support::emulator::ACCOUNT;

/// A role that is named like a controller role but is not one.
const NO_CONTROLLER: &str = "deploy-karpenter";

#[derive(Debug)]
pub(super) struct Tried {
    what: String,
    /// The code of the error, or `done`.
    code: String,
}

impl Tried {
    pub(super) fn new<E: ProvideErrorMetadata>(what: &str, error: Option<E>) -> Self {
        let code = error.as_ref().map_or("done", |error| error.code().unwrap_or("no code"));
        Self { what: what.to_owned(), code: code.to_owned() }
    }

    fn is_denied(&self) -> bool {
        ["AccessDenied", "AccessDeniedException"].contains(&self.code.as_str())
    }
}

pub(super) fn not_denied(calls: &[Tried]) -> Vec<String> {
    let calls = calls.iter().filter(|call| !call.is_denied());
    calls.map(|call| format!("{}: {}", call.what, call.code)).collect()
}

macro_rules! tried {
    ($($what:literal: $call:expr,)*) => {
        vec![$(Tried::new($what, $call.send().await.err())),*]
    };
}
pub(super) use tried;

/// The queues lose their locks here, so only the documents deny. A user with all permissions must not be denied
/// anything: a row that another policy or the emulator itself denies would pass whatever the documents say.
#[tokio::test]
async fn the_documents_alone_deny() {
    let account = Account::start(REGION).await;
    account.role("KarpenterControllerRole-base").await;
    account.managed("boundary", &everything()).await;
    create_foreign(&account).await;
    let mut root = Operator::new(&account, account.root_keys());
    root.bootstraps("bootstrap-hub --yes").await;
    root.kibus("add-cluster base --yes").await;
    root.kibus("add-cluster tenant-1 --yes --no-controller-role").await;
    account.unlock(&["kibus-hub", "kibus-hub-dlq", "karpenter-base", "karpenter-tenant-1"]).await;
    // Last, because a check would report it.
    let tagged = json!({"QueueName": "invoices-tagged", "tags": {"kibus:bus": "kibus", "kibus:cluster": "other"}});
    account.calls().call("sqs", "CreateQueue", &tagged.to_string()).await;
    let controller = account.document("policy controller base").await;
    let controller = account.user("controller", &[&controller]).await;
    let router = account.user("router", &[&account.document("policy router").await]).await;
    let clusters = account.document("policy operator --for clusters").await;
    let operator = account.document("policy operator").await;
    let operator = account.user("operator", &[&operator, &clusters, &emulators_own::of_operator(arn)]).await;
    for calls in [
        to_the_controller(&account, &controller).await,
        to_the_router(&account, &router).await,
        to_the_operator(&account, &operator).await,
    ] {
        assert_eq!(not_denied(&calls), Vec::<String>::new());
    }
    let anybody = account.user("anybody", &[&everything()]).await;
    for calls in [
        to_the_controller(&account, &anybody).await,
        to_the_router(&account, &anybody).await,
        to_the_operator(&account, &anybody).await,
    ] {
        let denied: Vec<&Tried> = calls.iter().filter(|call| call.is_denied()).collect();
        assert!(denied.is_empty(), "{denied:?}");
    }
}

/// Creates foreign resources: a queue with another name, and one that lets everyone receive; two with kibus's prefix,
/// of another bus and of none; roles and a log group.
pub(super) async fn create_foreign(account: &Account) {
    let mut open = emulators_own::statement(&["sqs:ReceiveMessage"], arn("sqs", "opened"));
    open["Principal"] = json!("*");
    let open = emulators_own::policy([open]).to_string();
    for queue in [
        json!({"QueueName": "invoices"}),
        json!({"QueueName": "karpenter-manual"}),
        json!({"QueueName": "karpenter-other", "tags": {"kibus:bus": "other", "kibus:cluster": "other"}}),
        json!({"QueueName": "opened", "Attributes": {"Policy": open}}),
    ] {
        account.calls().call("sqs", "CreateQueue", &queue.to_string()).await;
    }
    for role in ["admin", NO_CONTROLLER] {
        account.role(role).await;
    }
    account.calls().call("logs", "CreateLogGroup", r#"{"logGroupName": "/aws/lambda/invoices"}"#).await;
}

async fn to_the_operator(account: &Account, keys: &Keys) -> Vec<Tried> {
    let config = account.sdk(keys);
    let url = |queue: &str| format!("{}/{ACCOUNT}/{queue}", account.endpoint);
    let sqs = aws_sdk_sqs::Client::new(&config);
    let iam = aws_sdk_iam::Client::new(&config);
    let lambda = aws_sdk_lambda::Client::new(&config);
    let events = aws_sdk_eventbridge::Client::new(&config);
    let anything = everything().to_string();
    let boundary = format!("arn:aws:iam::{ACCOUNT}:policy/boundary");
    let mut calls = tried! {
        "delete a queue of another name": sqs.delete_queue().queue_url(url("invoices")),
        "delete an untagged queue with such a name": sqs.delete_queue().queue_url(url("karpenter-manual")),
        "delete another bus's queue": sqs.delete_queue().queue_url(url("karpenter-other")),
        "change another bus's queue": sqs.set_queue_attributes().queue_url(url("karpenter-other"))
            .attributes(QueueAttributeName::VisibilityTimeout, "0"),
        "read a queue of another name": sqs.get_queue_attributes().queue_url(url("invoices")),
        "receive from a queue of another name": sqs.receive_message().queue_url(url("invoices")),
        "take a message off a cluster's queue": sqs.delete_message().queue_url(url("karpenter-base")).receipt_handle("x"),
        "purge a cluster's queue": sqs.purge_queue().queue_url(url("karpenter-base")),
        "send to a cluster's queue": sqs.send_message().queue_url(url("karpenter-base")).message_body("x"),
        "make a queue that is not marked": sqs.create_queue().queue_name("karpenter-new"),
        "make a queue marked as another bus's": sqs.create_queue().queue_name("karpenter-new").tags("kibus:bus", "other"),
        "make a queue of another name": sqs.create_queue().queue_name("invoices-2").tags("kibus:bus", "kibus"),
        "mark a queue of another name": sqs.tag_queue().queue_url(url("invoices")).tags("kibus:bus", "kibus"),
        "mark another bus's queue as something else": sqs.tag_queue().queue_url(url("karpenter-other")).tags("a", "b"),
        "take over another bus's queue": sqs.tag_queue().queue_url(url("karpenter-other")).tags("kibus:bus", "kibus"),
        "receive from another bus's queue": sqs.receive_message().queue_url(url("karpenter-other")),
        "receive from an untagged queue with such a name": sqs.receive_message().queue_url(url("karpenter-manual")),
        "receive events before the router": sqs.receive_message().queue_url(url("kibus-hub")),
        "unmark another bus's queue": sqs.untag_queue().queue_url(url("karpenter-other")).tag_keys("kibus:bus"),
        "write the policy of a role": iam.put_role_policy().role_name("admin").policy_name("kibus.us-west-2.base")
            .policy_document(&anything),
        "write the policy of a role named like a controller's": iam.put_role_policy().role_name(NO_CONTROLLER)
            .policy_name("kibus.us-west-2.base").policy_document(&anything),
        "take the policy of a role": iam.delete_role_policy().role_name("admin").policy_name("x"),
        "read a role": iam.get_role().role_name("admin"),
        "attach a managed policy to a controller's role": iam.attach_role_policy()
            .role_name("KarpenterControllerRole-base").policy_arn(&boundary),
        "make a role": iam.create_role().role_name("kibus-router-eu-west-1").assume_role_policy_document("{}"),
        "delete a role": iam.delete_role().role_name("admin"),
        "delete a controller's role": iam.delete_role().role_name("KarpenterControllerRole-base"),
        "let others take a controller's role": iam.update_assume_role_policy()
            .role_name("KarpenterControllerRole-base").policy_document("{}"),
        "attach a managed policy to the router's role": iam.attach_role_policy()
            .role_name("kibus-router-us-west-2").policy_arn(&boundary),
        "make a managed policy": iam.create_policy().policy_name("x").policy_document(&anything),
        "change its own policies": iam.put_user_policy().user_name("operator").policy_name("x").policy_document(&anything),
        "change the boundary's policy": iam.create_policy_version().policy_arn(&boundary)
            .policy_document(&anything),
        "change a function of another name": lambda.update_function_configuration().function_name("invoices"),
        "invoke a function of another name": lambda.invoke().function_name("invoices"),
        "delete a function of another name": lambda.delete_function().function_name("invoices"),
        "let others invoke the router": lambda.add_permission().function_name("kibus-router")
            .statement_id("x").action("lambda:InvokeFunction").principal("*"),
        "make a rule of another name": events.put_rule().name("invoices").event_pattern("{}"),
        "delete a rule of another name": events.delete_rule().name("invoices"),
    };
    for (what, operation, group) in [
        ("make a log group of another name", "CreateLogGroup", "/aws/lambda/kibus-router-2"),
        ("delete a log group of another name", "DeleteLogGroup", "/aws/lambda/invoices"),
    ] {
        let answer = to_logs(&config, operation, json!({ "logGroupName": group })).await;
        calls.push(Tried::new(what, answer.err()));
    }
    calls
}

async fn to_logs(
    config: &SdkConfig,
    operation: &'static str,
    input: Value,
) -> Result<IgnoredAny, SdkError<ErrorResponse, HttpResponse>> {
    let logs = JsonClient::new(config, LOGS, StaticRuntimePlugin::new());
    logs.call(operation, input).await
}

async fn to_the_router(account: &Account, keys: &Keys) -> Vec<Tried> {
    let config = account.sdk(keys);
    let url = |queue: &str| format!("{}/{ACCOUNT}/{queue}", account.endpoint);
    let sqs = aws_sdk_sqs::Client::new(&config);
    let iam = aws_sdk_iam::Client::new(&config);
    let mut calls = tried! {
        "send to a queue of another name": sqs.send_message().queue_url(url("invoices")).message_body("x"),
        "send to an untagged queue with such a name": sqs.send_message().queue_url(url("karpenter-manual"))
            .message_body("x"),
        "send to another bus's queue": sqs.send_message().queue_url(url("karpenter-other")).message_body("x"),
        "send to a queue of another name with our tags": sqs.send_message().queue_url(url("invoices-tagged"))
            .message_body("x"),
        "read the tags of a queue of another name": sqs.list_queue_tags().queue_url(url("invoices-tagged")),
        "send to the hub queue, which is no cluster's": sqs.send_message().queue_url(url("kibus-hub")).message_body("x"),
        "send to the dead-letter queue": sqs.send_message().queue_url(url("kibus-hub-dlq")).message_body("x"),
        "read a cluster's queue": sqs.receive_message().queue_url(url("karpenter-base")),
        "receive from a queue that lets everyone receive": sqs.receive_message().queue_url(url("opened")),
        "read dead letters": sqs.receive_message().queue_url(url("kibus-hub-dlq")),
        "mark a queue": sqs.tag_queue().queue_url(url("karpenter-manual")).tags("kibus:bus", "kibus"),
        "change the hub queue": sqs.set_queue_attributes().queue_url(url("kibus-hub"))
            .attributes(QueueAttributeName::VisibilityTimeout, "0"),
        "delete the hub queue": sqs.delete_queue().queue_url(url("kibus-hub")),
        "change its own role": iam.put_role_policy().role_name("kibus-router-us-west-2").policy_name("x")
            .policy_document("{}"),
    };
    let events = json!({ "logGroupName": "/aws/lambda/invoices", "logStreamName": "x", "logEvents": [] });
    let answer = to_logs(&config, "PutLogEvents", events).await;
    calls.push(Tried::new("write another's log", answer.err()));
    let ec2 = ec2::Client::new(&config);
    let tag = [("ResourceId.1", "i-0123456789abcdef0"), ("Tag.1.Key", "a"), ("Tag.1.Value", "b")];
    let tag = tag.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let answer = ec2.call("CreateTags", &tag, |_| Ok(())).await;
    let code = answer.as_ref().err().map_or("done", |e| e.code().unwrap_or("no code"));
    calls.push(Tried {
        what: "tag an instance".to_owned(),
        // EC2 has its own code.
        code: code.replace("UnauthorizedOperation", "AccessDenied"),
    });
    calls
}

/// Sends to every queue of the bus as a user who is allowed to send to every queue, and as the root user. Both can send
/// to another queue, so it is the queue policies that deny.
pub(super) async fn to_a_sender(account: &Account, keys: &Keys) -> Vec<Tried> {
    let url = |queue: &str| format!("{}/{ACCOUNT}/{queue}", account.endpoint);
    let mut done = Vec::new();
    for (who, config) in [("user", account.sdk(keys)), ("root", account.root())] {
        let sqs = aws_sdk_sqs::Client::new(&config);
        let send = |queue: &str| sqs.send_message().queue_url(url(queue)).message_body("x").send();
        send("invoices").await.unwrap();
        for queue in ["kibus-hub", "kibus-hub-dlq", "kibus-probe", "karpenter-base"] {
            done.push(Tried::new(&format!("{who} sends to {queue}"), send(queue).await.err()));
        }
    }
    done
}

async fn to_the_controller(account: &Account, keys: &Keys) -> Vec<Tried> {
    let url = |queue: &str| format!("{}/{ACCOUNT}/{queue}", account.endpoint);
    let sqs = aws_sdk_sqs::Client::new(&account.sdk(keys));
    tried! {
        "read another cluster's queue": sqs.receive_message().queue_url(url("karpenter-tenant-1")),
        "find another cluster's queue": sqs.get_queue_url().queue_name("karpenter-tenant-1"),
        "read the hub queue": sqs.receive_message().queue_url(url("kibus-hub")),
        "send to its own queue": sqs.send_message().queue_url(url("karpenter-base")).message_body("x"),
        "purge its own queue": sqs.purge_queue().queue_url(url("karpenter-base")),
        "delete its own queue": sqs.delete_queue().queue_url(url("karpenter-base")),
    }
}
