//! Errors before there is a plan: message, stream and exit code.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn kibus(arguments: &[&str], stdout: Stdio, environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kibus"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn control_characters_in_arguments_are_escaped() {
    for arguments in [
        ["--bus", "a\u{7}\r\u{1b}[31m", "verify"],
        ["--region", "\u{1b}]0;title\u{7}", "verify"],
        ["verify", "--", "a\u{9b}31m"],
        ["a\rb", "--bus", "kibus"],
    ] {
        let output = kibus(&arguments, Stdio::piped(), &[]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {text:?}");
        assert!(text.starts_with("error: "), "{arguments:?}: {text:?}");
        let control = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{arguments:?}: {text:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_silent() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = kibus(&["--help"], full.into(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("could not be written"), "{}", stderr(&output));

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = kibus(&["--help"], writer.into(), &[]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn credentials_and_region_are_checked_first() {
    let home = TempDir::new().unwrap();
    let home = home.path().to_str().unwrap();
    let keys = [
        ("AWS_ACCESS_KEY_ID", "111122223333"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("HOME", home),
    ];
    let no_keys = [("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", home)];
    let unused_port = "http://127.0.0.1:1";
    for (case, arguments, environment, code, says) in [
        ("no Region", vec!["verify"], &keys[..], 64, "no AWS Region is set"),
        (
            "endpoint down",
            vec!["verify", "--region=us-west-2", "--endpoint-url", unused_port],
            &keys[..],
            1,
            "endpoint `http://127.0.0.1:1` does not answer",
        ),
        (
            "no credentials",
            vec!["verify", "--region=us-west-2", "--endpoint-url", unused_port],
            &no_keys[..],
            1,
            "no AWS credentials found",
        ),
        (
            "an unknown profile, although the environment has credentials",
            vec!["verify", "--region=us-west-2", "--endpoint-url", unused_port, "--profile=nope"],
            &keys[..],
            64,
            "no profile `nope` in the AWS configuration",
        ),
    ] {
        let output = kibus(&arguments, Stdio::piped(), environment);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{case}: {text}");
        assert!(text.starts_with(&format!("error: {says}")), "{case}: {text}");
        assert!(output.stdout.is_empty(), "{case}");
    }
}

#[test]
fn an_error_names_the_variable_that_set_the_value() {
    let bootstrap = ["bootstrap-hub", "--dry-run"];
    let sandbox = ["list", "--sandbox"];
    for (arguments, variable, flag, says) in [
        (&bootstrap, "KIBUS_RETENTION=5s", None, "'5s' for 'KIBUS_RETENTION'"),
        (&bootstrap, "KIBUS_RETENTION=1d", Some("--retention=5s"), "'5s' for '--retention <DURATION>'"),
        (&bootstrap, "KIBUS_LOG_RETENTION=2d", None, "'2d' for 'KIBUS_LOG_RETENTION'"),
        (&bootstrap, "KIBUS_REBALANCE=maybe", None, "'maybe' for 'KIBUS_REBALANCE'"),
        (&bootstrap, "KIBUS_TAG=team", None, "'team' for 'KIBUS_TAG'"),
        (&bootstrap, "KIBUS_OUTPUT=xml", None, "'xml' for 'KIBUS_OUTPUT'"),
        (&bootstrap, "KIBUS_OUTPUT=json", Some("-oxml"), "'xml' for '--output <OUTPUT>'"),
        (&bootstrap, "KIBUS_BUS=A", None, "'A' for 'KIBUS_BUS'"),
        (&bootstrap, "KIBUS_CONCURRENCY=0", None, "'0' for 'KIBUS_CONCURRENCY'"),
        (&sandbox, "KIBUS_PROFILE=a", None, "'KIBUS_PROFILE'"),
    ] {
        let arguments: Vec<&str> = arguments.iter().copied().chain(flag).collect();
        let output = kibus(&arguments, Stdio::piped(), &[variable.split_once('=').unwrap()]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(64), "{variable}: {text}");
        assert!(text.contains(says), "{variable} {flag:?}: {text}");
        assert!(output.stdout.is_empty(), "{variable}");
    }
}

#[test]
fn empty_variables_count_as_unset() {
    let named = kibus(&["bootstrap-hub", "--help"], Stdio::piped(), &[]);
    let help = String::from_utf8(named.stdout).unwrap();
    let variables: Vec<&str> = help.split("[env: ").skip(1).filter_map(|rest| rest.split(']').next()).collect();
    assert!(variables.contains(&"KIBUS_RETENTION") && variables.len() > 15, "{variables:?}");
    let empty: Vec<(&str, &str)> = variables.iter().map(|name| (*name, "")).collect();
    let run = |environment: &[(&str, &str)]| {
        let mut environment = environment.to_vec();
        environment.extend([("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nonexistent")]);
        let arguments = ["bootstrap-hub", "--dry-run"];
        let output = kibus(&arguments, Stdio::piped(), &environment);
        (output.status.code(), stderr(&output))
    };
    assert_eq!(run(&empty), run(&[]));
    assert!(run(&empty).1.starts_with("error: no AWS Region is set"), "{:?}", run(&empty));
}

#[test]
fn wrong_usage_prints_no_document_and_every_other_error_does() {
    for (arguments, code) in [
        (vec!["verify"], 64),
        (vec!["nothing"], 64),
        (vec!["completions", "nothing"], 64),
        (vec!["verify", "--region=us-west-2", "--profile=nope"], 64),
        (vec!["verify", "--region=us-west-2", "--endpoint-url=http://127.0.0.1:1"], 1),
    ] {
        let arguments: Vec<&str> = arguments.into_iter().chain(["--output=json"]).collect();
        let environment = [
            ("AWS_ACCESS_KEY_ID", "111122223333"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("HOME", "/nonexistent"),
        ];
        let output = kibus(&arguments, Stdio::piped(), &environment);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        let document: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        let error = document.ok().map(|document| document["error"]["message"].is_string());
        assert_eq!(error, (code != 64).then_some(true), "{arguments:?}");
    }
}

#[test]
fn every_document_ends_silently_at_a_closed_pipe() {
    for arguments in [&["completions", "bash"][..], &["explain", "K206"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = kibus(arguments, writer.into(), &[]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{arguments:?}");
    }
}
