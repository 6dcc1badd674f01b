//! Messages as text: errors, warnings and steps; and findings, one line each with severity and code.

use std::collections::BTreeSet;

use super::layout::{Style, escape, fold, hanging, indented, name};
use super::plan::{NAME_COLUMN, field_lines, heading_of};
use crate::error::{Error, Hint};
use crate::message::{Fix, Message, MessageKind, Subject};
use crate::model::{Scope, Severity, counted, first_of};
use crate::plan::Change;
use crate::reconcile::Intent;

/// The column at which the text of a finding begins.
const TEXT: usize = 18;

/// What failed, why, the current state, and the next step. Each command has its own line, and nothing else does: text
/// from outside could otherwise look like a command.
pub(in crate::ui) fn error(error: &Error, style: Style) -> String {
    let mut lines = vec![titled(&style.paint.red("error:"), &error.message, style)];
    let below = |text: &str| hanging("", 2, &escape(text), style);
    lines.extend(error.notes.iter().flat_map(|note| below(note)));
    for Hint { text, command } in &error.hints {
        let end = match command {
            Some(_) if !text.ends_with([':', '.']) => ":",
            _ => "",
        };
        if !text.is_empty() {
            lines.extend(below(&format!("{text}{end}")));
        }
        let command = command.as_deref().unwrap_or_default();
        let command = command.lines().map(|line| format!("      {}", style.paint.bold(&escape(line))));
        lines.extend(command);
    }
    lines.join("\n")
}

/// A warning, and the command to copy, if any.
pub(in crate::ui) fn warning(Hint { text, command }: &Hint, style: Style) -> String {
    let title = titled(&style.paint.yellow("warning:"), text, style);
    let command = command.iter().flat_map(|command| command.lines()).map(|line| format!("    {}", escape(line)));
    std::iter::once(title).chain(command).collect::<Vec<_>>().join("\n")
}

/// A hint: the sentence and, below it, the command to copy, if any.
pub(in crate::ui) fn hint(hint: &Hint) -> String {
    let text = escape(&hint.text);
    match &hint.command {
        None => text.into_owned(),
        Some(command) => format!("{text}\n{}", indented(command)),
    }
}

/// Text after a title. Its continuation lines are indented.
fn titled(title: &str, text: &str, style: Style) -> String {
    fold(&format!("{title} {}", escape(text)), style.room(2)).join("\n  ")
}

/// All findings of one hub, with the commands that fix them. `clusters` is the number of checked clusters. With `-v`,
/// it also shows what was checked, what each code means and what differs.
pub fn findings(scope: &Scope, clusters: &str, intent: &Intent, fixes: &[Hint], style: Style) -> String {
    let Intent { plan, findings, .. } = intent;
    let mut lines = vec![heading_of("hub", scope, &format!(" · {clusters}"), style), String::new()];
    if style.verbose > 0 {
        lines.extend(passed(&intent.passed, style));
    }
    let mut explained = BTreeSet::new();
    // Findings of several clusters with the same cause; with -v, each has its own line, with the differences.
    let is_same = |one: &Message, other: &Message| {
        let cause = |one: &Message| (one.code, one.severity, one.kind_of_subject(), one.cluster.is_some());
        style.verbose == 0 && one.cluster.is_some() && cause(one) == cause(other) && one.sentence == other.sentence
    };
    for group in grouped(findings, is_same) {
        let finding = group[0];
        lines.extend(row(&group, style));
        // The meaning of each code is printed once.
        let meaning = finding.code.filter(|code| style.verbose > 0 && explained.insert(*code));
        lines.extend(meaning.into_iter().flat_map(|code| below(code.meaning(), style)));
        if let Fix::Advice(steps) = &finding.fix {
            let first = match (&finding.cluster, group.len()) {
                (Some(cluster), 2..) => format!("fix each, like {cluster}: "),
                _ => "fix: ".to_owned(),
            };
            let starts = std::iter::once(first.as_str()).chain(std::iter::repeat(""));
            lines.extend(starts.zip(steps).flat_map(|(start, step)| advice(start, step, style)));
        }
        let change = finding.change.and_then(|place| plan.changes.get(place)).filter(|_| style.verbose > 0);
        lines.extend(change.into_iter().flat_map(|change| differences(change, style)));
    }
    lines.push(String::new());
    lines.extend(fold(&summary(findings, style), style.room(0)));
    lines.extend(fixes.iter().map(hint));
    lines.join("\n")
}

/// What was checked without finding a problem.
pub fn passed(messages: &[Message], style: Style) -> Vec<String> {
    messages.iter().flat_map(|message| row(&[message], style)).collect()
}

/// Groups of equal findings, in the order of the first finding of each.
pub(super) fn grouped<'a>(
    findings: impl IntoIterator<Item = &'a Message>,
    is_same: impl Fn(&Message, &Message) -> bool,
) -> Vec<Vec<&'a Message>> {
    let mut groups: Vec<Vec<&Message>> = Vec::new();
    for finding in findings {
        match groups.iter_mut().find(|group| is_same(group[0], finding)) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// The maximum number of subjects with the same finding in a line.
const NAMED: usize = 3;

/// The severity or a check mark, the code, the subjects and their common sentence.
fn row(messages: &[&Message], style: Style) -> Vec<String> {
    let message = messages[0];
    let names = messages.iter().map(|message| match &message.about {
        Subject::Resource(id) => name(id),
        Subject::Cluster(cluster) => cluster.to_string(),
        Subject::Other(what) => what.clone(),
    });
    let kind = match &message.about {
        Subject::Resource(id) => id.label(),
        Subject::Cluster(_) => "cluster",
        Subject::Other(_) => "",
    };
    let subject = format!("{kind} {}", first_of(names, NAMED));
    let subject = subject.trim_start();
    let word = format!("{:8}", message.severity.as_str());
    let word = match (message.kind, message.severity) {
        (MessageKind::Passed, _) => style.paint.green(&format!("{:8}", "✓ ok")),
        (_, Severity::Critical | Severity::Error) => style.paint.red(&word),
        (_, Severity::Warning) => style.paint.yellow(&word),
    };
    let code = format!("{:4}", message.code.map_or("", |code| code.as_str()));
    let lead = format!("  {word}  {}", style.paint.bold(&code));
    hanging(&lead, TEXT, &escape(&format!("{subject}: {}", message.sentence)), style)
}

/// An explanation below a finding.
fn below(text: &str, style: Style) -> Vec<String> {
    hanging("", 6, &style.paint.dim(text), style)
}

/// What to do, and the command for it, if any.
fn advice(start: &str, Hint { text, command }: &Hint, style: Style) -> Vec<String> {
    let open = command.is_some() && !text.ends_with(':');
    let colon = if open { ":" } else { "" };
    let mut lines = below(&format!("{start}{}{colon}", escape(text)), style);
    lines.extend(command.iter().map(|command| format!("        {}", escape(command))));
    lines
}

/// The fields of a resource that differ.
fn differences(change: &Change, style: Style) -> Vec<String> {
    if change.before.is_none() || change.after.is_none() {
        return Vec::new();
    }
    let fields = change.fields.iter();
    let width = fields.clone().map(|field| field.path.chars().count()).max().unwrap_or(0).min(NAME_COLUMN);
    let inline = |old: &str, new: &str| format!("is {old}, should be {new}");
    fields.flat_map(|field| field_lines(field, width, style, inline)).collect()
}

/// The number of findings of each severity, and how to see more.
fn summary(findings: &[Message], style: Style) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = [
        (Severity::Critical, format!("{} critical", count(Severity::Critical))),
        (Severity::Error, counted(count(Severity::Error), "error")),
        (Severity::Warning, counted(count(Severity::Warning), "warning")),
    ];
    let counts = counts.into_iter().filter(|(severity, _)| count(*severity) > 0);
    let counts: Vec<String> = counts.map(|(_, text)| text).collect();
    let total = style.paint.bold(&counted(findings.len(), "finding"));
    let more = match style.verbose {
        0 => "-v shows details.",
        _ => "`kibus explain CODE` describes each code.",
    };
    format!("{total}: {}. {more}", counts.join(", "))
}

#[cfg(test)]
mod tests;
