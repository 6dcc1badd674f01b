//! The commands. Each has a file with its arguments and its implementation. The comments of the arguments are the help.

mod add_cluster;
mod bootstrap_hub;
pub(super) mod completions;
mod dead_letters;
mod discover;
mod drill;
mod events;
mod explain;
mod export;
mod list;
mod policy;
mod remove_cluster;
mod rollback;
mod sandbox;
mod status;
mod teardown;
mod verify;
pub(super) mod version;

use super::hub::Context;
use crate::error::Error;
use crate::ui::Report;

macro_rules! commands {
    ($($does:ident $name:ident in $file:ident,)*) => {
        #[derive(Debug, clap::Subcommand)]
        pub(super) enum Command {
            $($name($file::Args),)*
        }

        impl Command {
            pub(super) async fn run(self, context: &Context<'_>) -> Result<Report, Error> {
                match self {
                    $(Self::$name(args) => $file::run(args, context).await.map(Report::from),)*
                }
            }

            /// Whether the command writes documents until it is stopped, one per line.
            pub(super) fn is_stream(&self) -> bool {
                matches!(self, Self::Events(args) if args.follow)
            }

            /// The files of the commands that change something.
            #[cfg(test)]
            pub(super) fn changing() -> Vec<&'static str> {
                let commands = [$((stringify!($does), stringify!($file)),)*];
                let changing = commands.into_iter().filter(|(does, _)| *does == "changes");
                changing.map(|(_, file)| file).collect()
            }
        }
    };
}

// In the order of the help. A command `changes` something after confirmation, or only `shows` something.
commands! {
    changes BootstrapHub in bootstrap_hub,
    changes AddCluster in add_cluster,
    changes RemoveCluster in remove_cluster,
    shows Verify in verify,
    shows Status in status,
    shows List in list,
    shows Discover in discover,
    shows Events in events,
    changes DeadLetters in dead_letters,
    changes Drill in drill,
    changes Rollback in rollback,
    changes Teardown in teardown,
    shows Explain in explain,
    shows Policy in policy,
    shows Export in export,
    shows Sandbox in sandbox,
    shows Completions in completions,
    shows Version in version,
}
