//! The emulator's process: started on a free port of 127.0.0.1, in its own process group, without any of the user's AWS
//! settings; recognized, asked and signaled later.
//!
//! The system reuses process ids. The server therefore carries a unique mark in its command line, and only a process with
//! that mark counts as the server. It is found with `/proc` or `ps` and signaled with the shell's `kill`, by their paths:
//! `PATH` may name the current directory, which may be a repository with any content.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::home::{Home, cannot};
use super::install::{last_lines, with_lines};
use super::{Endpoint, Secret, random_digits};
use crate::error::Error;

/// The emulator usually responds within a second; a busy machine may take much longer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long it may take to exit after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
pub(super) const POLL: Duration = Duration::from_millis(50);
/// The longest response that is read, in bytes. The emulator sends a few kilobytes.
const MAX_RESPONSE: u64 = 1 << 20;
/// How many ports are tried if other processes take them first.
const MAX_ATTEMPTS: u32 = 5;
/// Set to the mark. The server reports it as its version, which proves that this server sent the response.
const VERSION_VARIABLE: &str = "MINISTACK_VERSION";

/// A server that was started and may still be running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its process id, which is also its process group id.
    pub pid: u32,
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// A text that is in no other process's command line.
    mark: String,
}

impl ServerRecord {
    /// Whether the process runs and carries the mark. One that exited and was not waited for does not.
    pub(super) fn is_running(&self) -> bool {
        command_line(self.pid).is_some_and(|line| line.contains(&option(&self.mark)))
    }

    /// The record in this home. `None` if the file is missing or cannot be parsed, since it then names no process.
    pub(super) fn read(home: &Home) -> Result<Option<Self>, Error> {
        let bytes = home.read_private(&home.record_path())?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Writes the file atomically. Only the user can read it, since it holds the secret.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let write = || {
            let directory = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(cannot("write", path))
    }

    /// Removes the file, if it exists.
    pub(super) fn remove(path: &Path) -> Result<(), Error> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(cannot("remove", path)(e)),
            _ => Ok(()),
        }
    }

    /// Whether this server, and no other, responds on its port.
    pub async fn responds(&self) -> bool {
        let Endpoint { port, secret } = &self.endpoint;
        let host = format!("Host: 127.0.0.1:{port}\r\nX-Amz-Security-Token: {}", secret.as_str());
        let response = send(*port, &format!("GET /_ministack/health HTTP/1.1\r\n{host}\r\n")).await;
        response.is_ok_and(|(status, body)| {
            let health: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
            status == 200 && health["version"] == self.mark
        })
    }

    /// Waits a few seconds for the process to exit.
    pub(super) async fn has_exited(&self) -> bool {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while self.is_running() {
            if Instant::now() > deadline {
                return false;
            }
            sleep(POLL).await;
        }
        true
    }
}

/// A server that was just started. Its process is stopped with its process group when this is dropped, unless it was taken.
pub(super) struct StartedServer {
    pub(super) process: Option<Child>,
    pub(super) record: ServerRecord,
}

/// Starts the emulator and waits until it responds. `directory` holds its log `server.log` and its temporary files. `extra` is
/// added to its environment variables. A server whose record is saved outlives this process; another one ends with it. The
/// record is written as soon as the process exists, so that it is known if this process is killed while it waits.
pub(super) async fn start(
    python: &Path,
    directory: &Path,
    record_path: Option<&Path>,
    extra: &[(&str, &str)],
) -> Result<StartedServer, Error> {
    let scratch = scratch(directory);
    fs::create_dir_all(&scratch).map_err(cannot("create", &scratch))?;
    let log = directory.join("server.log");
    let mut attempt = 1;
    loop {
        let mut started = spawn(python, directory, record_path.is_none(), extra)?;
        if let Some(path) = record_path {
            started.record.write(path)?;
        }
        let reason = match started.wait_until_it_responds().await {
            Ok(()) => return Ok(started),
            Err(Unresponsive::Exited) if attempt < MAX_ATTEMPTS && reports_port_in_use(&log) => {
                attempt += 1;
                continue;
            }
            Err(reason) => reason.to_string(),
        };
        let log = last_lines(&fs::read_to_string(&log).unwrap_or_default());
        let error = Error::failed(format!("the sandbox server did not start: {reason}"));
        return Err(with_lines(error, &log));
    }
}

/// Starts the process on a port that was free a moment ago. One that is `watched` ends when its standard input is closed.
fn spawn(python: &Path, directory: &Path, watched: bool, extra: &[(&str, &str)]) -> Result<StartedServer, Error> {
    let log = directory.join("server.log");
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let random = |e| cannot("read", "/dev/urandom")(e);
    let endpoint = Endpoint {
        port: free.map_err(cannot("find a free port on", "127.0.0.1"))?.port(),
        secret: Secret::new().map_err(random)?,
    };
    let mark = random_digits().map_err(random)?;
    let output = File::create(&log).map_err(cannot("create", &log))?;
    let errors = output.try_clone().map_err(cannot("open", &log))?;
    let mut command = Command::new(python);
    command.args(["-I", "-X", &option(&mark)]);
    command.args(["-c", include_str!("guarded_server.py")]);
    if watched {
        command.arg("watched").stdin(Stdio::piped())
    } else {
        command.stdin(Stdio::null())
    };
    command
        .current_dir(directory)
        .env_clear()
        .envs(variables(&endpoint, &mark, directory))
        .envs(extra.iter().copied())
        .stdout(output)
        .stderr(errors)
        .process_group(0);
    let child = command.spawn().map_err(cannot("run", python))?;
    Ok(StartedServer { record: ServerRecord { pid: child.id(), endpoint, mark }, process: Some(child) })
}

/// The directory of the temporary files of a server, such as the unpacked functions.
pub(super) fn scratch(directory: &Path) -> PathBuf {
    directory.join("tmp")
}

impl StartedServer {
    /// Why it does not respond, if it does not.
    async fn wait_until_it_responds(&mut self) -> Result<(), Unresponsive> {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            let child = self.process.as_mut();
            if child.is_none_or(|child| !matches!(child.try_wait(), Ok(None))) {
                return Err(Unresponsive::Exited);
            }
            if self.record.responds().await {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err(Unresponsive::TimedOut)
    }
}

#[derive(Debug, thiserror::Error)]
enum Unresponsive {
    #[error("it exited immediately")]
    Exited,
    #[error("it did not respond within {}s", START_TIMEOUT.as_secs())]
    TimedOut,
}

impl Drop for StartedServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.process {
            // Functions that are still running would outlive the server.
            signal_group(child.id(), KillSignal::Kill);
            // An error means that it has already exited.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn reports_port_in_use(log: &Path) -> bool {
    let text = fs::read_to_string(log).unwrap_or_default().to_lowercase();
    text.contains("already in use") || text.contains("address in use")
}

/// All environment variables of the server. The functions inherit them, so they include none of the user's profiles,
/// keys or settings, and nothing that enables persistence or a container engine.
fn variables(Endpoint { port, secret }: &Endpoint, mark: &str, directory: &Path) -> Vec<(&'static str, OsString)> {
    let mut env: Vec<(&'static str, OsString)> = vec![
        // The default is all interfaces.
        ("BIND_HOST", "127.0.0.1".into()),
        ("GATEWAY_PORT", port.to_string().into()),
        (VERSION_VARIABLE, mark.into()),
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
        ("TMPDIR", scratch(directory).into()),
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

/// Sends a request without a body, whose head is not yet ended, to this port of 127.0.0.1. Gives the status and the body. All AWS
/// calls go through the AWS SDK; a full HTTP client for the health of a local server would be the largest dependency here.
pub(super) async fn send(port: u16, head: &str) -> io::Result<(u16, String)> {
    let exchange = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request = format!("{head}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.take(MAX_RESPONSE).read_to_end(&mut bytes).await?;
        parse(&String::from_utf8_lossy(&bytes))
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the response is not HTTP"))
    };
    timeout(RESPONSE_TIMEOUT, exchange).await?
}

fn parse(text: &str) -> Option<(u16, String)> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// The value for Python's `-X`, which accepts any name and ignores unknown ones.
fn option(mark: &str) -> String {
    format!("kibus-sandbox={mark}")
}

fn command_line(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let ps = Command::new("/bin/ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&ps.stdout).into_owned())
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum KillSignal {
    Term,
    Kill,
}

/// Sends a signal to the process group of this leader, such as the server and the functions that it runs. A group that no longer
/// exists is not an error; the caller checks the process anyway.
pub(crate) fn signal_group(leader: u32, signal: KillSignal) {
    let name = match signal {
        KillSignal::Term => "TERM",
        KillSignal::Kill => "KILL",
    };
    let _ = Command::new("/bin/sh")
        .args(["-c", "kill -s \"$1\" -- \"-$2\"", "sh", name])
        .arg(leader.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn record() -> ServerRecord {
        ServerRecord {
            pid: 12,
            endpoint: Endpoint { port: 4566, secret: Secret::new().unwrap() },
            mark: random_digits().unwrap(),
        }
    }

    #[test]
    fn a_written_record_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_owned());
        let (path, read) = (home.record_path(), || ServerRecord::read(&home).unwrap());
        assert_eq!(read(), None, "no file");
        let (one, other) = (record(), record());
        one.write(&path).unwrap();
        assert_eq!(read(), Some(one));
        other.write(&path).unwrap();
        assert_eq!(read(), Some(other), "overwritten");
        ServerRecord::remove(&path).unwrap();
        ServerRecord::remove(&path).unwrap();
        assert_eq!(read(), None, "removed");
    }

    #[test]
    fn an_unparsable_file_is_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_owned());
        record().write(&home.record_path()).unwrap();
        for text in
            ["", "{", "{}", r#"{"pid":-1,"port":1,"mark":"x"}"#, r#"{"pid":1,"port":1,"mark":"x","secret":"$(kibus)"}"#]
        {
            std::fs::write(home.record_path(), text).unwrap();
            assert_eq!(ServerRecord::read(&home).unwrap(), None, "{text:?}");
        }
    }

    #[test]
    fn another_process_with_the_recorded_id_is_not_the_server() {
        let mut recorded = record();
        recorded.pid = std::process::id();
        assert!(!recorded.is_running());
    }

    #[test]
    fn only_a_running_process_with_the_mark_is_the_server() {
        let record = |pid, mark: &str| ServerRecord { pid, mark: mark.to_owned(), ..record() };
        let mark = "0123456789abcdef";
        let mut child = Command::new("sh")
            .args(["-c", "echo ready; read wait; :", &option(mark)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        // Between fork and exec it does not have the command line yet.
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert!(record(child.id(), mark).is_running(), "running");
        assert!(!record(child.id(), "another").is_running(), "another mark");
        assert!(!record(std::process::id(), mark).is_running(), "another process");
        signal_group(child.id(), KillSignal::Term);
        let status = child.wait().unwrap();
        assert!(!status.success(), "stopped by the signal");
        assert!(!record(child.id(), mark).is_running(), "exited");
    }

    #[test]
    fn a_response_is_split_into_status_and_body() {
        let table = [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}", Some((200, "{}"))),
            ("HTTP/1.1 503 \r\n\r\n", Some((503, ""))),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", None),
            ("HTTP/1.1 2\r\n\r\n", None),
            ("SSH-2.0-x\r\n\r\n", None),
            ("", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(status, body)| (status, body.to_owned()));
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }
}
