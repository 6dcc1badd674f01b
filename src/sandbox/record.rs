//! What is saved of the server that `up` started.

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::environment::Endpoint;
use super::problem::Problem;
use super::process::{self, Mark};

/// A server that was started and may still run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its process id, which is also the id of its process group.
    pub pid: u32,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// When it was started, in seconds since 1970.
    pub started: u64,
    pub(super) mark: Mark,
}

impl Record {
    /// Where it answers.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint { port: self.port }
    }

    /// Whether the very process lives still.
    pub(super) fn is_alive(&self) -> bool {
        process::is_alive(self.pid, &self.mark)
    }

    /// The record in this file. None if there is none, or one that cannot be understood: it names no process then.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Problem> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Problem::io("read", path)(e)),
        }
    }

    /// Writes the file whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<(), Problem> {
        let write = || {
            let directory = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(Problem::io("write", path))
    }

    /// Removes the file, if there is one.
    pub(super) fn remove(path: &Path) -> Result<(), Problem> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Problem::io("remove", path)(e)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            pid: 12,
            port: 4566,
            started: 1_700_000_000,
            mark: Mark::new(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.json");
        assert_eq!(Record::read(&path).unwrap(), None, "no file");
        let (one, other) = (record(), record());
        one.write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap(), Some(one));
        other.write(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap(), Some(other), "overwritten");
        Record::remove(&path).unwrap();
        Record::remove(&path).unwrap();
        assert_eq!(Record::read(&path).unwrap(), None, "removed");
    }

    #[test]
    fn a_file_that_is_no_record_names_no_server() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.json");
        for text in ["", "{", "{}", r#"{"pid":-1,"port":1,"started":1,"mark":"x"}"#] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Record::read(&path).unwrap(), None, "{text:?}");
        }
    }

    #[test]
    fn another_process_with_the_recorded_id_is_not_the_server() {
        let mut recorded = record();
        recorded.pid = std::process::id();
        assert!(!recorded.is_alive());
    }
}
