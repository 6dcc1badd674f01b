//! Dead letters as text.

use std::collections::BTreeMap;

use super::layout::{Style, capitalized, escape};
use crate::dead_letters::{
    DeadLetter, DeadLetterCause, DeadLetterReport, DeliveryError, LetterEvent, LetterResult, LetterStatus, Treatment,
    Useful,
};
use crate::model::{Scope, first_of, time_text};

/// The maximum number of instances in a line.
const NAMED: usize = 5;

/// The messages in the dead-letter queue, one paragraph per message.
pub fn dead_letters(scope: &Scope, report: &DeadLetterReport, style: Style) -> String {
    let DeadLetterReport { queue, about, letters, .. } = report;
    if letters.is_empty() {
        return match about {
            0 => format!(
                "No dead letters in queue {queue}. Dropped events are not dead letters: they are in the router's log."
            ),
            about => format!(
                "No dead letters are visible in queue {queue}, although SQS counts about {about}. Another command may \
                 be hiding them for seconds, and SQS counts lag."
            ),
        };
    }
    let mut lines = vec![super::heading(scope, style), String::new()];
    lines.push(format!("  {} of about {about} in queue {queue}", letters.len()));
    for letter in letters {
        lines.push(String::new());
        lines.extend(paragraph(letter, style));
    }
    lines.join("\n")
}

fn paragraph(letter: &DeadLetter, style: Style) -> Vec<String> {
    let mut facts = vec![
        format!("message {}, sent {}", escape(&letter.id), time_text(letter.sent)),
        match (letter.cause, &letter.delivery_error) {
            (_, Some(error)) => not_delivered(error),
            (DeadLetterCause::GivenUp, None) => format!("the hub queue gave up; received {} times", letter.receives),
            (_, None) => "reason unknown: neither EventBridge nor the hub queue sent it".to_owned(),
        },
    ];
    facts.extend(letter.last_retry.as_ref().map(|retry| {
        let cluster = retry.cluster.as_ref().map(|name| format!(", for cluster {name}"));
        let (reason, cluster) = (&retry.reason, cluster.unwrap_or_default());
        escape(&format!("the router's last retry: {reason}{cluster}")).into_owned()
    }));
    facts.push(letter.event.as_ref().map_or_else(
        || "not an event, so the router cannot route it".to_owned(),
        |event| {
            let until_or_why = event.useful_until.as_deref().or(event.useful_reason).unwrap_or_default();
            let useful = match event.useful {
                Useful::Until => "useful until ",
                Useful::Little => "of little use: ",
                Useful::Unknown => "use unknown: ",
            };
            format!("{useful}{until_or_why}")
        },
    ));
    let title = letter.event.as_ref().map_or("unreadable message".to_owned(), title);
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
    escape(&format!("EventBridge could not deliver it: {code}: {message} ({parts})")).into_owned()
}

fn last_part(arn: &str) -> &str {
    arn.rsplit([':', '/']).next().unwrap_or(arn)
}

/// What processing `count` of the dead letters would do.
pub fn treatment(treatment: Treatment, count: usize, report: &DeadLetterReport) -> String {
    let rest = report.letters.len() - count;
    match treatment {
        Treatment::Redrive if rest > 0 => {
            format!("To redrive through the router: {count}. Not events, so they stay: {rest}.")
        }
        Treatment::Redrive => format!("To redrive through the router: {count}."),
        Treatment::Purge => format!("To delete: {count}. Messages that are not shown stay."),
    }
}

/// The results: one line per attempted dead letter, and the counts.
pub fn treated(report: &DeadLetterReport) -> String {
    let is_redrive = report.action == Some(Treatment::Redrive);
    let suits = |letter: &&DeadLetter| report.action.is_none_or(|action| letter.suits(action));
    let letters = report.letters.iter().filter(suits);
    let results: Vec<(&DeadLetter, &LetterResult)> =
        letters.filter_map(|letter| Some((letter, letter.result.as_ref()?))).collect();
    let mut counts: BTreeMap<(LetterStatus, &str), usize> = BTreeMap::new();
    if !results.iter().any(|(_, result)| result.status.is_done()) {
        let first = if is_redrive { LetterStatus::RoutedAndDeleted } else { LetterStatus::Deleted };
        counts.insert((first, first.as_str()), 0);
    }
    for (_, LetterResult { status, reason, .. }) in &results {
        let word = match (status, reason) {
            (LetterStatus::Left, Some(why)) => why,
            _ => status.as_str(),
        };
        *counts.entry((*status, word)).or_default() += 1;
    }
    let tried = results.iter().filter(|(_, result)| is_redrive && result.status != LetterStatus::Left);
    let line = |(letter, result): &(&DeadLetter, &LetterResult)| {
        let title = letter.event.as_ref().map_or(String::new(), title);
        let reason = result.reason.as_deref().unwrap_or_default();
        format!("  {}, {title}: {}", escape(&letter.id), escape(reason))
    };
    let mut lines: Vec<String> = tried.map(line).collect();
    let counts = counts.iter().map(|((_, word), count)| format!("{word} {count}"));
    lines.push(format!("{}.", capitalized(&counts.collect::<Vec<_>>().join(", "))));
    lines.join("\n")
}
