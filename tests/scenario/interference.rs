//! The HTTP proxy between a command and the server, which records writes, and interferes if a scenario requests it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use hyper::body::Bytes;
use hyper::{Request, Response};
use serde_json::Value;

use super::partition::{for_server, from_server, partitions};
use crate::aws_like::{AwsLike, Caller};
use crate::support::account::Account;
use crate::support::proxy::{Answer, Broken, Hold, Operation, Port, asks_live_router, change_json, refusal};

/// What the proxy does with a request of an operation.
#[derive(Clone)]
pub(super) enum Interference {
    /// Passes it: the next interference applies to later requests.
    Pass,
    /// Rejects it with a status, a code and a message.
    Refuse(u16, String, String),
    /// Answers it with a body.
    Answer(String),
    /// Never answers it.
    Silence,
    /// Executes it and closes the connection without a response.
    Lose,
    /// Holds its response.
    Hold(Arc<Mutex<Option<Hold>>>),
    /// Someone else makes a call just before it: a service, an operation and its parameters.
    Before(Account, [String; 3]),
}

/// A replaced text in the responses of an operation.
#[derive(Clone)]
struct Untruth {
    operation: String,
    member: String,
    text: String,
}

#[derive(Default)]
struct State {
    writes: Vec<String>,
    /// The operations, how many of their requests, and what happens to each.
    interferences: Vec<(String, usize, Interference)>,
    untruths: Vec<Untruth>,
    /// The Regions with functions.
    regions: BTreeSet<String>,
    /// The partition of kibus, if not the server's.
    partition: Option<String>,
    /// The partitions in requests of kibus.
    partitions: BTreeSet<String>,
}

/// A proxy on the loopback interface.
#[derive(Clone)]
pub(super) struct Proxy {
    /// Its port.
    pub(super) port: u16,
    /// The AWS behaviors that the server lacks.
    pub(super) like: AwsLike,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Starts forwarding requests to the server on this port.
    pub(super) async fn start(server: u16) -> Self {
        let port = Port::open().await;
        let proxy = Self { port: port.number(), like: AwsLike::new(server), state: Arc::default() };
        let passes = proxy.clone();
        port.serve(move |request| passes.clone().pass(request));
        proxy
    }

    /// Sets an interference with this many requests of an operation, like `sqs:CreateQueue` or `lambda:POST/functions`.
    pub(super) fn interfere(&self, operation: &str, times: usize, interference: Interference) {
        self.state.lock().unwrap().interferences.push((operation.to_owned(), times, interference));
    }

    /// From now on, responses of this operation have this text in this member, where it exists, and next to every `State`.
    pub(super) fn say(&self, operation: &str, member: &str, text: &str) {
        let untruth = Untruth { operation: operation.to_owned(), member: member.to_owned(), text: text.to_owned() };
        self.state.lock().unwrap().untruths.push(untruth);
    }

    /// From now on, responses are unchanged.
    pub(super) fn say_the_truth(&self) {
        self.state.lock().unwrap().untruths.clear();
    }

    /// The writing operations since the last call, each with its subject.
    pub(super) fn take_writes(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().writes)
    }

    /// Translates every ARN between this partition, for kibus, and `aws`, the only partition of the server.
    pub(super) fn speak_of(&self, partition: &str) {
        self.state.lock().unwrap().partition = Some(partition.to_owned());
    }

    /// The partitions of all ARNs in requests since the last call.
    pub(super) fn take_partitions(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().partitions).into_iter().collect()
    }

    /// The interferences that were not used.
    pub(super) fn take_interferences(&self) -> Vec<String> {
        let left = std::mem::take(&mut self.state.lock().unwrap().interferences);
        left.into_iter().map(|(operation, ..)| operation).collect()
    }

    /// The Regions in which kibus has created functions.
    pub(super) fn regions(&self) -> BTreeSet<String> {
        self.state.lock().unwrap().regions.clone()
    }

    async fn pass(self, mut request: Request<Bytes>) -> Result<Answer, Broken> {
        let operation = Operation::of(&request);
        let (interference, untruths, partition) = {
            let mut state = self.state.lock().unwrap();
            if state.partition.is_some() {
                state.partitions.extend(partitions(&request));
            }
            if !operation.is_reading() && !asks_live_router(&request) {
                state.writes.push(operation.to_string());
            }
            if operation.name == "lambda:POST/functions" {
                state.regions.insert(operation.region.clone());
            }
            let untruths = state.untruths.iter().filter(|untruth| is(&operation, &untruth.operation));
            let untruths: Vec<_> = untruths.cloned().collect();
            let interference = next(&mut state.interferences, &operation);
            (interference, untruths, state.partition.clone())
        };
        if let Some(partition) = &partition {
            for_server(&mut request, partition)?;
        }
        let mut answer = self.answer(interference, request, &operation).await?;
        if !untruths.is_empty() {
            change_json(&mut answer, |said| untruths.iter().for_each(|untruth| say(said, untruth)));
        }
        if let Some(partition) = &partition {
            from_server(&mut answer, partition);
        }
        Ok(answer)
    }

    async fn answer(
        &self,
        interference: Option<Interference>,
        request: Request<Bytes>,
        operation: &Operation,
    ) -> Result<Answer, Broken> {
        let interference = match interference {
            Some(Interference::Refuse(status, code, message)) => {
                return Ok(refusal(operation, status, &code, &message));
            }
            Some(Interference::Silence) => std::future::pending().await,
            Some(Interference::Answer(body)) => return Ok(Response::new(body.into())),
            Some(Interference::Before(account, [service, operation, parameters])) => {
                account.call(&service, &operation, &parameters).await;
                None
            }
            other => other,
        };
        let answer = self.like.pass(request, Caller::Client).await?;
        match interference {
            // A call that AWS does not accept yet is repeated; the interference applies to the repetition.
            Some(interference) if !answer.status().is_success() => {
                let again = (operation.name.clone(), 1, interference);
                self.state.lock().unwrap().interferences.insert(0, again);
            }
            Some(Interference::Lose) => return Err("lost".into()),
            Some(Interference::Hold(hold)) => {
                let hold = hold.lock().unwrap().take();
                hold.unwrap().here().await;
            }
            _ => {}
        }
        Ok(answer)
    }
}

/// Replaces a text where its member exists, and next to every `State`.
fn say(value: &mut Value, untruth: &Untruth) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(|value| say(value, untruth));
            if members.contains_key("State") || members.contains_key(&untruth.member) {
                members.insert(untruth.member.clone(), untruth.text.clone().into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|value| say(value, untruth)),
        _ => {}
    }
}

/// Whether an operation matches a pattern, which may end with `*`.
fn is(operation: &Operation, meant: &str) -> bool {
    match meant.strip_suffix('*') {
        Some(beginning) => operation.name.starts_with(beginning),
        None => operation.name == meant,
    }
}

/// Takes the next interference with an operation.
fn next(all: &mut Vec<(String, usize, Interference)>, operation: &Operation) -> Option<Interference> {
    let at = all.iter().position(|(of, ..)| is(operation, of))?;
    let (_, times, interference) = &mut all[at];
    *times -= 1;
    Some(if *times == 0 { all.remove(at).2 } else { interference.clone() })
}
