//! Checks that a binary can run on `provided.al2023`: a Linux ELF executable of the right architecture that is static or
//! needs no newer glibc than the runtime has. Otherwise the function would fail only when it is invoked.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Architecture as Machine, Endianness, Object};

use crate::model::resource::Architecture;

/// The glibc version of Amazon Linux 2023.
const RUNTIME_GLIBC: (u32, u32) = (2, 34);

/// Why a binary cannot run as the router function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Incompatible {
    #[error("it is not a 64-bit Linux executable (ELF)")]
    NotElf,
    #[error("it is built for {0}")]
    Architecture(Architecture),
    #[error("it is built for an architecture that Lambda does not support")]
    OtherArchitecture,
    #[error("it needs the dynamic loader `{}`; the runtime provided.al2023 has only the loader of glibc", .0.escape_debug())]
    Loader(String),
    #[error("it needs {0}; the runtime provided.al2023 has glibc 2.34")]
    Glibc(String),
    #[error("it is an executable but not a kibus router")]
    NotARouter,
}

/// Checks that a binary can run on an architecture.
pub(super) fn check(binary: &[u8], wanted: Architecture) -> Result<(), Incompatible> {
    let file = ElfFile64::<Endianness>::parse(binary).map_err(|_| Incompatible::NotElf)?;
    let endian = file.endian();
    if !matches!(file.elf_header().e_type(endian), elf::ET_EXEC | elf::ET_DYN) || endian != Endianness::Little {
        return Err(Incompatible::NotElf);
    }
    let found = match file.architecture() {
        Machine::X86_64 => Architecture::X86_64,
        Machine::Aarch64 => Architecture::Arm64,
        _ => return Err(Incompatible::OtherArchitecture),
    };
    if found != wanted {
        return Err(Incompatible::Architecture(found));
    }
    let loader = file
        .elf_program_headers()
        .iter()
        .find_map(|header| header.interpreter(endian, binary).ok().flatten());
    if let Some(loader) = loader {
        let loader = String::from_utf8_lossy(loader).into_owned();
        if !loader.contains("/ld-linux-") {
            return Err(Incompatible::Loader(loader));
        }
    }
    match newest_glibc(&file, binary) {
        Some((version, name)) if version > RUNTIME_GLIBC => Err(Incompatible::Glibc(name)),
        _ => Ok(()),
    }
}

/// The newest `GLIBC_x.y` that any symbol requires.
fn newest_glibc(file: &ElfFile64<'_, Endianness>, binary: &[u8]) -> Option<((u32, u32), String)> {
    let endian = file.endian();
    let sections = file.elf_section_table();
    let (mut libraries, strings) = sections.gnu_verneed(endian, binary).ok()??;
    let strings = sections.strings(endian, binary, strings).ok()?;
    let mut newest: Option<((u32, u32), String)> = None;
    while let Ok(Some((_, mut needed))) = libraries.next() {
        while let Ok(Some(version)) = needed.next() {
            let Ok(name) = version.name(endian, strings) else {
                continue;
            };
            let name = String::from_utf8_lossy(name).into_owned();
            newest = newest.max(glibc_version(&name).map(|number| (number, name)));
        }
    }
    newest
}

fn glibc_version(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix("GLIBC_")?.split('.').map(str::parse::<u32>);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_other_than_elf_executables_are_rejected() {
        for (name, bytes) in [
            ("empty", &b""[..]),
            ("a script", b"#!/bin/sh\necho"),
            ("a cut-off ELF", b"\x7fELF\x02\x01\x01\0\0\0"),
        ] {
            assert_eq!(check(bytes, Architecture::X86_64), Err(Incompatible::NotElf), "{name}");
        }
    }

    /// The test binary is a Linux executable. It fits its own architecture, unless this machine's glibc is too new.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn an_executable_fits_only_its_own_architecture() {
        let executable = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(
            check(&executable, Architecture::Arm64),
            Err(Incompatible::Architecture(Architecture::X86_64))
        );
        assert!(matches!(
            check(&executable, Architecture::X86_64),
            Ok(()) | Err(Incompatible::Glibc(_))
        ));
    }

    #[test]
    fn glibc_versions_compare_as_numbers() {
        assert_eq!(glibc_version("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(glibc_version("GLIBC_2.34"), Some((2, 34)));
        assert!(glibc_version("GLIBC_2.4") < glibc_version("GLIBC_2.34"));
        assert_eq!(glibc_version("GCC_3.0"), None);
        assert_eq!(glibc_version("GLIBC_PRIVATE"), None);
    }
}
