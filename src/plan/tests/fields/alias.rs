//! Drift of the alias, and of the versions that it moves between.

use super::{LIVE, Row};
use crate::model::{Architecture, Code, Logging};
use crate::plan::tests::Bench;

pub(super) const ROWS: &[Row] = &[
    ("an alias that moves and keeps all versions", |b| versions(b, 2, &[1, 2], 512), "~alias(memory)"),
    (
        "an alias that moves and leaves old versions behind",
        |b| versions(b, 4, &[1, 2, 3, 4], 512),
        "~alias(memory,versions)",
    ),
    (
        "an alias that something else moved to its own version",
        |b| versions(b, 4, &[1, 2, 3], 512),
        "~alias(memory,versions)",
    ),
    (
        "an alias that moves on from a rollback, perhaps to the version that was rolled back",
        |b| versions(b, 2, &[1, 2, 3], 512),
        "~alias(memory)",
    ),
    ("old versions alone", |b| versions(b, 4, &[1, 2, 3, 4], 256), ""),
    (
        "the alias points to an older version",
        |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.1.9", "bb")),
        "~alias(code)",
    ),
    ("the alias points to another build", |b| b.alias(LIVE, |a| a.settings.code.sha256.push('b')), "~alias(code)"),
    (
        "the alias points to the same code, and kibus did not publish it",
        |b| b.alias(LIVE, |a| a.settings.code.version.clear()),
        "~alias(code)",
    ),
    (
        "the alias points to another configuration",
        |b| {
            b.alias(LIVE, |a| {
                a.settings.role.push('x');
                a.settings.runtime.push('x');
                a.settings.architecture = Architecture::Arm64;
                a.settings.handler.push('x');
                a.settings.memory = 128;
                a.settings.timeout = 3;
                a.settings.environment.insert("KIBUS_BUS".to_owned(), "kibus".to_owned());
                a.settings.logging = Logging::default();
                a.settings.extras.insert("sg-1".to_owned());
            });
        },
        "~alias(role,runtime,architecture,handler,memory,timeout,logging.group,logging.format,\
         extras,environment.KIBUS_BUS)",
    ),
    (
        "a share of the invocations that goes to another version",
        |b| {
            b.alias(LIVE, |a| {
                a.shares.insert("version 1: 0.5".to_owned());
            });
        },
        "~alias(shares)",
    ),
    ("a version to move to", |b| b.alias(LIVE, |a| a.moves_to = Some(9)), "~alias(version)"),
    ("the number of the alias's version is Lambda's", |b| b.alias(LIVE, |a| a.version = Some(7)), ""),
];

/// An alias with this version, these published versions and this memory.
fn versions(b: &mut Bench, version: u64, published: &[u64], memory: u32) {
    b.alias(LIVE, |a| {
        a.version = Some(version);
        a.versions = published.iter().copied().collect();
        a.settings.memory = memory;
    });
}
