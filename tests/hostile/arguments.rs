//! Hostile arguments and variables: refused before any call, and shown without what they could do to a terminal.

use std::process::{Command, Output};

use super::shown::check;

/// The options and names that a command takes; `{}` is the place of the hostile text.
const PLACES: &[&str] = &[
    "add-cluster {}",
    "add-cluster base {}",
    "remove-cluster {}",
    "verify {}",
    "status {}",
    "events {}",
    "events --since={}",
    "events --signal={}",
    "events --node-pool={}",
    "events --limit={}",
    "list --bus={}",
    "list --region={}",
    "list --endpoint-url={}",
    "discover {}",
    "export {}",
    "export cluster {}",
    "export cluster base --format={}",
    "export cluster base --controller-role={}",
    "export hub --format={}",
    "rollback {}",
    "explain {}",
    "completions {}",
    "policy {}",
    "policy controller {}",
    "policy operator --for clusters {}",
    "policy operator --for clusters --controller-role={}",
    "policy operator --tag=x={}",
    "add-cluster base --controller-role={}",
    "add-cluster base --karpenter-version={}",
    "add-cluster base --tag={}",
    "bootstrap-hub --tag=x={}",
    "bootstrap-hub --tag={}=x",
    "bootstrap-hub --kms-key={}",
    "bootstrap-hub --cluster-metrics={}",
    "bootstrap-hub --notify={}",
    "bootstrap-hub --kms-key=arn:aws:kms:us-west-2:111122223333:key/{}",
    "bootstrap-hub --permissions-boundary=arn:aws:iam::111122223333:policy/{}",
    "bootstrap-hub --role-path={}",
    "bootstrap-hub --role-path=/{}/",
    "bootstrap-hub --queue-name={}",
    "bootstrap-hub --queue-name={}{cluster}",
    "bootstrap-hub --memory={}",
    "bootstrap-hub --arch={}",
    "bootstrap-hub --retention={}",
    "bootstrap-hub --log-retention={}",
    "bootstrap-hub --reserved-concurrency={}",
    "bootstrap-hub --router-sha256={}",
    "{}",
    "list --{}",
];

/// Runs kibus where nothing answers, so that a call ends with 1.
fn kibus(arguments: &[String], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kibus"))
        .args(arguments)
        .env_clear()
        .envs([
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-west-2"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("HOME", "/nonexistent"),
        ])
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn checked(case: &str, output: &Output) -> String {
    let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
    check(case, &text, &[]);
    assert_eq!(output.status.code(), Some(64), "{case}: {text}");
    text
}

#[test]
fn a_hostile_argument_is_wrong_usage() {
    let long = "x".repeat(3_000);
    for hostile in [
        "a\nerror: b",
        "\u{1b}[2J",
        "a\u{9b}2Jb",
        "a\u{7f}",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\u{200b}b",
        "$(id)",
        "a;b",
        "a b?",
        "b\u{430}se!",
        "%2e%2e%2f",
        &long,
    ] {
        for place in PLACES {
            refused(place, hostile);
        }
    }
    // Tags and the paths of roles and policies may have dots and slashes, and are never a path of a file or of a URL.
    let may = |place: &str| ["tag", "role", "boundary"].iter().any(|kind| place.contains(kind));
    for hostile in ["../../etc", "a/../b", ".."] {
        for place in PLACES.iter().filter(|place| !may(place)) {
            refused(place, hostile);
        }
    }
}

fn refused(place: &str, hostile: &str) {
    let words: Vec<String> = place.split(' ').map(|word| word.replace("{}", hostile)).collect();
    let case = format!("{place} with {:?}", hostile.chars().take(20).collect::<String>());
    checked(&case, &kibus(&words, &[]));
}

#[test]
fn a_hostile_variable_is_wrong_usage() {
    for name in [
        "KIBUS_BUS",
        "KIBUS_REGION",
        "KIBUS_PROFILE",
        "KIBUS_ENDPOINT_URL",
        "KIBUS_OUTPUT",
        "KIBUS_COLOR",
        "KIBUS_CONCURRENCY",
    ] {
        for hostile in ["http://a\nb", "http://\u{1b}[2J", "http://\u{9b}", "http://\u{202e}"] {
            checked(&format!("{name}={hostile:?}"), &kibus(&["list".to_owned()], &[(name, hostile)]));
        }
    }
}

#[test]
fn an_argument_that_cannot_be_printed_is_refused_by_name() {
    for (argument, shown) in
        [("--router-binary=a\nb", "`--router-binary=a\\nb`"), ("--profile=\u{1b}[31m", "`--profile=\\u{1b}[31m`")]
    {
        let output = kibus(&["bootstrap-hub".to_owned(), argument.to_owned()], &[]);
        let text = checked(argument, &output);
        assert!(text.starts_with(&format!("error: argument {shown} has a control character")), "{text}");
    }
}

/// What AWS has in the environment and in its files is not kibus's to refuse, but it is shown.
#[test]
fn what_the_aws_configuration_says_controls_no_terminal() {
    for (name, value) in [
        ("AWS_PROFILE", "\u{1b}[2J"),
        ("AWS_REGION", "\u{1b}[2J\n"),
        ("AWS_ENDPOINT_URL", "http://\u{1b}[2J"),
        ("AWS_ENDPOINT_URL", "\u{202e}"),
        ("AWS_ACCESS_KEY_ID", "\u{1b}[2J"),
        ("AWS_ACCESS_KEY_ID", "key\n"),
        ("AWS_SESSION_TOKEN", "\u{1b}[2J"),
        ("AWS_SECRET_ACCESS_KEY", "\u{1b}[2J\n"),
        ("AWS_CONFIG_FILE", "\u{1b}[2J"),
        ("AWS_CA_BUNDLE", "\u{1b}[2J"),
        ("KIBUS_LOG", "\u{1b}[2J"),
    ] {
        for options in ["list", "list -vv", "list --output=json"] {
            let words: Vec<String> = options.split(' ').map(str::to_owned).collect();
            let output = kibus(&words, &[(name, value)]);
            let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
            check(&format!("{name}={value:?} {options}"), &text, &[]);
            assert!(matches!(output.status.code(), Some(1 | 64)), "{name}: {text}");
        }
    }
}
