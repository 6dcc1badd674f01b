//! What AWS does where `docs/reliability.md` has only a likely answer.

use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::run::Run;
use super::{eventbridge, iam, lambda, sqs, tagging};

/// What was seen, or why nothing was.
pub(super) type Seen = Result<String, Unseen>;

/// Why nothing was seen.
#[derive(Clone, Debug)]
pub(super) struct Unseen(pub(super) String);

impl From<&str> for Unseen {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl<E: ProvideErrorMetadata> From<SdkError<E, HttpResponse>> for Unseen {
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        Self(format!("a call was answered with {}", code(&error)))
    }
}

/// The code and message of an error answer.
fn code<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> String {
    match (error.code(), error.message(), error.raw_response()) {
        (Some(code), Some(message), _) => format!("{code} \"{message}\""),
        (Some(code), None, _) => code.to_owned(),
        (None, _, Some(response)) => format!("HTTP status {}", response.status()),
        (None, _, None) => "no answer".to_owned(),
    }
}

/// The answer of a call in short: `200`, or the code and message of its error.
pub(super) fn answer<T, E: ProvideErrorMetadata>(answer: &Result<T, SdkError<E, HttpResponse>>) -> String {
    match answer {
        Ok(_) => "200".to_owned(),
        Err(error) => code(error),
    }
}

/// Rows that no run can see, and why.
const NOT_HERE: [(&str, &str); 6] = [
    (
        "G1",
        "a run that finds the rate of these calls would throttle others in the account",
    ),
    ("G5", "metrics come minutes later, and the run reads none"),
    ("G6", "metrics come minutes later, and the run reads none"),
    (
        "T4",
        "a run that empties the bucket would throttle others in the account",
    ),
    ("T5", "the run starts no instance"),
    ("W3", "it needs hours of rest before the first message, and alarms"),
];

/// Every likely row, with what was seen. The probes run at the same time, each with resources of its own.
pub(super) async fn all(run: &Run) -> Vec<(&'static str, Seen)> {
    let (queues, rules, functions, boundary, order, tags) = tokio::join!(
        sqs::observe(run),
        eventbridge::observe(run),
        lambda::observe(run),
        iam::absent_boundary(run),
        iam::order_of_a_policy(run),
        tagging::observe(run),
    );
    let mut seen = queues;
    seen.extend(rules);
    seen.extend(functions);
    seen.extend([("I8", boundary), ("R9", order)]);
    seen.extend(tags);
    seen.extend(NOT_HERE.map(|(id, why)| (id, Err(why.into()))));
    run.tell("all observations are made");
    seen
}

/// The tables of the document, in order, by the letter of their ids.
const TABLES: &str = "SELMIGTWRP";

/// Whether a text is an id of the document.
pub(super) fn is_id(text: &str) -> bool {
    text.strip_prefix(|letter| TABLES.contains(letter))
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

/// A line for each, in the order of the document.
pub(super) fn lines(seen: &[(&str, Seen)]) -> Vec<String> {
    let mut seen: Vec<_> = seen.iter().collect();
    seen.sort_by_key(|(id, _)| {
        let (table, number) = id.split_at(1);
        (TABLES.find(table), number.parse::<u32>().ok())
    });
    let line = |(id, seen): &(&str, Seen)| match seen {
        Ok(seen) => format!("{id}: {seen}"),
        Err(Unseen(why)) => format!("{id}: not seen here, because {why}"),
    };
    seen.into_iter().map(line).collect()
}
