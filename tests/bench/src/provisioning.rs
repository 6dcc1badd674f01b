//! The benchmark of provisioning: kibus, a bare client that makes the same calls, and a script in Python.

pub mod emulator;
mod floor;
mod proxy;
mod rates;
mod table;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use emulator::Emulator;
use proxy::Proxy;

const REGION: &str = "us-west-2";
/// The accounts that kibus, the bare client and the script work in. The ids have the same length, so that calls have the same length.
const ACCOUNTS: [&str; 3] = ["111111111111", "222222222222", "333333333333"];
/// The script runs several times only for up to this many clusters: it is slow, and its time is proportional to their number.
const SCRIPT_REPEATED: usize = 50;

/// The programs.
pub struct Programs {
    /// The command line.
    pub kibus: PathBuf,
    /// The function's binary, for the hub.
    pub router: PathBuf,
    /// A Python with boto3.
    pub python: PathBuf,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// `add-cluster` of new clusters, whose roles exist.
    Add,
    /// The command again.
    NoChange,
    /// `verify`.
    Verify,
    /// `remove-cluster` of all clusters; only measured with rates.
    Remove,
}

const CASES: [Case; 3] = [Case::Add, Case::NoChange, Case::Verify];
const CASES_WITH_RATES: [Case; 4] = [Case::Add, Case::NoChange, Case::Verify, Case::Remove];

/// A case in one run.
struct Measured {
    clusters: usize,
    case: Case,
    kibus: Ran,
    calls: usize,
    round_trips: usize,
    /// The calls that were repeated with the same parameters.
    repeated: Vec<String>,
    floor: Duration,
    script: Option<Ran>,
}

/// A process that has ended.
#[derive(Clone, Copy)]
pub struct Ran {
    took: Duration,
    /// Its peak resident memory, in KiB.
    memory: u64,
}

/// Measures everything; a quick benchmark has no script for many clusters. Returns whether every target is met.
pub async fn run(programs: &Programs, sizes: &[usize], runs: usize, quick: bool) -> Result<bool, Box<dyn Error>> {
    let mut measured = Vec::new();
    for &size in sizes {
        for run in 1..=runs {
            eprintln!("{size} clusters, run {run} of {runs}");
            let with_script = size <= SCRIPT_REPEATED || (run == 1 && !quick);
            measured.extend(measure(programs, size, with_script).await?);
        }
    }
    Ok(table::print(&measured, sizes, runs))
}

async fn measure(programs: &Programs, size: usize, with_script: bool) -> Result<Vec<Measured>, Box<dyn Error>> {
    let clusters = names(size);
    let emulator = Emulator::start(&programs.kibus)?;
    for account in ACCOUNTS {
        emulator.create_roles(account, &clusters).await;
    }
    let [ours, bare, scripts] = ACCOUNTS;
    emulator.bootstrap(ours, &programs.router).await?;
    let proxy = Proxy::start(emulator.port, false).await;
    let mut measured = Vec::new();
    for case in CASES {
        let mut command = process(&programs.kibus, &proxy.url, ours);
        command.args(arguments(case, &clusters));
        let kibus = ran(command).await?;
        let calls = proxy.take();
        // Read-only cases can use the same account.
        let account = if case == Case::Add { bare } else { ours };
        let floor = floor::replay(&proxy.url, &calls, (ours, account)).await.map_err(|e| e.to_string())?;
        let script = if case != Case::Verify && with_script {
            let mut command = process(&programs.python, &proxy.url, scripts);
            command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("boto3_add.py")).args(&clusters);
            Some(ran(command).await?)
        } else {
            None
        };
        proxy.take();
        let (round_trips, repeated) = (proxy::round_trips(&calls), proxy::repeated(&calls));
        let calls = calls.len();
        measured.push(Measured { clusters: size, case, kibus, calls, round_trips, repeated, floor, script });
    }
    for cluster in [clusters.first(), clusters.last()].into_iter().flatten() {
        let expected = emulator.state(ours, cluster).await?;
        let others = if with_script { &[bare, scripts][..] } else { &[bare] };
        for account in others {
            let state = emulator.state(account, cluster).await?;
            if state != expected {
                return Err(format!("the end states differ:\n{expected}\n{state}").into());
            }
        }
    }
    Ok(measured)
}

/// A case where calls are throttled.
struct Throttled {
    clusters: usize,
    case: Case,
    kibus: Ran,
    calls: usize,
    throttled: usize,
}

/// Measures kibus where calls are throttled. Returns whether every target is met.
pub async fn run_with_rates(programs: &Programs, sizes: &[usize]) -> Result<bool, Box<dyn Error>> {
    let mut measured = Vec::new();
    for &size in sizes {
        eprintln!("{size} clusters, with rates");
        let clusters = names(size);
        let emulator = Emulator::start(&programs.kibus)?;
        let account = ACCOUNTS[0];
        emulator.create_roles(account, &clusters).await;
        emulator.bootstrap(account, &programs.router).await?;
        let proxy = Proxy::start(emulator.port, true).await;
        for case in CASES_WITH_RATES {
            // The buckets are full again.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let mut command = process(&programs.kibus, &proxy.url, account);
            command.args(arguments(case, &clusters));
            let kibus = ran(command).await?;
            let calls = proxy.take();
            let throttled = calls.iter().filter(|call| call.is_throttled).count();
            measured.push(Throttled { clusters: size, case, kibus, calls: calls.len(), throttled });
        }
    }
    Ok(table::print_with_rates(&measured))
}

fn names(size: usize) -> Vec<String> {
    (1..=size).map(|number| format!("c{number:04}")).collect()
}

fn arguments(case: Case, clusters: &[String]) -> Vec<String> {
    let words: &[&str] = match case {
        Case::Add | Case::NoChange => &["add-cluster", "--yes"],
        Case::Verify => return vec!["verify".to_owned()],
        Case::Remove => &["remove-cluster", "--yes"],
    };
    words.iter().map(|word| (*word).to_owned()).chain(clusters.iter().cloned()).collect()
}

/// A process that calls the emulator in an account, which is its access key.
pub fn process(program: &Path, endpoint: &str, account: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("AWS_") || name.starts_with("KIBUS_") && name != "KIBUS_CONCURRENCY" {
            command.env_remove(name.as_ref());
        }
    }
    command.envs([
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", account),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", REGION),
        ("AWS_DEFAULT_REGION", REGION),
        ("AWS_CONFIG_FILE", "/dev/null"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ]);
    command
}

/// Runs a process to its end, which must be successful.
pub async fn ran(mut command: Command) -> Result<Ran, Box<dyn Error>> {
    let begun = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let status = format!("/proc/{}/status", child.id().ok_or("no process")?);
    // The kernel's own figure for a finished process includes the memory of the process that started it.
    let watch = tokio::spawn(async move {
        let mut peak = 0;
        while let Ok(text) = std::fs::read_to_string(&status) {
            let line = text.lines().find(|line| line.starts_with("VmHWM:"));
            let value = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            peak = peak.max(value.unwrap_or(0));
            tokio::time::sleep(Duration::from_millis(10)).await;
            if value.is_none() {
                break;
            }
        }
        peak
    });
    let output = child.wait_with_output().await?;
    let took = begun.elapsed();
    if !output.status.success() {
        let texts = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        return Err(format!("{:?}: {}\n{}", command.as_std(), output.status, texts.concat()).into());
    }
    Ok(Ran { took, memory: watch.await? })
}
