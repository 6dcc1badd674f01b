//! The sandbox's endpoint, and the environment variables that point AWS tools and SDKs at it.

use super::secret::Secret;

/// The default Region of the sandbox. The emulator serves every Region.
pub const DEFAULT_REGION: &str = "us-west-2";

/// The address of a running sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// What every request must carry as its session token.
    pub secret: Secret,
}

impl Endpoint {
    /// The endpoint URL of every AWS service.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment variables for AWS tools and SDKs in this Region.
    ///
    /// The emulator takes the account from the access key id: 12 digits are the account, anything else means
    /// 000000000000.
    pub fn variables(&self, region: &str) -> ShellVariables {
        let set = [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_SESSION_TOKEN", self.secret.as_str().to_owned()),
            ("AWS_REGION", region.to_owned()),
            // The AWS CLI and boto3 read only this one.
            ("AWS_DEFAULT_REGION", region.to_owned()),
        ];
        let unset = [
            "AWS_PROFILE",
            "AWS_DEFAULT_PROFILE",
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        ];
        let of_services = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        ShellVariables {
            set: set.into(),
            unset: unset
                .map(str::to_owned)
                .into_iter()
                .chain(of_services.filter(|name| is_endpoint_of_service(name)))
                .collect(),
        }
    }
}

/// Changes to the environment variables of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellVariables {
    /// Variables to set, with their values.
    pub set: Vec<(&'static str, String)>,
    /// Variables to unset, because they would point away from the sandbox.
    pub unset: Vec<String>,
}

/// Whether a variable is one that would send the calls of one service elsewhere, past `AWS_ENDPOINT_URL`. Only names
/// that need no quotes in a shell count.
fn is_endpoint_of_service(name: &str) -> bool {
    name.strip_prefix("AWS_ENDPOINT_URL_")
        .is_some_and(|service| !service.is_empty() && service.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_point_at_the_sandbox_only() {
        let secret = Secret::new().unwrap();
        let token = secret.clone();
        let variables = Endpoint { port: 4566, secret }.variables("eu-north-1");
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
            ("AWS_SESSION_TOKEN", Some(token.as_str())),
            ("AWS_PROFILE", None),
        ];
        for (name, expected) in table {
            assert_eq!(value(name), expected, "{name}");
            assert_eq!(variables.unset.iter().any(|n| n == name), expected.is_none(), "{name}");
        }
    }
    #[test]
    fn endpoints_of_single_services_are_unset() {
        for (name, expected) in [
            ("AWS_ENDPOINT_URL_SQS", true),
            ("AWS_ENDPOINT_URL_API_GATEWAY", true),
            ("AWS_ENDPOINT_URL", false),
            ("AWS_ENDPOINT_URL_", false),
            ("AWS_ENDPOINT_URL_$(id)", false),
        ] {
            assert_eq!(is_endpoint_of_service(name), expected, "{name}");
        }
    }
}
