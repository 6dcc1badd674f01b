//! The commands. Each has a file with its arguments, whose comments are the help, and what it does.

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
mod man;
mod policy;
mod remove_cluster;
mod rollback;
mod sandbox;
mod status;
mod teardown;
mod verify;
pub(super) mod version;

pub(super) use policy::OF_OPERATORS;

use super::Ending;
use super::hub::Hubs;
use crate::error::Error;
use crate::ui::Ui;

macro_rules! commands {
    ($($does:ident $name:ident in $file:ident,)*) => {
        #[derive(Debug, clap::Subcommand)]
        pub(super) enum Command {
            $($name($file::Args),)*
        }

        impl Command {
            /// Runs the command; `open` connects to its hubs.
            pub(super) async fn run<'a>(
                self,
                ui: &Ui,
                open: impl AsyncFnOnce() -> Result<Hubs<'a>, Error>,
            ) -> Result<Ending, Error> {
                match self {
                    $(Self::$name(args) => commands!(@run $does $file(args, ui, open)),)*
                }
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
    (@run writes $file:ident($args:ident, $ui:ident, $open:ident)) => {{
        $ui.only_text()?;
        $file::run($args, $ui).await
    }};
    (@run prints $file:ident($args:ident, $ui:ident, $open:ident)) => {
        $file::run($args, $ui).await
    };
    (@run $reads_or_changes:ident $file:ident($args:ident, $ui:ident, $open:ident)) => {
        $file::run($args, $open().await?).await
    };
}

// In the order of the help. A command `changes` its hubs with the consent of a person, only `reads` them, `prints`
// something that is about no hub, or `writes` text that is never JSON.
commands! {
    changes BootstrapHub in bootstrap_hub,
    changes AddCluster in add_cluster,
    changes RemoveCluster in remove_cluster,
    reads Verify in verify,
    reads Status in status,
    reads List in list,
    reads Discover in discover,
    reads Events in events,
    changes DeadLetters in dead_letters,
    changes Drill in drill,
    changes Rollback in rollback,
    changes Teardown in teardown,
    prints Explain in explain,
    reads Policy in policy,
    reads Export in export,
    prints Sandbox in sandbox,
    writes Completions in completions,
    writes Man in man,
    prints Version in version,
}
