//! Records of clusters, each in a parameter of Parameter Store. A cluster is on the bus while its record exists: the record
//! is created before its queue and its policy, and deleted after them.

use std::collections::{BTreeMap, BTreeSet};

use super::particulars::{Edge, Field, Ownership, Particulars, Tie, entry, field, field_names};
use super::{Kind, ParameterName, PolicyName, Resource};
use crate::model::{BadDocument, ClusterName, ClusterRecord, Scope, Tags, scope::fixed};

field_names! {
    RecordField {
        Queue = "queue",
        MadeBy = "made_by",
        Since = "since",
        External = "external",
        Role = "role",
        FormerRoles = "former_roles",
        QueueTags = "queue_tags",
        Content = "content",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub name: ParameterName,
    /// The record, or why its parameter contains none.
    pub content: Result<ClusterRecord, BadDocument>,
    /// The number of writes so far, counted by Parameter Store.
    pub version: u64,
    /// The tags for a new parameter. Nothing depends on them, so they are never read.
    pub tags_of_new: Tags,
}

impl Record {
    /// The resource for a record to write.
    pub fn new(scope: &Scope, record: ClusterRecord) -> Self {
        Self {
            name: scope.record_parameter(&record.cluster),
            tags_of_new: record.queue_tags(scope),
            content: Ok(record),
            version: 0,
        }
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            content,
            version: _,     // each write has its own
            tags_of_new: _, // never read
        } = self;
        let ClusterRecord { cluster: _, queue, made_by, since, external, role, former_roles, tags, unknown: _ } =
            match content {
                Ok(record) => record,
                Err(bad) => return vec![field(RecordField::Content, bad.to_string())],
            };
        let mut fields = vec![
            field(RecordField::Queue, queue.as_str()),
            field(RecordField::MadeBy, made_by.to_string()),
            field(RecordField::Since, since.map(String::from)),
            field(RecordField::External, external.then_some(true)),
            field(RecordField::Role, role.as_ref().map(ToString::to_string)),
            field(RecordField::FormerRoles, former_roles.iter().map(ToString::to_string).collect::<BTreeSet<_>>()),
        ];
        fields.extend(tags.iter().map(|(key, value)| entry(RecordField::QueueTags, key, value.as_str())));
        fields
    }

    pub fn record(&self) -> Option<&ClusterRecord> {
        self.content.as_ref().ok()
    }
}

impl Scope {
    /// The path of the records of the bus, without a trailing slash: AWS compares it with policies as sent.
    pub fn records_path(&self) -> String {
        format!("{}/clusters", self.settings_parameter())
    }

    pub fn record_parameter(&self, cluster: &ClusterName) -> ParameterName {
        fixed(format!("{}/{cluster}", self.records_path()))
    }

    /// The cluster whose record a parameter is, by the parameter's name.
    pub fn cluster_of_record(&self, name: &str) -> Option<ClusterName> {
        name.strip_prefix(&self.records_path())?.strip_prefix('/')?.parse().ok()
    }
}

impl Particulars for Record {
    /// A record that a tool created belongs to the tool. An unreadable record is never written.
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::Content(self.record().is_some_and(ClusterRecord::is_of_kibus))
    }

    fn cluster(&self, scope: &Scope, _policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        scope.cluster_of_record(self.name.as_str())
    }

    /// Roles and tags to remove stay in the record until they are gone.
    fn while_leaving(&self, before: &Resource) -> Option<Resource> {
        let (before, record) = (before.as_record()?, self.record()?);
        let kept = record.while_leaving(before.record()?);
        // A second write follows the first.
        let version = before.version + 1;
        (kept != *record).then(|| Resource::Record(Self { content: Ok(kept), version, ..self.clone() }))
    }

    fn summary(&self) -> String {
        let Ok(record) = &self.content else { return "unusable".to_owned() };
        let role = match (&record.role, record.external) {
            (_, true) => Some("external".to_owned()),
            (Some(role), false) => Some(format!("role {role}")),
            (None, false) => None,
        };
        [Some(format!("queue {}", record.queue)), role].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn follows_record() -> Edge {
    Tie::FollowsFrom
        .to(Kind::Record, "the resources of a cluster follow from its record, which lists them until they are gone")
}
