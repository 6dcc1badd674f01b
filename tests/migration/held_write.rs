//! A proxy that holds one write of a command, so that the command can be killed there.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::scenario::wire::{Answer, Broken, forward};

/// A write whose answer is held: how many writes come before its end, and who waits for it.
struct HeldWrite {
    left: usize,
    reached: Arc<Notify>,
}

/// A proxy that holds one write of a command.
pub(super) struct Proxy {
    pub(super) url: String,
    held: Arc<Mutex<Option<HeldWrite>>>,
}

impl Proxy {
    pub(super) async fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let held: Arc<Mutex<Option<HeldWrite>>> = Arc::default();
        let proxy = Self {
            url,
            held: Arc::clone(&held),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let held = Arc::clone(&held);
                let service = service_fn(move |request| pass(Arc::clone(&held), server, request));
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // It breaks when the client is killed.
                tokio::spawn(async move { drop(connection.await) });
            }
        });
        proxy
    }

    /// Holds the answer to the write with this number, counted from 1; every later one is held too.
    pub(super) fn hold(&self, write: usize) -> Arc<Notify> {
        let reached = Arc::new(Notify::new());
        *self.held.lock().unwrap() = Some(HeldWrite {
            left: write,
            reached: Arc::clone(&reached),
        });
        reached
    }

    pub(super) fn release(&self) {
        *self.held.lock().unwrap() = None;
    }
}

async fn pass(held: Arc<Mutex<Option<HeldWrite>>>, server: u16, request: Request<Incoming>) -> Result<Answer, Broken> {
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, body.collect().await?.to_bytes());
    let writes = is_write(&request);
    let answer = forward(server, request).await?;
    let reached = match held.lock().unwrap().as_mut().filter(|_| writes) {
        Some(write) => {
            write.left = write.left.saturating_sub(1);
            (write.left == 0).then(|| Arc::clone(&write.reached))
        }
        None => None,
    };
    if let Some(reached) = reached {
        reached.notify_one();
        std::future::pending::<()>().await;
    }
    Ok(answer)
}

fn is_write(request: &Request<Bytes>) -> bool {
    let reads = |name: &str| ["Get", "List", "Describe"].iter().any(|verb| name.starts_with(verb));
    if let Some(target) = request.headers().get("x-amz-target") {
        return !reads(target.to_str().unwrap().rsplit('.').next().unwrap());
    }
    let form = String::from_utf8_lossy(request.body());
    match form.strip_prefix("Action=") {
        Some(action) => !reads(action),
        None => request.method() != Method::GET && !request.uri().path().ends_with("/invocations"),
    }
}
