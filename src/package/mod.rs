//! Checks and packs the router binary for Lambda. The same binary always produces the same archive.

mod archive;
mod binary_hash;
mod elf;

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::resource::{Architecture, Code};
use crate::model::router_build;

pub(crate) use binary_hash::BinaryHash;
pub(crate) use elf::Incompatible;

/// The file name of the router's binary.
const BINARY: &str = "kibus-router";

/// The version of this build. A router found beside this executable must have the same version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The largest archive that Lambda accepts in a direct upload, in bytes (Lambda quotas).
const MAX_ARCHIVE: usize = 50 * 1024 * 1024;

/// A router archive that is ready to upload.
#[derive(Clone)]
pub(crate) struct Package {
    /// The archive's bytes.
    pub(crate) archive: Vec<u8>,
    /// The version and hash of a function with this archive.
    pub(crate) code: Code,
}

/// Why a router binary could not be packaged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    #[error("cannot read the router binary `{}`", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("`{}` cannot run as the router function", .path.display())]
    Incompatible {
        path: PathBuf,
        source: Incompatible,
        /// That of the function.
        wanted: Architecture,
    },
    /// The router beside this executable has another version.
    #[error("`{}` is router version {found}; this is kibus version {wanted}", .path.display())]
    OtherVersion {
        path: PathBuf,
        found: String,
        wanted: &'static str,
    },
    #[error("`{}` is not the router binary that --router-sha256 names", .path.display())]
    OtherHash {
        path: PathBuf,
        found: BinaryHash,
        wanted: BinaryHash,
    },
    #[error("the archive of `{}` has {size} bytes; Lambda accepts at most {MAX_ARCHIVE}", .path.display())]
    TooLarge { path: PathBuf, size: usize },
    #[error("cannot pack `{}`: {reason}", .path.display())]
    Unpackable { path: PathBuf, reason: String },
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
                .hint("the default is the file beside the kibus executable; pass --router-binary FILE to use another")
                .hint_command("to build it:", build(Architecture::X86_64)),
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

/// The default path of the router binary: beside the running executable.
#[must_use]
pub(crate) fn beside_executable() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(|folder| folder.join(BINARY)))
        .unwrap_or_else(|| BINARY.into())
}

/// Reads a router binary, which must have this hash if one is given.
///
/// # Errors
/// The file cannot be read, or has another hash.
pub(crate) fn read(path: &Path, hash: Option<&BinaryHash>) -> Result<Vec<u8>, PackageError> {
    let binary = std::fs::read(path).map_err(|source| PackageError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    match hash {
        Some(wanted) if BinaryHash::of(&binary) != *wanted => Err(PackageError::OtherHash {
            path: path.to_owned(),
            found: BinaryHash::of(&binary),
            wanted: wanted.clone(),
        }),
        _ => Ok(binary),
    }
}

/// Checks and packs a router binary that was read from this path. With `same_version`, the router must have the version
/// of this build.
///
/// # Errors
/// It is not a router that Lambda can run on this architecture, has another version, or is too large.
pub(crate) fn package(
    path: &Path,
    binary: &[u8],
    same_version: bool,
    wanted: Architecture,
) -> Result<Package, PackageError> {
    let unfit = |source| PackageError::Incompatible {
        path: path.to_owned(),
        source,
        wanted,
    };
    elf::check(binary, wanted).map_err(unfit)?;
    let version = router_build::version_in(binary).ok_or_else(|| unfit(Incompatible::NotARouter))?;
    if same_version && version != VERSION {
        return Err(PackageError::OtherVersion {
            path: path.to_owned(),
            found: version.to_owned(),
            wanted: VERSION,
        });
    }
    let archive = archive::pack(binary).map_err(|e| PackageError::Unpackable {
        path: path.to_owned(),
        reason: e.to_string(),
    })?;
    if archive.len() > MAX_ARCHIVE {
        return Err(PackageError::TooLarge {
            path: path.to_owned(),
            size: archive.len(),
        });
    }
    Ok(Package {
        code: Code::of_archive(version, BinaryHash::of(&archive).as_str()),
        archive,
    })
}
