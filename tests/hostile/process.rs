//! Runs kibus with the variables that a test gives, and no others.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// Longer than any command of these tests takes, even with all concurrent tests.
const LONGEST: Duration = Duration::from_secs(300);

pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// The command in the Region of the tests. If the wait is dropped, the command is killed.
pub(crate) fn command(line: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kibus"));
    command
        .args(line.split_whitespace())
        .env_clear()
        .envs([("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-west-2"), ("AWS_EC2_METADATA_DISABLED", "true")])
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

pub(crate) async fn kibus(line: &str, variables: &[(&str, &str)]) -> Ran {
    let output = tokio::time::timeout(LONGEST, command(line, variables).output()).await;
    let output = output.unwrap_or_else(|_| panic!("`{line}` does not end")).unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    Ran { code: output.status.code(), stdout, stderr }
}
