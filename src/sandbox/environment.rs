//! The sandbox's endpoint with its secret, and the environment variables that point AWS tools and SDKs at it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// The default Region of the sandbox. The emulator serves every Region.
pub const DEFAULT_REGION: &str = "us-west-2";
/// The length of a secret.
const BYTES: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The port on 127.0.0.1.
    pub port: u16,
    /// What every request must carry as its session token.
    pub secret: Secret,
}

/// The secret of a server: 32 hexadecimal digits. Without it, any local program, and any web page through the user's browser,
/// could run code as functions of the emulator.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Secret(String);

impl Endpoint {
    /// The endpoint URL of every AWS service.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The environment variables for AWS tools and SDKs in this Region. The emulator takes the account from the access key id:
    /// 12 digits are the account, anything else means 000000000000.
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
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let of_services = names.filter(|name| is_endpoint_of_service(name));
        ShellVariables {
            set: set.into(),
            unset: unset.into_iter().map(str::to_owned).chain(of_services).collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellVariables {
    pub set: Vec<(&'static str, String)>,
    /// Variables to unset, because they would point away from the sandbox.
    pub unset: Vec<String>,
}

/// Whether a variable would send the calls of one service past `AWS_ENDPOINT_URL`, and needs no quotes in a shell.
fn is_endpoint_of_service(name: &str) -> bool {
    let service = name.strip_prefix("AWS_ENDPOINT_URL_").unwrap_or_default();
    !service.is_empty() && service.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl Secret {
    pub(super) fn new() -> io::Result<Self> {
        random_digits().map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Secret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |b| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        match text.len() == 2 * BYTES && text.bytes().all(is_digit) {
            true => Ok(Self(text)),
            false => Err("a secret is 32 hexadecimal digits"),
        }
    }
}

/// Logs and error messages do not show it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// 32 hexadecimal digits from the system's random numbers.
pub(super) fn random_digits() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
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

    #[test]
    fn two_secrets_differ_and_are_not_shown() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_ne!(one, other);
        let written = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Secret>(&written).unwrap(), one);
        assert_eq!(format!("{one:?}"), "Secret");
    }

    #[test]
    fn a_secret_is_digits_and_nothing_else() {
        let digits = "0123456789abcdef0123456789abcdef";
        for (text, valid) in [
            (digits, true),
            ("", false),
            (&digits[1..], false),
            (&format!("{digits}0"), false),
            ("0123456789ABCDEF0123456789ABCDEF", false),
            ("$(kibus)\nexport PATH=.;01234567", false),
        ] {
            assert_eq!(Secret::try_from(text.to_owned()).is_ok(), valid, "{text:?}");
        }
    }
}
