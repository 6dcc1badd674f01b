//! Installs the emulator into its own virtual environment, from a lock file with hashes.
//!
//! The directory name contains a hash of the lock file, so several versions of kibus keep separate installations. The
//! environment is created under a temporary name and renamed, so it is complete or absent, even if an installer outlives
//! the process that started it. Renaming breaks the scripts in `bin`, which nothing uses.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::error::SandboxError;
use super::home::{Home, Lock};
use super::isolated::isolated;
use super::{SetupStep, python};

/// Exact versions and hashes of the emulator and its dependencies.
const LOCK_FILE: &str = include_str!("requirements.lock");
/// Prefix of a directory in which an installation is incomplete.
const INCOMPLETE: &str = "installing-";
/// How many lines of a failed program's output are shown.
const LINES_SHOWN: usize = 8;

/// Returns the Python that runs the emulator. Installs the emulator if it is missing.
///
/// The caller holds the lock of the directory. The user's `pip` settings (mirrors, proxies, certificates) apply, except
/// those that change the target directory.
pub(super) async fn install(
    home: &Home,
    _held: &Lock,
    tell: &(dyn Fn(SetupStep) + Sync),
) -> Result<PathBuf, SandboxError> {
    let venv = home.path().join(directory());
    home.check_owner(&venv)?;
    remove_incomplete(home);
    // The environment's Python is a link to the system's. It breaks when the system's is removed or upgraded.
    if python_of(&venv).exists() {
        return Ok(python_of(&venv));
    }

    let system = python::find(home.path()).await?;
    tell(SetupStep::Installing);
    let incomplete = tempfile::Builder::new()
        .prefix(INCOMPLETE)
        .tempdir_in(home.path())
        .map_err(SandboxError::io("create a directory in", home.path()))?;
    let mut create = isolated(Path::new(system), incomplete.path());
    create.args(["-m", "venv"]).arg(incomplete.path());
    run(create, "creating a virtual environment").await?;

    let requirements = incomplete.path().join("requirements.lock");
    fs::write(&requirements, LOCK_FILE).map_err(SandboxError::io("write", &requirements))?;
    let mut pip = isolated(&python_of(incomplete.path()), incomplete.path());
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"])
        .args(["--quiet", "--no-input", "--only-binary", ":all:"])
        .args(["--require-hashes", "--requirement"])
        .arg(&requirements);
    run(pip, "installing the local AWS emulator").await?;

    if venv.exists() {
        fs::remove_dir_all(&venv).map_err(SandboxError::io("remove", &venv))?;
    }
    fs::rename(incomplete.path(), &venv).map_err(SandboxError::io("create", &venv))?;
    // It was renamed, so there is nothing to remove.
    let _ = incomplete.keep();
    Ok(python_of(&venv))
}

fn python_of(venv: &Path) -> PathBuf {
    venv.join("bin/python")
}

/// Removes what killed runs left behind. A directory that cannot be removed is harmless and stays.
fn remove_incomplete(home: &Home) {
    let entries = fs::read_dir(home.path()).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(INCOMPLETE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

async fn run(mut command: Command, what: &'static str) -> Result<(), SandboxError> {
    let program = command.as_std().get_program().to_owned();
    let output = command
        .output()
        .await
        .map_err(SandboxError::io("run", Path::new(&program)))?;
    if output.status.success() {
        return Ok(());
    }
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Err(SandboxError::Install {
        what,
        output: last_lines(&text),
    })
}

/// The last lines of a program's output, which usually give the reason.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

fn directory() -> String {
    format!("emulator-{}", hex::encode(&Sha256::digest(LOCK_FILE)[..6]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (requirement, number of its hashes) of the lock file.
    fn requirements() -> Vec<(String, usize)> {
        let text = LOCK_FILE.replace("\\\n", " ");
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let (requirement, hashes) = line.split_once("--hash").unwrap_or((line, ""));
                let hashes = format!("--hash{hashes}");
                let good = |h: &&str| {
                    h.strip_prefix("--hash=sha256:")
                        .is_some_and(|h| h.len() == 64 && h.bytes().all(|b| b.is_ascii_hexdigit()))
                };
                let hashes = hashes.split_whitespace().filter(good).count();
                (requirement.trim().to_owned(), hashes)
            })
            .collect()
    }

    #[test]
    fn every_requirement_is_exact_and_has_hashes() {
        for (requirement, hashes) in requirements() {
            assert!(requirement.contains("=="), "{requirement}");
            assert!(hashes > 0, "{requirement} has no hash");
        }
    }

    #[test]
    fn the_emulator_is_the_version_that_the_tests_know() {
        let ours = |r: &(String, usize)| r.0 == "ministack==1.5.33";
        assert!(requirements().iter().any(ours));
    }

    /// A cloned repository may hold a directory `pip`, which Python would prefer to the installed one.
    #[tokio::test]
    async fn no_code_of_another_directory_is_run() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("pip")).unwrap();
        let proof = directory.path().join("ran");
        let code = format!("open({:?}, 'w')", proof.display().to_string());
        fs::write(directory.path().join("pip/__init__.py"), "").unwrap();
        fs::write(directory.path().join("pip/__main__.py"), code).unwrap();
        let python = Path::new(python::find(directory.path()).await.unwrap());
        let mut plain = Command::new(python);
        plain.current_dir(directory.path());
        for (mut pip, expected) in [(plain, true), (isolated(python, directory.path()), false)] {
            pip.args(["-m", "pip", "--version"]);
            // Whether pip itself is installed does not matter here.
            let _ = run(pip, "test").await;
            assert_eq!(proof.exists(), expected);
            let _ = fs::remove_file(&proof);
        }
    }

    #[test]
    fn only_what_a_killed_run_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["installing-a", "installing-b", "emulator-a", "server"] {
            fs::create_dir_all(dir.path().join(name).join("bin")).unwrap();
        }
        remove_incomplete(&Home::new(dir.path().into()));
        let entries = fs::read_dir(dir.path()).unwrap();
        let mut left: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["emulator-a", "server"]);
    }

    #[test]
    fn only_the_last_lines_of_long_output_are_shown() {
        let long: String = (0..30).map(|n| format!("line {n}\n\n")).collect();
        let shown = last_lines(&long);
        assert!(shown.ends_with("line 29"), "{shown}");
        assert_eq!(shown.lines().count(), LINES_SHOWN);
        assert_eq!(last_lines("one\n"), "one");
        assert_eq!(last_lines(""), "");
    }
}
