//! Options that changed.

use super::{CONTROLLER, Row};
use crate::model::inventory::Reading;
use crate::model::resource::{Architecture, Code};

pub(super) const ROWS: &[Row] = &[
    (
        "a customer key",
        |b| b.options.kms_key = Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
        "~queue(encryption,tags.kibus:option:kms-key) ~role-policy(document) ~role-policy(document) \
         ~queue(encryption) ~queue(encryption) ~queue(encryption) ~function(tags.kibus:option:kms-key)",
    ),
    (
        "retention of the hub queue",
        |b| b.options.retention = Some("7200".parse().unwrap()),
        "~queue(tags.kibus:option:retention) ~queue(retention) ~function(tags.kibus:option:retention)",
    ),
    (
        "a permissions boundary",
        |b| b.options.permissions_boundary = Some("arn:aws:iam::111122223333:policy/x".parse().unwrap()),
        "~queue(tags.kibus:option:permissions-boundary) ~role(permissions_boundary) \
         ~function(tags.kibus:option:permissions-boundary)",
    ),
    (
        "a role path",
        |b| b.options.role_path = Some("/x/".parse().unwrap()),
        "~queue(tags.kibus:option:role-path) ±role-policy ±role(path) ~function(role,tags.kibus:option:role-path) ~alias(role)",
    ),
    (
        "a queue prefix",
        |b| b.options.queue_prefix = Some("x-".parse().unwrap()),
        "~queue(tags.kibus:option:queue-prefix) ~role-policy(document) ~function(handler,tags.kibus:option:queue-prefix) \
         ~alias(handler)",
    ),
    (
        "memory",
        |b| b.options.memory = Some("512".parse().unwrap()),
        "~queue(tags.kibus:option:memory) ~function(memory,tags.kibus:option:memory) ~alias(memory)",
    ),
    (
        "architecture",
        |b| b.options.architecture = Some(Architecture::Arm64),
        "~queue(tags.kibus:option:arch) ~function(architecture,tags.kibus:option:arch) ~alias(architecture)",
    ),
    (
        "reserved concurrency",
        |b| b.options.reserved_concurrency = Some("3".parse().unwrap()),
        "~queue(tags.kibus:option:reserved-concurrency) \
         ~function(reserved_concurrency,tags.kibus:option:reserved-concurrency) \
         ~event-source-mapping(maximum_concurrency)",
    ),
    (
        "log retention",
        |b| b.options.log_retention = Some("30".parse().unwrap()),
        "~queue(tags.kibus:option:log-retention) ~log-group(retention_days) ~function(tags.kibus:option:log-retention)",
    ),
    (
        "rebalance recommendations",
        |b| b.options.rebalance = Some(true),
        "~queue(policy,tags.kibus:option:rebalance) ~queue(policy) ~function(tags.kibus:option:rebalance) +rule",
    ),
    (
        "queues without locks",
        |b| b.options.lock_queues = Some(false),
        "~queue(policy,tags.kibus:option:lock-queues) ~queue(policy) ~queue(policy) ~queue(policy) \
         ~function(tags.kibus:option:lock-queues)",
    ),
    (
        "a newer router",
        |b| b.code = Code::of_archive("0.3.0", "cc"),
        "~function(code) ~alias(code)",
    ),
    (
        "another controller role",
        |b| b.role = Some("other".parse().unwrap()),
        "+role-policy -role-policy ~queue(tags.kibus:controller-role)",
    ),
    (
        "no controller role",
        |b| b.role = None,
        "-role-policy ~queue(tags.kibus:controller-role)",
    ),
    (
        "a controller role where there was none",
        |b| {
            b.answer("role-policy", CONTROLLER, Reading::Absent);
            b.queue("karpenter-base", |q| {
                q.tags.0.remove("kibus:controller-role");
            });
        },
        "~queue(tags.kibus:controller-role) +role-policy",
    ),
];
