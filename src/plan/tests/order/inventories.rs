//! Pairs of inventories: any state of a cluster or a hub, desired and observed.

use crate::model::{
    ClusterRecord, Desired, Document, Fact, Hub, HubOptions, Moment, Observed, Resource, hub, scope::tests::scope,
    tags::DELETING,
};
use crate::plan::tests::code;
use crate::plan::{Plan, plan};

const ROLES: [Option<&str>; 3] = [None, Some("a"), Some("b")];
const QUEUES: usize = 10;
const POLICIES: usize = 3;
/// The number of desired and observed states of one cluster.
pub(super) const CLUSTERS: usize = 4 * QUEUES * POLICIES * POLICIES;

#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    pub(super) wanted: Desired,
    pub(super) observed: Observed,
}

impl Pair {
    pub(super) fn plan(&self) -> Plan {
        plan(&scope(), &self.wanted, &self.observed)
    }

    pub(super) fn see(&mut self, resource: Resource) {
        self.observed.insert(resource.id(), Fact::Present(resource));
    }

    /// Adds a cluster: wanted with no role, with either, or not at all; its record and queue absent, or with any role, the queue
    /// changed or not, or being deleted; on each role its policy absent, as it was, or edited until it does not name its queue.
    pub(super) fn cluster(&mut self, name: &str, mut state: usize) {
        let mut next = |count: usize| {
            let digit = state % count;
            state /= count;
            digit
        };
        let desired = |role| record(name, role).desired(&scope(), &HubOptions::default().into());
        if let Some(role) = ROLES.get(next(4)) {
            self.wanted.extend(desired(*role));
        }
        for id in desired(None).ids() {
            self.observed.insert(id.clone(), Fact::Absent);
        }
        let queue = next(QUEUES);
        // The last two have the mark of a delete.
        let marked = queue >= 8;
        if let Some(role) = ROLES.get(if marked { queue - 8 } else { queue / 2 }) {
            for mut resource in desired(*role).resources().cloned() {
                match &mut resource {
                    Resource::Queue(seen) => {
                        seen.delay += u32::from(queue % 2 == 1);
                        if marked {
                            seen.tags = seen.tags.clone().with(DELETING, "1");
                        }
                    }
                    Resource::Record(_) => {}
                    _ => continue,
                }
                self.see(resource);
            }
        }
        for role in ["a", "b"] {
            let policy = next(POLICIES);
            let mut seen = desired(Some(role)).resources().find_map(Resource::as_role_policy).unwrap().clone();
            if policy == 1 {
                seen.document = Document::new(serde_json::json!({"Statement": {"Sid": "KibusX"}}));
            }
            self.see(Resource::RolePolicy(seen.clone()));
            if policy == 0 {
                self.observed.insert(Resource::RolePolicy(seen).id(), Fact::Absent);
            }
        }
    }

    /// Adds a hub: wanted or not, found after other options, of which the bits of `missing` are absent, those of `drifted`
    /// were changed, and queues among those of `marked` have the mark of a delete.
    pub(super) fn hub(
        &mut self,
        wanted: Option<&HubOptions>,
        found: &HubOptions,
        (missing, drifted, marked): (u32, u32, u32),
    ) {
        let hub = |options: &HubOptions| Hub::new(&scope(), options.clone(), code()).desired();
        if let Some(options) = wanted {
            self.wanted.extend(hub(options));
        }
        for id in hub::ids(&scope(), [&HubOptions::all_parts()]) {
            self.observed.insert(id, Fact::Absent);
        }
        for (bit, resource) in hub(found).resources().enumerate() {
            if missing & (1 << bit) == 0 {
                let mut seen = if drifted & (1 << bit) == 0 { resource.clone() } else { changed(resource.clone()) };
                if let Resource::Queue(queue) = &mut seen
                    && marked & (1 << bit) != 0
                {
                    queue.tags = queue.tags.clone().with(DELETING, "1");
                }
                self.see(seen);
            }
        }
    }
}

fn record(name: &str, role: Option<&str>) -> ClusterRecord {
    let record = ClusterRecord::new(&scope(), &HubOptions::default(), name.parse().unwrap(), Moment(0));
    ClusterRecord { role: role.map(|role| role.parse().unwrap()), ..record }
}

fn changed(mut resource: Resource) -> Resource {
    match &mut resource {
        Resource::Queue(r) => r.delay += 1,
        Resource::Role(r) => r.trust = Document::new(serde_json::json!({})),
        Resource::RolePolicy(r) => r.document = Document::new(serde_json::json!({})),
        Resource::Function(r) => r.settings.role.push('x'),
        Resource::Alias(r) => r.settings.memory += 1,
        Resource::EventSourceMapping(r) => r.batch_size += 1,
        Resource::Rule(r) => r.target = None,
        Resource::Parameter(r) => r.settings.as_mut().unwrap().pinned_version = Some(7),
        other => drop(other.tags_mut().unwrap().0.insert("kibus:x".to_owned(), String::new())),
    }
    resource
}

/// Options of hubs that may follow each other.
pub(super) fn hub_options() -> Vec<HubOptions> {
    let default = HubOptions::default;
    vec![
        default(),
        HubOptions { rebalance: Some(true), tag: Some(["team=a".parse().unwrap()].into_iter().collect()), ..default() },
        HubOptions { role_path: Some("/x/".parse().unwrap()), ..default() },
        HubOptions {
            memory: Some("512".parse().unwrap()),
            queue_name: Some("x-{cluster}".parse().unwrap()),
            reserved_concurrency: Some("20".parse().unwrap()),
            ..default()
        },
        HubOptions { reserved_concurrency: Some("5".parse().unwrap()), ..default() },
        HubOptions {
            kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
            role_path: Some("/x/".parse().unwrap()),
            rebalance: Some(true),
            ..default()
        },
    ]
}
