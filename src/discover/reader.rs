//! Whether anything reads a queue.

use crate::model::answer::{Fact, Fault};
use crate::model::status::{Depth, QueueActivity};

/// A Karpenter polls without pause. Whoever polled for fewer hours in a day may be a person, or a Karpenter that ran briefly.
const HOURS: u64 = 2;

/// What is known of the reader of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Something reads it.
    Reads,
    /// Something received this many times in the last day, but deleted nothing and did not poll for hours. A look of a person or
    /// a probe is a receive too (S30).
    Seldom(u64),
    /// Nothing has read it in the last day.
    Nothing,
    /// This many messages waited for a minute, and none was received.
    Waiting(u64),
    /// The queue does not exist.
    NoQueue,
    Unknown(Unread),
}

/// Why it is unknown whether something reads a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// CloudWatch has no data of the queue, and no message waits.
    NoData,
    /// CloudWatch did not answer, and no message waits.
    NoAnswer(Fault),
}

/// Weighs the activity of the last day. If there is none, `samples` of the message counts decide, the first and the last a minute
/// apart; one alone decides nothing.
pub(super) fn reader(activity: &Fact<QueueActivity>, samples: &[Depth]) -> Reader {
    let unread = match activity {
        Fact::Present(activity) => return of_day(*activity),
        Fact::Unreadable(fault) => Unread::NoAnswer(fault.clone()),
        Fact::NotAsked | Fact::Absent => Unread::NoData,
    };
    // Messages also expire, so a count that falls does not say that something reads.
    if samples.iter().any(|sample| sample.in_flight > 0) {
        return Reader::Reads;
    }
    match samples {
        [_, .., last] if samples.iter().all(|sample| sample.waiting > 0) => Reader::Waiting(last.waiting),
        _ => Reader::Unknown(unread),
    }
}

fn of_day(activity: QueueActivity) -> Reader {
    let QueueActivity {
        sent: _,
        received,
        empty_receives,
        deleted,
        polled_hours,
    } = activity;
    // Karpenter deletes each message that it receives.
    if deleted > 0 || polled_hours >= HOURS {
        return Reader::Reads;
    }
    match received.saturating_add(empty_receives) {
        0 => Reader::Nothing,
        receives => Reader::Seldom(receives),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::answer::FaultKind;

    #[test]
    fn s30_the_last_day_decides_before_the_counts_of_now() {
        let denied = || Fault {
            kind: FaultKind::Denied {
                principal: None,
                resource: None,
            },
            action: "cloudwatch:GetMetricData".to_owned(),
            code: None,
            message: "no".to_owned(),
        };
        let day = |sent, received, empty_receives, deleted, polled_hours| {
            Fact::Present(QueueActivity {
                sent,
                received,
                empty_receives,
                deleted,
                polled_hours,
            })
        };
        let depths = |counts: &[(u64, u64)]| -> Vec<Depth> {
            let depth = |(waiting, in_flight): &(u64, u64)| Depth {
                waiting: *waiting,
                in_flight: *in_flight,
            };
            counts.iter().map(depth).collect()
        };
        let unknown = || Reader::Unknown(Unread::NoData);
        for (case, activity, samples, expected) in [
            (
                "a Karpenter on a quiet day",
                day(0, 0, 4_320, 0, 24),
                &[][..],
                Reader::Reads,
            ),
            ("a Karpenter", day(900, 900, 3_900, 900, 24), &[], Reader::Reads),
            (
                "a Karpenter that has just started",
                day(900, 5, 60, 5, 1),
                &[],
                Reader::Reads,
            ),
            ("events that nothing reads", day(900, 0, 0, 0, 0), &[], Reader::Nothing),
            (
                "the same, while messages are counted",
                day(900, 0, 0, 0, 0),
                &[(3, 1)],
                Reader::Nothing,
            ),
            ("a person looked once", day(900, 10, 1, 0, 0), &[], Reader::Seldom(11)),
            (
                "looks at a queue that nothing reads",
                day(900, 400, 12, 0, 0),
                &[],
                Reader::Seldom(412),
            ),
            (
                "a person polled for an hour",
                day(0, 0, 180, 0, 1),
                &[],
                Reader::Seldom(180),
            ),
            ("no data and no messages", Fact::Absent, &[(0, 0)], unknown()),
            ("no data and nothing read", Fact::Absent, &[], unknown()),
            (
                "a message that may just have arrived",
                Fact::Absent,
                &[(3, 0)],
                unknown(),
            ),
            (
                "messages that wait for a minute",
                Fact::Absent,
                &[(3, 0), (3, 0), (4, 0)],
                Reader::Waiting(4),
            ),
            (
                "messages that are received or expire",
                Fact::Absent,
                &[(3, 0), (0, 0)],
                unknown(),
            ),
            (
                "a message in flight",
                Fact::Absent,
                &[(3, 0), (3, 1), (3, 0)],
                Reader::Reads,
            ),
            (
                "denied",
                Fact::Unreadable(denied()),
                &[(0, 0)],
                Reader::Unknown(Unread::NoAnswer(denied())),
            ),
            (
                "denied, while messages wait",
                Fact::Unreadable(denied()),
                &[(2, 0), (2, 0)],
                Reader::Waiting(2),
            ),
        ] {
            assert_eq!(reader(&activity, &depths(samples)), expected, "{case}");
        }
    }
}
