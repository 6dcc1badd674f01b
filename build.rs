//! Passes on what `kibus version` prints: the target and the commit.

use std::path::Path;
use std::process::Command;

fn main() {
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=KIBUS_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
    // Kibus packs and uploads this file. Symbols, which nobody reads in the function, more than double a debug build of it.
    if target.contains("-linux-") {
        println!("cargo::rustc-link-arg-bin=kibus-router=-Wl,--strip-all");
    }
    // A path that does not exist would make every build a new one. Commits on the same branch do not: a development build
    // may name an earlier commit.
    if Path::new(".git/HEAD").is_file() {
        println!("cargo::rerun-if-changed=.git/HEAD");
    }
    let commit = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = commit.ok().filter(|commit| commit.status.success());
    let commit = commit.map_or("unknown".into(), |commit| {
        String::from_utf8_lossy(&commit.stdout).into_owned()
    });
    println!("cargo::rustc-env=KIBUS_COMMIT={}", commit.trim());
}
