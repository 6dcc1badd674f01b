//! The scripts in `.ci` that release a version.

mod files;
mod published;
mod version;
mod wheel;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const MANIFEST: &str = r#"[package]
name = "kibus"
version = "1.2.3"
description = "One bus"
license = "Apache-2.0"
repository = "https://github.com/example/kibus"

[dependencies.other]
version = "4.5.6"
"#;

/// A package of version 1.2.3 with the scripts of this one.
struct Package(TempDir);

impl Package {
    fn new() -> Self {
        let package = Self(TempDir::new().unwrap());
        for folder in [".ci", ".ci/wheel", "docs"] {
            fs::create_dir(package.path(folder)).unwrap();
        }
        for file in ["check-version", "release-check", "release-files", "wheel/build", "wheel/tools.txt"] {
            let file = format!(".ci/{file}");
            fs::copy(Path::new(ROOT).join(&file), package.path(&file)).unwrap();
        }
        fs::write(package.path("Cargo.toml"), MANIFEST).unwrap();
        package
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    /// Replaces a text that the file has.
    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        fs::write(self.path(file), text.replacen(from, to, 1)).unwrap();
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(self.path(script));
        // A workflow sets it.
        command.env_remove("GITHUB_REPOSITORY");
        command
    }
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The standard output of a program that succeeds.
fn output(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}
