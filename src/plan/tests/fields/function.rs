//! Drift of the function and its log group.

use super::Row;
use crate::model::{Architecture, Code};

pub(super) const ROWS: &[Row] = &[
    ("role of the function", |b| b.function("kibus-router", |f| f.settings.role.push('x')), "~function(role)"),
    (
        "runtime",
        |b| b.function("kibus-router", |f| f.settings.runtime = "provided.al2".to_owned()),
        "~function(runtime)",
    ),
    (
        "architecture",
        |b| b.function("kibus-router", |f| f.settings.architecture = Architecture::Arm64),
        "~function(architecture)",
    ),
    ("handler", |b| b.function("kibus-router", |f| f.settings.handler = "x".to_owned()), "~function(handler)"),
    ("memory", |b| b.function("kibus-router", |f| f.settings.memory = 128), "~function(memory)"),
    ("timeout", |b| b.function("kibus-router", |f| f.settings.timeout = 3), "~function(timeout)"),
    (
        "a variable in the environment",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.environment.insert("RUST_LOG".to_owned(), "trace".to_owned());
            });
        },
        "~function(environment.RUST_LOG)",
    ),
    (
        "a log that goes elsewhere",
        |b| b.function("kibus-router", |f| f.settings.logging.group.push('x')),
        "~function(logging.group)",
    ),
    (
        "a log from which lines are left out",
        |b| b.function("kibus-router", |f| f.settings.logging.format = "JSON".to_owned()),
        "~function(logging.format)",
    ),
    (
        "all attachments of a function",
        |b| {
            b.function("kibus-router", |f| {
                let extras = [
                    "arn:aws:lambda:us-west-2:1:layer:x:1",
                    "subnet-1",
                    "arn:aws:elasticfilesystem:us-west-2:1:access-point/x",
                    "arn:aws:kms:us-west-2:111122223333:key/1",
                ];
                f.settings.extras = extras.map(str::to_owned).into();
            });
        },
        "~function(extras)",
    ),
    (
        "an update that failed",
        |b| b.function("kibus-router", |f| f.failed_update = Some("no".to_owned())),
        "~function(failed_update)",
    ),
    (
        "a function that was given up",
        |b| b.function("kibus-router", |f| f.failed = Some("no".to_owned())),
        "~function(failed)",
    ),
    (
        "reserved concurrency",
        |b| b.function("kibus-router", |f| f.reserved_concurrency = Some(0)),
        "~function(reserved_concurrency)",
    ),
    (
        "the same code, of which only the hash is known",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_unknown_version("aa")),
        "",
    ),
    (
        "other code, whatever its version",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.2.0", "bb")),
        "~function(code)",
    ),
];
