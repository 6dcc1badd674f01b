//! The Karpenter setting for the name of its queue, as values from the files in `templates/karpenter`.

use serde_json::Value;

use crate::model::{Document, KarpenterVersion, document};

/// The setting from which Karpenter reads the name of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// v0.19 to v0.31: `aws.interruptionQueueName` in the ConfigMap `karpenter-global-settings`, at its start.
    ConfigMap,
    /// v0.32: the ConfigMap, or what later versions read.
    Both,
    /// v0.33 and later: `INTERRUPTION_QUEUE`, from the Helm value `settings.interruptionQueue`. The older key is
    /// ignored silently (eksctl #7697).
    HelmValue,
}

impl Setting {
    /// The setting of a version; the newest if the version is not known.
    pub fn of(version: Option<KarpenterVersion>) -> Self {
        match version {
            Some(version) if version.is_before(0, 32) => Self::ConfigMap,
            Some(version) if version.is_before(0, 33) => Self::Both,
            _ => Self::HelmValue,
        }
    }

    /// The namespace that Karpenter's own guide installs it in (upgrade guide, "Upgrading to 0.33.0").
    pub fn namespace(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Both => "karpenter",
            Self::HelmValue => "kube-system",
        }
    }
}

/// The version of the Helm chart that installs a version of Karpenter, if it is known to the patch. Charts before v0.35
/// have a `v` as a prefix (Karpenter's upgrade guide, "Upgrading to 0.35.0").
pub fn chart_version(version: Option<KarpenterVersion>) -> Option<String> {
    let version = version.filter(|version| version.has_patch())?;
    let v = if version.is_before(0, 35) { "v" } else { "" };
    Some(format!("{v}{version}"))
}

/// The setting that names the queue to read, or removes it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSetting {
    /// Helm values, for the values file of the release.
    pub values: Document,
    /// The commands that apply it now, in this order; each is a program and its arguments.
    pub commands: Vec<Vec<String>>,
}

impl QueueSetting {
    /// The setting of a version, the current one if the version is not known. With an empty queue Karpenter reads none.
    pub fn new(version: Option<KarpenterVersion>, queue: &str) -> Self {
        let setting = Setting::of(version);
        let values = match setting {
            Setting::ConfigMap => include_str!("../../templates/karpenter/values-until-0.31.yaml"),
            Setting::Both => include_str!("../../templates/karpenter/values-0.32.yaml"),
            Setting::HelmValue => include_str!("../../templates/karpenter/values-from-0.33.yaml"),
        };
        let values = document::fill_yaml_template(values, &[("queue", queue.into())]);
        let namespace = setting.namespace();
        let restart = words(&format!("kubectl rollout restart deployment karpenter -n {namespace}"));
        let commands = match setting {
            Setting::ConfigMap => vec![patch(namespace, queue), restart],
            Setting::Both => vec![helm_upgrade(version, namespace, &values), restart],
            Setting::HelmValue => vec![helm_upgrade(version, namespace, &values)],
        };
        Self { values, commands }
    }
}

/// Upgrades the release to the version that it has, with nothing but the queue changed. A version that is not known
/// to the patch has to be filled in: without one, Helm would take the newest.
fn helm_upgrade(version: Option<KarpenterVersion>, namespace: &str, values: &Document) -> Vec<String> {
    let chart = chart_version(version).unwrap_or_else(|| "VERSION".to_owned());
    let mut command = words(&format!(
        "helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version {chart} -n {namespace} --reuse-values"
    ));
    for setting in helm_settings(values) {
        command.extend(["--set".to_owned(), setting]);
    }
    command
}

fn patch(namespace: &str, queue: &str) -> Vec<String> {
    let patch = include_str!("../../templates/karpenter/global-settings.json");
    let patch = document::fill_template(patch, &[("queue", queue.into())]).compact();
    let mut command =
        words(&format!("kubectl patch configmap karpenter-global-settings -n {namespace} --type merge -p"));
    command.push(patch);
    command
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// Helm values as `--set` takes them: `settings.interruptionQueue=QUEUE`.
pub fn helm_settings(values: &Document) -> Vec<String> {
    leaves("", values.value())
}

/// Every value that is text, after its path.
fn leaves(path: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| {
                let separator = if path.is_empty() { "" } else { "." };
                leaves(&format!("{path}{separator}{key}"), value)
            })
            .collect(),
        Value::String(text) => vec![format!("{path}={text}")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn setting(version: Option<&str>, queue: Option<&str>) -> QueueSetting {
        QueueSetting::new(version.map(|version| version.parse().unwrap()), queue.unwrap_or_default())
    }

    #[test]
    fn each_version_reads_its_own_value() {
        let old = json!({"settings": {"aws": {"interruptionQueueName": "q"}}});
        let both = json!({"settings": {"aws": {"interruptionQueueName": "q"}, "interruptionQueue": "q"}});
        let new = json!({"settings": {"interruptionQueue": "q"}});
        for (version, values) in [
            (Some("0.19.0"), &old),
            (Some("0.31.4"), &old),
            (Some("0.32.0"), &both),
            (Some("0.32.10"), &both),
            (Some("0.33.0"), &new),
            (Some("1.14.1"), &new),
            (None, &new),
        ] {
            assert_eq!(setting(version, Some("q")).values.value(), values, "{version:?}");
        }
    }

    #[test]
    fn each_version_has_its_own_commands() {
        const HELM: &str = "helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version";
        let new = |chart: &str| {
            vec![format!("{HELM} {chart} -n kube-system --reuse-values --set settings.interruptionQueue=q")]
        };
        let patch = vec![
            r#"kubectl patch configmap karpenter-global-settings -n karpenter --type merge -p {"data":{"aws.interruptionQueueName":"q"}}"#.to_owned(),
            "kubectl rollout restart deployment karpenter -n karpenter".to_owned(),
        ];
        let both = vec![
            format!(
                "{HELM} v0.32.1 -n karpenter --reuse-values --set settings.aws.interruptionQueueName=q --set \
                 settings.interruptionQueue=q"
            ),
            "kubectl rollout restart deployment karpenter -n karpenter".to_owned(),
        ];
        for (version, commands) in [
            (Some("0.19.0"), patch.clone()),
            (Some("0.31"), patch),
            (Some("0.32.1"), both),
            (Some("0.34.10"), new("v0.34.10")),
            (Some("0.35.0"), new("0.35.0")),
            (Some("v1.6.3"), new("1.6.3")),
            (Some("1.6"), new("VERSION")),
            (None, new("VERSION")),
        ] {
            let given: Vec<String> = setting(version, Some("q")).commands.iter().map(|words| words.join(" ")).collect();
            assert_eq!(given, commands, "{version:?}");
        }
    }

    #[test]
    fn without_a_queue_nothing_is_read() {
        for (version, last) in
            [("0.31.0", r#"{"data":{"aws.interruptionQueueName":""}}"#), ("1.0.0", "settings.interruptionQueue=")]
        {
            let commands = setting(Some(version), None).commands;
            assert_eq!(commands[0].last().map(String::as_str), Some(last), "{version}");
        }
    }
}
