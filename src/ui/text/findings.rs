//! Findings as text: a line each, with its code; below it the meaning, and the fields that differ.

use std::collections::BTreeSet;

use console::measure_text_width;

use super::Style;
use super::columns::{Columns, NAME_COLUMN};
use super::escape::escape;
use super::fold::fold;
use super::plan::{field_lines, sign};
use crate::error::{Hint, Invocation};
use crate::plan::Change;
use crate::plan::finding::{Finding, Fix, Subject};
use crate::reconcile::Intent;
use crate::ui::Heading;

/// All findings of one hub. `clusters` says how many were checked; `options` are the global options that commands need.
#[must_use]
pub fn findings(heading: &Heading, clusters: &str, intent: &Intent, options: &str, style: Style) -> String {
    let Intent { plan, findings, .. } = intent;
    let mut lines = vec![
        format!("{} · {clusters}", super::heading(heading, style)),
        String::new(),
    ];
    let columns = Columns::of(findings.iter().map(words), style);
    let mut explained = BTreeSet::new();
    for finding in findings {
        let change = finding.change.and_then(|place| plan.changes.get(place));
        lines.extend(row(finding, change, columns, style));
        // The meaning of a code is printed once.
        if explained.insert(finding.code) {
            lines.extend(below(finding.code.meaning(), style));
        }
        if let Fix::Advice(hint) = &finding.fix {
            lines.extend(advice(hint, options, style));
        }
        lines.extend(change.into_iter().flat_map(|change| differences(change, style)));
    }
    lines.push(String::new());
    lines.extend(last_lines(findings, &fixes(findings, options), style));
    lines.join("\n")
}

/// The subject, the code and the message, on two lines if one is too long.
fn row(finding: &Finding, change: Option<&Change>, columns: Columns, style: Style) -> Vec<String> {
    let (kind, name) = words(finding);
    let (mark, name) = (mark(finding, change, style), escape(&name));
    let says = format!(
        "{} {}",
        style.paint.bold(finding.code.as_str()),
        escape(&finding.message)
    );
    let line = |about: &str| columns.line(&mark, kind, &name, about);
    let whole = line(&says);
    match style.width.is_none_or(|width| measure_text_width(&whole) <= width) {
        true => vec![whole],
        false => vec![line(""), format!("      {says}")],
    }
}

/// An explanation below a finding.
fn below(text: &str, style: Style) -> Vec<String> {
    let lines = fold(text, style.room(6)).into_iter();
    lines.map(|line| format!("      {}", style.paint.dim(&line))).collect()
}

/// What to do, and the command for it, if any.
fn advice(hint: &Hint, options: &str, style: Style) -> Vec<String> {
    let open = hint.command.is_some() && !hint.text.ends_with(':');
    let colon = if open { ":" } else { "" };
    let mut lines = below(&format!("to fix: {}{colon}", escape(&hint.text)), style);
    let command = hint.command.as_ref();
    lines.extend(command.map(|command| format!("        {}", escape(&command.line(options)))));
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

/// How many findings there are, and the commands that fix them.
fn last_lines(findings: &[Finding], fixes: &[String], style: Style) -> Vec<String> {
    let count = match findings.len() {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let count = style.paint.bold(&count);
    if fixes.is_empty() {
        return vec![format!("{count}. `kibus explain CODE` describes each code.")];
    }
    let by_hand = |finding: &Finding| matches!(finding.fix, Fix::Advice(_));
    let what = match findings {
        [_] => "it",
        _ if findings.iter().any(by_hand) => "what commands can fix",
        _ => "them",
    };
    let commands = fixes.iter().map(|command| format!("    {command}"));
    std::iter::once(format!("{count}. To fix {what}:"))
        .chain(commands)
        .collect()
}

/// The commands that fix these findings, the hub's first, each once.
fn fixes(findings: &[Finding], options: &str) -> Vec<String> {
    let (mut hub, mut others) = (None, BTreeSet::new());
    let mut add = BTreeSet::new();
    for finding in findings {
        match &finding.fix {
            Fix::BootstrapHub => hub = Some(Invocation::kibus("bootstrap-hub")),
            Fix::AddCluster(name) => drop(add.insert(name.as_str())),
            Fix::Command(command) => drop(others.insert(command.clone())),
            Fix::Advice(_) => {}
        }
    }
    let names: Vec<&str> = add.into_iter().collect();
    let add = (!names.is_empty()).then(|| Invocation::kibus(format!("add-cluster {}", names.join(" "))));
    let commands = hub.into_iter().chain(add).chain(others);
    commands.map(|command| command.line(options)).collect()
}

fn words(finding: &Finding) -> (&'static str, String) {
    match &finding.subject {
        Subject::Resource(id) => (id.label(), super::name(id)),
        Subject::Cluster(_) | Subject::Other(_) => (finding.kind(), finding.name()),
    }
}

/// The sign of the change that fixes it, or a mark if no plan fixes it.
fn mark(finding: &Finding, change: Option<&Change>, style: Style) -> String {
    match change {
        Some(change) => sign(change.action, style.paint),
        None if finding.code.is_unknown_state() => style.paint.yellow("?"),
        None => style.paint.red("!"),
    }
}
