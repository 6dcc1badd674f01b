//! The kinds of resource that kibus knows: a closed set, one file a kind.
//!
//! The same types say what is wanted and what was read. `fields` takes a resource apart completely, so that a new
//! field does not compile until someone has decided whether it is compared.

mod alias;
mod event_source_mapping;
mod function;
mod log_group;
mod queue;
mod role;
mod rule;

use std::fmt;

pub use alias::{Alias, AliasField, History, KEPT, NoWayBack};
pub use event_source_mapping::{EventSourceMapping, MappingField};
pub use function::{Architecture, Code, Extras, Function, FunctionField, FunctionSettings, Logging};
pub use log_group::{LogGroup, LogGroupField};
pub use queue::{Encryption, Queue, QueueField, Redrive};
pub use role::{Role, RoleField, RolePolicy, RolePolicyField};
pub use rule::{Rule, RuleField, Target};

use super::field::Field;
use super::name::{FunctionName, LogGroupName, PolicyName, QueueName, RoleName, RuleName};
use super::tags::Tags;

/// Which resource: its kind and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceId {
    /// An SQS queue.
    Queue(QueueName),
    /// An IAM role.
    Role(RoleName),
    /// An inline policy of an IAM role.
    RolePolicy(RoleName, PolicyName),
    /// A CloudWatch log group.
    LogGroup(LogGroupName),
    /// A Lambda function.
    Function(FunctionName),
    /// An alias of a Lambda function.
    Alias(FunctionName, String),
    /// What makes Lambda read a queue: from which queue, to which alias of which function.
    EventSourceMapping(QueueName, FunctionName, String),
    /// An EventBridge rule on the default bus, with its one target.
    Rule(RuleName),
}

impl ResourceId {
    /// The kind, as JSON output and the text plan name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Queue(_) => "queue",
            Self::Role(_) => "role",
            Self::RolePolicy(..) => "role-policy",
            Self::LogGroup(_) => "log-group",
            Self::Function(_) => "function",
            Self::Alias(..) => "alias",
            Self::EventSourceMapping(..) => "event-source-mapping",
            Self::Rule(_) => "rule",
        }
    }

    /// The name within its kind.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Queue(name) => name.to_string(),
            Self::Role(name) => name.to_string(),
            Self::RolePolicy(role, policy) if role.as_str() == policy.as_str() => role.to_string(),
            Self::RolePolicy(role, policy) => format!("{role}/{policy}"),
            Self::LogGroup(name) => name.to_string(),
            Self::Function(name) => name.to_string(),
            Self::Alias(function, alias) => format!("{function}:{alias}"),
            Self::EventSourceMapping(queue, function, alias) => format!("{queue} -> {function}:{alias}"),
            Self::Rule(name) => name.to_string(),
        }
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind().replace('-', " "), self.name())
    }
}

/// A resource, wanted or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// An SQS queue.
    Queue(Queue),
    /// An IAM role.
    Role(Role),
    /// An inline policy of an IAM role.
    RolePolicy(RolePolicy),
    /// A CloudWatch log group.
    LogGroup(LogGroup),
    /// A Lambda function.
    Function(Function),
    /// An alias of a Lambda function.
    Alias(Alias),
    /// What makes Lambda read a queue.
    EventSourceMapping(EventSourceMapping),
    /// An EventBridge rule.
    Rule(Rule),
}

impl Resource {
    /// Which resource this is.
    #[must_use]
    pub fn id(&self) -> ResourceId {
        match self {
            Self::Queue(r) => ResourceId::Queue(r.name.clone()),
            Self::Role(r) => ResourceId::Role(r.name.clone()),
            Self::RolePolicy(r) => ResourceId::RolePolicy(r.role.clone(), r.name.clone()),
            Self::LogGroup(r) => ResourceId::LogGroup(r.name.clone()),
            Self::Function(r) => ResourceId::Function(r.name.clone()),
            Self::Alias(r) => ResourceId::Alias(r.function.clone(), r.name.clone()),
            Self::EventSourceMapping(r) => {
                ResourceId::EventSourceMapping(r.queue.clone(), r.function.clone(), r.alias.clone())
            }
            Self::Rule(r) => ResourceId::Rule(r.name.clone()),
        }
    }

    /// Its tags; nothing for a kind that kibus does not tag.
    #[must_use]
    pub fn tags(&self) -> Option<&Tags> {
        match self {
            Self::Queue(r) => Some(&r.tags),
            Self::Role(r) => Some(&r.tags),
            Self::LogGroup(r) => Some(&r.tags),
            Self::Function(r) => Some(&r.tags),
            Self::Rule(r) => Some(&r.tags),
            Self::RolePolicy(_) | Self::Alias(_) | Self::EventSourceMapping(_) => None,
        }
    }

    /// All that is compared and shown, without the name and the tags.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        match self {
            Self::Queue(r) => r.fields(),
            Self::Role(r) => r.fields(),
            Self::RolePolicy(r) => r.fields(),
            Self::LogGroup(r) => r.fields(),
            Self::Function(r) => r.fields(),
            Self::Alias(r) => r.fields(),
            Self::EventSourceMapping(r) => r.fields(),
            Self::Rule(r) => r.fields(),
        }
    }
}
