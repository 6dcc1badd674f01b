//! A local AWS emulator to try kibus without an AWS account.
//!
//! The sandbox runs ministack, an emulator that runs functions as plain processes and needs no container engine. It is
//! installed from a lock file with hashes into the user's data directory and listens on a free port of 127.0.0.1 only.
//! [`Sandbox::up`] and [`Sandbox::down`] start and stop the user's server. Tests and the demo start private servers
//! ([`Sandbox::start_private`]).
//!
//! The emulator keeps everything in memory. Stopping the server deletes all resources in every account and Region.

mod environment;
mod error;
mod home;
mod install;
mod server;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use tempfile::TempDir;

pub use environment::{DEFAULT_REGION, Endpoint, Secret, ShellVariables};
pub use error::SandboxError;
pub use server::ServerRecord;
pub(crate) use server::{KillSignal, signal_group};

use home::Home;
use server::StartedServer;

const STARTING: &str = "Starting the local AWS emulator.";

#[derive(Clone, Debug)]
pub struct Sandbox {
    home: Home,
}

/// Says which slow step is about to start.
pub type Tell<'a> = &'a (dyn Fn(&str) + Sync);

/// A private emulator, which is recorded nowhere. Dropping this ends the emulator and its functions and removes its files.
/// The emulator also ends when the process that holds this is killed.
pub struct PrivateServer {
    // Before its directory, because members are dropped in order.
    started: StartedServer,
    directory: TempDir,
}

impl PrivateServer {
    pub fn endpoint(&self) -> &Endpoint {
        &self.started.record.endpoint
    }

    /// The path of its log. The file is removed with the server.
    pub fn log_path(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }
}

impl Sandbox {
    /// The user's sandbox: in `KIBUS_SANDBOX_HOME`, else in `kibus` under `XDG_DATA_HOME`, else in `~/.local/share/kibus`.
    pub fn open() -> Result<Self, SandboxError> {
        let home = Home::from_env(|name| std::env::var_os(name)).ok_or(SandboxError::NoHome)?;
        Ok(Self { home })
    }

    /// Installs the emulator if it is missing and returns its Python. Of several processes, one installs and the others wait.
    async fn install(&self, tell: Tell<'_>) -> Result<PathBuf, SandboxError> {
        let lock = self.home.lock().await?;
        install::install(&self.home, &lock, tell).await
    }

    /// Starts the user's server if it is not running, and installs the emulator first if it is missing. The server
    /// outlives this process. Gives its record, and whether this has started it.
    pub async fn up(&self, tell: Tell<'_>) -> Result<(ServerRecord, bool), SandboxError> {
        let lock = self.home.lock().await?;
        if let Some(record) = self.responding().await? {
            return Ok((record, false));
        }
        let python = install::install(&self.home, &lock, tell).await?;
        tell(STARTING);
        let record_path = self.home.record_path();
        let started = server::start(&python, &self.home.server_directory(), Some(&record_path), &[]).await;
        let mut started = started.inspect_err(|_| {
            // If this fails too, the record names a process that has exited and is ignored.
            let _ = ServerRecord::remove(&record_path);
        })?;
        // It outlives this process.
        started.process = None;
        Ok((started.record.clone(), true))
    }

    /// The record of the user's server if it is running. An error if another user could have written it.
    pub fn running(&self) -> Result<Option<ServerRecord>, SandboxError> {
        Ok(ServerRecord::read(&self.home)?.filter(ServerRecord::is_running))
    }

    /// The record of the user's server if it is running. An error if it does not respond.
    async fn responding(&self) -> Result<Option<ServerRecord>, SandboxError> {
        match self.running()? {
            Some(record) if !record.responds().await => Err(SandboxError::Unresponsive {
                pid: record.pid,
                port: record.endpoint.port,
            }),
            running => Ok(running),
        }
    }

    /// The address of the user's server, which runs and responds.
    pub async fn endpoint(&self) -> Result<Endpoint, SandboxError> {
        Ok(self.responding().await?.ok_or(SandboxError::NotRunning)?.endpoint)
    }

    /// Stops the user's server and its functions and waits until they have exited. Everything created in the server is
    /// lost. Returns the record of the stopped server, or `None` if no server was running.
    pub async fn down(&self) -> Result<Option<ServerRecord>, SandboxError> {
        let _lock = self.home.lock().await?;
        let running = self.running()?;
        if let Some(record) = &running {
            signal_group(record.pid, KillSignal::Term);
            if !record.has_exited().await {
                signal_group(record.pid, KillSignal::Kill);
                if !record.has_exited().await {
                    return Err(SandboxError::NotStopped { pid: record.pid });
                }
            }
        }
        ServerRecord::remove(&self.home.record_path())?;
        // The unpacked functions. The log stays.
        let scratch = server::scratch(&self.home.server_directory());
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch).map_err(SandboxError::io("remove", &scratch))?;
        }
        Ok(running)
    }

    /// Starts a private server, which is recorded nowhere and stops when it is dropped. `extra` is added to its
    /// environment variables, for example `("AUTH", "true")` to make it check signatures and policies.
    pub async fn start_private(&self, extra: &[(&str, &str)], tell: Tell<'_>) -> Result<PrivateServer, SandboxError> {
        let python = self.install(tell).await?;
        tell(STARTING);
        let directory = tempfile::Builder::new().prefix("kibus-sandbox-").tempdir();
        let directory = directory.map_err(SandboxError::io("create a directory in", std::env::temp_dir()))?;
        let started = server::start(&python, directory.path(), None, extra).await?;
        Ok(PrivateServer { started, directory })
    }

    pub fn log_path(&self) -> PathBuf {
        self.home.server_directory().join("server.log")
    }
}
