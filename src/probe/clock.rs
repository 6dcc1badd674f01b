//! The time of a probe or a watch, which tests replace.

use std::time::{Duration, Instant};

/// A clock that starts at zero.
pub(super) trait Clock: Sync {
    /// The time since the start.
    fn elapsed(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The real time.
pub(super) struct WallClock(Instant);

impl WallClock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
