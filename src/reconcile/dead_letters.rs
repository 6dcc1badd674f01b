//! `dead-letters`: the messages of the dead-letter queue, why they are there, and whether they are still useful.

use std::collections::{BTreeMap, BTreeSet};

use super::Blocked;
use crate::dead_letters::read::{HIDDEN, SeenLetters};
use crate::model::dead_letter::{DeadLetter, LetterEvent, RetryLine};
use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::inventory::Reading;
use crate::model::name::QueueName;
use crate::model::resource::ResourceId;
use crate::model::scope::{LIVE, Scope};
use crate::plan;
use crate::survey::{Query, Survey};

/// The dead letters of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterReport {
    /// The queue.
    pub queue: QueueName,
    /// How many messages it holds, as SQS counts, and at least those that were seen.
    pub about: u64,
    /// Those that were seen, the oldest first.
    pub letters: Vec<ReportedLetter>,
    /// Why the report lacks something.
    pub warnings: Vec<String>,
}

/// A dead letter and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedLetter {
    /// The dead letter.
    pub letter: DeadLetter,
    /// What it says; `None` if it is not an event.
    pub event: Option<LetterEvent>,
    /// The last line of the router's log about it.
    pub retry: Option<RetryLine>,
}

/// What must be read next before dead letters are read, and for a redrive also routed again; an empty query ends the survey.
#[must_use]
pub fn needs(redrive: bool, survey: &Survey) -> Query {
    let mut resources = BTreeSet::from([ResourceId::Queue(survey.scope.dead_letter_queue())]);
    if redrive {
        resources.extend(router(&survey.scope));
    }
    resources.retain(|id| survey.observed.get(id).is_none());
    Query {
        resources,
        ..Query::default()
    }
}

/// Checks that there is a dead-letter queue, and for a redrive also a router, that this bus manages.
///
/// # Errors
/// When there is none, or that is unknown.
pub fn check(redrive: bool, survey: &Survey) -> Result<(), Blocked> {
    let Survey { scope, observed, .. } = survey;
    let id = ResourceId::Queue(scope.dead_letter_queue());
    match observed.get(&id) {
        Some(Reading::Unreadable(fault)) => return Err(Blocked::Unreadable(id, Box::new(fault.clone()))),
        Some(Reading::Present(queue)) if plan::is_ours(scope, queue, observed) => {}
        None | Some(Reading::Absent | Reading::Present(_)) => return Err(Blocked::NoHub),
    }
    for id in router(scope).into_iter().filter(|_| redrive) {
        match observed.get(&id) {
            Some(Reading::Unreadable(fault)) => return Err(Blocked::Unreadable(id, Box::new(fault.clone()))),
            Some(Reading::Present(found)) => plan::check_managed(scope, found, observed)?,
            None | Some(Reading::Absent) => return Err(Blocked::NoRouter(id)),
        }
    }
    Ok(())
}

/// What a redrive invokes.
fn router(scope: &Scope) -> [ResourceId; 2] {
    let function = scope.router_function();
    [
        ResourceId::Function(function.clone()),
        ResourceId::Alias(function, LIVE.to_owned()),
    ]
}

/// The report about what was seen at `now`, in milliseconds of the Unix epoch, with the router's log if it could be read.
#[must_use]
pub fn report(
    survey: &Survey,
    seen: SeenLetters,
    log: &Fact<(BTreeMap<String, RetryLine>, bool)>,
    now: i64,
) -> DeadLetterReport {
    let queue = survey.scope.dead_letter_queue();
    let count = survey.depth(&queue).map_or(0, |depth| depth.waiting + depth.in_flight);
    let retry = |id: &str| log.present().and_then(|(lines, _)| lines.get(id).cloned());
    DeadLetterReport {
        about: count.max(u64::try_from(seen.letters.len()).unwrap_or(u64::MAX)),
        letters: seen
            .letters
            .into_iter()
            .map(|letter| ReportedLetter {
                event: letter.event(now),
                retry: retry(&letter.id),
                letter,
            })
            .collect(),
        warnings: warnings(seen.cut, seen.unreleased.as_ref(), log),
        queue,
    }
}

fn warnings(cut: bool, unreleased: Option<&Fault>, log: &Fact<(BTreeMap<String, RetryLine>, bool)>) -> Vec<String> {
    let cut = cut.then(|| "these are not all: redrive or delete them, then run again for the others".to_owned());
    let hidden = unreleased.map(|fault| format!("dead letters stay hidden for {HIDDEN} seconds: {fault}"));
    let log = match log {
        Fact::Unreadable(fault) => Some(format!("the router's log could not be read: {fault}")),
        Fact::Present((_, false)) => Some("the router's log is too long and was not read to its end".to_owned()),
        Fact::NotAsked | Fact::Absent | Fact::Present(_) => None,
    };
    cut.into_iter().chain(hidden).chain(log).collect()
}
