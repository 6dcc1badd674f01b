//! Why a router binary could not be packaged, and what to do about it.

use std::path::PathBuf;

use super::{BinaryHash, MAX_ARCHIVE, ROUTERS};
use crate::error::Error;
use crate::model::resource::Architecture;

/// Why a router binary could not be packaged. `router` is where it comes from, in words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    #[error("cannot read the router binary `{}`", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// Only routers for other architectures are embedded.
    #[error("this kibus has no embedded router for {wanted}")]
    NotCarried {
        wanted: Architecture,
        carried: Vec<Architecture>,
    },
    #[error("{router} cannot run as the router function")]
    Incompatible {
        router: String,
        source: Incompatible,
        wanted: Architecture,
    },
    /// The router beside this executable has another version.
    #[error("{router} is router version {found}; this is kibus version {wanted}")]
    OtherVersion {
        router: String,
        found: String,
        wanted: &'static str,
    },
    #[error("{router} is not the router binary that --router-sha256 names")]
    OtherHash {
        router: String,
        found: String,
        wanted: BinaryHash,
    },
    #[error("the archive of {router} has {size} bytes; Lambda accepts at most {MAX_ARCHIVE}")]
    TooLarge { router: String, size: usize },
    #[error("cannot pack {router}: {reason}")]
    Unpackable { router: String, reason: String },
}

/// Why a binary cannot run as the router function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Incompatible {
    #[error("it is not a 64-bit Linux executable (ELF)")]
    NotElf,
    #[error("it is built for {0}")]
    Architecture(Architecture),
    #[error("it is built for an architecture that Lambda does not support")]
    OtherArchitecture,
    #[error("it needs GLIBC_{}.{}; the runtime provided.al2023 has glibc 2.34", .0.0, .0.1)]
    Glibc((u32, u32)),
    #[error("it is an executable but not a kibus router")]
    NotARouter,
}

/// The command that builds a router.
fn build(wanted: Architecture) -> String {
    let target = match wanted {
        Architecture::X86_64 => "x86_64-unknown-linux-gnu",
        Architecture::Arm64 => "aarch64-unknown-linux-gnu",
    };
    format!("cargo build --release --bin kibus-router --no-default-features --features router --target {target}")
}

impl From<PackageError> for Error {
    fn from(e: PackageError) -> Self {
        let error = Self::failed(e.to_string());
        match e {
            PackageError::Unreadable { source, .. } => {
                let default = match ROUTERS {
                    [] => "the file beside the kibus executable",
                    _ => "the router embedded in kibus",
                };
                error
                    .note(source.to_string())
                    .hint(format!(
                        "the default is {default}; pass --router-binary FILE to use another"
                    ))
                    .hint_command("to build it:", build(Architecture::X86_64))
            }
            PackageError::NotCarried { wanted, carried } => {
                let carried: Vec<_> = carried.iter().map(Architecture::to_string).collect();
                let carried = carried.join(" and ");
                error
                    .note(format!("it has the router for {carried}"))
                    .hint(format!("to run the function on {carried}, pass --arch {carried}"))
                    .hint_command(
                        format!("to use a router for {wanted}, build it and pass it with --router-binary FILE:"),
                        build(wanted),
                    )
            }
            PackageError::Incompatible { source, wanted, .. } => {
                let error = error.note(source.to_string());
                match source {
                    Incompatible::Architecture(found) => error
                        .hint(format!("to run the function on {found}, pass --arch {found}"))
                        .hint_command(format!("to build a router for {wanted}:"), build(wanted)),
                    _ => error.hint_command("to build a compatible router:", build(wanted)),
                }
            }
            PackageError::OtherVersion { .. } => error
                .note("by default, kibus uses only a router of its own version")
                .hint("to use it anyway, pass --router-binary FILE"),
            PackageError::OtherHash { found, wanted, .. } => {
                error.note(format!("its SHA-256 is {found}, not {wanted}")).hint(
                    "compare both with the published checksum, and pass the file that has it with --router-binary FILE",
                )
            }
            PackageError::TooLarge { .. } => error.hint_command(
                "to build a smaller one, without debug information:",
                build(Architecture::X86_64),
            ),
            PackageError::Unpackable { .. } => error,
        }
    }
}
