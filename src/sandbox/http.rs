//! Just enough of HTTP/1.1 for the emulator's own two paths, health and reset.
//!
//! AWS's API is spoken through the AWS SDK; an HTTP client for one `GET` and one `POST` without a body, to a server on
//! the loopback interface that answers in one piece, would be the largest dependency of this module.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer is some kilobytes; what is longer does not come from the emulator.
const LONGEST: u64 = 1 << 20;
const TIMEOUT: Duration = Duration::from_secs(5);

/// What a server answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Sends `method path` without a body to this port of 127.0.0.1 and reads the answer to its end.
///
/// # Errors
///
/// No connection, no answer within five seconds, or an answer that is not HTTP.
pub(super) async fn request(port: u16, method: &str, path: &str) -> io::Result<Answer> {
    let exchange = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream.take(LONGEST).read_to_end(&mut bytes).await?;
        parse(&String::from_utf8_lossy(&bytes))
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
    };
    tokio::time::timeout(TIMEOUT, exchange).await?
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some(Answer {
        status,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_split_into_status_and_body() {
        let table = [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}", Some((200, "{}"))),
            ("HTTP/1.1 503 \r\n\r\n", Some((503, ""))),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", None),
            ("HTTP/1.1 2\r\n\r\n", None),
            ("SSH-2.0-x\r\n\r\n", None),
            ("", None),
        ];
        for (text, expected) in table {
            let answer = parse(text).map(|a| (a.status, a.body));
            let expected = expected.map(|(status, body)| (status, body.to_owned()));
            assert_eq!(answer, expected, "{text:?}");
        }
    }
}
