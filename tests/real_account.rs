//! The program for a real account (`tests/real_account`), on the emulator that behaves like AWS.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::aws_like::{Proxy, Server};
use crate::support::account::Account;
use crate::support::emulator::installed_moto;
use crate::support::inventory::{self, Found};
use kibus_harness::recorded::Recording;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

struct Emulated {
    account: &'static str,
    proxy: Proxy,
    home: TempDir,
}

/// Runs a test in a separate account, with these AWS behaviors. Scenarios cover the others, because the story is long.
fn with(account: &'static str, behaviors: &str, test: impl AsyncFnOnce(Emulated)) {
    let server = Server::shared();
    server.runtime.block_on(async {
        let proxy = Proxy::start(server.port(), behaviors).await;
        server.route_functions(account, &proxy.like);
        test(Emulated { account, proxy, home: TempDir::new().unwrap() }).await;
    });
}

impl Emulated {
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .envs([("AWS_ACCESS_KEY_ID", self.account), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-west-2")])
            .env("AWS_ENDPOINT_URL", &self.proxy.url)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// The program, with the SDK that moto depends on.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&installed_moto().with_file_name("python"));
        let kibus = env!("CARGO_BIN_EXE_kibus");
        command.arg(format!("{ROOT}/tests/real_account")).args(["--kibus", kibus, "--second", "0.05", "--recordings"]);
        command.arg(self.recordings()).args(arguments);
        command
    }

    fn recordings(&self) -> PathBuf {
        self.home.path().join("recordings")
    }

    /// The output of the program, after it succeeds.
    async fn run(&self, arguments: &[&str]) -> String {
        let output = self.program(arguments).output().await.unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
        shown
    }

    /// Everything in the account.
    async fn left(&self) -> Vec<Found> {
        self.proxy.like.settle().await;
        inventory::all(&Account::new(self.account, Server::shared().port(), "us-west-2")).await
    }
}

#[test]
fn the_whole_story_leaves_nothing_and_observes_every_likely_row() {
    with("300000000000", "S1 S3 E1 E6 L18 L19 M5 T1", async |emulated| {
        let shown = emulated.run(&["--account", emulated.account]).await;
        println!("{shown}");
        assert_eq!(emulated.left().await, []);
        let recorded: Vec<_> = std::fs::read_dir(emulated.recordings()).unwrap().collect();
        let recorded: Vec<_> = recorded.into_iter().map(|file| Recording::read(&file.unwrap().path())).collect();
        for recording in &recorded {
            let text = format!("{recording:?}");
            assert!(!recording.answers.is_empty() && !text.contains(emulated.account), "{text}");
        }
        let seen: Vec<_> = recorded.iter().flat_map(|recording| &recording.rows).collect();
        for row in crate::reliability::likely_rows() {
            let line = shown.lines().find_map(|line| line.strip_prefix(&format!("{row}: ")));
            let line = line.unwrap_or_else(|| panic!("no line for {row} in:\n{shown}"));
            assert!(
                seen.iter().any(|seen| *seen == row) || line.starts_with("not seen here, because "),
                "{row}: {line}"
            );
        }
    });
}

#[test]
fn a_run_that_fails_or_is_interrupted_leaves_nothing_and_a_killed_one_is_cleaned_by_the_next() {
    with("300000000003", "S9 I4 E6", async |emulated| {
        let another = "--account is 444455556666, but these credentials belong to account 300000000003 \
                       (arn:aws:iam::300000000003:root). Nothing was changed. Use credentials of 444455556666.";
        let ours = ["--account", emulated.account];
        for (arguments, signal, line, message) in [
            (&[][..], None, "", "--account is not set.\n"),
            (&["--account", "prod"], None, "", "--account is `prod`, which is no account id of 12 digits.\n"),
            (&["--account", "444455556666"], None, "", another),
            (&ours, Some("KILL"), "add-cluster kibus-rt-one", ""),
            (&ours, Some("INT"), "bootstrap-hub", "The run was interrupted. Nothing is left."),
            (&ours, Some("TERM"), "us-west-2", "The run was interrupted. Nothing is left."),
            // Bootstrap is refused. By then, roles and queues of the program itself exist.
            (&ours, None, "", "The run failed; the reason is above. Nothing is left."),
        ] {
            let row = format!("{arguments:?} {signal:?}");
            let mut program = emulated.program(arguments);
            if signal.is_none() {
                program.env("KIBUS_ROUTER_BINARY", "/dev/null");
            }
            let mut child = program.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            if let Some(signal) = signal {
                while !lines.next_line().await.unwrap().expect("the run ended before").ends_with(line) {}
                // In the middle of the work after the line.
                tokio::time::sleep(Duration::from_secs(1)).await;
                let kill = Command::new("kill").args(["-s", signal, &child.id().unwrap().to_string()]).status().await;
                assert!(kill.unwrap().success());
            }
            while let Ok(Some(_)) = lines.next_line().await {}
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
            assert!(!child.wait().await.unwrap().success() && said.contains(message), "{row}: {said}");
            let left = format!("{:?}", emulated.left().await);
            let expected = if message.is_empty() { &["-hub", "-router", "-c-kibus-rt-one"][..] } else { &[] };
            assert!(expected.iter().all(|wanted| left.contains(wanted)), "{row}: {left}");
            assert_eq!(left == "[]", expected.is_empty(), "{row}: {left}");
        }
    });
}

#[test]
fn a_recording_is_played_back() {
    with("300000000004", "none", async |emulated| {
        let mut recording = Recording::read(&Path::new(ROOT).join("tests/recorded/S2.json"));
        // The emulator answers differently.
        for answer in &mut recording.answers {
            answer.body = answer.body.replace("\"first\": \"1\"", "\"first\": \"played\"");
        }
        emulated.proxy.like.play(recording);
        let shown = emulated.run(&["--account", emulated.account, "--row", "S2"]).await;
        assert!(
            shown.contains(
                "\nS2: CreateQueue with first=1, then with first=2 and second=2 (200): the tags are first=played\n"
            ),
            "{shown}"
        );
        assert_eq!(emulated.proxy.like.not_played(), Vec::<String>::new());
    });
}

/// A condition that compares `*` literally would deny every call.
#[test]
fn the_documented_policy_is_for_every_bus_of_the_program() {
    with("300000000005", "none", async |emulated| {
        let page = include_str!("../docs/real-account.md");
        let sed = page.lines().find_map(|line| line.trim_start().strip_prefix("| sed ")).unwrap();
        let kibus = env!("CARGO_BIN_EXE_kibus");
        let names = "--bus kibus-rt-00000000 --queue-name 'kibus-rt-00000000-c-{cluster}'";
        let script = format!("'{kibus}' policy operator {names} | sed {sed}");
        let output = emulated.command(Path::new("sh")).args(["-c", &script]).output().await.unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let conditions = document["Statement"].as_array().unwrap().iter();
        let conditions = conditions.filter_map(|statement| statement["Condition"].as_object()).flatten();
        let patterns =
            conditions.filter(|(_, keys)| keys.to_string().contains('*')).map(|(operator, _)| operator.as_str());
        let known = ["ArnLike", "ForAllValues:ArnEquals", "StringLike", "StringLikeIfExists"];
        assert_eq!(patterns.collect::<BTreeSet<_>>(), known.into(), "ArnEquals compares as ArnLike does");
    });
}
