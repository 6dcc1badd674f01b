//! Installs the emulator into its own virtual environment, from a lock file with hashes.
//!
//! The directory name contains a hash of the lock file, so several versions of kibus keep separate installations. The
//! environment is created under a temporary name and renamed, so it is complete or absent, even if an installer outlives
//! the process that started it. Renaming breaks the scripts in `bin`, which nothing uses.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use sha2::{Digest, Sha256};
use tokio::process::Command;

use super::Tell;
use super::home::{Home, Lock, cannot};
use crate::error::Error;

/// Exact versions and hashes of the emulator and its dependencies.
const LOCK_FILE: &str = include_str!("requirements.lock");
/// The program that creates the environment.
const PYTHON: &str = "python3";
/// The prefix of directories that hold incomplete installations.
const INCOMPLETE: &str = "installing-";
/// How many lines of a failed program's output are shown.
const LINES_SHOWN: usize = 8;

/// Returns the Python that runs the emulator. Installs the emulator if it is missing, with the user's `pip` settings (mirrors,
/// proxies, certificates), except those that change the target directory.
pub(super) async fn install(home: &Home, _held: &Lock, tell: Tell<'_>) -> Result<PathBuf, Error> {
    let hash = hex::encode(&Sha256::digest(LOCK_FILE)[..6]);
    let venv = home.path().join(format!("emulator-{hash}"));
    home.check_owner(&venv)?;
    remove_incomplete(home);
    // The environment's Python is a link to the system's. It breaks when the system's is removed or upgraded.
    if python_of(&venv).exists() {
        return Ok(python_of(&venv));
    }

    let mut version = isolated(Path::new(PYTHON), home.path());
    version.args(["-c", "import sys; sys.exit('%d.%d' % sys.version_info[:2] if sys.version_info < (3, 10) else 0)"]);
    if let Some(found) = failure(version).await? {
        let error =
            Error::failed(format!("the sandbox needs Python 3.10 or newer; the first `python3` in PATH is {found}"));
        return Err(with_python(error));
    }
    tell("Installing the local AWS emulator from pip's package index. This happens once and takes a few seconds.");
    let incomplete = tempfile::Builder::new()
        .prefix(INCOMPLETE)
        .tempdir_in(home.path())
        .map_err(cannot("create a directory in", home.path()))?;
    let mut create = isolated(Path::new(PYTHON), incomplete.path());
    create.args(["-m", "venv"]).arg(incomplete.path());
    if let Some(output) = failure(create).await? {
        // It may be too old, or need a separate package for this.
        let error = Error::failed("creating a virtual environment with `python3` failed");
        return Err(with_python(with_lines(error, &output)));
    }

    let requirements = incomplete.path().join("requirements.lock");
    fs::write(&requirements, LOCK_FILE).map_err(cannot("write", &requirements))?;
    let mut pip = isolated(&python_of(incomplete.path()), incomplete.path());
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"])
        .args(["--quiet", "--no-input", "--only-binary", ":all:"])
        .args(["--require-hashes", "--requirement"])
        .arg(&requirements);
    if let Some(output) = failure(pip).await? {
        return Err(with_lines(Error::failed("installing the local AWS emulator failed"), &output)
            .note("the incomplete installation is not used; the next run starts over")
            .hint("`pip` downloads the emulator from its configured package index; check `PIP_INDEX_URL` and the proxy and certificate settings"));
    }

    if venv.exists() {
        fs::remove_dir_all(&venv).map_err(cannot("remove", &venv))?;
    }
    fs::rename(incomplete.path(), &venv).map_err(cannot("create", &venv))?;
    // The directory was renamed, so there is nothing to remove.
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

/// The last lines of a program that fails.
async fn failure(mut command: Command) -> Result<Option<String>, Error> {
    let program = PathBuf::from(command.as_std().get_program());
    let output = match command.output().await {
        Err(e) if e.kind() == ErrorKind::NotFound && program == Path::new(PYTHON) => {
            return Err(with_python(Error::failed(
                "the sandbox needs Python 3.10 or newer; no `python3` was found in PATH",
            )));
        }
        output => output.map_err(cannot("run", program))?,
    };
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Ok((!output.status.success()).then(|| last_lines(&(out + &err))))
}

/// The last lines of a program's output, which usually give the reason.
pub(super) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

/// The error with the last lines of a program.
pub(super) fn with_lines(error: Error, lines: &str) -> Error {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines.fold(error, Error::note)
}

/// How to install a Python that can run the emulator.
fn with_python(error: Error) -> Error {
    let error = error.note("the sandbox runs a local AWS emulator written in Python");
    if cfg!(target_os = "macos") {
        return error.hint_command("install it and run the command again:", "brew install python3");
    }
    error
        .hint_command("on Debian and Ubuntu:", "apt-get install python3 python3-venv")
        .hint_command("on Fedora:", "dnf install python3")
        .hint("if that is older than 3.10, put a newer `python3` first in PATH")
}

/// A Python that loads no module from the current directory, which may be a repository with any content. It runs in
/// `directory`, because relative entries in `PATH` and version managers choose a program by the current directory. It receives
/// only the variables that it needs, because the code that it runs can read them.
pub(super) fn isolated(python: &Path, directory: &Path) -> Command {
    let mut command = Command::new(python);
    command
        .arg("-I")
        .current_dir(directory)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed_on)))
        .env("PIP_USER", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Whether a user's variable is passed on. Python needs some to find programs, files, proxies, certificates, and mirrors.
fn is_passed_on(name: &str) -> bool {
    let redirects = "PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_PYTHON PYENV_DIR";
    let needed =
        "PATH HOME USER LANG TMPDIR NETRC HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY REQUESTS_CA_BUNDLE CURL_CA_BUNDLE";
    let upper = name.to_ascii_uppercase();
    let is_among = |names: &str| names.split(' ').any(|known| known == upper);
    let groups = ["PIP_", "SSL_CERT_", "XDG_", "LC_", "PYENV_"];
    let is_of_group = groups.iter().any(|group| upper.starts_with(group));
    (is_of_group || is_among(needed)) && !is_among(redirects)
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
        let python = Path::new(PYTHON);
        let mut plain = Command::new(python);
        plain.current_dir(directory.path());
        for (mut pip, expected) in [(plain, true), (isolated(python, directory.path()), false)] {
            pip.args(["-m", "pip", "--version"]);
            // Whether pip itself is installed does not matter here.
            let _ = failure(pip).await;
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

    /// A cloned repository may hold a `python3`, and a version manager may follow a file of the current directory.
    #[tokio::test]
    async fn a_python_runs_in_our_directory_and_without_credentials() {
        let dir = tempfile::tempdir().unwrap();
        // Cargo sets this variable for tests. It stands for any that is not passed on.
        let script = "#!/bin/sh\n[ -z \"$CARGO_MANIFEST_DIR\" ]\n";
        // Another program writes it: a child that another test starts meanwhile would hold a file that is open here, and Linux
        // runs no program that is open for writing.
        fs::write(dir.path().join("script"), script).unwrap();
        let mut install = Command::new("install");
        install.args(["-m", "755", "script", "python"]).current_dir(dir.path());
        assert!(matches!(failure(install).await, Ok(None)));
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let run = |directory: &Path| failure(isolated(Path::new("./python"), directory));
        assert!(matches!(run(dir.path()).await, Ok(None)));
        let elsewhere = tempfile::tempdir().unwrap();
        let absent = run(elsewhere.path()).await.unwrap_err().message;
        assert!(absent.starts_with("cannot run `./python`: "), "{absent}");
    }

    #[tokio::test]
    async fn the_last_lines_of_a_failed_program_become_notes() {
        let shell = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            failure(command)
        };
        assert_eq!(shell("echo why >&2").await.unwrap(), None);
        assert_eq!(shell("echo out; echo why >&2; exit 1").await.unwrap().as_deref(), Some("out\nwhy"));
        let long = shell("for n in $(seq 30); do echo; echo \" line $n\"; done; exit 1").await.unwrap().unwrap();
        let notes = with_lines(Error::failed("it exited"), &long).notes;
        assert_eq!(notes, (23..=30).map(|n| format!(" line {n}")).collect::<Vec<_>>());
        let absent = failure(Command::new("/absent/python3")).await.unwrap_err().message;
        assert!(absent.starts_with("cannot run `/absent/python3`: "), "{absent}");
    }

    #[test]
    fn an_installer_gets_no_credentials() {
        for (name, expected) in [
            ("PATH", true),
            ("https_proxy", true),
            ("PIP_INDEX_URL", true),
            ("SSL_CERT_FILE", true),
            ("PIP_TARGET", false),
            ("PIP_PYTHON", false),
            ("PYENV_DIR", false),
            ("PYTHONPATH", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("AWS_PROFILE", false),
            ("GITHUB_TOKEN", false),
        ] {
            assert_eq!(is_passed_on(name), expected, "{name}");
        }
    }
}
