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
mod http;
mod install;
mod isolated;
mod private;
mod process;
mod python;
mod secret;
mod server;
mod server_record;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub use environment::{DEFAULT_REGION, Endpoint, ShellVariables};
pub use error::SandboxError;
pub use private::PrivateServer;
pub use secret::Secret;
pub use server_record::ServerRecord;

use home::Home;
pub(crate) use process::{KillSignal, signal_group};
use server::Lifetime;

/// How long a server may take to exit after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// The sandbox in one directory.
#[derive(Clone, Debug)]
pub struct Sandbox {
    home: Home,
}

/// A slow step that is about to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupStep {
    /// The emulator is downloaded and installed. This happens once.
    Installing,
    /// The server is started.
    Starting,
}

/// What [`Sandbox::up`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Up {
    /// It started the server.
    Started(ServerRecord),
    /// The server was already running.
    AlreadyRunning(ServerRecord),
}

/// Whether the sandbox is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStatus {
    /// No server is running.
    Down,
    /// The server runs and responds.
    Up(ServerRecord),
    /// The server runs but does not respond.
    Unresponsive(ServerRecord),
}

impl Sandbox {
    /// The user's sandbox: in `KIBUS_SANDBOX_HOME`, else in `kibus` under `XDG_DATA_HOME`, else in `~/.local/share/kibus`.
    ///
    /// # Errors
    /// [`SandboxError::NoHome`] if none of these variables is set.
    pub fn open() -> Result<Self, SandboxError> {
        let home = Home::from_env(|name| std::env::var_os(name)).ok_or(SandboxError::NoHome)?;
        Ok(Self { home })
    }

    /// Installs the emulator if it is missing and returns its Python. If several processes call this at once, one
    /// installs and the others wait.
    async fn install(&self, tell: &(dyn Fn(SetupStep) + Sync)) -> Result<PathBuf, SandboxError> {
        let lock = self.home.lock().await?;
        install::install(&self.home, &lock, tell).await
    }

    /// Starts the user's server if it is not running, and installs the emulator first if it is missing. The server
    /// outlives this process.
    ///
    /// # Errors
    /// No suitable Python; an installation that failed; a server that does not start or does not respond.
    pub async fn up(&self, tell: &(dyn Fn(SetupStep) + Sync)) -> Result<Up, SandboxError> {
        let lock = self.home.lock().await?;
        match self.status().await? {
            ServerStatus::Up(record) => return Ok(Up::AlreadyRunning(record)),
            ServerStatus::Unresponsive(ServerRecord { pid, port, .. }) => {
                return Err(SandboxError::Unresponsive { pid, port });
            }
            ServerStatus::Down => {}
        }
        let python = install::install(&self.home, &lock, tell).await?;
        tell(SetupStep::Starting);
        let (directory, record_path) = (self.home.server_directory(), self.home.record_path());
        let save = |record: &ServerRecord| record.write(&record_path);
        let started = server::start(&python, &directory, Lifetime::Detached, &[], save)
            .await
            .inspect_err(|_| {
                // If this fails too, the record names a process that has exited and is ignored.
                let _ = ServerRecord::remove(&record_path);
            })?;
        started.process.let_go();
        Ok(Up::Started(started.record))
    }

    /// Whether the user's server is running and responds.
    ///
    /// # Errors
    /// Its record cannot be read, or another user could have written it.
    pub async fn status(&self) -> Result<ServerStatus, SandboxError> {
        let Some(record) = ServerRecord::read(&self.home)?.filter(ServerRecord::is_running) else {
            return Ok(ServerStatus::Down);
        };
        Ok(if server::is_healthy(&record).await {
            ServerStatus::Up(record)
        } else {
            ServerStatus::Unresponsive(record)
        })
    }

    /// The address of the user's server.
    ///
    /// # Errors
    /// [`SandboxError::NotRunning`], or [`SandboxError::Unresponsive`] if it runs but does not respond.
    pub async fn endpoint(&self) -> Result<Endpoint, SandboxError> {
        match self.status().await? {
            ServerStatus::Up(record) => Ok(record.endpoint()),
            ServerStatus::Unresponsive(ServerRecord { pid, port, .. }) => Err(SandboxError::Unresponsive { pid, port }),
            ServerStatus::Down => Err(SandboxError::NotRunning),
        }
    }

    /// Stops the user's server and its functions and waits until they have exited. Everything created in the server is
    /// lost. Returns the record of the stopped server, or `None` if no server was running.
    ///
    /// # Errors
    /// [`SandboxError::NotStopped`] if it is still running after both signals.
    pub async fn down(&self) -> Result<Option<ServerRecord>, SandboxError> {
        let _lock = self.home.lock().await?;
        let running = ServerRecord::read(&self.home)?.filter(ServerRecord::is_running);
        if let Some(record) = &running {
            signal_group(record.pid, KillSignal::Term);
            if !has_exited(record).await {
                signal_group(record.pid, KillSignal::Kill);
                if !has_exited(record).await {
                    return Err(SandboxError::NotStopped { pid: record.pid });
                }
            }
        }
        ServerRecord::remove(&self.home.record_path())?;
        // The unpacked functions. The log stays.
        let scratch = self.home.server_directory().join("tmp");
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch).map_err(SandboxError::io("remove", &scratch))?;
        }
        Ok(running)
    }

    /// Starts a private server, which is recorded nowhere and stops when it is dropped. `extra` is added to its
    /// environment variables, for example `("AUTH", "true")` to make it check signatures and policies.
    ///
    /// # Errors
    /// No suitable Python; an installation that failed; a server that does not start.
    pub async fn start_private(
        &self,
        extra: &[(&str, &str)],
        tell: &(dyn Fn(SetupStep) + Sync),
    ) -> Result<PrivateServer, SandboxError> {
        let python = self.install(tell).await?;
        tell(SetupStep::Starting);
        let directory = tempfile::Builder::new()
            .prefix("kibus-sandbox-")
            .tempdir()
            .map_err(SandboxError::io("create a directory in", std::env::temp_dir()))?;
        let started = server::start(&python, directory.path(), Lifetime::Watched, extra, |_| Ok(())).await?;
        Ok(PrivateServer::new(started, directory))
    }

    /// The path of the log of the user's server.
    pub fn log_path(&self) -> PathBuf {
        self.home.server_directory().join("server.log")
    }
}

/// Waits up to [`EXIT_TIMEOUT`] for the server to exit.
async fn has_exited(record: &ServerRecord) -> bool {
    let deadline = Instant::now() + EXIT_TIMEOUT;
    while record.is_running() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(POLL).await;
    }
    true
}
