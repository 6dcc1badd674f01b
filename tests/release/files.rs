//! The sums of the files of a release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest, Sha256};

use super::{Package, output, text, write_program};

/// The targets of the archives.
pub(super) const TARGETS: [&str; 4] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"];

/// The files of release 1.2.3. Instead of a binary, each archive has a script that names its target.
pub(super) struct Release {
    pub(super) package: Package,
}

impl Release {
    /// The archives and their sums.
    pub(super) fn new() -> Self {
        let release = Self { package: Package::new() };
        fs::create_dir(release.folder()).unwrap();
        for target in TARGETS {
            release.pack(target, "kibus", &format!("#!/bin/sh\n# {target}\necho kibus 1.2.3\n"));
        }
        release
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.package.path("out")
    }

    pub(super) fn archive(&self, target: &str) -> PathBuf {
        self.folder().join(format!("kibus-1.2.3-{target}.tar.gz"))
    }

    /// Writes the archive of a target, with one program, and its sum.
    pub(super) fn pack(&self, target: &str, name: &str, program: &str) {
        let folder = format!("kibus-1.2.3-{target}");
        let packed = self.package.path(&folder);
        let _ = fs::remove_dir_all(&packed);
        fs::create_dir(&packed).unwrap();
        write_program(&packed.join(name), program);
        fs::write(packed.join("LICENSE"), "Terms").unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(self.archive(target)).arg("-C").arg(self.package.path("")).arg(&folder);
        output(&tar.output().unwrap());
        let line = format!("{}  kibus-1.2.3-{target}.tar.gz\n", sum(&self.archive(target)));
        fs::write(format!("{}.sha256", self.archive(target).display()), line).unwrap();
    }

    /// Adds the other files.
    pub(super) fn complete(&self) -> Output {
        self.package.command(".ci/release-files").arg(self.folder()).output().unwrap()
    }
}

pub(super) fn sum(file: &Path) -> String {
    hex::encode(Sha256::digest(fs::read(file).unwrap()))
}

#[test]
fn every_file_has_its_sum() {
    let release = Release::new();
    output(&release.complete());
    // The second time, the files of the first are there.
    output(&release.complete());
    let sums = fs::read_to_string(release.folder().join("SHA256SUMS")).unwrap();
    let mut named: Vec<&str> = sums.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    for (line, file) in sums.lines().zip(&named) {
        assert_eq!(line, format!("{}  {file}", sum(&release.folder().join(file))));
    }
    named.push("SHA256SUMS");
    named.sort_unstable();
    let entries = fs::read_dir(release.folder()).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort_unstable();
    assert_eq!(files, named);
    assert_eq!(files.len(), 2 * TARGETS.len() + 1);
}

#[test]
fn archives_that_do_not_fit_are_refused() {
    let missing = Release::new();
    fs::remove_file(missing.archive("x86_64-apple-darwin")).unwrap();
    let changed = Release::new();
    fs::write(changed.archive("x86_64-apple-darwin"), "changed").unwrap();
    for (release, expected) in [
        (missing, "`kibus-1.2.3-x86_64-apple-darwin.tar.gz` is missing"),
        (changed, "does not have the sum in `kibus-1.2.3-x86_64-apple-darwin.tar.gz.sha256`"),
    ] {
        let refused = release.complete();
        let message = text(&refused.stderr);
        assert!(refused.status.code() == Some(1) && message.contains(expected), "{expected}: {message}");
        assert!(!release.folder().join("SHA256SUMS").exists(), "{expected}");
    }
}
