//! The ports that receive calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::{AwsLike, Caller};
use crate::call::scope;
use crate::proxy::{Port, Upstream};

/// A proxy in front of an emulator, for Rust tests.
pub struct Proxy {
    /// Its endpoint URL.
    pub url: String,
    /// Its behaviors.
    pub like: AwsLike,
}

impl Proxy {
    /// Starts a proxy for the rest of the test, with these behaviors on, to the emulator on this port.
    pub async fn start(server: u16, ids: &str) -> Self {
        let like = AwsLike::new(server);
        like.switch(ids);
        let passes = like.clone();
        let url = Port::open().await.serve(move |request| {
            let like = passes.clone();
            async move { like.pass(request, Caller::Client).await }
        });
        Self { url, like }
    }
}

/// A proxy for the calls of an emulator's functions, whose URL must be in `AWS_ENDPOINT_URL` of the emulator. It knows
/// the account of a function by its key, as long as the emulator does not check permissions.
pub struct FunctionProxy {
    /// Its endpoint URL.
    pub url: String,
    server: Upstream,
    accounts: Arc<Mutex<HashMap<String, AwsLike>>>,
}

impl FunctionProxy {
    /// Listens on a free port. Until [`Self::forward_to`], every call fails.
    pub async fn listen() -> Self {
        let (server, accounts) = (Upstream::default(), Arc::<Mutex<HashMap<String, AwsLike>>>::default());
        let (to, of) = (server.clone(), accounts.clone());
        let url = Port::open().await.serve(move |request| {
            let account = scope(&request).next().unwrap_or_default();
            let (to, like) = (to.clone(), of.lock().unwrap().get(account).cloned());
            async move {
                match like {
                    Some(like) => like.pass(request, Caller::Function).await,
                    None => to.forward(request).await,
                }
            }
        });
        Self { url, server, accounts }
    }

    /// Sets the port of the emulator.
    pub fn forward_to(&self, server: u16) {
        self.server.set(server);
    }

    /// From now on, the functions of this account call these behaviors.
    pub fn route(&self, account: &str, like: &AwsLike) {
        self.accounts.lock().unwrap().insert(account.to_owned(), like.clone());
    }
}
