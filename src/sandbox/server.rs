//! The emulator's process: started on a free port of 127.0.0.1, in its own process group, without any of the user's AWS
//! settings. It exits when its standard input is closed. The kernel closes it when the process that holds it ends for any reason.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::home::{Home, cannot};
use super::install::{last_lines, with_lines};
use super::{Endpoint, Secret};
use crate::error::Error;

/// The emulator usually responds within a second; a busy machine may take much longer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
pub(super) const POLL: Duration = Duration::from_millis(50);
/// The longest response that is read, in bytes. The emulator sends a few kilobytes.
const MAX_RESPONSE: u64 = 1 << 20;
/// How many ports are tried if other processes take them first.
const MAX_ATTEMPTS: u32 = 5;

/// A running emulator. Dropping this ends the emulator and its functions and removes its files. The emulator also ends when
/// the process that holds this is killed.
pub struct SandboxServer {
    process: Child,
    endpoint: Endpoint,
    /// The record of its endpoint, its log and its temporary files.
    directory: TempDir,
    /// Where `--sandbox` finds it.
    home: Option<Home>,
}

impl SandboxServer {
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The directory of its files, which is removed with it. Used as `KIBUS_SANDBOX_HOME`, it is the home of this server's sandbox.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Starts the emulator and waits until it responds. `extra` is added to its environment variables, and `arguments` to its
    /// arguments.
    pub(super) async fn start(python: &Path, arguments: &[&str], extra: &[(&str, &str)]) -> Result<Self, Error> {
        let mut attempt = 1;
        loop {
            let mut server = Self::spawn(python, arguments, extra)?;
            let log = server.directory().join(LOG);
            let reason = match server.wait_until_it_responds().await {
                Ok(()) => return Ok(server),
                Err(Unresponsive::Exited) if attempt < MAX_ATTEMPTS && reports_port_in_use(&log) => {
                    attempt += 1;
                    continue;
                }
                Err(reason) => reason.to_string(),
            };
            return Err(with_log(Error::failed(format!("the sandbox server did not start: {reason}")), &log));
        }
    }

    /// Starts the process on a port that was free a moment ago.
    fn spawn(python: &Path, arguments: &[&str], extra: &[(&str, &str)]) -> Result<Self, Error> {
        let directory = tempfile::Builder::new().prefix("kibus-sandbox-").tempdir();
        let directory = directory.map_err(cannot("create a directory in", std::env::temp_dir()))?;
        let scratch = scratch(directory.path());
        fs::create_dir(&scratch).map_err(cannot("create", &scratch))?;
        let log = directory.path().join(LOG);
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let random = |e| cannot("read", "/dev/urandom")(e);
        let endpoint = Endpoint {
            port: free.map_err(cannot("find a free port on", "127.0.0.1"))?.port(),
            secret: Secret::new().map_err(random)?,
            proof: Secret::new().map_err(random)?,
        };
        let output = File::create(&log).map_err(cannot("create", &log))?;
        let errors = output.try_clone().map_err(cannot("open", &log))?;
        let process = Command::new(python)
            .args(["-I", "-c", include_str!("guarded_server.py")])
            .args(arguments)
            .current_dir(directory.path())
            .env_clear()
            .envs(variables(&endpoint, directory.path()))
            .envs(extra.iter().copied())
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(cannot("run", python))?;
        Ok(Self { process, endpoint, directory, home: None })
    }

    /// The error says why the server does not respond.
    async fn wait_until_it_responds(&mut self) -> Result<(), Unresponsive> {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if self.has_exited() {
                return Err(Unresponsive::Exited);
            }
            if self.endpoint.responds().await {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err(Unresponsive::TimedOut)
    }

    fn has_exited(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits until the emulator exits by itself, and returns an error with its last output.
    pub async fn exited(&mut self) -> Error {
        while !self.has_exited() {
            sleep(POLL).await;
        }
        with_log(Error::failed("the sandbox server exited"), &self.directory().join(LOG))
    }

    /// Has the same effect as the end of this process.
    #[cfg(test)]
    pub(super) fn close(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Lets commands with this home find it until it ends.
    pub(super) fn record(&mut self, home: &Home) -> Result<(), Error> {
        self.endpoint.write(home)?;
        self.home = Some(home.clone());
        Ok(())
    }
}

impl Drop for SandboxServer {
    fn drop(&mut self) {
        // If this fails, the file names a server that does not respond, and the next server replaces it.
        if let Some(home) = &self.home
            && Endpoint::read(home).is_ok_and(|found| found.as_ref() == Some(&self.endpoint))
        {
            let _ = fs::remove_file(home.record_path());
        }
        // This closes its standard input. An error means that it has already exited.
        let _ = self.process.wait();
    }
}

impl Endpoint {
    /// The server that this home has on record. `None` if the file is missing or cannot be parsed, since it then names none.
    pub(super) fn read(home: &Home) -> Result<Option<Self>, Error> {
        let bytes = home.read_private(&home.record_path())?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Writes the file atomically. Only the user can read it, since it holds the secret.
    pub(super) fn write(&self, home: &Home) -> Result<(), Error> {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(home.path())?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(home.record_path())?;
            Ok(())
        };
        write().map_err(cannot("write", home.record_path()))
    }

    /// Whether this server, and no other, responds on its port.
    pub(super) async fn responds(&self) -> bool {
        let response = send(self.port, &self.request("GET /_ministack/health"), "").await;
        response.is_ok_and(|(status, body)| {
            let health: Value = serde_json::from_str(&body).unwrap_or_default();
            status == 200 && health["version"] == self.proof.as_str()
        })
    }

    /// Sends an AWS event to the default event bus of a Region. The event is about an instance, or about a new Spot instance of
    /// a cluster. `INSTANCE` in the event stands for the instance id, which is returned if the instance exists.
    pub async fn send_event(&self, region: &str, about: Subject<'_>, event: &Value) -> Result<Option<String>, Error> {
        let body = match about {
            Subject::Instance(id) => json!({"instance": id, "event": event}),
            Subject::NewInstance { cluster } => json!({"cluster": cluster, "event": event}),
        };
        let scope = format!("AWS4-HMAC-SHA256 Credential=test/20260101/{region}/kibus/aws4_request");
        let head = format!("{}Authorization: {scope}\r\n", self.request("POST /events"));
        match send(self.port, &head, &body.to_string()).await {
            Ok((200, id)) => Ok(Some(id)),
            Ok((404, _)) => Ok(None),
            Ok((status, body)) => Err(Error::failed(format!("the sandbox answered {status}")).note(body)),
            Err(e) => Err(Error::failed(format!("the sandbox did not answer: {e}"))),
        }
    }

    /// The first line of a request, and the headers that the server requires.
    fn request(&self, line: &str) -> String {
        let Self { port, secret, .. } = self;
        format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Amz-Security-Token: {}\r\n", secret.as_str())
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    Instance(&'a str),
    NewInstance { cluster: &'a str },
}

const LOG: &str = "server.log";

fn with_log(error: Error, log: &Path) -> Error {
    with_lines(error, &last_lines(&fs::read_to_string(log).unwrap_or_default()))
}

/// The directory of the temporary files of a server, such as the unpacked functions.
fn scratch(directory: &Path) -> PathBuf {
    directory.join("tmp")
}

#[derive(Debug, thiserror::Error)]
enum Unresponsive {
    #[error("it exited immediately")]
    Exited,
    #[error("it did not respond within {}s", START_TIMEOUT.as_secs())]
    TimedOut,
}

fn reports_port_in_use(log: &Path) -> bool {
    let text = fs::read_to_string(log).unwrap_or_default().to_lowercase();
    text.contains("already in use") || text.contains("address in use")
}

/// All environment variables of the server. The functions inherit them, so they include none of the user's profiles,
/// keys or settings, and nothing that enables persistence or a container engine.
fn variables(Endpoint { port, secret, proof }: &Endpoint, directory: &Path) -> Vec<(&'static str, OsString)> {
    let mut env: Vec<(&'static str, OsString)> = vec![
        // The default is all interfaces.
        ("BIND_HOST", "127.0.0.1".into()),
        ("GATEWAY_PORT", port.to_string().into()),
        // The server reports this as its version.
        ("MINISTACK_VERSION", proof.as_str().into()),
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
        // If the emulator finds a container engine, it removes the containers that carry its label.
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

/// Sends a request to this port of 127.0.0.1 and returns the status and the body. `head` lacks the empty line that ends it. All
/// AWS calls go through the AWS SDK; a full HTTP client for a local server would be the largest dependency here.
pub(super) async fn send(port: u16, head: &str, body: &str) -> io::Result<(u16, String)> {
    let exchange = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_record_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_owned());
        let read = || Endpoint::read(&home).unwrap();
        assert_eq!(read(), None, "no file");
        let secret = || Secret::new().unwrap();
        for port in [4566, 4567] {
            let endpoint = Endpoint { port, secret: secret(), proof: secret() };
            endpoint.write(&home).unwrap();
            assert_eq!(read(), Some(endpoint));
        }
        for text in ["", "{", "{}", r#"{"port":1,"secret":"$(kibus)","proof":"0123456789abcdef0123456789abcdef"}"#] {
            fs::write(home.record_path(), text).unwrap();
            assert_eq!(read(), None, "{text:?}");
        }
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
