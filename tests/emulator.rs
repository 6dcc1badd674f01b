//! A local server that speaks AWS's APIs, for one test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kibus::aws::{Connect, Session};
use tempfile::TempDir;

/// The account that tests are in, where a server lets the caller choose.
pub(crate) const ACCOUNT: &str = "111122223333";

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The one that runs functions too.
    Ministack,
    /// The second opinion on the control plane.
    Moto,
}

/// A running server, ended when dropped.
pub(crate) struct Emulator {
    /// Which it is.
    pub(crate) kind: Kind,
    /// Where it listens.
    pub(crate) endpoint: String,
    server: Child,
    _files: TempDir,
}

impl Emulator {
    /// Starts a server of its own on a free port, and waits until it answers.
    pub(crate) async fn start(kind: Kind) -> Self {
        let files = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let endpoint = format!("http://127.0.0.1:{port}");
        let server = command(kind, port, &endpoint)
            .env("TMPDIR", files.path())
            .env("HOME", files.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let emulator = Self {
            kind,
            endpoint,
            server,
            _files: files,
        };
        let begun = Instant::now();
        while connects(port).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{kind:?} does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        emulator
    }

    /// A session with it.
    pub(crate) async fn session(&self) -> Session {
        self.connect().connect().await.unwrap()
    }

    /// How to get to it.
    pub(crate) fn connect(&self) -> Connect {
        Connect {
            region: Some("us-west-2".parse().unwrap()),
            endpoint_url: Some(self.endpoint.clone()),
            isolated: true,
            account: (self.kind == Kind::Ministack).then(|| ACCOUNT.parse().unwrap()),
            ..Connect::default()
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

/// What starts a server. The executables come from the environment.
fn command(kind: Kind, port: u16, endpoint: &str) -> Command {
    let executable = |variable: &str| {
        std::env::var(variable).unwrap_or_else(|_| panic!("{variable} must name the executable of {kind:?}"))
    };
    let mut command;
    match kind {
        Kind::Ministack => {
            command = Command::new(executable("KIBUS_TEST_MINISTACK"));
            command.env_clear();
            command.envs([
                ("BIND_HOST", "127.0.0.1"),
                ("GATEWAY_PORT", &port.to_string()),
                ("IOT_MTLS_ENABLED", "0"),
                ("SFTP_ENABLED", "0"),
                ("AWS_ENDPOINT_URL", endpoint),
                ("DOCKER_HOST", "unix:///nonexistent"),
            ]);
        }
        Kind::Moto => {
            command = Command::new(executable("KIBUS_TEST_MOTO"));
            command.env_clear();
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        }
    }
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

fn connects(port: u16) -> std::io::Result<()> {
    std::net::TcpStream::connect(("127.0.0.1", port)).map(drop)
}
