//! Drift of rules and their targets.

use serde_json::json;

use super::{Row, SPOT};
use crate::model::Document;

pub(super) const ROWS: &[Row] = &[
    ("description", |b| b.rule(SPOT, |r| r.description.clear()), "~rule(description)"),
    ("pattern", |b| b.rule(SPOT, |r| r.pattern = Document::new(json!({"source": ["aws.ec2"]}))), "~rule(pattern)"),
    ("a schedule", |b| b.rule(SPOT, |r| r.schedule = Some("rate(1 day)".to_owned())), "~rule(schedule)"),
    ("a rule that is switched off", |b| b.rule(SPOT, |r| r.enabled = false), "~rule(enabled)"),
    ("target", |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().arn.push('x')), "~rule(target.arn)"),
    (
        "age of the target's retries",
        |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().retry_age = 86_400),
        "~rule(target.retry_age)",
    ),
    (
        "number of the target's retries",
        |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().retries = 0),
        "~rule(target.retries)",
    ),
    (
        "dead letters of the target",
        |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().dead_letters = None),
        "~rule(target.dead_letters)",
    ),
    (
        "a target that rewrites the event",
        |b| {
            b.rule(SPOT, |r| r.target.as_mut().unwrap().rewrite = Some(Document::new(json!({"InputPath": "$.detail"}))))
        },
        "~rule(target.rewrite)",
    ),
    (
        "a target that is delivered to as somebody",
        |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().role = Some("x".to_owned())),
        "~rule(target.role)",
    ),
    (
        "a target that groups its messages",
        |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().message_group = Some("x".to_owned())),
        "~rule(target.message_group)",
    ),
    (
        "no target",
        |b| b.rule(SPOT, |r| r.target = None),
        "~rule(target.arn,target.retry_age,target.retries,target.dead_letters)",
    ),
    (
        "another's target beside ours",
        |b| {
            b.rule(SPOT, |r| {
                r.foreign_targets.insert("theirs".to_owned());
            });
        },
        "",
    ),
];
