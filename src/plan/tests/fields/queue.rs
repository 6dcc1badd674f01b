//! Drift of queues.

use serde_json::json;

use super::{DLQ, HUB, Row, other};
use crate::model::{Document, Encryption};

pub(super) const ROWS: &[Row] = &[
    ("retention", |b| b.queue(HUB, |q| q.retention = 60), "~queue(retention)"),
    ("visibility", |b| b.queue(HUB, |q| q.visibility = 5), "~queue(visibility)"),
    ("delay", |b| b.queue("karpenter-base", |q| q.delay = 9), "~queue(delay)"),
    ("receive wait", |b| b.queue("kibus-probe", |q| q.receive_wait = 20), "~queue(receive_wait)"),
    ("largest message", |b| b.queue("karpenter-base", |q| q.max_message_size = 1_024), "~queue(max_message_size)"),
    (
        "the largest message of a Region without messages of 1 MiB",
        |b| b.queue(HUB, |q| q.max_message_size = 262_144),
        "",
    ),
    (
        "dead-letter queue of the hub queue",
        |b| {
            b.queue(HUB, |q| {
                q.redrive.as_mut().unwrap().dead_letters = "arn:aws:sqs:us-west-2:111122223333:x".to_owned();
            });
        },
        "~queue(redrive.dead_letters)",
    ),
    (
        "receive count",
        |b| b.queue(HUB, |q| q.redrive.as_mut().unwrap().max_receives = 3),
        "~queue(redrive.max_receives)",
    ),
    ("no redrive", |b| b.queue(HUB, |q| q.redrive = None), "~queue(redrive.dead_letters,redrive.max_receives)"),
    (
        "a redrive that nobody wants",
        |b| {
            let mut redrive = None;
            b.queue(HUB, |q| redrive = q.redrive.clone());
            b.queue("karpenter-base", |q| q.redrive = redrive);
        },
        "~queue(redrive.dead_letters,redrive.max_receives)",
    ),
    (
        "who may use the dead-letter queue",
        |b| {
            b.queue(DLQ, |q| {
                q.redrive_allow = Some(Document::new(json!({"redrivePermission": "allowAll"})));
            });
        },
        "~queue(redrive_allow)",
    ),
    (
        "every queue may redrive into the hub queue, as before 0.3.0",
        |b| b.queue(HUB, |q| q.redrive_allow = None),
        "~queue(redrive_allow)",
    ),
    (
        "one queue may redrive into a cluster queue",
        |b| {
            b.queue("karpenter-base", |q| {
                let source = "arn:aws:sqs:us-west-2:111122223333:x";
                let allow = json!({"redrivePermission": "byQueue", "sourceQueueArns": [source]});
                q.redrive_allow = Some(Document::new(allow));
            });
        },
        "~queue(redrive_allow)",
    ),
    (
        "every queue may redrive into the probe queue",
        |b| b.queue("kibus-probe", |q| q.redrive_allow = None),
        "~queue(redrive_allow)",
    ),
    ("no encryption", |b| b.queue("karpenter-base", |q| q.encryption = Encryption::None), "~queue(encryption)"),
    (
        "a key under an alias",
        |b| b.queue("karpenter-base", |q| q.encryption = Encryption::OtherKms("alias/x".to_owned())),
        "~queue(encryption)",
    ),
    ("queue policy", |b| b.queue(HUB, |q| q.policy = Some(other())), "~queue(policy)"),
    ("no queue policy", |b| b.queue(DLQ, |q| q.policy = None), "~queue(policy)"),
];
