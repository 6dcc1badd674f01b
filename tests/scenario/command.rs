//! Runs kibus without a terminal.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::Scenario;
use super::wire::Interference;
use crate::several_hubs;
use crate::workbench::sha256;

/// Longer than any wait of kibus in a scenario.
const LONGEST: Duration = Duration::from_secs(150);

/// The signals to send to a command.
pub(super) struct Signals {
    what: String,
    /// The request that is held while they are sent. Without it, they are sent once the command is slowed down.
    held: Option<(oneshot::Receiver<()>, oneshot::Sender<()>)>,
}

impl Signals {
    /// The signals, and the interference that holds the request.
    pub(super) fn when_held(what: &str) -> (Self, Interference) {
        let (arrived, held) = oneshot::channel();
        let (go_on, leave) = oneshot::channel();
        (
            Self {
                what: what.to_owned(),
                held: Some((held, go_on)),
            },
            Interference::Hold(arrived, leave),
        )
    }

    /// The signals to send while the command waits for the rate of a service.
    pub(super) fn when_slowed(what: &str) -> Self {
        Self {
            what: what.to_owned(),
            held: None,
        }
    }

    /// Returns whether the command got the signals: it may end without the request.
    async fn send(self, child: &mut Child, mut said: watch::Receiver<String>) -> bool {
        let (mut held, go_on) = self.held.unzip();
        let begun = async {
            match &mut held {
                Some(held) => held.await.unwrap(),
                None => drop(said.wait_for(|said| said.contains("! slowed down by ")).await.unwrap()),
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
                said.wait_for(|said| said.contains("Finishing calls in flight"))
                    .await
                    .unwrap();
                if what == "interrupt-twice" {
                    signal_to(child, signal).await;
                    child.wait().await.unwrap();
                }
            }
        }
        // A killed command does not wait for it.
        let _ = go_on.map(|go_on| go_on.send(()));
        true
    }
}

async fn signal_to(child: &Child, signal: &str) {
    let script = format!("kill -s {signal} {}", child.id().unwrap());
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .status()
            .await
            .unwrap()
            .success()
    );
}

/// Runs `[NAME=VALUE ...] kibus ARGUMENT ...` and returns its output and exit status.
pub(super) async fn run(line: &str, scenario: &mut Scenario) -> String {
    let words = words(line);
    let begin = words.iter().position(|word| word == "kibus").unwrap();
    let arguments: Vec<String> = words[begin + 1..].iter().map(|word| scenario.with_hash(word)).collect();
    let has_several_hubs = words[..begin].iter().any(|pair| pair.starts_with(several_hubs::HUBS));
    let mut command = match has_several_hubs {
        true => several_hubs::command(),
        false => Command::new(env!("CARGO_BIN_EXE_kibus")),
    };
    command
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
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    match has_several_hubs {
        true => several_hubs::set_arguments(&mut command, &arguments),
        false => drop(command.args(&arguments)),
    }
    for pair in &words[..begin] {
        match pair.split_once('=').unwrap() {
            (name, "") => command.env_remove(name),
            (name, value) => command.env(name, value),
        };
    }
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let stdout = tokio::spawn(async move {
        let mut text = String::new();
        stdout.read_to_string(&mut text).await.unwrap();
        text
    });
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let (say, said) = watch::channel(String::new());
    let stderr = tokio::spawn(async move {
        while let Some(line) = lines.next_line().await.unwrap() {
            say.send_modify(|text| text.push_str(format!("! {line}").trim_end_matches(' ')));
            say.send_modify(|text| text.push('\n'));
        }
        say.borrow().clone()
    });
    let signals = scenario.signals.take();
    let ending = timeout(LONGEST, async {
        let was_sent = match signals {
            Some(signals) => signals.send(&mut child, said).await,
            None => true,
        };
        (was_sent, child.wait().await.unwrap())
    });
    let (was_sent, ending) = ending.await.unwrap_or_else(|_| panic!("`{line}` does not end"));
    let (stdout, stderr) = (stdout.await.unwrap(), stderr.await.unwrap());
    let stdout = stdout.strip_prefix(several_hubs::PREAMBLE).unwrap_or(&stdout);
    match ending.code() {
        Some(code) if was_sent => format!("{stdout}{stderr}exit {code}"),
        Some(code) => format!("{stdout}{stderr}exit {code} before the signal"),
        // How much output a killed command wrote varies.
        None => "killed".to_owned(),
    }
}

impl Scenario {
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
