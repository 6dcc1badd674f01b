//! The router as Lambda takes it: checked, and packed so that the same binary always gives the same archive.

mod archive;
mod elf;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::model::resource::{Architecture, Code};
use crate::model::router_build;

pub use elf::Unfit;

/// The file name of the router's binary.
pub const BINARY: &str = "kibus-router";

/// Our own version, which a router found beside this executable must have.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The largest archive that Lambda takes directly, in bytes (Lambda quotas).
const LARGEST_ARCHIVE: usize = 50 * 1024 * 1024;

/// A router that can be given to Lambda.
#[derive(Clone)]
pub struct Package {
    /// The archive's bytes.
    pub archive: Vec<u8>,
    /// What a function with this archive has as its code.
    pub code: Code,
}

/// Why there is no package.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// There is no such file, or it cannot be read.
    #[error("cannot read the router binary `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is no router, or not one that Lambda can run.
    #[error("`{}` cannot run as the router function", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Unfit,
        /// What the function runs on.
        wanted: Architecture,
    },
    /// It is a router of another version than this kibus, found beside it.
    #[error("`{}` is router {found}, and this is kibus {wanted}", .path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// Ours.
        wanted: &'static str,
    },
    /// Lambda does not take an archive this large.
    #[error("the archive of `{}` has {size} bytes, more than Lambda takes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The archive's size in bytes.
        size: usize,
    },
    /// It could not be packed.
    #[error("cannot pack `{}`: {reason}", .path.display())]
    Unpackable {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl From<PackageError> for Error {
    fn from(e: PackageError) -> Self {
        let error = Self::failed(e.to_string());
        let build = |wanted: Architecture| {
            format!(
                "cargo build --release --bin {BINARY} --no-default-features --features router --target {}",
                match wanted {
                    Architecture::X86_64 => "x86_64-unknown-linux-gnu",
                    Architecture::Arm64 => "aarch64-unknown-linux-gnu",
                }
            )
        };
        match e {
            PackageError::Unreadable { source, .. } => error
                .note(source.to_string())
                .hint("kibus looks for it beside its own executable; to name another, give --router-binary FILE")
                .hint_command("to build one:", build(Architecture::X86_64)),
            PackageError::Unfit { source, wanted, .. } => {
                let error = error.note(source.to_string());
                match source {
                    Unfit::Architecture(found) => error
                        .hint(format!("to run the function on {found}, give --arch {found}"))
                        .hint_command(format!("to build a router for {wanted}:"), build(wanted)),
                    _ => error.hint_command("to build one that can:", build(wanted)),
                }
            }
            PackageError::OtherVersion { .. } => error
                .note("both come from one release; a router of another version has to be named")
                .hint("to use it all the same, give --router-binary FILE"),
            PackageError::TooLarge { .. } => {
                error.hint_command("a release build is small:", build(Architecture::X86_64))
            }
            PackageError::Unpackable { .. } => error,
        }
    }
}

/// Where the router's binary is if nothing else is said: beside the executable that runs.
#[must_use]
pub fn beside_executable() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(|folder| folder.join(BINARY)))
        .unwrap_or_else(|| BINARY.into())
}

/// Reads, checks and packs a router binary. One that was `found` rather than named must have our own version.
///
/// # Errors
/// When it cannot be read, is not a router that Lambda can run on that architecture, or is too large.
pub fn package(path: &Path, found: bool, wanted: Architecture) -> Result<Package, PackageError> {
    let binary = std::fs::read(path).map_err(|source| PackageError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let unfit = |source| PackageError::Unfit {
        path: path.to_owned(),
        source,
        wanted,
    };
    elf::check(&binary, wanted).map_err(unfit)?;
    let version = router_build::version_in(&binary).ok_or_else(|| unfit(Unfit::NotARouter))?;
    if found && version != VERSION {
        return Err(PackageError::OtherVersion {
            path: path.to_owned(),
            found: version.to_owned(),
            wanted: VERSION,
        });
    }
    let archive = archive::pack(&binary).map_err(|e| PackageError::Unpackable {
        path: path.to_owned(),
        reason: e.to_string(),
    })?;
    if archive.len() > LARGEST_ARCHIVE {
        return Err(PackageError::TooLarge {
            path: path.to_owned(),
            size: archive.len(),
        });
    }
    let sha256: String = Sha256::digest(&archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Package {
        code: Code::of_archive(version, sha256),
        archive,
    })
}
