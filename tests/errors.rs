//! Errors before there is a plan: message, stream and exit code.

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

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
fn a_full_disk_is_an_error_and_a_closed_pipe_is_silent() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = kibus(&["--help"], full.into(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));

    for arguments in [&["--help"][..], &["completions", "bash"], &["explain", "K206"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = kibus(arguments, writer.into(), &[]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{arguments:?}");
    }
}

/// With JSON output, each error except usage errors is in a document.
#[test]
fn usage_credentials_and_region_are_checked_first() {
    let keys = [("AWS_ACCESS_KEY_ID", "111122223333"), ("AWS_SECRET_ACCESS_KEY", "test")];
    let no_home = [("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nonexistent")];
    for (line, keys, code, says) in [
        ("nothing", &keys[..], 64, "unrecognized subcommand 'nothing'"),
        ("completions nothing", &keys, 64, "invalid value 'nothing'"),
        ("verify", &keys, 64, "no AWS Region is set"),
        // Although the environment has credentials.
        (
            "verify --region=us-west-2 --profile=nope",
            &keys,
            64,
            "profile `nope` does not exist in the AWS configuration",
        ),
        ("verify --region=us-west-2 --endpoint-url=http://127.0.0.1:1", &[], 1, "no AWS credentials found"),
        (
            "verify --region=us-west-2 --endpoint-url=http://127.0.0.1:1",
            &keys,
            1,
            "endpoint `http://127.0.0.1:1` does not answer",
        ),
    ] {
        for json in [None, Some("--output=json")] {
            let arguments: Vec<&str> = line.split(' ').chain(json).collect();
            let output = kibus(&arguments, Stdio::piped(), &[keys, &no_home].concat());
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
            assert!(text.starts_with(&format!("error: {says}")), "{arguments:?}: {text}");
            let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
            let has_document = document["error"]["message"].is_string();
            assert_eq!(has_document, json.is_some() && code != 64, "{arguments:?}: {document}");
            assert_eq!(output.stdout.is_empty(), !has_document, "{arguments:?}");
        }
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
