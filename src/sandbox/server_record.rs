//! The record of the server started by `up`, saved as a file.

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::environment::Endpoint;
use super::error::SandboxError;
use super::home::Home;
use super::process::{self, Mark};
use super::secret::Secret;

/// A server that was started and may still be running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its process id, which is also its process group id.
    pub pid: u32,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// The time of its start, in seconds since 1970.
    pub started: u64,
    pub(super) mark: Mark,
    pub(super) secret: Secret,
}

impl ServerRecord {
    /// The server's address.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            port: self.port,
            secret: self.secret.clone(),
        }
    }

    /// Whether this process is still running.
    pub(super) fn is_running(&self) -> bool {
        process::is_running(self.pid, &self.mark)
    }

    /// The record in this home. `None` if the file is missing or cannot be parsed, since it then names no process.
    ///
    /// # Errors
    /// When another user could have written it, or it cannot be read.
    pub(super) fn read(home: &Home) -> Result<Option<Self>, SandboxError> {
        let bytes = home.read_private(&home.record_path())?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Writes the file atomically. Only the user can read it, since it holds the secret.
    pub(super) fn write(&self, path: &Path) -> Result<(), SandboxError> {
        let write = || {
            let directory = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(SandboxError::io("write", path))
    }

    /// Removes the file, if it exists.
    pub(super) fn remove(path: &Path) -> Result<(), SandboxError> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(SandboxError::io("remove", path)(e)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ServerRecord {
        ServerRecord {
            pid: 12,
            port: 4566,
            started: 1_700_000_000,
            mark: Mark::new(),
            secret: Secret::new().unwrap(),
        }
    }

    #[test]
    fn a_written_record_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_owned());
        let (path, read) = (home.record_path(), || ServerRecord::read(&home).unwrap());
        assert_eq!(read(), None, "no file");
        let (one, other) = (record(), record());
        one.write(&path).unwrap();
        assert_eq!(read(), Some(one));
        other.write(&path).unwrap();
        assert_eq!(read(), Some(other), "overwritten");
        ServerRecord::remove(&path).unwrap();
        ServerRecord::remove(&path).unwrap();
        assert_eq!(read(), None, "removed");
    }

    #[test]
    fn an_unparsable_file_is_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_owned());
        record().write(&home.record_path()).unwrap();
        for text in [
            "",
            "{",
            "{}",
            r#"{"pid":-1,"port":1,"started":1,"mark":"x"}"#,
            r#"{"pid":1,"port":1,"started":1,"mark":"x","secret":"$(kibus)"}"#,
        ] {
            std::fs::write(home.record_path(), text).unwrap();
            assert_eq!(ServerRecord::read(&home).unwrap(), None, "{text:?}");
        }
    }

    #[test]
    fn another_process_with_the_recorded_id_is_not_the_server() {
        let mut recorded = record();
        recorded.pid = std::process::id();
        assert!(!recorded.is_running());
    }
}
