//! A preflight as text: a line for each subject with its result, details below it, and last what to do.

use super::Style;
use super::error::hint;
use super::escape::escape;
use super::fold::fold;
use crate::preflight::{PreflightItem, PreflightReport, PreflightResult};
use crate::ui::Heading;

/// The columns of the result and of the subject.
const RESULT: usize = 9;
const SUBJECT: usize = 13;
/// The column at which the text begins.
const TEXT: usize = 4 + RESULT + SUBJECT;

/// The list, and the steps that help.
pub fn preflight(heading: &Heading, report: &PreflightReport, style: Style) -> String {
    let mut lines = vec![super::heading(heading, style), String::new()];
    lines.extend(report.items.iter().flat_map(|item| row(item, style)));
    lines.extend([String::new(), summary(report)]);
    let mut hints = Vec::new();
    for step in report.items.iter().flat_map(|item| &item.hints) {
        if !hints.contains(&step) {
            hints.push(step);
        }
    }
    let steps = hints.into_iter().map(|step| super::capitalized(&hint(step)));
    lines.extend(steps.map(|step| super::sentences(&step, style)));
    lines.join("\n")
}

fn row(item: &PreflightItem, style: Style) -> Vec<String> {
    let PreflightItem {
        subject,
        result,
        text,
        details,
        hints: _, // below the list
    } = item;
    let word = format!("{} {:RESULT$}", mark(*result), result.as_str());
    let word = match result {
        PreflightResult::Ok => style.paint.green(&word),
        PreflightResult::Failed => style.paint.red(&word),
        PreflightResult::Warning | PreflightResult::Unknown => style.paint.yellow(&word),
    };
    let begin = format!("  {word}{subject:SUBJECT$}");
    let below = " ".repeat(TEXT);
    let beginnings = std::iter::once(begin.as_str()).chain(std::iter::repeat(below.as_str()));
    let texts = std::iter::once(text).chain(details);
    let lines = texts.flat_map(|text| fold(&escape(text), style.room(TEXT)));
    beginnings
        .zip(lines)
        .map(|(begin, line)| format!("{begin}{line}"))
        .collect()
}

/// It repeats the word.
fn mark(result: PreflightResult) -> char {
    match result {
        PreflightResult::Ok => '✓',
        PreflightResult::Warning => '!',
        PreflightResult::Failed => '✗',
        PreflightResult::Unknown => '?',
    }
}

fn summary(report: &PreflightReport) -> String {
    use PreflightResult::{Failed, Ok, Unknown, Warning};
    let counts = [Ok, Warning, Failed, Unknown].map(|result| (report.count(result), result));
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let text = |(count, result): (usize, PreflightResult)| match (result, count) {
        (Warning, 2..) => format!("{count} warnings"),
        _ => format!("{count} {}", result.as_str()),
    };
    let counts: Vec<String> = counts.map(text).collect();
    format!("{} checks: {}.", report.items.len(), counts.join(", "))
}
