//! Every field of every kind: drift is found and fixed, and nothing else changes.

use std::collections::BTreeSet;

use super::{Bench, drawing};
use crate::model::document::Document;
use crate::model::inventory::{Desired, Reading};
use crate::model::options::UserTags;
use crate::model::resource::{Architecture, Code, Encryption, Extras, Logging, Resource};
use serde_json::json;

type Row = (&'static str, fn(&mut Bench), &'static str);

const HUB: &str = "kibus-hub";
const DLQ: &str = "kibus-hub-dlq";
const ROLE: &str = "kibus-router-us-west-2";
const LIVE: &str = "kibus-router:live";
const MAPPING: &str = "kibus-hub -> kibus-router:live";
const SPOT: &str = "kibus-spot-interruption";
const CONTROLLER: &str = "controller/kibus-us-west-2-base";

fn other() -> Document {
    Document::new(json!({"Statement": [{"Sid": "KibusOther", "Effect": "Deny"}]}))
}

/// An alias with this version, history, published versions and memory.
fn versions(
    b: &mut Bench,
    version: u64,
    rolled_back_from: Option<u64>,
    before: &[u64],
    published: &[u64],
    memory: u32,
) {
    b.alias(LIVE, |a| {
        a.version = Some(version);
        a.history.rolled_back_from = rolled_back_from;
        a.history.before = before.to_vec();
        a.versions = published.iter().copied().collect();
        a.settings.memory = memory;
    });
}

/// Drift.
const DRIFT: &[Row] = &[
    ("nothing", |_| {}, ""),
    (
        "an alias that moves and keeps all versions",
        |b| versions(b, 2, None, &[1], &[1, 2], 512),
        "~alias(memory)",
    ),
    (
        "an alias that moves and leaves old versions behind",
        |b| versions(b, 3, None, &[2, 1], &[1, 2, 3, 4], 512),
        "~alias(memory,versions)",
    ),
    (
        "an alias that something else moved to its own version",
        |b| versions(b, 4, None, &[3, 2, 1], &[1, 2, 3], 512),
        "~alias(memory,versions)",
    ),
    (
        "an alias that moves on from a rollback, perhaps to the version that was rolled back",
        |b| versions(b, 2, Some(3), &[1], &[1, 2, 3], 512),
        "~alias(memory,rollback)",
    ),
    (
        "old versions alone",
        |b| versions(b, 3, None, &[2, 1], &[1, 2, 3, 4], 256),
        "",
    ),
    ("retention", |b| b.queue(HUB, |q| q.retention = 60), "~queue(retention)"),
    (
        "visibility",
        |b| b.queue(HUB, |q| q.visibility = 5),
        "~queue(visibility)",
    ),
    ("delay", |b| b.queue("karpenter-base", |q| q.delay = 9), "~queue(delay)"),
    (
        "receive wait",
        |b| b.queue("kibus-probe", |q| q.receive_wait = 20),
        "~queue(receive_wait)",
    ),
    (
        "largest message",
        |b| b.queue("karpenter-base", |q| q.max_message_size = 1024),
        "~queue(max_message_size)",
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
    (
        "no redrive",
        |b| b.queue(HUB, |q| q.redrive = None),
        "~queue(redrive.dead_letters,redrive.max_receives)",
    ),
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
        "no encryption",
        |b| b.queue("karpenter-base", |q| q.encryption = Encryption::None),
        "~queue(encryption)",
    ),
    (
        "a key under an alias",
        |b| {
            b.queue("karpenter-base", |q| {
                q.encryption = Encryption::OtherKms("alias/x".to_owned())
            })
        },
        "~queue(encryption)",
    ),
    (
        "queue policy",
        |b| b.queue(HUB, |q| q.policy = Some(other())),
        "~queue(policy)",
    ),
    (
        "no queue policy",
        |b| b.queue(DLQ, |q| q.policy = None),
        "~queue(policy)",
    ),
    (
        "trust of the role",
        |b| b.role(ROLE, |r| r.trust = other()),
        "~role(trust)",
    ),
    (
        "a boundary that was not chosen",
        |b| {
            b.role(ROLE, |r| {
                r.permissions_boundary = Some("arn:aws:iam::111122223333:policy/x".parse().unwrap());
            });
        },
        "~role(permissions_boundary)",
    ),
    (
        "path of the role, which takes its policy with it",
        |b| b.role(ROLE, |r| r.path = "/x/".parse().unwrap()),
        "±role-policy ±role(path)",
    ),
    (
        "path of the role, whose policy is missing",
        |b| {
            b.role(ROLE, |r| r.path = "/x/".parse().unwrap());
            b.answer("role-policy", ROLE, Reading::Absent);
        },
        "±role(path) +role-policy",
    ),
    (
        "path of the role, and its policy",
        |b| {
            b.role(ROLE, |r| r.path = "/x/".parse().unwrap());
            b.role_policy(ROLE, |p| p.document = other());
        },
        "±role-policy(document) ±role(path)",
    ),
    (
        "policy of the router's role",
        |b| b.role_policy(ROLE, |p| p.document = other()),
        "~role-policy(document)",
    ),
    (
        "policy of the controller's role",
        |b| b.role_policy(CONTROLLER, |p| p.document = other()),
        "~role-policy(document)",
    ),
    (
        "log retention",
        |b| b.log_group("/aws/lambda/kibus-router", |l| l.retention_days = None),
        "~log-group(retention_days)",
    ),
    (
        "role of the function",
        |b| b.function("kibus-router", |f| f.settings.role.push('x')),
        "~function(role)",
    ),
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
    (
        "handler",
        |b| b.function("kibus-router", |f| f.settings.handler = "x".to_owned()),
        "~function(handler)",
    ),
    (
        "memory",
        |b| b.function("kibus-router", |f| f.settings.memory = 128),
        "~function(memory)",
    ),
    (
        "timeout",
        |b| b.function("kibus-router", |f| f.settings.timeout = 3),
        "~function(timeout)",
    ),
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
                f.settings.extras = Extras {
                    layers: BTreeSet::from(["arn:aws:lambda:us-west-2:1:layer:x:1".to_owned()]),
                    network: BTreeSet::from(["subnet-1".to_owned()]),
                    file_systems: BTreeSet::from(["arn:aws:elasticfilesystem:us-west-2:1:access-point/x".to_owned()]),
                    kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".to_owned()),
                };
            });
        },
        "~function(layers,network,file_systems,kms_key)",
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
        "another build of the same version",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.2.0", "bb")),
        "",
    ),
    (
        "code changed behind its back",
        |b| b.function("kibus-router", |f| f.settings.code.live = "bb".to_owned()),
        "~function(code)",
    ),
    (
        "code of an older version",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.1.9", "bb")),
        "~function(code)",
    ),
    (
        "code of a newer version",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.10.0", "bb")),
        "~function(code)",
    ),
    (
        "code of a version that is not recorded",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("", "")),
        "~function(code)",
    ),
    (
        "the alias points to an older version",
        |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.1.9", "bb")),
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
                a.settings
                    .environment
                    .insert("KIBUS_BUS".to_owned(), "kibus".to_owned());
                a.settings.logging = Logging::default();
                a.settings.extras.network.insert("sg-1".to_owned());
            });
        },
        "~alias(role,runtime,architecture,handler,memory,timeout,logging.group,logging.format,\
         network,environment.KIBUS_BUS)",
    ),
    (
        "all attachments of the live version",
        |b| {
            b.alias(LIVE, |a| {
                a.settings.extras = Extras {
                    layers: BTreeSet::from(["x".to_owned()]),
                    file_systems: BTreeSet::from(["x".to_owned()]),
                    kms_key: Some("x".to_owned()),
                    ..Extras::default()
                };
            });
        },
        "~alias(layers,file_systems,kms_key)",
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
    (
        "an alias that someone went back with",
        |b| {
            b.alias(LIVE, |a| {
                a.version = Some(2);
                a.history.rolled_back_from = Some(3);
            });
        },
        "~alias(rollback)",
    ),
    (
        "what an alias remembers of before",
        |b| b.alias(LIVE, |a| a.history.before = vec![1]),
        "",
    ),
    (
        "the number of the alias's version is Lambda's",
        |b| b.alias(LIVE, |a| a.version = Some(7)),
        "",
    ),
    (
        "batch size",
        |b| b.mapping(MAPPING, |m| m.batch_size = 100),
        "~event-source-mapping(batch_size)",
    ),
    (
        "window",
        |b| b.mapping(MAPPING, |m| m.window = 1),
        "~event-source-mapping(window)",
    ),
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
    (
        "a mapping that is switched off",
        |b| b.mapping(MAPPING, |m| m.enabled = false),
        "~event-source-mapping(enabled)",
    ),
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
    (
        "description",
        |b| b.rule(SPOT, |r| r.description.clear()),
        "~rule(description)",
    ),
    (
        "pattern",
        |b| b.rule(SPOT, |r| r.pattern = Document::new(json!({"source": ["aws.ec2"]}))),
        "~rule(pattern)",
    ),
    (
        "a rule that is switched off",
        |b| b.rule(SPOT, |r| r.enabled = false),
        "~rule(enabled)",
    ),
    (
        "target",
        |b| b.rule(SPOT, |r| r.target.as_mut().unwrap().arn.push('x')),
        "~rule(target.arn)",
    ),
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
            b.rule(SPOT, |r| {
                r.target.as_mut().unwrap().rewrite = Some("$.detail".to_owned())
            })
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
        |b| {
            b.rule(SPOT, |r| {
                r.target.as_mut().unwrap().message_group = Some("x".to_owned())
            })
        },
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
    (
        "tags of others on everything",
        |b| {
            let tagged: Vec<Resource> = b.observed.resources().cloned().collect();
            for resource in tagged {
                b.see(with_tag(resource, "cost-center", "7"));
            }
        },
        "",
    ),
    (
        "a tag of ours with another value",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.insert("kibus:controller-role".to_owned(), "x".to_owned());
            });
        },
        "~queue(tags.kibus:controller-role)",
    ),
    (
        "a tag that the user chose once and does not choose any more",
        |b| {
            b.rule(SPOT, |r| {
                r.tags.0.insert("kibus:option:tag".to_owned(), "gone team".to_owned());
                r.tags.0.insert("team".to_owned(), "a".to_owned());
                r.tags.0.insert("cost-center".to_owned(), "7".to_owned());
            });
        },
        "~rule(tags.kibus:option:tag,tags.team)",
    ),
    (
        "a tag of ours that is gone",
        |b| {
            b.queue("kibus-probe", |q| {
                q.tags.0.remove("kibus:cluster");
            });
        },
        "~queue(tags.kibus:cluster)",
    ),
    (
        "a tag of ours that nobody wants",
        |b| {
            b.rule(SPOT, |r| {
                r.tags.0.insert("kibus:cluster".to_owned(), "x".to_owned());
            });
        },
        "~rule(tags.kibus:cluster)",
    ),
];

/// Options that changed.
const CHOICES: &[Row] = &[
    (
        "tags of the user",
        |b| b.options.tags = Some(UserTags::parse(&["team=a".to_owned()]).unwrap()),
        "~queue(tags.kibus:option:tag,tags.team) ~queue(tags.kibus:option:tag,tags.team) \
         ~queue(tags.kibus:option:tag,tags.team) ~role(tags.kibus:option:tag,tags.team) \
         ~log-group(tags.kibus:option:tag,tags.team) ~function(tags.kibus:option:tag,tags.team) \
         ~rule(tags.kibus:option:tag,tags.team) ~rule(tags.kibus:option:tag,tags.team) \
         ~rule(tags.kibus:option:tag,tags.team) ~rule(tags.kibus:option:tag,tags.team) \
         ~rule(tags.kibus:option:tag,tags.team)",
    ),
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

/// Resources that are missing or unreadable.
const ANSWERS: &[Row] = &[
    ("no queue", |b| b.answer("queue", HUB, Reading::Absent), "+queue"),
    (
        "no log group and no rule",
        |b| {
            b.answer("log-group", "/aws/lambda/kibus-router", Reading::Absent);
            b.answer("rule", SPOT, Reading::Absent);
        },
        "+log-group +rule",
    ),
    (
        "no function, so no alias either",
        |b| {
            b.answer("function", "kibus-router", Reading::Absent);
            b.answer("alias", LIVE, Reading::Absent);
            b.answer("event-source-mapping", MAPPING, Reading::Absent);
        },
        "+function +alias +event-source-mapping",
    ),
    (
        "a mapping waits for the policy, though what stands between them is there",
        |b| {
            b.answer("role-policy", ROLE, Reading::Absent);
            b.answer("event-source-mapping", MAPPING, Reading::Absent);
        },
        "+role-policy +event-source-mapping",
    ),
    (
        "a queue that cannot be read",
        |b| b.answer("queue", HUB, Reading::Unreadable(unanswered())),
        "",
    ),
    (
        "a rule that nobody wants and that cannot be read",
        |b| {
            b.answer(
                "rule",
                "kibus-rebalance-recommendation",
                Reading::Unreadable(unanswered()),
            )
        },
        "",
    ),
];

fn with_tag(mut resource: Resource, key: &str, value: &str) -> Resource {
    let tags = match &mut resource {
        Resource::Queue(r) => &mut r.tags,
        Resource::Role(r) => &mut r.tags,
        Resource::LogGroup(r) => &mut r.tags,
        Resource::Function(r) => &mut r.tags,
        Resource::Rule(r) => &mut r.tags,
        Resource::RolePolicy(_) | Resource::Alias(_) | Resource::EventSourceMapping(_) => return resource,
    };
    tags.0.insert(key.to_owned(), value.to_owned());
    resource
}

#[test]
fn a_plan_is_what_differs_and_nothing_else() {
    for (name, edit, expected) in DRIFT.iter().chain(CHOICES).chain(ANSWERS) {
        let mut bench = Bench::new();
        edit(&mut bench);
        assert_eq!(drawing(&bench.plan()), *expected, "{name}");
    }
}

/// The table is complete: each field that a healthy resource of a kind has, some row changes.
#[test]
fn every_field_has_a_row() {
    let mut changed = BTreeSet::new();
    for (_, edit, _) in DRIFT.iter().chain(CHOICES) {
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
            assert!(
                changed.contains(&(kind, field.path.clone())),
                "no row changes {kind} {}",
                field.path
            );
        }
    }
}

#[test]
fn an_unreadable_resource_is_listed_and_not_changed() {
    let mut bench = Bench::new();
    bench.answer("queue", HUB, Reading::Unreadable(unanswered()));
    bench.answer("rule", SPOT, Reading::Unreadable(unanswered()));
    let names = |plan: &crate::plan::Plan| plan.unknown.iter().map(|id| id.name()).collect::<Vec<_>>();
    assert_eq!(names(&bench.plan()), [HUB, SPOT]);
    let teardown = bench.teardown();
    assert_eq!(names(&teardown), [HUB, SPOT]);
    assert!(
        teardown
            .changes
            .iter()
            .all(|change| change.id.name() != HUB && change.id.name() != SPOT)
    );
}

#[test]
fn nothing_becomes_everything_and_the_other_way() {
    let mut bench = Bench::new();
    let torn_down = drawing(&bench.teardown());
    let ids: Vec<_> = bench.observed.iter().map(|(id, _)| id.clone()).collect();
    bench.observed = ids.into_iter().map(|id| (id, Reading::Absent)).collect();
    assert_eq!(
        drawing(&bench.plan()),
        "+queue +queue +queue +queue +role +role-policy +role-policy +log-group +function +alias \
         +event-source-mapping +rule +rule +rule +rule +rule"
    );
    assert_eq!(
        torn_down,
        "-queue -role-policy -queue -event-source-mapping -alias -function -role-policy -role -log-group \
         -rule -rule -rule -rule -rule -queue -queue"
    );
    assert_eq!(drawing(&bench.teardown()), "");
}

#[test]
#[should_panic(expected = "queue `karpenter-base` is desired and was never read")]
fn only_absent_may_plan_a_create() {
    let bench = Bench::new();
    let mut desired = Desired::default();
    for resource in bench.wanted().resources() {
        if resource.id().name() == "karpenter-base" {
            desired.insert(resource.clone());
        }
    }
    let _ = crate::plan::plan(&bench.scope, &desired, &Default::default());
}

fn unanswered() -> crate::model::fault::Fault {
    crate::model::fault::Fault {
        kind: crate::model::fault::FaultKind::Unreachable,
        action: "sqs:GetQueueAttributes".to_owned(),
        code: None,
        message: "timed out".to_owned(),
    }
}
