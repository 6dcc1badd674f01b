//! A loopback proxy that adds to an emulator what only AWS does: late deletes, late grants, transitional states,
//! throttling. Each behavior has the id of its row in docs/reliability.md, can be switched alone, and counts how often it
//! struck. `all` switches every behavior on; some strike only in certain Regions, or with certain keys.
//!
//! Times are scaled down. The behaviors of a service are in the file of that service: what happens *before* a call reaches
//! the emulator, which may be an answer of its own, and what changes in the answer *after* it.
//!
//! In a scenario file: `% aws-like S9 S1`, `% aws-like held S4`, `% aws-like all`, `% aws-like none`, `% aws-like rates`, and `% struck S9` to
//! wait until it struck.
//! Answers that AWS itself gave can be played from a file: [`AwsLike::play`].
//! From Rust: [`AwsLike::new`] over the port of any emulator or proxy, [`Proxy::start`] for a URL, and
//! [`Proxy::for_functions`] for the calls of the emulator's functions.

mod behavior;
mod call;
mod ec2;
mod events;
mod iam;
mod kms;
mod lambda;
mod mapping;
mod message_size;
mod parameters;
mod permission;
mod playback;
mod proxy;
mod rates;
mod redrive;
mod reply;
mod sqs;
mod tagging;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use hyper::Request;
use hyper::body::Bytes;
use serde_json::Value;

use crate::account::Account;
use crate::proxy::{Answer, Broken, forward};
use crate::recorded::Recording;
pub use behavior::Behavior;
use call::Call;
pub use call::Caller;
pub use playback::operation;
pub use proxy::{FunctionProxy, Proxy};
use reply::Reply;

/// One emulator that behaves like AWS. Clones share their state.
#[derive(Clone)]
pub struct AwsLike(Arc<Inner>);

struct Inner {
    server: u16,
    on: Mutex<BTreeSet<Behavior>>,
    /// Since then, answers that are late stay late, whatever the time.
    held: Mutex<Option<Instant>>,
    playback: playback::Playback,
    strikes: Mutex<BTreeMap<Behavior, usize>>,
    /// Which behaviors struck since this was last taken.
    struck: Mutex<BTreeSet<Behavior>>,
    settled: Mutex<Instant>,
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
        Self(Arc::new(Inner {
            server,
            on: Mutex::default(),
            held: Mutex::default(),
            playback: playback::Playback::default(),
            strikes: Mutex::default(),
            struck: Mutex::default(),
            settled: Mutex::new(Instant::now()),
            sqs: sqs::Sqs::default(),
            events: events::Events::default(),
            iam: iam::Iam::default(),
            lambda: lambda::Lambda::default(),
            mappings: mapping::Mappings::default(),
            parameters: parameters::Parameters::default(),
            rates: rates::Rates::default(),
        }))
    }

    /// Switches exactly these behaviors on: ids separated by spaces, `all` or `none`. With `rates`, calls are throttled at
    /// the rates of AWS; otherwise a few calls use them up. After `held`, what changes from
    /// now on is late until [`Self::settle`], so a slow machine cannot miss it; not so S12, E1 and T1.
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

    /// From now on, the answers of a recording are in the place of the emulator's ([`playback`]).
    pub fn play(&self, recording: Recording) {
        self.0.playback.add(recording);
    }

    /// The operations with recorded answers that no call has received.
    pub fn not_played(&self) -> Vec<String> {
        self.0.playback.left()
    }

    /// The functions whose mappings poll for more than their reserved concurrency can run (M10).
    pub fn overbooked(&self) -> Vec<String> {
        self.0.mappings.overbooked()
    }

    /// How often a behavior struck.
    pub fn strikes(&self, behavior: Behavior) -> usize {
        self.0.strikes.lock().unwrap().get(&behavior).copied().unwrap_or(0)
    }

    /// The behaviors that struck since the last call.
    pub fn take_struck(&self) -> Vec<Behavior> {
        std::mem::take(&mut *self.0.struck.lock().unwrap()).into_iter().collect()
    }

    /// Waits until everything late has arrived.
    pub async fn settle(&self) {
        *self.0.held.lock().unwrap() = None;
        loop {
            let left = self.0.settled.lock().unwrap().saturating_duration_since(Instant::now());
            if left.is_zero() && self.0.sqs.has_no_ghosts() {
                return;
            }
            tokio::time::sleep(left.max(std::time::Duration::from_millis(20))).await;
        }
    }

    /// Whether calls pass untouched and unread: nothing is on or played, and nothing late from before is left. What they do is not
    /// noted, so no behavior that is switched on later depends on them.
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
        if let Some(recorded) = inner.playback.next(&call) {
            return Ok(recorded.answer());
        }
        if let Some(throttled) = inner.rates.before(&at) {
            return Ok(throttled.answer());
        }
        let Ok(_held) = inner.parameters.hold(&at) else {
            return Ok(parameters::busy().answer());
        };
        let own = match call.service.as_str() {
            "sqs" => inner.sqs.before(&at).await,
            "events" => inner.events.before(&at).await,
            "iam" => inner.iam.before(&at).await,
            "lambda" => match inner.lambda.before(&at).await {
                None => inner.mappings.before(&at).await,
                own => own,
            },
            "ssm" => inner.parameters.before(&at).await,
            "ec2" => ec2::before(&at),
            _ => None,
        };
        if let Some(own) = own {
            return Ok(own.answer());
        }
        let mut reply = Reply::from(forward(inner.server, request.clone()).await?);
        match call.service.as_str() {
            "sqs" => inner.sqs.after(&at, &mut reply),
            "events" => inner.events.after(&at, &mut reply),
            "lambda" => {
                inner.lambda.after(&at, &mut reply).await;
                inner.mappings.after(&at, &mut reply);
            }
            "ssm" => inner.parameters.after(&at, &mut reply),
            "tagging" => tagging::after(&at, &mut reply),
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
        let strikes = self.is_late(behavior, moment);
        if strikes {
            self.strike(behavior);
        }
        strikes
    }

    /// Whether what is late stays so, whatever the time.
    fn is_held(&self, moment: Instant) -> bool {
        self.like.0.held.lock().unwrap().is_some_and(|since| moment >= since)
    }

    /// Whether a behavior is on, and its time since this moment is not over.
    fn is_late(&self, behavior: Behavior, moment: Option<Instant>) -> bool {
        self.is_on(behavior) && moment.is_some_and(|moment| self.is_held(moment) || moment.elapsed() < behavior.time())
    }

    /// From now on, something is late for the times of these behaviors.
    fn begin(&self, behaviors: &[Behavior]) {
        let mut settled = self.like.0.settled.lock().unwrap();
        for behavior in behaviors.iter().filter(|behavior| self.is_on(**behavior)) {
            *settled = (*settled).max(Instant::now() + behavior.time());
        }
    }

    /// The account and Region of this call, on the emulator.
    fn account(&self) -> Account {
        Account::new(&self.call.account, self.like.0.server, &self.call.region)
    }

    /// Asks the emulator in a JSON protocol.
    async fn ask(&self, service: &str, operation: &str, body: &Value) -> Reply {
        let account = self.account();
        account.json_request(service, operation, body.to_string()).await.into()
    }

    /// Asks IAM.
    async fn ask_iam(&self, form: String) -> Reply {
        let form = format!("{form}&Version=2010-05-08");
        self.account().form_request("iam", form).await.into()
    }

    /// Gets something of Lambda.
    async fn get_lambda(&self, path: &str) -> Reply {
        let request = Request::get(format!("/2015-03-31/{path}"));
        self.account().request("lambda", request, "").await.into()
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

/// For each resource, since when a condition has something new to see, and how many calls it still denies (I9).
#[derive(Default)]
struct Denials(Mutex<HashMap<String, (Instant, usize)>>);

impl Denials {
    /// How many calls are denied.
    const CALLS: usize = 2;

    fn begin(&self, at: &At<'_>, key: &str) {
        at.begin(&[Behavior::I9]);
        self.0.lock().unwrap().insert(key.to_owned(), (Instant::now(), Self::CALLS));
    }

    /// Whether a call about this resource is denied.
    fn strikes(&self, at: &At<'_>, key: &str) -> bool {
        let mut all = self.0.lock().unwrap();
        let Some((since, left)) = all.get_mut(key).filter(|(_, left)| *left > 0) else {
            return false;
        };
        let strikes = at.strikes_since(Behavior::I9, Some(*since));
        *left -= usize::from(strikes);
        strikes
    }
}
