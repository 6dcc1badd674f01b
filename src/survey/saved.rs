//! The settings of the hub of a survey, as far as they are known.

use super::Survey;
use crate::cloud::Fault;
use crate::model::inventory::Reading;
use crate::model::options::HubOptions;
use crate::model::resource::{Resource, ResourceId};
use crate::model::settings::{BadSettings, Settings};

/// The settings of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved<'a> {
    /// The parameter does not exist, or was not read yet.
    Absent,
    Unreadable(&'a Fault),
    /// The parameter holds something else.
    Bad(&'a BadSettings),
    Kept(&'a Settings),
}

impl Survey {
    /// The settings in the parameter of the hub.
    pub fn saved(&self) -> Saved<'_> {
        match self
            .observed
            .get(&ResourceId::Parameter(self.scope.settings_parameter()))
        {
            Some(Reading::Unreadable(fault)) => Saved::Unreadable(fault),
            Some(Reading::Present(parameter)) => match parameter.as_parameter().map(|found| &found.settings) {
                Some(Ok(settings)) => Saved::Kept(settings),
                Some(Err(bad)) => Saved::Bad(bad),
                None => Saved::Absent,
            },
            Some(Reading::Absent) | None => Saved::Absent,
        }
    }

    /// The settings, if they are known.
    pub fn settings(&self) -> Option<&Settings> {
        match self.saved() {
            Saved::Kept(settings) => Some(settings),
            Saved::Absent | Saved::Unreadable(_) | Saved::Bad(_) => None,
        }
    }

    /// The saved options, if they are known.
    pub fn options(&self) -> Option<&HubOptions> {
        self.settings().map(|settings| &settings.options)
    }

    /// Whether something of the hub exists without its settings, and does not only wait for its delete.
    pub fn has_lost_settings(&self) -> bool {
        let is_part = |part: &Resource| match part.tags() {
            Some(tags) => tags.belong_to(&self.scope.bus) && !tags.being_deleted(self.now),
            None => false,
        };
        let ids = crate::model::hub::ids(&self.scope);
        self.saved() == Saved::Absent && ids.iter().filter_map(|id| self.observed.resource(id)).any(is_part)
    }
}
