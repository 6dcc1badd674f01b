//! Steps that are left to a person: the Karpenter settings of each cluster, policies to attach, commands to run.

use std::collections::BTreeMap;

use super::layout::{Style, Table, by_count, escape, indented};
use super::message::hint;
use crate::error::{Hint, quoted};
use crate::model::{ClusterName, Document, first_of};
use crate::reconcile::{ClusterSummary, NextStep, queue_setting};

/// The maximum length of a line of a command, with the margin.
const WIDTH: usize = 100;
/// The margin before a command.
const MARGIN: usize = 4;
/// The space for ` \` at the end of a continued line.
const GOES_ON: usize = 2;
/// How many clusters are listed.
const LISTED: usize = 20;
/// The placeholder for the queue's name in a text for several clusters.
const ANY_QUEUE: &str = "QUEUE";

/// Steps that are left to a person, as text.
pub(in crate::ui) fn next_steps(steps: &[NextStep], style: Style) -> String {
    let texts = steps.iter().map(|step| match step {
        NextStep::Run(step) => hint(step),
        NextStep::ConfigureKarpenter { controllers, check } => configure(controllers, check, width(style.width)),
        NextStep::RemindOfSettings { controllers, show } => remind(controllers, show),
        NextStep::DetachPolicy(controllers) => format!(
            "Kibus does not manage the controller role of {}. If you attached the policy by hand (Sid \
             KibusReadInterruptions), remove it.",
            list(controllers.iter().map(|one| &one.name))
        ),
        NextStep::AttachPolicy { clusters, policy } => attach(clusters, policy),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The setting with the name of the queue: one text for all clusters.
fn configure(controllers: &[ClusterSummary], check: &str, width: usize) -> String {
    let (whom, queue) = whom(controllers);
    // Text under text always is YAML.
    let values = serde_yaml::to_string(queue_setting::values(queue).value()).unwrap_or_default();
    let mut lines = vec![
        format!("Set the queue of {whom} in its Helm values:"),
        indented(&values),
        format!(
            "To apply it now, if its release is karpenter in {}, with the installed VERSION:",
            queue_setting::NAMESPACE
        ),
        indented(&shell(&queue_setting::helm_upgrade(queue), width)),
    ];
    lines.extend(queues(controllers));
    lines.push(format!("Before Karpenter v0.33, the key is {}.", queue_setting::OLDER_KEY));
    lines.push(format!("Then check it:\n    {check}"));
    lines.join("\n")
}

/// The setting that should be in place, and where to find the rest.
fn remind(controllers: &[ClusterSummary], show: &str) -> String {
    let (whom, queue) = whom(controllers);
    let end = if controllers.len() == 1 { "." } else { "," };
    let mut lines = vec![format!("{whom} should have {} in its Helm values{end}", queue_setting::assignment(queue))];
    lines.extend(queues(controllers));
    lines.push(format!("To see the commands:\n    {show}"));
    lines.join("\n")
}

/// A policy for controller roles on which kibus manages none.
fn attach(clusters: &[ClusterSummary], policy: &Document) -> String {
    let roles = match clusters {
        [one] => format!("Attach this policy to the controller role of {}", one.name),
        several => format!(
            "Attach this policy to the controller roles of {}. For each cluster, replace {} with its own queue",
            list(several.iter().map(|one| &one.name)),
            several.first().map_or("", |one| one.queue.as_str())
        ),
    };
    format!("{roles}:\n{}", indented(&policy.pretty()))
}

/// Whose setting a text is about, and the queue in it.
fn whom(controllers: &[ClusterSummary]) -> (String, &str) {
    match controllers {
        [one] => (format!("Karpenter in {}", one.name), one.queue.as_str()),
        _ => ("Karpenter".to_owned(), ANY_QUEUE),
    }
}

/// The queue of each cluster, for a text for several clusters.
fn queues(controllers: &[ClusterSummary]) -> Vec<String> {
    if controllers.len() < 2 {
        return Vec::new();
    }
    let mut sorted: Vec<&ClusterSummary> = controllers.iter().collect();
    sorted.sort_by(|a, b| by_count(a.name.as_str(), b.name.as_str()));
    let mut table = Table::default();
    for one in sorted.iter().take(LISTED) {
        table.row([one.name.as_str(), one.queue.as_str()]);
    }
    let mut lines = vec![format!("with the {ANY_QUEUE} of each cluster:"), table.render(4, None)];
    if sorted.len() > LISTED {
        lines.push(format!("    and {} more", sorted.len() - LISTED));
    }
    lines
}

/// What the controller roles of clusters were found by: one line for all roles that the same shows.
pub(in crate::ui) fn found_roles(clusters: &[ClusterSummary]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<&ClusterSummary>> = BTreeMap::new();
    for cluster in clusters.iter().filter(|cluster| !cluster.found_by.is_empty()) {
        let sources: Vec<String> = cluster.found_by.iter().map(ToString::to_string).collect();
        groups.entry(sources.join(", ")).or_default().push(cluster);
    }
    let line = |(sources, group): (String, Vec<&ClusterSummary>)| {
        let sources = escape(&sources).into_owned();
        match (group.as_slice(), group[0].controller_role.as_ref()) {
            ([one], Some(role)) => format!("role `{role}` of cluster `{}` was found by: {sources}", one.name),
            _ => format!("roles of clusters {} were found by: {sources}", list(group.iter().map(|one| &one.name))),
        }
    };
    groups.into_iter().map(line).collect()
}

/// The step before queues are deleted: each Karpenter stops using its queue. The command fits into these columns.
pub(in crate::ui) fn release_queues(controllers: &[ClusterSummary], columns: Option<usize>) -> Option<Hint> {
    let clusters = list(controllers.iter().map(|one| &one.name));
    (!controllers.is_empty()).then(|| {
        Hint::command(
            format!(
                "first remove the queue from the settings of Karpenter in {clusters}: if its queue is missing, Karpenter v0.33 to \
                 v1.3 panics at its next start; other versions log an error and retry indefinitely"
            ),
            shell(&queue_setting::helm_upgrade(""), width(columns)),
        )
    })
}

/// The names of clusters, shortened after a few.
fn list<'a>(clusters: impl Iterator<Item = &'a ClusterName>) -> String {
    let mut names: Vec<&str> = clusters.map(ClusterName::as_str).collect();
    names.sort_by(|a, b| by_count(a, b));
    first_of(names, LISTED)
}

/// The longest line of a command.
fn width(columns: Option<usize>) -> usize {
    columns.map_or(WIDTH, |columns| WIDTH.min(columns.saturating_sub(GOES_ON)))
}

/// A command for a shell, over several lines if it is longer than `width` with its margin.
fn shell(command: &[String], width: usize) -> String {
    let mut words = command.iter().peekable();
    let mut lines: Vec<String> = Vec::new();
    let mut line = words.next().map(|program| quoted(program)).unwrap_or_default();
    while let Some(word) = words.next() {
        let mut part = quoted(word);
        // An option stays with its value.
        if word.starts_with('-')
            && let Some(value) = words.next_if(|next| !next.starts_with('-'))
        {
            part = format!("{part} {}", quoted(value));
        }
        if MARGIN + line.len() + 1 + part.len() > width {
            lines.push(format!("{line} \\"));
            line = String::from(" ");
        }
        line.push(' ');
        line.push_str(&part);
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests;
