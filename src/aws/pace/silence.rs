//! Services that throttle every call.

use std::collections::BTreeMap;
use std::time::Duration;

/// How long a service may throttle every call.
const LONGEST: Duration = Duration::from_secs(600);

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
        if now - since < LONGEST {
            return Ok(());
        }
        let minutes = LONGEST.as_secs() / 60;
        Err(format!("{service} has throttled every call for {minutes} minutes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_without_an_answer_of_its_service_end_a_call() {
        let at = Duration::from_secs;
        let mut silence = Silence::default();
        assert_eq!(silence.throttled("IAM", at(5)), Ok(()));
        assert_eq!(silence.throttled("IAM", at(604)), Ok(()));
        assert_eq!(silence.throttled("SQS", at(605)), Ok(()));
        let ended = Err("IAM has throttled every call for 10 minutes".to_owned());
        assert_eq!(silence.throttled("IAM", at(605)), ended);
        silence.answered("IAM");
        assert_eq!(silence.throttled("IAM", at(606)), Ok(()));
    }
}
