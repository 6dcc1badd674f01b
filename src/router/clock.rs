//! The time left in an invocation, and the waits before retries.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant, SystemTime};

/// The time kept at the end of an invocation for returning messages to the queue and for the answer.
const RESERVE: Duration = Duration::from_millis(1500);

/// The longest timeout of a function, in seconds (Lambda developer guide, quotas).
const LONGEST_INVOCATION: u32 = 900;

/// The first wait is between half of this and all of this. Each later wait is twice as long, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

pub(super) trait Clock: Send + Sync + 'static {
    fn now(&self) -> Instant;

    fn unix_millis(&self) -> i64;

    /// The remaining time for calls.
    fn left(&self) -> Duration;

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// The output of a future, if it ends while time is left.
    fn within<F: Future<Output: Send> + Send>(&self, future: F) -> impl Future<Output = Option<F::Output>> + Send;
}

/// The clock of an invocation, which Lambda ends at the deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    calls_until: Instant,
    ends: Instant,
}

impl Deadline {
    /// A clock from Lambda's deadline in milliseconds of the Unix epoch.
    pub(super) fn at(millis: u64) -> Self {
        let ends = Instant::now() + Duration::from_millis(millis).saturating_sub(since_epoch());
        Self { calls_until: ends.checked_sub(RESERVE).unwrap_or(ends), ends }
    }

    /// The clock for calls that must leave most of the time to others: it allows a quarter of the remaining time.
    pub(super) fn first_quarter(self) -> Self {
        Self { calls_until: Instant::now() + self.left() / 4, ends: self.ends }
    }

    /// The clock for calls that may take at most this part of the time that [`Self::last_moments`] allows.
    pub(super) fn at_most(self, time: Duration) -> Self {
        let last = self.last_moments().calls_until;
        Self { calls_until: last.min(Instant::now() + time), ends: self.ends }
    }

    /// The number of seconds after which the invocation has certainly ended.
    pub(super) fn over_in(self) -> u32 {
        let left = self.ends.saturating_duration_since(Instant::now()).as_secs() + 2;
        u32::try_from(left).unwrap_or(u32::MAX).min(LONGEST_INVOCATION)
    }

    /// The clock for the last calls of the same invocation. It allows most of the reserved time.
    pub(super) fn last_moments(self) -> Self {
        Self { calls_until: self.ends.checked_sub(RESERVE / 5).unwrap_or(self.ends), ends: self.ends }
    }
}

impl Clock for Deadline {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn unix_millis(&self) -> i64 {
        i64::try_from(since_epoch().as_millis()).unwrap_or(i64::MAX)
    }

    fn left(&self) -> Duration {
        self.calls_until.saturating_duration_since(Instant::now())
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn within<F: Future<Output: Send> + Send>(&self, future: F) -> Option<F::Output> {
        tokio::time::timeout(self.left(), future).await.ok()
    }
}

/// Exponential backoff with jitter, so that callers that were throttled together do not retry together.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// Waits and returns `true` if there is time for one more try; otherwise returns `false` immediately.
    pub(super) async fn again<C: Clock>(&mut self, clock: &C) -> bool {
        let full = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.tries));
        self.tries += 1;
        let wait = full.min(LONGEST_WAIT).mul_f64(0.5 + random() / 2.0);
        if wait >= clock.left() {
            return false;
        }
        clock.sleep(wait).await;
        true
    }
}

fn since_epoch() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// A number from 0 to 1, from the random keys of the standard library's hash maps.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(bits >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

/// How long a retried message stays hidden, in seconds, by the number of its receives: 2, 4, 8, 16, then 30. So five
/// tries fit into the two minutes of a Spot warning.
pub(super) fn visibility(receives: u32) -> u32 {
    2_u32.saturating_pow(receives.max(1)).min(30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_tries_fit_into_the_two_minutes_of_a_spot_warning() {
        let waits: Vec<u32> = (0..8).map(visibility).collect();
        assert_eq!(waits, [2, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(visibility(u32::MAX), 30);
        // A try can take the function's whole timeout. The mapping has no batching window.
        let timeout = 10;
        let fifth_try_ends: u32 = (1..5).map(visibility).sum::<u32>() + 5 * timeout;
        assert!(fifth_try_ends < 120, "{fifth_try_ends} s");
    }

    #[test]
    fn what_comes_before_routing_takes_a_quarter_of_the_time_and_hides_until_the_end() {
        let in_ten_seconds = since_epoch() + Duration::from_secs(10);
        let clock = Deadline::at(u64::try_from(in_ten_seconds.as_millis()).unwrap());
        let (quarter, all) = (clock.first_quarter(), Duration::from_secs(10) - RESERVE);
        assert!(quarter.left() <= all / 4, "{:?}", quarter.left());
        assert_eq!(quarter.last_moments().calls_until, clock.last_moments().calls_until);
        // A busy machine may take long to get here; the sum is at most the rounded-up second.
        let ends = Instant::now() + Duration::from_secs(clock.over_in().into());
        assert!(ends > clock.ends && ends <= clock.ends + Duration::from_secs(2));
        assert_eq!(Deadline::at(u64::MAX / 2).over_in(), LONGEST_INVOCATION);
    }

    #[test]
    fn jitter_stays_in_its_bounds() {
        assert!((0..1000).map(|_| random()).all(|n| (0.0..=1.0).contains(&n)));
    }
}
