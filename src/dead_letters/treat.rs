//! Deletes dead letters, or routes them first. Applies only to those that were shown; the others are made visible again.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{DeadLetter, DeadLetters, HIDDEN, release};
use crate::model::{
    Fault, FaultKind, QueueName, RouterAnswer, RouterDecision, Scope, SqsAttributes, SqsEvent, SqsRecord, calls::sqs,
    scope::LIVE,
};

/// How many receives in a row may return only other messages: others may send messages faster than these are found.
const STRANGERS: usize = 20;
/// The largest payload of a synchronous invocation, in bytes (Lambda developer guide, "Lambda quotas": 6 MB).
const PAYLOAD: usize = 6_000_000;

/// What to do with dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Treatment {
    /// The router routes them, then they are deleted.
    Redrive,
    /// They are deleted.
    Purge,
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Outcome"))]
pub enum LetterStatus {
    /// At least one cluster received it.
    RoutedAndDeleted,
    /// The router dropped it, so no cluster received it.
    DroppedAndDeleted,
    /// The router routed or dropped it; its answer does not say which.
    RoutedOrDroppedAndDeleted,
    Deleted,
    // The router returned it, and no call failed. In JSON, it is a failure like the next variant.
    #[serde(rename = "failed")]
    #[cfg_attr(test, schemars(skip))]
    Returned,
    /// It stays in the queue.
    Failed,
    /// It was not touched and stays in the queue.
    Left,
    /// The command was stopped during its calls.
    Unknown,
}

impl LetterStatus {
    /// The word for a count of them, except for those that are left: their reason says more.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RoutedAndDeleted => "routed and deleted",
            Self::DroppedAndDeleted => "dropped and deleted",
            Self::RoutedOrDroppedAndDeleted => "routed or dropped, and deleted",
            Self::Deleted => "deleted",
            Self::Returned => "returned by the router",
            Self::Failed => "failed",
            Self::Left => "left",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the message is deleted, and was routed before that if requested.
    pub fn is_done(self) -> bool {
        self < Self::Returned
    }
}

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ResultObject"))]
pub struct LetterResult {
    pub status: LetterStatus,
    /// The router's decision, or why the message failed, is left or is unknown. Null if it was deleted without routing.
    pub reason: Option<String>,
    /// The clusters that it was routed to, if the router reports them.
    pub clusters: Vec<String>,
}

impl LetterResult {
    pub(super) fn new(status: LetterStatus, reason: Option<String>, decisions: &[RouterDecision]) -> Self {
        let delivered = decisions.iter().filter(|one| one.is_delivered());
        Self { status, reason, clusters: delivered.filter_map(|one| one.cluster.clone()).collect() }
    }

    /// It was routed, if requested. If the delete failed, it stays in the queue.
    fn of_delete(treatment: Treatment, decisions: &[RouterDecision], deleted: &Result<(), Fault>) -> Self {
        let said = decided(decisions);
        let (status, reason) = match (treatment, deleted) {
            (Treatment::Purge, Ok(())) => (LetterStatus::Deleted, None),
            (Treatment::Purge, Err(fault)) => (LetterStatus::Failed, Some(fault.to_string())),
            (Treatment::Redrive, Err(fault)) => {
                (LetterStatus::Failed, Some(format!("{said}, but not deleted: {fault}")))
            }
            (Treatment::Redrive, Ok(())) if decisions.is_empty() => {
                let reason = format!("{said}: this router does not report which");
                (LetterStatus::RoutedOrDroppedAndDeleted, Some(reason))
            }
            (Treatment::Redrive, Ok(())) => {
                if decisions.iter().any(RouterDecision::is_delivered) {
                    (LetterStatus::RoutedAndDeleted, Some(said))
                } else {
                    (LetterStatus::DroppedAndDeleted, Some(said))
                }
            }
        };
        Self::new(status, reason, decisions)
    }

    /// The router returned it. It stays.
    fn returned(decisions: &[RouterDecision]) -> Self {
        let why = (!decisions.is_empty()).then(|| format!(": {}", decided(decisions)));
        let reason = format!("the router returned it{}", why.unwrap_or_default());
        Self::new(LetterStatus::Returned, Some(reason), decisions)
    }
}

/// The decisions of the router about a dead letter, in words.
fn decided(decisions: &[RouterDecision]) -> String {
    if decisions.is_empty() {
        return "routed or dropped".to_owned();
    }
    let (delivered, others): (Vec<_>, Vec<_>) = decisions.iter().partition(|one| one.is_delivered());
    let clusters: Vec<&str> = delivered.iter().filter_map(|one| one.cluster.as_deref()).collect();
    let routed = (!delivered.is_empty()).then(|| match clusters.as_slice() {
        [] => "routed".to_owned(),
        clusters => format!("routed to {}", clusters.join(", ")),
    });
    let others = others.into_iter().map(|one| {
        let cluster = one.cluster.as_ref().map(|name| format!(", for cluster {name}"));
        let reason = one.reason.as_deref().unwrap_or("no reason");
        format!("{}: {reason}{}", one.decision, cluster.unwrap_or_default())
    });
    routed.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

/// The event with which Lambda would pass these messages to the router. It names no queue, so the router changes no
/// visibility. A dead letter was received before: the router must not wait for the tags of a new instance.
pub(super) fn batch_event<'a>(letters: impl IntoIterator<Item = &'a DeadLetter>) -> Value {
    let records = letters.into_iter().map(|letter| SqsRecord {
        message_id: letter.id.clone(),
        body: letter.body.clone(),
        attributes: SqsAttributes {
            approximate_receive_count: letter.receives.max(2).to_string(),
            sent_timestamp: letter.sent.to_string(),
        },
        ..SqsRecord::default()
    });
    json!(SqsEvent { records: records.collect() })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Treated {
    /// The result of each, by its id.
    pub results: BTreeMap<String, LetterResult>,
    /// The fault that ended it early.
    pub fault: Option<Fault>,
    pub stopped: bool,
}

impl Treated {
    /// The number of dead letters that are deleted, and were routed before that if requested.
    pub fn done(&self) -> usize {
        self.results.values().filter(|result| result.status.is_done()).count()
    }
}

/// Processes the dead letters with these ids, ten at a time, until the user requests a stop. A message is deleted only
/// after the router has cleared it, so if this is killed, at most the ten in flight are routed twice.
pub async fn treat(
    cloud: &impl DeadLetters,
    scope: &Scope,
    treatment: Treatment,
    ids: BTreeSet<String>,
    stop: &watch::Receiver<bool>,
) -> Treated {
    let mut run = TreatmentRun {
        cloud,
        scope,
        treatment,
        queue: scope.dead_letter_queue(),
        left: ids,
        results: BTreeMap::new(),
        decisions: BTreeMap::new(),
        held: BTreeMap::new(),
    };
    let (mut strangers, mut stopped) = (0, false);
    let fault = loop {
        if run.left.is_empty() {
            break None;
        }
        if *stop.borrow() {
            stopped = true;
            break None;
        }
        strangers = match run.batch().await {
            Ok(None) => break None,
            Ok(Some(0)) if strangers + 1 == STRANGERS => break Some(crowded()),
            Ok(Some(0)) => strangers + 1,
            Ok(Some(_)) => 0,
            Err(fault) => break Some(fault),
        };
    };
    // Messages that were received and not deleted become visible again; if the release fails, later.
    release(cloud, &run.queue, run.held.into_values()).await;
    let why_left = if stopped || fault.is_some() { "not tried" } else { "no longer found" };
    let left = LetterResult::new(LetterStatus::Left, Some(why_left.to_owned()), &[]);
    run.results.extend(run.left.into_iter().map(|id| (id, left.clone())));
    Treated { results: run.results, fault, stopped }
}

/// The end of a run that no longer finds its messages among others.
fn crowded() -> Fault {
    let message = format!("{STRANGERS} times in a row, SQS returned only messages that were not shown");
    Fault::new(FaultKind::Unsettled, sqs::RECEIVE_MESSAGE, message)
}

struct TreatmentRun<'a, C> {
    cloud: &'a C,
    scope: &'a Scope,
    treatment: Treatment,
    queue: QueueName,
    /// The messages that were not processed yet.
    left: BTreeSet<String>,
    /// The results of the others, and what the router decided about them.
    results: BTreeMap<String, LetterResult>,
    decisions: BTreeMap<String, Vec<RouterDecision>>,
    /// The receipts of messages to make visible again, by their ids.
    held: BTreeMap<String, String>,
}

impl<C: DeadLetters> TreatmentRun<'_, C> {
    /// Receives and processes one batch. Returns the number of messages to process; `None` if none was received.
    async fn batch(&mut self) -> Result<Option<usize>, Fault> {
        let received = self.cloud.receive(&self.queue, HIDDEN).await?;
        if received.is_empty() {
            return Ok(None);
        }
        // The delete may be late, or this may be a second copy. It was routed.
        let is_done = |one: &DeadLetter| self.results.get(&one.id).is_some_and(|result| result.status.is_done());
        let (again, mut asked): (Vec<_>, Vec<_>) = received.into_iter().partition(is_done);
        // However this ends early, messages that were received and not deleted become visible again.
        let receipts = asked.iter().map(|one| (one.id.clone(), one.receipt.clone()));
        self.held.extend(receipts);
        asked.retain(|one| self.left.contains(&one.id));
        let mut returned = BTreeSet::new();
        if self.treatment == Treatment::Redrive && !asked.is_empty() {
            asked = self.fitting(asked).await?;
            returned = self.route(&asked).await?;
        }
        let (stay, routed): (Vec<_>, Vec<_>) = asked.iter().partition(|one| returned.contains(&one.id));
        for one in stay {
            self.became(one, LetterResult::returned(self.decisions(one)));
        }
        let routed: Vec<&DeadLetter> = routed.into_iter().chain(&again).collect();
        let deletes = routed.iter().map(|one| self.cloud.delete(&self.queue, &one.receipt));
        let mut deleted = Ok(());
        for (one, answer) in routed.iter().zip(join_all(deletes).await) {
            self.became(one, LetterResult::of_delete(self.treatment, self.decisions(one), &answer));
            match answer {
                Ok(()) => drop(self.held.remove(&one.id)),
                Err(fault) => deleted = Err(fault),
            }
        }
        deleted.map(|()| Some(asked.len()))
    }

    /// The messages that fit into one invocation, at least one: SQS messages have at most 1 MiB, which JSON can double.
    /// The others are made visible again, for a later receive.
    async fn fitting(&mut self, mut asked: Vec<DeadLetter>) -> Result<Vec<DeadLetter>, Fault> {
        let mut length = 0;
        let fits = |letter: &&DeadLetter| {
            length += batch_event([*letter]).to_string().len();
            length <= PAYLOAD
        };
        let count = asked.iter().take_while(fits).count().max(1);
        for one in asked.split_off(count.min(asked.len())) {
            self.cloud.release(&self.queue, &one.receipt).await?;
            self.held.remove(&one.id);
        }
        Ok(asked)
    }

    /// Routes messages. Returns the ids of those that the router returns.
    async fn route(&mut self, asked: &[DeadLetter]) -> Result<BTreeSet<String>, Fault> {
        let function = self.scope.router_function();
        match self.cloud.route(&function, LIVE, &batch_event(asked)).await {
            Ok(answer) => {
                let ids: Vec<&str> = asked.iter().map(|one| one.id.as_str()).collect();
                let answer = RouterAnswer::read(&answer, &ids);
                self.decisions.extend(answer.decisions);
                Ok(answer.returned)
            }
            Err(fault) => {
                // The router may have routed them.
                let failed = LetterResult::new(LetterStatus::Failed, Some(fault.to_string()), &[]);
                asked.iter().for_each(|one| self.became(one, failed.clone()));
                Err(fault)
            }
        }
    }

    fn decisions(&self, one: &DeadLetter) -> &[RouterDecision] {
        self.decisions.get(&one.id).map(Vec::as_slice).unwrap_or_default()
    }

    fn became(&mut self, one: &DeadLetter, result: LetterResult) {
        self.left.remove(&one.id);
        self.results.insert(one.id.clone(), result);
    }
}

#[cfg(test)]
mod tests;
