//! The saved options that a printed document depends on, compared with the resources that they describe. They are saved in
//! tags, and someone who may only tag must not widen a document that an administrator attaches.

use std::collections::BTreeMap;

use crate::model::inventory::Reading;
use crate::model::name::{KmsKey, PermissionsBoundary};
use crate::model::options::HubOptions;
use crate::model::resource::{Encryption, Resource, ResourceId};
use crate::model::router_handler::RouterHandler;
use crate::model::scope::Scope;
use crate::survey::{Query, Survey};

/// Whose document is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFor {
    /// An operator's; `writes` unless it allows only reads.
    Operator {
        /// Whether it allows changes.
        writes: bool,
    },
    /// The router's, or a controller's.
    Reader,
}

/// A saved option that is in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedOption {
    /// Its flag, without dashes.
    pub flag: &'static str,
    /// The values, one for each time that the flag would be given.
    pub values: Vec<String>,
}

/// A saved option that a resource contradicts. An option without a tag counts as saved with its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The option as it is saved.
    pub saved: SavedOption,
    /// The option as the resource has it.
    pub live: SavedOption,
    /// The resource.
    pub of: ResourceId,
}

/// The saved options that a document depends on, as far as the command line does not replace them.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Those that are saved.
    pub used: Vec<SavedOption>,
    /// Those that a resource contradicts.
    pub differences: Vec<Difference>,
    /// The resources that could not be read, with the flags of what is saved about them.
    pub unread: BTreeMap<ResourceId, Vec<&'static str>>,
}

impl Comparison {
    /// What a document needs to know about the hub, besides its saved options.
    #[must_use]
    pub fn query(scope: &Scope, document: DocumentFor) -> Query {
        let operator = matches!(document, DocumentFor::Operator { .. });
        let role = operator.then(|| ResourceId::Role(scope.router_role()));
        let hub = [
            ResourceId::Queue(scope.hub_queue()),
            ResourceId::Function(scope.router_function()),
        ];
        Query {
            resources: hub.into_iter().chain(role).collect(),
            ..Query::default()
        }
    }

    /// Compares what `given` does not replace.
    #[must_use]
    pub fn of(survey: &Survey, given: &HubOptions, document: DocumentFor) -> Self {
        let scope = &survey.scope;
        let saved = survey.saved.options().cloned().unwrap_or_default();
        let operator = matches!(document, DocumentFor::Operator { .. });
        let writes = document == DocumentFor::Operator { writes: true };
        let mut comparison = Self::default();
        if given.queue_prefix.is_none() {
            let saved = (saved.queue_prefix.is_some(), vec![saved.prefix().to_string()]);
            let function = ResourceId::Function(scope.router_function());
            comparison.compare(survey, "queue-prefix", saved, function, |resource| {
                let handler = RouterHandler::of(&resource.as_function()?.settings)?;
                Some(vec![handler.prefix.to_string()])
            });
        }
        if given.kms_key.is_none() {
            let saved = (saved.kms_key.is_some(), or_none(saved.key().map(KmsKey::as_str)));
            let queue = ResourceId::Queue(scope.hub_queue());
            comparison.compare(survey, "kms-key", saved, queue, |resource| {
                Some(match &resource.as_queue()?.encryption {
                    Encryption::None | Encryption::SqsManaged => or_none(None),
                    Encryption::Kms(key) => or_none(Some(key.as_str())),
                    Encryption::OtherKms(key) => or_none(Some(key)),
                })
            });
        }
        let role = ResourceId::Role(scope.router_role());
        if writes && given.permissions_boundary.is_none() {
            let boundary = saved.permissions_boundary.as_ref();
            let value = boundary.and_then(|boundary| boundary.0.as_ref().map(PermissionsBoundary::as_str));
            let saved = (boundary.is_some(), or_none(value));
            comparison.compare(survey, "permissions-boundary", saved, role.clone(), |resource| {
                let boundary = resource.as_role()?.permissions_boundary.as_ref();
                Some(or_none(boundary.map(PermissionsBoundary::as_str)))
            });
        }
        if operator && given.role_path.is_none() {
            let saved = (saved.role_path.is_some(), vec![saved.path().to_string()]);
            comparison.compare(survey, "role-path", saved, role.clone(), |resource| {
                Some(vec![resource.as_role()?.path.to_string()])
            });
        }
        let bounded = given
            .permissions_boundary
            .as_ref()
            .or(saved.permissions_boundary.as_ref());
        // Only a document with a boundary names the keys of tags.
        if writes
            && given.tags.is_none()
            && bounded.is_some_and(|boundary| boundary.0.is_some())
            && let Some(tags) = &saved.tags
        {
            let tags = tags.tags().0;
            comparison.compare(survey, "tag", (true, pairs(tags.iter())), role, |resource| {
                let live = &resource.as_role()?.tags;
                Some(pairs(tags.iter().filter(|(key, _)| live.get(key).is_some())))
            });
        }
        comparison
    }

    /// Compares the values of one option with those that a resource has, unless it is absent.
    fn compare(
        &mut self,
        survey: &Survey,
        flag: &'static str,
        (is_saved, saved): (bool, Vec<String>),
        id: ResourceId,
        live: impl Fn(&Resource) -> Option<Vec<String>>,
    ) {
        let saved = SavedOption { flag, values: saved };
        match survey.observed.get(&id) {
            Some(Reading::Present(resource)) => {
                if let Some(values) = live(resource)
                    && values != saved.values
                {
                    self.differences.push(Difference {
                        saved: saved.clone(),
                        live: SavedOption { flag, values },
                        of: id,
                    });
                }
            }
            Some(Reading::Unreadable(_)) if is_saved => self.unread.entry(id).or_default().push(flag),
            Some(Reading::Unreadable(_) | Reading::Absent) | None => {}
        }
        if is_saved {
            self.used.push(saved);
        }
    }
}

pub(super) fn or_none(value: Option<&str>) -> Vec<String> {
    vec![value.unwrap_or("none").to_owned()]
}

pub(super) fn pairs<'a>(tags: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<String> {
    let tags: Vec<String> = tags.map(|(key, value)| format!("{key}={value}")).collect();
    if tags.is_empty() { or_none(None) } else { tags }
}
