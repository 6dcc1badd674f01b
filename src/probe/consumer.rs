//! Whether a consumer reads a queue, judged without receiving from it.
//!
//! SQS reports how many messages wait and how many are in flight, both approximately and up to a minute late. A receive
//! with a visibility timeout of zero hides no message, and shows at once whether a message is still in the queue.

use std::time::Duration;

use crate::model::probe::ProbeResult;
use crate::model::status::Depth;

/// How long a queue is watched at most before the verdict.
pub(super) const LONGEST: Duration = Duration::from_secs(90);
/// After this time without change, the counts of SQS are right (SQS developer guide: about a minute).
const SETTLED: Duration = Duration::from_secs(60);

/// A sample of a queue after a probe was delivered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueSample {
    /// The time since the delivery.
    pub(super) at: Duration,
    pub(super) depth: Depth,
    /// Whether a receive showed the probe in the queue; `None` without a receive, or without a clear result.
    pub(super) there: Option<bool>,
}

/// The result that these samples show, in the order of time; `None` while a further sample can decide it.
pub(super) fn judge(samples: &[QueueSample]) -> Option<ProbeResult> {
    let last = samples.last()?;
    let looks: Vec<bool> = samples.iter().filter_map(|sample| sample.there).collect();
    // One receive may come too early: a new message is not on all servers of SQS yet.
    if looks.ends_with(&[false, false]) {
        return Some(ProbeResult::Read);
    }
    // A receive by a consumer puts a message in flight. The receive of kibus does not, but this is not guaranteed.
    let seen = samples.iter().position(|sample| sample.there == Some(true));
    let before_any_look_succeeded = &samples[..seen.unwrap_or(samples.len())];
    if before_any_look_succeeded
        .iter()
        .any(|sample| sample.depth.in_flight > 0)
    {
        return Some(ProbeResult::Read);
    }
    if last.at < LONGEST {
        return None;
    }
    let mut settled = samples.iter().filter(|sample| sample.at >= SETTLED).peekable();
    Some(match last.there {
        Some(true) => ProbeResult::NotRead,
        Some(false) => unknown(),
        None if settled.peek().is_none() => unknown(),
        None if settled.clone().all(|sample| sample.depth.waiting > 0) => ProbeResult::NotRead,
        None if looks.is_empty() && settled.all(|sample| sample.depth.waiting == 0) => ProbeResult::Read,
        None => unknown(),
    })
}

fn unknown() -> ProbeResult {
    ProbeResult::Unknown("the queue's message counts are inconclusive".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GONE: Option<bool> = Some(false);
    const THERE: Option<bool> = Some(true);

    #[test]
    fn what_was_seen_decides() {
        type Row = (
            &'static str,
            &'static [(u64, u64, u64, Option<bool>)],
            Option<ProbeResult>,
        );
        let rows: &[Row] = &[
            ("nothing yet", &[], None),
            ("one look in vain", &[(1, 0, 0, GONE)], None),
            (
                "two looks in vain",
                &[(1, 0, 0, GONE), (4, 0, 0, GONE)],
                Some(ProbeResult::Read),
            ),
            (
                "there at first, then gone",
                &[(1, 0, 0, THERE), (4, 0, 0, GONE), (7, 0, 0, GONE)],
                Some(ProbeResult::Read),
            ),
            ("gone, then there after all", &[(1, 0, 0, GONE), (4, 0, 0, THERE)], None),
            ("in flight", &[(1, 0, 1, None)], Some(ProbeResult::Read)),
            (
                "in flight after a look of ours",
                &[(1, 0, 0, THERE), (4, 0, 1, None)],
                None,
            ),
            ("waiting, and time is left", &[(1, 1, 0, None), (60, 1, 0, None)], None),
            (
                "waiting to the end",
                &[(1, 0, 0, THERE), (30, 1, 0, None), (90, 1, 0, THERE)],
                Some(ProbeResult::NotRead),
            ),
            (
                "waiting to the end, without a look",
                &[(1, 1, 0, None), (60, 1, 0, None), (90, 1, 0, None)],
                Some(ProbeResult::NotRead),
            ),
            (
                "never counted, without a look",
                &[(1, 0, 0, None), (60, 0, 0, None), (90, 0, 0, None)],
                Some(ProbeResult::Read),
            ),
            (
                "counted late and to no end",
                &[(1, 0, 0, None), (60, 0, 0, None), (75, 3, 0, None), (90, 0, 0, None)],
                Some(unknown()),
            ),
            (
                "a look in vain at the very end",
                &[(1, 1, 0, None), (60, 1, 0, None), (90, 1, 0, GONE)],
                Some(unknown()),
            ),
            ("one answer too late", &[(95, 0, 0, GONE)], Some(unknown())),
        ];
        for (name, samples, verdict) in rows {
            let samples: Vec<QueueSample> = samples
                .iter()
                .map(|(at, waiting, in_flight, there)| QueueSample {
                    at: Duration::from_secs(*at),
                    depth: Depth {
                        waiting: *waiting,
                        in_flight: *in_flight,
                    },
                    there: *there,
                })
                .collect();
            assert_eq!(judge(&samples), *verdict, "{name}");
        }
    }
}
