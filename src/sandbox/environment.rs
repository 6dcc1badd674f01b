//! The sandbox's endpoint, and the environment variables that point AWS tools and SDKs at it.

/// The default Region of the sandbox. The emulator serves every Region.
pub const DEFAULT_REGION: &str = "us-west-2";

/// The address of a running sandbox.
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

    /// The environment variables for AWS tools and SDKs in this Region.
    ///
    /// The emulator takes the account from the access key id: 12 digits are the account, anything else means
    /// 000000000000.
    #[must_use]
    pub fn variables(self, region: &str) -> ShellVariables {
        let set = [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", region.to_owned()),
            // The AWS CLI and boto3 read only this one.
            ("AWS_DEFAULT_REGION", region.to_owned()),
        ];
        ShellVariables {
            set: set.into(),
            unset: vec![
                "AWS_SESSION_TOKEN",
                "AWS_PROFILE",
                "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
            ],
        }
    }
}

/// Changes to the environment variables of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellVariables {
    /// Variables to set, with their values.
    pub set: Vec<(&'static str, String)>,
    /// Variables to unset, because they would point away from the sandbox.
    pub unset: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_point_at_the_sandbox_only() {
        let variables = Endpoint { port: 4566 }.variables("eu-north-1");
        let value = |name| {
            let found = variables.set.iter().find(|(n, _)| *n == name);
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
            assert_eq!(variables.unset.contains(&name), expected.is_none(), "{name}");
        }
    }
}
