//! Dead letters: what lies in the dead-letter queue, why, and whether it is still useful.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::{Value, json};

use super::signal::{Signal, SubjectMember};

/// How long a Spot warning is useful, in milliseconds: EC2 sends it two minutes before it reclaims the instance.
const SPOT_WARNING: i64 = 120_000;

/// A message in the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The id that SQS gave it, which it keeps on its way from the hub queue.
    pub id: String,
    /// When SQS first took it, in milliseconds of the Unix epoch.
    pub sent: i64,
    /// How often it was received, from both queues.
    pub receives: u32,
    /// Why it is there.
    pub cause: DeadLetterCause,
    /// Its text.
    pub body: String,
}

/// Why a message is in the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadLetterCause {
    /// EventBridge could not deliver the event to the hub queue.
    NotDelivered(DeliveryError),
    /// It was received from the hub queue as often as the queue allows, without success.
    GivenUp,
    /// Neither is recorded.
    Unknown,
}

/// What EventBridge records with an event that it could not deliver (EventBridge user guide, "Using dead-letter queues to
/// process undelivered events"). Members that are missing are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryError {
    /// `ERROR_CODE`.
    pub code: String,
    /// `ERROR_MESSAGE`.
    pub message: String,
    /// `RULE_ARN`.
    pub rule: String,
    /// `TARGET_ARN`.
    pub target: String,
    /// `RETRY_ATTEMPTS`.
    pub attempts: String,
    /// `EXHAUSTED_RETRY_CONDITION`.
    pub exhausted: String,
}

impl DeadLetterCause {
    /// The cause, from the attributes of a message and the ARN of the queue that SQS moved it from, if it did.
    pub fn of<'a>(attribute: impl Fn(&str) -> Option<&'a str>, moved_from: Option<&str>) -> Self {
        let text = |name| attribute(name).unwrap_or_default().to_owned();
        let error = DeliveryError {
            code: text("ERROR_CODE"),
            message: text("ERROR_MESSAGE"),
            rule: text("RULE_ARN"),
            target: text("TARGET_ARN"),
            attempts: text("RETRY_ATTEMPTS"),
            exhausted: text("EXHAUSTED_RETRY_CONDITION"),
        };
        match moved_from {
            _ if !error.code.is_empty() || !error.rule.is_empty() => Self::NotDelivered(error),
            Some(_) => Self::GivenUp,
            None => Self::Unknown,
        }
    }

    /// The stable word for it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotDelivered(_) => "not-delivered",
            Self::GivenUp => "given-up",
            Self::Unknown => "unknown",
        }
    }
}

/// What a dead letter says, as far as it can be read. The router reads it again, and decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterEvent {
    /// Its detail-type.
    pub detail_type: String,
    /// Its kind, if Karpenter may act on it.
    pub signal: Option<Signal>,
    /// The instances that it names.
    pub instances: Vec<String>,
    /// Whether it is still useful.
    pub usefulness: Usefulness,
}

/// Whether an event is still useful to Karpenter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usefulness {
    /// It is, until this time in milliseconds of the Unix epoch.
    Until(i64),
    /// Hardly, or no longer; why.
    Little(&'static str),
    /// Unknown; why.
    Unknown(&'static str),
}

impl DeadLetter {
    /// What it says at the time `now`, in milliseconds of the Unix epoch; `None` if it is not an event.
    #[must_use]
    pub fn event(&self, now: i64) -> Option<LetterEvent> {
        let event: Value = serde_json::from_str(&self.body).ok()?;
        let (source, detail_type) = (event["source"].as_str()?, event["detail-type"].as_str()?);
        let detail = event["detail"].as_object()?;
        let member = |name| detail.get(name).unwrap_or(&Value::Null);
        let signal = Signal::of(source, detail_type);
        let named = match signal.map(Signal::subject) {
            None | Some(SubjectMember::Cluster) => Vec::new(),
            Some(SubjectMember::Instance) => vec![member("instance-id")],
            Some(SubjectMember::Entities) => match member("affectedEntities") {
                Value::Array(entities) => entities.iter().map(|entity| &entity["entityValue"]).collect(),
                one => vec![&one["entityValue"]],
            },
        };
        let end = || ["endTime", "startTime"].iter().find_map(|name| http_date(member(name)));
        Some(LetterEvent {
            detail_type: detail_type.to_owned(),
            signal,
            instances: named.into_iter().filter_map(instance).collect(),
            usefulness: usefulness(signal, millis(&event["time"]), end, now),
        })
    }
}

fn usefulness(signal: Option<Signal>, time: Option<i64>, end: impl Fn() -> Option<i64>, now: i64) -> Usefulness {
    let until = |end: Option<i64>, over, unknown| match end {
        Some(end) if end > now => Usefulness::Until(end),
        Some(_) => Usefulness::Little(over),
        None => Usefulness::Unknown(unknown),
    };
    match signal {
        None => Usefulness::Little("Karpenter does not act on this kind of event"),
        Some(Signal::SpotInterruption) => until(
            time.map(|time| time.saturating_add(SPOT_WARNING)),
            "the two minutes of the Spot warning are over",
            "the event has no time",
        ),
        Some(Signal::CapacityReservation) => {
            Usefulness::Unknown("the event does not say when EC2 reclaims the instance")
        }
        Some(Signal::ScheduledChange) => until(
            end(),
            "the time of the scheduled change is over",
            "the event does not say when the change happens",
        ),
        Some(Signal::StateChange) => Usefulness::Little("Karpenter also finds a stopped instance without the event"),
        Some(Signal::Rebalance) => Usefulness::Little("Karpenter only reports it"),
        Some(Signal::Probe) => Usefulness::Little("it is a probe of kibus"),
    }
}

/// The instance id in an id or an ARN.
fn instance(value: &Value) -> Option<String> {
    let id = value.as_str()?.rsplit('/').next()?;
    let plain = id.starts_with("i-") && id.len() <= 34 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    plain.then(|| id.to_owned())
}

fn millis(value: &Value) -> Option<i64> {
    let time = DateTime::from_str(value.as_str()?, Format::DateTimeWithOffset);
    time.ok()?.to_millis().ok()
}

/// A time as AWS Health writes it: `Sat, 05 Dec 2026 05:00:00 GMT`.
fn http_date(value: &Value) -> Option<i64> {
    let time = DateTime::from_str(value.as_str()?, Format::HttpDate);
    time.ok()?.to_millis().ok()
}

/// Milliseconds of the Unix epoch as a time in UTC, without fractions of a second.
#[must_use]
pub fn time_text(millis: i64) -> String {
    let time = DateTime::from_secs(millis.div_euclid(1000)).fmt(Format::DateTime);
    time.unwrap_or_else(|_| "unknown".to_owned())
}

/// A line of the router's log about a message that returned to its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryLine {
    /// The message.
    pub id: String,
    /// Why it returned.
    pub reason: String,
    /// The cluster, if it was known.
    pub cluster: Option<String>,
}

impl RetryLine {
    /// Reads a line; `None` if it is about something else.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        (line["message"] == "retried").then_some(())?;
        Some(Self {
            id: text("message_id")?,
            reason: text("reason")?,
            cluster: text("cluster").filter(|cluster| !cluster.is_empty()),
        })
    }
}

/// The event with which Lambda would pass these messages to the router. It names no queue, so the router changes the
/// visibility of none. A dead letter was received before: the router must not wait for the tags of a new instance.
#[must_use]
pub fn batch_event(letters: &[&DeadLetter]) -> Value {
    let record = |letter: &&DeadLetter| {
        json!({
            "messageId": letter.id,
            "body": letter.body,
            "attributes": {
                "ApproximateReceiveCount": letter.receives.max(2).to_string(),
                "SentTimestamp": letter.sent.to_string(),
            },
        })
    };
    json!({ "Records": letters.iter().map(record).collect::<Vec<_>>() })
}

/// The messages that the router's answer to a batch returns to the queue, read as Lambda reads it: an answer that is not
/// about these messages fails all of them.
#[must_use]
pub fn failed_messages<'a>(answer: &[u8], sent: &[&'a str]) -> Vec<&'a str> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let Some(failures) = answer["batchItemFailures"].as_array() else {
        return sent.to_vec();
    };
    let find = |failure: &Value| {
        let id = failure["itemIdentifier"].as_str()?;
        sent.iter().copied().find(|sent| *sent == id)
    };
    let failed: Option<Vec<&str>> = failures.iter().map(find).collect();
    failed.unwrap_or_else(|| sent.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sample_event::sample_event;
    use crate::model::scope::tests::scope;

    /// 2026-11-21T20:00:00Z.
    const NOW: i64 = 1_795_291_200_000;

    fn letter(body: &str) -> DeadLetter {
        DeadLetter {
            id: "m".to_owned(),
            sent: NOW,
            receives: 1,
            cause: DeadLetterCause::Unknown,
            body: body.to_owned(),
        }
    }

    #[test]
    fn an_event_is_useful_until_its_instance_is_gone() {
        let event = |signal, member: &str, value: &str| {
            let mut event = sample_event(&scope(), signal, &["i-1"]);
            match member {
                "time" => event["time"] = json!(value),
                member => event["detail"][member] = json!(value),
            }
            event.to_string()
        };
        let spot = |time| event(Signal::SpotInterruption, "time", time);
        let change = |member, time| event(Signal::ScheduledChange, member, time);
        for (body, useful) in [
            (spot("2026-11-21T19:58:01Z"), Some("until 2026-11-21T20:00:01Z")),
            (spot("2026-11-21T19:58:00Z"), Some("little")),
            (spot("yesterday"), Some("unknown")),
            (
                change("endTime", "Sat, 21 Nov 2026 20:00:01 GMT"),
                Some("until 2026-11-21T20:00:01Z"),
            ),
            (change("startTime", "Sat, 21 Nov 2026 20:00:00 GMT"), Some("little")),
            (change("startTime", "soon"), Some("unknown")),
            (event(Signal::CapacityReservation, "x", ""), Some("unknown")),
            (event(Signal::StateChange, "x", ""), Some("little")),
            (event(Signal::Rebalance, "x", ""), Some("little")),
            (event(Signal::Probe, "x", ""), Some("little")),
            (
                r#"{"source": "x", "detail-type": "y", "detail": {}}"#.to_owned(),
                Some("little"),
            ),
            ("{}".to_owned(), None),
            ("not JSON".to_owned(), None),
        ] {
            let found = letter(&body).event(NOW).map(|event| match event.usefulness {
                Usefulness::Until(end) => format!("until {}", time_text(end)),
                Usefulness::Little(_) => "little".to_owned(),
                Usefulness::Unknown(_) => "unknown".to_owned(),
            });
            assert_eq!(found.as_deref(), useful, "{body}");
        }
    }

    #[test]
    fn instances_are_named_by_their_ids() {
        let arn = "arn:aws:ec2:us-west-2:111122223333:instance/i-2";
        let health = sample_event(&scope(), Signal::ScheduledChange, &["i-1", arn, "vol-1", "i-\u{1b}"]);
        let spot = sample_event(&scope(), Signal::SpotInterruption, &["i-3"]);
        for (event, instances) in [(health, vec!["i-1", "i-2"]), (spot, vec!["i-3"])] {
            assert_eq!(letter(&event.to_string()).event(NOW).unwrap().instances, instances);
        }
    }

    #[test]
    fn the_cause_is_what_the_sender_recorded() {
        let error = DeliveryError {
            code: "NO_PERMISSIONS".to_owned(),
            ..DeliveryError::default()
        };
        for (code, moved_from, cause) in [
            (
                Some("NO_PERMISSIONS"),
                None,
                DeadLetterCause::NotDelivered(error.clone()),
            ),
            (
                Some("NO_PERMISSIONS"),
                Some("arn"),
                DeadLetterCause::NotDelivered(error),
            ),
            (None, Some("arn"), DeadLetterCause::GivenUp),
            (None, None, DeadLetterCause::Unknown),
        ] {
            let attribute = |name: &str| code.filter(|_| name == "ERROR_CODE");
            assert_eq!(DeadLetterCause::of(attribute, moved_from), cause);
        }
    }

    #[test]
    fn only_lines_about_retries_are_read() {
        for (line, read) in [
            (
                r#"{"message": "retried", "reason": "no tags yet", "cluster": "", "message_id": "m"}"#,
                Some(("no tags yet", None)),
            ),
            (
                r#"{"message": "retried", "reason": "queue denied", "cluster": "base", "message_id": "m"}"#,
                Some(("queue denied", Some("base"))),
            ),
            (r#"{"message": "dropped", "reason": "x", "message_id": "m"}"#, None),
            (r#"{"message": "retried", "reason": "x"}"#, None),
            ("START RequestId: x", None),
        ] {
            let found = RetryLine::read(line);
            let found = found
                .as_ref()
                .map(|line| (line.reason.as_str(), line.cluster.as_deref()));
            assert_eq!(found, read, "{line}");
        }
    }

    /// Lambda developer guide, "Implementing partial batch responses". An answer without the list is a success for Lambda;
    /// here it is a failure, so that nothing is deleted that was not routed.
    #[test]
    fn only_messages_that_the_answer_clears_count_as_routed() {
        for (answer, failed) in [
            (r#"{"batchItemFailures": []}"#, vec![]),
            (r#"{"batchItemFailures": [{"itemIdentifier": "b"}]}"#, vec!["b"]),
            (r#"{"batchItemFailures": [{"itemIdentifier": "c"}]}"#, vec!["a", "b"]),
            (r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#, vec!["a", "b"]),
            (r#"{"batchItemFailures": [{}]}"#, vec!["a", "b"]),
            ("{}", vec!["a", "b"]),
            ("null", vec!["a", "b"]),
            ("", vec!["a", "b"]),
        ] {
            assert_eq!(failed_messages(answer.as_bytes(), &["a", "b"]), failed, "{answer}");
        }
    }
}
