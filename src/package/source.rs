//! Where the router binary comes from.

use std::fmt;
use std::path::{Path, PathBuf};

use super::archive;
use super::carried::CarriedRouter;
use super::error::PackageError;
use crate::model::resource::Architecture;

/// The file name of the router's binary.
const BINARY: &str = "kibus-router";

/// Where a router binary comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RouterSource {
    /// The file that an option names. It may have any version.
    Named(PathBuf),
    /// The file beside the running executable.
    Beside(PathBuf),
    /// This build.
    Carried(CarriedRouter),
}

impl RouterSource {
    /// The router for this architecture: the named file; without one, the embedded router; and in a build without any
    /// embedded router, the file beside the executable.
    ///
    /// # Errors
    /// Only routers for other architectures are embedded.
    pub(crate) fn of(
        named: Option<&Path>,
        carried: &[CarriedRouter],
        wanted: Architecture,
    ) -> Result<Self, PackageError> {
        if let Some(path) = named {
            return Ok(Self::Named(path.to_owned()));
        }
        if carried.is_empty() {
            return Ok(Self::Beside(beside_executable()));
        }
        let router = carried.iter().find(|router| router.architecture == wanted);
        router
            .copied()
            .map(Self::Carried)
            .ok_or_else(|| PackageError::NotCarried {
                wanted,
                carried: carried.iter().map(|router| router.architecture).collect(),
            })
    }

    /// The binary; with the archive, if it is packed already.
    pub(super) fn read(&self) -> Result<(Vec<u8>, Option<Vec<u8>>), PackageError> {
        match self {
            Self::Named(path) | Self::Beside(path) => {
                let binary = std::fs::read(path);
                let binary = binary.map_err(|source| PackageError::Unreadable {
                    path: path.clone(),
                    source,
                })?;
                Ok((binary, None))
            }
            Self::Carried(router) => {
                let (archive, binary) = router.unpack()?;
                Ok((binary, Some(archive)))
            }
        }
    }

    /// Packs a binary that was read from here.
    pub(super) fn pack(&self, binary: &[u8]) -> Result<Vec<u8>, PackageError> {
        archive::pack(binary).map_err(|e| PackageError::Unpackable {
            router: self.to_string(),
            reason: e.to_string(),
        })
    }
}

impl fmt::Display for RouterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(path) | Self::Beside(path) => write!(f, "`{}`", path.display()),
            Self::Carried(router) => write!(f, "the embedded router for {}", router.architecture),
        }
    }
}

/// The path of the router binary beside the running executable.
pub(crate) fn beside_executable() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(|folder| folder.join(BINARY)))
        .unwrap_or_else(|| BINARY.into())
}

#[cfg(test)]
mod tests {
    use super::super::carried::tests::router;
    use super::*;

    #[test]
    fn a_named_file_comes_before_an_embedded_router_and_that_before_a_file() {
        use Architecture::{Arm64, X86_64};
        let arm64 = router(Vec::new(), b"");
        let x86_64 = CarriedRouter {
            architecture: X86_64,
            ..arm64
        };
        let file = Path::new("file");
        let named = || Some(RouterSource::Named(file.into()));
        let beside = || Some(RouterSource::Beside(beside_executable()));
        for (option, carried, wanted, expected) in [
            (Some(file), &[][..], X86_64, named()),
            (Some(file), &[x86_64, arm64], Arm64, named()),
            (Some(file), &[x86_64], Arm64, named()),
            (None, &[], X86_64, beside()),
            (None, &[], Arm64, beside()),
            (None, &[x86_64, arm64], X86_64, Some(RouterSource::Carried(x86_64))),
            (None, &[x86_64, arm64], Arm64, Some(RouterSource::Carried(arm64))),
            (None, &[x86_64], Arm64, None),
        ] {
            let found = RouterSource::of(option, carried, wanted).ok();
            assert_eq!(found, expected, "{option:?} {carried:?} {wanted}");
        }
    }
}
