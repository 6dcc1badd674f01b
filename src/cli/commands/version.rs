use crate::cli::hub::Context;
use crate::error::Error;
use crate::package;
use crate::ui::Report;
use crate::ui::json::{Build, EmbeddedRouter, HublessBody};

/// Print the versions of kibus and its router, the commit, and the target.
///
/// -v also prints the routers that this kibus contains, with their hashes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(in crate::cli) const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("KIBUS_COMMIT"),
    "\ntarget: ",
    env!("KIBUS_TARGET"),
    "\nrouter: ",
    env!("CARGO_PKG_VERSION")
);

pub(super) async fn run(_: Args, context: &Context<'_>) -> Result<Report, Error> {
    let ui = context.ui;
    let routers: Vec<EmbeddedRouter> = package::ROUTERS
        .iter()
        .map(|router| EmbeddedRouter {
            architecture: router.architecture.as_str(),
            archive_sha256: router.archive_sha256,
            binary_sha256: router.binary_sha256,
            // A release builds kibus and its routers from one checkout.
            commit: env!("KIBUS_COMMIT"),
            rustc: router.rustc,
        })
        .collect();
    ui.result(&format!("kibus {LONG}"))?;
    if ui.verbose > 0 {
        ui.result(&embedded(&routers))?;
    }
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("KIBUS_COMMIT"),
        target: env!("KIBUS_TARGET"),
        router: env!("CARGO_PKG_VERSION"),
        embedded_routers: routers,
    };
    Ok(HublessBody::Build(build).into())
}

/// The embedded routers, or the file that is used instead.
fn embedded(routers: &[EmbeddedRouter]) -> String {
    if routers.is_empty() {
        let beside = package::beside_executable();
        return format!("embedded routers: none; kibus uses `{}`", beside.display());
    }
    let router = |of: &EmbeddedRouter| {
        format!(
            "embedded router for {}:\n  archive SHA-256: {}\n  binary SHA-256:  {}\n  commit:          {}\n  rustc:           {}",
            of.architecture, of.archive_sha256, of.binary_sha256, of.commit, of.rustc
        )
    };
    routers.iter().map(router).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_embedded_router_has_its_hashes_and_its_origin() {
        let (archive_sha256, binary_sha256, commit, rustc) = ("aa", "bb", "cc", "1.2.3 (dd)");
        let router = |architecture| EmbeddedRouter { architecture, archive_sha256, binary_sha256, commit, rustc };
        let expected = |name: &str| {
            format!(
                "embedded router for {name}:\n  archive SHA-256: aa\n  binary SHA-256:  bb\n  commit:          cc\n  \
                 rustc:           1.2.3 (dd)"
            )
        };
        let both = ["x86_64", "arm64"];
        assert_eq!(embedded(&both.map(router)), both.map(expected).join("\n"));
    }
}
