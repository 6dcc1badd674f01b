//! What other tools set up for Karpenter, as text: a line for each queue, what is wrong, which rules stay, and how to remove the
//! others.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::layout::{Style, Table, capitalized, escape, sentences};
use super::message::hint;
use crate::discover::{Discovery, FoundQueue, FoundRule, Readership, Removal};
use crate::model::{ClusterName, RuleName, Scope, by_count, counted};

/// The indentation of tables.
const INDENT: usize = 2;
/// What stands for the name of a cluster, or a number, that is unknown.
const UNKNOWN: &str = "?";

/// The whole report, without the commands that move the clusters.
pub fn discovery(scope: &Scope, found: &Discovery, style: Style) -> String {
    let mut queues: Vec<&FoundQueue> = found.queues.iter().collect();
    queues.sort_by(|a, b| order(a, b));
    let mut lines = vec![super::heading(scope, style), String::new()];
    lines.push(sentences(&summary(found), style));
    if !queues.is_empty() {
        lines.extend([String::new(), table(&queues, style)]);
    }
    lines.extend(section("Readers", warnings(found, &queues), style));
    lines.extend(section("Rules that stay", kept(found, &queues), style));
    lines.extend(section("To remove the other rules, once the clusters are on the bus", removals(&queues), style));
    lines.join("\n")
}

/// By cluster, as people count; those without one last.
fn order(a: &FoundQueue, b: &FoundQueue) -> Ordering {
    let name = |queue: &FoundQueue| queue.cluster.as_ref().map_or(String::new(), ToString::to_string);
    let is_unknown = a.cluster.is_none().cmp(&b.cluster.is_none());
    is_unknown.then_with(|| by_count(&name(a), &name(b))).then_with(|| by_count(a.name.as_str(), b.name.as_str()))
}

fn summary(found: &Discovery) -> String {
    let Discovery { rules, rule_limit, rules_of_kibus, queues, unread, .. } = found;
    let sending: BTreeSet<&RuleName> = queues.iter().flat_map(|queue| &queue.rules).map(|rule| &rule.name).collect();
    let bus = format!("The default event bus has {rules} of {rule_limit} rules (default limit).");
    let (bus, none, other) = match rules_of_kibus {
        0 => (bus, "None sends", ["sends", "send"]),
        _ => {
            (format!("{bus} {rules_of_kibus} of them are of kibus."), "No other sends", ["other sends", "others send"])
        }
    };
    let sending = match sending.len() {
        0 if !unread.is_empty() => return format!("{bus} Which of them send Karpenter's events to queues is unknown."),
        0 => return format!("{bus} {none} Karpenter's events to a queue."),
        1 => format!("1 {}", other[0]),
        several => format!("{several} {}", other[1]),
    };
    let sent: Vec<u64> = queues.iter().filter_map(|queue| queue.messages_sent).collect();
    let day = match sent.iter().sum::<u64>() {
        _ if sent.is_empty() => String::new(),
        sum => format!(
            " {} received {} in the last day.",
            capitalized(&counted(sent.len(), "queue")),
            counted(sum, "message")
        ),
    };
    format!("{bus} {sending} Karpenter's events to {}.{day}", counted(queues.len(), "queue"))
}

fn table(queues: &[&FoundQueue], style: Style) -> String {
    let paint = style.paint;
    let mut table = Table::with_numbers([3, 4]).and_names([0, 1]);
    table.row(["cluster", "queue", "created by", "rules", "messages/day", "read"].map(|title| paint.dim(title)));
    for queue in queues {
        let read = match queue.reader {
            Readership::Reads => "yes".to_owned(),
            Readership::Seldom => paint.yellow("seldom"),
            Readership::Nothing => paint.red("no"),
            Readership::NoQueue => paint.red("no queue"),
            Readership::Unknown => paint.yellow("unknown"),
        };
        table.row([
            queue.cluster.as_ref().map_or(UNKNOWN, ClusterName::as_str).to_owned(),
            queue.name.to_string(),
            queue.made_by.as_str().to_owned(),
            queue.rules.len().to_string(),
            queue.messages_sent.map_or(UNKNOWN.to_owned(), |sent| sent.to_string()),
            read,
        ]);
    }
    table.render(INDENT, style.width)
}

/// A heading with its lines; nothing without lines.
fn section(title: &str, lines: Vec<String>, style: Style) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let title = style.paint.bold(&format!("{title}:"));
    let lines = lines.into_iter().map(|line| sentences(&line, style));
    [String::new(), title].into_iter().chain(lines).collect()
}

fn warnings(found: &Discovery, queues: &[&FoundQueue]) -> Vec<String> {
    let mut lines: Vec<String> = queues.iter().filter_map(|queue| queue.warning.clone()).collect();
    let unknown = queues.iter().filter(|queue| queue.reader == Readership::Unknown).count();
    // Where CloudWatch did not answer, a warning says so.
    if unknown > 0 && found.unmeasured.is_none() {
        lines.push(format!("unknown for {}: CloudWatch has no data of the last day", counted(unknown, "queue")));
    }
    lines.iter().map(|line| format!("- {}", escape(line))).collect()
}

/// A rule that sends to several queues is one line.
fn kept(found: &Discovery, queues: &[&FoundQueue]) -> Vec<String> {
    let of_queues = queues.iter().flat_map(|queue| &queue.rules);
    let line = |FoundRule { name, reason, .. }: &FoundRule| Some(format!("- `{name}`: {}", escape(reason.as_ref()?)));
    let mut lines = Vec::new();
    for line in of_queues.chain(&found.rules_elsewhere).filter_map(line) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn removals(queues: &[&FoundQueue]) -> Vec<String> {
    let name = |queue: &&FoundQueue| match &queue.cluster {
        Some(cluster) => cluster.to_string(),
        None => format!("queue {}", queue.name),
    };
    let line = |removal: &Removal| {
        let of = queues.iter().filter(|queue| removal.queues.contains(&queue.name));
        let names: Vec<String> = of.map(name).collect();
        let rules = counted(removal.rules, "rule");
        capitalized(&format!("- {} ({rules}): {}", names.join(", "), hint(&removal.way)))
    };
    queues.iter().flat_map(|queue| &queue.removals).map(line).collect()
}
