//! How much AWS has slowed a command down.

use std::collections::BTreeMap;

/// How many calls of each service AWS has throttled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slowdown {
    /// The counts, by the service as text names it.
    pub throttled: BTreeMap<&'static str, u64>,
}

impl Slowdown {
    /// Counts a throttled call.
    pub fn count(&mut self, service: &'static str) {
        *self.throttled.entry(service).or_default() += 1;
    }

    /// Adds the counts of another account or Region.
    pub fn add(&mut self, other: &Self) {
        for (service, count) in &other.throttled {
            *self.throttled.entry(service).or_default() += count;
        }
    }

    /// The counts as a sentence; `None` if nothing was throttled.
    pub fn sentence(&self) -> Option<String> {
        let sum: u64 = self.throttled.values().sum();
        let counts = self
            .throttled
            .iter()
            .map(|(service, count)| format!("{service} {count}"));
        let counts: Vec<String> = counts.collect();
        (sum > 0).then(|| format!("Calls that AWS throttled and kibus repeated: {}.", counts.join(", ")))
    }
}

/// Why a command is slow, as text that can follow an operation: what slows it down are the rates of these services.
pub fn reason<'a>(services: impl IntoIterator<Item = &'a &'static str>) -> String {
    let services: Vec<&str> = services.into_iter().copied().collect();
    match services.as_slice() {
        [one] if !one.ends_with('s') => format!("slowed down by {one}'s rate"),
        [one] => format!("slowed down by the rate of {one}"),
        several => format!("slowed down by the rates of {}", several.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_names_the_services_and_counts_the_calls() {
        for (services, expected, sentence) in [
            (&[][..], None, None),
            (
                &["IAM"],
                Some("slowed down by IAM's rate"),
                Some("Calls that AWS throttled and kibus repeated: IAM 1."),
            ),
            (
                &["CloudWatch Logs"],
                Some("slowed down by the rate of CloudWatch Logs"),
                Some("Calls that AWS throttled and kibus repeated: CloudWatch Logs 1."),
            ),
            (
                &["SQS", "IAM", "SQS"],
                Some("slowed down by the rates of IAM and SQS"),
                Some("Calls that AWS throttled and kibus repeated: IAM 1, SQS 2."),
            ),
        ] {
            let mut slowdown = Slowdown::default();
            for service in services {
                slowdown.count(service);
            }
            let named = (!services.is_empty()).then(|| reason(slowdown.throttled.keys()));
            assert_eq!(named.as_deref(), expected, "{services:?}");
            assert_eq!(slowdown.sentence().as_deref(), sentence, "{services:?}");
        }
    }
}
