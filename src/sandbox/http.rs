//! A minimal HTTP/1.1 client for the emulator's health check.
//!
//! All AWS calls go through the AWS SDK. A full HTTP client for one `GET` to a server on the loopback interface would be
//! the largest dependency of this module.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::environment::Endpoint;

/// The longest response that is read, in bytes. The emulator sends a few kilobytes.
const MAX_RESPONSE: u64 = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(5);

/// A server's response.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Sends `GET path` to a server and reads the whole response.
///
/// # Errors
/// No connection, no response within five seconds, or a response that is not HTTP.
pub(super) async fn get(endpoint: &Endpoint, path: &str) -> io::Result<Response> {
    let Endpoint { port, secret } = endpoint;
    let token = secret.as_str();
    let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Amz-Security-Token: {token}\r\n");
    send(*port, &head).await
}

/// Sends a request without a body, whose head is not yet ended, to this port of 127.0.0.1.
pub(super) async fn send(port: u16, head: &str) -> io::Result<Response> {
    let exchange = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request = format!("{head}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.take(MAX_RESPONSE).read_to_end(&mut bytes).await?;
        parse(&String::from_utf8_lossy(&bytes))
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the response is not HTTP"))
    };
    tokio::time::timeout(TIMEOUT, exchange).await?
}

fn parse(text: &str) -> Option<Response> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some(Response {
        status,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let response = parse(text).map(|r| (r.status, r.body));
            let expected = expected.map(|(status, body)| (status, body.to_owned()));
            assert_eq!(response, expected, "{text:?}");
        }
    }
}
