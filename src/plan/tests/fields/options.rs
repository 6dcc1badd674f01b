//! Options that changed.

use super::{CONTROLLER, RECORD, Row};
use crate::model::{Architecture, Code, Fact};

pub(super) const ROWS: &[Row] = &[
    (
        "a customer key",
        |b| b.options.kms_key = Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
        "~parameter(options.kms-key) ~role-policy(document) ~role-policy(document) \
         ~queue(encryption) ~queue(encryption) ~queue(encryption) ~queue(encryption)",
    ),
    (
        "retention of the hub queue",
        |b| b.options.retention = Some("7200".parse().unwrap()),
        "~parameter(options.retention) ~queue(retention)",
    ),
    (
        "a permissions boundary",
        |b| b.options.permissions_boundary = Some("arn:aws:iam::111122223333:policy/x".parse().unwrap()),
        "~parameter(options.permissions-boundary) ~role(permissions_boundary)",
    ),
    (
        "a role path",
        |b| b.options.role_path = Some("/x/".parse().unwrap()),
        "~parameter(options.role-path) ~role(path) ~function(role) ~alias(role)",
    ),
    (
        "names of queues",
        |b| b.options.queue_name = Some("x-{cluster}".parse().unwrap()),
        "~parameter(options.queue-name) ~record(queue) -queue +queue ~role-policy(document) ~role-policy(document) \
         ~function(handler) ~alias(handler)",
    ),
    (
        "memory",
        |b| b.options.memory = Some("512".parse().unwrap()),
        "~parameter(options.memory) ~function(memory) ~alias(memory)",
    ),
    (
        "architecture",
        |b| b.options.arch = Some(Architecture::Arm64),
        "~parameter(options.arch) ~function(architecture) ~alias(architecture)",
    ),
    (
        "reserved concurrency",
        |b| b.options.reserved_concurrency = Some("3".parse().unwrap()),
        "~parameter(options.reserved-concurrency) ~event-source-mapping(maximum_concurrency) ~function(reserved_concurrency)",
    ),
    (
        "log retention",
        |b| b.options.log_retention = Some("30".parse().unwrap()),
        "~parameter(options.log-retention) ~log-group(retention_days)",
    ),
    (
        "rebalance recommendations",
        |b| b.options.rebalance = Some(true),
        "~parameter(options.rebalance) ~queue(policy) ~queue(policy) +rule",
    ),
    (
        "a metric for each node pool",
        |b| b.options.cluster_metrics = Some("nodepool".parse().unwrap()),
        "~parameter(options.cluster-metrics) ~function(handler) ~alias(handler)",
    ),
    (
        "a topic for notices",
        |b| b.options.notify = Some("team-a".parse().unwrap()),
        "~parameter(options.notify) ~role-policy(document) ~function(handler) ~alias(handler)",
    ),
    (
        "policies without tag conditions",
        |b| b.options.tag_conditions = Some(false),
        "~parameter(options.tag-conditions) ~role-policy(document)",
    ),
    ("a newer router", |b| b.code = Code::of_archive("0.3.0", "cc"), "~function(code) ~alias(code)"),
    (
        "another controller role",
        |b| b.role = Some("other".parse().unwrap()),
        "~record(role,former_roles) +role-policy -role-policy ~record(former_roles)",
    ),
    ("no controller role", |b| b.role = None, "~record(role,former_roles) -role-policy ~record(former_roles)"),
    (
        "a controller role where there was none",
        |b| {
            b.answer("role-policy", CONTROLLER, Fact::Absent);
            b.record(RECORD, |r| r.content.as_mut().unwrap().role = None);
        },
        "~record(role) +role-policy",
    ),
];
