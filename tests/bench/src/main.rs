//! The benchmark of the router, compared with a plain router in Python. Each runs as a process against a local Runtime API
//! and local servers in place of EC2 and SQS. Tables go to stdout.
//!
//! `cargo run --release --manifest-path tests/bench/Cargo.toml -- [--runs N] [--quick] [--router FILE] [--python FILE]`

mod events;
mod fake_services;
mod function;
mod measure;
mod prepare;
mod runtime_api;
mod table;
mod tls;

use std::path::PathBuf;
use std::process::ExitCode;

/// The command line.
struct Options {
    /// How many runs.
    runs: usize,
    /// Without the slow rows.
    quick: bool,
    /// The router's binary; built if not given.
    router: Option<PathBuf>,
    /// A Python with boto3; a virtual environment is created if not given.
    python: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        runs: 5,
        quick: false,
        router: None,
        python: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--runs" => options.runs = value()?.parse().map_err(|_| "--runs needs a number")?,
            "--quick" => options.quick = true,
            "--router" => options.router = Some(value()?.into()),
            "--python" => options.python = Some(value()?.into()),
            _ => {
                return Err(format!(
                    "unknown argument `{word}`; use --runs N, --quick, --router FILE, --python FILE"
                ));
            }
        }
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

/// Measures everything. Gives whether every target is met.
async fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let options = options()?;
    let programs = prepare::programs(options.router, options.python)?;
    let bench = measure::Bench::new(options.quick).await?;
    let measured = bench.run(&programs, options.runs).await?;
    Ok(table::print(&programs, &measured, options.runs))
}
