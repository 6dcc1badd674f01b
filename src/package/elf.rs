//! Whether a binary can run under `provided.al2023`: a Linux ELF of the right architecture that is static, or
//! needs no newer glibc than the runtime has. A binary that does not fit dies at its start, out of sight.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Architecture as Machine, Endianness, Object};

use crate::model::resource::Architecture;

/// The glibc of Amazon Linux 2023.
const NEWEST_GLIBC: (u32, u32) = (2, 34);

/// Why a binary cannot run as the function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is no 64-bit Linux executable at all.
    #[error("it is not a 64-bit Linux executable (ELF)")]
    NotElf,
    /// It is for another architecture.
    #[error("it is built for {0}")]
    Architecture(Architecture),
    /// It is for an architecture that Lambda does not have.
    #[error("it is built for an architecture that Lambda does not have")]
    OtherArchitecture,
    /// It is loaded by something that the runtime does not have.
    #[error("it is loaded by `{}`, which the runtime does not have; it has glibc's", .0.escape_debug())]
    Loader(String),
    /// It needs a newer glibc.
    #[error("it needs {0}, and the runtime provided.al2023 has glibc 2.34")]
    Glibc(String),
    /// It lacks the mark that every router carries.
    #[error("it is an executable, but not a kibus router")]
    NotARouter,
}

/// Checks a binary against an architecture.
pub(super) fn check(binary: &[u8], wanted: Architecture) -> Result<(), Unfit> {
    let file = ElfFile64::<Endianness>::parse(binary).map_err(|_| Unfit::NotElf)?;
    let endian = file.endian();
    if !matches!(file.elf_header().e_type(endian), elf::ET_EXEC | elf::ET_DYN) || endian != Endianness::Little {
        return Err(Unfit::NotElf);
    }
    let found = match file.architecture() {
        Machine::X86_64 => Architecture::X86_64,
        Machine::Aarch64 => Architecture::Arm64,
        _ => return Err(Unfit::OtherArchitecture),
    };
    if found != wanted {
        return Err(Unfit::Architecture(found));
    }
    let loader = file
        .elf_program_headers()
        .iter()
        .find_map(|header| header.interpreter(endian, binary).ok().flatten());
    if let Some(loader) = loader {
        let loader = String::from_utf8_lossy(loader).into_owned();
        if !loader.contains("/ld-linux-") {
            return Err(Unfit::Loader(loader));
        }
    }
    match newest_glibc(&file, binary) {
        Some((version, name)) if version > NEWEST_GLIBC => Err(Unfit::Glibc(name)),
        _ => Ok(()),
    }
}

/// The newest `GLIBC_x.y` that any needed symbol asks for.
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
            if let Some(number) = glibc_version(&name)
                && newest.as_ref().is_none_or(|(newest, _)| number > *newest)
            {
                newest = Some((number, name));
            }
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
    fn what_is_no_elf_is_said_so() {
        for (name, bytes) in [
            ("empty", &b""[..]),
            ("a script", b"#!/bin/sh\necho"),
            ("a cut-off ELF", b"\x7fELF\x02\x01\x01\0\0\0"),
        ] {
            assert_eq!(check(bytes, Architecture::X86_64), Err(Unfit::NotElf), "{name}");
        }
    }

    /// The test runner itself is a Linux executable: for its own architecture it passes as far as the machine's
    /// glibc lets it, for the other it does not.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn a_real_executable_is_for_one_architecture() {
        let runner = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(
            check(&runner, Architecture::Arm64),
            Err(Unfit::Architecture(Architecture::X86_64))
        );
        assert!(matches!(
            check(&runner, Architecture::X86_64),
            Ok(()) | Err(Unfit::Glibc(_))
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
