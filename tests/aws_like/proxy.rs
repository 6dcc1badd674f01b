//! The ports that calls come to.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::call::Call;
use super::{AwsLike, Caller, Connection};
use crate::scenario::wire::{Answer, Broken, forward};

/// A proxy in front of an emulator, for Rust tests.
pub(crate) struct Proxy {
    /// Its endpoint URL.
    pub(crate) url: String,
    /// Its behaviors.
    pub(crate) like: AwsLike,
}

impl Proxy {
    /// Starts a proxy for the rest of the test, with these behaviors on, to the emulator on this port.
    pub(crate) async fn start(server: u16, ids: &str) -> Self {
        let like = AwsLike::new(server);
        like.switch(ids);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let passes = like.clone();
        serve(listener, move |request| {
            let like = passes.clone();
            Box::pin(async move { like.pass(request, Caller::Client).await })
        });
        Self { url, like }
    }
}

/// A proxy for the calls of an emulator's functions, whose URL must be in `AWS_ENDPOINT_URL` of the emulator. It knows
/// the account of a function by its key, as long as the emulator does not check permissions.
#[derive(Clone)]
pub(crate) struct FunctionProxy {
    /// Its endpoint URL.
    pub(crate) url: String,
    server: Arc<OnceLock<u16>>,
    accounts: Arc<Mutex<HashMap<String, AwsLike>>>,
}

impl FunctionProxy {
    /// Listens on a free port. Until [`Self::forward_to`], every call fails.
    pub(crate) async fn listen() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            server: Arc::default(),
            accounts: Arc::default(),
        };
        let passes = proxy.clone();
        serve(listener, move |request| {
            let proxy = passes.clone();
            Box::pin(async move {
                let account = Call::read(&request, Caller::Function).account;
                let like = proxy.accounts.lock().unwrap().get(&account).cloned();
                match like {
                    Some(like) => like.pass(request, Caller::Function).await,
                    None => forward(*proxy.server.get().ok_or("the emulator has not started")?, request).await,
                }
            })
        });
        proxy
    }

    /// Sets the port of the emulator.
    pub(crate) fn forward_to(&self, server: u16) {
        self.server.set(server).unwrap();
    }

    /// From now on, the functions of this account call these behaviors.
    pub(crate) fn route(&self, account: &str, like: &AwsLike) {
        self.accounts.lock().unwrap().insert(account.to_owned(), like.clone());
    }
}

type Passed = Pin<Box<dyn Future<Output = Result<Answer, Broken>> + Send>>;

/// Answers each request on this listener.
fn serve(listener: TcpListener, pass: impl Fn(Request<Bytes>) -> Passed + Clone + Send + Sync + 'static) {
    tokio::spawn(async move {
        for connection in (0..).map(Connection) {
            let Ok((stream, _)) = listener.accept().await else {
                return;
            };
            let pass = pass.clone();
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(connection);
                whole(pass.clone(), request)
            });
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A connection breaks if the client was killed.
            tokio::spawn(async move { drop(connection.await) });
        }
    });
}

/// Passes a request on, with its whole body.
async fn whole(pass: impl Fn(Request<Bytes>) -> Passed, request: Request<Incoming>) -> Result<Answer, Broken> {
    let (parts, body) = request.into_parts();
    pass(Request::from_parts(parts, body.collect().await?.to_bytes())).await
}
