//! The Karpenter setting for its queue name: a Helm value, from the file in `templates/karpenter`. The chart of v0.33 and
//! later sets `INTERRUPTION_QUEUE` from it.

use crate::model::document;

/// The Helm value. Karpenter ignores any other key silently (eksctl #7697).
pub(super) const KEY: &str = "settings.interruptionQueue";

/// The key before v0.33.
pub(super) const OLDER_KEY: &str = "settings.aws.interruptionQueueName";

/// The namespace that Karpenter's own guide installs it in (upgrade guide, "Upgrading to 0.33.0").
pub(super) const NAMESPACE: &str = "kube-system";

/// The Helm values with the queue to read, for the values file of the release. With an empty name, Karpenter reads no queue.
pub(super) fn values(queue: &str) -> String {
    let template = include_str!("../../templates/karpenter/values.yaml");
    document::yaml(document::fill_yaml_template(template, &[("queue", queue.into())]).value())
}

/// The value in the form for `--set`.
pub(super) fn assignment(queue: &str) -> String {
    format!("{KEY}={queue}")
}

/// The command that applies the value now: it upgrades the release to its current version, and changes only the queue.
/// The user must fill in the version: without one, Helm would use the newest.
pub(super) fn helm_upgrade(queue: &str) -> String {
    format!(
        "helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version VERSION -n {NAMESPACE} \\\n  \
         --reuse-values --set {}",
        assignment(queue)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_have_the_key() {
        for (queue, written) in [
            ("q", "q"),
            ("no-1", "no-1"),
            ("on", "'on'"),
            ("NO", "'NO'"),
            ("1_000", "'1_000'"),
            ("1:20", "'1:20'"),
            ("2026-11-24", "'2026-11-24'"),
            ("0o7", "'0o7'"),
            (".5", "'.5'"),
            ("12e3", "'12e3'"),
            ("-", "'-'"),
            ("1:", "'1:'"),
        ] {
            let text = values(queue);
            assert!(text.ends_with(&format!(": {written}\n")), "{text}");
            let read: serde_json::Value = serde_yaml::from_str(&text).unwrap();
            assert_eq!(read.pointer(&format!("/{}", KEY.replace('.', "/"))), Some(&queue.into()));
        }
    }
}
