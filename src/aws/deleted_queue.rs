//! Waits until SQS has deleted a queue. It accepts a delete at once and takes up to a minute for it; until then reads, and
//! even sends, may succeed (SQS API reference, `DeleteQueue`). One connection may find the queue while another does not
//! (terraform-provider-aws, pull requests 22194 and 29761), so each round asks on several that are new.

use std::time::{Duration, Instant};

use super::error::fault;
use super::wait::{self, Waiting};
use crate::cloud::{Fault, FaultKind};
use crate::model::resource::calls::sqs;
use crate::model::tags::MARK_COUNTS;

/// The usual case: the queue was never seen again. Six rounds.
const QUICK: Series = Series {
    pause: Duration::from_secs(1),
    lasts: Duration::from_secs(5),
};
/// After SQS has answered for the queue: fifteen rounds, as in Terraform's provider, which warns against fewer.
const CAREFUL: Series = Series {
    pause: Duration::from_secs(3),
    lasts: Duration::from_secs(3 * 14),
};
/// The longest time after which SQS may still answer for the queue, as in that provider.
const LONGEST: Duration = MARK_COUNTS;

const ACTION: &str = sqs::DELETE_QUEUE;
const CHECKING: &str = "checking that SQS no longer answers for the deleted queue";
const STILL_ANSWERS: &str = "SQS still answers for the deleted queue";

/// Rounds in a row that do not find the queue. Many queues may share few connections, so a round may take longer than the
/// pause: then the rounds are fewer, over no less time.
struct Series {
    /// From the begin of a round to the begin of the next.
    pause: Duration,
    /// From the begin of the first round to the begin of the last.
    lasts: Duration,
}

/// What follows from a round of reads of a deleted queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeleteProgress {
    /// The queue is gone.
    Gone,
    /// It is read again, this long after the begin of the round.
    ReadAgain(Duration),
    /// SQS has answered for it too long.
    Stays,
}

/// The rounds so far.
#[derive(Default)]
struct Absence {
    /// When the first of the rounds in a row began that did not find the queue.
    since: Option<Duration>,
    was_seen: bool,
}

impl Absence {
    /// Takes the next round, which began at this time since the first one.
    fn round(&mut self, began: Duration, found: bool) -> DeleteProgress {
        self.was_seen |= found;
        let series = if self.was_seen { CAREFUL } else { QUICK };
        if found {
            self.since = None;
            if began >= LONGEST {
                return DeleteProgress::Stays;
            }
        } else if began - *self.since.get_or_insert(began) >= series.lasts {
            return DeleteProgress::Gone;
        }
        DeleteProgress::ReadAgain(series.pause)
    }
}

/// Waits until a deleted queue is not found for a while. `round` says whether any of several new connections finds it.
///
/// # Errors
/// When a read fails, or SQS answers for the queue too long.
pub(super) async fn until_gone<F>(waiting: Waiting<'_>, round: impl FnMut() -> F) -> Result<(), Fault>
where
    F: Future<Output = Result<bool, Fault>>,
{
    let start = Instant::now();
    until_gone_at((|| start.elapsed(), tokio::time::sleep), waiting, round).await
}

/// The same with another clock, for tests.
async fn until_gone_at<F, S>(
    (now, sleep): (impl Fn() -> Duration, impl Fn(Duration) -> S),
    waiting: Waiting<'_>,
    mut round: impl FnMut() -> F,
) -> Result<(), Fault>
where
    F: Future<Output = Result<bool, Fault>>,
    S: Future<Output = ()>,
{
    let mut absence = Absence::default();
    let mut reported = None;
    loop {
        let began = now();
        let progress = absence.round(began, round().await?);
        let reason = if absence.was_seen { STILL_ANSWERS } else { CHECKING };
        match progress {
            DeleteProgress::Gone => return Ok(()),
            DeleteProgress::Stays => return Err(stays()),
            DeleteProgress::ReadAgain(pause) => {
                if reported.replace(reason) != Some(reason) {
                    waiting.report(reason);
                }
                let took = now() - began;
                wait::pause(sleep(pause.saturating_sub(took)), ACTION, reason, waiting).await?;
            }
        }
    }
}

fn stays() -> Fault {
    let message = format!("{STILL_ANSWERS}, after {} seconds", LONGEST.as_secs());
    fault(FaultKind::Unsettled { advice: None }, ACTION, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::watch;

    use super::*;

    /// What became of a wait.
    struct Wait {
        result: Result<(), Fault>,
        rounds: usize,
        reported: Vec<String>,
        took: Duration,
    }

    /// Rounds with these answers, the last of them again and again, that take this long each.
    async fn wait(answers: &str, each: Duration) -> Wait {
        let (clock, reported, rounds) = (Mutex::new(Duration::ZERO), Mutex::new(Vec::new()), Mutex::new(0));
        let report = |reason: &str| reported.lock().unwrap().push(reason.to_owned());
        let (_ask, asked) = watch::channel(false);
        let result = until_gone_at(
            (
                || *clock.lock().unwrap(),
                |pause| {
                    *clock.lock().unwrap() += pause;
                    std::future::ready(())
                },
            ),
            Waiting::new(&report, &asked),
            || {
                let mut rounds = rounds.lock().unwrap();
                *rounds += 1;
                *clock.lock().unwrap() += each;
                let answer = answers.chars().nth(*rounds - 1).or(answers.chars().last());
                std::future::ready(match answer {
                    Some('!') => Err(stays()),
                    answer => Ok(answer == Some('Q')),
                })
            },
        )
        .await;
        Wait {
            result,
            rounds: rounds.into_inner().unwrap(),
            took: clock.into_inner().unwrap(),
            reported: reported.into_inner().unwrap(),
        }
    }

    /// A round of one queue.
    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn s9_a_deleted_queue_is_gone_when_it_is_not_found_several_times_in_a_row() {
        for (answers, rounds, seconds, reasons) in [
            (".", 6, 5, vec![CHECKING]),
            ("Q.", 1 + 15, 3 + 42, vec![STILL_ANSWERS]),
            (".....Q.", 6 + 15, 5 + 3 + 42, vec![CHECKING, STILL_ANSWERS]),
            ("QQ..............Q.", 17 + 15, 17 * 3 + 42, vec![STILL_ANSWERS]),
        ] {
            let wait = wait(answers, SHORT).await;
            assert_eq!(wait.result, Ok(()), "{answers}");
            assert_eq!(wait.rounds, rounds, "{answers}");
            assert_eq!(wait.took, Duration::from_secs(seconds) + SHORT, "{answers}");
            assert_eq!(wait.reported, reasons, "{answers}");
        }
    }

    #[tokio::test]
    async fn s22_slow_rounds_are_fewer_over_no_less_time() {
        for (answers, each, rounds) in [(".", 2, 4), (".", 5, 2), (".", 60, 2), ("Q.", 10, 1 + 6)] {
            let each = Duration::from_secs(each);
            let wait = wait(answers, each).await;
            assert_eq!((wait.result, wait.rounds), (Ok(()), rounds), "{answers} {each:?}");
        }
    }

    #[tokio::test]
    async fn p1_a_queue_that_stays_is_a_fault() {
        for answers in ["Q", "QQ..Q"] {
            let wait = wait(answers, SHORT).await;
            let fault = wait.result.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Unsettled { advice: None }, "{answers}");
            assert_eq!(
                fault.message, "SQS still answers for the deleted queue, after 180 seconds",
                "{answers}"
            );
            assert_eq!(wait.took, LONGEST + SHORT, "{answers}");
        }
    }

    #[tokio::test]
    async fn a_failed_read_ends_the_wait() {
        let wait = wait(".!", SHORT).await;
        assert_eq!((wait.result, wait.rounds), (Err(stays()), 2));
    }
}
