//! Runs whole commands where policies are enforced. The operator, the router and the controllers have exactly the
//! policies that kibus prints for them.

pub(crate) mod account;
mod alarms;
mod bounded;
mod by_name;
mod denied;
mod discover;
mod drill;
mod eks;
mod emulators_own;
mod many_clusters;
mod parameters;
mod published;
mod queue_locks;
mod reference;
mod stand_alone;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use aws_sdk_iam::Client as Iam;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_sqs::Client as Sqs;
use clap::{Args, FromArgMatches};
use kibus::model::{Document, GlobalOptions, HubOptions, Scope, Signal, sample_event};
use serde_json::{Value, json};

use account::{Account, Keys, REGION, calls};
use denied::not_denied;

use crate::support::emulator::ACCOUNT;
use crate::support::inventory;
use crate::support::workbench::ARCHIVES;

/// Allowed but not called: AWS requires the first to pass a role to Lambda, the second to receive messages under a
/// customer key, the third for the tags in `GetFunction`, and the fourth for those of a new parameter. The last shows
/// who else wrote a parameter at the same time.
const NO_CALL: [&str; 5] =
    ["iam:PassRole", "kms:Decrypt", "lambda:ListTags", "ssm:AddTagsToResource", "ssm:GetParameterHistory"];
/// Called, but needs no permission (STS API reference).
const NEEDS_NO_LEAVE: [&str; 1] = ["sts:GetCallerIdentity"];

/// The only call whose action has a different name.
const INVOKE: (&str, &str) = ("lambda:Invoke", "lambda:InvokeFunction");

const ROUTER_ROLE: &str = "kibus-router-us-west-2";
const ASSUME_NOBODY: &str = r#"{"Version": "2012-10-17", "Statement": []}"#;

/// An operator, and the calls that it made.
struct Operator<'a> {
    account: &'a Account,
    keys: Keys,
    called: BTreeSet<String>,
}

impl<'a> Operator<'a> {
    fn new(account: &'a Account, keys: Keys) -> Self {
        Self { account, keys, called: BTreeSet::new() }
    }

    /// Creates the hub. The router's self-test is denied until the role has the extra permissions that only the
    /// emulator requires; this policy adds them.
    async fn bootstraps(&mut self, line: &str) -> String {
        let router = self.account.document("policy router").await;
        let own = self.account.managed("emulators-own-of-router", &emulators_own::of_router(&router)).await;
        let (iam, role) = (Iam::new(&self.account.root()), format!("kibus-router-{}", self.account.region));
        tokio::join!(self.kibus(line), attach_to_router(&iam, &role, &own));
        own
    }

    /// Removes a cluster and the hub, without the emulator's policy.
    async fn removes(&mut self, cluster: &str, own: &str) {
        let call = Iam::new(&self.account.root()).detach_role_policy();
        let call = call.role_name(format!("kibus-router-{}", self.account.region)).policy_arn(own);
        call.send().await.unwrap();
        self.kibus(&format!("remove-cluster {cluster} --yes")).await;
        self.kibus("teardown --yes").await;
    }

    /// Runs a command that ends with exit code 0.
    async fn kibus(&mut self, line: &str) -> String {
        self.kibus_ends(line, 0).await
    }

    async fn kibus_ends(&mut self, line: &str, code: i32) -> String {
        let ran = self.account.kibus(&self.keys, line).await;
        assert_eq!(ran.code, Some(code), "`kibus {line}`:\n{}{}", ran.stdout, ran.stderr);
        let (call, action) = INVOKE;
        let named = |name: String| if name == call { action.to_owned() } else { name };
        self.called.extend(calls(&ran).into_iter().map(named));
        ran.stdout
    }

    async fn document(&mut self, line: &str) -> Value {
        serde_json::from_str(&self.kibus(line).await).unwrap()
    }
}

/// One test, because each part needs the previous ones.
#[tokio::test]
async fn each_policy_allows_its_work_and_nothing_else() {
    let account = Account::start(REGION).await;
    let root = account.root();
    let (iam, sqs) = (Iam::new(&root), Sqs::new(&root));

    let boundary = account.managed("boundary", &everything()).await;
    // A name that Terraform generates from `tenant-1-karpenter`.
    let generated = "tenant-1-karpenter-20261121000000000000000001";
    for role in ["KarpenterControllerRole-base", generated] {
        account.role(role).await;
    }
    // As created by Karpenter's CloudFormation template.
    let old = account.managed("KarpenterControllerPolicy-base", &reads("base")).await;
    let call = iam.attach_role_policy().role_name("KarpenterControllerRole-base");
    call.policy_arn(&old).send().await.unwrap();
    denied::create_foreign(&account).await;
    let before = inventory::all(&account.calls()).await;
    let key = account.key().await;
    let document = account.document(&format!("policy operator --kms-key {key}")).await;
    let clusters = format!("policy operator --for clusters base --controller-role {generated} --kms-key {key}");
    let clusters = account.document(&clusters).await;
    let keys = account.user("operator", &[&document, &clusters, &emulators_own::of_operator(arn)]).await;
    let mut operator = Operator::new(&account, keys);

    let own = operator.bootstraps("bootstrap-hub --yes").await;
    let (has, router) = (role_document(&iam).await, operator.document("policy router").await);
    assert_eq!(Document::new(has), Document::new(router), "what is printed is what it has");
    operator.kibus("verify --probe").await;
    operator.kibus("add-cluster base --yes").await;
    let add = format!("add-cluster tenant-1 --yes --controller-role {generated}");
    operator.kibus(&add).await;
    eks::is_asked_with_its_document(&mut operator).await;
    parameters::age_record(&account, "base").await;
    operator.kibus("verify").await;
    operator.kibus("status").await;
    // It is not allowed to read the other bus.
    operator.kibus_ends("list", 1).await;

    let controller = operator.document("policy controller base").await;
    let keys = account.user("karpenter", &[&controller]).await;
    tokio::select! {
        never = karpenter_reads(&account, &keys, "karpenter-base") => match never {},
        _ = operator.kibus("verify base --probe") => {}
    }
    an_event_reaches_its_cluster(&account, &sqs).await;
    let keys = account.user("sender", &[&sends()]).await;
    assert_eq!(not_denied(&denied::to_a_sender(&account, &keys).await), Vec::<String>::new());

    let alarms = operator.document("policy operator --for alarms").await;
    account.allow("operator", "kibus-alarms", &alarms).await;
    let heartbeat = operator.document("policy operator --for heartbeat").await;
    account.allow("operator", "kibus-heartbeat", &heartbeat).await;
    account.allow("operator", "emulators-own-of-alarms", &emulators_own::of_alarms(arn)).await;
    let topic = account.topic("pager", &key).await;
    let options = format!(
        "bootstrap-hub --yes --tag team=a --memory 512 --retention 7200 --log-retention 30 --rebalance --alarms={topic} \
         --dashboard --reserved-concurrency 5 --permissions-boundary {boundary}"
    );
    operator.kibus(&options).await;
    assert_eq!(
        bounded(&operator.document("policy operator").await),
        [boundary.as_str()],
        "the hub's boundary binds the operator"
    );
    operator.kibus(&format!("bootstrap-hub --yes --kms-key {key}")).await;
    operator.kibus("add-cluster base --yes").await;
    let reads_of_alarms = operator.document("policy operator --for alarms --read-only").await;
    let reads_of_heartbeat = operator.document("policy operator --for heartbeat --read-only").await;
    reads_need_the_read_only_document(&mut operator, &[&reads_of_alarms, &reads_of_heartbeat]).await;
    operator.kibus("rollback --yes").await;
    operator.kibus("bootstrap-hub --yes").await;
    operator.kibus("add-cluster base --yes --tag team=b").await;
    operator.kibus("verify").await;
    drift_is_fixed(&mut operator).await;
    operator.kibus("bootstrap-hub --yes --reader-alarms --tag cost=b --untag team").await;
    operator
        .kibus("bootstrap-hub --yes --tag none --rebalance=false --alarms=false --reader-alarms=false --dashboard=false --reserved-concurrency none --permissions-boundary none --kms-key none")
        .await;
    operator.kibus("add-cluster base --yes --untag team").await;
    operator.kibus("verify").await;
    account.deliver("kibus-hub-dlq", &json!("no event")).await;
    operator.kibus("dead-letters").await;
    operator.kibus("dead-letters --redrive --yes").await;
    operator.kibus("dead-letters --purge --yes").await;
    queues_of_others_are_recorded(&mut operator).await;

    operator.removes("base", &own).await;
    assert_eq!(inventory::all(&account.calls()).await, before, "nothing is left");

    let called: BTreeSet<_> = operator.called.difference(&of(&NEEDS_NO_LEAVE)).cloned().collect();
    let documents = &(&actions(&document) | &actions(&clusters)) | &actions(&alarms);
    let allowed: BTreeSet<_> = documents.difference(&of(&NO_CALL)).cloned().collect();
    assert_eq!(
        called.difference(&allowed).collect::<Vec<_>>(),
        eks::TRIED,
        "called, and the document does not allow it"
    );
    assert_eq!(
        allowed.difference(&called).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "allowed, and no command of this story calls it"
    );
}

/// Attaches a policy to the router's role as soon as the role exists.
async fn attach_to_router(iam: &Iam, role: &str, policy: &str) {
    let begun = Instant::now();
    let attach = || iam.attach_role_policy().role_name(role).policy_arn(policy).send();
    while attach().await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the role does not come");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// `verify`, `status` and `list` run with the read-only document, and call each action in it, plus one that it denies:
/// anyone who can invoke the router can route any event. For other buses, `list` can read only the names.
async fn reads_need_the_read_only_document(operator: &mut Operator<'_>, [alarms, heartbeat]: &[&Value; 2]) {
    let account = operator.account;
    let document = operator.document("policy operator --read-only").await;
    let clusters = operator.document("policy operator --for clusters --read-only").await;
    let own = [emulators_own::of_reader(arn), emulators_own::of_alarms(arn)];
    let keys = account.user("reader", &[&document, &clusters, alarms, heartbeat, &own[0], &own[1]]).await;
    let mut reader = Operator::new(account, keys);
    for (line, code) in [("verify", 0), ("verify base", 0), ("status", 0), ("list", 1)] {
        reader.kibus_ends(line, code).await;
    }
    let mut called: BTreeSet<_> = reader.called.difference(&of(&NEEDS_NO_LEAVE)).cloned().collect();
    assert!(called.remove(INVOKE.1), "verify asks the live router");
    let documents = &(&actions(&document) | &actions(&clusters)) | &actions(alarms);
    let allowed: BTreeSet<_> = documents.difference(&of(&NO_CALL)).cloned().collect();
    assert_eq!(called, allowed, "the read-only document allows what these commands call");
    let denied = reader.account.kibus(&reader.keys, "verify --probe").await;
    assert_ne!(denied.code, Some(0), "a probe sends an event: {}", denied.stdout);
}

/// Reads a queue like Karpenter: gets its URL by name, polls it, deletes each message.
async fn karpenter_reads(account: &Account, keys: &Keys, queue: &str) -> Infallible {
    let sqs = Sqs::new(&account.sdk(keys));
    let found = sqs.get_queue_url().queue_name(queue).send().await.unwrap();
    let url = found.queue_url.unwrap();
    loop {
        let call = sqs.receive_message().queue_url(&url).wait_time_seconds(1);
        for message in call.send().await.unwrap().messages.unwrap_or_default() {
            let call = sqs.delete_message().queue_url(&url);
            let call = call.set_receipt_handle(message.receipt_handle);
            call.send().await.unwrap();
        }
    }
}

/// The router runs with its own role here, so a missing permission fails the test.
async fn an_event_reaches_its_cluster(account: &Account, sqs: &Sqs) {
    let instance = "i-0123456789abcdef0";
    let tags = [("eks:eks-cluster-name", "tenant-1"), ("karpenter.sh/nodepool", "default")];
    account.calls().tag_instance(instance, tags).await;
    let event = sample_event(&scope(), Signal::SpotInterruption, &[instance]);
    let url = |queue: &str| format!("{}/{ACCOUNT}/{queue}", account.endpoint);
    // The emulator rejects events of `aws.ec2`, so it is the constant input of a rule.
    account.deliver("kibus-hub", &event).await;
    let begun = Instant::now();
    loop {
        let call = sqs.receive_message().queue_url(url("karpenter-tenant-1"));
        let answer = call.wait_time_seconds(1).send().await.unwrap();
        if let [message] = answer.messages() {
            let body: Value = serde_json::from_str(message.body().unwrap()).unwrap();
            assert_eq!(body, event);
            // `verify` would report it when it is visible again.
            let call = sqs.delete_message().queue_url(url("karpenter-tenant-1"));
            let call = call.set_receipt_handle(message.receipt_handle.clone());
            call.send().await.unwrap();
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the event does not come");
    }
}

/// Kibus adopts and removes one tool's queue; another queue stays with its owner.
async fn queues_of_others_are_recorded(operator: &mut Operator<'_>) {
    let calls = operator.account.calls();
    let external =
        json!({"QueueName": "karpenter-external", "tags": {"kibus:bus": "kibus", "kibus:cluster": "external"}});
    for queue in [json!({"QueueName": "karpenter-adopted"}), external] {
        calls.call("sqs", "CreateQueue", &queue.to_string()).await;
    }
    operator.kibus("add-cluster adopted --no-controller-role --adopt --yes").await;
    operator.kibus("add-cluster external --external --yes").await;
    operator.kibus("remove-cluster adopted external --yes").await;
    calls.call("sqs", "DeleteQueue", r#"{"QueueUrl": "karpenter-external"}"#).await;
}

/// Someone else empties the trust policy of the router's role, changes the function's code and reduces the batch size.
async fn drift_is_fixed(operator: &mut Operator<'_>) {
    let root = operator.account.root();
    let call = Iam::new(&root).update_assume_role_policy().role_name(ROUTER_ROLE);
    call.policy_document(ASSUME_NOBODY).send().await.unwrap();
    let lambda = aws_sdk_lambda::Client::new(&root);
    let call = lambda.update_function_code().function_name("kibus-router");
    call.zip_file(Blob::new(ARCHIVES[0])).send().await.unwrap();
    let mappings = lambda.list_event_source_mappings().send().await.unwrap();
    let [mapping] = mappings.event_source_mappings() else { panic!("one mapping is there") };
    let call = lambda.update_event_source_mapping().uuid(mapping.uuid().unwrap());
    call.batch_size(1).send().await.unwrap();
    operator.kibus_ends("verify", 2).await;
    operator.kibus("bootstrap-hub --yes").await;
    operator.kibus("verify").await;
}

async fn role_document(iam: &Iam) -> Value {
    let call = iam.get_role_policy().role_name(ROUTER_ROLE).policy_name(ROUTER_ROLE);
    let encoded = call.send().await.unwrap().policy_document;
    let decoded = urlencoding::decode(&encoded).unwrap();
    serde_json::from_str(&decoded).unwrap_or_else(|e| panic!("{e}: {decoded}"))
}

fn reads(queue: &str) -> Value {
    emulators_own::policy([emulators_own::statement(&["sqs:ReceiveMessage"], arn("sqs", queue))])
}

/// What the published examples grant to every sender.
fn sends() -> Value {
    emulators_own::policy([emulators_own::statement(&["sqs:SendMessage", "sqs:SendMessageBatch"], "*")])
}

fn everything() -> Value {
    emulators_own::policy([emulators_own::statement(&["*"], "*")])
}

/// The options of a hub, as typed.
pub(crate) fn typed(text: &str) -> HubOptions {
    let command = HubOptions::augment_args(clap::Command::new("bootstrap-hub").no_binary_name(true));
    HubOptions::from_arg_matches(&command.try_get_matches_from(text.split_whitespace()).unwrap()).unwrap()
}

/// The boundary of the hub in these tests.
pub(crate) fn scope() -> Scope {
    Scope {
        bus: "kibus".parse().unwrap(),
        account: ACCOUNT.parse().unwrap(),
        region: REGION.parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    }
}

fn arn(service: &str, resource: &str) -> String {
    format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}")
}

fn of(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The permissions boundaries that a document requires.
fn bounded(document: &Value) -> Vec<&str> {
    let statements = document["Statement"].as_array().unwrap();
    let conditions = statements.iter().map(|statement| &statement["Condition"]["StringEquals"]);
    conditions.filter_map(|condition| condition["iam:PermissionsBoundary"].as_str()).collect()
}

fn actions(document: &Value) -> BTreeSet<String> {
    let statements = document["Statement"].as_array().unwrap();
    let named = statements.iter().flat_map(|statement| match &statement["Action"] {
        Value::Array(actions) => actions.clone(),
        action => vec![action.clone()],
    });
    named.map(|action| action.as_str().unwrap().to_owned()).collect()
}
