//! Scenarios: scripts of commands with their whole output, in `tests/scenarios`, on the emulator with the real router.
//!
//! A line that begins with `#` is prose, with `$` a command, with `%` a directive. Its output follows; `!` precedes lines
//! of standard error. `KIBUS_TEST_UPDATE=1` writes the actual output.
//!
//! - `% sqs|iam|events|logs|lambda|ec2 OPERATION PARAMETERS`: a call by someone else
//! - `% quietly COMMAND`: a command that ends with exit code 0, whose output and calls are not shown
//! - `% last COMMAND`: a command of whose standard output only the last line is shown
//! - `% times N SERVICE OPERATION PARAMETERS`: this many calls; `NUMBER` is the number of each
//! - `% writes`: the writing calls since the last time, sorted; `% writes in order`: in their order
//! - `% remember`, `% compare`: all resources in the account, and how they changed since
//! - `% refuse OPERATION TIMES STATUS CODE MESSAGE`: these calls of kibus fail
//! - `% lose OPERATION TIMES`: they are executed, and the response is lost
//! - `% answer OPERATION TIMES BODY`: they are not executed, and this is the response
//! - `% say OPERATION MEMBER TEXT`: from now on its responses have this text in this member; `% say the truth` ends it
//! - `% interrupt|interrupt-twice|terminate|kill during OPERATION`: the next command receives a signal then
//! - `% file NAME text|cut|arm64|kibus`: a text file, a truncated router, one for another architecture, kibus
//! - `% profile NAME ACCOUNT`: a profile with keys of that account
//! - `% in REGION SERVICE OPERATION PARAMETERS`: the same in another Region; after `kms CreateKey`, `KEY_ID` is the
//!   key's id
//! - `% aws-like ID...|all|none`: from now on AWS behaves so (`tests/aws_like`), for kibus and for the functions;
//!   `% aws-like settled`: wait until all that is late has arrived; `% struck`: the ids of the behaviors that struck since
//!   the last time, `% struck ID...`: check that these are among them
//! - `% partition PARTITION`: from now on every ARN in responses to kibus, and the caller's, is in this partition;
//!   `% partitions`: the partitions of the ARNs that kibus has sent since the last time
//! - `% visible QUEUE`: wait until none of its messages is in flight
//! - `% settle`: wait until the hub queue is empty; `% messages QUEUE`: the messages in a queue; `% take QUEUE`: the same,
//!   counted and deleted

mod account;
pub(crate) mod all_together;
mod command;
mod normal;
mod partition;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::aws_like::Server;
use account::{Account, REGIONS};
use command::Signals;
use wire::{Interference, Proxy};

/// The placeholder account in scenario files.
const ACCOUNT: &str = "111122223333";

macro_rules! scenarios {
    ($($name:ident)*) => {
        const ALL: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { play(stringify!($name)); })*
    };
}

scenarios! {
    adopted_queue
    aws_like
    bad_input
    clusters
    controller_roles
    dead_letters
    deleted_clusters
    deleted_hubs
    drift_of_a_cluster
    drift_of_the_hub
    events
    failed_states
    first_hub
    foreign_version
    interrupted
    interrupted_redrive
    json
    no_answer
    no_tag_conditions
    names
    new_roles
    no_hub
    not_ours
    orphans
    partition
    policy
    queue_locks
    retagged
    retagged_hub
    router_binaries
    second_source
    self_test
    settling
    status
    teardown
    two_buses
    two_regions
}

#[test]
fn every_scenario_file_has_a_test() {
    let files = std::fs::read_dir(directory()).unwrap();
    let mut files: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut names: Vec<_> = ALL.iter().map(|name| format!("{name}.txt")).collect();
    names.sort();
    assert_eq!(files, names);
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Runs a scenario and compares its output with the file.
fn play(name: &str) {
    let path = directory().join(format!("{name}.txt"));
    let wanted = std::fs::read_to_string(&path).unwrap();
    let server = Server::shared();
    let got = server
        .runtime
        .block_on(async { Scenario::new(name, server, 0).await.play(&wanted).await });
    if wanted == got {
        return;
    }
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let diff = similar::TextDiff::from_lines(&wanted, &got);
    panic!(
        "{}\n{}",
        path.display(),
        diff.unified_diff().header("the file", "what came")
    );
}

/// A running scenario, with its own account and its own proxy to the server.
struct Scenario {
    account: Account,
    proxy: Proxy,
    directory: TempDir,
    signals: Option<Signals>,
    saved: BTreeMap<String, String>,
    /// The id of the last created KMS key.
    key: Option<String>,
    /// Each step waits until AWS has finished the step before.
    is_patient: bool,
}

impl Scenario {
    /// A scenario in an account of its own; each way to play it is another account.
    async fn new(name: &str, server: &Server, way: usize) -> Self {
        let at = ALL.iter().position(|other| *other == name).unwrap();
        let port = server.port();
        let id = format!("{:012}", 100_000_000_000 + way * 1_000 + at);
        let proxy = Proxy::start(port).await;
        server.route_functions(&id, &proxy.like);
        Self {
            account: Account {
                id,
                server: port,
                region: REGIONS[0],
            },
            proxy,
            directory: TempDir::new().unwrap(),
            signals: None,
            saved: BTreeMap::new(),
            key: None,
            is_patient: false,
        }
    }

    async fn play(mut self, text: &str) -> String {
        let mut played = String::new();
        let mut was_prose = true;
        for line in text.lines() {
            let is_prose = line.starts_with('#');
            if !is_prose && !line.starts_with("$ ") && !line.starts_with("% ") {
                continue;
            }
            if is_prose && !was_prose && !played.ends_with("\n\n") {
                played.push('\n');
            }
            was_prose = is_prose;
            played.push_str(&format!("{line}\n"));
            if !is_prose {
                let mut step = line.replace(ACCOUNT, &self.account.id);
                if let Some(key) = &self.key {
                    step = step.replace("KEY_ID", key);
                }
                if self.is_patient {
                    self.proxy.like.settle().await;
                }
                let came = self.step(&step).await;
                let came = normal::normal(&came, &self.account.id, self.proxy.port, self.directory.path());
                if !came.trim().is_empty() {
                    played.push_str(&format!("{}\n\n", came.trim_end()));
                }
            }
        }
        assert_eq!(self.proxy.take_interferences(), Vec::<String>::new(), "never asked for");
        format!("{}\n", played.trim_end())
    }

    async fn step(&mut self, line: &str) -> String {
        if let Some(command) = line.strip_prefix("$ ") {
            return command::run(command, self).await;
        }
        if let Some(command) = line.strip_prefix("% quietly ") {
            let came = command::run(command, self).await;
            assert!(came.ends_with("exit 0"), "{line}\n{came}");
            self.proxy.take_writes();
            return String::new();
        }
        if let Some(command) = line.strip_prefix("% last ") {
            let came = command::run(command, self).await;
            let lines: Vec<&str> = came.lines().collect();
            let is_result = |line: &&str| !line.starts_with("! ") && !line.starts_with("exit ");
            let last = lines.iter().rposition(is_result).unwrap_or_default();
            return lines[last..].join("\n");
        }
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        match *words.as_slice() {
            ["times", times, service, operation, ..] => {
                for number in 1..=times.parse().unwrap() {
                    let number: usize = number;
                    let parameters = words[4..].join(" ").replace("NUMBER", &number.to_string());
                    self.account.call(service, operation, &parameters).await;
                }
                String::new()
            }
            ["take", queue] => {
                let mut taken: BTreeMap<String, usize> = BTreeMap::new();
                for message in self.account.take_messages(queue).await {
                    *taken.entry(message).or_default() += 1;
                }
                let twice = taken.values().filter(|times| **times > 1).count();
                format!("{} messages, {twice} of them more than once", taken.len())
            }
            [
                service @ ("sqs" | "iam" | "events" | "logs" | "lambda" | "ec2"),
                operation,
                ..,
            ] => {
                let parameters = words[2..].join(" ");
                self.account.call(service, operation, &parameters).await;
                String::new()
            }
            ["in", region, service, operation, ..] => {
                let account = self.account.in_region(region);
                let answer = account.call(service, operation, &words[4..].join(" ")).await;
                if (service, operation) == ("kms", "CreateKey") {
                    let made: serde_json::Value = serde_json::from_str(&answer).unwrap();
                    self.key = made["KeyMetadata"]["KeyId"].as_str().map(str::to_owned);
                }
                String::new()
            }
            ["aws-like", "settled"] => {
                self.proxy.like.settle().await;
                String::new()
            }
            ["aws-like", ..] => {
                self.proxy.like.switch(&words[1..].join(" "));
                String::new()
            }
            ["struck", ..] => {
                let struck: Vec<_> = self
                    .proxy
                    .like
                    .take_struck()
                    .iter()
                    .map(|behavior| behavior.id())
                    .collect();
                let missed: Vec<_> = words[1..].iter().filter(|id| !struck.contains(id)).collect();
                assert!(missed.is_empty(), "{missed:?} did not strike, only {struck:?}");
                if words.len() == 1 {
                    struck.join(" ")
                } else {
                    String::new()
                }
            }
            ["partition", partition] => {
                self.proxy.speak_of(partition);
                String::new()
            }
            ["partitions"] => self.proxy.take_partitions().join("\n"),
            ["writes", ..] => {
                let mut writes = self.proxy.take_writes();
                if words.len() == 1 {
                    writes.sort();
                }
                if writes.is_empty() {
                    "none".to_owned()
                } else {
                    writes.join("\n")
                }
            }
            ["remember"] => {
                self.saved = self.account.dump().await;
                String::new()
            }
            ["compare"] => differences(&self.saved, &self.account.dump().await),
            ["refuse", operation, times, status, code, ..] => {
                let refusal = Interference::Refuse(
                    times.parse().unwrap(),
                    status.parse().unwrap(),
                    code.to_owned(),
                    words[5..].join(" "),
                );
                self.proxy.interfere(operation, refusal);
                String::new()
            }
            ["lose", operation, times] => {
                self.proxy
                    .interfere(operation, Interference::Lose(times.parse().unwrap()));
                String::new()
            }
            ["answer", operation, times, ..] => {
                let answer = Interference::Answer(times.parse().unwrap(), words[3..].join(" "));
                self.proxy.interfere(operation, answer);
                String::new()
            }
            ["say", "the", "truth"] => {
                self.proxy.say_the_truth();
                String::new()
            }
            ["say", operation, member, ..] => {
                self.proxy.say(operation, member, &words[3..].join(" "));
                String::new()
            }
            [signal, "during", operation] => {
                let (signals, hold) = Signals::when_held(signal);
                self.proxy.interfere(operation, hold);
                self.signals = Some(signals);
                String::new()
            }
            ["file", name, what] => {
                std::fs::write(self.directory.path().join(name), no_router(what)).unwrap();
                String::new()
            }
            ["profile", name, account] => {
                let keys = format!("[{name}]\naws_access_key_id = {account}\naws_secret_access_key = test\n");
                std::fs::create_dir(self.directory.path().join(".aws")).unwrap();
                std::fs::write(self.directory.path().join(".aws/credentials"), keys).unwrap();
                String::new()
            }
            ["settle"] => {
                self.account.settle("kibus-hub").await;
                String::new()
            }
            ["visible", queue] => {
                self.account.until_visible(queue).await;
                String::new()
            }
            ["messages", queue] => match self.account.messages(queue).await.join("\n") {
                none if none.is_empty() => "none".to_owned(),
                some => some,
            },
            _ => panic!("what is `{line}`?"),
        }
    }
}

/// The entries that differ, or exist on one side only.
fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let changed = before
        .keys()
        .chain(after.keys())
        .filter(|key| before.get(*key) != after.get(*key));
    let changed: std::collections::BTreeSet<_> = changed.map(String::as_str).collect();
    match changed.into_iter().collect::<Vec<_>>().join("\n") {
        none if none.is_empty() => "all as it was".to_owned(),
        some => some,
    }
}

/// A file that is not a valid router.
fn no_router(what: &str) -> Vec<u8> {
    let mut router = std::fs::read(env!("CARGO_BIN_EXE_kibus-router")).unwrap();
    match what {
        "text" => b"not a program".to_vec(),
        "cut" => router[..router.len() / 2].to_vec(),
        "arm64" => {
            // e_machine of the ELF header: EM_AARCH64.
            router[18] = 183;
            router
        }
        "kibus" => std::fs::read(env!("CARGO_BIN_EXE_kibus")).unwrap(),
        other => panic!("what is a router that is `{other}`?"),
    }
}
