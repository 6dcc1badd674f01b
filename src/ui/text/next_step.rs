//! Steps that are left to a person: the Karpenter settings of each cluster, policies to attach, commands to run.

use std::collections::BTreeMap;

use super::layout::{Style, Table, by_count, escape, indented};
use super::message::hint;
use crate::error::{Hint, quoted};
use crate::model::{ClusterName, Document, KarpenterVersion, first_of};
use crate::reconcile::queue_setting::{QueueSetting, Setting, chart_version, helm_settings};
use crate::reconcile::{ClusterSummary, NextStep};

/// The maximum length of a line of a command, with the margin.
const WIDTH: usize = 100;
/// The margin before a command.
const MARGIN: usize = 4;
/// The space for ` \` at the end of a continued line.
const GOES_ON: usize = 2;
/// How many clusters of one version are listed.
const LISTED: usize = 20;
/// The placeholder for the queue's name in a text for several clusters.
const ANY_QUEUE: &str = "QUEUE";

/// Steps that are left to a person, as text.
pub(in crate::ui) fn next_steps(steps: &[NextStep], style: Style) -> String {
    let texts = steps.iter().map(|step| match step {
        NextStep::Run(step) => hint(step),
        NextStep::ConfigureKarpenter { controllers, check, older } => {
            configure(controllers, check, older.as_deref(), width(style.width))
        }
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

/// The setting with the name of the queue: one text for all clusters of a version.
fn configure(controllers: &[ClusterSummary], check: &str, older: Option<&str>, width: usize) -> String {
    let mut text: Vec<String> = by_version(controllers)
        .into_iter()
        .map(|(version, group)| configure_version(version, &group, width, older))
        .collect();
    text.push(format!("Then check it:\n    {check}"));
    text.join("\n")
}

/// The settings that should be in place, and where to find the rest.
fn remind(controllers: &[ClusterSummary], show: &str) -> String {
    let mut lines = Vec::new();
    for (version, group) in by_version(controllers) {
        let (whom, queue) = whom(version, &group);
        let settings = helm_settings(&QueueSetting::new(version, queue).values).join(" and ");
        let end = if group.len() == 1 { "." } else { "," };
        lines.push(format!("{whom} should have {settings} in its Helm values{end}"));
        lines.extend(queues(&group));
    }
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
fn whom<'a>(version: Option<KarpenterVersion>, group: &[&'a ClusterSummary]) -> (String, &'a str) {
    match group {
        [one] => (format!("{} in {}", name(version), one.name), one.queue.as_str()),
        _ => (name(version), ANY_QUEUE),
    }
}

fn configure_version(
    version: Option<KarpenterVersion>,
    group: &[&ClusterSummary],
    width: usize,
    older: Option<&str>,
) -> String {
    let (whom, queue) = whom(version, group);
    let setting = Setting::of(version);
    let QueueSetting { values, commands } = QueueSetting::new(version, queue);
    // Text under text always is YAML.
    let values = serde_yaml::to_string(values.value()).unwrap_or_default();
    let installed = match chart_version(version) {
        Some(_) => "",
        None => ", with the installed VERSION",
    };
    let mut lines = vec![
        format!("Set the queue of {whom} in its Helm values:"),
        indented(&values),
        match setting {
            Setting::ConfigMap => "To apply it now, without a Helm upgrade:".to_owned(),
            Setting::Both | Setting::HelmValue => {
                format!("To apply it now, if its release is karpenter in {}{installed}:", setting.namespace())
            }
        },
        indented(&shell(&commands, width)),
    ];
    lines.extend(queues(group));
    lines.push(match (setting, version) {
        (Setting::ConfigMap, _) => {
            "From v0.33 on this key is ignored silently; the key is settings.interruptionQueue.".to_owned()
        }
        (Setting::Both, _) => "From v0.33 on the first key is ignored silently; keep the second.".to_owned(),
        (Setting::HelmValue, Some(_)) => {
            "The older key settings.aws.interruptionQueueName is ignored silently by this version.".to_owned()
        }
        (Setting::HelmValue, None) => {
            format!("Karpenter before v0.33 is configured differently. To see how:\n    {}", older.unwrap_or_default())
        }
    });
    lines.join("\n")
}

/// The queue of each cluster, for a text for several clusters.
fn queues(group: &[&ClusterSummary]) -> Vec<String> {
    if group.len() < 2 {
        return Vec::new();
    }
    let mut table = Table::default();
    for one in group.iter().take(LISTED) {
        table.row([one.name.as_str(), one.queue.as_str()]);
    }
    let mut lines = vec![format!("with the {ANY_QUEUE} of each cluster:"), table.render(4, None)];
    if group.len() > LISTED {
        lines.push(format!("    and {} more", group.len() - LISTED));
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

/// The steps before queues are deleted: each Karpenter stops using its queue. One for all clusters of a version, with
/// commands that fit into these columns.
pub(in crate::ui) fn release_queues(controllers: &[ClusterSummary], columns: Option<usize>) -> Vec<Hint> {
    by_version(controllers)
        .into_iter()
        .map(|(version, group)| {
            let clusters = list(group.iter().map(|one| &one.name));
            let karpenter = name(version);
            let why = match version {
                Some(version) if version.panics_without_queue() => "if its queue is missing, it panics at its next start",
                Some(_) => "if its queue is missing, it logs an error and retries indefinitely",
                None => {
                    "if its queue is missing, Karpenter v0.33 to v1.3 panics at its next start; other versions log an error and \
                     retry indefinitely"
                }
            };
            Hint::command(
                format!("first remove the queue from the settings of {karpenter} in {clusters}: {why}"),
                shell(&QueueSetting::new(version, "").commands, width(columns)),
            )
        })
        .collect()
}

fn by_version(controllers: &[ClusterSummary]) -> BTreeMap<Option<KarpenterVersion>, Vec<&ClusterSummary>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for controller in controllers {
        groups.entry(controller.version).or_default().push(controller);
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| by_count(a.name.as_str(), b.name.as_str()));
    }
    groups
}

fn name(version: Option<KarpenterVersion>) -> String {
    version.map_or_else(|| "Karpenter".to_owned(), |version| format!("Karpenter {version}"))
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

/// Commands for a shell, each over several lines if it is longer than `width` with its margin.
fn shell(commands: &[Vec<String>], width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for command in commands {
        let mut words = command.iter().peekable();
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
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
