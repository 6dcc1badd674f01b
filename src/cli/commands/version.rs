use crate::cli::Ending;
use crate::error::Error;
use crate::ui::json::Build;
use crate::ui::{Report, Ui};

/// Print the versions of kibus and its router, the commit, and the target.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

/// The version, the commit and the target.
pub(in crate::cli) const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("KIBUS_COMMIT"),
    "\ntarget: ",
    env!("KIBUS_TARGET"),
    "\nrouter: ",
    env!("CARGO_PKG_VERSION")
);

pub(super) async fn run(_: Args, ui: &Ui) -> Result<Ending, Error> {
    ui.result(&format!("kibus {LONG}"))?;
    ui.report(&Report {
        build: Some(Build {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("KIBUS_COMMIT"),
            target: env!("KIBUS_TARGET"),
            router: env!("CARGO_PKG_VERSION"),
        }),
        ..Report::default()
    })?;
    Ok(Ending::Done)
}
