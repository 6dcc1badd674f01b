//! Deletes dead letters, or routes them first. Only those that were shown; the others are made visible again.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde::Serialize;
use tokio::sync::watch;

use super::batch::fitting;
use super::read::release;
use super::{DeadLetter, DeadLetters, HIDDEN, RouterDecision};
use crate::model::answer::{Fault, FaultKind};
use crate::model::name::QueueName;
use crate::model::resource::calls::sqs;
use crate::model::scope::{LIVE, Scope};

/// How many receives in a row may return only other messages: someone else sends them faster than these are found.
const STRANGERS: usize = 20;

/// What is done with dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Treatment {
    /// The router routes them, then they are deleted.
    Redrive,
    /// They are deleted.
    Purge,
}

/// What became of one dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetterOutcome {
    /// It is deleted, and was routed before if that was asked for.
    Done,
    /// The router returned it. It stays.
    Returned,
    /// The invocation that it was in failed, so the router may have routed it. It stays.
    NotRouted(Fault),
    /// It could not be deleted, and was routed before if that was asked for. It stays.
    NotDeleted(Fault),
    /// It was not touched: not found any more, or not reached.
    Left,
}

/// What the router decided about a dead letter as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// At least one cluster received it.
    Routed,
    /// No cluster received it.
    Dropped,
    /// One of both: the live router does not say.
    Unknown,
}

/// What became of dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Treated {
    pub treatment: Treatment,
    /// What became of each, by its id. Empty if the run was abandoned.
    pub letters: BTreeMap<String, LetterOutcome>,
    /// What the router decided about each, by its id, as far as it says.
    pub decisions: BTreeMap<String, Vec<RouterDecision>>,
    /// What ended it early.
    pub fault: Option<Fault>,
    /// Whether someone asked to stop.
    pub stopped: bool,
}

impl Treated {
    /// A run that was abandoned: the results of the dead letters are unknown.
    pub fn abandoned(treatment: Treatment) -> Self {
        Self {
            treatment,
            letters: BTreeMap::new(),
            decisions: BTreeMap::new(),
            fault: None,
            stopped: true,
        }
    }

    /// The number of dead letters with this result.
    pub fn count(&self, became: impl Fn(&LetterOutcome) -> bool) -> usize {
        self.letters.values().filter(|outcome| became(outcome)).count()
    }

    /// Why a dead letter is left.
    pub fn why_left(&self) -> &'static str {
        match self.stopped || self.fault.is_some() {
            true => "not tried",
            false => "no longer found",
        }
    }

    /// The number of dead letters that are deleted, and were routed before if that was asked for.
    pub fn done(&self) -> usize {
        self.count(|outcome| *outcome == LetterOutcome::Done)
    }

    /// What the router decided about a dead letter that is deleted.
    pub fn routing(&self, id: &str) -> Routing {
        match self.decisions.get(id).map(Vec::as_slice) {
            None | Some([]) => Routing::Unknown,
            Some(decisions) if decisions.iter().any(|one| one.decision == "delivered") => Routing::Routed,
            Some(_) => Routing::Dropped,
        }
    }

    /// Whether a dead letter was not touched so far.
    fn is_left(&self, id: &str) -> bool {
        self.letters.get(id) == Some(&LetterOutcome::Left)
    }
}

/// Treats the dead letters with these ids, ten at a time, until someone asks to stop. A message is deleted only after the
/// router has cleared it, so at most the ten in flight are routed twice if this is killed.
pub async fn treat(
    cloud: &impl DeadLetters,
    scope: &Scope,
    treatment: Treatment,
    ids: &BTreeSet<String>,
    stop: &watch::Receiver<bool>,
) -> Treated {
    let mut run = TreatmentRun {
        cloud,
        scope,
        queue: scope.dead_letter_queue(),
        treated: Treated {
            treatment,
            letters: ids.iter().map(|id| (id.clone(), LetterOutcome::Left)).collect(),
            decisions: BTreeMap::new(),
            fault: None,
            stopped: false,
        },
        held: BTreeMap::new(),
    };
    let mut strangers = 0;
    run.treated.fault = loop {
        if run.treated.count(|outcome| *outcome == LetterOutcome::Left) == 0 {
            break None;
        }
        if *stop.borrow() {
            run.treated.stopped = true;
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
    run.end().await
}

/// The end of a run that finds no more of its messages among others.
fn crowded() -> Fault {
    Fault {
        kind: FaultKind::Unsettled { advice: None },
        action: sqs::RECEIVE_MESSAGE.to_owned(),
        code: None,
        message: format!("{STRANGERS} times in a row, SQS returned only messages that were not shown"),
    }
}

struct TreatmentRun<'a, C> {
    cloud: &'a C,
    scope: &'a Scope,
    queue: QueueName,
    treated: Treated,
    /// The receipts of messages that are to be visible again, by their ids.
    held: BTreeMap<String, String>,
}

impl<C: DeadLetters> TreatmentRun<'_, C> {
    /// Receives and treats one batch. Gives the number of messages that were to be treated; `None` if none was received.
    async fn batch(&mut self) -> Result<Option<usize>, Fault> {
        let received = self.cloud.receive(&self.queue, HIDDEN).await?;
        if received.is_empty() {
            return Ok(None);
        }
        // A delete may be late, or a second copy may come. It was routed.
        let is_done = |one: &DeadLetter| self.treated.letters.get(&one.id) == Some(&LetterOutcome::Done);
        let (again, mut asked): (Vec<_>, Vec<_>) = received.into_iter().partition(is_done);
        // Whatever ends this early, what was received and not deleted is visible again.
        let receipts = asked.iter().map(|one| (one.id.clone(), one.receipt.clone()));
        self.held.extend(receipts);
        asked.retain(|one| self.treated.is_left(&one.id));
        let mut failed = BTreeSet::new();
        if self.treated.treatment == Treatment::Redrive && !asked.is_empty() {
            asked = self.fitting(asked).await?;
            failed = self.route(&asked).await?;
        }
        let (stay, routed): (Vec<_>, Vec<_>) = asked.iter().partition(|one| failed.contains(&one.id));
        for one in stay {
            self.became(one, LetterOutcome::Returned);
        }
        let routed: Vec<&DeadLetter> = routed.into_iter().chain(&again).collect();
        let deletes = routed.iter().map(|one| self.cloud.delete(&self.queue, &one.receipt));
        let mut deleted = Ok(());
        for (one, answer) in routed.iter().zip(join_all(deletes).await) {
            match answer {
                Ok(()) => {
                    self.held.remove(&one.id);
                    self.became(one, LetterOutcome::Done);
                }
                Err(fault) => {
                    self.became(one, LetterOutcome::NotDeleted(fault.clone()));
                    deleted = Err(fault);
                }
            }
        }
        deleted.map(|()| Some(asked.len()))
    }

    /// The messages that fit into one invocation. The others are made visible again: they come with a later receive.
    async fn fitting(&mut self, mut asked: Vec<DeadLetter>) -> Result<Vec<DeadLetter>, Fault> {
        let count = fitting(&asked).min(asked.len());
        for one in asked.split_off(count) {
            self.cloud.release(&self.queue, &one.receipt).await?;
            self.held.remove(&one.id);
        }
        Ok(asked)
    }

    /// Routes messages. Gives the ids of those that the router returns.
    async fn route(&mut self, asked: &[DeadLetter]) -> Result<BTreeSet<String>, Fault> {
        let letters = asked.iter().collect();
        let answer = self.cloud.route(&self.scope.router_function(), LIVE, letters).await;
        match answer {
            Ok(answer) => {
                self.treated.decisions.extend(answer.decisions);
                Ok(answer.returned)
            }
            Err(fault) => {
                for one in asked {
                    self.became(one, LetterOutcome::NotRouted(fault.clone()));
                }
                Err(fault)
            }
        }
    }

    fn became(&mut self, one: &DeadLetter, outcome: LetterOutcome) {
        self.treated.letters.insert(one.id.clone(), outcome);
    }

    /// Makes what was received and not deleted visible again. A release that fails only makes it visible later.
    async fn end(self) -> Treated {
        release(self.cloud, &self.queue, self.held.into_values()).await;
        self.treated
    }
}

#[cfg(test)]
mod tests;
