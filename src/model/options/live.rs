//! What seems to have been chosen for a hub whose memory is gone: what its live resources have that is no default.

use std::collections::BTreeMap;

use super::hub::HubOptions;
use super::user_tags::UserTags;
use super::value::OrNone;
use crate::model::field::FieldValue;
use crate::model::hub::{Hub, default_queue_prefix};
use crate::model::inventory::Observed;
use crate::model::resource::{Code, Encryption, Resource};
use crate::model::router_build::QUEUE_PREFIX_VARIABLE;
use crate::model::scope::Scope;
use crate::model::signal::Signal;
use crate::model::tags::OPTION;

impl HubOptions {
    /// What the resources of the hub have that they would not have by default. Whether it was chosen, or changed by
    /// somebody else, cannot be told any more. Resources that are not the bus's say nothing.
    #[must_use]
    pub fn as_live(scope: &Scope, observed: &Observed) -> Self {
        let default = Hub::new(scope, Self::default(), Code::of_archive("", "")).desired();
        let mut options = Self::default();
        for live in observed.resources() {
            if let Some(tags) = live.tags() {
                if !tags.belong_to(&scope.bus) {
                    continue;
                }
                let user = tags.option("tag").map(|keys| UserTags::saved(keys, tags));
                options.tags = options.tags.or(user);
            }
            let same = |path: &str| field(default.get(&live.id()), path) == field(Some(live), path);
            match live {
                Resource::Queue(queue) if queue.name == scope.hub_queue() => {
                    options.retention = parsed(queue.retention).filter(|_| !same("retention"));
                    if let Encryption::Kms(key) = &queue.encryption {
                        options.kms_key = Some(OrNone(Some(key.clone())));
                    }
                }
                Resource::Role(role) if role.name == scope.router_role() => {
                    options.role_path = Some(role.path.clone()).filter(|_| !same("path"));
                    let boundary = role.permissions_boundary.clone();
                    options.permissions_boundary = boundary.map(|boundary| OrNone(Some(boundary)));
                }
                Resource::LogGroup(group) if group.name == scope.router_log_group() => {
                    let days = group.retention_days.filter(|_| !same("retention_days"));
                    options.log_retention = days.and_then(parsed);
                }
                Resource::Function(function) if function.name == scope.router_function() => {
                    let settings = &function.settings;
                    options.memory = parsed(settings.memory).filter(|_| !same("memory"));
                    options.architecture = Some(settings.architecture).filter(|_| !same("architecture"));
                    options.reserved_concurrency = function.reserved_concurrency.and_then(parsed);
                    let prefix = settings.environment.get(QUEUE_PREFIX_VARIABLE);
                    let prefix = prefix.and_then(|prefix| prefix.parse().ok());
                    options.queue_prefix = prefix.filter(|prefix| *prefix != default_queue_prefix());
                }
                Resource::Rule(rule) if rule.name == scope.rule(Signal::Rebalance) => options.rebalance = Some(true),
                _ => {}
            }
        }
        options
    }

    /// The options, as one types them, that are among these and not among others.
    #[must_use]
    pub fn flags_beyond(&self, others: &Self) -> Vec<String> {
        let chosen: BTreeMap<String, String> = others.saved_tags().0;
        let memory = self.saved_tags();
        let missing = memory.0.iter().filter(|(tag, _)| !chosen.contains_key(*tag));
        missing
            .flat_map(|(tag, value)| match tag.strip_prefix(OPTION) {
                Some("tag") => self.tags.iter().flat_map(UserTags::flags).collect(),
                Some(flag) => vec![format!("--{flag}={value}")],
                None => Vec::new(),
            })
            .collect()
    }
}

fn field(resource: Option<&Resource>, path: &str) -> Option<FieldValue> {
    let fields = resource?.fields();
    fields
        .into_iter()
        .find(|field| field.path == path)
        .map(|field| field.value)
}

/// A number as an option takes it; nothing where the option does not take it.
fn parsed<T: std::str::FromStr>(number: u32) -> Option<T> {
    number.to_string().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::inventory::Reading;
    use crate::model::resource::{Architecture, ResourceId};
    use crate::model::scope::tests::scope;

    fn everything() -> HubOptions {
        HubOptions {
            tags: Some(UserTags::parse(&["team=a b".to_owned()]).unwrap()),
            kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
            retention: Some("7200".parse().unwrap()),
            permissions_boundary: Some("arn:aws:iam::111122223333:policy/x".parse().unwrap()),
            role_path: Some("/x/".parse().unwrap()),
            queue_prefix: Some("x-".parse().unwrap()),
            memory: Some("512".parse().unwrap()),
            architecture: Some(Architecture::Arm64),
            reserved_concurrency: Some("5".parse().unwrap()),
            log_retention: Some("30".parse().unwrap()),
            rebalance: Some(true),
        }
    }

    /// A hub with these options whose dead-letter queue is gone.
    fn forgetful(options: &HubOptions) -> Observed {
        let memory = ResourceId::Queue(scope().dead_letter_queue());
        Hub::new(&scope(), options.clone(), Code::of_archive("0.1.0", "aa"))
            .desired()
            .resources()
            .filter(|resource| resource.id() != memory)
            .map(|resource| (resource.id(), Reading::Present(Box::new(resource.clone()))))
            .collect()
    }

    #[test]
    fn what_was_chosen_can_be_seen_without_its_memory() {
        for options in [HubOptions::default(), everything()] {
            assert_eq!(HubOptions::as_live(&scope(), &forgetful(&options)), options);
        }
    }

    #[test]
    fn what_is_not_ours_says_nothing() {
        let mut other = scope();
        other.bus = "other".parse().unwrap();
        assert_eq!(
            HubOptions::as_live(&other, &forgetful(&everything())),
            HubOptions::default()
        );
    }

    #[test]
    fn only_what_is_not_chosen_anew_is_missing() {
        let given = HubOptions {
            memory: Some("128".parse().unwrap()),
            ..HubOptions::default()
        };
        let seen = HubOptions {
            memory: Some("512".parse().unwrap()),
            retention: Some("7200".parse().unwrap()),
            tags: Some(UserTags::parse(&["team=a b".to_owned(), "x=".to_owned()]).unwrap()),
            ..HubOptions::default()
        };
        assert_eq!(
            seen.flags_beyond(&given),
            ["--retention=7200", "--tag='team=a b'", "--tag=x="]
        );
        assert_eq!(given.flags_beyond(&given), [""; 0]);
    }
}
