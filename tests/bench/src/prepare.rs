//! What a measurement needs: the router's release binary, and a Python with boto3.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::function::Program;

/// Both routers, kibus first. Programs that are not given are built in `target`.
pub fn programs(router: Option<PathBuf>, python: Option<PathBuf>) -> Result<[Program; 2], Box<dyn Error>> {
    Ok([
        Program { name: "kibus-router", words: vec![self::router(router)?] },
        Program {
            name: "boto3",
            words: vec![self::python(python)?, Path::new(env!("CARGO_MANIFEST_DIR")).join("boto3_router.py")],
        },
    ])
}

/// The command line's binary.
pub fn kibus(given: Option<PathBuf>) -> Result<PathBuf, Box<dyn Error>> {
    let words = "build --release --bin kibus --target-dir target";
    binary(given, words, "target/release/kibus")
}

/// The function's binary.
pub fn router(given: Option<PathBuf>) -> Result<PathBuf, Box<dyn Error>> {
    let words = "build --release --bin kibus-router --no-default-features --features router --target-dir target/router";
    binary(given, words, "target/router/release/kibus-router")
}

/// A Python with boto3.
pub fn python(given: Option<PathBuf>) -> Result<PathBuf, Box<dyn Error>> {
    match given {
        Some(python) => Ok(python),
        None => environment(Path::new(env!("CARGO_MANIFEST_DIR")), &root()?),
    }
}

/// The directory of the `kibus` package.
pub fn root() -> std::io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()
}

fn binary(given: Option<PathBuf>, words: &str, built: &str) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(given) = given {
        return Ok(given.canonicalize()?);
    }
    let root = root()?;
    succeed(Command::new(env!("CARGO")).current_dir(&root).args(words.split(' ')))?;
    Ok(root.join(built))
}

fn environment(here: &Path, root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let venv = root.join("target/bench-venv");
    let python = venv.join("bin/python");
    if !venv.join("complete").exists() {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "-r"];
        succeed(Command::new(&python).args(pip).arg(here.join("requirements.txt")))?;
        std::fs::write(venv.join("complete"), "")?;
    }
    Ok(python)
}

fn succeed(command: &mut Command) -> Result<(), Box<dyn Error>> {
    // Standard output is for the tables.
    command.stdout(std::io::stderr());
    let status = command.status().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    status.success().then_some(()).ok_or_else(|| format!("{command:?}: {status}").into())
}
