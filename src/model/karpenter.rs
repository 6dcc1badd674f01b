//! Differences between Karpenter versions that matter to the bus.

pub mod controller_role;
pub mod other_setup;

use std::fmt;
use std::str::FromStr;

use super::name::NameError;

/// The service account of a Karpenter controller, if the Helm chart's `serviceAccount.name` is not set: the name of the
/// release, which every guide calls `karpenter` (aws/karpenter-provider-aws, `charts/karpenter/templates/_helpers.tpl`).
pub const SERVICE_ACCOUNT: &str = "karpenter";

/// The namespaces of that service account in Karpenter's guides: `kube-system` from v0.33 on, `karpenter` before.
pub const NAMESPACES: [&str; 2] = ["kube-system", "karpenter"];

/// What a Karpenter that also asks EC2 needs beside its queue.
pub const ASKS_EC2: &str = "ec2:DescribeInstanceStatus";

/// An EKS pod identity association of Karpenter's service account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Association {
    /// The namespace of the service account.
    pub namespace: String,
    /// The role whose credentials the pods receive.
    pub role_arn: String,
}

/// A version of Karpenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KarpenterVersion {
    major: u32,
    minor: u32,
    patch: Option<u32>,
}

impl KarpenterVersion {
    /// Whether it panics at start if its queue is missing: v0.33 to v1.3.
    pub fn panics_without_queue(self) -> bool {
        !self.is_before(0, 33) && self.is_before(1, 4)
    }

    /// Whether it also asks EC2 for maintenance and failed status checks: from v1.12 on.
    pub fn asks_ec2(self) -> bool {
        !self.is_before(1, 12)
    }

    /// Whether its major and minor version are lower than these.
    pub fn is_before(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) < (major, minor)
    }

    /// Whether it is known to the patch.
    pub fn has_patch(self) -> bool {
        self.patch.is_some()
    }
}

impl FromStr for KarpenterVersion {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        let expected =
            "a version like `1.6.3`, `v1.6` or `0.32.1`, from 0.19 on (the first with an interruption queue)";
        let refuse = || NameError::new("Karpenter version", s, expected);
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
        for (version, panics) in [
            ("0.19.0", false),
            ("v0.31.4", false),
            ("0.32.1", false),
            ("0.33.0", true),
            ("0.35.0", true),
            ("1.3.9", true),
            ("1.4", false),
            ("1.14.1", false),
        ] {
            let v: KarpenterVersion = version.parse().unwrap();
            assert_eq!(v.panics_without_queue(), panics, "{version}");
        }
        for text in ["", "1", "x.y", "1.2.3.4", "0.18.1", "1.2-rc", "-1.2"] {
            assert!(text.parse::<KarpenterVersion>().is_err(), "{text:?}");
        }
    }
}
