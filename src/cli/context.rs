//! What a command works with: where it is, on whose behalf, and how it talks.

use super::explain;
use super::global::Global;
use crate::aws::{AwsCloud, Connect, Session};
use crate::cloud::{self, Observation};
use crate::error::Error;
use crate::model::inventory::Observed;
use crate::model::options::HubOptions;
use crate::model::resource::{Resource, ResourceId};
use crate::model::scope::Scope;
use crate::plan::{self, Allowed};
use crate::sandbox::{DEFAULT_REGION, Sandbox};
use crate::ui::{Heading, Ui};

/// What a command works with.
pub(super) struct Context<'a> {
    pub(super) ui: &'a Ui,
    pub(super) scope: Scope,
    pub(super) cloud: AwsCloud,
    /// How many calls may run at the same time.
    pub(super) limit: usize,
    pub(super) yes: bool,
    pub(super) dry_run: bool,
    pub(super) detailed_exitcode: bool,
    /// Whether to say more.
    pub(super) verbose: bool,
    /// What the command was allowed to do that is refused otherwise.
    pub(super) allowed: Allowed,
    /// The command as one would type it again.
    pub(super) command_line: String,
    /// What a command that is told to the user must also carry to reach the same bus.
    pub(super) global_flags: String,
}

impl<'a> Context<'a> {
    /// Finds out where we are and who we are.
    pub(super) async fn open(
        global: &Global,
        ui: &'a Ui,
        command_line: &str,
        endpoint: Option<String>,
    ) -> Result<Self, Error> {
        let session = {
            let _asking = ui.spinner("asking AWS who is calling");
            connect(global, endpoint).await?
        };
        let scope = session.scope(global.bus.clone());
        Ok(Self {
            ui,
            cloud: AwsCloud::new(&session, global.bus.clone()),
            scope,
            limit: global.concurrency.into(),
            yes: global.yes,
            dry_run: global.dry_run,
            detailed_exitcode: global.detailed_exitcode,
            verbose: global.verbose > 0,
            allowed: Allowed::default(),
            command_line: command_line.to_owned(),
            global_flags: global_flags(global),
        })
    }

    /// The first line of what is shown.
    pub(super) fn heading(&self) -> Heading {
        Heading::from(&self.scope)
    }

    /// A kibus command to tell the user, for the same bus.
    pub(super) fn command(&self, rest: &str) -> String {
        format!("kibus {rest}{}", self.global_flags)
    }

    /// Reads resources, all of which must be readable.
    pub(super) async fn read(&self, ids: impl IntoIterator<Item = ResourceId>) -> Result<Observed, Error> {
        let Observation { observed, faults } = cloud::observe(&self.cloud, ids, self.limit).await;
        match faults.first() {
            None => Ok(observed),
            Some((id, fault)) => Err(explain::unreadable(self, id, fault)),
        }
    }

    /// What the hub remembers; an error that says how to set one up if there is none.
    pub(super) fn hub_choices(&self, observed: &Observed) -> Result<HubOptions, Error> {
        let id = ResourceId::Queue(self.scope.dead_letter_queue());
        let ours = observed
            .resource(&id)
            .filter(|resource| plan::is_ours(&self.scope, resource, observed));
        match ours.and_then(Resource::tags) {
            Some(tags) => Ok(HubOptions::saved(tags)?),
            None => Err(explain::no_hub(self)),
        }
    }
}

async fn connect(global: &Global, endpoint: Option<String>) -> Result<Session, Error> {
    let local = match endpoint {
        None if global.sandbox => Some(Sandbox::open()?.endpoint().await?.url()),
        other => other,
    };
    let connect = match local {
        Some(url) => Connect {
            region: Some(global.region.clone().map_or_else(|| DEFAULT_REGION.parse(), Ok)?),
            endpoint_url: Some(url),
            isolated: true,
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

fn global_flags(global: &Global) -> String {
    let mut flags = String::new();
    if global.bus.as_str() != "kibus" {
        flags.push_str(&format!(" --bus {}", global.bus));
    }
    if let Some(region) = &global.region {
        flags.push_str(&format!(" --region {region}"));
    }
    if let Some(profile) = &global.profile {
        flags.push_str(&format!(" --profile {profile}"));
    }
    if let Some(url) = &global.endpoint_url {
        flags.push_str(&format!(" --endpoint-url {url}"));
    }
    if global.sandbox {
        flags.push_str(" --sandbox");
    }
    flags
}
