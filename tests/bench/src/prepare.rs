//! What a measurement needs: the router's release binary, and a Python with boto3.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::function::Program;

/// Both routers, kibus first. Whatever is not given is built in `target`.
pub fn programs(router: Option<PathBuf>, python: Option<PathBuf>) -> Result<[Program; 2], Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize()?;
    let router = match router {
        Some(router) => router.canonicalize()?,
        None => build(&root)?,
    };
    let python = match python {
        Some(python) => python,
        None => environment(here, &root)?,
    };
    Ok([
        Program {
            name: "kibus-router",
            words: vec![router],
        },
        Program {
            name: "boto3",
            words: vec![python, here.join("boto3_router.py")],
        },
    ])
}

fn build(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let target = root.join("target/router");
    let words = "build --release --bin kibus-router --no-default-features --features router --target-dir";
    let mut cargo = Command::new(env!("CARGO"));
    succeed(cargo.current_dir(root).args(words.split(' ')).arg(&target))?;
    Ok(target.join("release/kibus-router"))
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
    status
        .success()
        .then_some(())
        .ok_or_else(|| format!("{command:?}: {status}").into())
}
