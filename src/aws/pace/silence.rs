//! Services that throttle every call.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::notation::duration_text;

/// How long a service may throttle every call. STS is asked first, and by one call.
fn longest(service: &str) -> Duration {
    Duration::from_secs(if service == "STS" { 30 } else { 600 })
}

/// Since when each service has throttled every call, from any start.
#[derive(Debug, Default)]
pub(super) struct Silence(BTreeMap<&'static str, Duration>);

impl Silence {
    /// Takes an answer of a service.
    pub(super) fn answered(&mut self, service: &'static str) {
        self.0.remove(service);
    }

    /// Takes a throttled call.
    ///
    /// # Errors
    /// What to report, if the service has throttled every call for too long.
    pub(super) fn throttled(&mut self, service: &'static str, now: Duration) -> Result<(), String> {
        let since = *self.0.entry(service).or_insert(now);
        let longest = longest(service);
        if now - since < longest {
            return Ok(());
        }
        Err(format!(
            "{service} has throttled every call for {}",
            duration_text(longest.as_secs())
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_without_an_answer_of_its_service_end_a_call_and_30_seconds_for_sts() {
        let at = Duration::from_secs;
        let mut silence = Silence::default();
        assert_eq!(silence.throttled("IAM", at(5)), Ok(()));
        assert_eq!(silence.throttled("IAM", at(604)), Ok(()));
        assert_eq!(silence.throttled("SQS", at(605)), Ok(()));
        let ended = Err("IAM has throttled every call for 10m".to_owned());
        assert_eq!(silence.throttled("IAM", at(605)), ended);
        silence.answered("IAM");
        assert_eq!(silence.throttled("IAM", at(606)), Ok(()));
        assert_eq!(silence.throttled("STS", at(606)), Ok(()));
        let ended = Err("STS has throttled every call for 30s".to_owned());
        assert_eq!(silence.throttled("STS", at(636)), ended);
    }
}
