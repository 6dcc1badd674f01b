//! Time: how much of an invocation is left, and how long to wait before a call is made again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant, SystemTime};

/// What is kept at the end of an invocation for giving messages back and answering.
const RESERVE: Duration = Duration::from_millis(1500);

/// The first wait is half of this to all of it, and each later one twice as long, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The time of one invocation.
pub trait Clock: Send + Sync + 'static {
    /// Now, to remember things by.
    fn now(&self) -> Instant;

    /// How long calls may still be made.
    fn left(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// What a future gives, if it does while time is left.
    fn within<F: Future<Output: Send> + Send>(&self, future: F) -> impl Future<Output = Option<F::Output>> + Send;
}

/// The clock of an invocation that Lambda ends at its deadline.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    calls_until: Instant,
    over: Instant,
}

impl Deadline {
    /// A clock from Lambda's deadline in milliseconds of the Unix epoch.
    #[must_use]
    pub fn at(millis: u64) -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let over = Instant::now() + Duration::from_millis(millis).saturating_sub(since_epoch);
        Self {
            calls_until: over.checked_sub(RESERVE).unwrap_or(over),
            over,
        }
    }

    /// The same invocation's last moments: nearly all of the time that was kept back.
    #[must_use]
    pub fn last_moments(self) -> Self {
        Self {
            calls_until: self.over.checked_sub(RESERVE / 5).unwrap_or(self.over),
            over: self.over,
        }
    }
}

impl Clock for Deadline {
    fn now(&self) -> Instant {
        Instant::now()
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

/// The waits between the tries of one call: twice as long each time, with jitter, so that callers who were
/// refused together do not come back together.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// Waits, and says whether there is time for one more try. It does not wait if there is none.
    pub(super) async fn again<C: Clock>(&mut self, clock: &C) -> bool {
        let full = FIRST_WAIT
            .saturating_mul(2_u32.saturating_pow(self.tries))
            .min(LONGEST_WAIT);
        self.tries += 1;
        let wait = full.mul_f64(0.5 + random() / 2.0);
        if wait >= clock.left() {
            return false;
        }
        clock.sleep(wait).await;
        true
    }
}

/// A number from 0 to 1, from the keys that the standard library seeds each hash map with.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(bits >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

/// How long a message that was received so many times stays invisible, in seconds: 2, 4, 8, 16, and then 30, so
/// that even the fourth try of a spot warning falls into its two minutes.
#[must_use]
pub fn visibility(receives: u32) -> u32 {
    2_u32.saturating_pow(receives.max(1)).min(30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_tries_fall_into_the_two_minutes_of_a_spot_warning() {
        let waits: Vec<u32> = (0..8).map(visibility).collect();
        assert_eq!(waits, [2, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(visibility(u32::MAX), 30);
        // Each try may take the whole time-out of the function, and a receive up to a second.
        let (timeout, window) = (10, 1);
        let fifth_try_ends: u32 = (1..5).map(visibility).sum::<u32>() + 5 * (timeout + window);
        assert!(fifth_try_ends < 120, "{fifth_try_ends} s");
    }

    #[test]
    fn jitter_stays_in_its_bounds() {
        assert!((0..1000).map(|_| random()).all(|n| (0.0..=1.0).contains(&n)));
    }
}
