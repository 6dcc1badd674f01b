//! What is chosen: by flag, by environment, before, or by default; and what an account or a role cannot take, which is
//! said before anything is changed. The real command against the local AWS.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use kibus::aws::{AwsCloud, Connect};
use kibus::cloud::{Cloud, observe};
use kibus::model::document::Document;
use kibus::model::hub;
use kibus::model::policy;
use kibus::model::resource::{Resource, Role, RolePolicy};
use kibus::model::tags::Tags;
use kibus::plan::Op;
use kibus::sandbox::{PrivateServer, Sandbox};
use serde_json::{Value, json};

use crate::emulator::ACCOUNT;

const REGION: &str = "us-west-2";

/// A local AWS, and kibus in front of it.
struct Bench {
    _server: PrivateServer,
    url: String,
    cloud: AwsCloud,
}

impl Bench {
    async fn new() -> Self {
        let server = Sandbox::open().unwrap().start_private(&[], &|_| {}).await.unwrap();
        let url = server.endpoint().url();
        let connect = Connect {
            region: Some(REGION.parse().unwrap()),
            endpoint_url: Some(url.clone()),
            isolated: true,
            account: Some(ACCOUNT.parse().unwrap()),
            ..Connect::default()
        };
        let cloud = AwsCloud::new(&connect.connect().await.unwrap(), "kibus".parse().unwrap());
        Self {
            _server: server,
            url,
            cloud,
        }
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kibus"))
            .args(arguments)
            .env_clear()
            .envs([
                ("AWS_ACCESS_KEY_ID", ACCOUNT),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_REGION", REGION),
                ("KIBUS_ENDPOINT_URL", &self.url),
            ])
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    /// Runs a command that ends well.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, &[]);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The JSON of a command, and its exit code.
    fn json(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Value, Option<i32>) {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--output=json"]).collect();
        let output = self.run(&arguments, environment);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr)));
        (document, output.status.code())
    }

    /// A role that a controller could have, with an inline policy of somebody else's.
    async fn role(&self, name: &str, inline: Option<Document>) {
        let role = Resource::Role(Role {
            name: name.parse().unwrap(),
            path: "/".parse().unwrap(),
            trust: policy::router_trust(),
            permissions_boundary: None,
            tags: Tags::default(),
        });
        self.cloud.write(&Op::Create(role), &|_| {}).await.unwrap();
        if let Some(document) = inline {
            let policy = RolePolicy {
                role: name.parse().unwrap(),
                name: "theirs".parse().unwrap(),
                document,
            };
            self.cloud
                .write(&Op::Create(Resource::RolePolicy(policy)), &|_| {})
                .await
                .unwrap();
        }
    }

    /// How many of the hub's resources are there.
    async fn resources(&self) -> usize {
        let seen = observe(&self.cloud, hub::ids(self.cloud.scope()), 8).await;
        assert!(seen.faults.is_empty(), "{:?}", seen.faults);
        seen.observed
            .iter()
            .filter(|(id, _)| seen.observed.resource(id).is_some())
            .count()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a plan would make of each field, by kind, name and path.
fn planned(document: &Value) -> BTreeMap<(String, String, String), Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list(&document["hubs"][0]["changes"])
        .iter()
        .flat_map(|change| {
            list(&change["fields"]).into_iter().map(|field| {
                (
                    (text(&change["kind"]), text(&change["name"]), text(&field["path"])),
                    field["to"].clone(),
                )
            })
        })
        .collect()
}

/// An option, where its value shows, and what shows there when it is given in each way.
struct Case {
    flag: &'static str,
    shows: (&'static str, &'static str, &'static str),
    default: Value,
    environment: (&'static str, Value),
    given: (&'static str, Value),
}

fn cases() -> Vec<Case> {
    const BOUNDARY: &str = "arn:aws:iam::111122223333:policy/a";
    const OTHER_BOUNDARY: &str = "arn:aws:iam::111122223333:policy/b";
    const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/a";
    const OTHER_KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/b";
    let role = ("role", "kibus-router-us-west-2");
    let function = ("function", "kibus-router");
    let case = |flag, (kind, name): (_, _), path, default, environment, given| Case {
        flag,
        shows: (kind, name, path),
        default,
        environment,
        given,
    };
    let hub = ("queue", "kibus-hub");
    vec![
        case(
            "tag",
            hub,
            "tags.team",
            Value::Null,
            ("team=a", json!("a")),
            ("team=b", json!("b")),
        ),
        case(
            "kms-key",
            hub,
            "encryption",
            json!("SSE-SQS"),
            (KEY, json!(KEY)),
            (OTHER_KEY, json!(OTHER_KEY)),
        ),
        case(
            "retention",
            hub,
            "retention",
            json!(86400),
            ("7200", json!(7200)),
            ("3600", json!(3600)),
        ),
        case(
            "permissions-boundary",
            role,
            "permissions_boundary",
            Value::Null,
            (BOUNDARY, json!(BOUNDARY)),
            (OTHER_BOUNDARY, json!(OTHER_BOUNDARY)),
        ),
        case(
            "role-path",
            role,
            "path",
            json!("/"),
            ("/a/", json!("/a/")),
            ("/b/", json!("/b/")),
        ),
        case(
            "queue-prefix",
            function,
            "environment.KIBUS_QUEUE_PREFIX",
            json!("karpenter-"),
            ("a-", json!("a-")),
            ("", json!("")),
        ),
        case(
            "memory",
            function,
            "memory",
            json!(256),
            ("512", json!(512)),
            ("128", json!(128)),
        ),
        case(
            "reserved-concurrency",
            function,
            "reserved_concurrency",
            Value::Null,
            ("5", json!(5)),
            ("7", json!(7)),
        ),
        case(
            "log-retention",
            ("log-group", "/aws/lambda/kibus-router"),
            "retention_days",
            json!(14),
            ("30", json!(30)),
            ("7", json!(7)),
        ),
        case(
            "rebalance",
            ("rule", "kibus-rebalance-recommendation"),
            "enabled",
            Value::Null,
            ("true", json!(true)),
            ("false", Value::Null),
        ),
    ]
}

#[tokio::test]
async fn a_flag_is_heard_before_the_environment_before_what_was_chosen_before_the_default() {
    let bench = Bench::new().await;
    let cases = cases();
    let variable = |case: &Case| format!("KIBUS_{}", case.flag.to_uppercase().replace('-', "_"));
    let variables: Vec<(String, &str)> = cases.iter().map(|case| (variable(case), case.environment.0)).collect();
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let flags: Vec<String> = cases
        .iter()
        .map(|case| format!("--{}={}", case.flag, case.given.0))
        .collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let dry = |more: &[&str], environment: &[(&str, &str)]| {
        let arguments: Vec<&str> = ["bootstrap-hub", "--dry-run"].iter().chain(more).copied().collect();
        planned(&bench.json(&arguments, environment).0)
    };
    let shown = |plan: &BTreeMap<_, _>, case: &Case| {
        let (kind, name, path) = case.shows;
        plan.get(&(kind.to_owned(), name.to_owned(), path.to_owned()))
            .cloned()
            .unwrap_or_default()
    };

    let (neither, environment, both) = (dry(&[], &[]), dry(&[], &variables), dry(&flags, &variables));
    for case in &cases {
        assert_eq!(shown(&neither, case), case.default, "--{} by default", case.flag);
        assert_eq!(shown(&environment, case), case.environment.1, "{}", variable(case));
        assert_eq!(
            shown(&both, case),
            case.given.1,
            "--{} beside {}",
            case.flag,
            variable(case)
        );
    }

    let set_up: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(flags).collect();
    bench.done(&set_up);
    assert_eq!(dry(&[], &[]), BTreeMap::new(), "what was chosen is remembered");
    let environment = dry(&[], &variables);
    for case in &cases {
        assert_eq!(
            shown(&environment, case),
            case.environment.1,
            "{} after --{}",
            variable(case),
            case.flag
        );
    }
}

#[tokio::test]
async fn a_tag_that_is_not_chosen_any_more_goes_and_those_of_others_stay() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--tag=team=a", "--tag=env=x"]);
    let (document, _) = bench.json(&["bootstrap-hub", "--yes", "--tag=team=b"], &[]);
    let plan = planned(&document);
    let tag = |key: &str| {
        plan.get(&("queue".to_owned(), "kibus-hub".to_owned(), format!("tags.{key}")))
            .cloned()
    };
    assert_eq!((tag("team"), tag("env")), (Some(json!("b")), Some(Value::Null)));
    bench.done(&["bootstrap-hub", "--yes", "--tag=none"]);
    let seen = observe(&bench.cloud, hub::ids(bench.cloud.scope()), 8).await;
    for (id, _) in seen.observed.iter() {
        let tags = seen.observed.resource(id).and_then(Resource::tags);
        for key in ["team", "env"] {
            assert_eq!(tags.and_then(|tags| tags.get(key)), None, "{id}");
        }
    }
}

#[tokio::test]
async fn a_clusters_options_are_heard_in_the_same_order_and_remembered_to_its_end() {
    let bench = Bench::new().await;
    bench.role("KarpenterServiceAccount-base", None).await;
    bench.done(&["bootstrap-hub", "--yes"]);
    let variables = [
        ("KIBUS_KARPENTER_VERSION", "1.0.0"),
        ("KIBUS_NO_CONTROLLER_ROLE", "true"),
    ];
    let flags = ["--karpenter-version=0.31.4", "--no-controller-role=false"];
    let dry = |more: &[&str], environment: &[(&str, &str)]| {
        let arguments: Vec<&str> = ["add-cluster", "base", "--dry-run"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let plan = planned(&bench.json(&arguments, environment).0);
        let tag = |key: &str| {
            plan.get(&(
                "queue".to_owned(),
                "karpenter-base".to_owned(),
                format!("tags.kibus:{key}"),
            ))
            .cloned()
        };
        (tag("option:karpenter-version"), tag("controller-role"))
    };
    let role = Some(json!("KarpenterServiceAccount-base"));
    assert_eq!(dry(&[], &[]), (None, role.clone()), "by default");
    assert_eq!(
        dry(&[], &variables),
        (Some(json!("1.0.0")), None),
        "from the environment"
    );
    assert_eq!(dry(&flags, &variables), (Some(json!("0.31.4")), role), "from flags");

    let add: Vec<&str> = ["add-cluster", "base", "--yes"].into_iter().chain(flags).collect();
    bench.done(&add);
    assert_eq!(dry(&[], &[]), (None, None), "what was chosen is remembered");
    assert_eq!(
        dry(&[], &variables),
        (Some(json!("1.0.0")), Some(Value::Null)),
        "the environment, after flags"
    );

    for (version, says) in [
        ("0.31.4", "kubectl patch configmap"),
        ("1.0.0", "it panics at its next start"),
    ] {
        bench.done(&["add-cluster", "base", "--yes", "--karpenter-version", version]);
        for command in [&["remove-cluster", "base", "--dry-run"][..], &["teardown", "--dry-run"]] {
            let warnings = bench.json(command, &[]).0["hubs"][0]["warnings"].to_string();
            assert!(warnings.contains(says), "{command:?} of {version}: {warnings}");
        }
    }
}

#[tokio::test]
async fn clusters_follow_the_hubs_key() {
    const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/a";
    let bench = Bench::new().await;
    bench.role("KarpenterServiceAccount-base", None).await;
    bench.done(&["bootstrap-hub", "--yes"]);
    bench.done(&["add-cluster", "base", "--yes"]);
    for key in [KEY, "none"] {
        let out = bench.done(&["bootstrap-hub", "--yes", "--kms-key", key]);
        assert!(out.contains("karpenter-base"), "{key}: {out}");
        bench.done(&["verify"]);
    }
}

#[tokio::test]
async fn what_the_account_or_a_role_cannot_take_is_refused_before_anything_is_changed() {
    let bench = Bench::new().await;
    let elsewhere = "arn:aws:kms:eu-west-1:111122223333:key/a";
    for (arguments, says) in [
        (["--reserved-concurrency", "100000"], "is the most"),
        (["--kms-key", elsewhere], "is not of us-west-2"),
    ] {
        let arguments: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(arguments).collect();
        let (document, code) = bench.json(&arguments, &[]);
        assert_eq!(code, Some(4), "{arguments:?}: {document}");
        assert!(document.to_string().contains(says), "{arguments:?}: {document}");
        assert_eq!(bench.resources().await, 0, "{arguments:?}");
    }

    bench.done(&["bootstrap-hub", "--yes"]);
    let statement = |sid: String| {
        json!({"Sid": sid, "Effect": "Allow", "Action": "sqs:ReceiveMessage",
               "Resource": "arn:aws:sqs:us-west-2:111122223333:base"})
    };
    let full = json!({"Statement": [statement("x".repeat(10_100))]});
    bench.role("KarpenterServiceAccount-full", Some(Document(full))).await;
    let (document, code) = bench.json(&["add-cluster", "full", "--yes"], &[]);
    assert_eq!(code, Some(4), "{document}");
    assert!(document.to_string().contains("has no room"), "{document}");

    let twice = json!({"Statement": [statement("Interruption".to_owned())]});
    bench.role("KarpenterServiceAccount-base", Some(Document(twice))).await;
    let (document, code) = bench.json(&["add-cluster", "base", "--yes"], &[]);
    assert_eq!(code, Some(0), "{document}");
    let warnings = document["hubs"][0]["warnings"].to_string();
    assert!(
        warnings.contains("111122223333:base") && warnings.contains("theirs"),
        "{warnings}"
    );
}
