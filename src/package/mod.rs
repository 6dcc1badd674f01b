//! Finds, checks and packs the router binary for Lambda. The same binary always produces the same archive.

mod archive;
mod binary_hash;
mod carried;
mod elf;
mod error;
mod source;

use crate::model::resource::{Architecture, Code};
use crate::model::router_build;

pub(crate) use binary_hash::BinaryHash;
pub(crate) use carried::ROUTERS;
pub(crate) use elf::Incompatible;
pub(crate) use error::PackageError;
pub(crate) use source::{RouterSource, beside_executable};

/// The version of this build. Only a router that an option names may have another.
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

/// Reads, checks and packs a router binary, which must have this hash if one is given.
///
/// # Errors
/// It cannot be read, has another hash, is not a router that Lambda can run on this architecture, has another version than
/// this build without being named, or is too large.
pub(crate) fn package(
    router: &RouterSource,
    hash: Option<&BinaryHash>,
    wanted: Architecture,
) -> Result<Package, PackageError> {
    let (binary, archive) = router.read()?;
    if let Some(hash) = hash
        && BinaryHash::of(&binary) != *hash
    {
        return Err(PackageError::OtherHash {
            router: router.to_string(),
            found: BinaryHash::of(&binary),
            wanted: hash.clone(),
        });
    }
    let unfit = |source| PackageError::Incompatible {
        router: router.to_string(),
        source,
        wanted,
    };
    elf::check(&binary, wanted).map_err(unfit)?;
    let version = router_build::version_in(&binary).ok_or_else(|| unfit(Incompatible::NotARouter))?;
    if !matches!(router, RouterSource::Named(_)) && version != VERSION {
        return Err(PackageError::OtherVersion {
            router: router.to_string(),
            found: version.to_owned(),
            wanted: VERSION,
        });
    }
    let archive = match archive {
        Some(archive) => archive,
        None => router.pack(&binary)?,
    };
    if archive.len() > MAX_ARCHIVE {
        return Err(PackageError::TooLarge {
            router: router.to_string(),
            size: archive.len(),
        });
    }
    Ok(Package {
        code: Code::of_archive(version, BinaryHash::of(&archive).as_str()),
        archive,
    })
}
