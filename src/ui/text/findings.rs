//! Findings as text: a line each, with its code; below it what it means, and what differs field by field.

use std::collections::BTreeSet;

use console::measure_text_width;

use super::escape::escape;
use super::fold::fold;
use super::plan::{NAME_COLUMN, NARROW, field_lines, sign};
use super::{Style, kind};
use crate::plan::Plan;
use crate::plan::finding::{Finding, Fix, Subject};
use crate::ui::Heading;
use crate::ui::table::gap;

/// All findings of one hub. `clusters` says how many were looked at; `fixes` are the commands that fix them, in
/// the order in which to run them.
#[must_use]
pub fn findings(
    heading: &Heading,
    clusters: &str,
    plan: &Plan,
    findings: &[Finding],
    fixes: &[String],
    look: Style,
) -> String {
    let title = super::heading(heading, look);
    let mut lines = vec![format!("{title} · {clusters}"), String::new()];
    let width = |words: fn(&Finding) -> String| findings.iter().map(move |finding| words(finding).chars().count());
    let kinds = width(|finding| words(finding).0).max().unwrap_or(0);
    let names = width(|finding| words(finding).1)
        .filter(|width| *width <= NAME_COLUMN)
        .max()
        .unwrap_or(0);
    let mut told = BTreeSet::new();
    for finding in findings {
        let (kind, name) = words(finding);
        let name = escape(&name).into_owned();
        let begin = format!("  {} {kind}{}  {name}", mark(finding, plan, look), gap(&kind, kinds));
        let message = escape(&finding.message);
        let says = format!("{} {message}", look.paint.bold(finding.code.as_str()));
        let line = format!("{begin}{}  {says}", gap(&name, names));
        let mut below = Vec::new();
        if look.width.is_none_or(|width| measure_text_width(&line) <= width) {
            lines.push(line);
        } else {
            lines.extend([begin, format!("      {says}")]);
        }
        // What a code means is said once, however often it is found.
        if told.insert(finding.code) {
            below.push(finding.code.meaning().to_owned());
        }
        if let Fix::ByHand(fix) = &finding.fix {
            below.push(format!("to fix: {}", escape(fix)));
        }
        let room = look
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(6).max(NARROW));
        for text in below {
            lines.extend(
                fold(&text, room)
                    .iter()
                    .map(|line| format!("      {}", look.paint.dim(line))),
            );
        }
        let change = finding.change.and_then(|place| plan.changes.get(place));
        if let Some(change) = change.filter(|change| change.before.is_some() && change.after.is_some()) {
            let width = change.fields.iter().map(|field| field.path.chars().count()).max();
            let width = width.unwrap_or(0).min(NAME_COLUMN);
            lines.extend(change.fields.iter().flat_map(|field| field_lines(field, width, look)));
        }
    }
    lines.push(String::new());
    let count = match findings.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let count = look.paint.bold(&count);
    match fixes {
        [] => lines.push(format!("{count}. docs/findings.md says more about each code.")),
        _ => {
            let by_hand = |finding: &Finding| matches!(finding.fix, Fix::ByHand(_));
            let what = match findings {
                [_] => "it",
                _ if findings.iter().any(by_hand) => "what commands can fix",
                _ => "them",
            };
            lines.push(format!("{count}. To fix {what}:"));
            lines.extend(fixes.iter().map(|command| format!("    {command}")));
        }
    }
    lines.join("\n")
}

fn words(finding: &Finding) -> (String, String) {
    match &finding.subject {
        Subject::Resource(id) => (kind(id).to_owned(), super::name(id)),
        other => other.words(),
    }
}

/// What fixing would do, as a plan shows it; or a mark for what no plan fixes.
fn mark(finding: &Finding, plan: &Plan, look: Style) -> String {
    match finding.change.and_then(|place| plan.changes.get(place)) {
        Some(change) => sign(change.action, look.paint),
        None if finding.code.as_str().starts_with("K4") => look.paint.yellow("?"),
        None => look.paint.red("!"),
    }
}
