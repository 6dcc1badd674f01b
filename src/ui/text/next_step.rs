//! Steps that are left to a person: the Karpenter settings of each cluster, policies to attach, commands to run.

use std::collections::BTreeMap;

use super::queue_setting::{QueueSetting, Setting, chart_version};
use super::{Style, by_count, escape};
use crate::error::{Hint, Invocation, quoted};
use crate::model::document::Document;
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, QueueName};
use crate::model::options::ClusterOptions;
use crate::model::tags::Tags;
use crate::reconcile::{Controller, NextStep};
use crate::ui::{Align, Table};

/// The maximum length of a line of a command, if the terminal width is unknown.
pub const WIDTH: usize = 100;
/// The space for ` \` at the end of a continued line.
const GOES_ON: usize = 2;
/// How many clusters of one version are listed.
const LISTED: usize = 20;
/// The placeholder for the queue's name in a text for several clusters.
const ANY_QUEUE: &str = "QUEUE";

/// Steps that are left to a person, as text.
#[must_use]
pub fn next_steps(steps: &[NextStep], options: &str, style: Style) -> String {
    let texts = steps.iter().map(|step| match step {
        NextStep::Run(hint) => match &hint.command {
            None => escape(&hint.text).into_owned(),
            Some(command) => format!("{}\n{}", escape(&hint.text), indented(&command.line(options))),
        },
        NextStep::ConfigureKarpenter(controllers) => configure(controllers, options, width(style)),
        NextStep::RemindOfSettings(controllers) => remind(controllers, options),
        NextStep::DetachPolicy(controllers) => format!(
            "Kibus does not manage the controller role of {}. If you attached the policy by hand (Sid \
             KibusReadInterruptions), remove it.",
            list(controllers.iter().map(|one| &one.cluster))
        ),
        NextStep::AttachPolicy { clusters, policy } => attach(clusters, policy),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The setting with the name of the queue: one text for all clusters of a version.
fn configure(controllers: &[Controller], options: &str, width: usize) -> String {
    let command = |arguments: &str| Invocation::kibus(arguments).line(options);
    let mut text: Vec<String> = by_version(controllers)
        .into_iter()
        .map(|(version, group)| configure_version(version, &group, width, command))
        .collect();
    let check = match controllers {
        [] => return String::new(),
        [one] => command(&format!("verify --probe {}", one.cluster)),
        _ => command("verify"),
    };
    text.push(format!("Then check it:\n    {check}"));
    text.join("\n")
}

/// The settings that should be in place, and where to find the rest.
fn remind(controllers: &[Controller], options: &str) -> String {
    let mut text = String::new();
    for (version, group) in by_version(controllers) {
        text.push_str(&remind_version(version, &group));
    }
    let first = controllers.first().map_or("NAME", |one| one.cluster.as_str());
    let how = Invocation::kibus(format!("add-cluster {first} -v")).line(options);
    format!("{text}To see the commands:\n    {how}")
}

/// A policy for controller roles on which kibus manages none.
fn attach(clusters: &[Controller], policy: &Document) -> String {
    let roles = match clusters {
        [one] => format!("Attach this policy to the controller role of {}", one.cluster),
        several => format!(
            "Attach this policy to the controller roles of {}. For each cluster, replace {} with its own queue",
            list(several.iter().map(|one| &one.cluster)),
            several.first().map_or("", |one| one.queue.as_str())
        ),
    };
    format!("{roles}:\n{}", indented(&policy.pretty()))
}

/// Text indented, as a document or command to copy.
#[must_use]
pub fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn remind_version(version: Option<KarpenterVersion>, group: &[&Controller]) -> String {
    let any = ANY_QUEUE.parse().ok();
    let (whom, queue) = match group {
        [one] => (format!("{} in {}", name(version), one.cluster), Some(&one.queue)),
        _ => (name(version), any.as_ref()),
    };
    let settings = QueueSetting::new(version, queue).settings().join(" and ");
    match group {
        [_] => format!("{whom} should have {settings} in its Helm values.\n"),
        _ => format!(
            "{whom} should have {settings} in its Helm values,\n{}\n",
            queues(group).join("\n")
        ),
    }
}

fn configure_version(
    version: Option<KarpenterVersion>,
    group: &[&Controller],
    width: usize,
    command: impl Fn(&str) -> String,
) -> String {
    let karpenter = name(version);
    let setting = Setting::of(version);
    let any = ANY_QUEUE.parse().ok();
    let (whom, queue) = match group {
        [one] => (format!("{karpenter} in {}", one.cluster), Some(&one.queue)),
        _ => (karpenter, any.as_ref()),
    };
    let setting_of = QueueSetting::new(version, queue);
    let mut lines = vec![format!("Set the queue of {whom} in its Helm values:")];
    lines.extend(yaml(&setting_of).lines().map(|line| format!("    {line}")));
    lines.push(match (setting, chart_version(version)) {
        (Setting::ConfigMap, _) => "To apply it now, without an upgrade of the release:".to_owned(),
        (_, Some(_)) => format!(
            "To apply it now, if its release is karpenter in {}:",
            setting.namespace()
        ),
        (_, None) => format!(
            "To apply it now, if its release is karpenter in {}, with the installed VERSION:",
            setting.namespace()
        ),
    });
    lines.extend(setting_of.commands.iter().map(|command| shell(command, width)));
    lines.extend(queues(group));
    lines.push(match (setting, version) {
        (Setting::ConfigMap, _) => {
            "From v0.33 on this key is ignored silently; the key is settings.interruptionQueue.".to_owned()
        }
        (Setting::Both, _) => "From v0.33 on the first key is ignored silently; keep the second.".to_owned(),
        (Setting::HelmValue, Some(_)) => {
            "The older key settings.aws.interruptionQueueName is ignored silently by this version.".to_owned()
        }
        (Setting::HelmValue, None) => format!(
            "Karpenter before v0.33 is configured differently. To see how:\n    {}",
            command(&format!(
                "add-cluster {} --karpenter-version VERSION",
                group.first().map_or("NAME", |one| one.cluster.as_str())
            ))
        ),
    });
    lines.join("\n")
}

/// The queue of each cluster, for a text for several clusters.
fn queues(group: &[&Controller]) -> Vec<String> {
    if group.len() < 2 {
        return Vec::new();
    }
    let mut table = Table::new([Align::Left, Align::Left]);
    for one in group.iter().take(LISTED) {
        table.row([one.cluster.as_str(), one.queue.as_str()]);
    }
    let mut lines = vec![format!("with the {ANY_QUEUE} of each cluster:"), table.render(4, None)];
    if group.len() > LISTED {
        lines.push(format!("    and {} more", group.len() - LISTED));
    }
    lines
}

/// The steps before queues are deleted: each Karpenter stops using its queue. One for all clusters of a version.
#[must_use]
pub fn release_queues(controllers: &[Controller], width: usize) -> Vec<Hint> {
    by_version(controllers)
        .into_iter()
        .map(|(version, group)| {
            let clusters = list(group.iter().map(|one| &one.cluster));
            let karpenter = name(version);
            let why = match version {
                Some(version) if version.panics_without_queue() => "without its queue it panics at its next start",
                Some(_) => "without its queue it logs an error and retries endlessly",
                None => {
                    "without its queue v0.33 to v1.3 panics at its next start, other versions log an error and retry"
                }
            };
            let commands: Vec<String> = QueueSetting::new(version, None)
                .commands
                .iter()
                .map(|command| shell(command, width))
                .collect();
            Hint::command(
                format!("first remove the queue from the settings of {karpenter} in {clusters}: {why}"),
                unindented(&commands.join("\n")),
            )
        })
        .collect()
}

/// Commands without the margin that their hint adds.
fn unindented(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// How to check which queue a cluster's Karpenter reads.
#[must_use]
pub fn how_to_check(queue: &QueueName, tags: &Tags) -> String {
    let version = ClusterOptions::saved(tags)
        .ok()
        .and_then(|options| options.karpenter_version);
    let setting = Setting::of(version);
    let (key, shows) = if setting == Setting::HelmValue {
        (
            "settings.interruptionQueue",
            r#"get deployment karpenter -o jsonpath='{.spec.template.spec.containers[*].env[?(@.name=="INTERRUPTION_QUEUE")].value}'"#,
        )
    } else {
        (
            "settings.aws.interruptionQueueName",
            r"get configmap karpenter-global-settings -o jsonpath='{.data.aws\.interruptionQueueName}'",
        )
    };
    let kubectl = format!("kubectl -n {}", setting.namespace());
    format!(
        "  In that cluster, this prints the queue that Karpenter reads; it should be {queue} (the Helm value is {key}; a \
         wrong key is ignored silently):\n      {kubectl} {shows}\n  This prints whether Karpenter runs, and its errors \
         about the queue:\n      {kubectl} logs deployment/karpenter --tail=200"
    )
}

fn by_version(controllers: &[Controller]) -> BTreeMap<Option<KarpenterVersion>, Vec<&Controller>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for controller in controllers {
        groups.entry(controller.version).or_default().push(controller);
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| by_count(a.cluster.as_str(), b.cluster.as_str()));
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
    match names.len().checked_sub(LISTED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}

/// The longest line of a command.
fn width(style: Style) -> usize {
    style
        .width
        .map_or(WIDTH, |columns| WIDTH.min(columns.saturating_sub(GOES_ON)))
}

/// The Helm values as YAML.
fn yaml(setting: &QueueSetting) -> String {
    // Text under text always is YAML.
    serde_yaml::to_string(setting.values.value()).unwrap_or_default()
}

/// A command for a shell, indented, over several lines if it is long.
fn shell(command: &[String], width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::from("   ");
    let mut words = command.iter().peekable();
    while let Some(word) = words.next() {
        // An option stays with its value.
        let mut part = quoted(word);
        if word.starts_with('-')
            && let Some(value) = words.next_if(|next| !next.starts_with('-'))
        {
            part = format!("{part} {}", quoted(value));
        }
        if line.len() + 1 + part.len() > width {
            lines.push(format!("{line} \\"));
            line = String::from("     ");
        }
        line.push(' ');
        line.push_str(&part);
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests;
