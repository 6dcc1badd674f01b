//! The program on the emulator, as a process of its own with the variables of an ordinary AWS configuration.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sts::config::{Credentials, SharedCredentialsProvider};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::leftovers::left;
use super::run::{Run, SECOND_VARIABLE};
use super::{ACCOUNT_VARIABLE, RECORDINGS_VARIABLE, observation};
use crate::aws_like::{Proxy, Server};
use crate::recorded::Recording;
use crate::support::emulator::plain_http;
use crate::support::inventory::Found;

/// An account on the emulator, which behaves like AWS.
struct Emulated {
    account: &'static str,
    proxy: Proxy,
    home: TempDir,
}

/// How a run ended.
struct Ended {
    succeeded: bool,
    stdout: String,
    stderr: String,
}

/// Runs a test in an account of its own, with these behaviors of AWS. Others are tried by scenarios: the story is long.
fn with(account: &'static str, behaviors: &str, test: impl AsyncFnOnce(Emulated)) {
    let server = Server::shared();
    server.runtime.block_on(async {
        let proxy = Proxy::start(server.port(), behaviors).await;
        server.route_functions(account, &proxy.like);
        let home = TempDir::new().unwrap();
        test(Emulated { account, proxy, home }).await;
    });
}

impl Emulated {
    /// The real-account test as its own process.
    fn command(&self, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "real_account::real_account", "--ignored", "--nocapture"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("AWS_ACCESS_KEY_ID", self.account)
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-west-2")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", &self.proxy.url)
            .env(SECOND_VARIABLE, "50")
            .env(RECORDINGS_VARIABLE, self.home.path().join("recordings"))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn run(&self, variables: &[(&str, &str)]) -> Ended {
        let output = self.command(variables).output().await.unwrap();
        Ended {
            succeeded: output.status.success(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Everything in the account.
    async fn left(&self) -> Vec<Found> {
        self.proxy.like.settle().await;
        let credentials = Credentials::new(self.account, "test", None, None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-west-2"))
            .http_client(plain_http())
            .endpoint_url(&self.proxy.url)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build();
        let run = Run::with(&config, self.account, "");
        left(&run, "").await.unwrap()
    }
}

#[test]
fn the_whole_story() {
    with("300000000000", "S1 S3 E1 E6 L18 L19 M5 T1", async |emulated| {
        let ended = emulated.run(&[(ACCOUNT_VARIABLE, emulated.account)]).await;
        println!("{}", ended.stdout);
        assert!(ended.succeeded, "{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(emulated.left().await, []);
        let observed = ended.stdout.lines().filter_map(|line| line.split_once(": "));
        let observed: Vec<_> = observed.map(|(id, _)| id).filter(|id| observation::is_id(id)).collect();
        assert_eq!(observed, crate::reliability::likely_rows());
        let recordings = emulated.home.path().join("recordings");
        let recorded = std::fs::read_dir(recordings).unwrap().map(|file| Recording::read(&file.unwrap().path()));
        let recorded: Vec<_> = recorded.collect();
        let rows: BTreeSet<_> = recorded.iter().flat_map(|recording| recording.rows.clone()).collect();
        assert_eq!(rows.len() + observation::NOT_HERE.len(), observed.len());
        for recording in recorded {
            assert!(!recording.answers.is_empty(), "{:?}", recording.rows);
            let text = format!("{recording:?}");
            assert!(!text.contains(emulated.account), "{text}");
        }
    });
}

/// A condition that compares `*` as a character would deny every call.
#[tokio::test]
async fn the_documented_document_is_for_every_bus_of_this_test() {
    let page = include_str!("../../docs/real-account.md");
    let sed = page.lines().find_map(|line| line.trim_start().strip_prefix("| sed ")).unwrap();
    let home = TempDir::new().unwrap();
    // The first test that asks starts the server, which blocks.
    let server = tokio::task::spawn_blocking(Server::shared).await.unwrap();
    let proxy = server.runtime.spawn(Proxy::start(server.port(), "none")).await.unwrap();
    let script = format!(
        "'{}' policy operator --bus kibus-rt-00000000 --queue-name 'kibus-rt-00000000-c-{{cluster}}' | sed {sed}",
        env!("CARGO_BIN_EXE_kibus")
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("HOME", home.path())
        .env("AWS_ACCESS_KEY_ID", "300000000005")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-west-2")
        .env("AWS_ENDPOINT_URL", &proxy.url)
        .output();
    let output = output.await.unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut patterns = BTreeSet::new();
    for statement in document["Statement"].as_array().unwrap() {
        for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
            if keys.to_string().contains('*') {
                patterns.insert(operator.clone());
            }
        }
    }
    let known = ["ArnLike", "ForAllValues:ArnEquals", "StringLike", "StringLikeIfExists"];
    assert_eq!(patterns, known.map(str::to_owned).into(), "ArnEquals compares as ArnLike does");
}

#[test]
fn nothing_happens_in_another_account_or_without_one() {
    with("300000000001", "none", async |emulated| {
        let another = "KIBUS_REAL_ACCOUNT is 444455556666, but these credentials belong to account 300000000001 \
                   (arn:aws:iam::300000000001:root). Nothing was changed. Use credentials of 444455556666.";
        let how = "Name the account to run it:\n    \
               KIBUS_REAL_ACCOUNT=111122223333 cargo test --test main real_account -- --ignored";
        for (variables, messages) in [
            (&[(ACCOUNT_VARIABLE, "444455556666")][..], &[another][..]),
            (&[], &["KIBUS_REAL_ACCOUNT is not set.", how]),
            (
                &[(ACCOUNT_VARIABLE, "prod")],
                &["KIBUS_REAL_ACCOUNT is `prod`, which is no account id of 12 digits.", how],
            ),
        ] {
            let ended = emulated.run(variables).await;
            assert!(!ended.succeeded, "{variables:?}");
            for message in messages {
                assert!(ended.stderr.contains(message), "{variables:?}: {}", ended.stderr);
            }
            assert_eq!(emulated.left().await, [], "{variables:?}");
        }
    });
}

#[test]
fn a_failed_run_leaves_nothing() {
    with("300000000002", "S9 I4", async |emulated| {
        // Bootstrap is refused. Roles and queues of the test itself exist by then.
        let variables = [(ACCOUNT_VARIABLE, emulated.account), ("KIBUS_ROUTER_BINARY", "/dev/null")];
        let ended = emulated.run(&variables).await;
        assert!(!ended.succeeded);
        assert!(ended.stderr.contains("The run failed; the reason is above. Nothing is left."), "{}", ended.stderr);
        assert_eq!(emulated.left().await, []);
    });
}

#[test]
fn an_interrupted_run_leaves_nothing_and_a_killed_one_is_cleaned_by_the_next() {
    with("300000000003", "S9 I4 E6", async |emulated| {
        for (signal, line) in [("KILL", "add-cluster kibus-rt-one"), ("INT", "bootstrap-hub"), ("TERM", "us-west-2")] {
            let mut child = emulated.command(&[(ACCOUNT_VARIABLE, emulated.account)]).spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            read_until(&mut lines, line).await;
            // In the middle of what comes after the line.
            tokio::time::sleep(Duration::from_secs(1)).await;
            send(signal, &child).await;
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
            assert!(!child.wait().await.unwrap().success(), "{signal}");
            let left = emulated.left().await;
            if signal == "KILL" {
                for wanted in ["-hub", "-router", "-c-kibus-rt-one"] {
                    let is_left = |left: &Found| format!("{left:?}").contains(wanted);
                    assert!(left.iter().any(is_left), "a killed run cleans nothing: {wanted}, {left:?}");
                }
            } else {
                assert!(stderr.contains("The run was interrupted. Nothing is left."), "{signal}: {stderr}");
                assert_eq!(left, [], "{signal}");
            }
        }
    });
}

async fn read_until(lines: &mut Lines<BufReader<ChildStdout>>, wanted: &str) {
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.ends_with(wanted) {
            return;
        }
    }
    panic!("the run ended before `{wanted}`");
}

async fn send(signal: &str, child: &Child) {
    let kill = Command::new("kill").args(["-s", signal, &child.id().unwrap().to_string()]).status().await;
    assert!(kill.unwrap().success());
}
