//! A token bucket, as AWS throttles calls.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// A bucket for each account and Region.
pub(super) struct Buckets {
    size: f64,
    per_second: f64,
    left: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Buckets {
    /// Full buckets of this size, which gain so many tokens each second.
    pub(super) fn new(size: u32, per_second: u32) -> Self {
        Self {
            size: size.into(),
            per_second: per_second.into(),
            left: Mutex::default(),
        }
    }

    /// Takes a token; says whether there was one.
    pub(super) fn take(&self, key: &str) -> bool {
        let mut left = self.left.lock().unwrap();
        let (tokens, since) = left.entry(key.to_owned()).or_insert((self.size, Instant::now()));
        *tokens = (*tokens + since.elapsed().as_secs_f64() * self.per_second).min(self.size);
        *since = Instant::now();
        let has_one = *tokens >= 1.0;
        if has_one {
            *tokens -= 1.0;
        }
        has_one
    }
}
