//! Names, each with its own type. A name is checked once, when it is parsed. A name that only one kind of resource
//! needs is in the file of that kind.

use crate::error::Error;

/// The maximum length of a tag value. An ARN that is saved in a tag must not be longer.
const TAG_VALUE: usize = 256;

/// The placeholder for the cluster name in a template.
pub(super) const PLACEHOLDER: &str = "{cluster}";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a valid {kind}: it must be {expected}", .value.escape_debug())]
pub struct NameError {
    pub kind: &'static str,
    pub value: String,
    pub expected: &'static str,
}

impl NameError {
    /// A value that is not a valid name of this kind, and the expected form.
    pub fn new(kind: &'static str, value: &str, expected: &'static str) -> Self {
        let value = value.to_owned();
        Self { kind, value, expected }
    }
}

impl From<NameError> for Error {
    fn from(e: NameError) -> Self {
        let NameError { kind, value, expected } = e;
        Error::usage(format!("`{}` is not a valid {kind}", value.escape_debug()))
            .note(format!("a {kind} is {expected}"))
    }
}

/// Declares name types: the kind and the accepted form of each, as used in errors, and the check.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident: $kind:literal, $expected:literal, $valid:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::name::NameError;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                let valid: fn(&str) -> bool = $valid;
                if valid(s) {
                    Ok(Self(s.to_owned()))
                } else {
                    Err($crate::model::name::NameError::new($kind, s, $expected))
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::model::name::NameError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl From<&$name> for String {
            fn from(name: &$name) -> Self {
                name.0.clone()
            }
        }
    )*};
}

pub(crate) use names;

names! {
    /// The name of an EKS cluster (EKS API reference, `CreateCluster`).
    ClusterName: "cluster name",
        "1 to 100 letters, digits, `-` and `_`, beginning with a letter or a digit",
        |s| s.len() <= 100 && s.starts_with(|c: char| c.is_ascii_alphanumeric()) && all(s, "-_");
    /// The name of a bus. The names of its resources begin with it.
    BusName: "bus name",
        "1 to 20 lower-case letters, digits and `-`, beginning with a letter",
        |s| s.len() <= 20 && s.starts_with(|c: char| c.is_ascii_lowercase())
            && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    /// The id of an instance. It can never be a wildcard in an EC2 filter.
    InstanceId: "instance id",
        "`i-` and 1 to 32 letters and digits",
        |s| s.strip_prefix("i-").is_some_and(|rest| (1..=32).contains(&rest.len()) && all(rest, ""));
    /// The name of an SQS queue (SQS API reference, `CreateQueue`).
    QueueName: "queue name",
        "1 to 80 letters, digits, `-` and `_`",
        |s| !s.is_empty() && s.len() <= 80 && all(s, "-_");
    /// The name of every cluster queue. The text around `{cluster}` leaves room for a part of the longest cluster name and a hash.
    QueueTemplate: "template of queue names",
        "a name with `{cluster}` once and at most 50 other letters, digits, `-` and `_`, like `karpenter-{cluster}`",
        |s| s.split_once(PLACEHOLDER).is_some_and(|(before, after)| {
            before.len() + after.len() <= 50 && all(before, "-_") && all(after, "-_")
        });
    /// The name of an IAM role, without its path (IAM API reference, `CreateRole`).
    RoleName: "role name",
        "1 to 64 letters, digits and `_+=,.@-`",
        |s| !s.is_empty() && s.len() <= 64 && all(s, "_+=,.@-");
    /// The path of an IAM role. AWS allows more characters; these are the ones that a tag value can hold.
    RolePath: "role path",
        "`/`, or letters, digits and `_+=.@-` between slashes, 256 characters at most",
        |s| s == "/" || (s.len() <= 256 && s.starts_with('/') && s.ends_with('/') && !s.contains("//") && all(s, "_+=.@-/"));
    FunctionName: "function name",
        "1 to 64 letters, digits, `-` and `_`",
        |s| !s.is_empty() && s.len() <= 64 && all(s, "-_");
    RuleName: "rule name",
        "1 to 64 letters, digits and `.-_`",
        |s| !s.is_empty() && s.len() <= 64 && all(s, ".-_");
    LogGroupName: "log group name",
        "1 to 512 letters, digits and `_-/.#`",
        |s| !s.is_empty() && s.len() <= 512 && all(s, "_-/.#");
    Region: "Region",
        "a name like `us-west-2`, `cn-north-1` or `us-gov-west-1`",
        |s| s.len() <= 25 && s.split('-').count() >= 3
            && s.split('-').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
    AccountId: "account id",
        "12 digits",
        |s| s.len() == 12 && s.bytes().all(|b| b.is_ascii_digit());
    /// An AWS partition: the second part of an ARN.
    Partition: "partition",
        "`aws`, `aws-cn`, `aws-us-gov` or another name that begins with `aws`",
        |s| s.len() <= 25 && s.starts_with("aws") && all(s, "-");
    /// The ARN of a KMS key; aliases are not accepted, because an IAM policy cannot name one.
    KmsKey: "KMS key",
        "the ARN of a key, like `arn:aws:kms:us-west-2:111122223333:key/...`",
        |s| is_arn(s, "kms", "key/") && all(s, ":/-");
    /// A standard SNS topic, by its name or its ARN.
    Topic: "SNS topic",
        "the name or the ARN of a standard topic, like `interruptions` or \
         `arn:aws:sns:us-west-2:111122223333:interruptions`; FIFO topics, whose names end in `.fifo`, do not support \
         e-mail and chat",
        |s| {
            let name = s.rsplit(':').next().unwrap_or_default();
            (1..=256).contains(&name.len()) && all(name, "-_") && (name == s || is_arn(s, "sns", ""))
        };
    /// The ARN of a managed policy that is a role's permissions boundary.
    PermissionsBoundary: "permissions boundary",
        "the ARN of a policy, like `arn:aws:iam::111122223333:policy/boundary`",
        |s| is_arn(s, "iam", "policy/") && all(s, ":/-_+=.@");
}

impl Topic {
    /// Its name alone.
    pub fn name(&self) -> &str {
        self.0.rsplit(':').next().unwrap_or_default()
    }
}

impl QueueTemplate {
    /// The text before and after the cluster's name.
    pub fn around(&self) -> (&str, &str) {
        self.0.split_once(PLACEHOLDER).unwrap_or((&self.0, ""))
    }

    /// An IAM pattern for the names of all cluster queues.
    pub fn pattern(&self) -> String {
        self.0.replace(PLACEHOLDER, "*")
    }

    /// Whether the pattern covers every queue.
    pub fn is_open(&self) -> bool {
        self.0 == PLACEHOLDER
    }
}

/// Whether all characters are ASCII letters, digits and these others.
pub(super) fn all(s: &str, others: &str) -> bool {
    s.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Whether this is the ARN of a resource of this service and kind, short enough for a tag.
fn is_arn(s: &str, service: &str, kind: &str) -> bool {
    let parts: Vec<&str> = s.splitn(6, ':').collect();
    let fits =
        |partition: &str, of: &str, name: &str| partition.starts_with("aws") && of == service && name.starts_with(kind);
    s.len() <= TAG_VALUE && matches!(parts[..], ["arn", partition, of, _, _, name] if fits(partition, of, name))
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::str::FromStr;

    use super::*;

    /// Checks which of these comma-separated names are accepted.
    fn check<T: FromStr>(taken: &str, refused: &str) {
        for (names, is_taken) in [(taken, true), (refused, false)] {
            for name in names.split(", ") {
                assert_eq!(name.parse::<T>().is_ok(), is_taken, "{} {name:?}", type_name::<T>());
            }
        }
    }

    #[test]
    fn names_are_checked_at_the_edge() {
        let long = "a".repeat(100);
        let refused = format!(", -x, _x, a.b, ü, a b, a\u{1b}[31m, {long}a");
        check::<ClusterName>(&format!("base, tenant-1, 9_x, {long}"), &refused);
        check::<BusName>("kibus, k-2", "Kibus, 2k, , a23456789012345678901");
        let [longest, longer] = [50, 51].map(|beside| format!("{}{{cluster}}-", "x".repeat(beside - 1)));
        check::<QueueTemplate>(
            &format!("karpenter-{{cluster}}, {{cluster}}, {{cluster}}-Karpenter_1, _a{{cluster}}b-, {longest}"),
            ", karpenter-, {cluster}-{cluster}, {{cluster}}, {Cluster}, ${cluster}, a b{cluster}, a.{cluster}, \
             {cluster}.fifo, {cluster}*, ü{cluster}",
        );
        check::<QueueTemplate>("{cluster}", &longer);
        check::<Region>("us-west-2, cn-north-1, us-gov-west-1, us-isob-east-1", "us, , us west 2, us--2");
        check::<RolePath>("/, /team/x/", "team/, /team, //, /a,b/");
        check::<KmsKey>(
            "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab, arn:aws-cn:kms:cn-north-1:111122223333:key/mrk-1",
            "arn:aws:kms:us-west-2:111122223333:alias/x, 1234abcd-12ab",
        );
    }

    #[test]
    fn an_error_shows_no_escape_sequence() {
        let e = "a\u{1b}[31m".parse::<ClusterName>().unwrap_err();
        assert!(e.to_string().starts_with("`a\\u{1b}[31m` is not a valid cluster name: "), "{e}");
    }
}
