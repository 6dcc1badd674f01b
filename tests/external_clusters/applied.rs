//! Exports, applied by their tool: Terraform, if requested, and CloudFormation on the emulator. The router delivers to
//! such a queue; kibus checks it and does not change it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use kibus::cloud::Read;
use kibus::export::Format;
use kibus::model::{Resource, ResourceId, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use super::{Asked, wanted, without_names};
use crate::support::account::Account;
use crate::support::emulator::secret;
use crate::support::stage::Stage;

const ROLE: &str = "base-karpenter";
const QUEUE: &str = "karpenter-base";

/// The directory with the AWS provider for Terraform, if there is one: the value of this variable, or where Terraform itself looks
/// (Terraform CLI documentation, "Implied Local Mirror Directories").
fn providers() -> Option<PathBuf> {
    let named = std::env::var_os("KIBUS_TEST_TERRAFORM_PLUGINS").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let implied = [
        home.join(".terraform.d/plugins"),
        home.join(".local/share/terraform/plugins"),
        "/usr/local/share/terraform/plugins".into(),
        "/usr/share/terraform/plugins".into(),
    ];
    let mut all = named.into_iter().chain(implied);
    all.find(|folder| folder.join("registry.terraform.io/hashicorp/aws").is_dir())
}

/// A hub on an emulator, and the role of a controller.
struct Bench {
    stage: Stage,
}

impl Bench {
    async fn open() -> Self {
        let bench = Self { stage: Stage::new().await };
        bench.kibus("bootstrap-hub --yes", 0);
        let role = format!("RoleName={ROLE} AssumeRolePolicyDocument={{}}");
        bench.stage.account.call("iam", "CreateRole", &role).await;
        bench
    }

    /// Runs kibus, expects this exit code, and returns its standard output.
    fn kibus(&self, line: &str, code: i32) -> String {
        let output = self.stage.kibus(line).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}: {text}{said}");
        text
    }

    fn json(&self, line: &str, code: i32) -> Value {
        serde_json::from_str(&self.kibus(&format!("{line} --output json"), code)).unwrap()
    }

    /// What kibus would create for this owner.
    fn wanted(&self, format: Format) -> Asked {
        let cluster = "base".parse().unwrap();
        wanted(self.stage.cloud.scope(), &Settings::default(), &cluster, ROLE, format)
    }

    async fn queue(&self) -> Option<Resource> {
        let id = ResourceId::Queue(QUEUE.parse().unwrap());
        self.stage.cloud.read(&id).await.unwrap()
    }

    /// The current record, queue and policy of the role; the policies without the Sids of their statements.
    async fn found(&self) -> Asked {
        let name = self.stage.cloud.scope().record_parameter(&"base".parse().unwrap());
        let record = self.stage.cloud.records(std::slice::from_ref(&name)).await.unwrap().pop().unwrap();
        let mut queue = self.queue().await.and_then(|found| found.as_queue().cloned()).unwrap();
        queue.created = 0;
        // CloudFormation adds some tags of its own.
        queue.tags.0.retain(|key, _| !key.starts_with("aws:"));
        let policy = format!("RoleName={ROLE} PolicyName={QUEUE}.us-west-2");
        let policy = self.stage.account.call("iam", "GetRolePolicy", &policy).await;
        let document = |text: &str| {
            let (_, rest) = text.split_once("<PolicyDocument>").unwrap();
            let encoded = rest.split('<').next().unwrap();
            let text = urlencoding::decode(encoded).unwrap().replace("&quot;", "\"");
            kibus::model::document::Document::parse(&text).unwrap()
        };
        let controller = (ROLE.to_owned(), document(&policy));
        without_names(Asked { record: (name, record.content.unwrap()), queue, controller })
    }

    /// Checks the rules for an external cluster, and that kibus does not change it.
    async fn assert_on_the_bus(&self, expected: &Asked) {
        assert_eq!(self.found().await, *expected);
        self.assert_routed().await;
        let verified = self.json("verify base", 0);
        assert_eq!(verified["hubs"][0]["problems"], json!([]), "{verified}");
        assert!(self.kibus("list", 0).contains("base"));
        // None of its resources is added, removed or torn down.
        self.kibus("add-cluster base --no-eks-check --yes", 4);
        self.kibus("remove-cluster base --yes", 4);
        assert_eq!(self.found().await, *expected);
        // A change of the hub also requires a change by its owner.
        let principal = json!({ "Service": "events.amazonaws.com" });
        let actions = ["kms:Decrypt", "kms:GenerateDataKey"];
        let statement = json!({ "Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*" });
        let policy = json!({ "Policy": json!({ "Statement": [statement] }).to_string() }).to_string();
        let key = self.stage.account.json("kms", "CreateKey", &policy).await;
        let key = key["KeyMetadata"]["Arn"].as_str().unwrap();
        self.kibus(&format!("bootstrap-hub --kms-key {key} --yes"), 0);
        let verified = self.json("verify base", 2);
        let problems = verified["hubs"][0]["problems"].as_array().unwrap().iter();
        let differs = problems.filter(|problem| problem["code"] == "K320");
        let fixes: Vec<String> = differs.map(|problem| problem["fix"].to_string()).collect();
        let names_the_export = |fix: &String| fix.contains("kibus export cluster base");
        assert!(!fixes.is_empty() && fixes.iter().all(names_the_export), "{verified}");
        self.kibus("bootstrap-hub --kms-key none --yes", 0);
        self.kibus("verify base", 0);
        self.kibus("teardown --yes", 0);
        assert_eq!(self.found().await, *expected);
    }

    /// Checks that a Spot interruption of an instance of the cluster arrives.
    async fn assert_routed(&self) {
        const INSTANCE: &str = "i-0000000000000000a";
        let tags = "Tag.1.Key=eks:eks-cluster-name Tag.1.Value=base Tag.2.Key=karpenter.sh/nodepool Tag.2.Value=spot";
        let tags = format!("ResourceId.1={INSTANCE} {tags}");
        self.stage.account.call("ec2", "CreateTags", &tags).await;
        let event = json!({
            "version": "0",
            "id": "1",
            "source": "aws.ec2",
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "account": self.stage.account.id,
            "region": "us-west-2",
            "time": "2126-11-21T20:00:00Z",
            "resources": [],
            "detail": { "instance-id": INSTANCE, "instance-action": "terminate" },
        });
        let message = json!({ "QueueUrl": "kibus-hub", "MessageBody": event }).to_string();
        self.stage.account.call("sqs", "SendMessage", &message).await;
        let receive = json!({ "QueueUrl": QUEUE, "WaitTimeSeconds": 1 }).to_string();
        let began = Instant::now();
        loop {
            let received = self.stage.account.json("sqs", "ReceiveMessage", &receive).await;
            if let Some(message) = received.pointer("/Messages/0") {
                assert!(message["Body"].as_str().unwrap().contains(INSTANCE), "{message}");
                return;
            }
            let waits = began.elapsed() < Duration::from_secs(60);
            assert!(waits, "nothing arrived: {}", self.kibus("events --dropped", 0));
        }
    }
}

struct Configuration<'a> {
    folder: TempDir,
    account: &'a Account,
}

impl<'a> Configuration<'a> {
    fn new(account: &'a Account, files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { folder, account }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("terraform");
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_IN_AUTOMATION", "1")
            .env("AWS_ACCESS_KEY_ID", &self.account.id)
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_SESSION_TOKEN", secret(self.account.server).unwrap())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.account.server));
        command.output().unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        let [said, wrong] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success(), "terraform {arguments:?}: {said}{wrong}");
    }

    fn init(&self, providers: &Path) {
        let plugins = format!("-plugin-dir={}", providers.display());
        self.succeeds(&["init", "-input=false", "-no-color", &plugins]);
        self.succeeds(&["validate", "-no-color"]);
    }
}

const PROVIDER: &str = "provider \"aws\" {\n  region                      = \"us-west-2\"\n  \
    skip_credentials_validation = true\n  skip_metadata_api_check     = true\n}\n";

/// One cluster with its own export and one with the module for any cluster, in the same configuration. The other
/// cluster's name must be shortened.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Terraform and its provider for AWS"]
async fn a_cluster_of_terraform_is_on_the_bus() {
    let bench = Bench::open().await;
    let texts: Vec<_> = super::texts().into_iter().enumerate().map(|(at, text)| (format!("{at}.tf"), text)).collect();
    let files: Vec<_> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Configuration::new(&bench.stage.account, &files).succeeds(&["fmt", "-check", "-diff"]);
    let own = bench.kibus(&format!("export cluster base --controller-role {ROLE}"), 0);
    let module = bench.kibus("export cluster base --module", 0);
    let hub = bench.kibus("export hub", 0);
    let providers = providers().expect("the provider for AWS");
    let long = "c".repeat(100);
    let call = format!(
        "module \"long\" {{\n  source = \"./any\"\n  cluster = \"{long}\"\n  controller_role = \"{ROLE}\"\n}}\n\
         module \"hub\" {{\n  source = \"./hub\"\n  clusters = [\"{long}\"]\n}}\n\
         output \"names\" {{\n  value = [module.long.queue_name, module.hub.queue_names[\"{long}\"]]\n}}\n"
    );
    let files = [
        ("base.tf", own.as_str()),
        ("any/main.tf", &module),
        ("hub/main.tf", &hub),
        ("main.tf", &format!("{PROVIDER}{call}")),
    ];
    let terraform = Configuration::new(&bench.stage.account, &files);
    terraform.init(&providers);
    terraform.succeeds(&["apply", "-auto-approve", "-input=false", "-no-color"]);
    let names = terraform.run(&["output", "-json", "names"]).stdout;
    let names: Vec<String> = serde_json::from_slice(&names).unwrap();
    let template = kibus::model::hub::default_queue_template();
    let cut = bench.stage.cloud.scope().cluster_queue(&template, &long.parse().unwrap());
    assert_eq!(names, [cut.as_str(), cut.as_str()]);
    bench.assert_on_the_bus(&bench.wanted(Format::Terraform)).await;
    // Its owner sees no change by kibus, and deletes what it has created.
    terraform.succeeds(&["plan", "-detailed-exitcode", "-input=false", "-no-color"]);
    terraform.succeeds(&["destroy", "-auto-approve", "-input=false", "-no-color"]);
    assert_eq!(bench.queue().await, None);
}

#[tokio::test]
async fn a_cluster_of_cloud_formation_is_on_the_bus() {
    let bench = Bench::open().await;
    let line = format!("export cluster base --format cloudformation --controller-role {ROLE}");
    let template = bench.kibus(&line, 0);
    let form = format!(
        "Action=CreateStack&StackName=base&Capabilities.member.1=CAPABILITY_IAM&TemplateBody={}",
        urlencoding::encode(&template)
    );
    let answer = bench.stage.account.form_request("cloudformation", form).await;
    assert!(answer.status().is_success(), "{:?}", answer.body());
    wait_for(&bench.stage.account, "CREATE_COMPLETE").await;
    bench.assert_on_the_bus(&bench.wanted(Format::CloudFormation)).await;
    bench.stage.account.call("cloudformation", "DeleteStack", "StackName=base").await;
    wait_for(&bench.stage.account, "DELETE_COMPLETE").await;
    assert_eq!(bench.queue().await, None);
}

/// Waits until the stack has this status; one that is deleted may be unknown.
async fn wait_for(account: &Account, status: &str) {
    let began = Instant::now();
    loop {
        let (known, text) = account.send("cloudformation", "DescribeStacks", "StackName=base").await;
        if text.contains(&format!("<StackStatus>{status}<")) || !known && status == "DELETE_COMPLETE" {
            return;
        }
        assert!(!text.contains("ROLLBACK") && began.elapsed() < Duration::from_secs(60), "{text}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// An existing queue has an owner, which kibus reports with the export.
#[tokio::test]
async fn a_queue_that_exists_is_handed_over_or_released() {
    let bench = Bench::open().await;
    bench.kibus("add-cluster base --no-eks-check --yes", 0);
    let said = |line: &str| {
        let output = bench.stage.kibus(line).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{said}");
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let own = format!("export cluster base --controller-role {ROLE}");
    let url = format!("http://127.0.0.1:{}/{}/{QUEUE}", bench.stage.port(), bench.stage.account.id);
    let record = "/kibus/kibus/clusters/base";
    for (line, inside) in [(own.clone(), ""), ("export cluster base --module".to_owned(), "module.interruptions.")] {
        for (address, id) in [
            ("aws_ssm_parameter.record", record),
            ("aws_sqs_queue.interruptions", &url),
            ("aws_sqs_queue_policy.interruptions", &url),
        ] {
            let import = format!("terraform import '{inside}{address}' {id}");
            assert!(said(&line).contains(&import), "{}", said(&line));
        }
    }
    let other = said(&format!("{own} --format cloudformation"));
    assert!(other.contains("kibus manages queue `karpenter-base`"), "{other}");
    // The tool that created the record applies a later export again. Another owner of the queue would undo it.
    let text = |made_by: &str| {
        json!({ "format": 1, "cluster": "base", "queue": QUEUE, "made-by": made_by, "external": true }).to_string()
    };
    for (value, warns) in [(Some(text("terraform")), false), (None, true)] {
        let (call, more) = match value {
            Some(value) => ("PutParameter", json!({ "Value": value, "Type": "String", "Overwrite": true })),
            None => ("DeleteParameter", json!({})),
        };
        let mut input = json!({ "Name": record });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.stage.account.call("ssm", call, &input.to_string()).await;
        let warned = said(&own).contains("something else manages it: two owners");
        assert_eq!(warned, warns, "{}", said(&own));
    }
}
