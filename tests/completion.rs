//! Completion as a shell requests it: names from an emulator, and silence if there is no answer.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;

use crate::support::proxy::Port;
use crate::support::stage::Stage;

/// How long kibus waits for an answer.
const WAITED: Duration = Duration::from_secs(1);

/// How often a user retries. A machine under load may not answer in time.
const ATTEMPTS: usize = 30;

/// Requests candidates from kibus as the script for fish does.
fn ask(words: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kibus"))
        .arg("--")
        .args(words)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("KIBUS_COMPLETE", "fish")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The words on each of these lines after an interactive bash has inserted every candidate. The variables of `kibus` point to the emulator.
fn typed(program: &Path, kibus: &Command, config: &Path, lines: &[String]) -> Vec<String> {
    let terminal = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/completion/terminal.py");
    let variables = kibus.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let output = Command::new("python3")
        .arg(terminal)
        .arg(program)
        .args(lines)
        .envs(variables)
        .env("AWS_CONFIG_FILE", config)
        .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
        .env("TERM", "dumb")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn bash_completes_names() {
    let stage = Stage::new().await;
    for line in [
        "bootstrap-hub --yes",
        "bootstrap-hub --bus second --yes",
        "add-cluster tenant-1 tenant-2 base --no-controller-role --yes",
    ] {
        let output = stage.kibus(line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("a folder");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("kibus");
    symlink(env!("CARGO_BIN_EXE_kibus"), &program).unwrap();
    let config = directory.path().join("config");
    fs::write(&config, "[profile prod]\n[profile two words]\n[profile dev]\n").unwrap();
    let port = stage.port();
    let fill = |line: &str| {
        let spaced = format!("kibus --region us-west-2 --endpoint-url http://127.0.0.1:{port}");
        line.replace("SPACED", &spaced).replace("EQUALS", &spaced.replace("n us", "n=us").replace("l http", "l=http"))
    };
    let rows = [
        ("SPACED status ten", "SPACED status tenant-1 tenant-2"),
        ("EQUALS verify ba", "EQUALS verify base"),
        ("SPACED remove-cluster tenant-1 ", "SPACED remove-cluster tenant-1 base tenant-2"),
        ("SPACED --bus ", "SPACED --bus kibus second"),
        // Bash splits words at `=`, and clap does not complete parts of words.
        ("EQUALS --bus=sec", "EQUALS --bus=sec"),
        ("EQUALS --bus=second status ten", "EQUALS --bus=second status ten"),
        ("SPACED --bus second status ten", "SPACED --bus second status ten"),
        ("kibus --region us-gov-", "kibus --region us-gov-east-1 us-gov-west-1"),
        ("kibus list --profile ", "kibus list --profile dev prod"),
        ("kibus explain K106", "kibus explain K106"),
    ];
    let lines: Vec<String> = rows.iter().map(|(line, _)| fill(line)).collect();
    let expected: Vec<String> = rows.iter().map(|(_, expected)| fill(expected)).collect();
    let mut completed = Vec::new();
    for _ in 0..ATTEMPTS {
        completed = typed(&program, &stage.kibus(""), &config, &lines);
        if completed == expected {
            break;
        }
    }
    assert_eq!(completed, expected);

    // The attempts above would hide answers that are often late.
    let asked = fill("SPACED status ten");
    let words: Vec<&str> = asked.split(' ').collect();
    let command = stage.kibus("");
    let variables: Vec<_> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?))).collect();
    let fastest = (0..ATTEMPTS).map(|_| {
        let begun = Instant::now();
        let answer = ask(&words, &variables);
        if answer.stdout == b"tenant-1\ntenant-2\n" { begun.elapsed() } else { Duration::MAX }
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest < WAITED / 2, "the fastest of {ATTEMPTS} answers takes {fastest:?}");
}

#[tokio::test]
async fn no_answer_is_no_error() {
    // A port on which nothing listens.
    let endpoint = format!("http://127.0.0.1:{}", Port::open().await.number());
    let keys = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    let words = ["kibus", "--region", "us-west-2", "--endpoint-url", &endpoint, "status", "te"];
    for (words, variables) in [
        (&words[..], &keys[..]),
        (&words, &[]),
        // No Region.
        (&["kibus", "status", "te"], &keys),
        (&["kibus", "--bus", "Not A Bus", "status", "te"], &keys),
        (&["kibus", "--profile", "te"], &[("AWS_CONFIG_FILE", "/dev/null/config")]),
        (&["kibus", "status", "--sandbox", "te"], &[("KIBUS_SANDBOX_HOME", "/dev/null")]),
        (&[], &[]),
    ] {
        let output = ask(words, variables);
        let seen = (output.status.code(), output.stdout.as_slice(), output.stderr.as_slice());
        assert_eq!(seen, (Some(0), &b""[..], &b""[..]), "{words:?}");
    }
}

#[test]
fn a_variable_alone_changes_no_command() {
    for value in ["bash", "", "0", "nonsense"] {
        let output = Command::new(env!("CARGO_BIN_EXE_kibus"))
            .args(["explain", "K101"])
            .env("KIBUS_COMPLETE", value)
            .output()
            .unwrap();
        assert!(output.stdout.starts_with(b"K101"), "{value}");
    }
}

#[test]
fn credentials_that_wait_for_a_person_are_given_up() {
    let directory = TempDir::new().unwrap();
    let alive = directory.path().join("alive");
    assert!(Command::new("mkfifo").arg(&alive).status().unwrap().success());
    let config = directory.path().join("config");
    // The process holds the pipe open while it runs.
    let process = format!("exec sleep 3600 > {}", alive.display());
    fs::write(&config, format!("[default]\nregion = us-west-2\ncredential_process = {process}\n")).unwrap();
    // Returns when the process has ended.
    let ended = thread::spawn(move || fs::read(alive).unwrap());
    for _ in 0..ATTEMPTS {
        let output = ask(
            &["kibus", "status", "te"],
            &[("AWS_CONFIG_FILE", config.to_str().unwrap()), ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")],
        );
        assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
        if ended.is_finished() {
            return;
        }
    }
    panic!("the credential process is still running");
}
