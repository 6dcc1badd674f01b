//! Benchmarks. Tables go to stdout.
//!
//! The router is compared with a plain router in Python. Each runs as a process against a local Runtime API and local
//! servers in place of EC2 and SQS:
//!
//! `cargo run --release --manifest-path tests/bench/Cargo.toml -- [--runs N] [--router FILE] [--python FILE]`
//!
//! Provisioning by kibus is compared with a bare client that makes the same calls, and with a script in Python. The
//! calls go to the local emulator:
//!
//! `cargo run --release --manifest-path tests/bench/Cargo.toml -- provisioning [--runs N] [--quick]
//! [--clusters N,...] [--kibus FILE] [--router FILE] [--python FILE]`
//!
//! With `--rates`, calls are throttled at the rates of AWS, and only kibus is measured.
//!
//! The time of one event through the whole bus, on the local emulator:
//!
//! `cargo run --release --manifest-path tests/bench/Cargo.toml -- at-rest [--runs N] [--kibus FILE] [--router FILE]`

mod at_rest;
mod events;
mod fake_services;
mod function;
mod measure;
mod prepare;
mod provisioning;
mod runtime_api;
mod table;
mod targets;

use std::path::PathBuf;
use std::process::ExitCode;

/// What to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Router,
    Provisioning,
    AtRest,
}

/// The command line.
struct Options {
    mode: Mode,
    /// The number of runs; by default 5 for the router, 3 for provisioning, 20 at rest.
    runs: usize,
    /// The numbers of clusters that are provisioned.
    clusters: Vec<usize>,
    /// Whether calls are throttled at the rates of AWS.
    rates: bool,
    /// Without the script for many clusters.
    quick: bool,
    /// The command line's binary; built if not given.
    kibus: Option<PathBuf>,
    /// The router's binary; built if not given.
    router: Option<PathBuf>,
    /// A Python with boto3; a virtual environment is created if not given.
    python: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut words = std::env::args().skip(1).peekable();
    let modes = [("provisioning", Mode::Provisioning, 3), ("at-rest", Mode::AtRest, 20)];
    let mode = modes.into_iter().find(|(name, ..)| words.next_if_eq(*name).is_some());
    let (_, mode, runs) = mode.unwrap_or(("", Mode::Router, 5));
    let mut options = Options {
        mode,
        runs,
        clusters: Vec::new(),
        rates: false,
        quick: false,
        kibus: None,
        router: None,
        python: None,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--runs" => options.runs = value()?.parse().map_err(|_| "--runs needs a number")?,
            "--clusters" if mode == Mode::Provisioning => {
                let sizes = value()?.split(',').map(str::parse).collect::<Result<_, _>>();
                options.clusters = sizes.map_err(|_| "--clusters needs numbers, separated by commas")?;
            }
            "--kibus" if mode != Mode::Router => options.kibus = Some(value()?.into()),
            "--rates" if mode == Mode::Provisioning => options.rates = true,
            "--quick" if mode == Mode::Provisioning => options.quick = true,
            "--router" => options.router = Some(value()?.into()),
            "--python" => options.python = Some(value()?.into()),
            _ => {
                return Err(format!(
                    "unknown argument `{word}`; use --runs N, --router FILE, --python FILE, or provisioning \
                     --runs N, --quick, --rates, --clusters N,..., --kibus FILE, --router FILE, --python FILE, or at-rest --runs N, \
                     --kibus FILE, --router FILE"
                ));
            }
        }
    }
    if options.clusters.is_empty() {
        options.clusters = if options.rates { vec![200, 1000] } else { vec![1, 50, 500, 1000] };
    }
    if options.runs == 0 {
        return Err("--runs must be at least 1".to_owned());
    }
    Ok(options)
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Measures everything. Returns whether every target is met.
async fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let options = options()?;
    match options.mode {
        Mode::Router => {}
        Mode::AtRest => {
            let (kibus, router) = (prepare::kibus(options.kibus)?, prepare::router(options.router)?);
            at_rest::run(&kibus, &router, options.runs).await?;
            return Ok(true);
        }
        Mode::Provisioning => {
            let programs = provisioning::Programs {
                kibus: prepare::kibus(options.kibus)?,
                router: prepare::router(options.router)?,
                python: if options.rates { PathBuf::new() } else { prepare::python(options.python)? },
            };
            if options.rates {
                return provisioning::run_with_rates(&programs, &options.clusters).await;
            }
            return provisioning::run(&programs, &options.clusters, options.runs, options.quick).await;
        }
    }
    let programs = prepare::programs(options.router, options.python)?;
    let bench = measure::Bench::new().await?;
    let measured = bench.run(&programs, options.runs).await?;
    Ok(table::print(&programs, &measured, options.runs))
}
