//! Finds, checks and packs the router binary for Lambda. The same binary always produces the same archive.

mod archive;

use std::fmt;
use std::io::BufRead;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::model::{Architecture, Code, NameError, router_build};

/// The version of this build. Only a router from an option may have another version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The maximum size of an archive in a direct upload to Lambda, in bytes (Lambda quotas).
const MAX_ARCHIVE: usize = 50 * 1024 * 1024;

const BINARY: &str = "kibus-router";

/// The glibc version of the runtime `provided.al2023`.
const RUNTIME_GLIBC: (u32, u32) = (2, 34);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) archive: Vec<u8>,
    pub(crate) code: Code,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RouterSource {
    /// The file from an option. It may have any version.
    Named(PathBuf),
    Beside(PathBuf),
    Carried(CarriedRouter),
}

/// A router that the build script checked and packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CarriedRouter {
    pub(crate) architecture: Architecture,
    archive: &'static [u8],
    /// The SHA-256 of the archive as packed, in hex. A damaged archive is detected before the upload.
    pub(crate) archive_sha256: &'static str,
    /// The SHA-256 of the binary that was packed, in hex.
    pub(crate) binary_sha256: &'static str,
    /// The version of the compiler that built it, according to the binary, or `unknown`.
    pub(crate) rustc: &'static str,
}

/// The embedded routers, at most one for each architecture. A build without the feature `carry` has none.
#[cfg(feature = "carry")]
pub(crate) static ROUTERS: &[CarriedRouter] = include!(concat!(env!("OUT_DIR"), "/carried.rs"));
#[cfg(not(feature = "carry"))]
pub(crate) static ROUTERS: &[CarriedRouter] = &[];

/// The SHA-256 of the only router binary that the user allows, as 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BinaryHash(String);

/// Reads, checks and packs a router binary, which must have this hash if one is given. An embedded router was checked
/// and packed by the build script, so its facts come from the build.
pub(crate) fn package(
    router: &RouterSource,
    hash: Option<&BinaryHash>,
    wanted: Architecture,
) -> Result<Package, PackageError> {
    let is_named = |found: String| match hash {
        Some(hash) if hash.0 != found => Err(Error::failed(format!("{router} does not match --router-sha256"))
            .note(format!("its SHA-256 is {found}, not {hash}"))
            .hint("compare both with the published checksum, and pass the matching file with --router-binary FILE")),
        _ => Ok(()),
    };
    let path = match router {
        RouterSource::Carried(carried) => {
            is_named(carried.binary_sha256.to_owned())?;
            return Ok(Package {
                archive: carried.archive.to_vec(),
                code: Code::of_archive(VERSION, carried.archive_sha256),
            });
        }
        RouterSource::Named(path) | RouterSource::Beside(path) => path,
    };
    let binary = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
    // Hashing megabytes takes a while.
    if hash.is_some() {
        is_named(sha256(&binary))?;
    }
    check(&binary, wanted).map_err(|why| unfit(router, &why, wanted))?;
    let version = router_build::version_in(&binary).ok_or_else(|| unfit(router, &Incompatible::NotARouter, wanted))?;
    if !matches!(router, RouterSource::Named(_)) && version != VERSION {
        let error = format!("{router} is router version {version}, but this is kibus version {VERSION}");
        return Err(Error::failed(error)
            .note("by default, kibus uses only a router with its own version")
            .hint("to use it anyway, pass --router-binary FILE")
            .into());
    }
    let archive = archive::pack(&binary).map_err(|e| Error::failed(format!("cannot pack {router}: {e}")))?;
    if archive.len() > MAX_ARCHIVE {
        let size = archive.len();
        let error = format!("the archive of {router} has {size} bytes; Lambda accepts at most {MAX_ARCHIVE}");
        let text = "to build a smaller router, without debug information:";
        return Err(Error::failed(error).hint_command(text, build(Architecture::X86_64)).into());
    }
    Ok(Package { code: Code::of_archive(version, sha256(&archive)), archive })
}

/// Checks that a binary can run on `provided.al2023`: a whole Linux executable (ELF) of the right architecture that names no
/// newer glibc than the runtime has. Otherwise the function would fail only when it is invoked.
fn check(binary: &[u8], wanted: Architecture) -> Result<(), Incompatible> {
    // The magic number, 64 bits, little endian.
    let header = binary.first_chunk::<64>();
    let header = header.filter(|header| header.starts_with(b"\x7fELF\x02\x01")).ok_or(Incompatible::NotElf)?;
    let number = |at: Range<usize>| header[at].iter().rfold(0, |high, byte| (high << 8) | usize::from(*byte));
    let (kind, machine) = (number(16..18), number(18..20));
    // The section table is the last part of a file, so a truncated file lacks it.
    let (sections, size, count) = (number(40..48), number(58..60), number(60..62));
    if !matches!(kind, 2 | 3) || binary.len() < sections.saturating_add(size * count) {
        return Err(Incompatible::NotElf);
    }
    let found = match machine {
        62 => Architecture::X86_64,
        183 => Architecture::Arm64,
        _ => return Err(Incompatible::OtherArchitecture),
    };
    if found != wanted {
        return Err(Incompatible::Architecture(found));
    }
    match newest_glibc(binary) {
        Some(newest) if newest > RUNTIME_GLIBC => Err(Incompatible::Glibc(newest)),
        _ => Ok(()),
    }
}

/// The newest `GLIBC_x.y` in a binary, which contains the version of each symbol that it needs.
fn newest_glibc(mut rest: &[u8]) -> Option<(u32, u32)> {
    let mut newest = None;
    // The standard library's search is fast even in an unoptimized build, for tens of megabytes.
    while rest.skip_until(b'G').is_ok_and(|skipped| skipped > 0) {
        newest = newest.max(rest.strip_prefix(b"LIBC_").and_then(glibc_version));
    }
    newest
}

fn glibc_version(rest: &[u8]) -> Option<(u32, u32)> {
    let end = rest.iter().take(16).position(|byte| *byte == 0)?;
    let mut parts = std::str::from_utf8(&rest[..end]).ok()?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

impl RouterSource {
    /// The router for this architecture: the named file; without one, the embedded router; and in a build without any
    /// embedded router, the file beside the executable.
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
        let router = router.copied().map(Self::Carried);
        router.ok_or_else(|| {
            let carried: Vec<_> = carried.iter().map(|router| router.architecture.to_string()).collect();
            let carried = carried.join(" and ");
            let use_it = format!("to use a router for {wanted}, build it and pass it with --router-binary FILE:");
            let error = Error::failed(format!("this kibus has no embedded router for {wanted}"))
                .note(format!("it has only the router for {carried}"))
                .hint(format!("to run the function on {carried}, pass --arch {carried}"))
                .hint_command(use_it, build(wanted));
            PackageError { is_for_another: true, ..error.into() }
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

pub(crate) fn beside_executable() -> PathBuf {
    let executable = std::env::current_exe().ok();
    executable.map_or_else(|| BINARY.into(), |file| file.with_file_name(BINARY))
}

// Without its bytes, which are megabytes.
impl fmt::Debug for CarriedRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CarriedRouter({})", self.architecture)
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

impl fmt::Display for BinaryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BinaryHash {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        if s.len() == 64 && s.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(s.to_ascii_lowercase()))
        } else {
            Err(NameError::new("SHA-256", s, "64 hex digits"))
        }
    }
}

/// Why a router binary could not be packaged.
#[derive(Debug)]
pub(crate) struct PackageError {
    pub(crate) error: Box<Error>,
    /// The first note, if the binary is the cause.
    pub(crate) cause: Option<String>,
    /// Whether the router is for a different architecture.
    pub(crate) is_for_another: bool,
}

impl From<Error> for PackageError {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), cause: None, is_for_another: false }
    }
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

fn unreadable(path: &Path, e: &std::io::Error) -> PackageError {
    let default = match ROUTERS {
        [] => "the file beside the kibus executable",
        _ => "the router embedded in kibus",
    };
    let error = Error::failed(format!("cannot read the router binary `{}`", path.display()))
        .note(e.to_string())
        .hint(format!("the default is {default}; pass --router-binary FILE to use another"))
        .hint_command("to build it:", build(Architecture::X86_64));
    PackageError { cause: Some(e.to_string()), ..error.into() }
}

fn unfit(router: &RouterSource, why: &Incompatible, wanted: Architecture) -> PackageError {
    let error = Error::failed(format!("{router} cannot run as the router function")).note(why.to_string());
    let error = match why {
        Incompatible::Architecture(found) => error
            .hint(format!("to run the function on {found}, pass --arch {found}"))
            .hint_command(format!("to build a router for {wanted}:"), build(wanted)),
        _ => error.hint_command("to build a compatible router:", build(wanted)),
    };
    PackageError {
        cause: Some(why.to_string()),
        is_for_another: matches!(why, Incompatible::Architecture(_)),
        ..error.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_hex_digits() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
        assert_eq!(empty.to_uppercase().parse(), Ok(BinaryHash(sha256(b""))));
        for refused in ["", "e3b0", &empty[1..], &format!("{empty}0"), &empty.replace('e', "g")] {
            assert!(refused.parse::<BinaryHash>().is_err(), "{refused:?}");
        }
    }

    /// A router with the hashes of this binary.
    fn carried(binary: &[u8]) -> CarriedRouter {
        let archive = archive::pack(binary).unwrap().leak();
        CarriedRouter {
            architecture: Architecture::Arm64,
            archive,
            archive_sha256: sha256(archive).leak(),
            binary_sha256: sha256(binary).leak(),
            rustc: "unknown",
        }
    }

    #[test]
    fn an_embedded_router_has_the_facts_of_its_build() {
        let router = carried(b"router");
        let source = RouterSource::Carried(router);
        let expected =
            Package { archive: router.archive.to_vec(), code: Code::of_archive(VERSION, router.archive_sha256) };
        let packaged =
            |hash: Option<&[u8]>| package(&source, hash.map(|of| BinaryHash(sha256(of))).as_ref(), Architecture::Arm64);
        for hash in [None, Some(&b"router"[..])] {
            assert_eq!(packaged(hash).ok(), Some(expected.clone()));
        }
        let refused = "the embedded router for arm64 does not match --router-sha256";
        assert_eq!(packaged(Some(b"other")).unwrap_err().error.message, refused);
    }

    /// A build with embedded routers. Only the packed archive is ever uploaded, because any other has a different hash than planned.
    #[test]
    fn every_embedded_router_is_whole() {
        for router in ROUTERS {
            assert_eq!(sha256(router.archive), router.archive_sha256, "{router:?}");
        }
    }

    #[test]
    fn a_named_file_comes_before_an_embedded_router_and_that_before_a_file() {
        use Architecture::{Arm64, X86_64};
        let arm64 = carried(b"");
        let x86_64 = CarriedRouter { architecture: X86_64, ..arm64 };
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

    /// A file header whose section table ends after this many bytes, followed by this text.
    fn elf(kind: u8, machine: u8, ends: u8, text: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (header[16], header[18], header[40]) = (kind, machine, ends);
        header.extend(text);
        header
    }

    #[test]
    fn a_binary_must_run_on_the_runtime() {
        use Incompatible::{Glibc, NotElf, OtherArchitecture};
        for (name, bytes, expected) in [
            ("empty", b"".to_vec(), Err(NotElf)),
            ("a script", b"#!/bin/sh\necho".to_vec(), Err(NotElf)),
            ("a cut-off header", b"\x7fELF\x02\x01\x01\0\0\0".to_vec(), Err(NotElf)),
            ("a cut-off file", elf(3, 62, 65, b""), Err(NotElf)),
            ("a library of objects", elf(1, 62, 0, b""), Err(NotElf)),
            ("static", elf(2, 62, 64, b""), Ok(())),
            ("arm64", elf(3, 183, 0, b""), Err(Incompatible::Architecture(Architecture::Arm64))),
            ("RISC-V", elf(3, 243, 0, b""), Err(OtherArchitecture)),
            ("of the runtime", elf(3, 62, 0, b"GLIBC_2.2.5\0GLIBC_2.34\0"), Ok(())),
            ("newer", elf(3, 62, 0, b"GLIBC_2.35\0GLIBC_2.4\0"), Err(Glibc((2, 35)))),
            ("newer major", elf(3, 62, 0, b"GGLIBC_3.0\0"), Err(Glibc((3, 0)))),
            ("no version", elf(3, 62, 0, b"GLIBC_PRIVATE\0GLIBC_9"), Ok(())),
        ] {
            assert_eq!(check(&bytes, Architecture::X86_64), expected, "{name}");
        }
    }

    /// The test binary is a Linux executable. It fits its own architecture, unless this machine's glibc is too new.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn an_executable_fits_only_its_own_architecture() {
        let executable = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(check(&executable, Architecture::Arm64), Err(Incompatible::Architecture(Architecture::X86_64)));
        assert!(matches!(check(&executable, Architecture::X86_64), Ok(()) | Err(Incompatible::Glibc(_))));
    }
}
