//! What AWS does where `docs/reliability.md` has only a likely answer.

use std::path::PathBuf;

use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::recorder::Recorder;
use super::run::Run;
use super::{connections, dead_letters, eventbridge, iam, lambda, sqs, tagging};
use crate::recorded::Recording;

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
pub(super) const NOT_HERE: [(&str, &str); 12] = [
    ("N3", "the commands of this test would wait for the name of their own parameter"),
    ("N4", "kibus reads its settings again, so an old answer is not seen from outside"),
    ("M4", "a mapping of another version or of the function would route events of the hub"),
    ("S27", "a run that finds the rate of these calls would throttle others in the account"),
    ("I10", "a run that finds the rate of these calls would throttle others in the account"),
    ("G1", "a run that finds the rate of these calls would throttle others in the account"),
    ("G5", "metrics come minutes later, and the run reads none"),
    ("G6", "metrics come minutes later, and the run reads none"),
    ("T4", "a run that empties the bucket would throttle others in the account"),
    ("T5", "the run starts no instance"),
    ("W3", "it needs hours of rest before the first message, and alarms"),
    ("F4", "the run starts no experiment"),
];

/// What is observed: the rows, and what was seen of each of them.
struct Observed {
    rows: &'static [&'static str],
    seen: Vec<Seen>,
    recorder: Recorder,
}

/// Observes rows; each observation has resources and a recording of its own.
async fn observe(
    run: &Run,
    rows: &'static [&'static str],
    observe: impl AsyncFnOnce(&Run) -> Result<Vec<Seen>, Unseen>,
) -> Observed {
    let run = run.recorded();
    let seen = observe(&run).await;
    let seen = seen.unwrap_or_else(|error| rows.iter().map(|_| Err(error.clone())).collect());
    assert_eq!(seen.len(), rows.len(), "{rows:?}");
    Observed { rows, seen, recorder: run.recorder }
}

/// Observes one row.
async fn row(run: &Run, row: &'static [&'static str; 1], seen: impl AsyncFnOnce(&Run) -> Seen) -> Observed {
    observe(run, row, async |run| Ok(vec![seen(run).await])).await
}

/// Every likely row, with what was seen. The observations run at the same time. The answers of AWS are written to this
/// directory.
pub(super) async fn all(run: &Run, recordings: PathBuf) -> Vec<(&'static str, Seen)> {
    let of_sqs = async {
        let (repeated, size, listed, key, grants, reads, dead, locked, changed) = tokio::join!(
            row(run, &["S2"], sqs::repeated_create),
            row(run, &["S11"], sqs::largest_message),
            row(run, &["S21"], sqs::listed_late),
            row(run, &["R4"], sqs::alias_of_a_key),
            observe(run, &["P7", "P12", "S14", "S15", "S16"], sqs::grants),
            row(run, &["S22"], connections::several),
            row(run, &["S23"], dead_letters::new_target),
            observe(run, &["S24", "S26"], dead_letters::locked),
            row(run, &["S25"], sqs::changed_key),
        );
        vec![repeated, size, listed, key, grants, reads, dead, locked, changed]
    };
    let of_others = async {
        let (refused, rule, functions, mapping, boundary, order, denied, tags) = tokio::join!(
            row(run, &["E11"], eventbridge::refused_source),
            observe(run, &["E1", "P9", "R5"], eventbridge::new_rule),
            observe(run, &["L7", "L19", "L20", "M5"], lambda::functions),
            row(run, &["M13"], lambda::mapping_condition),
            row(run, &["I8"], iam::absent_boundary),
            row(run, &["R9"], iam::order_of_a_policy),
            row(run, &["I9"], iam::new_boundary),
            observe(run, &["T1", "P13"], tagging::late),
        );
        vec![refused, rule, functions, mapping, boundary, order, denied, tags]
    };
    let (of_sqs, of_others) = tokio::join!(of_sqs, of_others);
    let secrets = run.secrets().await;
    let mut seen = Vec::new();
    for Observed { rows, seen: lines, recorder } in of_sqs.into_iter().chain(of_others) {
        let found: Vec<_> = rows.iter().copied().zip(lines).collect();
        Recording::new(rows, run.place(), self::lines(&found), recorder.answers(), |text| secrets.clean(text))
            .write(&recordings);
        seen.extend(found);
    }
    seen.extend(NOT_HERE.map(|(id, why)| (id, Err(why.into()))));
    run.tell(&format!("all observations are made; the answers are in {}", recordings.display()));
    seen
}

/// The tables of the document, in order, by the letter of their ids.
const TABLES: &str = "SELMIGTWFRPN";

/// Whether a text is an id of the document.
pub(super) fn is_id(text: &str) -> bool {
    text.strip_prefix(|letter| TABLES.contains(letter)).is_some_and(|number| number.parse::<u32>().is_ok())
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
