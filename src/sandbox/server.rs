//! Starting the emulator: on a free port of 127.0.0.1, in a process group of its own, with an environment in which
//! nothing of the user's AWS settings is left.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep};

use super::http;
use super::install::last_lines;
use super::problem::Problem;
use super::process::{Mark, Signal, signal_group};
use super::record::Record;

/// The emulator answers within a second; a machine that is busy with other things gets much longer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// How often another port is tried when somebody takes the free one first.
const ATTEMPTS: u32 = 5;
/// Set to a mark that the server then reports as its version: that is how an answer is known to be its own.
const ECHOED: &str = "MINISTACK_VERSION";

/// How long the server lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// Until it is ended: it survives the process that started it.
    Detached,
    /// No longer than this process.
    Watched,
}

/// A server that was started just now and has answered.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) record: Record,
}

/// Starts the emulator and waits until it answers.
///
/// `directory` is its own: the log `server.log` and all its temporary files are in it. `extra` is added to its environment.
/// `remember` is called as soon as there is a process, before it answers: if this process is killed while it waits,
/// somebody must know of the server.
pub(super) async fn start(
    python: &Path,
    directory: &Path,
    lifetime: Lifetime,
    extra: &[(&str, &str)],
    remember: impl Fn(&Record) -> Result<(), Problem>,
) -> Result<Started, Problem> {
    let scratch = directory.join("tmp");
    fs::create_dir_all(&scratch).map_err(Problem::io("create", &scratch))?;
    let log = directory.join("server.log");
    let mut attempt = 1;
    loop {
        let port = free_port().map_err(Problem::io("find a free port on", "127.0.0.1"))?;
        let mark = Mark::new();
        let output = File::create(&log).map_err(Problem::io("create", &log))?;
        let errors = output.try_clone().map_err(Problem::io("open", &log))?;
        let mut command = Command::new(python);
        command.args(["-I", "-X", &mark.option()]);
        match lifetime {
            Lifetime::Detached => command.args(["-m", "ministack"]).stdin(Stdio::null()),
            Lifetime::Watched => command
                .args(["-c", include_str!("watched_server.py")])
                .stdin(Stdio::piped()),
        };
        command
            .current_dir(directory)
            .env_clear()
            .envs(environment(port, &mark, directory, &scratch))
            .envs(extra.iter().copied())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        let child = command.spawn().map_err(Problem::io("run", python))?;
        let record = Record {
            pid: child.id(),
            port,
            started: now(),
            mark,
        };
        let mut starting = Starting(Some(child));
        remember(&record)?;
        match starting.wait_until_healthy(&record).await {
            Ok(child) => return Ok(Started { child, record }),
            Err(Reason::Ended) if attempt < ATTEMPTS && says_port_taken(&log) => attempt += 1,
            Err(reason) => {
                return Err(Problem::NotStarted {
                    reason: reason.to_string(),
                    log: last_lines(&fs::read_to_string(&log).unwrap_or_default()),
                });
            }
        }
    }
}

/// Whether this very server answers on its port.
pub(super) async fn is_healthy(record: &Record) -> bool {
    match http::request(record.port, "GET", "/_ministack/health").await {
        Ok(answer) if answer.status == 200 => {
            let health: Option<serde_json::Value> = serde_json::from_str(&answer.body).ok();
            health.is_some_and(|h| h["version"] == record.mark.as_str())
        }
        _ => false,
    }
}

/// A child that is ended, with all its group, unless it becomes healthy; also when the future is dropped.
struct Starting(Option<Child>);

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error("it ended at once")]
    Ended,
    #[error("it did not answer within {} seconds", START_TIMEOUT.as_secs())]
    Silent,
}

impl Starting {
    async fn wait_until_healthy(&mut self, record: &Record) -> Result<Child, Reason> {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            let ended = self.0.as_mut().is_none_or(|c| !matches!(c.try_wait(), Ok(None)));
            if ended {
                return Err(Reason::Ended);
            }
            if is_healthy(record).await {
                return self.0.take().ok_or(Reason::Ended);
            }
            sleep(POLL).await;
        }
        Err(Reason::Silent)
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            end_child(child);
        }
    }
}

/// Ends a child and its process group and waits until it is gone.
pub(super) fn end_child(mut child: Child) {
    // The group outlives its leader if functions are still running.
    signal_group(child.id(), Signal::Kill);
    // An error means that it has ended already, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
}

/// A port that was free a moment ago: asked for, read, given back.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

fn now() -> u64 {
    // A clock before 1970 is not worth an error.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn says_port_taken(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| {
        let text = text.to_lowercase();
        text.contains("already in use") || text.contains("address in use")
    })
}

/// The whole environment of the server, which the functions that it runs inherit: hence no profile, key or setting of the
/// user's is in it, and nothing that would make it persist its state or look for a container engine.
fn environment(port: u16, mark: &Mark, directory: &Path, scratch: &Path) -> Vec<(&'static str, OsString)> {
    let mut env: Vec<(&'static str, OsString)> = vec![
        // It listens on all interfaces unless told otherwise.
        ("BIND_HOST", "127.0.0.1".into()),
        ("GATEWAY_PORT", port.to_string().into()),
        (ECHOED, mark.as_str().into()),
        // Both would open ports of their own.
        ("IOT_MTLS_ENABLED", "0".into()),
        ("SFTP_ENABLED", "0".into()),
        // Functions call the API here.
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}").into()),
        ("AWS_CONFIG_FILE", "/dev/null".into()),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null".into()),
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
        // It removes containers that carry its label when it finds an engine.
        ("DOCKER_HOST", "unix:///nonexistent/docker.sock".into()),
        ("HOME", directory.into()),
        ("TMPDIR", scratch.into()),
        ("LANG", "C.UTF-8".into()),
    ];
    // The function's TLS library looks for certificates even if it only speaks to this server.
    for kept in ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let Some(value) = std::env::var_os(kept) {
            env.push((kept, value));
        }
    }
    env
}
