//! Drift of the event source mapping.

use super::{MAPPING, Row};

pub(super) const ROWS: &[Row] = &[
    ("batch size", |b| b.mapping(MAPPING, |m| m.batch_size = 100), "~event-source-mapping(batch_size)"),
    ("window", |b| b.mapping(MAPPING, |m| m.window = 1), "~event-source-mapping(window)"),
    (
        "maximum concurrency",
        |b| b.mapping(MAPPING, |m| m.maximum_concurrency = None),
        "~event-source-mapping(maximum_concurrency)",
    ),
    (
        "answers that name what failed",
        |b| b.mapping(MAPPING, |m| m.report_batch_item_failures = false),
        "~event-source-mapping(report_batch_item_failures)",
    ),
    ("a mapping that is switched off", |b| b.mapping(MAPPING, |m| m.enabled = false), "~event-source-mapping(enabled)"),
    (
        "a mapping that lets only some messages through",
        |b| {
            b.mapping(MAPPING, |m| {
                m.filters.insert(r#"{"body":{"source":["x"]}}"#.to_owned());
            });
        },
        "~event-source-mapping(filters)",
    ),
    (
        "a second mapping",
        |b| b.mapping(MAPPING, |m| m.duplicates.push("uuid".to_owned())),
        "~event-source-mapping(duplicates)",
    ),
];
