//! Options: from the flag, the variable, the saved option or the default, in this order. Also the limits of accounts and
//! roles, which are checked before the first change. Runs the real command against the emulator.

mod bench;
mod limits;
mod saved;

use std::collections::BTreeMap;
use std::path::Path;

use kibus::cloud::Read;
use kibus::model::hub;
use kibus::model::options::{HubOption, HubOptions, Opens, OptionKey, UserTags};
use kibus::model::resource::Resource;
use serde_json::{Value, json};

use bench::{Bench, planned};

/// An option, the field that shows its value, and the value for each way to set it.
struct Case {
    option: HubOption,
    flag: &'static str,
    shows: (&'static str, &'static str, &'static str),
    default: Value,
    environment: (&'static str, Value),
    given: (&'static str, Value),
    /// What a tag alone could open; nothing if it may set the option.
    opens: Option<Opens>,
}

fn cases() -> Vec<Case> {
    const BOUNDARY: &str = "arn:aws:iam::111122223333:policy/a";
    const OTHER_BOUNDARY: &str = "arn:aws:iam::111122223333:policy/b";
    const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/a";
    const OTHER_KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/b";
    let role = ("role", "kibus-router-us-west-2");
    let function = ("function", "kibus-router");
    let case = |option: HubOption, opens, (kind, name): (_, _), path, default, environment, given| Case {
        option,
        flag: option.row().flag,
        shows: (kind, name, path),
        default,
        environment,
        given,
        opens,
    };
    let hub = ("queue", "kibus-hub");
    vec![
        case(
            HubOption::Tag,
            Some(Opens::TaggedResources),
            hub,
            "tags.team",
            Value::Null,
            ("team=a", json!("a")),
            ("team=b", json!("b")),
        ),
        case(
            HubOption::KmsKey,
            Some(Opens::Messages),
            hub,
            "encryption",
            json!("SSE-SQS"),
            (KEY, json!(KEY)),
            (OTHER_KEY, json!(OTHER_KEY)),
        ),
        case(
            HubOption::Retention,
            None,
            hub,
            "retention",
            json!(86400),
            ("7200", json!(7200)),
            ("90m", json!(5400)),
        ),
        case(
            HubOption::PermissionsBoundary,
            Some(Opens::Permissions),
            role,
            "permissions_boundary",
            Value::Null,
            (BOUNDARY, json!(BOUNDARY)),
            (OTHER_BOUNDARY, json!(OTHER_BOUNDARY)),
        ),
        case(
            HubOption::RolePath,
            Some(Opens::RolesAtPath),
            role,
            "path",
            json!("/"),
            ("/a/", json!("/a/")),
            ("/b/", json!("/b/")),
        ),
        case(
            HubOption::QueuePrefix,
            Some(Opens::Queues),
            function,
            "handler",
            json!("kibus/karpenter-"),
            ("a-", json!("kibus/a-")),
            ("", json!("kibus/")),
        ),
        case(
            HubOption::Memory,
            None,
            function,
            "memory",
            json!(256),
            ("512", json!(512)),
            ("128", json!(128)),
        ),
        case(
            HubOption::ReservedConcurrency,
            None,
            function,
            "reserved_concurrency",
            Value::Null,
            ("5", json!(5)),
            ("7", json!(7)),
        ),
        case(
            HubOption::LogRetention,
            None,
            ("log-group", "/aws/lambda/kibus-router"),
            "retention_days",
            json!(14),
            ("30", json!(30)),
            ("7d", json!(7)),
        ),
        case(
            HubOption::Rebalance,
            None,
            ("rule", "kibus-rebalance-recommendation"),
            "enabled",
            Value::Null,
            ("yes", json!(true)),
            ("0", Value::Null),
        ),
    ]
}

/// The options that have no case: the architecture needs a router of its own, and a lock has no value in the plan but a policy.
/// They have tests of their own: below, and `scenario::retagged_hub`.
const WITHOUT_CASE: [HubOption; 2] = [HubOption::Architecture, HubOption::LockQueues];

#[test]
fn every_option_has_a_case() {
    let cases = cases();
    for option in HubOption::ALL {
        let has_case = cases.iter().any(|case| case.option == *option);
        assert_ne!(has_case, WITHOUT_CASE.contains(option), "--{}", option.row().flag);
    }
}

/// The tags that save an option with a value of the command line.
fn saved(option: HubOption, value: &str) -> Vec<(String, String)> {
    let value = match value {
        "yes" => "true",
        "0" => "false",
        value => value,
    };
    let mut options = HubOptions::default();
    option.set(&mut options, &[value.to_owned()]).unwrap();
    let user = options.tags.as_ref().map(UserTags::tags).unwrap_or_default();
    options.saved_tags().with_all(&user).0.into_iter().collect()
}

#[tokio::test]
async fn a_tag_alone_sets_only_what_opens_nothing() {
    let bench = Bench::new().await;
    let cases = cases();
    let flags = cases.iter().map(|case| format!("--{}={}", case.flag, case.given.0));
    let flags: Vec<String> = flags.collect();
    let set_up = ["bootstrap-hub", "--yes"]
        .into_iter()
        .chain(flags.iter().map(String::as_str));
    bench.done(&set_up.collect::<Vec<_>>());
    for case in &cases {
        for (tag, value) in saved(case.option, case.environment.0) {
            bench.remember(&tag, &value).await;
        }
        let (document, code) = bench.json(&["bootstrap-hub", "--dry-run"], &[]);
        let opens = case.option.row().opens();
        assert_eq!(opens, case.opens, "--{}", case.flag);
        assert_eq!(
            code,
            Some(if opens.is_some() { 4 } else { 0 }),
            "--{}: {document}",
            case.flag
        );
        for (tag, value) in saved(case.option, case.given.0) {
            bench.remember(&tag, &value).await;
        }
    }
    assert_eq!(
        planned(&bench.json(&["bootstrap-hub", "--dry-run"], &[]).0),
        BTreeMap::new()
    );
}

#[tokio::test]
async fn the_flag_overrides_the_variable_the_saved_option_and_the_default() {
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
    assert_eq!(dry(&[], &[]), BTreeMap::new(), "the options are saved");
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
    let empty: Vec<(&str, &str)> = variables.iter().map(|(name, _)| (*name, "")).collect();
    assert_eq!(dry(&[], &empty), BTreeMap::new(), "an empty variable counts as unset");
}

#[tokio::test]
async fn a_tag_no_longer_set_is_removed_and_foreign_tags_stay() {
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
    for id in hub::ids(bench.cloud.scope()) {
        let resource = bench.cloud.read(&id).await.unwrap();
        let tags = resource.as_ref().and_then(Resource::tags);
        for key in ["team", "env"] {
            assert_eq!(tags.and_then(|tags| tags.get(key)), None, "{id}");
        }
    }
}

#[tokio::test]
async fn cluster_options_follow_the_same_order_and_are_saved() {
    let bench = Bench::new().await;
    bench.role("KarpenterServiceAccount-base").await;
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
    assert_eq!(dry(&[], &[]), (None, None), "the options are saved");
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
async fn cluster_queues_use_the_key_of_the_hub() {
    let bench = Bench::new().await;
    bench.role("KarpenterServiceAccount-base").await;
    bench.done(&["bootstrap-hub", "--yes"]);
    bench.done(&["add-cluster", "base", "--yes"]);
    let (key, other) = (bench.key(true).await, bench.key(true).await);
    for key in [key.as_str(), &other, "none"] {
        let out = bench.done(&["bootstrap-hub", "--yes", "--kms-key", key]);
        assert!(out.contains("karpenter-base"), "{key}: {out}");
        bench.done(&["verify"]);
    }
}

/// Writes a file that passes as a router of this version for this ELF machine number.
fn router(folder: &Path, machine: u8, version: &str) -> String {
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();
    elf.extend([machine, 0, 1, 0, 0, 0]);
    elf.resize(52, 0);
    elf.extend([64, 0, 56, 0, 0, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend(format!("<kibus-router {version}>").bytes());
    let path = folder.join(format!("router-{machine}-{version}"));
    std::fs::write(&path, elf).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn router_binary_and_architecture_follow_the_same_order() {
    const X86_64: u8 = 62;
    const ARM64: u8 = 183;
    let bench = Bench::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (mine, theirs) = (
        router(folder.path(), X86_64, "9.1.1"),
        router(folder.path(), ARM64, "9.2.2"),
    );
    let dry = |more: &[&str], environment: &[(&str, &str)]| {
        let arguments: Vec<&str> = ["bootstrap-hub", "--dry-run"].iter().chain(more).copied().collect();
        let (document, code) = bench.json(&arguments, environment);
        assert_eq!(code, Some(0), "{document}");
        let plan = planned(&document);
        let field = |kind: &str, name: &str, path: &str| {
            let path = (kind.to_owned(), name.to_owned(), path.to_owned());
            plan.get(&path).cloned().unwrap_or_default()
        };
        let code = field("alias", "kibus-router:live", "code");
        (
            field("function", "kibus-router", "architecture"),
            code["version"].clone(),
        )
    };
    let arm64 = [("KIBUS_ARCH", "arm64"), ("KIBUS_ROUTER_BINARY", theirs.as_str())];
    let flags = ["--arch=x86_64", "--router-binary", &mine];
    let own = json!(env!("CARGO_PKG_VERSION"));
    assert_eq!(dry(&[], &[]), (json!("x86_64"), own), "by default");
    assert_eq!(
        dry(&[], &arm64),
        (json!("arm64"), json!("9.2.2")),
        "from the environment"
    );
    assert_eq!(dry(&flags, &arm64), (json!("x86_64"), json!("9.1.1")), "from flags");

    bench.done(&["bootstrap-hub", "--yes"]);
    bench.remember("kibus:option:arch", "arm64").await;
    let before = dry(&["--router-binary", &theirs], &[]);
    assert_eq!(before, (json!("arm64"), json!("9.2.2")), "the saved options");
    assert_eq!(
        dry(&["--arch=x86_64"], &[]),
        (Value::Null, Value::Null),
        "a flag, after that"
    );
}
