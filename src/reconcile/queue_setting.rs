//! The Karpenter setting for the name of its queue: a Helm value, from the file in `templates/karpenter`. The chart of v0.33 and
//! later sets `INTERRUPTION_QUEUE` from it.

use crate::model::{Document, document};

/// The Helm value. Karpenter ignores any other key silently (eksctl #7697).
pub const KEY: &str = "settings.interruptionQueue";

/// The key of that value before v0.33.
pub const OLDER_KEY: &str = "settings.aws.interruptionQueueName";

/// The namespace that Karpenter's own guide installs it in (upgrade guide, "Upgrading to 0.33.0").
pub const NAMESPACE: &str = "kube-system";

/// The Helm values that name the queue to read, for the values file of the release. With an empty queue Karpenter reads none.
pub fn values(queue: &str) -> Document {
    document::fill_yaml_template(include_str!("../../templates/karpenter/values.yaml"), &[("queue", queue.into())])
}

/// The value as `--set` takes it.
pub fn assignment(queue: &str) -> String {
    format!("{KEY}={queue}")
}

/// The program and its arguments that apply the value now: upgrades the release to the version that it has, with nothing but the
/// queue changed. The version has to be filled in: without one, Helm would take the newest.
pub fn helm_upgrade(queue: &str) -> Vec<String> {
    let command = format!(
        "helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version VERSION -n {NAMESPACE} --reuse-values \
         --set {}",
        assignment(queue)
    );
    command.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_have_the_key() {
        let pointer = format!("/{}", KEY.replace('.', "/"));
        assert_eq!(values("q").value().pointer(&pointer), Some(&"q".into()));
    }
}
