//! A private server for tests and the demo.

use std::path::PathBuf;

use tempfile::TempDir;

use super::environment::Endpoint;
use super::server::{ServerProcess, StartedServer};

/// An emulator that is recorded nowhere. Dropping this ends the emulator and its functions and removes its files. The
/// emulator also ends when the process that holds this is killed.
#[derive(Debug)]
pub struct PrivateServer {
    // Before its directory, because members are dropped in order.
    _process: ServerProcess,
    endpoint: Endpoint,
    directory: TempDir,
}

impl PrivateServer {
    pub(super) fn new(started: StartedServer, directory: TempDir) -> Self {
        Self {
            _process: started.process,
            endpoint: started.record.endpoint(),
            directory,
        }
    }

    /// The server's address.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The path of its log. The file is removed with the server.
    pub fn log_path(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }
}
