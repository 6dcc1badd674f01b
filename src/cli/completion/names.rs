//! Names for candidates that are not in kibus itself: profiles from files, clusters and buses from AWS.
//!
//! AWS is asked in a process of its own, which leads a process group, for a second. What the credentials start, such as a
//! `credential_process` that waits for a person, is in that group and ends with it. Nothing in the group can read from the
//! terminal.

use std::pin::pin;
use std::process::{Output, Stdio};
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches};
use tokio::process::Command;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::VARIABLE;
use super::line::Line;
use crate::aws::{self, AwsCloud};
use crate::cli::global::Global;
use crate::cli::{Cli, parse};
use crate::model::name::{BusName, ClusterName};
use crate::sandbox::{KillSignal, signal_group};
use crate::survey::{self, Query, Survey};

/// How long a person who asks for completion waits for AWS.
const LONGEST: Duration = Duration::from_secs(1);

/// Names that AWS is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// The registered clusters of the bus on the line.
    Clusters,
    /// The buses of the account and Region.
    Buses,
}

impl Names {
    fn as_str(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Buses => "buses",
        }
    }

    /// The names that the variable asks for.
    pub(super) fn called(text: &str) -> Option<Self> {
        [Self::Clusters, Self::Buses]
            .into_iter()
            .find(|names| names.as_str() == text)
    }

    /// Asks a process of its own for the names; none if there is no answer within a second.
    pub(super) fn ask(self, line: &Line) -> Vec<String> {
        let asked = runtime().and_then(|runtime| runtime.block_on(self.output(line)));
        let text = asked.map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }

    async fn output(self, line: &Line) -> Option<Output> {
        let child = Command::new(std::env::current_exe().ok()?)
            .arg("--")
            .args(line.finished())
            .env(VARIABLE, self.as_str())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let group = child.id()?;
        let mut output = pin!(child.wait_with_output());
        match timeout(LONGEST, &mut output).await {
            Ok(output) => output.ok(),
            Err(_) => {
                signal_group(group, KillSignal::Kill);
                None
            }
        }
    }

    /// Reads the names with the global options of a command line, which may be incomplete.
    pub(super) fn read(self, words: &[String]) -> Vec<String> {
        let (Some(global), Some(runtime)) = (global(words), runtime()) else {
            return Vec::new();
        };
        // The process that asked is the first to give up, because it also ends what the credentials started. This limit is for
        // a process that was killed.
        let names = runtime.block_on(async { timeout(2 * LONGEST, self.read_from_aws(&global)).await });
        // A lookup of a host may still run.
        runtime.shutdown_background();
        names.ok().flatten().unwrap_or_default()
    }

    async fn read_from_aws(self, global: &Global) -> Option<Vec<String>> {
        let address = global.address();
        let session = address.connect().await.ok()?;
        let cloud = AwsCloud::new(&session, address.bus.clone());
        match self {
            Self::Buses => {
                let buses = survey::buses(&cloud).await.ok()?;
                Some(buses.iter().map(BusName::to_string).collect())
            }
            Self::Clusters => {
                let limit = global.concurrency.get() as usize;
                let survey = Survey::new(session.scope(address.bus));
                let guess = Query {
                    cluster_queues: [survey.queue_prefix()].into(),
                    ..Query::default()
                };
                let pass = |survey: &Survey| survey.discover().is_asked();
                let (survey, _) = survey::survey(&cloud, survey, limit, guess, pass).await.ok()?;
                Some(survey.registered().keys().map(ClusterName::to_string).collect())
            }
        }
    }
}

/// The profiles of the AWS configuration.
pub(super) fn profiles() -> Vec<String> {
    runtime().map_or_else(Vec::new, |runtime| runtime.block_on(aws::profiles()))
}

/// The global options of a command line, whatever else is wrong with it.
fn global(words: &[String]) -> Option<Global> {
    let command = parse::command(Cli::command()).ignore_errors(true);
    let matches = command.try_get_matches_from(words).ok()?;
    Global::from_arg_matches(&matches).ok()
}

fn runtime() -> Option<Runtime> {
    Builder::new_current_thread().enable_all().build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_line_has_its_global_options() {
        for line in [
            "kibus --bus b --region eu-west-1 --profile p status x",
            "kibus status x --bus b --region=eu-west-1 --profile p",
            "kibus --bus b add-cluster --region eu-west-1 a --profile p --controller-role",
            "kibus --bus b remove-cluster x --region eu-west-1 --profile p --unknown",
            "kibus --bus b --region eu-west-1 --profile p",
            "kibus --bus b --region eu-west-1 --profile p policy controller",
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let hub = global(&words).unwrap().hub;
            let region = hub.region.as_ref().map(|region| region.as_str());
            assert_eq!(
                (hub.bus.as_str(), region, hub.profile.as_deref()),
                ("b", Some("eu-west-1"), Some("p")),
                "{line}"
            );
        }
    }
}
