//! The benchmark of the router: the function's binary, and beside it a plain router in Python, each as a process that
//! asks a local Runtime API for events and speaks to local stand-ins of EC2 and SQS. Tables go to stdout.
//!
//! `cargo run --release --manifest-path tests/bench/Cargo.toml -- [--runs N] [--quick] [--router FILE] [--python FILE]`

mod events;
mod function;
mod measure;
mod prepare;
mod runtime_api;
mod table;
mod tls;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

/// What was asked for.
struct Options {
    /// How often each thing is measured.
    runs: usize,
    /// Leave out the rows that take long.
    quick: bool,
    /// The router's binary; built if none is named.
    router: Option<PathBuf>,
    /// A Python that has boto3; a virtual environment is made if none is named.
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
                    "unknown argument `{word}`; there are --runs N, --quick, --router FILE, --python FILE"
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

/// Measures everything, and says whether every figure is reached.
async fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let options = options()?;
    let programs = prepare::programs(options.router, options.python)?;
    let bench = measure::Bench::new(options.quick).await?;
    let measured = bench.run(&programs, options.runs).await?;
    Ok(table::print(&programs, &measured, options.runs))
}
