//! A function's process and its CPU limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

/// A program that can run as the function.
pub struct Program {
    /// Its name in the tables.
    pub name: &'static str,
    /// Its command line.
    pub words: Vec<PathBuf>,
}

/// The endpoint of a function's services, and how it trusts them.
pub struct Services {
    /// Their endpoint.
    pub endpoint: String,
    /// The trusted root certificates.
    pub bundle: PathBuf,
}

/// A control group with 0.15 CPU in periods of 20 ms, which Lambda reportedly uses. Removed when dropped.
pub struct Share {
    directory: PathBuf,
}

impl Share {
    /// Creates the group, if this user is allowed to.
    pub fn new() -> Option<Self> {
        let (v2, v1) = (Path::new("/sys/fs/cgroup"), Path::new("/sys/fs/cgroup/cpu"));
        let name = format!("kibus-bench-{}", std::process::id());
        let set = |directory: &Path, values: &[(&str, &str)]| {
            fs::create_dir(directory)?;
            values.iter().try_for_each(|(file, value)| fs::write(directory.join(file), value))
        };
        let (directory, values): (_, &[_]) = if v2.join("cgroup.controllers").exists() {
            (v2.join(name), &[("cpu.max", "3000 20000")])
        } else {
            (v1.join(name), &[("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "3000")])
        };
        match set(&directory, values) {
            Ok(()) => Some(Self { directory }),
            Err(_) => {
                let _ = fs::remove_dir(&directory);
                None
            }
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Starts a function. It is killed when dropped.
pub fn start(
    program: &Program,
    runtime_api: &str,
    services: &Services,
    share: Option<&Share>,
) -> std::io::Result<Child> {
    let mut command = match share {
        None => Command::new(&program.words[0]),
        Some(share) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
            command.arg(share.directory.join("cgroup.procs"));
            command.arg(&program.words[0]);
            command
        }
    };
    command
        .args(&program.words[1..])
        .env_clear()
        .envs([
            ("AWS_ENDPOINT_URL", services.endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_SESSION_TOKEN", "token"),
            ("AWS_REGION", "us-west-2"),
            ("AWS_DEFAULT_REGION", "us-west-2"),
            ("AWS_LAMBDA_FUNCTION_NAME", "kibus-router"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("_HANDLER", "kibus/karpenter-{cluster}"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ])
        .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
        .env("SSL_CERT_FILE", &services.bundle)
        .env("AWS_CA_BUNDLE", &services.bundle)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

/// The resident memory of a process in KiB, now and at its peak.
pub fn resident(child: &Child) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()?)).ok()?;
    let value = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some((value("VmRSS:")?, value("VmHWM:")?))
}
