//! The real binary, interrupted at one of its writes, and two processes at once. Whatever happened, the same command
//! completes when it is run again, and leaves no findings. `KIBUS_TEST_SEED` chooses the writes and the pairs; without
//! it, the day does.

use std::env;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::stream::{self, StreamExt};
use hyper::Request;
use hyper::body::Bytes;
use tokio::process::Command;
use tokio::sync::Notify;

use super::bad_server::{Bad, MARK};
use super::process::{Ran, command, kibus};
use super::shown::check;
use crate::aws_like::{AwsLike, Caller, Server};
use crate::support::account::Account;
use crate::support::inventory::{self, Found};
use crate::support::proxy::{Answer, Broken, Operation, Port, asks_live_router};

/// The commands that write, in the order in which they are run.
const COMMANDS: [&str; 4] = [
    "bootstrap-hub --tag team=a --yes",
    "add-cluster base --controller-role controller --yes",
    "remove-cluster base --yes",
    "teardown --yes",
];

/// What happens at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The process is killed, and AWS does not execute the write.
    KilledBefore,
    /// AWS executes the write, and the process is killed.
    KilledAfter,
    /// AWS executes the write, and the connection breaks.
    AnswerLost,
    /// AWS executes the write and never answers. The operator presses Ctrl-C twice.
    Silent,
    /// AWS executes this write and all later ones, but a proxy gives answers that AWS never gives.
    Misread,
}

const CUTS: [Cut; 5] = [Cut::KilledBefore, Cut::Misread, Cut::KilledAfter, Cut::AnswerLost, Cut::Silent];

fn seed() -> u64 {
    let day = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / (24 * 60 * 60);
    env::var("KIBUS_TEST_SEED").map_or_else(|_| day(), |seed| seed.parse().unwrap())
}

/// A number below `among` (the finalizer of splitmix64).
fn pick(seed: u64, number: u64, among: usize) -> usize {
    let mut bits = seed.wrapping_mul(1_000).wrapping_add(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((bits ^ (bits >> 31)) % u64::try_from(among).unwrap()).unwrap()
}

#[derive(Default)]
struct State {
    writes: Vec<String>,
    /// Which of the writes is interrupted, and how.
    cut: Option<(usize, Cut)>,
}

/// An account, and a proxy that interrupts the writes of kibus.
struct Interruptible {
    account: Account,
    url: String,
    state: Arc<Mutex<State>>,
    reached: Arc<Notify>,
}

impl Interruptible {
    async fn open(server: &'static Server, id: &str) -> Self {
        let like = AwsLike::new(server.port());
        server.route_functions(id, &like);
        let (state, reached) = (Arc::<Mutex<State>>::default(), Arc::<Notify>::default());
        let (shared, notify) = (Arc::clone(&state), Arc::clone(&reached));
        let url = Port::open()
            .await
            .serve(move |request| pass(like.clone(), Arc::clone(&shared), Arc::clone(&notify), request));
        let account = Account::new(id, server.port(), "us-west-2");
        account.call("iam", "CreateRole", "RoleName=controller AssumeRolePolicyDocument={}").await;
        Self { account, url, state, reached }
    }

    fn variables(&self) -> [(&'static str, &str); 2] {
        [("AWS_ACCESS_KEY_ID", &self.account.id), ("AWS_ENDPOINT_URL", &self.url)]
    }

    async fn run(&self, line: &str) -> Ran {
        kibus(line, &self.variables()).await
    }

    async fn succeeds(&self, line: &str, case: &str) -> String {
        let ran = self.run(line).await;
        assert_eq!(ran.code, Some(0), "{case}: {line}: {}", ran.text());
        ran.stdout
    }

    /// Runs a command that is interrupted at one of its writes.
    async fn is_cut(&self, line: &str, at: usize, cut: Cut) {
        *self.state.lock().unwrap() = State { cut: Some((at, cut)), ..State::default() };
        if let Cut::AnswerLost | Cut::Misread = cut {
            check(line, &self.run(line).await.text(), &[MARK, "<html"]);
        } else {
            let mut child =
                command(line, &self.variables()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let id = child.id().unwrap().to_string();
            let reached = tokio::time::timeout(Duration::from_secs(240), self.reached.notified()).await;
            reached.unwrap_or_else(|_| panic!("{line}: {cut:?} at write {at} is never reached"));
            if cut == Cut::Silent {
                for _ in 0..2 {
                    Command::new("kill").args(["-INT", &id]).status().await.unwrap();
                    let _ = tokio::time::timeout(Duration::from_millis(500), child.wait()).await;
                }
            }
            child.kill().await.unwrap();
        }
        let State { writes, .. } = std::mem::take(&mut *self.state.lock().unwrap());
        assert!(writes.len() > at, "{line} had only {writes:?}");
    }

    /// How many writes a command makes.
    async fn writes(&self, line: &str) -> usize {
        *self.state.lock().unwrap() = State::default();
        self.succeeds(line, "recorded").await;
        self.state.lock().unwrap().writes.len()
    }

    async fn is_clean(&self, case: &str) {
        let verified = self.succeeds("verify", case).await;
        assert!(verified.contains("No findings."), "{case}: {verified}");
    }

    async fn inventory(&self) -> Vec<Found> {
        inventory::all(&self.account).await
    }

    /// Interrupts each command once, at one of its writes, and runs it again.
    async fn survives(&self, choose: impl Fn(usize) -> (usize, Cut)) {
        let nothing = self.inventory().await;
        let mut hub = Vec::new();
        for (number, line) in COMMANDS.into_iter().enumerate() {
            let (at, cut) = choose(number);
            let case = format!("`{line}`, {cut:?} at write {at}, seed {}", seed());
            self.is_cut(line, at, cut).await;
            match number {
                // There may be no hub anymore, or no cluster.
                3 => drop(self.run(line).await),
                2 => drop(self.succeeds(&format!("{line} --ignore-missing"), &case).await),
                _ => drop(self.succeeds(line, &case).await),
            }
            match number {
                0 => hub = self.inventory().await,
                2 => assert_eq!(self.inventory().await, hub, "{case}"),
                3 => assert_eq!(self.inventory().await, nothing, "{case}"),
                _ => {}
            }
            if number < 3 {
                self.is_clean(&case).await;
            }
        }
    }
}

async fn pass(
    like: AwsLike,
    state: Arc<Mutex<State>>,
    reached: Arc<Notify>,
    request: Request<Bytes>,
) -> Result<Answer, Broken> {
    let operation = Operation::of(&request);
    if operation.is_reading() || operation.name == "sqs:ReceiveMessage" || asks_live_router(&request) {
        return like.pass(request, Caller::Client).await;
    }
    let (at, cut) = {
        let mut state = state.lock().unwrap();
        state.writes.push(operation.to_string());
        (state.writes.len() - 1, state.cut)
    };
    let cut = cut.filter(|(from, cut)| at == *from || at > *from && *cut == Cut::Misread).map(|(_, cut)| cut);
    let answer = if cut == Some(Cut::KilledBefore) { None } else { Some(like.pass(request, Caller::Client).await?) };
    match cut {
        None => answer.ok_or_else(|| "no answer".into()),
        Some(Cut::AnswerLost) => Err("the answer is lost".into()),
        // AWS does not accept everything immediately.
        Some(Cut::Misread) => Ok(answer
            .filter(|answer| !answer.status().is_success())
            .unwrap_or_else(|| Bad::ALL[at % Bad::ALL.len()].answer(&operation))),
        Some(_) => {
            reached.notify_one();
            std::future::pending().await
        }
    }
}

#[test]
fn a_command_that_is_interrupted_at_a_write_completes_when_it_is_repeated() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let writes = recorded(server, "350000000000").await;
        let cycles = stream::iter([1, 2]).map(|cycle| async move {
            let bench = Interruptible::open(server, &format!("35000000000{cycle}")).await;
            let of = |command: usize| 4 * cycle + u64::try_from(command).unwrap();
            let cut = |command| {
                CUTS[(pick(seed(), 0, CUTS.len()) + command + 4 * usize::try_from(cycle).unwrap()) % CUTS.len()]
            };
            bench.survives(|command| (pick(seed(), of(command), writes[command]), cut(command))).await;
        });
        cycles.buffer_unordered(2).collect::<Vec<()>>().await;
    });
}

/// `cargo test --test main every_write -- --ignored`
#[test]
#[ignore = "takes minutes; some of the writes are cut with all tests"]
fn every_write_may_be_interrupted() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let writes = recorded(server, "360000000000").await;
        let most = *writes.iter().max().unwrap();
        let all = stream::iter((0..most).flat_map(|at| CUTS.map(|cut| (at, cut))).enumerate());
        let cycles = all.map(|(number, (at, cut))| async move {
            let bench = Interruptible::open(server, &format!("36{:010}", number + 1)).await;
            bench.survives(|command| (at % writes[command], cut)).await;
        });
        cycles.buffer_unordered(3).collect::<Vec<()>>().await;
    });
}

/// How many writes each command makes.
async fn recorded(server: &'static Server, account: &str) -> [usize; 4] {
    let bench = Interruptible::open(server, account).await;
    let mut writes = [0; 4];
    for (line, count) in COMMANDS.into_iter().zip(&mut writes) {
        *count = bench.writes(line).await;
    }
    assert!(writes[0] > 20 && writes.iter().all(|count| *count > 2), "{writes:?}");
    writes
}

/// Commands for two processes at once, on a hub with a cluster.
const CHANGES: [&str; 7] = [
    "bootstrap-hub --tag team=b --yes",
    "bootstrap-hub --memory 512 --yes",
    "bootstrap-hub --rebalance --yes",
    "add-cluster base --controller-role controller --tag x=y --yes",
    "add-cluster two --no-controller-role --yes",
    "remove-cluster base --ignore-missing --yes",
    "remove-cluster two base --ignore-missing --yes",
];

async fn converge(server: &'static Server, account: &str, pairs: impl Iterator<Item = (usize, usize)>) {
    let bench = Interruptible::open(server, account).await;
    bench.succeeds(COMMANDS[0], "before").await;
    bench.succeeds(COMMANDS[1], "before").await;
    for (one, other) in pairs {
        let (one, other) = (CHANGES[one], CHANGES[other]);
        let (first, second) = tokio::join!(bench.run(one), bench.run(other));
        let case = format!("seed {}, at once: {one}:\n{}{other}:\n{}", seed(), first.text(), second.text());
        bench.succeeds(one, &case).await;
        bench.succeeds(other, &case).await;
        bench.is_clean(&case).await;
    }
}

#[test]
fn two_processes_at_once_converge_when_they_are_repeated() {
    let server = Server::shared();
    let pairs = (0..3).map(|number| {
        let one = pick(seed(), 100 + number, CHANGES.len());
        (one, (one + 1 + pick(seed(), 200 + number, CHANGES.len() - 1)) % CHANGES.len())
    });
    server.runtime.block_on(converge(server, "370000000000", pairs));
}

/// `cargo test --test main any_two_processes -- --ignored`
#[test]
#[ignore = "takes minutes; some of the pairs run with all tests"]
fn any_two_processes_at_once_converge() {
    let server = Server::shared();
    let all = 0..CHANGES.len();
    let pairs = all.clone().flat_map(|one| all.clone().map(move |other| (one, other)));
    server.runtime.block_on(converge(server, "380000000000", pairs));
}
