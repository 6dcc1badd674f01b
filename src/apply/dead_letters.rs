//! Deletes dead letters, or routes them first. Only those that were shown; the others are made visible again.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use tokio::sync::watch;

use crate::cloud::{DeadLetters, Fault, ReceivedLetter};
use crate::model::scope::{LIVE, Scope};

/// How long a received message is hidden, in seconds: longer than the router takes for a batch. A message that a killed
/// command received is visible again after this time.
const HIDDEN: u32 = 30;
/// How many receives in a row may return only other messages: someone else sends them faster than these are found.
const STRANGERS: usize = 20;

/// What is done with dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The router routes them, then they are deleted.
    Redrive,
    /// They are deleted.
    Purge,
}

/// What became of dead letters, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Treated {
    /// These are deleted, and were routed before if that was asked for.
    pub done: BTreeSet<String>,
    /// The router returned these; they stay.
    pub failed: BTreeSet<String>,
    /// These were not touched: not found any more, or not reached.
    pub left: BTreeSet<String>,
    /// What ended it early.
    pub fault: Option<Fault>,
    /// Whether someone asked to stop.
    pub stopped: bool,
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
    let mut run = Run {
        cloud,
        scope,
        treatment,
        treated: Treated {
            left: ids.clone(),
            ..Treated::default()
        },
        held: BTreeMap::new(),
    };
    let mut strangers = 0;
    while !run.treated.left.is_empty() && strangers < STRANGERS {
        if *stop.borrow() {
            run.treated.stopped = true;
            break;
        }
        match run.batch().await {
            Ok(None) => break,
            Ok(Some(0)) => strangers += 1,
            Ok(Some(_)) => strangers = 0,
            Err(fault) => {
                run.treated.fault = Some(fault);
                break;
            }
        }
    }
    run.end().await
}

struct Run<'a, C> {
    cloud: &'a C,
    scope: &'a Scope,
    treatment: Treatment,
    treated: Treated,
    /// The receipts of messages that are to be visible again, by their ids.
    held: BTreeMap<String, String>,
}

impl<C: DeadLetters> Run<'_, C> {
    /// Receives and treats one batch. Gives the number of messages that were to be treated; `None` if none was received.
    async fn batch(&mut self) -> Result<Option<usize>, Fault> {
        let received = self.cloud.receive(&self.scope.dead_letter_queue(), HIDDEN).await?;
        if received.is_empty() {
            return Ok(None);
        }
        // A delete may be late, or a second copy may come. It was routed.
        let (again, received): (Vec<_>, Vec<_>) = received
            .into_iter()
            .partition(|one| self.treated.done.contains(&one.letter.id));
        let (asked, others): (Vec<_>, Vec<_>) = received
            .into_iter()
            .partition(|one| self.treated.left.contains(&one.letter.id));
        self.hold(&others);
        // Whatever ends this early, what was received and not deleted is visible again.
        self.hold(&asked);
        let failed = match self.treatment {
            Treatment::Redrive if !asked.is_empty() => {
                let letters = asked.iter().map(|one| &one.letter).collect();
                self.cloud.route(&self.scope.router_function(), LIVE, letters).await?
            }
            Treatment::Redrive | Treatment::Purge => BTreeSet::new(),
        };
        let (stay, routed): (Vec<_>, Vec<_>) = asked.iter().partition(|one| failed.contains(&one.letter.id));
        for one in stay {
            self.treated.left.remove(&one.letter.id);
            self.treated.failed.insert(one.letter.id.clone());
        }
        let queue = self.scope.dead_letter_queue();
        let routed: Vec<&ReceivedLetter> = routed.into_iter().chain(&again).collect();
        let deletes = routed.iter().map(|one| self.cloud.delete(&queue, &one.receipt));
        let mut deleted = Ok(());
        for (one, answer) in routed.iter().zip(join_all(deletes).await) {
            match answer {
                Ok(()) => {
                    let id = &one.letter.id;
                    self.treated.left.remove(id);
                    self.held.remove(id);
                    self.treated.done.insert(id.clone());
                }
                Err(fault) => deleted = Err(fault),
            }
        }
        deleted.map(|()| Some(asked.len()))
    }

    fn hold(&mut self, received: &[ReceivedLetter]) {
        let receipts = received.iter().map(|one| (one.letter.id.clone(), one.receipt.clone()));
        self.held.extend(receipts);
    }

    /// Makes what was received and not deleted visible again. A release that fails only makes it visible later.
    async fn end(self) -> Treated {
        let queue = self.scope.dead_letter_queue();
        for chunk in self.held.values().collect::<Vec<_>>().chunks(16) {
            join_all(chunk.iter().map(|receipt| self.cloud.release(&queue, receipt))).await;
        }
        self.treated
    }
}

#[cfg(test)]
mod tests;
