//! The floor: a bare client that makes the calls that kibus made, 32 at once, on open connections.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HeaderValue;
use hyper_util::rt::TokioIo;
use kibus_harness::proxy::Broken;
use tokio::net::TcpStream;

use super::proxy::Call;

const AT_ONCE: usize = 32;

/// Makes the calls in another account, in the order in which kibus made them. Returns how long that took.
pub async fn replay(proxy: &str, calls: &[Call], (from, to): (&str, &str)) -> Result<Duration, Broken> {
    let requests = calls.iter().map(|call| in_account(call, from, to));
    let queue = Arc::new(Mutex::new(requests.collect::<Result<VecDeque<_>, _>>()?));
    let mut connections = Vec::new();
    for _ in 0..AT_ONCE {
        connections.push(connect(proxy).await?);
    }
    let begun = Instant::now();
    let workers: Vec<_> = connections
        .into_iter()
        .map(|mut connection| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move {
                loop {
                    let next = queue.lock().unwrap().pop_front();
                    let Some(request) = next else { return Ok(()) };
                    connection.ready().await?;
                    let answer = connection.send_request(request).await?;
                    answer.into_body().collect().await?;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?.map_err(|e: hyper::Error| e)?;
    }
    Ok(begun.elapsed())
}

async fn connect(server: &str) -> Result<SendRequest<Full<Bytes>>, Broken> {
    let stream = TcpStream::connect(server.trim_start_matches("http://")).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// That call in another account, whose id has the same length, wherever it occurs.
fn in_account(call: &Call, from: &str, to: &str) -> Result<Request<Full<Bytes>>, Broken> {
    let (mut head, body) = call.request.clone().into_parts();
    head.uri = head.uri.to_string().replace(from, to).parse()?;
    for value in head.headers.values_mut() {
        if let Ok(text) = value.to_str() {
            *value = HeaderValue::from_str(&text.replace(from, to))?;
        }
    }
    // An archive is not text, and names no account.
    let body = match std::str::from_utf8(&body) {
        Ok(text) => Bytes::from(text.replace(from, to)),
        Err(_) => body,
    };
    Ok(Request::from_parts(head, Full::new(body)))
}
