//! Where the sandbox keeps its things, and the lock that lets one process at a time change them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::problem::Problem;

/// The directory that holds the sandbox: the installed emulator, what is known of the running server, its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home(PathBuf);

impl Home {
    /// The given directory; a relative one is meant from the current directory, once and for all.
    pub(super) fn new(path: PathBuf) -> Self {
        Self(std::path::absolute(&path).unwrap_or(path))
    }

    /// From the environment: `KIBUS_SANDBOX_HOME`, else `kibus` in the user's data directory as the XDG base
    /// directory specification has it (a relative `XDG_DATA_HOME` counts as none).
    pub(super) fn from_env(var: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let path = |name| var(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        path("KIBUS_SANDBOX_HOME")
            .or_else(|| {
                let data = path("XDG_DATA_HOME").filter(|p| p.is_absolute());
                data.map(|p| p.join("kibus"))
            })
            .or_else(|| path("HOME").map(|p| p.join(".local/share/kibus")))
            .map(Self::new)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// What is known of the server that `up` started.
    pub(super) fn state(&self) -> PathBuf {
        self.0.join("server.json")
    }

    /// That server's own directory: its log and its temporary files.
    pub(super) fn server(&self) -> PathBuf {
        self.0.join("server")
    }

    /// Makes the directory and takes its lock, waiting for as long as another process has it. The kernel gives it
    /// back when the file is closed, also if the process is killed.
    pub(super) async fn lock(&self) -> Result<Lock, Problem> {
        fs::create_dir_all(&self.0).map_err(Problem::io("create", &self.0))?;
        let path = self.0.join("lock");
        let taken = path.clone();
        let lock = tokio::task::spawn_blocking(move || {
            let file = File::create(taken)?;
            file.lock()?;
            Ok(Lock { _file: file })
        });
        lock.await
            .unwrap_or_else(|e| Err(std::io::Error::other(e)))
            .map_err(Problem::io("lock", path))
    }
}

/// Held while the sandbox is being changed.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_comes_from_the_environment() {
        type Vars = &'static [(&'static str, &'static str)];
        let table: [(Vars, Option<&str>); 7] = [
            (&[("KIBUS_SANDBOX_HOME", "/s"), ("HOME", "/h")], Some("/s")),
            (&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")], Some("/d/kibus")),
            (&[("HOME", "/h")], Some("/h/.local/share/kibus")),
            (&[("XDG_DATA_HOME", "d"), ("HOME", "/h")], Some("/h/.local/share/kibus")),
            (
                &[("KIBUS_SANDBOX_HOME", ""), ("HOME", "/h")],
                Some("/h/.local/share/kibus"),
            ),
            (&[("HOME", "")], None),
            (&[], None),
        ];
        for (vars, home) in table {
            let found = Home::from_env(|name| {
                let var = vars.iter().find(|(n, _)| *n == name);
                var.map(|(_, v)| OsString::from(v))
            });
            assert_eq!(found, home.map(|p| Home::new(p.into())), "{vars:?}");
        }
    }

    #[tokio::test]
    async fn the_lock_is_held_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("new"));
        let lock = home.lock().await.unwrap();
        let other = File::open(home.path().join("lock")).unwrap();
        assert!(other.try_lock().is_err());
        drop(lock);
        assert!(other.try_lock().is_ok());
    }
}
