//! Plans that tests apply on an emulator.

use std::collections::BTreeSet;

use kibus::aws::AwsCloud;
use kibus::cloud::{Questions, Read, Waiting, Write};
use kibus::model::{
    ClusterRecord, Code, Desired, Fact, Hub, HubOptions, Moment, Observed, Resource, ResourceId, default_queue_template,
};
use kibus::plan::{Change, diff, plan};
use sha2::{Digest, Sha256};

use super::emulator::Kind;
use super::stage::Stage;

/// Two archives, which are never run.
pub(crate) const ARCHIVES: [&[u8]; 2] =
    [b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0x"];
impl Stage {
    /// The desired resources of a hub and one cluster.
    pub(crate) fn hub(&self, options: HubOptions) -> Desired {
        let scope = self.cloud.scope();
        let hub = Hub::new(scope, options.clone(), Code::of_archive("0.1.0", sha256(ARCHIVES[0])));
        let mut desired = hub.desired();
        let record = ClusterRecord::new(scope, &options, "base".parse().unwrap(), Moment(1));
        desired.extend(record.desired(scope, &options.into()));
        desired
    }

    /// Applies the plan for these resources, and checks that the result matches them.
    pub(crate) async fn reach(&self, desired: &Desired) {
        let plan = plan(self.cloud.scope(), desired, &self.observe(desired).await);
        for change in &plan.changes {
            self.write(change).await;
        }
        for resource in desired.resources() {
            self.assert_is("reached", resource).await;
        }
        for change in plan.changes.iter().filter(|change| change.after.is_none()) {
            assert_eq!(self.cloud.read(&change.id).await, Ok(None), "{} is deleted", change.id);
        }
    }

    async fn observe(&self, desired: &Desired) -> Observed {
        let mut ids = kibus::model::hub::ids(self.cloud.scope(), [&HubOptions::all_parts()]);
        ids.extend(desired.ids().cloned());
        let queues = self.cloud.queues(&default_queue_template().around().0.to_owned()).await.unwrap();
        ids.extend(queues.into_iter().flatten().map(ResourceId::Queue));
        let (records, _) = self.cloud.records_page(None).await.unwrap();
        ids.extend(records.into_iter().map(|record| ResourceId::Record(record.name)));
        let mut observed = Observed::default();
        for id in ids {
            let seen = match self.cloud.read(&id).await.unwrap() {
                Some(resource) => Fact::Present(resource),
                None => Fact::Absent,
            };
            observed.insert(id, seen);
        }
        observed
    }

    pub(crate) async fn write(&self, change: &Change) {
        if let Err(fault) = self.archived(change).write(change, Waiting::unattended()).await {
            panic!("{} on {:?}: {fault:?} at {:?}", change.id, self.kind, change.fields);
        }
    }

    /// The cloud with the archive that this change needs.
    pub(crate) fn archived(&self, change: &Change) -> AwsCloud {
        let function = change.after.as_ref().and_then(Resource::as_function);
        let wanted = function.map(|function| &function.settings.code.sha256);
        let archive = ARCHIVES.into_iter().find(|archive| Some(&sha256(archive)) == wanted);
        self.cloud.clone().with_archive(archive.unwrap_or_default().to_vec())
    }

    pub(crate) async fn assert_is(&self, what: &str, wanted: &Resource) {
        let id = wanted.id();
        let read = self.cloud.read(&id).await.unwrap().unwrap_or_else(|| panic!("{id} {what} is absent"));
        let differences: Vec<_> = diff(wanted, &read, &BTreeSet::new())
            .into_iter()
            .filter(|field| !self.does_not_store(&field.path))
            .collect();
        assert!(differences.is_empty(), "{id} {what} on {:?}: {differences:#?}", self.kind);
    }

    /// Whether this emulator does not store a field.
    fn does_not_store(&self, path: &str) -> bool {
        self.kind == Kind::Moto && ["architecture", "logging.group"].contains(&path)
    }
}

/// The SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
