//! How a hub is reached.

use super::global::Global;
use crate::aws::{Connect, Session};
use crate::error::{Error, quoted};
use crate::model::name::{BusName, Region};
use crate::sandbox::{DEFAULT_REGION, Endpoint, Sandbox};
use crate::ui::Heading;

/// How a hub is reached. What is not set comes from the environment or the AWS configuration.
#[derive(Clone, Debug)]
pub struct HubAddress {
    /// Its bus.
    pub bus: BusName,
    /// Its Region.
    pub region: Option<Region>,
    /// The profile with the credentials.
    pub profile: Option<String>,
    /// The endpoint for all calls.
    pub endpoint_url: Option<String>,
    /// Whether it is in the sandbox.
    pub sandbox: bool,
    /// The private emulator that it is on.
    pub(super) private: Option<Endpoint>,
}

impl From<&Global> for HubAddress {
    fn from(global: &Global) -> Self {
        Self {
            bus: global.bus.clone(),
            region: global.region.clone(),
            profile: global.profile.clone(),
            endpoint_url: global.endpoint_url.clone(),
            sandbox: global.sandbox,
            private: None,
        }
    }
}

impl HubAddress {
    /// Asks AWS who is calling.
    pub(super) async fn connect(&self) -> Result<Session, Error> {
        let local = match &self.private {
            None if self.sandbox => Some(Sandbox::open()?.endpoint().await?),
            other => other.clone(),
        };
        let connect = match local {
            Some(endpoint) => Connect {
                region: Some(self.region.clone().map_or_else(|| DEFAULT_REGION.parse(), Ok)?),
                endpoint_url: Some(endpoint.url()),
                isolated: true,
                session_token: Some(endpoint.secret.as_str().to_owned()),
                ..Connect::default()
            },
            None => Connect {
                region: self.region.clone(),
                profile: self.profile.clone(),
                endpoint_url: self.endpoint_url.clone(),
                ..Connect::default()
            },
        };
        Ok(connect.connect().await?)
    }

    /// The options that a kibus command needs to reach the hub, with a space before each.
    pub(super) fn options(&self) -> String {
        let mut options = String::new();
        if self.bus.as_str() != "kibus" {
            options.push_str(&format!(" --bus {}", self.bus));
        }
        if let Some(region) = &self.region {
            options.push_str(&format!(" --region {region}"));
        }
        if let Some(profile) = &self.profile {
            options.push_str(&format!(" --profile {}", quoted(profile)));
        }
        if let Some(url) = &self.endpoint_url {
            options.push_str(&format!(" --endpoint-url {}", quoted(url)));
        }
        if self.sandbox {
            options.push_str(" --sandbox");
        }
        options
    }

    /// The heading of a hub that could not be reached.
    pub(super) fn heading(&self) -> Heading {
        Heading {
            bus: self.bus.clone(),
            account: None,
            region: self.region.clone(),
            label: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::cli::{global, parse};
    use crate::error::tests::shell_words;

    #[test]
    fn a_printed_command_has_the_options_as_they_were_given() {
        for odd in [
            "a",
            "a b",
            "it's",
            "$(kibus)",
            "`kibus`;kibus",
            "\"x\" \\",
            "ü*?~{a,b}",
            "!x",
            "#x",
        ] {
            let url = format!("http://127.0.0.1:1/{odd}");
            let options = [
                "--bus",
                "b",
                "--region",
                "us-east-1",
                "--profile",
                odd,
                "--endpoint-url",
                &url,
            ];
            let given: Vec<OsString> = ["kibus", "list"].iter().chain(&options).map(OsString::from).collect();
            let parsed = parse::parse(&given).unwrap();
            let line = HubAddress::from(&parsed.global).options();
            assert_eq!(shell_words(&format!("kibus{line}"))[1..], options, "{line}");
            let words: Vec<OsString> = shell_words(&global::command_line(&given))
                .iter()
                .map(OsString::from)
                .collect();
            assert_eq!(words, given);
        }
    }
}
