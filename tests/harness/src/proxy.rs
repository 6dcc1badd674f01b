//! The one local server of the tests. It reads each request completely and passes it to a handler: a function that answers,
//! forwards the request to an emulator, holds it back, or breaks the connection with an error.

mod answer;
mod forward;
mod hold;
mod operation;

use std::io::Error;
use std::net::Ipv4Addr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub use answer::{JSON, answer, change_json, document, json_answer, refusal};
pub use forward::{Upstream, forward, keep_secret, secret};
pub use hold::{Held, Hold, hold};
pub use operation::Operation;

use crate::tls::Authority;

/// A whole answer.
pub type Answer = Response<Bytes>;

/// Why a connection breaks.
pub type Broken = Box<dyn std::error::Error + Send + Sync>;

/// The number of the connection that a request comes over, as an extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection(pub usize);

/// A free port of this machine. Until it is served, requests wait; once this is dropped, nothing listens.
pub struct Port(TcpListener);

impl Port {
    pub async fn open() -> Self {
        Self(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap())
    }

    pub fn number(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.number())
    }

    /// Passes every request to this handler, for the rest of the test. Returns the URL.
    pub fn serve<F>(self, handler: impl Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static) -> String
    where
        F: Future<Output = Result<Answer, Broken>> + Send + 'static,
    {
        self.serve_as(None, handler)
    }

    /// Like [`Self::serve`], but over TLS with a certificate of this authority, if there is one.
    pub fn serve_as<F>(
        self,
        authority: Option<&Authority>,
        handler: impl Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
    ) -> String
    where
        F: Future<Output = Result<Answer, Broken>> + Send + 'static,
    {
        let tls = authority.map(|authority| authority.server(2999));
        let url = if tls.is_some() { self.url().replacen("http", "https", 1) } else { self.url() };
        tokio::spawn(async move {
            for connection in (0..).map(Connection) {
                let Ok((stream, _)) = self.0.accept().await else {
                    return;
                };
                let _ = stream.set_nodelay(true);
                let (tls, handler) = (tls.clone(), handler.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let handler = handler.clone();
                    async move {
                        let (mut parts, body) = request.into_parts();
                        parts.extensions.insert(connection);
                        let body = body.collect().await.map_err(Error::other)?.to_bytes();
                        let answer = handler(Request::from_parts(parts, body)).await;
                        answer.map(with_length).map_err(Error::other)
                    }
                });
                // A connection breaks if the client was killed, or on purpose.
                tokio::spawn(async move {
                    let server = http1::Builder::new();
                    match tls {
                        None => server.serve_connection(TokioIo::new(stream), service).await.ok(),
                        Some(tls) => {
                            let stream = TokioIo::new(tls.accept(stream).await.ok()?);
                            server.serve_connection(stream, service).await.ok()
                        }
                    }
                });
            }
        });
        url
    }
}

/// An answer with the actual length of its body, whatever its headers say.
fn with_length(answer: Answer) -> Response<Full<Bytes>> {
    let (mut parts, body) = answer.into_parts();
    parts.headers.remove(TRANSFER_ENCODING);
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Response::from_parts(parts, Full::new(body))
}
