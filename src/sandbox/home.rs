//! The sandbox's directory, and the lock that lets only one process at a time change it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, quoted};

/// Write permission for the group and all others.
const OTHERS_WRITE: u32 = 0o022;
/// Any permission for the group and all others.
const OTHERS: u32 = 0o077;

/// The directory of the sandbox: the installed emulator, and the record of the running server.
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

    /// Creates the directory and locks it. Waits while another process holds the lock. The kernel releases the lock
    /// when the file is closed, even if the process is killed.
    pub(super) async fn lock(&self) -> Result<Lock, Error> {
        self.make_private()?;
        let path = self.0.join("lock");
        let lock_file = path.clone();
        let lock = tokio::task::spawn_blocking(move || {
            let mut options = File::options();
            let file = options.create(true).truncate(false).write(true).open(lock_file)?;
            file.lock()?;
            Ok(Lock { _file: file })
        });
        lock.await.unwrap_or_else(|e| Err(std::io::Error::other(e))).map_err(cannot("lock", path))
    }

    /// Creates the directory, and checks that no other user can put a program into it that kibus would run.
    fn make_private(&self) -> Result<(), Error> {
        let path = &self.0;
        let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
        created.map_err(cannot("create", path))?;
        self.check_owner(path)?;
        let mode = fs::metadata(path).map_err(cannot("read", path))?.mode();
        if mode & OTHERS_WRITE != 0 {
            fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS_WRITE))
                .map_err(cannot("change the mode of", path))?;
        }
        Ok(())
    }

    /// The content of a file in this directory that holds a secret, if it exists. Refuses a file that another user could have
    /// changed or read.
    pub(super) fn read_private(&self, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let mut file = match File::open(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(cannot("read", path))?,
        };
        for (path, found, others) in
            [(self.path(), fs::metadata(self.path()), OTHERS_WRITE), (path, file.metadata(), OTHERS)]
        {
            let found = found.map_err(cannot("read", path))?;
            self.check(path, &found)?;
            if found.mode() & others != 0 {
                let path = path.to_string_lossy();
                let error = format!("other users have access to `{path}`, so kibus uses nothing from it");
                let close = format!("chmod go= {}", quoted(&path));
                return Err(Error::failed(error).hint_command("if it is yours, remove their access:", close));
            }
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(cannot("read", path))?;
        Ok(Some(bytes))
    }

    /// Refuses a file that exists and belongs to another user.
    pub(super) fn check_owner(&self, path: &Path) -> Result<(), Error> {
        fs::metadata(path).map_or(Ok(()), |found| self.check(path, &found))
    }

    fn check(&self, path: &Path, found: &Metadata) -> Result<(), Error> {
        // Another user could put something into it that kibus or a shell would run.
        let other = || {
            let path = path.display();
            Error::failed(format!("`{path}` belongs to another user, so kibus uses nothing from it"))
                .hint("set `KIBUS_SANDBOX_HOME` to a directory of your own, or delete this one")
        };
        // A new file belongs to the user that this process runs as.
        let ours = tempfile::tempfile_in(&self.0).and_then(|file| file.metadata());
        match ours {
            Ok(ours) if ours.uid() == found.uid() => Ok(()),
            Ok(_) => Err(other()),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(other()),
            Err(e) => Err(cannot("create a file in", &self.0)(e)),
        }
    }
}

/// For `map_err`: adds the operation (a verb) and the file to an I/O error.
pub(super) fn cannot(what: &str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
    let what = format!("cannot {what} `{}`", path.as_ref().display());
    move |e| Error::failed(format!("{what}: {e}"))
}

/// Held while this process changes the sandbox.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_home_comes_from_the_environment() {
        type Vars = &'static [(&'static str, &'static str)];
        let table: [(Vars, Option<&str>); 7] = [
            (&[("KIBUS_SANDBOX_HOME", "/s"), ("HOME", "/h")], Some("/s")),
            (&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")], Some("/d/kibus")),
            (&[("HOME", "/h")], Some("/h/.local/share/kibus")),
            (&[("XDG_DATA_HOME", "d"), ("HOME", "/h")], Some("/h/.local/share/kibus")),
            (&[("KIBUS_SANDBOX_HOME", ""), ("HOME", "/h")], Some("/h/.local/share/kibus")),
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
    async fn no_other_user_can_write_into_it() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let home = Home::new(dir.path().join("a/new"));
        drop(home.lock().await.unwrap());
        assert_eq!(mode(home.path()), 0o700, "new");
        fs::set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
        drop(home.lock().await.unwrap());
        assert_eq!(mode(home.path()), 0o755, "it was open to all");
    }

    #[tokio::test]
    async fn a_directory_of_another_user_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("theirs"));
        fs::create_dir(home.path()).unwrap();
        // Only root can give a file away. For others, `/` is the directory of another user.
        let refused = match std::os::unix::fs::chown(home.path(), Some(65534), None) {
            Ok(()) => home.lock().await.map(drop),
            Err(_) => home.check_owner(Path::new("/")),
        };
        let refused = refused.unwrap_err();
        assert!(refused.message.contains("belongs to another user"), "{refused:?}");
        assert!(!home.path().join("lock").exists());
    }

    #[test]
    fn a_record_that_others_could_have_written_or_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_owned());
        let (path, record) = (home.path(), home.record_path());
        assert_eq!(home.read_private(&record).unwrap(), None);
        fs::write(&record, "{}").unwrap();
        for (of_home, of_record, refused) in [
            (0o700, 0o600, None),
            (0o755, 0o600, None),
            (0o777, 0o600, Some(path)),
            (0o720, 0o600, Some(path)),
            (0o700, 0o644, Some(&*record)),
            (0o700, 0o620, Some(&*record)),
        ] {
            fs::set_permissions(path, Permissions::from_mode(of_home)).unwrap();
            fs::set_permissions(&record, Permissions::from_mode(of_record)).unwrap();
            let found = match home.read_private(&record) {
                Ok(Some(_)) => None,
                Err(error) => Some(error.message),
                other => panic!("{of_home:o} {of_record:o}: {other:?}"),
            };
            let refused = refused.map(|path| {
                let path = path.display();
                format!("other users have access to `{path}`, so kibus uses nothing from it")
            });
            assert_eq!(found, refused, "{of_home:o} {of_record:o}");
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
        // A process that another test starts shares the open file until it runs its program.
        let released = async {
            while other.try_lock().is_err() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(10), released).await.is_ok());
    }
}
