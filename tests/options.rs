//! Options: from the flag, the variable, the parameter with the settings or the default, in this order. Also the limits of
//! accounts and roles, which are checked before the first change. Runs the real command against the emulator.

mod bench;
mod limits;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use kibus::model::{Document, HubOptions, policy::requires_tags};
use serde_json::{Value, json};

use bench::{Bench, planned, text};

/// An option, the field that shows its value, and the value for each way to set it.
struct Case {
    flag: &'static str,
    shows: (&'static str, &'static str, &'static str),
    default: Value,
    environment: (&'static str, Value),
    given: (&'static str, Value),
}

/// The flag; the kind, the name and the path of the field; the default; and for the variable and the flag, the given
/// value and the resulting field. The field of the dashboard is the whole dashboard.
const CASES: &str = r#"
    tag | queue kibus-hub tags.team | null | team=a → "a" | team=b → "b"
    kms-key | queue kibus-hub encryption | "SSE-SQS" | KEY/a → "KEY/a" | KEY/b → "KEY/b"
    retention | queue kibus-hub retention | 86400 | 7200 → 7200 | 90m → 5400
    permissions-boundary | role kibus-router-us-west-2 permissions_boundary | null | POLICY/a → "POLICY/a" | POLICY/b → "POLICY/b"
    role-path | role kibus-router-us-west-2 path | "/" | /a/ → "/a/" | /b/ → "/b/"
    queue-name | function kibus-router handler | "kibus/karpenter-{cluster}" | a-{cluster} → HANDLER_A | {cluster}-b → HANDLER_B
    cluster-metrics | function kibus-router handler | "kibus/karpenter-{cluster}" | nodepool → HANDLER_A | cluster → HANDLER_B
    notify | function kibus-router handler | "kibus/karpenter-{cluster}" | team-a → HANDLER_A | team-b → HANDLER_B
    memory | function kibus-router memory | 256 | 512 → 512 | 128 → 128
    reserved-concurrency | function kibus-router reserved_concurrency | null | 5 → 5 | 7 → 7
    log-retention | log-group /aws/lambda/kibus-router retention_days | 14 | 30 → 30 | 7d → 7
    rebalance | rule kibus-rebalance-recommendation enabled | null | yes → true | 0 → null
    alarms | alarm kibus-dead-letters tags.kibus:bus | null | yes → "kibus" | 0 → null
    heartbeat | rule kibus-heartbeat schedule | null | yes → "rate(5 minutes)" | 0 → null
    dashboard | dashboard kibus-hub-us-west-2 body | null | yes → true | 0 → null
    tag-conditions | role-policy kibus-router-us-west-2 document | true | no → false | 1 → true
"#;

fn cases() -> Vec<Case> {
    static TABLE: LazyLock<String> = LazyLock::new(|| {
        CASES
            .replace("KEY", "arn:aws:kms:us-west-2:111122223333:key")
            .replace("POLICY", "arn:aws:iam::111122223333:policy")
            // Three options are in the handler.
            .replace("HANDLER_A", r#""kibus/a-{cluster}/metrics=nodepool/notify=team-a""#)
            .replace("HANDLER_B", r#""kibus/{cluster}-b/metrics=cluster/notify=team-b""#)
    });
    let value = |text: &str| serde_json::from_str(text).unwrap();
    let given = |cell: &'static str| cell.split_once(" → ").map(|(given, shown)| (given, value(shown))).unwrap();
    let case = |row: &'static str| {
        let [flag, field, default, environment, flagged] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let [kind, name, path] = field.split(' ').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let (default, environment, given) = (value(default), given(environment), given(flagged));
        Case { flag, shows: (kind, name, path), default, environment, given }
    };
    TABLE.trim().lines().map(|row| case(row.trim())).collect()
}

/// These values, in the form saved in the parameter.
fn options(values: impl IntoIterator<Item = (&'static str, &'static str)>) -> Value {
    let saved = |(flag, value): (&str, &str)| {
        let value = match (flag, value.split_once('=')) {
            ("tag", Some((key, value))) => json!({ key: value }),
            ("rebalance" | "heartbeat" | "dashboard" | "tag-conditions", _) => {
                json!(["yes", "1"].contains(&value))
            }
            _ => json!(value),
        };
        (flag.to_owned(), value)
    };
    Value::Object(values.into_iter().map(saved).collect())
}

#[test]
fn every_option_has_a_case() {
    let help = Command::new(env!("CARGO_BIN_EXE_kibus")).args(["bootstrap-hub", "--help"]).output().unwrap();
    let help = text(&help.stdout);
    let options = help.split("[env: ").skip(1).filter_map(|rest| rest.split(']').next()?.split('=').next());
    let tested = variables(&cases(), |_| "").into_iter().map(|(variable, _)| variable);
    // The second is for clusters, and the others have their own tests.
    let others =
        ["ARCH", "READER_ALARMS", "ROUTER_BINARY", "ROUTER_SHA256", "UNTAG"].map(|name| format!("KIBUS_{name}"));
    assert_eq!(tested.chain(others).collect::<BTreeSet<_>>(), options.map(str::to_owned).collect());
}

/// The value of a case's field in a plan.
fn shown(plan: &BTreeMap<(String, String, String), Value>, case: &Case) -> Value {
    let (kind, name, path) = case.shows;
    let value = plan.get(&(kind.to_owned(), name.to_owned(), path.to_owned()));
    match value.cloned().unwrap_or_default() {
        policy @ Value::Object(_) if path == "document" => json!(requires_tags(&Document::new(policy))),
        body @ Value::Object(_) if path == "body" => json!(body["widgets"].is_array()),
        value => value,
    }
}

/// The variables of these cases.
fn variables(cases: &[Case], value: impl Fn(&Case) -> &'static str) -> Vec<(String, &'static str)> {
    let variable = |case: &Case| format!("KIBUS_{}", case.flag.to_uppercase().replace('-', "_"));
    cases.iter().map(|case| (variable(case), value(case))).collect()
}

#[tokio::test]
async fn the_flag_overrides_the_variable_the_parameter_and_the_default() {
    let bench = Bench::new().await;
    for topic in ["Name=team-a", "Name=team-b"] {
        bench.0.account.call("sns", "CreateTopic", topic).await;
    }
    let cases = cases();
    let flags = cases.iter().map(|case| format!("--{}={}", case.flag, case.given.0));
    let flags: Vec<String> = flags.collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let environment = variables(&cases, |case| case.environment.0);
    let dry = |more: &[&str], variables: &[(String, &str)]| {
        let arguments: Vec<&str> = ["bootstrap-hub", "--dry-run"].iter().chain(more).copied().collect();
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        planned(&bench.json(&arguments, &variables).0)
    };

    let (neither, by_variable, both) = (dry(&[], &[]), dry(&[], &environment), dry(&flags, &environment));
    for case in &cases {
        let flag = case.flag;
        assert_eq!(shown(&neither, case), case.default, "--{flag} by default");
        assert_eq!(shown(&by_variable, case), case.environment.1, "the variable of --{flag}");
        assert_eq!(shown(&both, case), case.given.1, "--{flag} beside its variable");
    }

    let set_up: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(flags.iter().copied()).collect();
    bench.done(&set_up);
    assert_eq!(dry(&[], &[]), BTreeMap::new(), "the options are saved");
    let keys = ["kibus:bus", "kibus:cluster", "team"].map(str::to_owned);
    assert_eq!(bench.tag_keys().await, keys.into(), "no tag holds an option");
    let saved = options(cases.iter().map(|case| (case.flag, case.given.0)));
    assert_eq!(bench.settings().await["options"], typed(saved), "what was given is saved");
    // The path of a role cannot change.
    let (fixed, cases): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| case.flag == "role-path");
    let (environment, given) = (variables(&cases, |case| case.environment.0), variables(&cases, |case| case.given.0));
    let by_variable = dry(&[], &environment);
    for case in &cases {
        let expected = case.environment.1.clone();
        assert_eq!(shown(&by_variable, case), expected, "the variable of --{}, after the flag", case.flag);
    }
    let empty: Vec<(String, &str)> = environment.iter().map(|(name, _)| (name.clone(), "")).collect();
    assert_eq!(dry(&[], &empty), BTreeMap::new(), "an empty variable counts as unset");
    assert_eq!(bench.run(&["bootstrap-hub", "--queue-name="], &[]).status.code(), Some(64), "an empty flag is a value");

    // Someone else writes other options.
    let fixed = fixed.iter().map(|case| (case.flag, case.given.0));
    let saved = options(cases.iter().map(|case| (case.flag, case.environment.0)).chain(fixed));
    bench.write_options(&saved).await;
    let by_parameter = dry(&[], &[]);
    for case in &cases {
        let expected = case.environment.1.clone();
        assert_eq!(shown(&by_parameter, case), expected, "--{} by the parameter", case.flag);
    }
    for (name, plan) in [("a variable", dry(&[], &given)), ("a flag", dry(&flags, &[]))] {
        for case in &cases {
            // The key in the parameter is now an old key, which changes the router's document.
            let expected = match case.shows.2 {
                "document" => case.given.1.clone(),
                _ => Value::Null,
            };
            let shows = shown(&plan, case);
            assert_eq!(shows, expected, "{name} for --{} over the parameter", case.flag);
        }
    }
}

/// Options as kibus writes them.
fn typed(options: Value) -> Value {
    let options: HubOptions = serde_json::from_value(options).unwrap();
    serde_json::to_value(options).unwrap()
}

#[tokio::test]
async fn tags_are_added_changed_and_removed() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--tag=env=x"]);
    bench.done(&["bootstrap-hub", "--yes", "--tag=team=a"]);
    let (document, _) = bench.json(&["bootstrap-hub", "--yes", "--tag=team=b", "--untag=env"], &[]);
    let plan = planned(&document);
    let tag = |key: &str| plan.get(&("queue".to_owned(), "kibus-hub".to_owned(), format!("tags.{key}"))).cloned();
    assert_eq!((tag("team"), tag("env")), (Some(json!("b")), Some(Value::Null)));
    bench.done(&["bootstrap-hub", "--yes", "--tag=none"]);
    assert_eq!(bench.tag_keys().await, ["kibus:bus", "kibus:cluster"].map(str::to_owned).into());
}

#[tokio::test]
async fn cluster_options_follow_the_same_order_and_the_role_is_kept() {
    let bench = Bench::new().await;
    bench.role("KarpenterServiceAccount-base").await;
    bench.done(&["bootstrap-hub", "--yes"]);
    let variables = [("KIBUS_NO_CONTROLLER_ROLE", "true")];
    let flags = ["--no-controller-role=false"];
    let dry = |more: &[&str], environment: &[(&str, &str)]| {
        let arguments: Vec<&str> = ["add-cluster", "base", "--dry-run"].iter().chain(more).copied().collect();
        let plan = planned(&bench.json(&arguments, environment).0);
        plan.get(&("record".to_owned(), "/kibus/kibus/clusters/base".to_owned(), "role".to_owned())).cloned()
    };
    let role = Some(json!("KarpenterServiceAccount-base"));
    assert_eq!(dry(&[], &[]), role, "by default");
    assert_eq!(dry(&[], &variables), None, "from the environment");
    assert_eq!(dry(&flags, &variables), role, "from flags");

    let add: Vec<&str> = ["add-cluster", "base", "--yes"].into_iter().chain(flags).collect();
    bench.done(&add);
    assert_eq!(dry(&[], &[]), None, "the role is kept");
    assert_eq!(dry(&[], &variables), Some(Value::Null), "the environment, after flags");
}

const X86_64: u8 = 62;
const ARM64: u8 = 183;

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
    let bench = Bench::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (mine, theirs) = (router(folder.path(), X86_64, "9.1.1"), router(folder.path(), ARM64, "9.2.2"));
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
        (field("function", "kibus-router", "architecture"), code["version"].clone())
    };
    let arm64 = [("KIBUS_ARCH", "arm64"), ("KIBUS_ROUTER_BINARY", theirs.as_str())];
    let flags = ["--arch=x86_64", "--router-binary", &mine];
    let own = json!(env!("CARGO_PKG_VERSION"));
    assert_eq!(dry(&[], &[]), (json!("x86_64"), own), "by default");
    assert_eq!(dry(&[], &arm64), (json!("arm64"), json!("9.2.2")), "from the environment");
    assert_eq!(dry(&flags, &arm64), (json!("x86_64"), json!("9.1.1")), "from flags");

    bench.done(&["bootstrap-hub", "--yes"]);
    bench.write_options(&json!({ "arch": "arm64" })).await;
    let before = dry(&["--router-binary", &theirs], &[]);
    assert_eq!(before, (json!("arm64"), json!("9.2.2")), "the parameter");
    assert_eq!(dry(&["--arch=x86_64"], &[]), (Value::Null, Value::Null), "a flag, after that");
}

/// How a router is replaced, shown by the version that is live afterwards. Files of other versions pass here as routers.
#[tokio::test(flavor = "multi_thread")]
async fn routers_are_replaced_and_rolled_back_as_flags_say() {
    let bench = Bench::of_any_router().await;
    let folder = tempfile::tempdir().unwrap();
    let [newer, newest] = ["9.0.0", "9.1.0"].map(|version| router(folder.path(), X86_64, version));
    let upgrade = |router: &str, more: &[&str]| {
        let arguments = [&["bootstrap-hub", "--yes", "--router-binary", router], more].concat();
        arguments.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let rollback =
        |version: &[&str]| [&["rollback", "--yes"], version].concat().into_iter().map(str::to_owned).collect();
    bench.done(&["bootstrap-hub", "--yes"]);
    for (arguments, code, live, says) in [
        (rollback(&[]), 4, "1", "no version of the router is available for rollback"),
        (upgrade(&newer, &[]), 0, "2", "Updated 2"),
        (upgrade(&newest, &[]), 0, "3", "Updated 2"),
        (upgrade(&newer, &[]), 4, "3", "the live router 9.1.0 is newer than 9.0.0"),
        (upgrade(&newer, &["--allow-downgrade"]), 0, "4", "Updated 2"),
        (rollback(&["7"]), 4, "4", "available: 3, 2"),
        (rollback(&["2"]), 0, "2", "Updated 2"),
        (rollback(&["2"]), 0, "2", "No changes"),
        (upgrade(&newest, &[]), 0, "2", "rolled back from version 4"),
        (upgrade(&newest, &["--memory=512"]), 4, "2", "but these changes need a new version: `memory`"),
        (upgrade(&newest, &["--router-latest"]), 0, "5", "Updated 3"),
    ] {
        let output = bench.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        let said = text(&output.stdout) + &text(&output.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(code) && said.contains(says), "{arguments:?}: {output:?}");
        let alias = bench.0.account.json("lambda", "GET", "functions/kibus-router/aliases/live").await;
        assert_eq!(alias["FunctionVersion"], live, "{arguments:?}: {said}");
    }
}
