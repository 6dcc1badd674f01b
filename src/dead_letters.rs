//! The messages of the dead-letter queue: why they are there, whether they are still useful, and what happened to those
//! that were routed again or deleted.

#[cfg(test)]
pub(crate) mod readings;
#[cfg(test)]
mod tests;
mod treat;

use std::collections::BTreeMap;

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::Value;

pub use treat::{LetterResult, LetterStatus, Treated, Treatment, treat};

use crate::model::{
    Fault, FunctionName, InstanceId, LogGroupName, QueueName, RouterLine, Scope, Signal, SubjectMember, as_time,
    router_line::RETRIED, time_text,
};

/// How long a received message is hidden, in seconds: longer than the router takes for a batch. If the command is
/// killed, the messages that it received are visible again after this time.
const HIDDEN: u32 = 30;
/// The maximum number of dead letters to read.
const MOST: usize = 1_000;
/// The maximum total size of their texts before the last receive, in bytes: most events have less than 2 KB, and SQS accepts 1 MiB.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How many receives in a row may return only messages that were seen before. If reading the whole queue takes longer
/// than [`HIDDEN`], the first messages are received again.
const SEEN_AGAIN: usize = 5;
/// The number of concurrent calls.
const CONCURRENT: usize = 16;
/// How long a Spot warning is useful, in milliseconds: EC2 sends the warning two minutes before it reclaims the instance.
const SPOT_WARNING: i64 = 120_000;

/// What `dead-letters` needs: the messages of the dead-letter queue, the router, and its log about them.
pub trait DeadLetters: Send + Sync {
    /// Receives up to ten messages, and hides each for this many seconds. If there is none, waits for a second.
    fn receive(&self, queue: &QueueName, hidden: u32) -> impl Future<Output = Result<Vec<DeadLetter>, Fault>> + Send;

    /// Makes a message visible again.
    fn release(&self, queue: &QueueName, receipt: &str) -> impl Future<Output = Result<(), Fault>> + Send;

    fn delete(&self, queue: &QueueName, receipt: &str) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Invokes a function's alias with a batch of messages and waits for its answer. A failed invocation is a fault.
    fn route(
        &self,
        function: &FunctionName,
        alias: &str,
        batch: &Value,
    ) -> impl Future<Output = Result<Vec<u8>, Fault>> + Send;

    /// The lines of a log group about messages that the router returned to their queue, since a time in milliseconds of
    /// the Unix epoch, in chronological order; and whether the list is complete.
    fn retry_lines(
        &self,
        group: &LogGroupName,
        since: i64,
    ) -> impl Future<Output = Result<(Vec<String>, bool), Fault>> + Send;
}

/// A message of the dead-letter queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "LetterObject"))]
pub struct DeadLetter {
    // Its SQS message id, which it keeps when SQS moves it from the hub queue.
    #[serde(rename = "message_id")]
    pub id: String,
    /// When SQS first accepted the message, in UTC.
    // In milliseconds of the Unix epoch.
    #[serde(serialize_with = "as_time")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub sent: i64,
    /// Receives from both queues.
    pub receives: u32,
    pub cause: DeadLetterCause,
    /// What EventBridge recorded; empty strings for missing values.
    pub delivery_error: Option<DeliveryError>,
    /// The last line of the router's log about the message, if it was found.
    pub last_retry: Option<RetryLine>,
    /// The event in the message; null if it is not an event.
    pub event: Option<LetterEvent>,
    /// The result of the action; null if the message was only shown.
    pub result: Option<LetterResult>,
    #[serde(skip)]
    pub body: String,
    // The receipt with which SQS releases or deletes it, until it is received again.
    #[serde(skip)]
    pub receipt: String,
}

/// Why a message is in the dead-letter queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Cause"))]
pub enum DeadLetterCause {
    /// EventBridge could not deliver the event to the hub queue.
    NotDelivered,
    /// The hub queue gave up.
    GivenUp,
    /// Neither is recorded.
    #[default]
    Unknown,
}

/// What EventBridge recorded with an event that it could not deliver.
// EventBridge user guide, "Using dead-letter queues to process undelivered events". Members that are missing are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DeliveryErrorObject"))]
pub struct DeliveryError {
    pub code: String,
    pub message: String,
    pub rule_arn: String,
    pub target_arn: String,
    pub retry_attempts: String,
    pub exhausted_retry_condition: String,
}

/// The event in a message.
// As far as it can be read. The router reads it again, and decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "EventObject"))]
pub struct LetterEvent {
    pub detail_type: String,
    /// The kind of event; null if Karpenter does not act on it.
    #[cfg_attr(test, schemars(schema_with = "tests::signal"))]
    pub signal: Option<&'static str>,
    pub instances: Vec<String>,
    pub useful: Useful,
    /// Until when it is useful, in UTC.
    pub useful_until: Option<String>,
    /// Why it is of little use, or why that is unknown.
    pub useful_reason: Option<&'static str>,
}

/// Whether an event is still useful to Karpenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Useful {
    /// Useful until `useful_until`.
    Until,
    /// Of little or no use.
    Little,
    /// Unknown.
    Unknown,
}

impl DeadLetter {
    /// Sets the cause, from the attributes of the message and whether SQS moved it from another queue.
    pub fn with_cause<'a>(self, attribute: impl Fn(&str) -> Option<&'a str>, is_moved: bool) -> Self {
        let text = |name| attribute(name).unwrap_or_default().to_owned();
        let error = DeliveryError {
            code: text("ERROR_CODE"),
            message: text("ERROR_MESSAGE"),
            rule_arn: text("RULE_ARN"),
            target_arn: text("TARGET_ARN"),
            retry_attempts: text("RETRY_ATTEMPTS"),
            exhausted_retry_condition: text("EXHAUSTED_RETRY_CONDITION"),
        };
        let is_error = !error.code.is_empty() || !error.rule_arn.is_empty();
        Self {
            cause: if is_error {
                DeadLetterCause::NotDelivered
            } else if is_moved {
                DeadLetterCause::GivenUp
            } else {
                DeadLetterCause::Unknown
            },
            delivery_error: is_error.then_some(error),
            ..self
        }
    }

    /// Reads the event as of the time `now`, in milliseconds of the Unix epoch.
    pub fn with_event(self, now: i64) -> Self {
        let event = event(&self.body, now);
        Self { event, ..self }
    }

    /// Whether this treatment applies to it: the router can route only events.
    pub fn suits(&self, treatment: Treatment) -> bool {
        treatment == Treatment::Purge || self.event.is_some()
    }
}

/// The event in a text, as of the time `now`, if it is one.
fn event(text: &str, now: i64) -> Option<LetterEvent> {
    let event: Value = serde_json::from_str(text).ok()?;
    let (source, detail_type) = (event["source"].as_str()?, event["detail-type"].as_str()?);
    let detail = event["detail"].as_object()?;
    let member = |name| detail.get(name).unwrap_or(&Value::Null);
    let signal = Signal::from_event(source, detail_type);
    let named = match signal.map(Signal::subject) {
        None | Some(SubjectMember::Cluster | SubjectMember::Bus) => Vec::new(),
        Some(SubjectMember::Instance) => vec![member("instance-id")],
        Some(SubjectMember::Entities) => match member("affectedEntities") {
            Value::Array(entities) => entities.iter().map(|entity| &entity["entityValue"]).collect(),
            one => vec![&one["entityValue"]],
        },
    };
    let (useful, until, useful_reason) = usefulness(signal, &event, now);
    Some(LetterEvent {
        detail_type: detail_type.to_owned(),
        signal: signal.map(Signal::slug),
        instances: named.into_iter().filter_map(instance).collect(),
        useful,
        useful_until: until.map(time_text),
        useful_reason,
    })
}

/// The instance id in an id or an ARN.
fn instance(value: &Value) -> Option<String> {
    let id: InstanceId = value.as_str()?.rsplit('/').next()?.parse().ok()?;
    Some(id.to_string())
}

/// Whether an event of this kind is useful at the time `now`, until when, and why it is not.
fn usefulness(signal: Option<Signal>, event: &Value, now: i64) -> (Useful, Option<i64>, Option<&'static str>) {
    let millis = |value: &Value, format| DateTime::from_str(value.as_str()?, format).ok()?.to_millis().ok();
    let until = |end: Option<i64>, over, unknown| match end {
        Some(end) if end > now => (Useful::Until, Some(end), None),
        Some(_) => (Useful::Little, None, Some(over)),
        None => (Useful::Unknown, None, Some(unknown)),
    };
    let little = |why| (Useful::Little, None, Some(why));
    match signal {
        None => little("Karpenter does not act on this kind of event"),
        Some(Signal::SpotInterruption) => until(
            millis(&event["time"], Format::DateTimeWithOffset).map(|time| time.saturating_add(SPOT_WARNING)),
            "the two minutes of the Spot warning are over",
            "the event has no time",
        ),
        Some(Signal::CapacityReservation) => {
            let why = "the event does not say when EC2 reclaims the instance";
            (Useful::Unknown, None, Some(why))
        }
        // AWS Health writes `Sat, 05 Dec 2026 05:00:00 GMT`.
        Some(Signal::ScheduledChange) => until(
            ["endTime", "startTime"].iter().find_map(|name| millis(&event["detail"][name], Format::HttpDate)),
            "the time of the scheduled change is over",
            "the event does not say when the change happens",
        ),
        Some(Signal::StateChange) => little("Karpenter also finds a stopped instance without the event"),
        Some(Signal::Rebalance) => little("Karpenter only reports it"),
        Some(Signal::Probe | Signal::Heartbeat) => little("it is a probe of kibus"),
    }
}

/// The content of the dead-letter queue, as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DeadLettersObject"))]
pub struct DeadLetterReport {
    #[serde(rename = "queue_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub queue: QueueName,
    /// The number of messages that were read.
    pub seen: usize,
    /// The number of messages in the queue, as counted by SQS.
    // At least the number that were read.
    pub about: u64,
    /// What happened to the messages; null if they were only shown.
    pub action: Option<Treatment>,
    // The oldest first.
    #[serde(rename = "messages")]
    pub letters: Vec<DeadLetter>,
    // Why the report is incomplete; part of the hub's warnings.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl DeadLetterReport {
    /// Stores the results. `None` means that the run was abandoned and its results are unknown.
    pub fn settle(&mut self, treatment: Treatment, treated: Option<&Treated>) {
        self.action = Some(treatment);
        for letter in &mut self.letters {
            let known = treated.and_then(|treated| treated.results.get(&letter.id));
            let (status, why) = if letter.suits(treatment) {
                (LetterStatus::Unknown, "the command was stopped during the call")
            } else {
                (LetterStatus::Left, "not an event")
            };
            letter.result = known.cloned().or_else(|| Some(LetterResult::new(status, Some(why.to_owned()), &[])));
        }
    }
}

/// A line of the router's log about a message that returned to its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RetryObject"))]
pub struct RetryLine {
    #[serde(skip)]
    pub id: String,
    pub reason: String,
    // If it was known.
    pub cluster: Option<String>,
}

impl RetryLine {
    /// Parses a line; `None` if it is about something else.
    fn parse(line: &str) -> Option<Self> {
        let line = RouterLine::read(line).filter(|line| line.message == RETRIED && !line.message_id.is_empty())?;
        Some(Self {
            id: line.message_id.into_owned(),
            reason: line.reason?.into_owned(),
            cluster: Some(line.cluster.into_owned()).filter(|cluster| !cluster.is_empty()),
        })
    }
}

/// Reads the dead letters of a hub as they are at the time `now`, in milliseconds of the Unix epoch, and the router's log about
/// them. What is received is made visible again. `count` is the number of messages in the queue, as counted by SQS.
pub async fn read(cloud: &impl DeadLetters, scope: &Scope, count: u64, now: i64) -> Result<DeadLetterReport, Fault> {
    let queue = scope.dead_letter_queue();
    let (letters, cut, unreleased) = look(cloud, &queue).await?;
    let mut warnings = Vec::new();
    if cut {
        warnings.push("there are more dead letters: redrive or delete these, then run again".to_owned());
    }
    if let Some(fault) = unreleased {
        warnings.push(format!("dead letters stay hidden for {HIDDEN} seconds: {fault}"));
    }
    let mut retries = BTreeMap::new();
    if let Some(since) = letters.iter().map(|letter| letter.sent).min() {
        match cloud.retry_lines(&scope.router_log_group(), since).await {
            Err(fault) => warnings.push(format!("the router's log could not be read: {fault}")),
            Ok((lines, is_complete)) => {
                let lines = lines.iter().filter_map(|line| RetryLine::parse(line));
                // The last line about each message counts.
                retries = lines.map(|line| (line.id.clone(), line)).collect();
                if !is_complete {
                    warnings.push("the router's log is too long and was read only partly".to_owned());
                }
            }
        }
    }
    Ok(DeadLetterReport {
        queue,
        seen: letters.len(),
        about: count.max(u64::try_from(letters.len()).unwrap_or(u64::MAX)),
        action: None,
        letters: letters
            .into_iter()
            .map(|letter| DeadLetter { last_retry: retries.remove(&letter.id), ..letter.with_event(now) })
            .collect(),
        warnings,
    })
}

/// Reads dead letters until SQS returns no new ones, at most [`MOST`]. Returns them, the oldest first; whether reading ended at
/// a limit, so there may be more; and why a message is hidden for [`HIDDEN`] seconds, if one could not be made visible again.
async fn look(cloud: &impl DeadLetters, queue: &QueueName) -> Result<(Vec<DeadLetter>, bool, Option<Fault>), Fault> {
    let mut seen: BTreeMap<String, DeadLetter> = BTreeMap::new();
    let (mut bytes, mut again) = (0, 0);
    let ended = loop {
        let received = match cloud.receive(queue, HIDDEN).await {
            Err(fault) => break Err(fault),
            Ok(received) if received.is_empty() => break Ok(false),
            Ok(received) => received,
        };
        let before = seen.len();
        for one in received {
            let length = one.body.len();
            // SQS may return a message twice; only the last receipt is valid.
            if seen.insert(one.id.clone(), one).is_none() {
                bytes += length;
            }
        }
        again = if seen.len() == before { again + 1 } else { 0 };
        if seen.len() >= MOST || bytes >= MOST_BYTES {
            break Ok(true);
        }
        if again >= SEEN_AGAIN {
            break Ok(false);
        }
    };
    let unreleased = release(cloud, queue, seen.values().map(|one| one.receipt.clone())).await;
    let cut = ended?;
    let mut letters: Vec<DeadLetter> = seen.into_values().collect();
    letters.sort_by(|a, b| (a.sent, &a.id).cmp(&(b.sent, &b.id)));
    Ok((letters, cut, unreleased))
}

/// Makes messages visible again. Returns the first fault; after a fault, a message is visible again after [`HIDDEN`] seconds.
async fn release(
    cloud: &impl DeadLetters,
    queue: &QueueName,
    receipts: impl IntoIterator<Item = String>,
) -> Option<Fault> {
    let calls = stream::iter(receipts).map(|receipt| async move { cloud.release(queue, &receipt).await.err() });
    let faults: Vec<Option<Fault>> = calls.buffer_unordered(CONCURRENT).collect().await;
    faults.into_iter().flatten().next()
}
