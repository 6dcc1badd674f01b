//! The hubs of a command, and how its messages name them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::failure::Place;
use super::global::Global;
use super::stop::Stop;
use crate::aws::{AwsCloud, Connect, Session};
use crate::error::{Error, quoted};
use crate::model::name::BusName;
use crate::model::scope::Scope;
use crate::model::slowdown::{Slowdown, reason};
use crate::sandbox::{DEFAULT_REGION, Endpoint, Sandbox};
use crate::ui::Ui;

/// One hub: where it is, and the account and Region that it is in.
pub(super) struct ConnectedHub {
    pub(super) scope: Scope,
    pub(super) cloud: AwsCloud,
}

/// The hubs that a command is about.
pub(super) struct Hubs<'a> {
    pub(super) ui: &'a Ui,
    pub(super) list: Vec<ConnectedHub>,
    /// How many calls may run at once for one hub.
    pub(super) limit: usize,
    pub(super) verbose: bool,
    /// The command as one would type it again.
    pub(super) command_line: String,
    /// The options that a kibus command needs to reach the same hub, with a space before each.
    pub(super) global_options: String,
    pub(super) stop: &'a Stop,
    /// The services that stderr has named as slow.
    named: RefCell<BTreeSet<&'static str>>,
    session: Session,
}

impl<'a> Hubs<'a> {
    /// Asks AWS who is calling, and names the one hub of the command line.
    pub(super) async fn open(
        global: &Global,
        ui: &'a Ui,
        stop: &'a Stop,
        command_line: &str,
        endpoint: Option<Endpoint>,
    ) -> Result<Self, Error> {
        let session = {
            let _asking = ui.spinner("asking AWS for the caller's identity");
            connect(global, endpoint).await?
        };
        let mut hubs = Self {
            ui,
            list: Vec::new(),
            limit: global.concurrency.into(),
            verbose: global.verbose > 0,
            command_line: command_line.to_owned(),
            global_options: global_options(global),
            stop,
            named: RefCell::default(),
            session,
        };
        hubs.list = vec![hubs.hub(global.bus.clone())];
        Ok(hubs)
    }

    /// The hub of a bus in the same account and Region.
    pub(super) fn hub(&self, bus: BusName) -> ConnectedHub {
        ConnectedHub {
            scope: self.session.scope(bus.clone()),
            cloud: AwsCloud::new(&self.session, bus),
        }
    }

    /// What AWS has throttled so far.
    pub(super) fn slowdown(&self) -> Slowdown {
        self.session.slowdown().borrow().clone()
    }

    /// Does `work`, and shows which services slow it down; stderr names each once for a command.
    pub(super) async fn slowed<T>(&self, show: impl Fn(&str), work: impl Future<Output = T>) -> T {
        let mut slowdown = self.session.slowdown();
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Ok(()) = slowdown.changed() => {
                    let slowdown = slowdown.borrow_and_update().clone();
                    let new = slowdown.throttled.keys().filter(|service| self.named.borrow_mut().insert(service));
                    new.for_each(|service| self.ui.slowed(&reason([service])));
                    show(&reason(slowdown.throttled.keys()));
                }
            }
        }
    }

    /// What an error about a hub needs to say where it is, and how to go on.
    pub(super) fn place(&self, hub: &ConnectedHub) -> Place {
        Place {
            scope: hub.scope.clone(),
            command_line: self.command_line.clone(),
        }
    }

    /// An error about a hub, with every command complete.
    pub(super) fn complete(&self, error: Error) -> Error {
        error.with_global_options(&self.global_options)
    }
}

async fn connect(global: &Global, endpoint: Option<Endpoint>) -> Result<Session, Error> {
    let local = match endpoint {
        None if global.sandbox => Some(Sandbox::open()?.endpoint().await?),
        other => other,
    };
    let connect = match local {
        Some(endpoint) => Connect {
            region: Some(global.region.clone().map_or_else(|| DEFAULT_REGION.parse(), Ok)?),
            endpoint_url: Some(endpoint.url()),
            isolated: true,
            session_token: Some(endpoint.secret.as_str().to_owned()),
            ..Connect::default()
        },
        None => Connect {
            region: global.region.clone(),
            profile: global.profile.clone(),
            endpoint_url: global.endpoint_url.clone(),
            ..Connect::default()
        },
    };
    Ok(connect.connect().await?)
}

fn global_options(global: &Global) -> String {
    let mut options = String::new();
    if global.bus.as_str() != "kibus" {
        options.push_str(&format!(" --bus {}", global.bus));
    }
    if let Some(region) = &global.region {
        options.push_str(&format!(" --region {region}"));
    }
    if let Some(profile) = &global.profile {
        options.push_str(&format!(" --profile {}", quoted(profile)));
    }
    if let Some(url) = &global.endpoint_url {
        options.push_str(&format!(" --endpoint-url {}", quoted(url)));
    }
    if global.sandbox {
        options.push_str(" --sandbox");
    }
    options
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
            let line = global_options(&parsed.global);
            assert_eq!(shell_words(&format!("kibus{line}"))[1..], options, "{line}");
            let words: Vec<OsString> = shell_words(&global::command_line(&given))
                .iter()
                .map(OsString::from)
                .collect();
            assert_eq!(words, given);
        }
    }
}
