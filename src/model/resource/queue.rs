//! SQS queues.

use crate::model::document::Document;
use crate::model::field::{Field, FieldValue, field, field_names};
use crate::model::name::{KmsKey, QueueName};
use crate::model::tags::Tags;

/// The encryption of a queue.
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
    #[must_use]
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
    /// The ARN of the dead-letter queue.
    pub dead_letters: String,
    /// The maximum number of receives of a message.
    pub max_receives: u32,
}

/// How large a message a queue accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLimit {
    /// [`LARGEST_EVENT`] or more. The most that SQS accepts differs by Region.
    AnyEvent,
    /// Fewer bytes.
    Bytes(u32),
}

/// The largest event of EC2 or Health, in bytes: a longer event of Health comes in pages (Health user guide, "Reference:
/// AWS Health events Amazon EventBridge schema"). It is also the largest message in Regions without messages of 1 MiB.
pub const LARGEST_EVENT: u32 = 262_144;

impl MessageLimit {
    /// The limit of a queue whose largest message has this many bytes.
    #[must_use]
    pub fn of(bytes: u32) -> Self {
        match bytes {
            LARGEST_EVENT.. => Self::AnyEvent,
            fewer => Self::Bytes(fewer),
        }
    }
}

field_names! {
    /// The fields of a queue.
    QueueField {
        Retention = "retention",
        Visibility = "visibility",
        Delay = "delay",
        ReceiveWait = "receive_wait",
        MaxMessageSize = "max_message_size",
        RedriveDeadLetters = "redrive.dead_letters",
        RedriveMaxReceives = "redrive.max_receives",
        RedriveAllow = "redrive_allow",
        Encryption = "encryption",
        Policy = "policy",
    }
}

/// A standard queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name.
    pub name: QueueName,
    /// How long a message is kept, in seconds.
    pub retention: u32,
    /// How long a received message stays hidden, in seconds.
    pub visibility: u32,
    /// How long a new message stays hidden, in seconds.
    pub delay: u32,
    /// How long a receive waits for a message by default, in seconds.
    pub receive_wait: u32,
    /// How large a message it accepts.
    pub max_message_size: MessageLimit,
    /// The redrive policy: where messages go after too many receives.
    pub redrive: Option<Redrive>,
    /// Which queues may use this one for their dead letters (`RedriveAllowPolicy`).
    pub redrive_allow: Option<Document>,
    /// How messages are encrypted.
    pub encryption: Encryption,
    /// The resource policy.
    pub policy: Option<Document>,
    /// Its tags.
    pub tags: Tags,
}

impl Queue {
    /// The path of the field with the encryption.
    pub const ENCRYPTION: &str = QueueField::Encryption.path();
    /// The path of the field with the resource policy.
    pub const POLICY: &str = QueueField::Policy.path();
    /// The path of the field with the queues that may redrive into this one.
    pub const REDRIVE_ALLOW: &str = QueueField::RedriveAllow.path();

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            retention,
            visibility,
            delay,
            receive_wait,
            max_message_size,
            redrive,
            redrive_allow,
            encryption,
            policy,
            tags: _, // compared key by key
        } = self;
        vec![
            field(QueueField::Retention, *retention),
            field(QueueField::Visibility, *visibility),
            field(QueueField::Delay, *delay),
            field(QueueField::ReceiveWait, *receive_wait),
            field(
                QueueField::MaxMessageSize,
                match max_message_size {
                    MessageLimit::AnyEvent => FieldValue::AtLeast(LARGEST_EVENT.into()),
                    MessageLimit::Bytes(bytes) => (*bytes).into(),
                },
            ),
            field(
                QueueField::RedriveDeadLetters,
                redrive.as_ref().map(|r| r.dead_letters.clone()),
            ),
            field(QueueField::RedriveMaxReceives, redrive.as_ref().map(|r| r.max_receives)),
            field(QueueField::RedriveAllow, redrive_allow.clone()),
            field(
                QueueField::Encryption,
                match encryption {
                    Encryption::None => "none",
                    Encryption::SqsManaged => "SSE-SQS",
                    Encryption::Kms(key) => key.as_str(),
                    Encryption::OtherKms(key) => key.as_str(),
                },
            ),
            field(QueueField::Policy, policy.clone()),
        ]
    }
}
