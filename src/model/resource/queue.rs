//! SQS queues.

use std::collections::BTreeMap;

use serde_json::Value;

use super::particulars::{Edge, Effect, Particulars, Tie, Unit, fields};
use super::{PolicyName, Resource, ResourceId, last};
use crate::model::{
    BusName, ClusterName, Document, FindingCode, KmsKey, QueueName, QueuePrefix, Scope, Tags, dns_suffix,
    duration_text,
    policy::{self, QueueOrigin},
    scope::{cut_with_hash, fixed, may_be_cut},
    tags::{BUS, CONTROLLER_ROLE, EXTERNAL, NAMESPACE},
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
    /// With a key that is named in a way that kibus never sets, like an alias.
    OtherKms(String),
}

impl Encryption {
    /// The customer's key, by its ARN or however the queue names it.
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
/// AWS Health events Amazon EventBridge schema"). It is also the largest message in Regions without messages of 1 MiB.
pub const LARGEST_EVENT: u32 = 262_144;

fields! {
    QueueField of Queue {
        name: _, // names the resource
        retention, visibility, delay, receive_wait, max_message_size, redrive, redrive_allow, encryption, policy,
        tags: _, // compared key by key
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
    /// How long a received message stays hidden, in seconds.
    pub visibility: u32,
    /// How long a new message stays hidden, in seconds.
    pub delay: u32,
    /// How long a receive waits for a message by default, in seconds.
    pub receive_wait: u32,
    /// The largest message, in bytes. The most that SQS accepts differs by Region, so [`LARGEST_EVENT`] stands for more, too.
    pub max_message_size: u32,
    pub redrive: Option<Redrive>,
    /// Which queues may use this one for their dead letters (`RedriveAllowPolicy`).
    pub redrive_allow: Option<Document>,
    pub encryption: Encryption,
    pub policy: Option<Document>,
    pub tags: Tags,
}

impl Queue {
    /// How this bus came by the queue; `None` if its policy has no statement of kibus, or is locked for another bus.
    pub fn origin(&self, scope: &Scope) -> Option<QueueOrigin> {
        let policy = self.policy.as_ref()?;
        let is_of_other = policy::bus_of_queue_policy(scope, policy).is_some_and(|bus| bus != scope.bus);
        QueueOrigin::of(policy).filter(|_| !is_of_other)
    }

    /// Whom its policy lets use it as the controller.
    pub fn controller(&self) -> Option<&str> {
        self.policy.as_ref().and_then(policy::controller_of_queue)
    }

    /// Whether another tool manages the queue, for this bus unless it has lost the tag: it says so, and its policy has no statement
    /// of kibus.
    pub fn is_external(&self, bus: &BusName) -> bool {
        let is_ours = self.policy.as_ref().and_then(QueueOrigin::of).is_some();
        let is_of_other = self.tags.get(BUS).is_some_and(|other| other != bus.as_str());
        self.tags.get(EXTERNAL).is_some() && !is_ours && !is_of_other
    }

    /// Whether the queue has a tag or a statement of kibus, of whatever bus.
    pub fn has_anything_of_kibus(&self) -> bool {
        self.tags.has_any_of_kibus() || self.policy.as_ref().and_then(QueueOrigin::of).is_some()
    }

    /// The queue without what this bus has added: its tags, and its statements. Its settings stay.
    pub fn handed_back(&self, scope: &Scope) -> Self {
        let tags = self.tags.0.iter().filter(|(key, _)| !key.starts_with(NAMESPACE));
        let tags = tags.map(|(key, value)| (key.clone(), value.clone()));
        Self {
            policy: match self.origin(scope) {
                Some(_) => self.policy.as_ref().and_then(policy::without_ours),
                None => self.policy.clone(),
            },
            tags: tags.collect(),
            ..self.clone()
        }
    }
}

/// What manages an external queue, as its tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOwner {
    Terraform,
    CloudFormation,
    Ack,
    Other,
}

impl QueueOwner {
    pub fn of(tags: &Tags) -> Self {
        match tags.get(EXTERNAL) {
            Some("terraform") => Self::Terraform,
            Some("cloudformation") => Self::CloudFormation,
            Some("ack") => Self::Ack,
            _ => Self::Other,
        }
    }

    /// The format of an export for it, and where its attributes are.
    pub fn words(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Terraform => Some(["terraform", "Terraform"]),
            Self::CloudFormation => Some(["cloudformation", "CloudFormation"]),
            Self::Ack => Some(["ack", "ACK"]),
            Self::Other => None,
        }
    }
}

impl QueueField {
    /// The name of the attribute for it: in Terraform (`aws_sqs_queue`, `aws_sqs_queue_policy`), in CloudFormation (`AWS::SQS::Queue`,
    /// `AWS::SQS::QueuePolicy`) and SQS, and in ACK (`QueueSpec` of its SQS controller). `has_key` says whether the queue should
    /// have a customer key.
    pub fn attribute(self, owner: QueueOwner, has_key: bool) -> &'static str {
        let [terraform, sqs, ack] = match self {
            Self::Retention => ["message_retention_seconds", "MessageRetentionPeriod", "messageRetentionPeriod"],
            Self::Visibility => ["visibility_timeout_seconds", "VisibilityTimeout", "visibilityTimeout"],
            Self::Delay => ["delay_seconds", "DelaySeconds", "delaySeconds"],
            Self::ReceiveWait => {
                ["receive_wait_time_seconds", "ReceiveMessageWaitTimeSeconds", "receiveMessageWaitTimeSeconds"]
            }
            Self::MaxMessageSize => ["max_message_size", "MaximumMessageSize", "maximumMessageSize"],
            Self::RedriveDeadLetters | Self::RedriveMaxReceives => ["redrive_policy", "RedrivePolicy", "redrivePolicy"],
            Self::RedriveAllow => ["redrive_allow_policy", "RedriveAllowPolicy", "redriveAllowPolicy"],
            Self::Encryption if has_key => ["kms_master_key_id", "KmsMasterKeyId", "kmsMasterKeyID"],
            Self::Encryption => ["sqs_managed_sse_enabled", "SqsManagedSseEnabled", "sqsManagedSSEEnabled"],
            Self::Policy if owner == QueueOwner::CloudFormation => ["", "PolicyDocument", ""],
            Self::Policy => ["policy", "Policy", "policy"],
        };
        match owner {
            QueueOwner::Terraform => terraform,
            QueueOwner::CloudFormation | QueueOwner::Other => sqs,
            QueueOwner::Ack => ack,
        }
    }
}

/// The length that SQS allows for the name of a queue.
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

    /// The queue of the cluster that does not exist, for probes.
    pub fn probe_queue(&self) -> QueueName {
        fixed(format!("{}-probe", self.bus))
    }

    /// The names that a cluster's queue must not have.
    pub fn hub_queues(&self) -> [QueueName; 3] {
        [self.hub_queue(), self.dead_letter_queue(), self.probe_queue()]
    }

    /// The queue of a cluster: prefix and name, cut to the length that SQS allows, with a hash that keeps it unique.
    pub fn cluster_queue(&self, prefix: &QueuePrefix, cluster: &ClusterName) -> QueueName {
        fixed(cut_with_hash(&format!("{prefix}{cluster}"), LONGEST_NAME))
    }

    /// The cluster that a queue has its name from; `None` if the name may have been cut.
    pub fn cluster_of_queue(&self, prefix: &QueuePrefix, queue: &QueueName) -> Option<ClusterName> {
        let cluster = queue.as_str().strip_prefix(prefix.as_str())?.parse().ok();
        cluster.filter(|_| !may_be_cut(queue.as_str(), LONGEST_NAME))
    }

    pub fn queue_arn(&self, queue: &QueueName) -> String {
        self.arn("sqs", queue.as_str())
    }

    /// A pattern for the ARN of every queue whose name begins with this.
    pub fn queues_arn(&self, prefix: &QueuePrefix) -> String {
        self.arn("sqs", &format!("{prefix}*"))
    }

    /// Patterns for the ARNs of the queues that the router sends to: those of clusters, and the probe queue.
    pub fn cluster_queue_arns(&self, prefix: &QueuePrefix) -> [String; 2] {
        [self.queues_arn(prefix), self.queue_arn(&self.probe_queue())]
    }

    /// The address of a queue, at a custom endpoint if there is one. It is computed: asking `GetQueueUrl` cannot tell "absent"
    /// from "no access".
    pub fn queue_url(&self, endpoint: Option<&str>, queue: &QueueName) -> String {
        match endpoint {
            Some(endpoint) => format!("{}/{}/{queue}", endpoint.trim_end_matches('/'), self.account),
            None => format!("https://sqs.{}.{}/{}/{queue}", self.region, dns_suffix(&self.partition), self.account),
        }
    }
}

impl Particulars for Queue {
    /// The hub's probe queue has the tag too, with a value that is no cluster's name.
    fn cluster(&self, scope: &Scope, _policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        self.tags.cluster_of(&scope.bus)
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let router_policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
        let edge = Tie::UsesWhenWritten.to(router_policy, "the router may use a key before its queues do");
        let mut edges = vec![edge.when(Effect::Encrypts, Effect::AllowsKey)];
        let dead_letters = scope.dead_letter_queue();
        let redrives_to = self.redrive.as_ref().map(|redrive| &redrive.dead_letters);
        if redrives_to == Some(&scope.queue_arn(&dead_letters)) {
            let id = ResourceId::Queue(dead_letters);
            edges.push(Tie::Needs.to(id, "a redrive policy names an existing queue"));
        }
        edges
    }

    fn effects(&self, before: Option<&Resource>) -> Vec<Effect> {
        let Some(before) = before.and_then(Resource::as_queue) else {
            let grants = self.controller().map(|_| Effect::Grants);
            return [Effect::Encrypts].into_iter().chain(grants).collect();
        };
        let mut effects = Vec::new();
        if before.encryption != self.encryption {
            effects.extend([Effect::Encrypts, Effect::Reencrypts]);
        }
        let role = |queue: &Self| queue.tags.get(CONTROLLER_ROLE).map(str::to_owned);
        if role(before).is_some() && role(before) != role(self) {
            effects.push(Effect::ForgetsRole);
        }
        if before.controller() != self.controller() {
            effects.push(self.controller().map_or(Effect::Revokes, |_| Effect::Grants));
        }
        if let (Some(from), Some(to)) = (&before.policy, &self.policy)
            && policy::only_locks(from, to)
        {
            effects.push(Effect::Locks);
        }
        effects
    }

    /// A queue that takes the grant of another role over saves that role until its policy is deleted.
    fn before_the_last(&self, before: &Resource) -> Option<Resource> {
        let before = before.as_queue()?;
        let role = before.tags.get(CONTROLLER_ROLE)?;
        let takes_over = before.controller().is_none() && self.controller().is_some();
        let moves = takes_over && self.tags.get(CONTROLLER_ROLE) != Some(role);
        moves.then(|| {
            Resource::Queue(Self {
                // With tags that kibus did not set.
                tags: before.tags.clone().with_all(&self.tags).with(CONTROLLER_ROLE, role),
                ..self.clone()
            })
        })
    }

    fn trouble(&self) -> Option<(FindingCode, String)> {
        self.controller().filter(|role| policy::is_deleted_role(role)).map(|id| {
            let text = format!("its policy allows the deleted role `{}`", id.escape_debug());
            (FindingCode::GrantNamesDeletedRole, format!("{text}; a new role of the same name has no permission"))
        })
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
        let controller = self.controller().map(|role| format!("read by {}", last(role, '/')));
        parts.extend(controller);
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
