//! The emulator in a virtual environment of its own, installed from a lock file with hashes.
//!
//! The environment's directory is named after the lock file, so that another version of kibus, and the server that it
//! started, keep theirs. It is made beside its place and renamed, so that it is whole or not there, even if an installer
//! outlives the process that started it. (What breaks in a renamed environment are the scripts in `bin`, which nobody uses.)

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::home::{Home, Lock};
use super::problem::Problem;
use super::{Step, python};

/// Exact versions and hashes of the emulator and of all that it needs.
const LOCK_FILE: &str = include_str!("requirements.lock");
/// How a directory is called while an environment is being made in it.
const HALF_MADE: &str = "installing-";
/// How much of a failed program's output is shown.
const LINES_SHOWN: usize = 8;

/// The Python that runs the emulator; installs it if it is not there yet.
///
/// The caller holds the home's lock. The user's settings for `pip` (mirrors, proxies, certificates) are respected,
/// but for those that would install to another place.
pub(super) async fn install(home: &Home, _held: &Lock, tell: &(dyn Fn(Step) + Sync)) -> Result<PathBuf, Problem> {
    let venv = home.path().join(directory());
    forget_half_made(home);
    // Its Python is a link to the system's, which breaks when that is removed or upgraded.
    if python_of(&venv).exists() {
        return Ok(python_of(&venv));
    }

    let system = python::find().await?;
    tell(Step::Installing);
    let half_made = tempfile::Builder::new()
        .prefix(HALF_MADE)
        .tempdir_in(home.path())
        .map_err(Problem::io("create a directory in", home.path()))?;
    let mut create = Command::new(system);
    create.args(["-I", "-m", "venv"]).arg(half_made.path());
    run(create, "making a virtual environment").await?;

    let requirements = half_made.path().join("requirements.lock");
    fs::write(&requirements, LOCK_FILE).map_err(Problem::io("write", &requirements))?;
    let mut pip = Command::new(python_of(half_made.path()));
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"])
        .args(["--quiet", "--no-input", "--only-binary", ":all:"])
        .args(["--require-hashes", "--requirement"])
        .arg(&requirements)
        .env("PIP_USER", "0");
    for elsewhere in ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"] {
        pip.env_remove(elsewhere);
    }
    run(pip, "installing the local AWS emulator").await?;

    if venv.exists() {
        fs::remove_dir_all(&venv).map_err(Problem::io("remove", &venv))?;
    }
    fs::rename(half_made.path(), &venv).map_err(Problem::io("create", &venv))?;
    // It is no longer there to be removed.
    let _ = half_made.keep();
    Ok(python_of(&venv))
}

fn python_of(venv: &Path) -> PathBuf {
    venv.join("bin/python")
}

/// Removes what killed runs left. What cannot be removed is left again: it harms nobody.
fn forget_half_made(home: &Home) {
    let entries = fs::read_dir(home.path()).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(HALF_MADE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

async fn run(mut command: Command, what: &'static str) -> Result<(), Problem> {
    let program = command.as_std().get_program().to_owned();
    let output = command
        .env_remove("PYTHONHOME")
        .env_remove("PYTHONPATH")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(Problem::io("run", Path::new(&program)))?;
    if output.status.success() {
        return Ok(());
    }
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Err(Problem::Install {
        what,
        output: last_lines(&text),
    })
}

/// The end of a program's output, where the reason stands.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

fn directory() -> String {
    let hash = Sha256::digest(LOCK_FILE);
    hash.iter().take(6).fold("emulator-".to_owned(), |mut name, byte| {
        // Writing to a String cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
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

    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["installing-a", "installing-b", "emulator-a", "server"] {
            fs::create_dir_all(dir.path().join(name).join("bin")).unwrap();
        }
        forget_half_made(&Home::new(dir.path().into()));
        let entries = fs::read_dir(dir.path()).unwrap();
        let mut left: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["emulator-a", "server"]);
    }

    #[test]
    fn of_long_output_the_end_is_shown() {
        let long: String = (0..30).map(|n| format!("line {n}\n\n")).collect();
        let shown = last_lines(&long);
        assert!(shown.ends_with("line 29"), "{shown}");
        assert_eq!(shown.lines().count(), LINES_SHOWN);
        assert_eq!(last_lines("one\n"), "one");
        assert_eq!(last_lines(""), "");
    }
}
