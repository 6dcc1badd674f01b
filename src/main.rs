//! The command line: parse, run, end with an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(kibus::cli::main(std::env::args_os()))
}
