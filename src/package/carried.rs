//! The routers embedded in this build. A build without the feature `carry` has none.

use super::archive;
use super::binary_hash::BinaryHash;
use crate::model::resource::Architecture;

/// A router that the build script packed, and how to recognize it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CarriedRouter {
    /// That of the binary.
    pub(crate) architecture: Architecture,
    pub(super) archive: &'static [u8],
    /// The SHA-256 of the archive as it was packed, in hex.
    pub(crate) archive_sha256: &'static str,
    /// The SHA-256 of the binary that was packed, in hex.
    pub(crate) binary_sha256: &'static str,
    /// The version of the compiler that built it, as the binary tells, or `unknown`.
    pub(crate) rustc: &'static str,
}

/// The archive of an embedded router is not the one that the build packed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the embedded router for {architecture} is damaged")]
pub(crate) struct Damaged {
    architecture: Architecture,
    /// The SHA-256 of the archive.
    pub(super) found: BinaryHash,
    /// The one that it had in the build.
    pub(super) wanted: &'static str,
}

/// The embedded routers, at most one for each architecture.
#[cfg(feature = "carry")]
pub(crate) static ROUTERS: &[CarriedRouter] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));
/// The embedded routers: none.
#[cfg(not(feature = "carry"))]
pub(crate) static ROUTERS: &[CarriedRouter] = &[];

impl CarriedRouter {
    /// The archive and the binary in it.
    ///
    /// # Errors
    /// The archive is not the one that was packed: the file of kibus is damaged.
    pub(super) fn unpack(&self) -> Result<(Vec<u8>, Vec<u8>), Damaged> {
        let found = BinaryHash::of(self.archive);
        let unpacked = (found.as_str() == self.archive_sha256).then(|| archive::unpack(self.archive));
        match unpacked {
            Some(Ok(binary)) => Ok((self.archive.to_vec(), binary)),
            _ => Err(Damaged {
                architecture: self.architecture,
                found,
                wanted: self.archive_sha256,
            }),
        }
    }
}

// Without its bytes, which are megabytes.
impl std::fmt::Debug for CarriedRouter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CarriedRouter({})", self.architecture)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A router with this content of an archive, and the hashes of the archive of this binary.
    pub(in crate::package) fn router(archive: Vec<u8>, binary: &[u8]) -> CarriedRouter {
        let hash = |bytes: &[u8]| BinaryHash::of(bytes).as_str().to_owned().leak();
        CarriedRouter {
            architecture: Architecture::Arm64,
            archive: archive.leak(),
            archive_sha256: hash(&archive::pack(binary).unwrap()),
            binary_sha256: hash(binary),
            rustc: "unknown",
        }
    }

    #[test]
    fn only_the_archive_that_was_packed_is_unpacked() {
        let whole = archive::pack(b"router").unwrap();
        let flipped = |at: usize| {
            let mut archive = whole.clone();
            archive[at] ^= 1;
            archive
        };
        let middle = whole.len() / 2;
        for (name, archive, is_whole) in [
            ("whole", whole.clone(), true),
            ("first byte", flipped(0), false),
            ("a bit in the middle", flipped(middle), false),
            ("last byte", flipped(whole.len() - 1), false),
            ("cut", whole[..middle].to_vec(), false),
            ("empty", Vec::new(), false),
            ("another archive", archive::pack(b"other").unwrap(), false),
        ] {
            let unpacked = router(archive, b"router").unpack().ok();
            let expected = is_whole.then(|| (whole.clone(), b"router".to_vec()));
            assert_eq!(unpacked, expected, "{name}");
        }
    }

    /// Of a build with embedded routers.
    #[test]
    fn every_embedded_router_is_whole_and_has_the_hash_of_its_binary() {
        for router in ROUTERS {
            let (_, binary) = router.unpack().unwrap();
            assert_eq!(BinaryHash::of(&binary).as_str(), router.binary_sha256, "{router:?}");
        }
    }
}
