//! Local AWS emulators. Tests share them, and each test has its own account ([`free_account`]). Everything is installed
//! into the build directory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_smithy_runtime_api::client::http::SharedHttpClient;
use kibus::sandbox::{Endpoint, Sandbox, SandboxServer};
use kibus_harness::proxy::keep_secret;
pub(crate) use kibus_harness::proxy::secret;
use tokio::runtime::Runtime;

use super::proxy::Upstream;

/// The account of the tests, on servers where the caller sets it.
pub(crate) const ACCOUNT: &str = "111122223333";

/// An account that no other test uses, on any server.
pub(crate) fn free_account() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(700_000_000_000);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

/// The kind of emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Also runs functions.
    Ministack,
    /// Control plane only; stricter than the first in places.
    Moto,
}

/// A ministack that tests share. It ends with the process.
pub(crate) struct SharedServer {
    /// The endpoint URL for its functions, and for callers that act like them.
    pub(crate) endpoint: String,
    server: SandboxServer,
}

impl SharedServer {
    /// The server without variables. Scenarios have another one.
    pub(crate) fn plain() -> &'static Self {
        static SERVER: LazyLock<SharedServer> = LazyLock::new(|| SharedServer::start(async |_| Vec::new()));
        &SERVER
    }

    /// Starts one with the variables that this closure returns. `AWS_ENDPOINT_URL` may be a proxy to the server, which goes on listening.
    pub(crate) fn start(variables: impl AsyncFnOnce(Upstream) -> Vec<(&'static str, String)> + Send + 'static) -> Self {
        let start = async move || {
            let upstream = Upstream::default();
            let variables = variables(upstream.clone()).await;
            let given: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let server = private_server(&given).await;
            upstream.set(server.endpoint().port);
            let proxy = variables.into_iter().find(|(name, _)| *name == "AWS_ENDPOINT_URL");
            Self { endpoint: proxy.map_or_else(|| server.endpoint().url(), |(_, url)| url), server }
        };
        in_background(start).unwrap()
    }

    /// The port of the emulator itself.
    pub(crate) fn port(&self) -> u16 {
        self.server.endpoint().port
    }
}

/// Waits for this outside of a test's runtime, in a runtime that stays when the test ends. An error is its panic.
pub(crate) fn in_background<T: Send + 'static>(
    work: impl AsyncFnOnce() -> T + Send + 'static,
) -> std::thread::Result<T> {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    std::thread::spawn(|| RUNTIME.block_on(work())).join()
}

/// The sandbox of the tests, separate from the user's.
pub(crate) fn sandbox() -> Sandbox {
    Sandbox::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox"))
}

/// Starts a private ministack with these variables. Requests from the tests' proxies carry its secret.
pub(crate) async fn private_server(extra: &[(&str, &str)]) -> SandboxServer {
    let server = sandbox().start(extra, &|_| {}).await.unwrap();
    let Endpoint { port, secret, .. } = server.endpoint();
    keep_secret(*port, secret.as_str());
    server
}

/// An HTTP client of the SDK for servers of the tests.
pub(crate) fn plain_http() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_http()
}

/// The port of the moto that tests share: another emulator of the control plane, stricter than the first in places. It takes
/// the account from a header.
pub(crate) fn moto() -> u16 {
    static PORT: LazyLock<u16> = LazyLock::new(start_moto);
    *PORT
}

/// Ends with this process, because that closes its standard input.
const WATCHED: &str = "import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
from moto.server import main
main(['-H', '127.0.0.1', '-p', '0'])";

/// Starts moto on a port that it chooses itself: another program could take a free port before moto listens.
fn start_moto() -> u16 {
    let mut moto = Command::new(installed_moto())
        .args(["-I", "-c", WATCHED])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(moto.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    let port = loop {
        let line = log.next().unwrap_or_else(|| panic!("moto does not listen: {said:#?}")).unwrap();
        if let Some((_, port)) = line.split_once("Running on http://127.0.0.1:") {
            break port.parse().unwrap();
        }
        said.push(line);
    };
    // It has one end of each pipe; the other ends stay open as long as this process runs.
    std::thread::spawn(move || (log.for_each(drop), moto));
    port
}

/// The Python with moto, installed once. A stamp file is written last and marks the installation as complete. A lock prevents
/// two test runs from installing at the same time.
pub(crate) fn installed_moto() -> PathBuf {
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
    folder.join("bin/python")
}
