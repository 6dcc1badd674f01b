//! The record of a cluster: the content of its parameter in Parameter Store. The records define which clusters a bus
//! has; everything else is only observed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{ClusterName, QueueName, RoleName};
use super::options::{HubOptions, UserTag};
use super::scope::Scope;
use super::settings::{BadDocument, Moment, document_text, read_document};
use super::tags::Tags;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterRecord {
    pub cluster: ClusterName,
    /// The name of its queue, as the hub computes it.
    pub queue: QueueName,
    pub made_by: Maker,
    /// When kibus wrote it, by AWS's clock; for an adopted queue, when the queue was created. An older queue was prepared by someone else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// Whether another tool manages the queue and the permission of the controller.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// The role of the cluster's Karpenter controller; none if kibus does not manage its permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleName>,
    /// Roles that may still have the policy of the cluster.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub former_roles: BTreeSet<RoleName>,
    /// The user's tags of the queue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Members that this kibus does not know. They are kept.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// Who writes a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Maker {
    Kibus,
    /// Another tool; only that tool changes and deletes the record.
    Tool(String),
}

impl From<String> for Maker {
    fn from(text: String) -> Self {
        if text == "kibus" { Self::Kibus } else { Self::Tool(text) }
    }
}

impl From<Maker> for String {
    fn from(maker: Maker) -> Self {
        maker.to_string()
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kibus => f.write_str("kibus"),
            Self::Tool(tool) => write!(f, "{}", tool.escape_debug()),
        }
    }
}

impl ClusterRecord {
    /// The record of a cluster that kibus adds to a hub with these options.
    pub fn new(scope: &Scope, options: &HubOptions, cluster: ClusterName, since: Moment) -> Self {
        Self {
            queue: scope.cluster_queue(&options.queue_template(), &cluster),
            cluster,
            made_by: Maker::Kibus,
            since: Some(since),
            external: false,
            role: None,
            former_roles: BTreeSet::new(),
            tags: BTreeMap::new(),
            unknown: Map::new(),
        }
    }

    /// Reads the record of this cluster.
    pub fn from_document(text: &str, cluster: &ClusterName) -> Result<Self, BadDocument> {
        let record: Self = read_document(text)?;
        if record.cluster != *cluster {
            return Err(BadDocument::damaged(&format!("it is the record of cluster `{}`", record.cluster)));
        }
        if record.made_by == Maker::Kibus && record.since.is_none() {
            return Err(BadDocument::damaged(&"it does not state since when the cluster has been on the bus"));
        }
        for (key, value) in &record.tags {
            format!("{key}={value}").parse::<UserTag>().map_err(|e| BadDocument::damaged(&e))?;
        }
        Ok(record)
    }

    pub fn document(&self) -> String {
        document_text(self)
    }

    pub fn is_of_kibus(&self) -> bool {
        self.made_by == Maker::Kibus
    }

    /// Whether kibus manages the queue.
    pub fn has_own_queue(&self) -> bool {
        self.is_of_kibus() && !self.external
    }

    /// The tags of the queue.
    pub fn queue_tags(&self, scope: &Scope) -> Tags {
        Tags::of_cluster(&scope.bus, &self.cluster).with_all(&Tags(self.tags.clone()))
    }

    /// Every role that may have the policy of the cluster.
    pub fn roles(&self) -> BTreeSet<RoleName> {
        self.former_roles.iter().chain(&self.role).cloned().collect()
    }

    /// This record with the parts that a change removes last: a role stays until it no longer has the policy, a tag
    /// until the queue no longer has it.
    pub fn while_leaving(&self, before: &Self) -> Self {
        let mut kept = self.clone();
        kept.former_roles.extend(before.roles());
        kept.former_roles.retain(|role| kept.role.as_ref() != Some(role));
        for (key, value) in &before.tags {
            kept.tags.entry(key.clone()).or_insert_with(|| value.clone());
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    fn record() -> ClusterRecord {
        ClusterRecord::new(&scope(), &HubOptions::default(), "base".parse().unwrap(), Moment(1_800_000_000))
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let full = ClusterRecord {
            role: Some("a,b".parse().unwrap()),
            former_roles: BTreeSet::from(["old".parse().unwrap()]),
            tags: BTreeMap::from([("team".to_owned(), "infra".to_owned())]),
            ..record()
        };
        let tool =
            ClusterRecord { made_by: Maker::Tool("terraform".to_owned()), since: None, external: true, ..record() };
        for record in [record(), full, tool] {
            assert_eq!(ClusterRecord::from_document(&record.document(), &record.cluster), Ok(record));
        }
    }

    #[test]
    fn what_a_newer_kibus_added_stays() {
        let newer = record().document().replacen('{', r#"{"later": [1], "#, 1);
        let read = ClusterRecord::from_document(&newer, &"base".parse().unwrap()).unwrap();
        assert_eq!(read.unknown.keys().collect::<Vec<_>>(), ["later"]);
        assert_eq!(ClusterRecord::from_document(&read.document(), &read.cluster), Ok(read));
    }

    #[test]
    fn what_is_no_record_of_the_cluster_is_refused() {
        let good = record().document();
        for (text, why) in [
            ("[]", "no format number"),
            (r#"{"format": 1}"#, "missing field"),
            (&good.replace(r#","since":"2027-01-15T08:00:00Z""#, ""), "since when"),
            (&good.replace(r#""since":"2027-01-15T08:00:00Z""#, r#""since":"yesterday""#), "is not a time"),
            (&good.replacen('{', r#"{"tags":{"kibus:bus":"other"},"#, 1), "tag"),
            (&good.replace("karpenter-base", "karpenter base"), "queue name"),
        ] {
            let refused = ClusterRecord::from_document(text, &"base".parse().unwrap()).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_record_remembers_what_leaves() {
        let with = |role: Option<&str>, former: &[&str], tags: &[(&str, &str)]| ClusterRecord {
            role: role.map(|role| role.parse().unwrap()),
            former_roles: former.iter().map(|role| role.parse().unwrap()).collect(),
            tags: tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            ..record()
        };
        let role = |role, former: &[&str]| with(role, former, &[]);
        let tags = |tags: &[(&str, &str)]| with(None, &[], tags);
        for (before, after, between) in [
            (role(Some("a"), &[]), role(Some("b"), &[]), role(Some("b"), &["a"])),
            (role(Some("a"), &["b"]), role(Some("b"), &[]), role(Some("b"), &["a"])),
            (role(Some("a"), &[]), role(None, &[]), role(None, &["a"])),
            (tags(&[("k", "1")]), tags(&[("l", "2")]), tags(&[("k", "1"), ("l", "2")])),
            (tags(&[("k", "1")]), tags(&[("k", "2")]), tags(&[("k", "2")])),
        ] {
            assert_eq!(after.while_leaving(&before), between);
        }
    }
}
