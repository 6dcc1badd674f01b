//! Knowing and ending a process by its id, with what every Unix has: `/proc` or `ps`, and the shell's own `kill`.
//!
//! A process id says little on its own, since ids are used again. The server therefore carries a mark of its own in its
//! command line, and only a process with that mark is ever believed to be the server, or ended.

use std::hash::{BuildHasher, RandomState};
use std::process::{Command, Stdio};

/// A word that no other process has in its command line.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        // RandomState is seeded by the system.
        Self(format!("{:016x}", RandomState::new().hash_one(0)))
    }

    /// The option for Python's `-X`, which takes any name and ignores what it does not know.
    pub(super) fn option(&self) -> String {
        format!("kibus-sandbox={}", self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Term,
    Kill,
}

/// Whether the process lives and is the one with this mark. A process that ended and was not waited for is gone.
pub(super) fn is_alive(pid: u32, mark: &Mark) -> bool {
    command_line(pid).is_some_and(|line| line.contains(&mark.option()))
}

fn command_line(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let ps = Command::new("ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&ps.stdout).into_owned())
}

/// Sends a signal to the process group that the server leads: itself and the functions that it runs.
///
/// That the group is gone already is no error; the caller watches the process in any case.
pub(super) fn signal_group(leader: u32, signal: Signal) {
    let name = match signal {
        Signal::Term => "TERM",
        Signal::Kill => "KILL",
    };
    let _ = Command::new("sh")
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
    fn only_the_living_process_with_the_mark_is_it() {
        let mark = Mark::new();
        let mut child = Command::new("sh")
            .args(["-c", "echo ready; read wait; :", &mark.option()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        // Between fork and exec it has no command line yet.
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert!(is_alive(child.id(), &mark), "alive");
        assert!(!is_alive(child.id(), &Mark::new()), "another mark");
        assert!(!is_alive(std::process::id(), &mark), "another process");
        signal_group(child.id(), Signal::Term);
        let status = child.wait().unwrap();
        assert!(!status.success(), "the signal ends it");
        assert!(!is_alive(child.id(), &mark), "ended");
    }
}
