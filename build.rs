//! Passes on what `kibus version` prints: the target and the commit. With the feature `carry`, it also packs the routers
//! that kibus embeds.

use std::path::Path;
use std::process::Command;

#[cfg(feature = "carry")]
#[path = "src/package/archive.rs"]
mod archive;
#[cfg(feature = "carry")]
#[path = "src/model/router_build.rs"]
#[expect(dead_code, unreachable_pub, reason = "only the router has the mark")]
mod router_build;

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=KIBUS_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
    // Kibus packs and uploads this file. Symbols, which nobody reads in the function, more than double a debug build of it.
    if target.contains("-linux-") {
        println!("cargo::rustc-link-arg-bin=kibus-router=-Wl,--strip-all");
    }
    // Rust links with lld there. A debug build has each generic function many times, and most commands of the tests pack it.
    if target == "x86_64-unknown-linux-gnu" && std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-link-arg-bin=kibus-router=-Wl,--icf=all");
    }
    // A path that does not exist would make every build a new one. Commits on the same branch do not: a development build
    // may name an earlier commit.
    if Path::new(".git/HEAD").is_file() {
        println!("cargo::rerun-if-changed=.git/HEAD");
    }
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = commit.ok().filter(|commit| commit.status.success());
    let commit = commit.map_or("unknown".into(), |commit| String::from_utf8_lossy(&commit.stdout).into_owned());
    println!("cargo::rustc-env=KIBUS_COMMIT={}", commit.trim());
    #[cfg(feature = "carry")]
    if let Err(why) = carry::carry() {
        println!("cargo::error={why}");
    }
}

/// Packs the routers that kibus embeds.
#[cfg(feature = "carry")]
mod carry {
    use std::env;
    use std::ffi::OsStr;
    use std::fs;
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::{archive, router_build};

    /// For each architecture of Lambda: its name, its variant of `Architecture`, the variable with the path of its router,
    /// and its machine number in an ELF header.
    const ARCHITECTURES: [(&str, &str, &str, u16); 2] =
        [("x86_64", "X86_64", "KIBUS_ROUTER_X86_64", 62), ("arm64", "Arm64", "KIBUS_ROUTER_ARM64", 183)];

    /// Writes an archive for each router that the environment names, and `carried.rs`, which includes them. A relative path
    /// begins at the root of the package.
    ///
    /// # Errors
    /// No router is named, or one is not a router of this version for its architecture.
    pub(super) fn carry() -> Result<(), String> {
        println!("cargo::rerun-if-changed=src/package/archive.rs");
        println!("cargo::rerun-if-changed=src/model/router_build.rs");
        let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
        let mut routers = String::new();
        for (name, variant, variable, machine) in ARCHITECTURES {
            println!("cargo::rerun-if-env-changed={variable}");
            let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()) else {
                continue;
            };
            println!("cargo::rerun-if-changed={}", Path::new(&path).display());
            let router = router(&path, name, variant, machine, Path::new(&out));
            routers += &router.map_err(|why| format!("{variable}={}: {why}", Path::new(&path).display()))?;
        }
        if routers.is_empty() {
            return Err(
                "the feature `carry` embeds routers: set KIBUS_ROUTER_X86_64, KIBUS_ROUTER_ARM64 or both".into()
            );
        }
        fs::write(Path::new(&out).join("carried.rs"), format!("&[{routers}]")).map_err(|e| e.to_string())
    }

    /// Writes the archive of a router. Returns the text of its `CarriedRouter`, without any path of this machine.
    fn router(path: &OsStr, name: &str, variant: &str, machine: u16, out: &Path) -> Result<String, String> {
        let binary = fs::read(path).map_err(|e| e.to_string())?;
        if !binary.starts_with(b"\x7fELF\x02\x01") || binary.get(18..20) != Some(&machine.to_le_bytes()[..]) {
            return Err(format!("it is not a Linux executable (ELF) for {name}"));
        }
        let (found, wanted) = (router_build::version_in(&binary), env!("CARGO_PKG_VERSION"));
        if found != Some(wanted) {
            let found = found.map_or("not a router".into(), |found| format!("router version {found}"));
            return Err(format!("it is {found}; this is kibus version {wanted}"));
        }
        let archive = archive::pack(&binary).map_err(|e| e.to_string())?;
        let file = format!("router-{name}.zip");
        fs::write(out.join(&file), &archive).map_err(|e| e.to_string())?;
        Ok(format!(
            "CarriedRouter {{ architecture: Architecture::{variant}, archive: include_bytes!({file:?}), \
             archive_sha256: {:?}, binary_sha256: {:?}, rustc: {:?} }},",
            sha256(&archive),
            sha256(&binary),
            compiler(&binary)
        ))
    }

    fn sha256(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The version of the compiler that built a binary: it writes `rustc version 1.94.1 (e408947bf 2026-03-25)` into it.
    fn compiler(binary: &[u8]) -> String {
        const BEFORE: &[u8] = b"rustc version ";
        let at = binary.windows(BEFORE.len()).position(|window| window == BEFORE);
        let text = at.map_or(&[][..], |at| &binary[at + BEFORE.len()..]).iter().map(|byte| char::from(*byte)).take(64);
        let text: String = text.take_while(|c| c.is_ascii_graphic() || *c == ' ').collect();
        match text.split_once(')') {
            Some((version, _)) => format!("{version})"),
            None if text.is_empty() => "unknown".into(),
            None => text,
        }
    }
}
