//! A local AWS to try everything on, without an account.
//!
//! The sandbox is ministack, an emulator that runs functions as plain processes and needs no container engine. It is
//! installed from a lock file with hashes into the user's data directory ([`Sandbox::install`]), and listens on a free
//! port of 127.0.0.1 only. One server is the user's, started by [`Sandbox::up`] and ended by [`Sandbox::down`]; tests and
//! the demo start private ones ([`Sandbox::start_private`]).
//!
//! All that is created in it is kept in memory: ending the server forgets everything, in every account and Region, and so
//! does [`Sandbox::reset`] without ending it.

mod environment;
mod home;
mod http;
mod install;
mod private;
mod problem;
mod process;
mod python;
mod record;
mod server;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub use environment::{DEFAULT_REGION, Endpoint, Environment};
pub use private::PrivateServer;
pub use problem::Problem;
pub use python::Version;
pub use record::Record;

use home::Home;
use process::{Signal, signal_group};
use server::Lifetime;

/// How long a server gets to end by itself.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// The sandbox in one directory.
#[derive(Clone, Debug)]
pub struct Sandbox {
    home: Home,
}

/// Something that takes a while begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The emulator is downloaded and installed; this happens once.
    Installing,
    /// The server is started.
    Starting,
}

/// How [`Sandbox::up`] found things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Up {
    /// It was not running and was started.
    Started(Record),
    /// It was running already.
    Already(Record),
}

/// Whether the sandbox runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// No server runs.
    Down,
    /// A server runs and answers.
    Up(Record),
    /// The server that was started lives, and does not answer.
    Silent(Record),
}

impl Sandbox {
    /// The user's sandbox: in `KIBUS_SANDBOX_HOME`, else in `kibus` under `XDG_DATA_HOME`, else in `~/.local/share/kibus`.
    ///
    /// # Errors
    ///
    /// [`Problem::NoHome`] if the environment names none of these.
    pub fn open() -> Result<Self, Problem> {
        let home = Home::from_env(|name| std::env::var_os(name)).ok_or(Problem::NoHome)?;
        Ok(Self { home })
    }

    /// The sandbox in this directory, which is made when it is needed.
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self {
            home: Home::new(directory),
        }
    }

    /// Installs the emulator, if it is not installed. Several processes may do this at once: one does it, the others wait.
    /// A run that was killed leaves nothing that a later one would use.
    ///
    /// # Errors
    ///
    /// No suitable Python, or an installation that failed.
    pub async fn install(&self, tell: &(dyn Fn(Step) + Sync)) -> Result<(), Problem> {
        self.installed(tell).await.map(drop)
    }

    async fn installed(&self, tell: &(dyn Fn(Step) + Sync)) -> Result<PathBuf, Problem> {
        let lock = self.home.lock().await?;
        install::install(&self.home, &lock, tell).await
    }

    /// Sees to it that the user's server runs: installs and starts it as needed. It outlives this process.
    ///
    /// # Errors
    ///
    /// Those of [`Sandbox::install`]; a server that does not start, or that lives and does not answer.
    pub async fn up(&self, tell: &(dyn Fn(Step) + Sync)) -> Result<Up, Problem> {
        let lock = self.home.lock().await?;
        match self.status().await? {
            Status::Up(record) => return Ok(Up::Already(record)),
            Status::Silent(Record { pid, port, .. }) => return Err(Problem::Silent { pid, port }),
            Status::Down => {}
        }
        let python = install::install(&self.home, &lock, tell).await?;
        tell(Step::Starting);
        let (directory, state) = (self.home.server(), self.home.state());
        let remember = |record: &Record| record.write(&state);
        server::start(&python, &directory, Lifetime::Detached, &[], remember)
            .await
            .map(|started| Up::Started(started.record))
            .inspect_err(|_| {
                // If that fails as well: the record of a dead process counts as none.
                let _ = Record::remove(&state);
            })
    }

    /// Whether the user's server runs, asked of the server itself.
    ///
    /// # Errors
    ///
    /// The record of it cannot be read.
    pub async fn status(&self) -> Result<Status, Problem> {
        let Some(record) = Record::read(&self.home.state())?.filter(Record::is_alive) else {
            return Ok(Status::Down);
        };
        Ok(if server::is_healthy(&record).await {
            Status::Up(record)
        } else {
            Status::Silent(record)
        })
    }

    /// Where the user's server answers.
    ///
    /// # Errors
    ///
    /// [`Problem::NotRunning`], or [`Problem::Silent`] if it lives and does not answer.
    pub async fn endpoint(&self) -> Result<Endpoint, Problem> {
        match self.status().await? {
            Status::Up(record) => Ok(record.endpoint()),
            Status::Silent(Record { pid, port, .. }) => Err(Problem::Silent { pid, port }),
            Status::Down => Err(Problem::NotRunning),
        }
    }

    /// Ends the user's server, and the functions that it runs, and waits until they are gone; everything that was created
    /// in it is forgotten. Gives the server that was ended, or none if none was running.
    ///
    /// # Errors
    ///
    /// [`Problem::NotEnded`] if it does not end.
    pub async fn down(&self) -> Result<Option<Record>, Problem> {
        let _lock = self.home.lock().await?;
        let running = Record::read(&self.home.state())?.filter(Record::is_alive);
        if let Some(record) = &running {
            signal_group(record.pid, Signal::Term);
            if !gone(record).await {
                signal_group(record.pid, Signal::Kill);
                if !gone(record).await {
                    return Err(Problem::NotEnded { pid: record.pid });
                }
            }
        }
        Record::remove(&self.home.state())?;
        // Unpacked functions; the log stays.
        let scratch = self.home.server().join("tmp");
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch).map_err(Problem::io("remove", &scratch))?;
        }
        Ok(running)
    }

    /// Forgets everything that was created in the user's server, which goes on running.
    ///
    /// # Errors
    ///
    /// Those of [`Sandbox::endpoint`].
    pub async fn reset(&self) -> Result<(), Problem> {
        let Endpoint { port } = self.endpoint().await?;
        let answer = http::request(port, "POST", "/_ministack/reset").await;
        let refused =
            |answer: http::Answer| std::io::Error::other(format!("it answered with status {}", answer.status));
        match answer {
            Ok(answer) if answer.status == 200 => Ok(()),
            Ok(answer) => Err(refused(answer)),
            Err(e) => Err(e),
        }
        .map_err(Problem::io("reset", Endpoint { port }.url()))
    }

    /// Starts a server of one's own, which is recorded nowhere and ends when it is dropped. `extra` is added to its
    /// environment, for example `("AUTH", "true")` to have it check signatures and policies.
    ///
    /// # Errors
    ///
    /// Those of [`Sandbox::install`], and a server that does not start.
    pub async fn start_private(
        &self,
        extra: &[(&str, &str)],
        tell: &(dyn Fn(Step) + Sync),
    ) -> Result<PrivateServer, Problem> {
        let python = self.installed(tell).await?;
        tell(Step::Starting);
        let directory = tempfile::Builder::new()
            .prefix("kibus-sandbox-")
            .tempdir()
            .map_err(Problem::io("create a directory in", std::env::temp_dir()))?;
        let started = server::start(&python, directory.path(), Lifetime::Watched, extra, |_| Ok(())).await?;
        Ok(PrivateServer::new(started, directory))
    }

    /// The log of the user's server.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.home.server().join("server.log")
    }
}

/// Waits for the server to end, for as long as it is given.
async fn gone(record: &Record) -> bool {
    let deadline = Instant::now() + GRACE;
    while record.is_alive() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(POLL).await;
    }
    true
}
