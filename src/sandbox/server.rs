//! Starts the emulator on a free port of 127.0.0.1, in its own process group, without any of the user's AWS settings.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep};

use super::error::SandboxError;
use super::http;
use super::install::last_lines;
use super::process::{KillSignal, Mark, signal_group};
use super::secret::Secret;
use super::server_record::ServerRecord;

/// The emulator usually responds within a second; a busy machine may take much longer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// How many ports are tried if other processes take them first.
const MAX_ATTEMPTS: u32 = 5;
/// Set to the mark. The server reports it as its version, which proves that this server sent the response.
const VERSION_VARIABLE: &str = "MINISTACK_VERSION";

/// How long the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Until it is stopped. It outlives the process that started it.
    Detached,
    /// No longer than this process.
    Watched,
}

/// A server that was just started and has responded.
pub(super) struct StartedServer {
    pub(super) process: ServerProcess,
    pub(super) record: ServerRecord,
}

/// A server's process, which is stopped with its process group when this is dropped; `None` once it is let go.
#[derive(Debug)]
pub(super) struct ServerProcess(pub(super) Option<Child>);

/// Starts the emulator and waits until it responds.
///
/// `directory` holds its log `server.log` and its temporary files. `extra` is added to its environment variables.
/// `save` is called as soon as the process exists, so that the server is on record if this process is killed while it
/// waits.
pub(super) async fn start(
    python: &Path,
    directory: &Path,
    lifetime: Lifetime,
    extra: &[(&str, &str)],
    save: impl Fn(&ServerRecord) -> Result<(), SandboxError>,
) -> Result<StartedServer, SandboxError> {
    let scratch = directory.join("tmp");
    fs::create_dir_all(&scratch).map_err(SandboxError::io("create", &scratch))?;
    let log = directory.join("server.log");
    let mut attempt = 1;
    loop {
        let port = free_port().map_err(SandboxError::io("find a free port on", "127.0.0.1"))?;
        let mark = Mark::new();
        let secret = Secret::new().map_err(SandboxError::io("read", "/dev/urandom"))?;
        let output = File::create(&log).map_err(SandboxError::io("create", &log))?;
        let errors = output.try_clone().map_err(SandboxError::io("open", &log))?;
        let mut command = Command::new(python);
        command.args(["-I", "-X", &mark.option()]);
        command.args(["-c", include_str!("guarded_server.py")]);
        match lifetime {
            Lifetime::Detached => command.stdin(Stdio::null()),
            Lifetime::Watched => command.arg("watched").stdin(Stdio::piped()),
        };
        command
            .current_dir(directory)
            .env_clear()
            .envs(variables(port, &mark, &secret, directory, &scratch))
            .envs(extra.iter().copied())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        let child = command.spawn().map_err(SandboxError::io("run", python))?;
        let record = ServerRecord {
            pid: child.id(),
            port,
            started: now(),
            mark,
            secret,
        };
        let mut process = ServerProcess(Some(child));
        save(&record)?;
        match process.wait_until_healthy(&record).await {
            Ok(()) => return Ok(StartedServer { process, record }),
            Err(StartFailure::Exited) if attempt < MAX_ATTEMPTS && reports_port_in_use(&log) => attempt += 1,
            Err(reason) => {
                return Err(SandboxError::NotStarted {
                    reason: reason.to_string(),
                    log: last_lines(&fs::read_to_string(&log).unwrap_or_default()),
                });
            }
        }
    }
}

/// Whether this server, and no other, responds on its port.
pub(super) async fn is_healthy(record: &ServerRecord) -> bool {
    match http::get(&record.endpoint(), "/_ministack/health").await {
        Ok(response) if response.status == 200 => {
            let health: Option<serde_json::Value> = serde_json::from_str(&response.body).ok();
            health.is_some_and(|h| h["version"] == record.mark.as_str())
        }
        _ => false,
    }
}

#[derive(Debug, thiserror::Error)]
enum StartFailure {
    #[error("it exited immediately")]
    Exited,
    #[error("it did not respond within {}s", START_TIMEOUT.as_secs())]
    TimedOut,
}

impl ServerProcess {
    /// Lets it outlive this process.
    pub(super) fn let_go(mut self) {
        self.0 = None;
    }

    async fn wait_until_healthy(&mut self, record: &ServerRecord) -> Result<(), StartFailure> {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            let exited = self.0.as_mut().is_none_or(|c| !matches!(c.try_wait(), Ok(None)));
            if exited {
                return Err(StartFailure::Exited);
            }
            if is_healthy(record).await {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err(StartFailure::TimedOut)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Functions that are still running would outlive the server.
            signal_group(child.id(), KillSignal::Kill);
            // An error means that it has already exited.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A port that was free a moment ago.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn now() -> u64 {
    // A clock before 1970 is not an error here.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn reports_port_in_use(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| {
        let text = text.to_lowercase();
        text.contains("already in use") || text.contains("address in use")
    })
}

/// All environment variables of the server. The functions inherit them, so they include none of the user's profiles,
/// keys or settings, and nothing that enables persistence or a container engine.
fn variables(
    port: u16,
    mark: &Mark,
    secret: &Secret,
    directory: &Path,
    scratch: &Path,
) -> Vec<(&'static str, OsString)> {
    let mut env: Vec<(&'static str, OsString)> = vec![
        // The default is all interfaces.
        ("BIND_HOST", "127.0.0.1".into()),
        ("GATEWAY_PORT", port.to_string().into()),
        (VERSION_VARIABLE, mark.as_str().into()),
        // Both would open more ports.
        ("IOT_MTLS_ENABLED", "0".into()),
        ("SFTP_ENABLED", "0".into()),
        // The endpoint for the functions.
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}").into()),
        // Required of every request. The functions inherit it with the endpoint.
        ("AWS_SESSION_TOKEN", secret.as_str().into()),
        ("AWS_CONFIG_FILE", "/dev/null".into()),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null".into()),
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
        // If it finds a container engine, it removes the containers that carry its label.
        ("DOCKER_HOST", "unix:///nonexistent/docker.sock".into()),
        ("HOME", directory.into()),
        ("TMPDIR", scratch.into()),
        ("LANG", "C.UTF-8".into()),
    ];
    // The function's TLS library loads certificates even if it calls only this server.
    for kept in ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let Some(value) = std::env::var_os(kept) {
            env.push((kept, value));
        }
    }
    env
}
