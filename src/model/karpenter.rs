//! Differences between Karpenter versions that matter to the bus.

use std::fmt;
use std::str::FromStr;

use super::name::NameError;

/// A version of Karpenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KarpenterVersion {
    major: u32,
    minor: u32,
    patch: Option<u32>,
}

impl KarpenterVersion {
    /// Whether its controller calls `GetQueueAttributes`, which those before v0.33 do.
    #[must_use]
    pub fn asks_queue_attributes(self) -> bool {
        (self.major, self.minor) < (0, 33)
    }

    /// Whether it panics at start if its queue is missing: v0.33 to v1.3.
    #[must_use]
    pub fn panics_without_queue(self) -> bool {
        ((0, 33)..(1, 4)).contains(&(self.major, self.minor))
    }

    /// The setting from which it reads the name of its queue.
    #[must_use]
    pub fn setting(self) -> Setting {
        match (self.major, self.minor) {
            (0, ..=31) => Setting::ConfigMap,
            (0, 32) => Setting::Both,
            _ => Setting::HelmValue,
        }
    }

    /// The version of the Helm chart that installs it, if it is known to the patch. Charts before v0.35 have a `v`
    /// as a prefix (Karpenter's upgrade guide, "Upgrading to 0.35.0").
    #[must_use]
    pub fn chart_version(self) -> Option<String> {
        self.patch?;
        let v = if (self.major, self.minor) < (0, 35) { "v" } else { "" };
        Some(format!("{v}{self}"))
    }
}

/// The setting from which Karpenter reads the name of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// v0.19 to v0.31: `aws.interruptionQueueName` in the ConfigMap `karpenter-global-settings`, at its start.
    ConfigMap,
    /// v0.32: the ConfigMap, or what later versions read.
    Both,
    /// v0.33 and later: `INTERRUPTION_QUEUE`, from the Helm value `settings.interruptionQueue`. The older key is
    /// ignored silently (eksctl #7697).
    HelmValue,
}

impl FromStr for KarpenterVersion {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        let refuse = || NameError {
            kind: "Karpenter version",
            value: s.to_owned(),
            expected: "a version like `1.6.3`, `v1.6` or `0.32.1`, from 0.19 on (the first with an interruption queue)",
        };
        let mut parts = s.strip_prefix('v').unwrap_or(s).split('.');
        let mut part = || parts.next().map(|p| p.parse::<u32>().map_err(|_| refuse())).transpose();
        let (Some(major), Some(minor), patch) = (part()?, part()?, part()?) else {
            return Err(refuse());
        };
        if parts.next().is_some() || (major, minor) < (0, 19) {
            return Err(refuse());
        }
        Ok(Self { major, minor, patch })
    }
}

impl fmt::Display for KarpenterVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_decide() {
        for (version, asks, panics, setting, chart) in [
            ("0.19.0", true, false, Setting::ConfigMap, Some("v0.19.0")),
            ("v0.31.4", true, false, Setting::ConfigMap, Some("v0.31.4")),
            ("0.32.1", true, false, Setting::Both, Some("v0.32.1")),
            ("0.33.0", false, true, Setting::HelmValue, Some("v0.33.0")),
            ("0.35.0", false, true, Setting::HelmValue, Some("0.35.0")),
            ("1.3.9", false, true, Setting::HelmValue, Some("1.3.9")),
            ("1.4", false, false, Setting::HelmValue, None),
            ("1.14.1", false, false, Setting::HelmValue, Some("1.14.1")),
        ] {
            let v: KarpenterVersion = version.parse().unwrap();
            assert_eq!(
                (
                    v.asks_queue_attributes(),
                    v.panics_without_queue(),
                    v.setting(),
                    v.chart_version().as_deref()
                ),
                (asks, panics, setting, chart),
                "{version}"
            );
        }
        for text in ["", "1", "x.y", "1.2.3.4", "0.18.1", "1.2-rc", "-1.2"] {
            assert!(text.parse::<KarpenterVersion>().is_err(), "{text:?}");
        }
    }
}
