//! Kibus for several hubs, as a program for scenarios: no command of the command line is about more than one.

use std::ffi::OsString;

use kibus::cli::CommandLine;
use tokio::process::Command;

use crate::support::transcript::Line;

/// The environment variable with the hubs: `REGION` or `REGION@PROFILE`, separated by commas.
pub(crate) const HUBS: &str = "HUBS";
/// The environment variable with the arguments of kibus, a line each.
const ARGUMENTS: &str = "ARGUMENTS";

/// The program.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "several_hubs::program", "--ignored", "--nocapture", "--quiet"]);
    command
}

/// Sets the arguments of kibus, which are no arguments of the test binary. The router is not beside it.
pub(crate) fn set_arguments(command: &mut Command, arguments: &[String]) {
    command.env(ARGUMENTS, arguments.join("\n"));
    command.env("KIBUS_ROUTER_BINARY", env!("CARGO_BIN_EXE_kibus-router"));
}

/// Removes what the test binary writes to standard output first.
pub(crate) fn remove_preamble(lines: &mut Vec<Line>) {
    if lines.iter().map(|line| line.text.as_str()).take(2).eq(["", "running 1 test"]) {
        lines.drain(..2);
    }
}

#[test]
#[ignore = "a program that scenarios run"]
#[expect(clippy::exit, reason = "a program ends with an exit code")]
fn program() {
    let arguments = std::env::var(ARGUMENTS).unwrap();
    let words = std::iter::once("kibus").chain(arguments.lines());
    let line = CommandLine::parse(words.map(OsString::from));
    let mut line = line.unwrap_or_else(|exit_code| std::process::exit(exit_code.into()));
    let named = line.hubs.remove(0);
    for hub in std::env::var(HUBS).unwrap().split(',') {
        let (region, profile) = hub.split_once('@').unzip();
        let mut address = named.clone();
        address.region = Some(region.unwrap_or(hub).parse().unwrap());
        address.profile = profile.map(str::to_owned);
        line.hubs.push(address);
    }
    std::process::exit(line.run().into());
}
