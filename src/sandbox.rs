//! A local AWS emulator to try kibus without an AWS account.
//!
//! The sandbox runs ministack, an emulator that runs functions as plain processes and needs no container engine. It is
//! installed from a lock file with hashes into the user's data directory and listens on a free port of 127.0.0.1 only.
//! [`Sandbox::up`] and [`Sandbox::down`] start and stop the user's server. Tests and the demo start private servers
//! ([`Sandbox::start_private`]).
//!
//! The emulator keeps everything in memory. Stopping the server deletes all resources in every account and Region.

mod home;
mod install;
mod server;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

pub use server::ServerRecord;
pub(crate) use server::{KillSignal, signal_group};

use crate::error::Error;
use home::{Home, cannot};
use server::StartedServer;

/// The default Region of the sandbox. The emulator serves every Region.
pub const DEFAULT_REGION: &str = "us-west-2";
/// The length of a secret.
const BYTES: usize = 16;
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
    pub fn open() -> Result<Self, Error> {
        let home = Home::from_env(|name| std::env::var_os(name)).ok_or_else(|| {
            Error::failed(
                "there is no directory for the sandbox: none of `KIBUS_SANDBOX_HOME`, `XDG_DATA_HOME` and `HOME` is set",
            )
            .hint("set `KIBUS_SANDBOX_HOME` to a directory that you can write to")
        })?;
        Ok(Self { home })
    }

    /// Installs the emulator if it is missing and returns its Python. Of several processes, one installs and the others wait.
    async fn install(&self, tell: Tell<'_>) -> Result<PathBuf, Error> {
        let lock = self.home.lock().await?;
        install::install(&self.home, &lock, tell).await
    }

    /// Starts the user's server if it is not running, and installs the emulator first if it is missing. The server
    /// outlives this process. Gives its record, and whether this has started it.
    pub async fn up(&self, tell: Tell<'_>) -> Result<(ServerRecord, bool), Error> {
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
    pub fn running(&self) -> Result<Option<ServerRecord>, Error> {
        Ok(ServerRecord::read(&self.home)?.filter(ServerRecord::is_running))
    }

    /// The record of the user's server if it is running. An error if it does not respond.
    async fn responding(&self) -> Result<Option<ServerRecord>, Error> {
        match self.running()? {
            Some(record) if !record.responds().await => {
                Err(stuck(record.pid, &format!("does not respond on port {}", record.endpoint.port)))
            }
            running => Ok(running),
        }
    }

    /// The address of the user's server, which runs and responds.
    pub async fn endpoint(&self) -> Result<Endpoint, Error> {
        let stopped = || Error::failed("the sandbox is not running").hint_command("to start it:", "kibus sandbox up");
        Ok(self.responding().await?.ok_or_else(stopped)?.endpoint)
    }

    /// Stops the user's server and its functions and waits until they have exited. Everything created in the server is
    /// lost. Returns the record of the stopped server, or `None` if no server was running.
    pub async fn down(&self) -> Result<Option<ServerRecord>, Error> {
        let _lock = self.home.lock().await?;
        let running = self.running()?;
        if let Some(record) = &running {
            signal_group(record.pid, KillSignal::Term);
            if !record.has_exited().await {
                signal_group(record.pid, KillSignal::Kill);
                if !record.has_exited().await {
                    return Err(stuck(record.pid, "could not be stopped"));
                }
            }
        }
        ServerRecord::remove(&self.home.record_path())?;
        // The unpacked functions. The log stays.
        let scratch = server::scratch(&self.home.server_directory());
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch).map_err(cannot("remove", &scratch))?;
        }
        Ok(running)
    }

    /// Starts a private server, which is recorded nowhere and stops when it is dropped. `extra` is added to its
    /// environment variables, for example `("AUTH", "true")` to make it check signatures and policies.
    pub async fn start_private(&self, extra: &[(&str, &str)], tell: Tell<'_>) -> Result<PrivateServer, Error> {
        let python = self.install(tell).await?;
        tell(STARTING);
        let directory = tempfile::Builder::new().prefix("kibus-sandbox-").tempdir();
        let directory = directory.map_err(cannot("create a directory in", std::env::temp_dir()))?;
        let started = server::start(&python, directory.path(), None, extra).await?;
        Ok(PrivateServer { started, directory })
    }

    pub fn log_path(&self) -> PathBuf {
        self.home.server_directory().join("server.log")
    }
}

fn stuck(pid: u32, what: &str) -> Error {
    Error::failed(format!("the sandbox server (process {pid}) {what}"))
        .hint_command("to stop it:", "kibus sandbox down")
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// What every request must carry as its session token.
    pub secret: Secret,
}

/// The secret of a server: 32 hexadecimal digits. Without it, any local program, and any web page through the user's browser,
/// could run code as functions of the emulator.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret(String);

impl Endpoint {
    /// The endpoint URL of every AWS service.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment variables for AWS tools and SDKs in this Region. The emulator takes the account from the access key id:
    /// 12 digits are the account, anything else means 000000000000.
    pub fn variables(&self, region: &str) -> ShellVariables {
        let set = [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_SESSION_TOKEN", self.secret.as_str().to_owned()),
            ("AWS_REGION", region.to_owned()),
            // The AWS CLI and boto3 read only this one.
            ("AWS_DEFAULT_REGION", region.to_owned()),
        ];
        let unset = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"];
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let of_services = names.filter(|name| is_endpoint_of_service(name));
        ShellVariables { set: set.into(), unset: unset.into_iter().map(str::to_owned).chain(of_services).collect() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellVariables {
    pub set: Vec<(&'static str, String)>,
    /// Variables to unset, because they would point away from the sandbox.
    pub unset: Vec<String>,
}

/// Whether a variable would send the calls of one service past `AWS_ENDPOINT_URL`, and needs no quotes in a shell.
fn is_endpoint_of_service(name: &str) -> bool {
    let service = name.strip_prefix("AWS_ENDPOINT_URL_").unwrap_or_default();
    !service.is_empty() && service.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl Secret {
    fn new() -> io::Result<Self> {
        random_digits().map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |b| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 2 * BYTES && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err("a secret is 32 hexadecimal digits")
        }
    }
}

/// Logs and error messages do not show it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// 32 hexadecimal digits from the system's random numbers.
fn random_digits() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}
