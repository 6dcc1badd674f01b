//! Kibus for several hubs, as a program for scenarios: no command of the command line is about more than one.

use std::ffi::OsString;

use kibus::cli::CommandLine;

/// The environment variable with the hubs: `REGION` or `REGION@PROFILE`, separated by commas.
pub(crate) const HUBS: &str = "HUBS";
/// The environment variable with the arguments of kibus, a line each.
pub(crate) const ARGUMENTS: &str = "ARGUMENTS";
/// The arguments that make this program of the test binary.
pub(crate) const PROGRAM: [&str; 5] = [
    "--exact",
    "several_hubs::program",
    "--ignored",
    "--nocapture",
    "--quiet",
];
/// What the test binary writes to standard output first.
pub(crate) const PREAMBLE: &str = "\nrunning 1 test\n";

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
