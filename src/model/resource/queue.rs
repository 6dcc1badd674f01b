//! SQS queues.

use std::collections::BTreeMap;

use serde_json::Value;

use super::particulars::{Edge, Particulars, Tie, Unit, fields};
use super::record::follows_record;
use super::{Kind, PolicyName, ResourceId, last};
use crate::model::{
    ClusterName, ClusterRecord, Document, KmsKey, Moment, QueueName, QueueTemplate, Scope, Tags, dns_suffix,
    duration_text, policy,
    scope::{cut_with_hash, fixed},
    tags::{BUS, CLUSTER},
    texts,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Not encrypted. Kibus never sets this.
    None,
    /// With a key that SQS owns (SSE-SQS).
    SqsManaged,
    /// With a customer's key, by its ARN.
    Kms(KmsKey),
    /// With a key in a form that kibus never sets, like an alias.
    OtherKms(String),
}

impl Encryption {
    /// The customer's key, by its ARN or in whatever form the queue names it.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::None | Self::SqsManaged => None,
            Self::Kms(key) => Some(key.as_str()),
            Self::OtherKms(key) => Some(key),
        }
    }
}

/// The redrive policy: where messages go after too many receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    pub dead_letters: String,
    pub max_receives: u32,
}

/// The largest event of EC2 or Health, in bytes: a longer event of Health comes in pages (Health user guide, "Reference:
/// AWS Health events Amazon EventBridge schema"). It is also the maximum message size in Regions without support for 1 MiB.
pub const LARGEST_EVENT: u32 = 262_144;

fields! {
    QueueField of Queue {
        name: _, // names the resource
        retention, visibility, delay, receive_wait, max_message_size, redrive, redrive_allow, encryption, policy,
        tags: _, // compared key by key
        created: _, // SQS counts
    } {
        Retention = "retention": (*retention, Unit::Seconds),
        Visibility = "visibility": (*visibility, Unit::Seconds),
        Delay = "delay": (*delay, Unit::Seconds),
        ReceiveWait = "receive_wait": (*receive_wait, Unit::Seconds),
        MaxMessageSize = "max_message_size": (*max_message_size, Unit::Bytes),
        RedriveDeadLetters = "redrive.dead_letters": redrive.as_ref().map(|r| r.dead_letters.clone()),
        RedriveMaxReceives = "redrive.max_receives": redrive.as_ref().map(|r| r.max_receives),
        RedriveAllow = "redrive_allow": redrive_allow.clone(),
        Encryption = "encryption": match encryption {
            Encryption::None => "none",
            Encryption::SqsManaged => "SSE-SQS",
            Encryption::Kms(key) => key.as_str(),
            Encryption::OtherKms(key) => key,
        },
        Policy = "policy": policy.clone(),
    }
}

/// A standard queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub name: QueueName,
    /// How long a message is kept, in seconds.
    pub retention: u32,
    /// How long a received message stays invisible, in seconds.
    pub visibility: u32,
    /// How long a new message stays hidden, in seconds.
    pub delay: u32,
    /// How long a receive waits for a message by default, in seconds.
    pub receive_wait: u32,
    /// The maximum message size, in bytes. The limit of SQS differs by Region, so [`LARGEST_EVENT`] also represents larger sizes.
    pub max_message_size: u32,
    pub redrive: Option<Redrive>,
    /// Which queues may use this one for their dead letters (`RedriveAllowPolicy`).
    pub redrive_allow: Option<Document>,
    pub encryption: Encryption,
    pub policy: Option<Document>,
    pub tags: Tags,
    /// When it was created, by AWS's clock, in seconds of the Unix epoch.
    pub created: u64,
}

/// How a queue with the name of a cluster's queue relates to the bus that has recorded the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Kibus manages it.
    Ours,
    /// Kibus manages it, but it has lost a tag that the router requires for delivery.
    LacksTags,
    /// Something else created it, or has taken it over. Kibus does not change it.
    Foreign,
}

/// How much older a queue may seem than a record that was written before it: AWS returns whole seconds, and its servers' clocks differ.
pub const AGE_SLACK: u64 = 5;

impl Queue {
    /// How the queue relates to this bus, given the record of a cluster whose queue kibus manages. On an older queue,
    /// tags and statements prove nothing, and a lock counts only if it is exactly the lock of this bus.
    pub fn standing(&self, scope: &Scope, record: &ClusterRecord) -> Standing {
        let tags = [(BUS, scope.bus.as_str()), (CLUSTER, record.cluster.as_str())];
        let tags = tags.map(|(key, value)| self.tags.get(key).map(|tag| tag == value));
        if self.is_older_than(record.since.unwrap_or_default()) || tags.contains(&Some(false)) {
            return Standing::Foreign;
        }
        match tags {
            [Some(true), Some(true)] => Standing::Ours,
            _ if self.policy.as_ref().is_some_and(|policy| policy::has_lock(scope, &self.name, policy)) => {
                Standing::LacksTags
            }
            _ => Standing::Foreign,
        }
    }

    /// Whether it existed before this time.
    pub fn is_older_than(&self, since: Moment) -> bool {
        self.created + AGE_SLACK < since.0
    }
}

impl QueueField {
    /// The name of the attribute for it, in Terraform (`aws_sqs_queue`, `aws_sqs_queue_policy`) and in CloudFormation
    /// (`AWS::SQS::Queue`) and SQS. `has_key` says whether the queue should have a customer key.
    pub fn attribute(self, is_terraform: bool, has_key: bool) -> &'static str {
        let [terraform, sqs] = match self {
            Self::Retention => ["message_retention_seconds", "MessageRetentionPeriod"],
            Self::Visibility => ["visibility_timeout_seconds", "VisibilityTimeout"],
            Self::Delay => ["delay_seconds", "DelaySeconds"],
            Self::ReceiveWait => ["receive_wait_time_seconds", "ReceiveMessageWaitTimeSeconds"],
            Self::MaxMessageSize => ["max_message_size", "MaximumMessageSize"],
            Self::RedriveDeadLetters | Self::RedriveMaxReceives => ["redrive_policy", "RedrivePolicy"],
            Self::RedriveAllow => ["redrive_allow_policy", "RedriveAllowPolicy"],
            Self::Encryption if has_key => ["kms_master_key_id", "KmsMasterKeyId"],
            Self::Encryption => ["sqs_managed_sse_enabled", "SqsManagedSseEnabled"],
            Self::Policy => ["policy", "Policy"],
        };
        if is_terraform { terraform } else { sqs }
    }
}

/// The maximum length of a queue name in SQS.
const LONGEST_NAME: usize = 80;

impl Scope {
    /// The hub queue, which every rule delivers to.
    pub fn hub_queue(&self) -> QueueName {
        fixed(format!("{}-hub", self.bus))
    }

    /// The dead-letter queue of the hub queue and of every rule's target.
    pub fn dead_letter_queue(&self) -> QueueName {
        fixed(format!("{}-hub-dlq", self.bus))
    }

    /// The queue for probes, of a cluster that does not exist.
    pub fn probe_queue(&self) -> QueueName {
        fixed(format!("{}-probe", self.bus))
    }

    /// The names that a cluster's queue must not have.
    pub fn hub_queues(&self) -> [QueueName; 3] {
        [self.hub_queue(), self.dead_letter_queue(), self.probe_queue()]
    }

    /// The queue of a cluster. If its name would be longer than SQS allows, the cluster's part is shortened and ends
    /// with a hash that keeps it unique. The text of the template is never shortened, because policies name queues by
    /// it.
    pub fn cluster_queue(&self, template: &QueueTemplate, cluster: &ClusterName) -> QueueName {
        let (before, after) = template.around();
        let part = cut_with_hash(cluster.as_str(), LONGEST_NAME - before.len() - after.len());
        fixed(format!("{before}{part}{after}"))
    }

    pub fn queue_arn(&self, queue: &QueueName) -> String {
        self.arn("sqs", queue.as_str())
    }

    /// A pattern for the ARN of every cluster queue.
    pub fn queues_arn(&self, template: &QueueTemplate) -> String {
        self.arn("sqs", &template.pattern())
    }

    /// Patterns for the ARNs of the queues that the router sends to: cluster queues and the probe queue.
    pub fn cluster_queue_arns(&self, template: &QueueTemplate) -> [String; 2] {
        [self.queues_arn(template), self.queue_arn(&self.probe_queue())]
    }

    /// The URL of a queue, at a custom endpoint if there is one. It is computed, because `GetQueueUrl` cannot
    /// distinguish "absent" from "no access".
    pub fn queue_url(&self, endpoint: Option<&str>, queue: &QueueName) -> String {
        match endpoint {
            Some(endpoint) => format!("{}/{}/{queue}", endpoint.trim_end_matches('/'), self.account),
            None => format!("https://sqs.{}.{}/{}/{queue}", self.region, dns_suffix(&self.partition), self.account),
        }
    }
}

impl Particulars for Queue {
    /// The hub's probe queue also has the tag, with a value that is not a cluster name.
    fn cluster(&self, scope: &Scope, _policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        self.tags.cluster_of(&scope.bus)
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let router_policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
        let mut edges = vec![
            Tie::UsesAddition.to(router_policy, "the router may use a key before its queues do"),
            Tie::UsesAddition.to(Kind::RolePolicy, "the controller may use a key before its queue does"),
            follows_record(),
        ];
        let dead_letters = scope.dead_letter_queue();
        let redrives_to = self.redrive.as_ref().map(|redrive| &redrive.dead_letters);
        if redrives_to == Some(&scope.queue_arn(&dead_letters)) {
            let id = ResourceId::Queue(dead_letters);
            edges.push(Tie::Needs.to(id, "a redrive policy names an existing queue"));
        }
        edges
    }

    fn summary(&self) -> String {
        let encryption = match &self.encryption {
            Encryption::None => "not encrypted".to_owned(),
            Encryption::SqsManaged => "SSE-SQS".to_owned(),
            Encryption::Kms(key) => format!("KMS {}", last(key.as_str(), ':')),
            Encryption::OtherKms(key) => format!("KMS {key}"),
        };
        let mut parts = vec![duration_text(self.retention.into()), encryption];
        let policy = self.policy.as_ref();
        if let Some(redrive) = &self.redrive {
            parts.push(format!("dead letters after {} receives", redrive.max_receives));
        } else if let Some(sources) = self.redrive_allow.as_ref().and_then(dead_letters_of) {
            parts.push(sources);
        } else if policy.is_some_and(policy::is_locked) {
            parts.push("from the router only".to_owned());
        } else if policy.is_some_and(is_tls_only) {
            parts.push("TLS only".to_owned());
        }
        parts.join(", ")
    }
}

/// The queues that may redrive into a dead-letter queue, if it names them.
fn dead_letters_of(allow: &Document) -> Option<String> {
    let sources = texts(allow.value().get("sourceQueueArns"));
    let names: Vec<_> = sources.iter().map(|arn| last(arn, ':')).collect();
    (!names.is_empty()).then(|| format!("from {} only", names.join(", ")))
}

fn is_tls_only(policy: &Document) -> bool {
    policy.statements().iter().any(|statement| {
        let secure = statement.pointer("/Condition/Bool/aws:SecureTransport");
        statement.get("Effect").and_then(Value::as_str) == Some("Deny")
            && (secure == Some(&Value::Bool(false)) || texts(secure).first() == Some(&"false"))
    })
}
