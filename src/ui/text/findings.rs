//! Findings as text: a line each with its severity and code, then a fix by hand; last, the commands that fix the others.

use std::collections::BTreeSet;

use super::Style;
use super::columns::NAME_COLUMN;
use super::error::hint;
use super::escape::escape;
use super::fold::fold;
use super::plan::field_lines;
use crate::error::Hint;
use crate::model::notation::counted;
use crate::plan::Change;
use crate::plan::finding::{Finding, Fix, Severity, Subject};
use crate::reconcile::Intent;
use crate::ui::Heading;

/// The column at which the text of a finding begins.
const TEXT: usize = 18;

/// All findings of one hub, with the commands that fix them. `clusters` says how many were checked.
/// With `-v`, also what each code means and what differs.
pub fn findings(heading: &Heading, clusters: &str, intent: &Intent, fixes: &[Hint], style: Style) -> String {
    let Intent { plan, findings, .. } = intent;
    let mut lines = vec![
        format!("{} · {clusters}", super::heading(heading, style)),
        String::new(),
    ];
    let mut explained = BTreeSet::new();
    for finding in findings {
        lines.extend(row(finding, style));
        // The meaning of a code is printed once.
        if style.verbose > 0 && explained.insert(finding.code) {
            lines.extend(below(finding.code.meaning(), style));
        }
        if let Fix::Advice(hint) = &finding.fix {
            lines.extend(advice(hint, style));
        }
        let change = finding.change.and_then(|place| plan.changes.get(place));
        let change = change.filter(|_| style.verbose > 0);
        lines.extend(change.into_iter().flat_map(|change| differences(change, style)));
    }
    lines.push(String::new());
    lines.extend(fold(&summary(findings, style), style.room(0)));
    lines.extend(fixes.iter().map(hint));
    lines.join("\n")
}

/// The severity, the code, the subject and the message. On a narrow terminal, the rest is below the beginning.
fn row(finding: &Finding, style: Style) -> Vec<String> {
    let subject = match &finding.subject {
        Subject::Resource(id) => format!("{} {}", id.label(), super::name(id)),
        Subject::Cluster(_) => format!("cluster {}", finding.name()),
        Subject::Other(what) => what.clone(),
    };
    let word = format!("{:8}", finding.severity.as_str());
    let word = match finding.severity {
        Severity::Critical | Severity::Error => style.paint.red(&word),
        Severity::Warning => style.paint.yellow(&word),
    };
    let code = style.paint.bold(finding.code.as_str());
    let text = escape(&format!("{subject}: {}", finding.message)).into_owned();
    let lines = fold(&text, style.room(TEXT)).into_iter().enumerate();
    lines
        .map(|(at, text)| match at {
            0 => format!("  {word}  {code}  {text}"),
            _ => format!("{}{text}", " ".repeat(TEXT)),
        })
        .collect()
}

/// An explanation below a finding.
fn below(text: &str, style: Style) -> Vec<String> {
    let lines = fold(text, style.room(6)).into_iter();
    lines.map(|line| format!("      {}", style.paint.dim(&line))).collect()
}

/// What to do, and the command for it, if any.
fn advice(hint: &Hint, style: Style) -> Vec<String> {
    let open = hint.command.is_some() && !hint.text.ends_with(':');
    let colon = if open { ":" } else { "" };
    let mut lines = below(&format!("fix: {}{colon}", escape(&hint.text)), style);
    let command = hint.command.as_ref();
    lines.extend(command.map(|command| format!("        {}", escape(command))));
    lines
}

/// The fields of a resource that differ.
fn differences(change: &Change, style: Style) -> Vec<String> {
    if change.before.is_none() || change.after.is_none() {
        return Vec::new();
    }
    let fields = change.fields.iter();
    let width = fields.clone().map(|field| field.path.chars().count()).max();
    let width = width.unwrap_or(0).min(NAME_COLUMN);
    let inline = |old: &str, new: &str| format!("is {old}, should be {new}");
    fields
        .flat_map(|field| field_lines(field, width, style, inline))
        .collect()
}

/// How many findings of each severity there are, and how to see more.
fn summary(findings: &[Finding], style: Style) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = [Severity::Critical, Severity::Error, Severity::Warning].map(|severity| match count(severity) {
        0 => None,
        critical if severity == Severity::Critical => Some(format!("{critical} critical")),
        others => Some(counted(others, severity.as_str())),
    });
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let total = counted(findings.len(), "finding");
    let more = match style.verbose {
        0 => "-v shows details.",
        _ => "`kibus explain CODE` describes each code.",
    };
    format!("{}: {}. {more}", style.paint.bold(&total), counts.join(", "))
}

#[cfg(test)]
mod tests;
