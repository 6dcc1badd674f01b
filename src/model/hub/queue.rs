//! The settings that hub queues and cluster queues share.

use crate::model::name::{KmsKey, QueueName};
use crate::model::options::HubOptions;
use crate::model::policy::queue_policy;
use crate::model::resource::{Encryption, MessageLimit, Queue};
use crate::model::scope::Scope;
use crate::model::tags::Tags;

/// The retention of a cluster queue, in seconds: the same as in Karpenter's own CloudFormation template.
pub const CLUSTER_RETENTION: u32 = 300;

/// A queue that the router delivers to, of a hub with these options.
pub(in crate::model) fn cluster_queue(scope: &Scope, name: QueueName, hub: &HubOptions, tags: Tags) -> Queue {
    Queue {
        retention: CLUSTER_RETENTION,
        policy: Some(queue_policy::cluster_queue(scope, &name, hub.senders())),
        ..queue(name, hub.key(), tags)
    }
}

/// The settings that all queues of a bus share; retention and visibility are SQS's own defaults.
pub(super) fn queue(name: QueueName, key: Option<&KmsKey>, tags: Tags) -> Queue {
    Queue {
        name,
        retention: 345_600,
        visibility: 30,
        delay: 0,
        receive_wait: 0,
        max_message_size: MessageLimit::AnyEvent,
        redrive: None,
        redrive_allow: Some(queue_policy::no_redrive()),
        encryption: key.map_or(Encryption::SqsManaged, |key| Encryption::Kms(key.clone())),
        policy: None,
        tags,
    }
}
