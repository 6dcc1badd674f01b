//! A local AWS emulator for one test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aws_sdk_sts::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use kibus::aws::{Connect, Session};
use kibus::sandbox::{Endpoint, Sandbox, SandboxServer};
use kibus_harness::proxy::keep_secret;
pub(crate) use kibus_harness::proxy::secret;
use tempfile::TempDir;

/// The account of the tests, on servers where the caller sets it.
pub(crate) const ACCOUNT: &str = "111122223333";

/// The kind of emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Runs functions too.
    Ministack,
    /// Control plane only; stricter than the first in places.
    Moto,
}

/// Starts a private emulator with these variables. What the tests' proxies send to it carries its secret.
pub(crate) async fn private_server(extra: &[(&str, &str)]) -> SandboxServer {
    let server = Sandbox::open().unwrap().start(extra, &|_| {}).await.unwrap();
    let Endpoint { port, secret, .. } = server.endpoint();
    keep_secret(*port, secret.as_str());
    server
}

/// An HTTP client of the SDK for servers of the tests.
pub(crate) fn plain_http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_http()
}

/// An HTTP client of the SDK for AWS.
pub(crate) fn https() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().tls_provider(Provider::rustls(CryptoMode::Ring)).build_https()
}

/// A running server. Dropping it stops it.
pub(crate) struct Emulator {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its endpoint URL.
    pub(crate) endpoint: String,
    token: Option<String>,
    _server: Server,
}

#[expect(dead_code, reason = "dropping them stops the servers")]
enum Server {
    Ministack(SandboxServer),
    Moto(Moto),
}

impl Emulator {
    /// Starts a private server on a free port, and waits until it responds.
    pub(crate) async fn start(kind: Kind) -> Self {
        match kind {
            Kind::Ministack => {
                let server = private_server(&[]).await;
                Self {
                    kind,
                    endpoint: server.endpoint().url(),
                    token: Some(server.endpoint().secret.as_str().to_owned()),
                    _server: Server::Ministack(server),
                }
            }
            Kind::Moto => {
                let server = Moto::start().await;
                Self {
                    kind,
                    endpoint: format!("http://127.0.0.1:{}", server.port),
                    token: None,
                    _server: Server::Moto(server),
                }
            }
        }
    }

    /// A session in the default Region.
    pub(crate) async fn session(&self) -> Session {
        self.connect().connect().await.unwrap()
    }

    /// The configuration for SDK clients that bypass kibus.
    pub(crate) fn sdk(&self) -> aws_config::SdkConfig {
        let account = if self.kind == Kind::Ministack { ACCOUNT } else { "test" };
        let credentials = Credentials::new(account, "test", self.token.clone(), None, "test");
        aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::v2026_01_12())
            .region(aws_config::Region::new("us-west-2"))
            .http_client(plain_http())
            .endpoint_url(&self.endpoint)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build()
    }

    /// The connection options of kibus.
    pub(crate) fn connect(&self) -> Connect {
        self.connect_to(self.endpoint.clone())
    }

    /// The connection options of kibus for something in front of the emulator.
    pub(crate) fn connect_to(&self, endpoint_url: String) -> Connect {
        Connect {
            account: (self.kind == Kind::Ministack).then(|| ACCOUNT.parse().unwrap()),
            session_token: self.token.clone(),
            ..Connect::to_emulator("us-west-2".parse().unwrap(), endpoint_url)
        }
    }
}

/// A moto server.
struct Moto {
    port: u16,
    server: Child,
    _files: TempDir,
}

impl Moto {
    /// Starts it on a port that the server itself takes: one that is free now may be another test's before it listens.
    async fn start() -> Self {
        let executable = installed_moto();
        let files = TempDir::new().unwrap();
        let log = files.path().join("server.log");
        let server = Command::new(executable)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TMPDIR", files.path())
            .env("HOME", files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut moto = Self { port: 0, server, _files: files };
        let started = Instant::now();
        while moto.port == 0 {
            let said = std::fs::read_to_string(&log).unwrap();
            assert!(
                started.elapsed() < Duration::from_secs(120) && moto.server.try_wait().unwrap().is_none(),
                "moto does not listen: {said}"
            );
            moto.port = listens_on(&said).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        moto
    }
}

/// The port that a server names in its log as soon as it listens.
fn listens_on(log: &str) -> Option<u16> {
    let (_, url) = log.split_once("Running on http://127.0.0.1:")?;
    let (port, _) = url.split_once(|c: char| !c.is_ascii_digit())?;
    port.parse().ok()
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

/// The executable of moto, installed once in the build directory. A stamp file is written last and marks the installation
/// as complete. A lock prevents two test runs from installing at the same time.
fn installed_moto() -> PathBuf {
    let requirements = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/moto.txt");
    let wanted = std::fs::read_to_string(requirements).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("moto");
    let lock = File::create(folder.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).ok().as_ref() != Some(&wanted) {
        let run = |program: &Path, args: &[&str]| {
            let output = Command::new(program).args(args).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "cannot install moto: {} {args:?}: {said}", program.display());
        };
        run(Path::new("python3"), &["-m", "venv", "--clear", &folder.to_string_lossy()]);
        // Servers import few of the modules, and compile those themselves.
        run(&folder.join("bin/pip"), &["install", "--quiet", "--no-compile", "--requirement", requirements]);
        std::fs::write(&stamp, wanted).unwrap();
    }
    folder.join("bin/moto_server")
}
