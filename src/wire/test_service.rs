//! A service for the protocol tests to call.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_types::retry::RetryConfig;
use aws_types::{SdkConfig, region::Region};

use super::behavior;

/// The status, a header and the body of a response.
pub(super) type Reply = (u16, String, String);

/// An answer with a header that means nothing.
pub(super) fn reply(status: u16, body: impl Into<String>) -> Reply {
    (status, "a: b".to_owned(), body.into())
}

/// A server that answers one connection after another.
pub(super) struct TestService {
    pub(super) endpoint: String,
    server: JoinHandle<Vec<String>>,
}

impl TestService {
    /// A server with these answers. A request is complete once it contains this text.
    pub(super) fn start(replies: Vec<Reply>, last: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for (status, header, body) in replies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut buffer = [0; 4096];
                while !String::from_utf8_lossy(&request).contains(last) {
                    let read = stream.read(&mut buffer).unwrap();
                    request.extend_from_slice(&buffer[..read]);
                }
                let length = body.len();
                let head =
                    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{header}\r\n\r\n");
                stream.write_all((head + &body).as_bytes()).unwrap();
                requests.push(String::from_utf8(request).unwrap().to_lowercase());
            }
            requests
        });
        Self { endpoint, server }
    }

    /// The requests, in lower case, after all responses were sent.
    pub(super) fn requests(self) -> Vec<String> {
        self.server.join().unwrap()
    }
}

/// The configuration of a client of this endpoint, with short pauses between retries.
pub(crate) fn config(endpoint: &str) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(behavior())
        .region(Region::new("us-west-2"))
        .endpoint_url(endpoint)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("id", "secret", None, None, "test")))
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
        .build()
}

pub(super) fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let line = request.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_default()
}
