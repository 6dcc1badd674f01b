//! Dead letters as text.

use super::escape::escape;
use super::{Style, capitalized};
use crate::dead_letters::report::{DeadLetterReport, ReportedLetter};
use crate::dead_letters::treat::{LetterOutcome, Routing, Treated, Treatment};
use crate::dead_letters::{DeadLetterCause, DeliveryError, LetterEvent, Usefulness};
use crate::model::notation::{first_of, time_text};
use crate::ui::Heading;

/// How many instances a line names at most.
const NAMED: usize = 5;

/// What lies in the dead-letter queue, a paragraph for each message.
pub fn dead_letters(heading: &Heading, report: &DeadLetterReport, style: Style) -> String {
    let DeadLetterReport {
        queue, about, letters, ..
    } = report;
    if letters.is_empty() {
        return match about {
            0 => format!(
                "No dead letters in queue {queue}. Dropped events are no dead letters: the log of the router has them."
            ),
            about => format!(
                "No dead letters are visible in queue {queue}; SQS counts about {about}. Another command may hide them for \
                 seconds, and SQS counts late."
            ),
        };
    }
    let mut lines = vec![super::heading(heading, style), String::new()];
    lines.push(format!("  {} of about {about} in queue {queue}", letters.len()));
    for letter in letters {
        lines.push(String::new());
        lines.extend(paragraph(letter, style));
    }
    lines.join("\n")
}

fn paragraph(reported: &ReportedLetter, style: Style) -> Vec<String> {
    let ReportedLetter { letter, event, retry } = reported;
    let mut facts = vec![
        format!("message {}, sent {}", escape(&letter.id), time_text(letter.sent)),
        match &letter.cause {
            DeadLetterCause::NotDelivered(error) => not_delivered(error),
            DeadLetterCause::GivenUp => format!("the hub queue gave up; received {} times", letter.receives),
            DeadLetterCause::Unknown => "reason unknown: neither EventBridge nor the hub queue sent it".to_owned(),
        },
    ];
    facts.extend(retry.as_ref().map(|retry| {
        let cluster = retry.cluster.as_ref().map(|name| format!(", for cluster {name}"));
        let (reason, cluster) = (&retry.reason, cluster.unwrap_or_default());
        escape(&format!("the router's last retry: {reason}{cluster}")).into_owned()
    }));
    facts.push(match event {
        None => "not an event, so the router cannot route it".to_owned(),
        Some(event) => match &event.usefulness {
            Usefulness::Until(end) => format!("useful until {}", time_text(*end)),
            Usefulness::Little(why) => format!("of little use: {why}"),
            Usefulness::Unknown(why) => format!("use unknown: {why}"),
        },
    });
    let title = event.as_ref().map_or("unreadable message".to_owned(), title);
    let mut lines = vec![format!("  {}", style.paint.bold(&title))];
    lines.extend(facts.iter().map(|fact| format!("      {fact}")));
    lines
}

fn title(event: &LetterEvent) -> String {
    let mut title = escape(&event.detail_type).into_owned();
    if !event.instances.is_empty() {
        title.push_str(&format!(" · {}", first_of(&event.instances, NAMED)));
    }
    title
}

fn not_delivered(error: &DeliveryError) -> String {
    let DeliveryError { code, message, .. } = error;
    let parts = [
        ("rule", last_part(&error.rule_arn)),
        ("target", last_part(&error.target_arn)),
        ("retries", &error.retry_attempts),
        ("ended by", &error.exhausted_retry_condition),
    ];
    let parts = parts.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> = parts.map(|(name, value)| format!("{name} {value}")).collect();
    let parts = parts.join(", ");
    escape(&format!(
        "EventBridge could not deliver it: {code}: {message} ({parts})"
    ))
    .into_owned()
}

fn last_part(arn: &str) -> &str {
    arn.rsplit([':', '/']).next().unwrap_or(arn)
}

/// What a treatment of `count` of the dead letters would do.
pub fn treatment(treatment: Treatment, count: usize, report: &DeadLetterReport) -> String {
    let rest = report.letters.len() - count;
    match treatment {
        Treatment::Redrive if rest > 0 => {
            format!("To redrive through the router: {count}. Not events, and they stay: {rest}.")
        }
        Treatment::Redrive => format!("To redrive through the router: {count}."),
        Treatment::Purge => format!("To delete: {count}. A message that is not shown stays."),
    }
}

/// What became of the dead letters: a line for each that was tried, and the counts.
pub fn treated(report: &DeadLetterReport, treated: &Treated) -> String {
    let count = |became: fn(&LetterOutcome) -> bool| treated.count(became);
    let done = |routing: Routing| {
        let done = treated
            .letters
            .iter()
            .filter(|(_, outcome)| **outcome == LetterOutcome::Done);
        done.filter(|(id, _)| treated.routing(id) == routing).count()
    };
    let mut counts = match treated.treatment {
        Treatment::Redrive => vec![
            ("routed and deleted", done(Routing::Routed)),
            ("dropped and deleted", done(Routing::Dropped)),
            ("routed or dropped, and deleted", done(Routing::Unknown)),
        ],
        Treatment::Purge => vec![("deleted", treated.done())],
    };
    let first = counts[0].0;
    counts.extend([
        ("returned by the router", count(|one| *one == LetterOutcome::Returned)),
        (
            "failed",
            count(|one| matches!(one, LetterOutcome::NotRouted(_) | LetterOutcome::NotDeleted(_))),
        ),
        (treated.why_left(), count(|one| *one == LetterOutcome::Left)),
    ]);
    let counts = counts.into_iter();
    let counts = counts.filter(|(word, count)| *count > 0 || *word == first && treated.done() == 0);
    let counts: Vec<String> = counts.map(|(word, count)| format!("{word} {count}")).collect();
    let tried = report
        .letters
        .iter()
        .filter(|_| treated.treatment == Treatment::Redrive);
    let tried = tried.filter(|one| !matches!(treated.letters.get(&one.letter.id), None | Some(LetterOutcome::Left)));
    let mut lines: Vec<String> = tried.map(|one| line(one, treated)).collect();
    lines.push(format!("{}.", capitalized(&counts.join(", "))));
    lines.join("\n")
}

fn line(reported: &ReportedLetter, treated: &Treated) -> String {
    let title = reported.event.as_ref().map_or(String::new(), title);
    let became = became(reported, treated).unwrap_or_default();
    format!("  {}, {title}: {became}", escape(&reported.letter.id))
}

/// What became of a dead letter, and why; `None` if it was deleted as asked.
pub fn became(reported: &ReportedLetter, treated: &Treated) -> Option<String> {
    let id = &reported.letter.id;
    Some(match (treated.treatment, treated.letters.get(id)) {
        (Treatment::Purge, Some(LetterOutcome::Done)) => return None,
        (_, Some(LetterOutcome::Done)) => match treated.routing(id) {
            Routing::Unknown => "routed or dropped: this router does not say".to_owned(),
            Routing::Routed | Routing::Dropped => decided(treated, id),
        },
        (_, Some(LetterOutcome::Returned)) => match treated.routing(id) {
            Routing::Unknown => "the router returned it".to_owned(),
            Routing::Routed | Routing::Dropped => format!("the router returned it: {}", decided(treated, id)),
        },
        (_, Some(LetterOutcome::NotRouted(fault))) | (Treatment::Purge, Some(LetterOutcome::NotDeleted(fault))) => {
            fault.to_string()
        }
        (Treatment::Redrive, Some(LetterOutcome::NotDeleted(fault))) => match treated.routing(id) {
            Routing::Unknown => format!("routed or dropped, and not deleted: {fault}"),
            Routing::Routed | Routing::Dropped => format!("{}, and not deleted: {fault}", decided(treated, id)),
        },
        (_, Some(LetterOutcome::Left)) => treated.why_left().to_owned(),
        (Treatment::Redrive, None) if reported.event.is_none() => "not an event".to_owned(),
        (_, None) => "the command was stopped during its calls".to_owned(),
    })
}

/// The clusters that received a dead letter.
pub(in crate::ui) fn receivers<'a>(treated: &'a Treated, id: &str) -> Vec<&'a str> {
    let decisions = treated.decisions.get(id).into_iter().flatten();
    let delivered = decisions.filter(|one| one.decision == "delivered");
    delivered.filter_map(|one| one.cluster.as_deref()).collect()
}

/// The decisions of the router about a dead letter.
fn decided(treated: &Treated, id: &str) -> String {
    let mut parts = Vec::new();
    if treated.routing(id) == Routing::Routed {
        parts.push(match receivers(treated, id).as_slice() {
            [] => "routed".to_owned(),
            clusters => format!("routed to {}", clusters.join(", ")),
        });
    }
    let others = treated.decisions.get(id).into_iter().flatten();
    parts.extend(others.filter(|one| one.decision != "delivered").map(|one| {
        let cluster = one.cluster.as_ref().map(|name| format!(", for cluster {name}"));
        let (reason, cluster) = (
            one.reason.as_deref().unwrap_or("no reason"),
            cluster.unwrap_or_default(),
        );
        format!("{}: {reason}{cluster}", one.decision)
    }));
    escape(&parts.join("; ")).into_owned()
}
