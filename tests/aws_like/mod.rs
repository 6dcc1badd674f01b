//! A loopback proxy that adds to an emulator what only AWS does: late deletes, late grants, transitional states,
//! throttling. Each behavior has the id of its row in docs/reliability.md, can be switched alone, and counts how often it
//! struck. `all` switches every behavior on; some strike only in certain Regions, or with certain keys.
//!
//! Times are scaled down. The behaviors of a service are in the file of that service: what happens *before* a call reaches
//! the emulator, which may be an answer of its own, and what changes in the answer *after* it.
//!
//! In a scenario file: `% aws-like S9 S1`, `% aws-like all`, `% aws-like none`, and `% struck` for the ids that struck since
//! the last time. From Rust: [`AwsLike::new`] over the port of any emulator or proxy, [`Proxy::start`] for a URL, and
//! [`Proxy::for_functions`] for the calls of the emulator's functions.

mod behavior;
mod call;
mod events;
mod iam;
mod lambda;
mod proxy;
mod reply;
mod server;
mod sqs;
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hyper::Request;
use hyper::body::Bytes;
use hyper::header::CONTENT_LENGTH;
use serde_json::Value;

use crate::scenario::wire::{Answer, Broken, forward};
pub(crate) use behavior::Behavior;
use call::Call;
pub(crate) use call::Caller;
pub(crate) use proxy::{FunctionProxy, Proxy};
use reply::Reply;
pub(crate) use server::Server;

/// One emulator that behaves like AWS. Clones share their state.
#[derive(Clone)]
pub(crate) struct AwsLike(Arc<Inner>);

struct Inner {
    server: u16,
    on: Mutex<BTreeSet<Behavior>>,
    strikes: Mutex<BTreeMap<Behavior, usize>>,
    /// Which behaviors struck since this was last taken.
    struck: Mutex<BTreeSet<Behavior>>,
    settled: Mutex<Instant>,
    sqs: sqs::Sqs,
    events: events::Events,
    iam: iam::Iam,
    lambda: lambda::Lambda,
}

impl AwsLike {
    /// The emulator, or a proxy in front of it, on this port. Every behavior is off.
    pub(crate) fn new(server: u16) -> Self {
        Self(Arc::new(Inner {
            server,
            on: Mutex::default(),
            strikes: Mutex::default(),
            struck: Mutex::default(),
            settled: Mutex::new(Instant::now()),
            sqs: sqs::Sqs::default(),
            events: events::Events::default(),
            iam: iam::Iam::default(),
            lambda: lambda::Lambda::default(),
        }))
    }

    /// Switches exactly these behaviors on: ids separated by spaces, `all` or `none`.
    pub(crate) fn switch(&self, ids: &str) {
        let on = match ids {
            "all" => Behavior::ALL.iter().copied().collect(),
            "none" => BTreeSet::new(),
            ids => ids.split(' ').map(|id| id.parse().unwrap()).collect(),
        };
        *self.0.on.lock().unwrap() = on;
    }

    /// How often a behavior struck.
    pub(crate) fn strikes(&self, behavior: Behavior) -> usize {
        self.0.strikes.lock().unwrap().get(&behavior).copied().unwrap_or(0)
    }

    /// The behaviors that struck since the last call.
    pub(crate) fn take_struck(&self) -> Vec<Behavior> {
        std::mem::take(&mut *self.0.struck.lock().unwrap())
            .into_iter()
            .collect()
    }

    /// Waits until everything late has arrived.
    pub(crate) async fn settle(&self) {
        loop {
            let left = self.0.settled.lock().unwrap().saturating_duration_since(Instant::now());
            if left.is_zero() && self.0.sqs.has_no_ghosts() {
                return;
            }
            tokio::time::sleep(left.max(std::time::Duration::from_millis(20))).await;
        }
    }

    /// Handles one call.
    pub(crate) async fn pass(&self, request: Request<Bytes>, caller: Caller) -> Result<Answer, Broken> {
        let call = Call::read(&request, caller);
        let at = At {
            like: self,
            call: &call,
            request: &request,
        };
        let Inner {
            sqs,
            events,
            iam,
            lambda,
            ..
        } = &*self.0;
        let own = match call.service.as_str() {
            "sqs" => sqs.before(&at).await,
            "events" => events.before(&at).await,
            "iam" => iam.before(&at).await,
            "lambda" => lambda.before(&at).await,
            _ => None,
        };
        if let Some(own) = own {
            return Ok(own.answer());
        }
        let mut reply = Reply::read(forward(self.0.server, request.clone()).await?).await;
        match call.service.as_str() {
            "sqs" => sqs.after(&at, &mut reply),
            "lambda" => lambda.after(&at, &mut reply).await,
            _ => {}
        }
        Ok(reply.answer())
    }
}

/// One call on its way.
struct At<'a> {
    like: &'a AwsLike,
    call: &'a Call,
    request: &'a Request<Bytes>,
}

impl At<'_> {
    fn is_on(&self, behavior: Behavior) -> bool {
        self.like.0.on.lock().unwrap().contains(&behavior)
    }

    /// Counts a strike.
    fn strike(&self, behavior: Behavior) {
        *self.like.0.strikes.lock().unwrap().entry(behavior).or_default() += 1;
        self.like.0.struck.lock().unwrap().insert(behavior);
    }

    /// Whether a behavior strikes now: it is on, and its time since this moment is not over.
    fn strikes_since(&self, behavior: Behavior, moment: Option<Instant>) -> bool {
        let strikes = self.is_on(behavior) && moment.is_some_and(|moment| moment.elapsed() < behavior.time());
        if strikes {
            self.strike(behavior);
        }
        strikes
    }

    /// From now on, something is late for the times of these behaviors.
    fn begin(&self, behaviors: &[Behavior]) {
        let mut settled = self.like.0.settled.lock().unwrap();
        for behavior in behaviors.iter().filter(|behavior| self.is_on(**behavior)) {
            *settled = (*settled).max(Instant::now() + behavior.time());
        }
    }

    /// Asks the emulator as the caller of this call does, in a JSON protocol.
    async fn ask(&self, target: &str, body: &Value) -> Reply {
        let mut request = self.request.clone();
        *request.body_mut() = body.to_string().into();
        request.headers_mut().insert("x-amz-target", target.parse().unwrap());
        self.send(request).await
    }

    /// Asks IAM as the caller of this call does.
    async fn ask_iam(&self, form: &str) -> Reply {
        let mut request = self.request.clone();
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = "/".parse().unwrap();
        *request.body_mut() = form.to_owned().into();
        let credential = format!(
            "AWS4-HMAC-SHA256 Credential={}/20260101/{}/iam/aws4_request, SignedHeaders=host, Signature=0",
            self.call.account, self.call.region
        );
        let headers = request.headers_mut();
        headers.insert("authorization", credential.parse().unwrap());
        headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
        headers.remove("x-amz-target");
        self.send(request).await
    }

    async fn send(&self, mut request: Request<Bytes>) -> Reply {
        let length = request.body().len();
        request.headers_mut().insert(CONTENT_LENGTH, length.into());
        Reply::read(forward(self.like.0.server, request).await.unwrap()).await
    }
}

/// When something last happened to each resource.
#[derive(Default)]
struct Moments(Mutex<HashMap<String, Instant>>);

impl Moments {
    fn note(&self, key: String) {
        self.0.lock().unwrap().insert(key, Instant::now());
    }

    fn of(&self, key: &str) -> Option<Instant> {
        self.0.lock().unwrap().get(key).copied()
    }
}
