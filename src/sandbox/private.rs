//! A private server for tests and the demo.

use std::path::PathBuf;
use std::process::Child;

use tempfile::TempDir;

use super::environment::Endpoint;
use super::server::{StartedServer, stop_child};

/// An emulator that is recorded nowhere. Dropping this ends the emulator and its functions and removes its files. The
/// emulator also ends when the process that holds this is killed.
#[derive(Debug)]
pub struct PrivateServer {
    // `None` only while this is dropped.
    child: Option<Child>,
    endpoint: Endpoint,
    directory: TempDir,
}

impl PrivateServer {
    pub(super) fn new(started: StartedServer, directory: TempDir) -> Self {
        Self {
            child: Some(started.child),
            endpoint: started.record.endpoint(),
            directory,
        }
    }

    /// The server's address.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The path of its log. The file is removed with the server.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            stop_child(child);
        }
    }
}
