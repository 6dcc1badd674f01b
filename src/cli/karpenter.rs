//! The words for Karpenter's own side: how each controller is told its queue, and that it must be told to let go of
//! the queue before the queue goes.

use std::collections::BTreeMap;

use super::context::Context;
use super::global::quoted;
use crate::model::karpenter::{KarpenterVersion, Setting};
use crate::model::name::{ClusterName, QueueName};
use crate::model::queue_setting::{QueueSetting, namespace};
use crate::ui::text::by_count;
use crate::ui::{Align, Table};

/// Lines of commands longer than this go on in the next, where no terminal says otherwise.
const WIDTH: usize = 100;
/// The room for ` \` at the end of a line that goes on in the next.
const GOES_ON: usize = 2;
/// How many clusters of one version are listed.
const LISTED: usize = 20;
/// Stands for a queue's name where several clusters share a text.
const ANY_QUEUE: &str = "QUEUE";

/// A Karpenter: its cluster, the queue it is to read, its version if that was told.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub(super) cluster: ClusterName,
    pub(super) queue: QueueName,
    pub(super) version: Option<KarpenterVersion>,
}

/// What is left to do in the clusters: each Karpenter is told its queue. One text for all of a version.
pub(super) fn tell(context: &Context<'_>, controllers: &[Controller]) -> String {
    let mut text: Vec<String> = by_version(controllers)
        .into_iter()
        .map(|(version, group)| tell_version(version, &group, width(context), |rest| context.command(rest)))
        .collect();
    let check = match controllers {
        [] => return String::new(),
        [one] => context.command(&format!("verify {}", one.cluster)),
        _ => context.command("verify"),
    };
    text.push(format!("then see that all is well:\n    {check}"));
    text.join("\n")
}

/// What each Karpenter should have been told before, for someone who has lost it: the one setting, and where to find
/// the rest.
pub(super) fn remind(context: &Context<'_>, controllers: &[Controller]) -> String {
    let mut text = String::new();
    for (version, group) in by_version(controllers) {
        text.push_str(&remind_version(version, &group));
    }
    let first = controllers.first().map_or("NAME", |one| one.cluster.as_str());
    let how = context.command(&format!("add-cluster {first} -v"));
    format!("{text}To see how to tell it:\n    {how}")
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

fn tell_version(
    version: Option<KarpenterVersion>,
    group: &[&Controller],
    width: usize,
    command: impl Fn(&str) -> String,
) -> String {
    let karpenter = name(version);
    let setting = version.map_or(Setting::HelmValue, KarpenterVersion::setting);
    let any = ANY_QUEUE.parse().ok();
    let (whom, queue) = match group {
        [one] => (format!("{karpenter} in {}", one.cluster), Some(&one.queue)),
        _ => (karpenter, any.as_ref()),
    };
    let told = QueueSetting::new(version, queue);
    let mut lines = vec![format!("Tell {whom} to read its queue, in its Helm values:")];
    lines.extend(yaml(&told).lines().map(|line| format!("    {line}")));
    lines.push(match (setting, version.and_then(KarpenterVersion::chart_version)) {
        (Setting::ConfigMap, _) => "and at once, without an upgrade of the release:".to_owned(),
        (_, Some(_)) => format!("and at once, if its release is karpenter in {}:", namespace(setting)),
        (_, None) => format!(
            "and at once, if its release is karpenter in {}, with the VERSION that is installed:",
            namespace(setting)
        ),
    });
    lines.extend(told.commands.iter().map(|command| shell(command, width)));
    lines.extend(queues(group));
    lines.push(match (setting, version) {
        (Setting::ConfigMap, _) => {
            "From v0.33 on this key is ignored silently: it is settings.interruptionQueue then.".to_owned()
        }
        (Setting::Both, _) => "From v0.33 on the first key is ignored silently: keep the second.".to_owned(),
        (Setting::HelmValue, Some(_)) => {
            "The older key settings.aws.interruptionQueueName is ignored silently by this version.".to_owned()
        }
        (Setting::HelmValue, None) => format!(
            "Karpenter before v0.33 is told otherwise; to see how:\n    {}",
            command(&format!(
                "add-cluster {} --karpenter-version VERSION",
                group.first().map_or("NAME", |one| one.cluster.as_str())
            ))
        ),
    });
    lines.join("\n")
}

/// Which queue is whose, where several clusters share a text.
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

/// The steps that must come before queues go, one for all clusters of a version; each may take several lines.
pub(super) fn let_go(context: &Context<'_>, controllers: &[Controller]) -> Vec<String> {
    let_go_within(width(context), controllers)
}

fn let_go_within(width: usize, controllers: &[Controller]) -> Vec<String> {
    by_version(controllers)
        .into_iter()
        .map(|(version, group)| {
            let clusters = list(group.iter().map(|one| &one.cluster));
            let karpenter = name(version);
            let why = match version {
                Some(version) if version.panics_without_queue() => "without its queue it panics at its next start",
                Some(_) => "without its queue it logs an error and tries again, without end",
                None => {
                    "v0.33 to v1.3 panics at its next start without its queue, others log an error and try again, \
                     without end"
                }
            };
            let commands: Vec<String> = QueueSetting::new(version, None)
                .commands
                .iter()
                .map(|command| shell(command, width))
                .collect();
            format!(
                "first take the queue out of {karpenter}'s settings in {clusters}: {why}\n{}",
                commands.join("\n")
            )
        })
        .collect()
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

/// The names of clusters, as many as one can read.
pub(super) fn list<'a>(clusters: impl Iterator<Item = &'a ClusterName>) -> String {
    let mut names: Vec<&str> = clusters.map(ClusterName::as_str).collect();
    names.sort_by(|a, b| by_count(a, b));
    match names.len().checked_sub(LISTED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}

/// How long the lines of commands may get.
fn width(context: &Context<'_>) -> usize {
    let terminal = context.ui.result_style().width;
    terminal.map_or(WIDTH, |columns| WIDTH.min(columns.saturating_sub(GOES_ON)))
}

/// The Helm values as YAML.
fn yaml(setting: &QueueSetting) -> String {
    // Text under text always is YAML.
    serde_yaml::to_string(&setting.values.0).unwrap_or_default()
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
mod tests {
    use super::*;

    fn controllers(clusters: &[(&str, Option<&str>)]) -> Vec<Controller> {
        clusters
            .iter()
            .map(|(cluster, version)| Controller {
                cluster: cluster.parse().unwrap(),
                queue: format!("karpenter-{cluster}").parse().unwrap(),
                version: version.map(|version| version.parse().unwrap()),
            })
            .collect()
    }

    fn told(clusters: &[(&str, Option<&str>)]) -> Vec<String> {
        by_version(&controllers(clusters))
            .into_iter()
            .map(|(version, group)| tell_version(version, &group, WIDTH, |rest| format!("kibus {rest}")))
            .collect()
    }

    #[test]
    fn a_current_karpenter_is_told_by_a_helm_value() {
        let text = "\
Tell Karpenter 1.6.3 in base to read its queue, in its Helm values:
    settings:
      interruptionQueue: karpenter-base
and at once, if its release is karpenter in kube-system:
    helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.6.3 -n kube-system \\
      --reuse-values --set settings.interruptionQueue=karpenter-base
The older key settings.aws.interruptionQueueName is ignored silently by this version.";
        assert_eq!(told(&[("base", Some("1.6.3"))]), [text]);
    }

    #[test]
    fn an_old_karpenter_is_told_by_its_config_map() {
        let text = "\
Tell Karpenter 0.31.4 in base to read its queue, in its Helm values:
    settings:
      aws:
        interruptionQueueName: karpenter-base
and at once, without an upgrade of the release:
    kubectl patch configmap karpenter-global-settings -n karpenter --type merge \\
      -p '{\"data\":{\"aws.interruptionQueueName\":\"karpenter-base\"}}'
    kubectl rollout restart deployment karpenter -n karpenter
From v0.33 on this key is ignored silently: it is settings.interruptionQueue then.";
        assert_eq!(told(&[("base", Some("0.31.4"))]), [text]);
    }

    #[test]
    fn clusters_of_one_version_share_a_text() {
        let text = "\
Tell Karpenter to read its queue, in its Helm values:
    settings:
      interruptionQueue: QUEUE
and at once, if its release is karpenter in kube-system, with the VERSION that is installed:
    helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version VERSION -n kube-system \\
      --reuse-values --set settings.interruptionQueue=QUEUE
with the QUEUE of each cluster:
    base       karpenter-base
    tenant-1   karpenter-tenant-1
Karpenter before v0.33 is told otherwise; to see how:
    kibus add-cluster base --karpenter-version VERSION";
        assert_eq!(told(&[("base", None), ("tenant-1", None)]), [text]);
        let three = told(&[("a", Some("0.32.1")), ("b", None), ("c", Some("0.32.1"))]);
        assert_eq!(three.len(), 2, "{three:#?}");
        assert!(three[1].contains("keep the second"), "{three:#?}");
    }

    #[test]
    fn what_comes_first_is_said_for_the_version() {
        for (version, why, command) in [
            (Some("0.31.0"), "it logs an error", "aws.interruptionQueueName\":\"\""),
            (Some("0.32.1"), "it logs an error", "settings.interruptionQueue="),
            (Some("0.33.0"), "it panics", "--version v0.33.0"),
            (Some("1.3.2"), "it panics", "--version 1.3.2"),
            (Some("1.4.0"), "it logs an error", "--version 1.4.0"),
            (None, "v0.33 to v1.3 panics", "--version VERSION"),
        ] {
            let steps = let_go_within(WIDTH, &controllers(&[("base", version), ("b", version)]));
            assert_eq!(steps.len(), 1);
            for part in [why, command, "in b, base:"] {
                assert!(steps[0].contains(part), "{version:?}: no `{part}` in {}", steps[0]);
            }
        }
    }
}
