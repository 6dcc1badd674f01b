//! The sandbox's directory, and the lock that lets only one process at a time change it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::SandboxError;

/// The directory of the sandbox: the installed emulator, the record of the running server, and its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home(PathBuf);

impl Home {
    /// The sandbox in this directory. A relative path is resolved against the current directory now.
    pub(super) fn new(path: PathBuf) -> Self {
        Self(std::path::absolute(&path).unwrap_or(path))
    }

    /// The directory from the environment: `KIBUS_SANDBOX_HOME`, else `kibus` in the user's data directory by the XDG
    /// base directory specification, which ignores a relative `XDG_DATA_HOME`.
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

    /// The file that records the server started by `up`.
    pub(super) fn record_path(&self) -> PathBuf {
        self.0.join("server.json")
    }

    /// The directory of that server: its log and its temporary files.
    pub(super) fn server_directory(&self) -> PathBuf {
        self.0.join("server")
    }

    /// Creates the directory and locks it. Waits while another process holds the lock. The kernel releases the lock
    /// when the file is closed, even if the process is killed.
    pub(super) async fn lock(&self) -> Result<Lock, SandboxError> {
        fs::create_dir_all(&self.0).map_err(SandboxError::io("create", &self.0))?;
        let path = self.0.join("lock");
        let lock_file = path.clone();
        let lock = tokio::task::spawn_blocking(move || {
            let file = File::create(lock_file)?;
            file.lock()?;
            Ok(Lock { _file: file })
        });
        lock.await
            .unwrap_or_else(|e| Err(std::io::Error::other(e)))
            .map_err(SandboxError::io("lock", path))
    }
}

/// Held while this process changes the sandbox.
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
