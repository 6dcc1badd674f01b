//! A local AWS emulator to try kibus without an AWS account.
//!
//! The sandbox runs ministack, an emulator that runs functions as plain processes and needs no container engine. It is
//! installed from a lock file with hashes into the user's data directory and listens on a free port of 127.0.0.1 only.
//! [`Sandbox::up`] starts the user's server. Tests and the demo start servers of their own ([`Sandbox::start`]).
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
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use server::{SandboxServer, Subject};

use crate::error::Error;
use home::Home;

/// The default Region of the sandbox. The emulator serves every Region.
pub const DEFAULT_REGION: &str = "us-west-2";
/// The argument that makes the emulator start with clusters.
const WITH_CLUSTERS: &[&str] = &["account"];
/// The length of a secret, in bytes.
const BYTES: usize = 16;
const STARTING: &str = "Starting the local AWS emulator.";

#[derive(Clone, Debug)]
pub struct Sandbox {
    home: Home,
}

/// Announces a slow step that is about to start.
pub type Tell<'a> = &'a (dyn Fn(&str) + Sync);

impl Sandbox {
    /// The user's sandbox: in `KIBUS_SANDBOX_HOME`, else in `kibus` under `XDG_DATA_HOME`, else in `~/.local/share/kibus`.
    pub fn open() -> Result<Self, Error> {
        let home = Home::from_env(|name| std::env::var_os(name)).ok_or_else(|| {
            Error::failed(
                "no directory for the sandbox: none of `KIBUS_SANDBOX_HOME`, `XDG_DATA_HOME`, and `HOME` is set",
            )
            .hint("set `KIBUS_SANDBOX_HOME` to a directory that you can write to")
        })?;
        Ok(Self { home })
    }

    /// The sandbox in this directory, which is created when something is installed.
    pub fn at(directory: PathBuf) -> Self {
        Self { home: Home::new(directory) }
    }

    /// The directory of the installed emulator and of the record of the running server.
    pub fn directory(&self) -> &Path {
        self.home.path()
    }

    /// Installs the emulator if it is missing and returns its Python. If several processes run at once, one installs and
    /// the others wait.
    pub async fn install(&self, tell: Tell<'_>) -> Result<PathBuf, Error> {
        let lock = self.home.lock().await?;
        install::install(&self.home, &lock, tell).await
    }

    /// Starts the user's server, and installs the emulator first if it is missing. The server starts with two EKS clusters.
    pub async fn up(&self, tell: Tell<'_>) -> Result<SandboxServer, Error> {
        // If two processes run at once, the second waits for the first and finds its server.
        let lock = self.home.lock().await?;
        if let Some(endpoint) = Endpoint::read(&self.home)?
            && endpoint.responds().await
        {
            return Err(Error::failed(format!("the sandbox is already running at {}", endpoint.url())));
        }
        let python = install::install(&self.home, &lock, tell).await?;
        tell(STARTING);
        let mut server = SandboxServer::start(&python, WITH_CLUSTERS, &[]).await?;
        server.record(&self.home)?;
        Ok(server)
    }

    /// The endpoint of the user's server; an error if no server is running and responds.
    pub async fn endpoint(&self) -> Result<Endpoint, Error> {
        let why = match Endpoint::read(&self.home)? {
            Some(endpoint) if endpoint.responds().await => return Ok(endpoint),
            Some(Endpoint { port, .. }) => {
                format!(": its last server was killed, and nothing on port {port} responds with its secret")
            }
            None => String::new(),
        };
        Err(Error::failed(format!("the sandbox is not running{why}")).hint_command("to start it:", "kibus sandbox up"))
    }

    /// Starts a server that `--sandbox` does not find. `extra` is added to its environment variables, for example
    /// `("AUTH", "true")` to make it check signatures and policies.
    pub async fn start(&self, extra: &[(&str, &str)], tell: Tell<'_>) -> Result<SandboxServer, Error> {
        let python = self.install(tell).await?;
        tell(STARTING);
        SandboxServer::start(&python, &[], extra).await
    }

    /// Starts a server like the user's. Only commands that have its directory as `KIBUS_SANDBOX_HOME` find it.
    pub async fn start_with_clusters(&self, tell: Tell<'_>) -> Result<SandboxServer, Error> {
        let python = self.install(tell).await?;
        tell(STARTING);
        let mut server = SandboxServer::start(&python, WITH_CLUSTERS, &[]).await?;
        let home = Home::new(server.directory().to_owned());
        server.record(&home)?;
        Ok(server)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The session token that every request must carry.
    pub secret: Secret,
    /// What this server reports about itself. No other server that takes its port can report it.
    proof: Secret,
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

/// Whether a variable would make calls to one service bypass `AWS_ENDPOINT_URL`, and needs no quotes in a shell.
fn is_endpoint_of_service(name: &str) -> bool {
    let service = name.strip_prefix("AWS_ENDPOINT_URL_").unwrap_or_default();
    !service.is_empty() && service.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl Secret {
    /// Digits from the system's random number generator.
    fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
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

/// Keeps the secret out of logs and error messages.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
