//! Runs kibus without a terminal.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::Scenario;
use super::account::REGIONS;
use super::interference::Interference;
use crate::support::proxy::{Held, hold};
use crate::support::transcript::{Line, Transcript};
use crate::support::workbench::sha256;

/// Longer than any wait of kibus in a scenario: a command that is killed between marking and deleting a queue leaves a
/// mark that counts for three minutes.
const LONGEST: Duration = Duration::from_secs(240);

/// What a command wrote, and how it ended.
pub(super) struct Came {
    lines: Vec<Line>,
    ending: String,
}

impl Came {
    /// Whether the exit code is 0.
    pub(super) fn succeeded(&self) -> bool {
        self.ending == "exit 0"
    }

    /// Only the last line of standard output.
    pub(super) fn last(mut self) -> Self {
        let last = self.lines.iter().rposition(|line| !line.is_error);
        let mut at = 0..;
        self.lines.retain(|line| {
            let at = at.next();
            line.is_error || at == last
        });
        self
    }
}

impl std::fmt::Display for Came {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for Line { is_error, text } in &self.lines {
            if *is_error {
                writeln!(f, "{}", format!("! {text}").trim_end_matches(' '))?
            } else {
                writeln!(f, "{text}")?
            }
        }
        f.write_str(&self.ending)
    }
}

/// The signals to send to a command.
pub(super) struct Signals {
    what: String,
    /// The request that is held while they are sent.
    held: Option<Held>,
    /// They are sent once a line of standard error starts with this text.
    says: String,
}

impl Signals {
    /// The signals, and the interference that holds the request.
    pub(super) fn when_held(what: &str, says: &str) -> (Self, Interference) {
        let (hold, held) = hold();
        let held = Some(held);
        let signals = Self::when_it_says(what, says);
        (Self { held, ..signals }, Interference::Hold(Arc::new(Mutex::new(Some(hold)))))
    }

    /// The signals to send once the command says this.
    pub(super) fn when_it_says(what: &str, says: &str) -> Self {
        Self { what: what.to_owned(), held: None, says: says.to_owned() }
    }

    /// Returns whether the command received the signals: it may end without the request.
    async fn send(mut self, child: &mut Child, mut said: watch::Receiver<Vec<Line>>) -> bool {
        let begun = async {
            if let Some(held) = &mut self.held {
                held.reached().await;
            }
            if !self.says.is_empty() {
                says(&mut said, &self.says).await;
            }
        };
        tokio::select! {
            () = begun => {}
            _ = child.wait() => return false,
        }
        match self.what.as_str() {
            "kill" => child.start_kill().unwrap(),
            what => {
                let signal = if what == "terminate" { "TERM" } else { "INT" };
                signal_to(child, signal).await;
                // A command that changes nothing ends immediately.
                tokio::select! {
                    () = says(&mut said, "Finishing the AWS calls in progress") => {}
                    _ = child.wait() => {}
                }
                if what == "interrupt-twice" {
                    signal_to(child, signal).await;
                    child.wait().await.unwrap();
                }
            }
        }
        if let Some(held) = self.held {
            held.release();
        }
        true
    }
}

/// Waits until a line of standard error starts with this text.
async fn says(said: &mut watch::Receiver<Vec<Line>>, beginning: &str) {
    let is_meant = |line: &Line| line.is_error && line.text.starts_with(beginning);
    let said = said.wait_for(|lines| lines.iter().any(is_meant));
    drop(said.await.unwrap());
}

async fn signal_to(child: &Child, signal: &str) {
    let script = format!("kill -s {signal} {}", child.id().unwrap());
    assert!(Command::new("sh").args(["-c", &script]).status().await.unwrap().success());
}

/// Runs `[NAME=VALUE ...] kibus ARGUMENT ...`.
pub(super) async fn run(line: &str, scenario: &mut Scenario) -> Came {
    let words = words(line);
    let begin = words.iter().position(|word| word == "kibus").unwrap();
    let arguments: Vec<String> = words[begin + 1..].iter().map(|word| scenario.with_hash(word)).collect();
    if scenario.has_named_clusters && arguments.first().is_some_and(|name| name == "add-cluster") {
        scenario.create_clusters(&arguments[1..]).await;
    }
    let (transcript, stdout, stderr) = Transcript::open();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kibus"));
    command
        .args(&arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", scenario.directory.path())
        .env("AWS_ACCESS_KEY_ID", &scenario.account.id)
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-west-2")
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", scenario.proxy.port))
        // Disables the instance metadata service.
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .current_dir(scenario.directory.path())
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .kill_on_drop(true);
    for pair in &words[..begin] {
        match pair.split_once('=').unwrap() {
            (name, "") => command.env_remove(name),
            (name, value) => command.env(name, value),
        };
    }
    let mut child = command.spawn().unwrap();
    drop(command);
    let signals = scenario.signals.take();
    let ending = timeout(LONGEST, async {
        let was_sent = match signals {
            Some(signals) => signals.send(&mut child, transcript.lines.clone()).await,
            None => true,
        };
        (was_sent, child.wait().await.unwrap())
    });
    let (was_sent, ending) = ending.await.unwrap_or_else(|_| panic!("`{line}` does not end"));
    let lines = transcript.end().await;
    let (lines, ending) = match ending.code() {
        Some(code) if was_sent => (lines, format!("exit {code}")),
        Some(code) => (lines, format!("exit {code} before the signal")),
        // How much output a killed command wrote varies.
        None => (Vec::new(), "killed".to_owned()),
    };
    Came { lines, ending }
}

impl Scenario {
    /// Creates the EKS clusters that a command names, in all Regions.
    async fn create_clusters(&self, arguments: &[String]) {
        let names: Vec<String> = arguments.iter().take_while(|word| !word.starts_with('-')).cloned().collect();
        for region in REGIONS {
            self.account.in_region(region).create_eks_clusters(&names).await;
        }
    }

    /// A word of a command: `sha256:NAME` is the hash of that file.
    fn with_hash(&self, word: &str) -> String {
        let file = match word.strip_prefix("sha256:") {
            None => return word.to_owned(),
            Some("router") => env!("CARGO_BIN_EXE_kibus-router").into(),
            Some(name) => self.directory.path().join(name),
        };
        sha256(&std::fs::read(file).unwrap())
    }
}

/// The words of a command line, split as a shell does, with quotes and ranges: `c{1..3}`.
fn words(line: &str) -> Vec<String> {
    quoted_words(line).into_iter().flat_map(range).collect()
}

/// The words that a word with a range stands for.
fn range(word: String) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(before, rest)| {
        let (range, after) = rest.split_once('}')?;
        let (first, last) = range.split_once("..")?;
        Some((before, first.parse::<usize>().ok()?, last.parse().ok()?, after))
    });
    match parts {
        Some((before, first, last, after)) => (first..=last).map(|n| format!("{before}{n}{after}")).collect(),
        None => vec![word],
    }
}

fn quoted_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == ' ' => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Both streams of `sh` keep their order, and a line may arrive in parts.
#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_both_streams_is_kept() {
    const SCRIPT: &str =
        "for n in 1 2 3; do echo out $n; echo err $n >&2; done; printf pa >&2; echo out 4; printf 'rt\\nend' >&2";
    let (transcript, output, error) = Transcript::open();
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", SCRIPT]).stdout(output).stderr(error);
    let status = command.status().await.unwrap();
    assert!(status.success());
    let lines: Vec<_> = transcript
        .end()
        .await
        .into_iter()
        .map(|line| format!("{}{}", if line.is_error { "! " } else { "" }, line.text))
        .collect();
    let expected = ["out 1", "! err 1", "out 2", "! err 2", "out 3", "! err 3", "out 4", "! part", "! end"];
    assert_eq!(lines, expected);
}
