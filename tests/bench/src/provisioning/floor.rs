//! The floor: a bare client that makes the calls that kibus made, 32 at once, on open connections.

use std::collections::VecDeque;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::header::HeaderValue;

use super::proxy::{Call, connect};

/// How many calls are made at once.
pub const AT_ONCE: usize = 32;

/// Makes the calls in another account, in the order in which kibus made them. Gives how long that took.
pub async fn replay(
    proxy: SocketAddr,
    calls: &[Call],
    (from, to): (&str, &str),
) -> Result<Duration, Box<dyn Error + Send + Sync>> {
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

/// That call in another account: its id is as long, wherever it is.
fn in_account(call: &Call, from: &str, to: &str) -> Result<Request<Full<Bytes>>, Box<dyn Error + Send + Sync>> {
    let mut head = call.head.clone();
    head.uri = head.uri.to_string().replace(from, to).parse()?;
    for value in head.headers.values_mut() {
        if let Ok(text) = value.to_str() {
            *value = HeaderValue::from_str(&text.replace(from, to))?;
        }
    }
    // An archive is not text, and names no account.
    let body = match std::str::from_utf8(&call.body) {
        Ok(text) => Bytes::from(text.replace(from, to)),
        Err(_) => call.body.clone(),
    };
    Ok(Request::from_parts(head, Full::new(body)))
}
