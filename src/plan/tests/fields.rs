//! Every field of every kind: drift is found and fixed, and nothing else changes. Cases that involve all resources of a bus are also here.

use std::collections::BTreeSet;

use serde_json::json;

use super::{BASE, Bench, CONTROLLER, DLQ, HUB, PROBE, ROLE, Row, SPOT, assert_drawn, drawing, put};
use crate::model::{
    Alias, Architecture, Code, Dashboard, Document, Encryption, EventSourceMapping, Fact, Function, LogGroup, Logging,
    Maker, Moment, Parameter, Queue, Record, Redrive, Resource, ResourceId, Role, RolePolicy, Rule, RuleTarget,
    Settings,
    tags::{CLUSTER, DELETING},
};
use crate::plan::plan;

const BOUNDARY: &str = "arn:aws:iam::111122223333:policy/x";
const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";

fn other() -> Document {
    Document::new(json!({"Statement": [{"Sid": "KibusOther", "Effect": "Deny"}]}))
}

const QUEUE: &[Row] = &[
    ("retention", |b| b.queue(HUB, |q| q.retention = 60), "~queue(retention)"),
    ("visibility", |b| b.queue(HUB, |q| q.visibility = 5), "~queue(visibility)"),
    ("delay", |b| b.queue(BASE, |q| q.delay = 9), "~queue(delay)"),
    ("receive wait", |b| b.queue(PROBE, |q| q.receive_wait = 20), "~queue(receive_wait)"),
    ("largest message", |b| b.queue(BASE, |q| q.max_message_size = 1_024), "~queue(max_message_size)"),
    ("the largest message of a Region without those of 1 MiB", |b| b.queue(HUB, |q| q.max_message_size = 262_144), ""),
    ("dead-letter queue", |b| b.redrive(|r| r.dead_letters.push('x')), "~queue(redrive.dead_letters)"),
    ("receive count", |b| b.redrive(|r| r.max_receives = 3), "~queue(redrive.max_receives)"),
    ("no redrive", |b| b.queue(HUB, |q| q.redrive = None), "~queue(redrive.dead_letters,redrive.max_receives)"),
    (
        "an unwanted redrive",
        |b| b.queue(BASE, |q| q.redrive = Some(Redrive { dead_letters: "x".to_owned(), max_receives: 3 })),
        "~queue(redrive.dead_letters,redrive.max_receives)",
    ),
    (
        "redrive into the dead-letter queue",
        |b| b.queue(DLQ, |q| q.redrive_allow = Some(other())),
        "~queue(redrive_allow)",
    ),
    ("redrive into the hub queue, before 0.3.0", |b| b.queue(HUB, |q| q.redrive_allow = None), "~queue(redrive_allow)"),
    ("redrive into a cluster queue", |b| b.queue(BASE, |q| q.redrive_allow = Some(other())), "~queue(redrive_allow)"),
    ("redrive into the probe queue", |b| b.queue(PROBE, |q| q.redrive_allow = None), "~queue(redrive_allow)"),
    ("no encryption", |b| b.queue(BASE, |q| q.encryption = Encryption::None), "~queue(encryption)"),
    ("an alias", |b| b.queue(BASE, |q| q.encryption = Encryption::OtherKms("alias/x".into())), "~queue(encryption)"),
    ("queue policy", |b| b.queue(HUB, |q| q.policy = Some(other())), "~queue(policy)"),
    ("no queue policy", |b| b.queue(DLQ, |q| q.policy = None), "~queue(policy)"),
];

const ROLES: &[Row] = &[
    ("trust of the role", |b| b.role(|r| r.trust = other()), "~role(trust)"),
    (
        "a boundary that is not an option",
        |b| b.role(|r| r.permissions_boundary = BOUNDARY.parse().ok()),
        "~role(permissions_boundary)",
    ),
    ("path of the role, which a check refuses", |b| b.role(|r| r.path = "/x/".parse().unwrap()), "~role(path)"),
    ("policy of the router's role", |b| b.role_policy(ROLE, |p| p.document = other()), "~role-policy(document)"),
    ("policy of a controller", |b| b.role_policy(CONTROLLER, |p| p.document = other()), "~role-policy(document)"),
];

const FUNCTION: &[Row] = &[
    ("role of the function", |b| b.function(|f| f.settings.role.push('x')), "~function(role)"),
    ("runtime", |b| b.function(|f| f.settings.runtime = "provided.al2".to_owned()), "~function(runtime)"),
    ("architecture", |b| b.function(|f| f.settings.architecture = Architecture::Arm64), "~function(architecture)"),
    ("handler", |b| b.function(|f| f.settings.handler = "x".to_owned()), "~function(handler)"),
    ("memory", |b| b.function(|f| f.settings.memory = 128), "~function(memory)"),
    ("timeout", |b| b.function(|f| f.settings.timeout = 3), "~function(timeout)"),
    ("variable", |b| b.function(|f| f.settings.environment.insert("A".into(), "b".into())), "~function(environment.A)"),
    ("a log elsewhere", |b| b.function(|f| f.settings.logging.group.push('x')), "~function(logging.group)"),
    ("a log without some lines", |b| b.function(|f| f.settings.logging.format.push('x')), "~function(logging.format)"),
    ("an attachment", |b| b.function(|f| f.settings.extras.insert("subnet-1".to_owned())), "~function(extras)"),
    ("a failed update", |b| b.function(|f| f.failed_update = Some("no".to_owned())), "~function(failed_update)"),
    ("a function that was given up", |b| b.function(|f| f.failed = Some("no".to_owned())), "~function(failed)"),
    ("concurrency", |b| b.function(|f| f.reserved_concurrency = Some(0)), "~function(reserved_concurrency)"),
    ("the same code, known by its hash", |b| b.function(|f| f.settings.code = Code::of_unknown_version("aa")), ""),
    ("other code", |b| b.function(|f| f.settings.code = Code::of_archive("0.2.0", "bb")), "~function(code)"),
];

const ALIAS: &[Row] = &[
    ("an alias that moves and keeps all versions", |b| versions(b, 2, &[1, 2], 512), "~alias(memory)"),
    ("an alias that leaves old versions behind", |b| versions(b, 4, &[1, 2, 3, 4], 512), "~alias(memory,versions)"),
    ("an alias that was moved to another version", |b| versions(b, 4, &[1, 2, 3], 512), "~alias(memory,versions)"),
    ("an alias that moves on from a rollback", |b| versions(b, 2, &[1, 2, 3], 512), "~alias(memory)"),
    ("old versions alone", |b| versions(b, 4, &[1, 2, 3, 4], 256), ""),
    ("an older version", |b| b.alias(|a| a.settings.code = Code::of_archive("0.1.9", "bb")), "~alias(code)"),
    ("another build", |b| b.alias(|a| a.settings.code.sha256.push('b')), "~alias(code)"),
    ("the same code, not published by kibus", |b| b.alias(|a| a.settings.code.version.clear()), "~alias(code)"),
    (
        "the alias points to another configuration",
        |b| {
            b.alias(|a| {
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
    ("a share for another version", |b| b.alias(|a| a.shares.insert("version 1: 0.5".to_owned())), "~alias(shares)"),
    ("a version to move to", |b| b.alias(|a| a.moves_to = Some(9)), "~alias(version)"),
    ("the number of the alias's version is Lambda's", |b| b.alias(|a| a.version = Some(7)), ""),
];

/// An alias with this version, these published versions and this memory.
fn versions(b: &mut Bench, version: u64, published: &[u64], memory: u32) {
    b.alias(|a| {
        a.version = Some(version);
        a.versions = published.iter().copied().collect();
        a.settings.memory = memory;
    });
}

const MAPPING: &[Row] = &[
    ("batch size", |b| b.mapping(|m| m.batch_size = 100), "~mapping(batch_size)"),
    ("window", |b| b.mapping(|m| m.window = 1), "~mapping(window)"),
    ("concurrency", |b| b.mapping(|m| m.maximum_concurrency = None), "~mapping(maximum_concurrency)"),
    ("answers", |b| b.mapping(|m| m.report_batch_item_failures = false), "~mapping(report_batch_item_failures)"),
    ("a mapping that is switched off", |b| b.mapping(|m| m.enabled = false), "~mapping(enabled)"),
    ("a filter", |b| b.mapping(|m| m.filters.insert("{}".to_owned())), "~mapping(filters)"),
    ("a second mapping", |b| b.mapping(|m| m.duplicates.push("uuid".to_owned())), "~mapping(duplicates)"),
];

const RULE: &[Row] = &[
    ("description", |b| b.rule(SPOT, |r| r.description.clear()), "~rule(description)"),
    ("pattern", |b| b.rule(SPOT, |r| r.pattern = Document::new(json!({"source": ["aws.ec2"]}))), "~rule(pattern)"),
    ("a schedule", |b| b.rule(SPOT, |r| r.schedule = Some("rate(1 day)".to_owned())), "~rule(schedule)"),
    ("a rule that is switched off", |b| b.rule(SPOT, |r| r.enabled = false), "~rule(enabled)"),
    ("target", |b| b.target(|t| t.arn.push('x')), "~rule(target.arn)"),
    ("age of the target's retries", |b| b.target(|t| t.retry_age = 86_400), "~rule(target.retry_age)"),
    ("number of the target's retries", |b| b.target(|t| t.retries = 0), "~rule(target.retries)"),
    ("dead letters of the target", |b| b.target(|t| t.dead_letters = None), "~rule(target.dead_letters)"),
    ("a target that rewrites", |b| b.target(|t| t.rewrite = Some(other())), "~rule(target.rewrite)"),
    ("a target with a role", |b| b.target(|t| t.role = Some("x".to_owned())), "~rule(target.role)"),
    ("a target with groups", |b| b.target(|t| t.message_group = Some("x".to_owned())), "~rule(target.message_group)"),
    (
        "no target",
        |b| b.rule(SPOT, |r| r.target = None),
        "~rule(target.arn,target.retry_age,target.retries,target.dead_letters)",
    ),
    ("another's target beside ours", |b| b.rule(SPOT, |r| r.foreign_targets.insert("theirs".to_owned())), ""),
];

const TAGS: &[Row] = &[
    (
        "tags of others on everything",
        |b| {
            for mut resource in b.observed.resources().cloned().collect::<Vec<_>>() {
                if let Some(tags) = resource.tags_mut() {
                    put(tags, "cost-center", "7");
                }
                b.see(resource);
            }
        },
        "",
    ),
    ("another value of our tag", |b| b.queue(BASE, |q| put(&mut q.tags, CLUSTER, "x")), "~queue(tags.kibus:cluster)"),
    ("the mark of a delete", |b| b.queue(BASE, |q| put(&mut q.tags, DELETING, "1")), "~queue(tags.kibus:deleting)"),
    ("a tag of ours that is gone", |b| b.queue(PROBE, |q| q.tags.0.remove(CLUSTER)), "~queue(tags.kibus:cluster)"),
    ("an unwanted tag of ours", |b| b.rule(SPOT, |r| put(&mut r.tags, CLUSTER, "x")), "~rule(tags.kibus:cluster)"),
    (
        "tags of the user",
        |b| b.options.tag = Some(vec!["team=a".parse().unwrap()]),
        "~parameter(options.tag.team) ~queue(tags.team) ~queue(tags.team) ~queue(tags.team) ~role(tags.team) \
         ~log-group(tags.team) ~function(tags.team) ~rule(tags.team) ~rule(tags.team) ~rule(tags.team) ~rule(tags.team) \
         ~rule(tags.team)",
    ),
];

/// The kinds with few fields.
const OTHERS: &[Row] = &[
    ("log retention", |b| b.log_group(|l| l.retention_days = None), "~log-group(retention_days)"),
    (
        "a pinned version and an old key",
        |b| {
            b.parameter(|p| {
                let settings = p.settings.as_mut().unwrap();
                settings.pinned_version = Some(2);
                settings.old_keys.insert(KEY.parse().unwrap(), Moment(0));
            });
        },
        "~parameter(pinned_version,old_keys.arn:aws:kms:us-west-2:111122223333:key/1)",
    ),
    (
        "a record of other facts",
        |b| {
            b.record(|r| {
                let record = r.content.as_mut().unwrap();
                record.queue = "other".parse().unwrap();
                record.role = None;
                record.former_roles = ["former".parse().unwrap()].into();
                record.tags = [("team".to_owned(), "a".to_owned())].into();
                record.external = true;
                record.made_by = Maker::Tool("terraform".to_owned());
                record.since = None;
            });
        },
        "~record(queue,made_by,since,external,role) ~record(former_roles,queue_tags.team)",
    ),
    ("unreadable settings", |b| b.parameter(|p| p.settings = Settings::from_document("")), "~parameter(content)"),
    ("an edited dashboard", |b| b.with_dashboard(|d| d.body.value_mut()["start"] = json!("-P1D")), "~dashboard(body)"),
    ("a newer router", |b| b.code = Code::of_archive("0.3.0", "cc"), "~function(code) ~alias(code)"),
    (
        "another role",
        |b| b.role = "other".parse().ok(),
        "~record(role,former_roles) +role-policy -role-policy ~record(former_roles)",
    ),
    ("no controller role", |b| b.role = None, "~record(role,former_roles) -role-policy ~record(former_roles)"),
    (
        "a controller role where there was none",
        |b| {
            b.answer("role-policy", CONTROLLER, Fact::Absent);
            b.record(|r| r.content.as_mut().unwrap().role = None);
        },
        "~record(role) +role-policy",
    ),
];

/// Options that changed, by their names, with what follows the change of the parameter.
const OPTIONS: &[Row] = &[
    (
        "kms-key",
        |b| b.options.kms_key = Some(KEY.parse().unwrap()),
        "~role-policy(document) ~role-policy(document) ~queue(encryption) ~queue(encryption) ~queue(encryption) \
         ~queue(encryption)",
    ),
    ("retention", |b| b.options.retention = "7200".parse().ok(), "~queue(retention)"),
    ("permissions-boundary", |b| b.options.permissions_boundary = BOUNDARY.parse().ok(), "~role(permissions_boundary)"),
    ("role-path", |b| b.options.role_path = "/x/".parse().ok(), "~role(path) ~function(role) ~alias(role)"),
    (
        "queue-name",
        |b| b.options.queue_name = "x-{cluster}".parse().ok(),
        "~record(queue) -queue +queue ~role-policy(document) ~role-policy(document) ~function(handler) ~alias(handler)",
    ),
    ("memory", |b| b.options.memory = "512".parse().ok(), "~function(memory) ~alias(memory)"),
    ("arch", |b| b.options.arch = Some(Architecture::Arm64), "~function(architecture) ~alias(architecture)"),
    (
        "reserved-concurrency",
        |b| b.options.reserved_concurrency = "3".parse().ok(),
        "~mapping(maximum_concurrency) ~function(reserved_concurrency)",
    ),
    ("log-retention", |b| b.options.log_retention = "30".parse().ok(), "~log-group(retention_days)"),
    ("rebalance", |b| b.options.rebalance = Some(true), "~queue(policy) ~queue(policy) +rule"),
    ("dashboard", |b| b.options.dashboard = Some(true), "+dashboard"),
    ("cluster-metrics", |b| b.options.cluster_metrics = "nodepool".parse().ok(), "~function(handler) ~alias(handler)"),
    ("notify", |b| b.options.notify = "t".parse().ok(), "~role-policy(document) ~function(handler) ~alias(handler)"),
    ("tag-conditions", |b| b.options.tag_conditions = Some(false), "~role-policy(document)"),
];

const TABLES: [&[Row]; 8] = [QUEUE, ROLES, FUNCTION, ALIAS, MAPPING, RULE, TAGS, OTHERS];

macro_rules! edits {
    ($($method:ident($($name:ident)?): $kind:ident;)*) => {$(
        pub(super) fn $method<T>(&mut self, $($name: &str,)? edit: impl FnOnce(&mut $kind) -> T) {
            let found = self.observed.resources().find_map(|resource| match resource {
                Resource::$kind(inner) $(if resource.id().name() == $name)? => Some(inner.clone()),
                _ => None,
            });
            let mut resource = found.unwrap_or_else(|| panic!("no such {} was read", stringify!($method)));
            edit(&mut resource);
            self.see(Resource::$kind(resource));
        }
    )*};
}

/// Changes of what was found: the one of a kind, or the one with a name.
impl Bench {
    edits! {
        queue(name): Queue;
        role(): Role;
        role_policy(name): RolePolicy;
        log_group(): LogGroup;
        function(): Function;
        alias(): Alias;
        mapping(): EventSourceMapping;
        rule(name): Rule;
        dashboard(): Dashboard;
        parameter(): Parameter;
        record(): Record;
    }

    fn redrive(&mut self, edit: impl FnOnce(&mut Redrive)) {
        self.queue(HUB, |queue| edit(queue.redrive.as_mut().unwrap()));
    }

    fn target(&mut self, edit: impl FnOnce(&mut RuleTarget)) {
        self.rule(SPOT, |rule| edit(rule.target.as_mut().unwrap()));
    }
}

#[test]
fn a_plan_is_what_differs_and_nothing_else() {
    assert_drawn(&[("nothing", |_| {}, "")]);
    TABLES.into_iter().for_each(assert_drawn);
}

#[test]
fn an_option_changes_its_resources_and_the_parameter() {
    for (option, edit, expected) in OPTIONS {
        let mut bench = Bench::new();
        edit(&mut bench);
        assert_eq!(drawing(&bench.plan()), format!("~parameter(options.{option}) {expected}"));
    }
}

/// Kibus removes a user tag only by its key, and never a desired one.
#[test]
fn a_tag_of_the_user_is_removed_by_its_key() {
    let mut bench = Bench::new();
    for (key, value) in [("team", "a"), ("cost-center", "7")] {
        bench.queue(BASE, |q| put(&mut q.tags, key, value));
    }
    let mut wanted = bench.wanted();
    wanted.untag(ResourceId::Queue(BASE.parse().unwrap()), ["team", "absent", "kibus:bus"].map(str::to_owned));
    assert_eq!(drawing(&plan(&bench.scope, &wanted, &bench.observed)), "~queue(tags.team)");
}

#[test]
fn nothing_becomes_everything_and_the_other_way() {
    let mut bench = Bench::new();
    let torn_down = drawing(&bench.teardown());
    bench.observed = bench.absent();
    assert_eq!(
        drawing(&bench.plan()),
        "+parameter +record +queue +queue +queue +queue +role +role-policy +role-policy +log-group +function +alias \
         +mapping +rule +rule +rule +rule +rule"
    );
    assert_eq!(
        torn_down,
        "-queue -queue -role-policy -record -mapping -alias -function -role-policy -role -log-group \
         -rule -rule -rule -rule -rule -queue -queue -parameter"
    );
    assert_eq!(drawing(&bench.teardown()), "");
}

/// The tables are complete: each field that a healthy resource of a kind has, some row changes.
#[test]
fn every_field_has_a_row() {
    let mut changed = BTreeSet::new();
    for (_, edit, _) in TABLES.into_iter().flatten().chain(OPTIONS) {
        let mut bench = Bench::new();
        edit(&mut bench);
        for change in bench.plan().changes {
            let kind = change.id.kind();
            changed.extend(change.fields.into_iter().map(|field| (kind, field.path)));
        }
    }
    for resource in Bench::new().wanted().resources() {
        for field in resource.fields() {
            let kind = resource.id().kind();
            assert!(changed.contains(&(kind, field.path.clone())), "no row changes {kind} {}", field.path);
        }
    }
}
