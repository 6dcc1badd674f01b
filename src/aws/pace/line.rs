//! The line of calls that share a rate limit. Until AWS throttles one, calls do not wait. Then they are sent at the
//! rate that AWS has accepted, which falls with each throttled call and rises with each success, as in the congestion
//! control of TCP.
//!
//! Pure: every method takes the time as an argument, measured from any start.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// AWS's buckets hold about one second of calls. No call waits longer before it requests its turn again.
const WINDOW: Duration = Duration::from_secs(1);
/// The fraction of the rate that is left after a throttled call.
const CUT: f64 = 0.8;
/// What a successful call adds to the rate: 5% per second at any rate.
const RISE: f64 = 0.05;
/// The factor for the rate after a success, while it is below a rate that AWS accepted before.
const RECOVERY: f64 = 2.0;
/// The lowest rate, in calls per second: how often a service that throttles everything is called.
const SLOWEST: f64 = 0.5;

/// The place of a waiting call: writes go first, so that reads never hold them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    is_read: bool,
    number: u64,
}

/// What a waiting call does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is sent.
    Now,
    /// It requests its turn again after this time.
    After(Duration),
}

/// Calls that share a rate limit.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Calls per second; none until a call is throttled.
    rate: Option<f64>,
    /// The rate after the first cut since a call last succeeded. Once calls succeed again, the rate soon returns to it.
    accepted: f64,
    /// Whether no call that was sent at this rate has succeeded.
    is_untried: bool,
    /// Whether the rate is still an estimate from the first throttled call: successes of calls sent before it add to it.
    estimates: bool,
    /// When the rate last fell. The calls sent before that say nothing about the new rate.
    cut: Duration,
    /// When the next call may be sent.
    free: Duration,
    /// The times of the successes in the last second, while there is no rate.
    successes: VecDeque<Duration>,
    waiting: BTreeSet<Ticket>,
    tickets: u64,
}

impl Line {
    /// Adds a call at the end of the reads, or of the writes.
    pub(super) fn enter(&mut self, is_read: bool) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket { is_read, number: self.tickets };
        self.waiting.insert(ticket);
        ticket
    }

    /// Removes a call that is sent, or no longer wanted.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket);
    }

    /// Whether a call may be sent now. If so, it has left the line.
    pub(super) fn turn(&mut self, ticket: Ticket, now: Duration) -> Turn {
        let Some(rate) = self.rate else {
            self.leave(ticket);
            return Turn::Now;
        };
        let ahead = self.waiting.range(..ticket).count();
        if ahead == 0 && now >= self.free {
            self.leave(ticket);
            self.free = now + interval(rate);
            return Turn::Now;
        }
        let wait =
            self.free.saturating_sub(now) + interval(rate).mul_f64(u32::try_from(ahead).unwrap_or(u32::MAX).into());
        // The rate may rise before that.
        Turn::After(wait.clamp(Duration::from_millis(1), WINDOW))
    }

    /// Takes the answer of a call that was not throttled.
    pub(super) fn succeeded(&mut self, sent: Duration, now: Duration) {
        let Some(rate) = &mut self.rate else {
            self.successes.push_back(now);
            self.forget(now);
            return;
        };
        if sent < self.cut {
            if self.estimates {
                *rate += 1.0;
            }
            return;
        }
        self.estimates = false;
        self.is_untried = false;
        *rate = if *rate < self.accepted { (*rate * RECOVERY).min(self.accepted) } else { *rate + RISE };
    }

    /// Takes the answer of a call that was throttled.
    pub(super) fn throttled(&mut self, sent: Duration, now: Duration) {
        let rate = match self.rate {
            Some(_) if sent < self.cut => return,
            Some(rate) => {
                if !self.is_untried {
                    self.accepted = rate * CUT;
                }
                self.estimates = false;
                rate * CUT
            }
            None => {
                self.forget(now);
                self.estimates = true;
                let successes = std::mem::take(&mut self.successes);
                u32::try_from(successes.len()).unwrap_or(u32::MAX).into()
            }
        };
        let rate = rate.max(SLOWEST);
        self.rate = Some(rate);
        self.is_untried = true;
        self.cut = now;
        self.free = now + interval(rate);
    }

    pub(super) fn is_slowed(&self) -> bool {
        self.rate.is_some()
    }

    fn forget(&mut self, now: Duration) {
        while self.successes.front().is_some_and(|at| *at + WINDOW < now) {
            self.successes.pop_front();
        }
    }
}

fn interval(rate: f64) -> Duration {
    Duration::from_secs_f64(1.0 / rate)
}

#[cfg(test)]
mod tests;
