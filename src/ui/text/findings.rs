//! Findings as text: a line each, with its code; below it the meaning, and the fields that differ.

use std::collections::BTreeSet;

use console::measure_text_width;

use super::Style;
use super::columns::{NAME_COLUMN, NARROW};
use super::escape::escape;
use super::fold::fold;
use super::plan::{field_lines, sign};
use crate::error::{Hint, Invocation};
use crate::plan::Plan;
use crate::plan::finding::{Finding, Fix, Subject};
use crate::reconcile::Intent;
use crate::ui::Heading;
use crate::ui::table::gap;

/// All findings of one hub. `clusters` says how many were checked; `options` are the global options that commands need.
#[must_use]
pub fn findings(heading: &Heading, clusters: &str, intent: &Intent, options: &str, style: Style) -> String {
    let Intent { plan, findings, .. } = intent;
    let title = super::heading(heading, style);
    let mut lines = vec![format!("{title} · {clusters}"), String::new()];
    let width = |words: fn(&Finding) -> String| findings.iter().map(move |finding| words(finding).chars().count());
    let kinds = width(|finding| words(finding).0).max().unwrap_or(0);
    let names = width(|finding| words(finding).1)
        .filter(|width| *width <= NAME_COLUMN)
        .max()
        .unwrap_or(0);
    let mut explained = BTreeSet::new();
    for finding in findings {
        let (kind, name) = words(finding);
        let name = escape(&name).into_owned();
        let begin = format!("  {} {kind}{}  {name}", mark(finding, plan, style), gap(&kind, kinds));
        let message = escape(&finding.message);
        let says = format!("{} {message}", style.paint.bold(finding.code.as_str()));
        let line = format!("{begin}{}  {says}", gap(&name, names));
        let mut below = Vec::new();
        if style.width.is_none_or(|width| measure_text_width(&line) <= width) {
            lines.push(line);
        } else {
            lines.extend([begin, format!("      {says}")]);
        }
        // The meaning of a code is printed once.
        if explained.insert(finding.code) {
            below.push(finding.code.meaning().to_owned());
        }
        if let Fix::Advice(hint) = &finding.fix {
            let open = hint.command.is_some() && !hint.text.ends_with(':');
            let colon = if open { ":" } else { "" };
            below.push(format!("to fix: {}{colon}", escape(&hint.text)));
        }
        let room = style
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(6).max(NARROW));
        for text in below {
            lines.extend(
                fold(&text, room)
                    .iter()
                    .map(|line| format!("      {}", style.paint.dim(line))),
            );
        }
        if let Fix::Advice(Hint {
            command: Some(command), ..
        }) = &finding.fix
        {
            lines.push(format!("        {}", escape(&command.line(options))));
        }
        let change = finding.change.and_then(|place| plan.changes.get(place));
        if let Some(change) = change.filter(|change| change.before.is_some() && change.after.is_some()) {
            let width = change.fields.iter().map(|field| field.path.chars().count()).max();
            let width = width.unwrap_or(0).min(NAME_COLUMN);
            lines.extend(
                change
                    .fields
                    .iter()
                    .flat_map(|field| field_lines(field, width, style, is_and_should_be)),
            );
        }
    }
    lines.push(String::new());
    lines.extend(last_lines(findings, &fixes(findings, options), style));
    lines.join("\n")
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

fn is_and_should_be(old: &str, new: &str) -> String {
    format!("is {old}, should be {new}")
}

fn words(finding: &Finding) -> (String, String) {
    match &finding.subject {
        Subject::Resource(id) => (id.label().to_owned(), super::name(id)),
        Subject::Cluster(_) | Subject::Other(_) => (finding.kind().to_owned(), finding.name()),
    }
}

/// The sign of the change that fixes it, or a mark if no plan fixes it.
fn mark(finding: &Finding, plan: &Plan, style: Style) -> String {
    match finding.change.and_then(|place| plan.changes.get(place)) {
        Some(change) => sign(change.action, style.paint),
        None if finding.code.is_unknown_state() => style.paint.yellow("?"),
        None => style.paint.red("!"),
    }
}
