//! A drill where policies are enforced. The emulator enforces them for all services except FIS, which the sandbox
//! plays. A proxy decides FIS calls with the policy simulator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_iam::Client as Iam;
use aws_sdk_sqs::Client as Sqs;
use hyper::body::Bytes;
use hyper::{Method, Request};
use kibus::iam::operator_policy::{self, Purpose};
use kibus::model::HubOptions;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::account::{Account, REGION};
use super::denied::{Tried, not_denied, tried};
use super::{ASSUME_NOBODY, NEEDS_NO_LEAVE, Operator, ROUTER_ROLE, actions, arn, emulators_own, everything, of, scope};
use crate::support::account;
use crate::support::emulator::ACCOUNT;
use crate::support::inventory;
use crate::support::policy_simulator::allows;
use crate::support::proxy::{Answer, Broken, Operation, Port, document, forward, refusal};

const ROLE: &str = "kibus-drill-us-west-2";
const ACTION: &str = "aws:ec2:send-spot-instance-interruptions";

type Context = BTreeMap<String, Vec<String>>;

/// What IAM decides about: an action, a resource, and the values of condition keys.
#[derive(Clone, Debug)]
struct Question {
    action: &'static str,
    resource: String,
    context: Context,
}

impl Question {
    fn new(action: &'static str, resource: &str, context: &Context) -> Self {
        Self { action, resource: resource.to_owned(), context: context.clone() }
    }

    fn is_allowed(&self, document: &Value) -> bool {
        allows(document, self.action, &self.resource, &self.context)
    }
}

fn of_fis(resource: &str) -> String {
    arn("fis", resource)
}

fn role(name: &str) -> String {
    format!("arn:aws:iam::{ACCOUNT}:role/{name}")
}

fn tagged(key: &str, tags: &Value) -> Context {
    let tags = tags.as_object().into_iter().flatten();
    tags.map(|(name, value)| (format!("{key}/{name}"), vec![value.as_str().unwrap().to_owned()])).collect()
}

fn has(key: &str, value: &str) -> Context {
    [(key.to_owned(), vec![value.to_owned()])].into()
}

#[derive(Clone)]
struct Fis {
    emulator: account::Account,
    /// The documents of users by access key. Other users are allowed everything.
    documents: Arc<Mutex<BTreeMap<String, Value>>>,
    asked: Arc<Mutex<Vec<Question>>>,
    /// The operations that were answered since someone began to wait for one.
    answered: Arc<watch::Sender<BTreeSet<String>>>,
}

impl Fis {
    async fn of(account: &mut Account) -> Self {
        let fis = Self {
            emulator: account.calls(),
            documents: Arc::default(),
            asked: Arc::default(),
            answered: Arc::new(watch::Sender::default()),
        };
        let guard = fis.clone();
        account.endpoint = Port::open().await.serve(move |request| {
            let guard = guard.clone();
            async move { guard.pass(request).await }
        });
        fis
    }

    async fn pass(&self, request: Request<Bytes>) -> Result<Answer, Broken> {
        let operation = Operation::of(&request);
        let signature = request.headers().get("authorization").map_or("", |it| it.to_str().unwrap());
        let key = signature.split(['=', '/']).nth(1).unwrap_or_default();
        let document = self.documents.lock().unwrap().get(key).cloned();
        if let Some(document) = document {
            for question in self.questions(&operation, &request).await {
                if !question.is_allowed(&document) {
                    let message = format!(
                        "User: arn:aws:iam::{ACCOUNT}:user/x is not authorized to perform: {}",
                        question.action
                    );
                    return Ok(refusal(&operation, 403, "AccessDeniedException", &message));
                }
                self.asked.lock().unwrap().push(question);
            }
        }
        let answer = forward(self.emulator.server, request).await;
        self.answered.send_if_modified(|all| all.insert(operation.name));
        answer
    }

    /// The permission checks of a call (Service Authorization Reference, "AWS Fault Injection Service" and "AWS IAM").
    async fn questions(&self, operation: &Operation, request: &Request<Bytes>) -> Vec<Question> {
        let new = Question::new;
        if operation.name == "iam:CreateRole" {
            let named = operation.to_string();
            let (_, name) = named.split_once(' ').unwrap();
            return vec![new("iam:TagRole", &role(name), &Context::new())];
        }
        if operation.service() != "fis" {
            return Vec::new();
        }
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let sent = tagged("aws:RequestTag", &body["tags"]);
        // A request that creates a resource with tags also has them as resource tags.
        let made: Context = sent.clone().into_iter().chain(tagged("aws:ResourceTag", &body["tags"])).collect();
        let path = request.uri().path().trim_matches('/');
        let (kind, id) = path.split_once('/').unwrap_or((path, ""));
        let none = Context::new();
        match (request.method(), kind, id) {
            (&Method::GET, "experimentTemplates", "") => vec![new("fis:ListExperimentTemplates", "*", &none)],
            (&Method::GET, "experiments", "") => vec![new("fis:ListExperiments", "*", &none)],
            (&Method::POST, "experimentTemplates", "") => {
                let make = "fis:CreateExperimentTemplate";
                let passed = has("iam:PassedToService", "fis.amazonaws.com");
                let used = body["actions"].as_object().unwrap().values();
                let used =
                    used.map(|one| new(make, &of_fis(&format!("action/{}", one["actionId"].as_str().unwrap())), &sent));
                let rest = [
                    new(make, &of_fis("experiment-template/new"), &sent),
                    new("fis:TagResource", &of_fis("experiment-template/new"), &made),
                    new("iam:PassRole", body["roleArn"].as_str().unwrap(), &passed),
                ];
                used.chain(rest).collect()
            }
            (&Method::POST, "experiments", "") => {
                let template = body["experimentTemplateId"].as_str().unwrap();
                let service = "fis.amazonaws.com";
                vec![
                    self.about("fis:StartExperiment", "experimentTemplates", template).await,
                    new("fis:StartExperiment", &of_fis("experiment/new"), &sent),
                    new("fis:TagResource", &of_fis("experiment/new"), &made),
                    // For the first experiment in an account.
                    new(
                        "iam:CreateServiceLinkedRole",
                        &role(&format!("aws-service-role/{service}/AWSServiceRoleForFIS")),
                        &has("iam:AWSServiceName", service),
                    ),
                ]
            }
            (&Method::GET, "experiments", id) => vec![self.about("fis:GetExperiment", kind, id).await],
            (&Method::GET, _, id) => vec![self.about("fis:GetExperimentTemplate", kind, id).await],
            (&Method::DELETE, "experiments", id) => vec![self.about("fis:StopExperiment", kind, id).await],
            (&Method::DELETE, _, id) => vec![self.about("fis:DeleteExperimentTemplate", kind, id).await],
            other => panic!("what is {other:?}?"),
        }
    }

    async fn about(&self, action: &'static str, kind: &str, id: &str) -> Question {
        let found = self.emulator.request("fis", Request::get(format!("/{kind}/{id}")), "").await;
        let (member, name) = match kind {
            "experiments" => ("experiment", "experiment"),
            _ => ("experimentTemplate", "experiment-template"),
        };
        let tags = &document(&found)[member]["tags"];
        Question::new(action, &of_fis(&format!("{name}/{id}")), &tagged("aws:ResourceTag", tags))
    }

    /// Waits for the next call of an operation.
    async fn until(&self, operation: &str) {
        self.answered.send_replace(BTreeSet::new());
        let mut answered = self.answered.subscribe();
        let has = answered.wait_for(|all| all.contains(operation));
        timeout(Duration::from_secs(300), has).await.unwrap_or_else(|_| panic!("no {operation}")).unwrap();
    }

    async fn operator<'a>(&self, account: &'a Account, name: &str, documents: &[&Value]) -> Operator<'a> {
        let keys = account.user(name, documents).await;
        let statements: Vec<Value> =
            documents.iter().flat_map(|one| one["Statement"].as_array().unwrap().clone()).collect();
        self.documents.lock().unwrap().insert(keys.id.clone(), json!({ "Statement": statements }));
        Operator::new(account, keys)
    }
}

#[tokio::test]
async fn the_documents_to_read_and_for_a_drill_allow_a_drill_and_nothing_else() {
    let mut account = Account::start(REGION).await;
    let fis = Fis::of(&mut account).await;
    hub_and_cluster(&account).await;
    let (first, second) = (launch(&account).await, launch(&account).await);
    let before = inventory::all(&account.calls()).await;
    let reads = account.document("policy operator --read-only").await;
    let drill = account.document("policy operator --for drill").await;
    let own = emulators_own::of_reader(arn);

    for (name, line) in [
        ("without", "policy operator --read-only"),
        ("of-another-bus", "--bus other policy operator --for drill"),
        ("of-another-region", "--region eu-central-1 policy operator --for drill"),
    ] {
        let document = account.document(line).await;
        let mut operator = fis.operator(&account, name, &[&reads, &own, &document]).await;
        let line = format!("drill base --instance {first} --yes");
        let ran = operator.account.kibus(&operator.keys, &line).await;
        for text in ["AWS denied iam:GetRole for ", "kibus policy operator --for drill"] {
            assert!(ran.stderr.contains(text), "{name}: {}", ran.stderr);
        }
        operator.kibus_ends("drill --clean", 1).await;
    }
    assert_eq!(inventory::all(&account.calls()).await, before);

    let of_bounded = emulators_own::of_bounded(ROLE);
    let mut operator = fis.operator(&account, "operator", &[&reads, &own, &drill, &of_bounded]).await;
    let killed = format!("drill base --instance {first} --yes");
    tokio::select! {
        ran = account.kibus(&operator.keys, &killed) => panic!("{}{}", ran.stdout, ran.stderr),
        () = fis.until("fis:POST/experiments") => {}
    }
    let removed = operator.kibus("drill --clean --yes").await;
    assert!(removed.contains("- experiment template  EXT"), "{removed}");

    let line = format!("drill base --instance {second} --yes");
    let (story, ()) = tokio::join!(operator.kibus(&line), karpenter_takes_a_message(&fis, &account));
    for step in ["✓ taken by Karpenter", "✓ instance terminated"] {
        assert!(story.contains(step), "{story}");
    }
    assert_eq!(inventory::all(&account.calls()).await, before);
    let removed = operator.kibus("drill --clean --yes").await;
    assert!(removed.contains("drills have left nothing behind"), "{removed}");

    each_action_is_needed(&drill, &operator.called, &fis.asked.lock().unwrap());
    let called = &operator.called - &of(&NEEDS_NO_LEAVE);
    let beyond: BTreeSet<_> = called.difference(&actions(&reads)).cloned().collect();
    assert_eq!(beyond.difference(&actions(&drill)).collect::<Vec<_>>(), [""; 0]);

    let of_drill = fis.operator(&account, "drill-alone", &[&drill]).await;
    let calls = with_roles(&account.sdk(&of_drill.keys)).await;
    assert_eq!(not_denied(&calls), [""; 0]);
    let anybody = fis.operator(&account, "anybody", &[&everything()]).await;
    let calls = with_roles(&account.sdk(&anybody.keys)).await;
    assert_eq!(not_denied(&calls).len(), calls.len(), "{calls:?}");
}

async fn hub_and_cluster(account: &Account) {
    // The emulator does not know the policies of AWS.
    let boundary = account.managed("boundary", &everything()).await;
    let mut root = Operator::new(account, account.root_keys());
    root.bootstraps(&format!("bootstrap-hub --yes --permissions-boundary {boundary}")).await;
    root.kibus("add-cluster base --yes --no-controller-role").await;
}

/// Launches a Spot instance as Karpenter does, and gives its id.
async fn launch(account: &Account) -> String {
    let tags = "TagSpecification.1.ResourceType=instance TagSpecification.1.Tag.1.Key=aws:eks:cluster-name \
                TagSpecification.1.Tag.1.Value=base TagSpecification.1.Tag.2.Key=karpenter.sh/nodepool \
                TagSpecification.1.Tag.2.Value=blue";
    let instance = "Version=2016-11-15 ImageId=ami-12345678 InstanceType=m5.large MinCount=1 MaxCount=1";
    let spot = "InstanceMarketOptions.MarketType=spot";
    let launched = account.calls().call("ec2", "RunInstances", &format!("{instance} {spot} {tags}")).await;
    launched.split(['<', '>']).skip_while(|part| *part != "instanceId").nth(1).unwrap().to_owned()
}

/// Karpenter polls its queue once kibus has queried CloudWatch, and keeps the message.
async fn karpenter_takes_a_message(fis: &Fis, account: &Account) {
    let keys = account.user("karpenter", &[&account.document("policy controller base").await]).await;
    fis.until("monitoring:GetMetricData").await;
    let sqs = Sqs::new(&account.sdk(&keys));
    let url = format!("{}/{ACCOUNT}/karpenter-base", account.endpoint);
    let receive = || sqs.receive_message().queue_url(&url).visibility_timeout(300);
    while receive().send().await.unwrap().messages().is_empty() {}
}

/// Each action of each statement was called where the emulator decides, or one of these questions would be denied without it.
fn each_action_is_needed(document: &Value, called: &BTreeSet<String>, asked: &[Question]) {
    for (at, statement) in document["Statement"].as_array().unwrap().iter().enumerate() {
        let one = json!({ "Statement": [statement] });
        for action in actions(&one) {
            let is_asked = asked.iter().any(|question| question.action == action);
            let mut without = document.clone();
            let left: Vec<String> = actions(&one).into_iter().filter(|one| *one != action).collect();
            without["Statement"][at]["Action"] = json!(left);
            let is_needed = if is_asked {
                asked.iter().any(|question| !question.is_allowed(&without))
            } else {
                called.contains(&action)
            };
            assert!(is_needed, "{action} of {}", statement["Sid"]);
        }
    }
}

/// `stand_alone` has the calls that no document allows.
#[test]
fn an_operator_drills_with_what_has_the_tag_of_its_bus_alone() {
    let document = operator_policy::additional(&scope(), &HubOptions::default(), Purpose::Drill);
    let document = document.value();
    let [action, other_action] = [ACTION, "aws:ec2:terminate-instances"].map(|id| of_fis(&format!("action/{id}")));
    let [template, experiment] = ["experiment-template/EXT1", "experiment/EXP1"].map(of_fis);
    let elsewhere = template.replace(REGION, "eu-central-1");
    let [drill, router] = [ROLE, ROUTER_ROLE].map(role);
    let linked = |service: &str| role(&format!("aws-service-role/{service}.amazonaws.com/AWSServiceRoleForFIS"));
    let sent = |bus: &str| has("aws:RequestTag/kibus:bus", bus);
    let tagged = |bus: &str| has("aws:ResourceTag/kibus:bus", bus);
    let made = || -> Context { sent("kibus").into_iter().chain(tagged("kibus")).collect() };
    let passed = |service: &str| has("iam:PassedToService", &format!("{service}.amazonaws.com"));
    let named = |service: &str| has("iam:AWSServiceName", &format!("{service}.amazonaws.com"));
    let none = Context::new();
    for (question, resource, context, allowed) in [
        ("fis:CreateExperimentTemplate", &action, none.clone(), true),
        ("fis:CreateExperimentTemplate", &other_action, sent("kibus"), false),
        ("fis:CreateExperimentTemplate", &template, sent("kibus"), true),
        ("fis:CreateExperimentTemplate", &template, sent("kibus-prod"), false),
        ("fis:CreateExperimentTemplate", &template, none.clone(), false),
        ("fis:CreateExperimentTemplate", &elsewhere, sent("kibus"), false),
        ("fis:TagResource", &template, made(), true),
        ("fis:TagResource", &template, tagged("kibus"), false),
        ("fis:TagResource", &experiment, made(), true),
        ("fis:TagResource", &experiment, none.clone(), false),
        ("fis:UntagResource", &template, tagged("kibus"), false),
        ("fis:GetExperimentTemplate", &template, tagged("kibus"), true),
        ("fis:GetExperimentTemplate", &template, none.clone(), false),
        ("fis:StartExperiment", &template, tagged("kibus"), true),
        ("fis:StartExperiment", &template, tagged("kibus-prod"), false),
        ("fis:StartExperiment", &elsewhere, tagged("kibus"), false),
        ("fis:StartExperiment", &experiment, sent("kibus"), true),
        ("fis:StartExperiment", &experiment, none.clone(), false),
        ("fis:DeleteExperimentTemplate", &template, tagged("kibus"), true),
        ("fis:DeleteExperimentTemplate", &template, tagged("kibus-prod"), false),
        ("fis:DeleteExperimentTemplate", &template, none.clone(), false),
        ("fis:GetExperiment", &experiment, tagged("kibus"), true),
        ("fis:GetExperiment", &experiment, tagged("kibus-prod"), false),
        ("fis:StopExperiment", &experiment, tagged("kibus"), true),
        ("fis:StopExperiment", &experiment, tagged("kibus-prod"), false),
        ("fis:StopExperiment", &experiment, none.clone(), false),
        ("iam:PassRole", &drill, passed("fis"), true),
        ("iam:CreateServiceLinkedRole", &linked("fis"), named("fis"), true),
        ("iam:CreateServiceLinkedRole", &linked("fis"), named("spot"), false),
        ("iam:CreateServiceLinkedRole", &linked("spot"), named("spot"), false),
        ("iam:TagRole", &drill, none.clone(), true),
        ("iam:TagRole", &router, none.clone(), false),
    ] {
        let question = Question::new(question, resource, &context);
        assert_eq!(question.is_allowed(document), allowed, "{question:?}");
    }
}

/// Makes the calls that must be denied to an operator with the document for a drill.
async fn with_roles(config: &SdkConfig) -> Vec<Tried> {
    let iam = Iam::new(config);
    tried! {
        "read another role": iam.get_role().role_name(ROUTER_ROLE),
        "make a role of a drill in another Region": iam.create_role().role_name("kibus-drill-eu-central-1")
            .assume_role_policy_document(ASSUME_NOBODY),
        "make the role of a drill of another bus": iam.create_role().role_name("other-drill-us-west-2")
            .assume_role_policy_document(ASSUME_NOBODY),
        "delete another role": iam.delete_role().role_name(ROUTER_ROLE),
        "write the policy of another role": iam.put_role_policy().role_name(ROUTER_ROLE).policy_name(ROLE)
            .policy_document(ASSUME_NOBODY),
        "delete the policy of another role": iam.delete_role_policy().role_name(ROUTER_ROLE).policy_name(ROUTER_ROLE),
        "let others take the role": iam.update_assume_role_policy().role_name(ROLE).policy_document(ASSUME_NOBODY),
        "attach a policy to the role": iam.attach_role_policy().role_name(ROLE)
            .policy_arn("arn:aws:iam::aws:policy/AdministratorAccess"),
    }
}
