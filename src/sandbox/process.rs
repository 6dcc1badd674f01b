//! Identifies and signals a process by its id, with `/proc` or `ps` and the shell's `kill`. Both programs are called by their
//! paths: `PATH` may name the current directory, which may be a repository with any content.
//!
//! The system reuses process ids. The server therefore carries a unique mark in its command line, and only a process with
//! that mark counts as the server.

use std::hash::{BuildHasher, RandomState};
use std::process::{Command, Stdio};

/// A text that is in no other process's command line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        // The system seeds RandomState.
        Self(format!("{:016x}", RandomState::new().hash_one(0)))
    }

    /// The value for Python's `-X`, which accepts any name and ignores unknown ones.
    pub(super) fn option(&self) -> String {
        format!("kibus-sandbox={}", self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A signal that stops a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KillSignal {
    Term,
    Kill,
}

/// Whether the process runs and carries this mark. A process that exited and was not waited for does not.
pub(super) fn is_running(pid: u32, mark: &Mark) -> bool {
    command_line(pid).is_some_and(|line| line.contains(&mark.option()))
}

fn command_line(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let ps = Command::new("/bin/ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&ps.stdout).into_owned())
}

/// Sends a signal to the process group of this leader, such as the server and the functions that it runs.
///
/// A group that no longer exists is not an error; the caller checks the process anyway.
pub(crate) fn signal_group(leader: u32, signal: KillSignal) {
    let name = match signal {
        KillSignal::Term => "TERM",
        KillSignal::Kill => "KILL",
    };
    let _ = Command::new("/bin/sh")
        .args(["-c", "kill -s \"$1\" -- \"-$2\"", "sh", name])
        .arg(leader.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn only_a_running_process_with_the_mark_is_the_server() {
        let mark = Mark::new();
        let mut child = Command::new("sh")
            .args(["-c", "echo ready; read wait; :", &mark.option()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        // Between fork and exec it does not have the command line yet.
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert!(is_running(child.id(), &mark), "running");
        assert!(!is_running(child.id(), &Mark::new()), "another mark");
        assert!(!is_running(std::process::id(), &mark), "another process");
        signal_group(child.id(), KillSignal::Term);
        let status = child.wait().unwrap();
        assert!(!status.success(), "stopped by the signal");
        assert!(!is_running(child.id(), &mark), "exited");
    }
}
