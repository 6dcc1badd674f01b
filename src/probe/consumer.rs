//! Whether a consumer reads a queue, judged by looks at its messages, or else by its counts.
//!
//! A look is a receive that hides what it shows for a second. A consumer deletes each message, so a message that is still there
//! after a while was not read.

use std::time::Duration;

use crate::model::status::{Depth, Look, ProbeResult, RECEIVED_AT_ONCE};

/// When the first looks are. Few: each one pushes the messages that it shows back in the queue (S28).
pub(super) const FIRST_LOOKS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
/// A message that is seen again after this time was not read. A Karpenter receives without pause, and what it received and could
/// not delete is visible again after 20 s.
pub(super) const STAYS: Duration = Duration::from_secs(45);
/// When the counts of a queue are read if nobody may look: they are right after about a minute (SQS API reference,
/// `GetQueueAttributes`).
pub(super) const COUNTED: [Duration; 4] = [
    Duration::from_secs(60),
    Duration::from_secs(70),
    Duration::from_secs(80),
    Duration::from_secs(90),
];

/// The result that these looks show, in the order of time; `None` while a further one can decide it.
pub(super) fn judge(looks: &[(Duration, Look)]) -> Option<ProbeResult> {
    let (at, last) = looks.last()?;
    // One look may come too early: a new message is not on all servers of SQS yet.
    if let [.., (_, before), (_, last)] = looks
        && before.0.is_empty()
        && last.0.is_empty()
    {
        return Some(ProbeResult::Read);
    }
    let old = looks.iter().filter(|(before, _)| *at >= *before + STAYS);
    old.flat_map(|(_, look)| look.0.keys())
        .any(|id| last.0.contains_key(id))
        .then_some(ProbeResult::NotRead)
}

/// The result after the last look, which has shown no message again: those of the first looks are gone if it shows all that waits.
pub(super) fn conclude(looks: &[(Duration, Look)]) -> ProbeResult {
    match looks.last() {
        Some((_, last)) if last.0.len() < RECEIVED_AT_ONCE => ProbeResult::Read,
        _ => ProbeResult::Unknown("more messages wait than a receive shows".to_owned()),
    }
}

/// The result that the counts of [`COUNTED`] show; `None` if they are inconclusive.
pub(super) fn judge_counts(counts: &[Depth]) -> Option<ProbeResult> {
    if counts.is_empty() {
        None
    } else if counts.iter().all(|depth| depth.waiting == 0) {
        Some(ProbeResult::Read)
    } else if counts.iter().all(|depth| depth.waiting > 0 && depth.in_flight == 0) {
        Some(ProbeResult::NotRead)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look that shows these messages.
    fn look(ids: &str) -> Look {
        Look(ids.chars().map(|id| (id.to_string(), false)).collect())
    }

    #[test]
    fn a_message_that_is_seen_again_was_not_read() {
        type Row = (&'static str, &'static [(u64, &'static str)], Option<ProbeResult>);
        let rows: &[Row] = &[
            ("nothing yet", &[], None),
            ("one look in vain", &[(1, "")], None),
            ("two looks in vain", &[(1, ""), (3, "")], Some(ProbeResult::Read)),
            (
                "there, then gone",
                &[(1, "p"), (2, ""), (4, "")],
                Some(ProbeResult::Read),
            ),
            ("gone, then there after all", &[(1, ""), (3, "p")], None),
            (
                "there for some seconds",
                &[(1, "p"), (2, "p"), (4, "p"), (8, "p")],
                None,
            ),
            (
                "there after 45 s",
                &[(1, "p"), (2, "p"), (46, "p")],
                Some(ProbeResult::NotRead),
            ),
            ("not quite 45 s", &[(2, "p"), (46, "p")], None),
            (
                "another message than the probe",
                &[(1, "ab"), (2, "cd"), (46, "be")],
                Some(ProbeResult::NotRead),
            ),
            ("others than before", &[(1, "a"), (8, "b"), (46, "c")], None),
        ];
        for (name, looks, verdict) in rows {
            let looks: Vec<_> = looks
                .iter()
                .map(|(at, ids)| (Duration::from_secs(*at), look(ids)))
                .collect();
            assert_eq!(judge(&looks), *verdict, "{name}");
        }
        for (name, last, read) in [
            ("nothing waits", "", true),
            ("others wait", "xyz", true),
            ("so many others wait that the first ones may, too", "0123456789", false),
        ] {
            let result = conclude(&[(Duration::from_secs(53), look(last))]);
            assert_eq!(result == ProbeResult::Read, read, "{name}: {result:?}");
        }
    }

    #[test]
    fn without_looks_the_counts_decide() {
        for (name, counts, verdict) in [
            ("no counts", &[][..], None),
            ("never counted", &[(0, 0), (0, 0)], Some(ProbeResult::Read)),
            ("received", &[(0, 1), (0, 0)], Some(ProbeResult::Read)),
            ("waiting to the end", &[(1, 0), (2, 0)], Some(ProbeResult::NotRead)),
            ("waiting, and some received", &[(1, 0), (1, 1)], None),
            ("counted late", &[(0, 0), (3, 0)], None),
        ] {
            let counts: Vec<Depth> = counts
                .iter()
                .map(|(waiting, in_flight)| Depth {
                    waiting: *waiting,
                    in_flight: *in_flight,
                })
                .collect();
            assert_eq!(judge_counts(&counts), verdict, "{name}");
        }
    }
}
