//! How a hub is reached.

use crate::aws::{Connect, Session};
use crate::error::Error;
use crate::model::name::{BusName, Region};
use crate::model::scope::GlobalOptions;
use crate::sandbox::{DEFAULT_REGION, Endpoint, Sandbox};
use crate::ui::Heading;
use crate::ui::text::escape;

/// How a hub is reached. What is not set comes from the environment or the AWS configuration.
#[derive(Clone, Debug, clap::Args)]
pub struct HubAddress {
    /// Name of the bus; the names of its resources begin with it.
    #[arg(long, env = "KIBUS_BUS", default_value = "kibus")]
    pub bus: BusName,
    /// Whether the command line names the bus, and not a variable or the default.
    #[arg(skip)]
    pub names_bus: bool,
    /// AWS Region [default: AWS_REGION, else that of the profile].
    #[arg(long, env = "KIBUS_REGION")]
    pub region: Option<Region>,
    /// Profile of the AWS configuration [default: AWS_PROFILE].
    #[arg(long, env = "KIBUS_PROFILE", value_parser = printable)]
    pub profile: Option<String>,
    /// Endpoint for all calls, instead of those of AWS. http:// only to this machine, or with KIBUS_ALLOW_HTTP=true.
    #[arg(long, env = "KIBUS_ENDPOINT_URL", value_name = "URL", value_parser = endpoint_url)]
    pub endpoint_url: Option<String>,
    /// Whether it is in the sandbox.
    #[arg(skip)]
    pub sandbox: bool,
    /// The private emulator that it is on.
    #[arg(skip)]
    pub(super) private: Option<Endpoint>,
}

fn printable(text: &str) -> Result<String, &'static str> {
    match escape(text) == text {
        true => Ok(text.to_owned()),
        false => Err("it has a control character"),
    }
}

fn endpoint_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => printable(text),
        _ => Err("an endpoint is http:// or https:// and a host"),
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
                allow_http: std::env::var("KIBUS_ALLOW_HTTP").is_ok_and(|allow| allow == "true"),
                ..Connect::default()
            },
        };
        Ok(connect.connect().await?)
    }

    /// The options that a printed command needs to reach the hub.
    pub(super) fn options(&self) -> GlobalOptions {
        GlobalOptions {
            region: self.region.clone(),
            profile: self.profile.clone(),
            endpoint_url: self.endpoint_url.clone(),
            sandbox: self.sandbox,
        }
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

    use crate::cli::{global, parse};
    use crate::error::shell::tests::shell_words;

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
            let address = parsed.global.address();
            let line = address.options().kibus(Some(&address.bus), "list");
            assert_eq!(shell_words(&line)[2..], options, "{line}");
            let words: Vec<OsString> = shell_words(&global::command_line(&given))
                .iter()
                .map(OsString::from)
                .collect();
            assert_eq!(words, given);
        }
    }
}
