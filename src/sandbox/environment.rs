//! What points AWS's tools and SDKs at the sandbox.

/// The Region that the sandbox is used in unless another is chosen; all Regions are there.
pub const DEFAULT_REGION: &str = "us-west-2";

/// Where a running sandbox answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The port on 127.0.0.1.
    pub port: u16,
}

impl Endpoint {
    /// The endpoint URL of every AWS service.
    #[must_use]
    pub fn url(self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment for AWS's tools and SDKs, with the Region in question.
    ///
    /// The key id decides about the account: one of 12 digits is the account, any other means 000000000000.
    #[must_use]
    pub fn environment(self, region: &str) -> Environment {
        let set = [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", region.to_owned()),
            // The AWS CLI and Python's SDK know only this one.
            ("AWS_DEFAULT_REGION", region.to_owned()),
        ];
        Environment {
            set: set.into(),
            unset: vec![
                "AWS_SESSION_TOKEN",
                "AWS_PROFILE",
                "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
            ],
        }
    }
}

/// Changes to a shell's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Variables with their values.
    pub set: Vec<(&'static str, String)>,
    /// Variables that would lead away from the sandbox.
    pub unset: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_points_at_the_sandbox_and_nowhere_else() {
        let environment = Endpoint { port: 4566 }.environment("eu-north-1");
        let value = |name| {
            let found = environment.set.iter().find(|(n, _)| *n == name);
            found.map(|(_, v)| v.as_str())
        };
        let table = [
            ("AWS_ENDPOINT_URL", Some("http://127.0.0.1:4566")),
            ("AWS_ACCESS_KEY_ID", Some("test")),
            ("AWS_SECRET_ACCESS_KEY", Some("test")),
            ("AWS_REGION", Some("eu-north-1")),
            ("AWS_DEFAULT_REGION", Some("eu-north-1")),
            ("AWS_SESSION_TOKEN", None),
            ("AWS_PROFILE", None),
        ];
        for (name, expected) in table {
            assert_eq!(value(name), expected, "{name}");
            assert_eq!(environment.unset.contains(&name), expected.is_none(), "{name}");
        }
    }
}
