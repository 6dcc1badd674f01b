//! What goes wrong before there is a plan: each says one clear thing, on the right stream, with its exit code.

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
fn what_was_typed_is_shown_and_not_obeyed() {
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
        let obeyed = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(obeyed, None, "{arguments:?}: {text:?}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_a_reader_that_went_away_is_silent() {
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
fn who_and_where_is_settled_first() {
    let home = TempDir::new().unwrap();
    let home = home.path().to_str().unwrap();
    let keys = [
        ("AWS_ACCESS_KEY_ID", "111122223333"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("HOME", home),
    ];
    let nobody = [("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", home)];
    let nowhere = "http://127.0.0.1:1";
    for (case, arguments, environment, code, says) in [
        ("no Region", vec!["verify"], &keys[..], 64, "no AWS Region is set"),
        (
            "nobody answers",
            vec!["verify", "--region=us-west-2", "--endpoint-url", nowhere],
            &keys[..],
            1,
            "endpoint `http://127.0.0.1:1` does not answer",
        ),
        (
            "no credentials",
            vec!["verify", "--region=us-west-2", "--endpoint-url", nowhere],
            &nobody[..],
            1,
            "no AWS credentials found",
        ),
        (
            "a profile is heard before the environment",
            vec![
                "verify",
                "--region=us-west-2",
                "--endpoint-url",
                nowhere,
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
