//! A loopback proxy that adds to an emulator what only AWS does: late deletes, late grants, transitional states,
//! throttling. Each behavior has the id of its row in tests/aws-behavior.md, can be switched alone, and counts how often it
//! struck. `all` switches every behavior on; some strike only in certain Regions, or with certain keys.
//!
//! Times are scaled down. Refusals that always look the same and last for some time are rows of [`refusals`]. The other behaviors
//! of a service are in the file of that service: what happens *before* a call reaches the emulator, which may be a different
//! answer, and what changes in the answer *after* it.
//!
//! In a scenario file: `% aws-like S9 S1`, `% aws-like held S4`, `% aws-like all`, `% aws-like none`, `% aws-like rates`, and `%
//! struck S9` to wait until it struck. Recorded answers from AWS can be played from a file: [`AwsLike::play`]. From Rust:
//! [`AwsLike::new`] over the port of any emulator or proxy, [`Proxy::start`] for a URL, and [`FunctionProxy`] for the calls of the
//! emulator's functions.

mod behavior;
mod events;
mod iam;
mod lambda;
mod mapping;
mod memory;
mod parameters;
mod permission;
mod playback;
mod proxy;
mod queue;
mod rates;
mod refusals;
mod reply;
mod sqs;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hyper::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::account::Account;
use crate::call::Call;
pub use crate::call::Caller;
use crate::proxy::{Answer, Broken, forward};
use crate::recorded::Recording;
pub use behavior::Behavior;
pub use proxy::{FunctionProxy, Proxy};
use reply::Reply;

/// One emulator that behaves like AWS. Clones share their state.
#[derive(Clone)]
pub struct AwsLike(Arc<Inner>);

#[derive(Default)]
struct Inner {
    server: u16,
    on: Mutex<BTreeSet<Behavior>>,
    /// From this time on, late answers stay late, regardless of the time.
    held: Mutex<Option<Instant>>,
    playback: playback::Playback,
    strikes: Mutex<BTreeMap<Behavior, usize>>,
    /// The behaviors that struck since this was last read.
    struck: Mutex<BTreeSet<Behavior>>,
    /// When all late effects have arrived.
    settled: Mutex<Option<Instant>>,
    memory: memory::Memory,
    sqs: sqs::Sqs,
    events: events::Events,
    iam: iam::Iam,
    lambda: lambda::Lambda,
    mappings: mapping::Mappings,
    parameters: parameters::Parameters,
    rates: rates::Rates,
}

impl AwsLike {
    /// The emulator, or a proxy in front of it, on this port. Every behavior is off.
    pub fn new(server: u16) -> Self {
        Self(Arc::new(Inner { server, ..Inner::default() }))
    }

    /// Switches exactly these behaviors on: ids separated by spaces, `all` or `none`. With `rates`, calls are throttled at
    /// the rates of AWS; otherwise a few calls use them up. After `held`, changes from now on stay late until
    /// [`Self::settle`], so a slow machine cannot miss them; this does not apply to S12 and E1.
    pub fn switch(&self, ids: &str) {
        let held = ids.strip_prefix("held ");
        *self.0.held.lock().unwrap() = held.map(|_| Instant::now());
        let ids = held.unwrap_or(ids);
        let on = match ids {
            "all" => Behavior::ALL.iter().copied().collect(),
            "none" => BTreeSet::new(),
            "rates" => rates::ALL.into(),
            ids => ids.split(' ').map(|id| id.parse().unwrap()).collect(),
        };
        *self.0.on.lock().unwrap() = on;
        self.0.rates.set_real(ids == "rates");
    }

    /// From now on, the answers of a recording replace the emulator's ([`playback`]).
    pub fn play(&self, recording: Recording) {
        self.0.playback.add(recording);
    }

    /// The operations with recorded answers that no call has received.
    pub fn not_played(&self) -> Vec<String> {
        self.0.playback.left()
    }

    /// How often a behavior struck.
    pub fn strikes(&self, behavior: Behavior) -> usize {
        self.0.strikes.lock().unwrap().get(&behavior).copied().unwrap_or(0)
    }

    /// The behaviors that struck since the last call.
    pub fn take_struck(&self) -> Vec<Behavior> {
        std::mem::take(&mut *self.0.struck.lock().unwrap()).into_iter().collect()
    }

    /// Waits until all late effects have arrived.
    pub async fn settle(&self) {
        *self.0.held.lock().unwrap() = None;
        loop {
            let settled = *self.0.settled.lock().unwrap();
            let left = settled.map(|settled| settled.saturating_duration_since(Instant::now())).unwrap_or_default();
            if left.is_zero() && self.0.sqs.has_no_ghosts() {
                return;
            }
            tokio::time::sleep(left.max(std::time::Duration::from_millis(20))).await;
        }
    }

    /// Whether calls pass untouched and unread: nothing is on or played, and no late effect is pending. Their effects
    /// are not recorded, so behaviors that are switched on later do not depend on them.
    fn is_idle(&self) -> bool {
        let inner = &*self.0;
        inner.on.lock().unwrap().is_empty()
            && inner.playback.is_empty()
            && inner.sqs.has_no_ghosts()
            && inner.events.has_no_late_targets()
    }

    /// Handles one call.
    pub async fn pass(&self, request: Request<Bytes>, caller: Caller) -> Result<Answer, Broken> {
        if self.is_idle() {
            return forward(self.0.server, request).await;
        }
        let call = Call::read(&request, caller);
        let at = At { like: self, call: &call, request: &request };
        let inner = &*self.0;
        if let Some(own) = inner.playback.next(&call).or_else(|| inner.rates.before(&at)) {
            return Ok(own.answer());
        }
        let Ok(_held) = inner.parameters.hold(&at) else {
            return Ok(parameters::busy(&at).answer());
        };
        let own = match refusals::refused(&at) {
            None => match call.service.as_str() {
                "sqs" => inner.sqs.before(&at).await,
                "events" => inner.events.before(&at).await,
                "iam" => inner.iam.before(&at).await,
                "lambda" if call.operation.contains(" event-source-mappings") => inner.mappings.before(&at).await,
                "lambda" => inner.lambda.before(&at).await,
                "ssm" => inner.parameters.before(&at).await,
                "ec2" => permission::of_tags(&at),
                _ => None,
            },
            refused => refused,
        };
        if let Some(own) = own {
            return Ok(own.answer());
        }
        let mut reply = Reply::from(forward(inner.server, request.clone()).await?);
        if reply.status.is_success() {
            match call.service.as_str() {
                "sqs" => inner.sqs.after(&at, &mut reply),
                "events" => inner.events.after(&at, &mut reply),
                "lambda" => {
                    inner.lambda.after(&at, &mut reply).await;
                    inner.mappings.after(&at, &mut reply);
                }
                "ssm" => inner.parameters.after(&at, &mut reply),
                "tagging" => queue::late_list(&at, &mut reply),
                _ => {}
            }
        }
        Ok(reply.answer())
    }
}

/// A call in progress.
struct At<'a> {
    like: &'a AwsLike,
    call: &'a Call,
    request: &'a Request<Bytes>,
}

impl At<'_> {
    fn is_on(&self, behavior: Behavior) -> bool {
        self.like.0.on.lock().unwrap().contains(&behavior)
    }

    fn is_any_on(&self, behaviors: &[Behavior]) -> bool {
        behaviors.iter().any(|behavior| self.is_on(*behavior))
    }

    /// Counts a strike.
    fn strike(&self, behavior: Behavior) {
        *self.like.0.strikes.lock().unwrap().entry(behavior).or_default() += 1;
        self.like.0.struck.lock().unwrap().insert(behavior);
    }

    /// Whether a behavior strikes now: it is on, and this condition is true.
    fn strikes_if(&self, behavior: Behavior, holds: bool) -> bool {
        let strikes = holds && self.is_on(behavior);
        if strikes {
            self.strike(behavior);
        }
        strikes
    }

    /// Whether a behavior strikes now: it is on, and its time since this moment is not over.
    fn strikes_since(&self, behavior: Behavior, moment: Option<Instant>) -> bool {
        self.strikes_if(behavior, self.is_late(behavior, moment))
    }

    /// Whether late effects stay late, regardless of the time.
    fn is_held(&self, moment: Instant) -> bool {
        self.like.0.held.lock().unwrap().is_some_and(|since| moment >= since)
    }

    /// Whether a behavior is on, and its time since this moment is not over.
    fn is_late(&self, behavior: Behavior, moment: Option<Instant>) -> bool {
        self.is_on(behavior) && moment.is_some_and(|moment| self.is_held(moment) || moment.elapsed() < behavior.time())
    }

    /// From now on, something is late for the durations of these behaviors.
    fn begin(&self, behaviors: &[Behavior]) {
        let mut settled = self.like.0.settled.lock().unwrap();
        for behavior in behaviors.iter().filter(|behavior| self.is_on(**behavior)) {
            *settled = (*settled).max(Some(Instant::now() + behavior.time()));
        }
    }

    /// The refusal of this call, in the protocol of its service.
    fn refuse(&self, status: u16, code: &str, message: &str) -> Reply {
        Reply::error(&self.call.service, status, code, message)
    }

    /// The ARN of something in the account and Region of this call.
    fn arn(&self, service: &str, name: &str) -> String {
        format!("arn:aws:{service}:{}:{}:{name}", self.call.region, self.call.account)
    }

    /// The account and Region of this call, on the emulator.
    fn account(&self) -> Account {
        Account::new(&self.call.account, self.like.0.server, &self.call.region)
    }

    /// Calls the emulator in a JSON protocol.
    async fn ask(&self, service: &str, operation: &str, body: &Value) -> Reply {
        self.account().json_request(service, operation, body.to_string()).await.into()
    }

    /// Calls IAM.
    async fn ask_iam(&self, form: String) -> Reply {
        self.account().form_request("iam", format!("{form}&Version=2010-05-08")).await.into()
    }

    /// Reads something from Lambda.
    async fn get_lambda(&self, path: &str) -> Value {
        let request = Request::get(format!("/2015-03-31/{path}"));
        Reply::from(self.account().request("lambda", request, "").await).json()
    }

    /// The URL of a queue, if it exists.
    async fn queue_url(&self, queue: &str) -> Option<Value> {
        let found = self.ask("sqs", "GetQueueUrl", &json!({ "QueueName": queue })).await;
        found.status.is_success().then(|| found.json()["QueueUrl"].take())
    }

    /// The attributes of a queue.
    async fn attributes(&self, url: &Value) -> Value {
        let question = json!({"QueueUrl": url, "AttributeNames": ["All"]});
        self.ask("sqs", "GetQueueAttributes", &question).await.json()["Attributes"].take()
    }
}
