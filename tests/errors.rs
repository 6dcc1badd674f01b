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
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
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
            "a profile overrides the environment",
            vec![
                "verify",
                "--region=us-west-2",
                "--endpoint-url",
                unused_port,
                "--profile=nope",
            ],
            &keys[..],
            1,
            "no AWS credentials found",
        ),
    ] {
        let output = kibus(&arguments, Stdio::piped(), environment);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{case}: {text}");
        assert!(text.starts_with(&format!("error: {says}")), "{case}: {text}");
        assert!(output.stdout.is_empty(), "{case}");
    }
}
