//! A server of one's own, for tests and the demo.

use std::path::PathBuf;
use std::process::Child;

use tempfile::TempDir;

use super::environment::Endpoint;
use super::server::{Started, end_child};

/// An emulator that nobody else knows of. It ends, with the functions that it runs and all its files, when this is
/// dropped, and also when the process that holds this is killed.
#[derive(Debug)]
pub struct PrivateServer {
    // Taken only by drop.
    child: Option<Child>,
    port: u16,
    directory: TempDir,
}

impl PrivateServer {
    pub(super) fn new(started: Started, directory: TempDir) -> Self {
        Self {
            child: Some(started.child),
            port: started.record.port,
            directory,
        }
    }

    /// Where it answers.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint { port: self.port }
    }

    /// Its log, for as long as the server is held.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            end_child(child);
        }
    }
}
