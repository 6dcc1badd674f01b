//! Waits until SQS has deleted a queue. It accepts a delete at once and takes up to a minute for it; until then reads, and
//! even sends, may succeed (SQS API reference, `DeleteQueue`).

use std::time::Duration;

use super::wait::{self, Waiting};
use crate::cloud::{Fault, FaultKind};

/// The usual case: the queue was never seen again.
const QUICK: Series = Series {
    reads: 4,
    pause: Duration::from_millis(900),
};
/// After SQS has answered for the queue: not all of its servers know about the delete.
const CAREFUL: Series = Series {
    reads: 5,
    pause: Duration::from_secs(2),
};
/// The longest wait, as in the Terraform provider.
const LONGEST: Duration = Duration::from_secs(180);

const ACTION: &str = "sqs:DeleteQueue";
const CHECKING: &str = "checking that SQS no longer answers for the deleted queue";
const STILL_ANSWERS: &str = "SQS still answers for the deleted queue";

/// This many reads in a row that do not find the queue, with this pause between them.
struct Series {
    reads: u32,
    pause: Duration,
}

/// What follows from a read of a deleted queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeleteProgress {
    /// The queue is gone.
    Gone,
    /// It is read again after this time.
    ReadAgain(Duration),
    /// SQS has answered for it too long.
    Stays,
}

/// The reads of a deleted queue so far.
#[derive(Default)]
struct Absence {
    not_found: u32,
    was_seen: bool,
    waited: Duration,
}

impl Absence {
    /// Takes the next read.
    fn read(&mut self, found: bool) -> DeleteProgress {
        self.was_seen |= found;
        self.not_found = if found { 0 } else { self.not_found + 1 };
        let series = if self.was_seen { CAREFUL } else { QUICK };
        if self.not_found >= series.reads {
            return DeleteProgress::Gone;
        }
        if self.waited >= LONGEST {
            return DeleteProgress::Stays;
        }
        self.waited += series.pause;
        DeleteProgress::ReadAgain(series.pause)
    }
}

/// Waits until a deleted queue is not found several times in a row. `exists` reads it.
///
/// # Errors
/// When a read fails, or SQS answers for the queue too long.
pub(super) async fn until_gone<F>(waiting: Waiting<'_>, exists: impl FnMut() -> F) -> Result<(), Fault>
where
    F: Future<Output = Result<bool, Fault>>,
{
    until_gone_at(tokio::time::sleep, waiting, exists).await
}

/// The same with another clock, for tests.
async fn until_gone_at<F, S>(
    sleep: impl Fn(Duration) -> S,
    waiting: Waiting<'_>,
    mut exists: impl FnMut() -> F,
) -> Result<(), Fault>
where
    F: Future<Output = Result<bool, Fault>>,
    S: Future<Output = ()>,
{
    let mut absence = Absence::default();
    let mut reported = None;
    loop {
        let verdict = absence.read(exists().await?);
        let reason = if absence.was_seen { STILL_ANSWERS } else { CHECKING };
        match verdict {
            DeleteProgress::Gone => return Ok(()),
            DeleteProgress::Stays => return Err(stays()),
            DeleteProgress::ReadAgain(pause) => {
                if reported.replace(reason) != Some(reason) {
                    waiting.report(reason);
                }
                wait::pause(sleep(pause), ACTION, reason, waiting).await?;
            }
        }
    }
}

fn stays() -> Fault {
    Fault {
        kind: FaultKind::Unsettled { advice: None },
        action: ACTION.to_owned(),
        code: None,
        message: format!("{STILL_ANSWERS}, after {} seconds", LONGEST.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::watch;

    use super::*;

    /// Reads with these answers, the last of them again and again; gives the result, how often the queue was read, the
    /// reported reasons, and the time slept.
    async fn run(answers: &str) -> (Result<(), Fault>, usize, Vec<String>, Duration) {
        let (slept, reported, reads) = (Mutex::new(Duration::ZERO), Mutex::new(Vec::new()), Mutex::new(0));
        let report = |reason: &str| reported.lock().unwrap().push(reason.to_owned());
        let (_ask, asked) = watch::channel(false);
        let result = until_gone_at(
            |pause| {
                *slept.lock().unwrap() += pause;
                std::future::ready(())
            },
            Waiting::new(&report, &asked),
            || {
                let mut reads = reads.lock().unwrap();
                *reads += 1;
                let answer = answers.chars().nth(*reads - 1).or(answers.chars().last());
                std::future::ready(match answer {
                    Some('!') => Err(stays()),
                    answer => Ok(answer == Some('Q')),
                })
            },
        )
        .await;
        let (reads, slept) = (*reads.lock().unwrap(), *slept.lock().unwrap());
        (result, reads, reported.into_inner().unwrap(), slept)
    }

    #[tokio::test]
    async fn s9_a_deleted_queue_is_gone_when_it_is_not_found_several_times_in_a_row() {
        for (answers, reads, reasons) in [
            (".", 4, vec![CHECKING]),
            ("Q.", 1 + 5, vec![STILL_ANSWERS]),
            ("...Q.", 4 + 5, vec![CHECKING, STILL_ANSWERS]),
            ("QQ....Q.", 7 + 5, vec![STILL_ANSWERS]),
        ] {
            let (result, read, reported, _) = run(answers).await;
            assert_eq!(result, Ok(()), "{answers}");
            assert_eq!(read, reads, "{answers}");
            assert_eq!(reported, reasons, "{answers}");
        }
    }

    #[tokio::test]
    async fn s9_a_queue_that_was_never_seen_again_takes_three_seconds() {
        let (_, _, _, slept) = run(".").await;
        assert!(slept <= Duration::from_secs(3), "{slept:?}");
    }

    #[tokio::test]
    async fn p1_a_queue_that_stays_is_a_fault() {
        for answers in ["Q", "Q..Q..Q"] {
            let (result, _, _, slept) = run(answers).await;
            let fault = result.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Unsettled { advice: None }, "{answers}");
            assert_eq!(
                fault.message, "SQS still answers for the deleted queue, after 180 seconds",
                "{answers}"
            );
            assert!(
                slept < LONGEST + CAREFUL.pause + QUICK.pause,
                "{answers} took {slept:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_failed_read_ends_the_wait() {
        let (result, read, ..) = run(".!").await;
        assert_eq!((result, read), (Err(stays()), 2));
    }
}
