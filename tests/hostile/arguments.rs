//! Hostile arguments and variables: rejected before any call, and shown without control characters. `cli::hostile` parses
//! many more of them.

use std::process::{Command, Output};

use super::shown::check;

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
    for (argument, shown) in [
        ("--queue-name=../../etc", "error: invalid value '../../etc' for '--queue-name"),
        ("--router-binary=a\nb", "error: argument `--router-binary=a\\nb` contains a control character"),
        ("--profile=\u{1b}[31m", "error: argument `--profile=\\u{1b}[31m` contains a control character"),
    ] {
        let output = kibus(&["bootstrap-hub".to_owned(), argument.to_owned()], &[]);
        let text = checked(argument, &output);
        assert!(text.starts_with(shown), "{text}");
    }
}

#[test]
fn a_hostile_variable_is_wrong_usage() {
    for (name, hostile) in [
        ("KIBUS_BUS", "http://a\nb"),
        ("KIBUS_REGION", "http://\u{1b}[2J"),
        ("KIBUS_PROFILE", "http://\u{9b}"),
        ("KIBUS_ENDPOINT_URL", "http://\u{202e}"),
        ("KIBUS_OUTPUT", "http://a\nb"),
        ("KIBUS_COLOR", "http://\u{1b}[2J"),
        ("KIBUS_CONCURRENCY", "http://\u{202e}"),
    ] {
        checked(&format!("{name}={hostile:?}"), &kibus(&["list".to_owned()], &[(name, hostile)]));
    }
}

/// Kibus does not reject values from AWS's variables and files, but it shows them.
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
        // With `-vv`, the output has everything that it has without, plus the log.
        for options in ["list -vv", "list -vv --output=json"] {
            let words: Vec<String> = options.split(' ').map(str::to_owned).collect();
            let output = kibus(&words, &[(name, value)]);
            let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
            check(&format!("{name}={value:?} {options}"), &text, &[]);
            assert!(matches!(output.status.code(), Some(1 | 64)), "{name}: {text}");
        }
    }
}
