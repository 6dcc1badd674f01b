//! The checks of a plan: for each refusal a case that is refused, and a similar one that is not.

use std::collections::BTreeSet;

use super::Bench;
use crate::model::cluster::Cluster;
use crate::model::document::Document;
use crate::model::inventory::{Desired, Observed, Reading};
use crate::model::name::ClusterName;
use crate::model::options::HubOptions;
use crate::model::resource::{Alias, Code, FunctionSettings, Resource};
use crate::model::scope::tests::{scope, scope_in};
use crate::model::tags::{BUS, CLUSTER, Tags};
use crate::plan::{Allowed, check, check_allowing, check_empty_prefix, check_prefix, check_queue_name, plan};
use serde_json::json;

const ROLE: &str = "kibus-router-us-west-2";
const LIVE: &str = "kibus-router:live";
const MAPPING: &str = "kibus-hub -> kibus-router:live";
const SPOT: &str = "kibus-spot-interruption";
const REBALANCE: &str = "kibus-rebalance-recommendation";
const CONTROLLER: &str = "controller/kibus-us-west-2-base";

type Row = (&'static str, fn(&mut Bench), &'static [&'static str]);

fn disown(tags: &mut Tags) {
    tags.0.remove(BUS);
}

fn statement(sid: &str) -> Document {
    Document::new(json!({"Statement": [{"Sid": sid, "Effect": "Allow"}]}))
}

const CHANGED: &[Row] = &[
    ("nothing", |_| {}, &[]),
    (
        "a queue without our tag",
        |b| b.queue("kibus-hub", |q| disown(&mut q.tags)),
        &["queue `kibus-hub` exists and is not part of bus `kibus`"],
    ),
    (
        "a queue of another bus",
        |b| {
            b.queue("kibus-hub", |q| {
                q.tags.0.insert(BUS.to_owned(), "other".to_owned());
            });
        },
        &["queue `kibus-hub` exists and is not part of bus `kibus`"],
    ),
    ("a queue of ours", |b| b.queue("kibus-hub", |q| q.retention = 60), &[]),
    (
        "a role of another tool, with a policy of kibus's name",
        |b| {
            b.role(ROLE, |r| disown(&mut r.tags));
            b.role_policy(ROLE, |p| p.document = statement("KibusX"));
        },
        &[
            "role `kibus-router-us-west-2` exists and is not part of bus `kibus`",
            "role policy `kibus-router-us-west-2` exists and holds statements that kibus did not write",
        ],
    ),
    (
        "the policy of our role, whatever it says",
        |b| b.role_policy(ROLE, |p| p.document = statement("Theirs")),
        &[],
    ),
    (
        "a log group of another tool",
        |b| b.log_group("/aws/lambda/kibus-router", |l| disown(&mut l.tags)),
        &["log group `/aws/lambda/kibus-router` exists and is not part of bus `kibus`"],
    ),
    (
        "a function of another tool, with an alias; the mapping is on the hub queue",
        |b| {
            b.function("kibus-router", |f| disown(&mut f.tags));
            b.alias(LIVE, |a| a.settings.memory = 1);
            b.mapping(MAPPING, |m| m.batch_size = 1);
        },
        &[
            "function `kibus-router` exists and is not part of bus `kibus`",
            "alias `kibus-router:live` exists and is not part of bus `kibus`",
        ],
    ),
    (
        "a mapping from another's queue to another's function",
        |b| {
            b.function("kibus-router", |f| disown(&mut f.tags));
            b.queue("kibus-hub", |q| disown(&mut q.tags));
            b.mapping(MAPPING, |m| m.batch_size = 1);
        },
        &[
            "queue `kibus-hub` exists and is not part of bus `kibus`",
            "function `kibus-router` exists and is not part of bus `kibus`",
            "event source mapping `kibus-hub -> kibus-router:live` exists and is not part of bus `kibus`",
        ],
    ),
    (
        "an alias and a mapping of ours",
        |b| {
            b.alias(LIVE, |a| a.settings.memory = 1);
            b.mapping(MAPPING, |m| m.batch_size = 1);
        },
        &[],
    ),
    (
        "a rule of another tool",
        |b| b.rule(SPOT, |r| disown(&mut r.tags)),
        &["rule `kibus-spot-interruption` exists and is not part of bus `kibus`"],
    ),
    (
        "a controller policy with a foreign statement",
        |b| {
            b.role_policy(CONTROLLER, |p| {
                p.document.value_mut()["Statement"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({"Sid": "Theirs"}));
            });
        },
        &["role policy `controller/kibus-us-west-2-base` exists and holds statements that kibus did not write"],
    ),
    (
        "a controller's policy with another statement of ours",
        |b| b.role_policy(CONTROLLER, |p| p.document = statement("KibusX")),
        &[],
    ),
    (
        "a policy of the same name for another queue",
        |b| {
            b.role_policy(CONTROLLER, |p| {
                p.document.value_mut()["Statement"][0]["Resource"] =
                    json!("arn:aws:sqs:us-west-2:111122223333:a-other");
            });
        },
        &[
            "role policy `controller/kibus-us-west-2-base` exists and grants another queue: \
             `arn:aws:sqs:us-west-2:111122223333:a-other`",
        ],
    ),
    (
        "a policy that grants all queues, its own included",
        |b| {
            b.role_policy(CONTROLLER, |p| {
                p.document.value_mut()["Statement"][0]["Resource"] = json!("arn:aws:sqs:*:*:*");
            });
        },
        &[],
    ),
    (
        "a queue that serves another cluster",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.insert(CLUSTER.to_owned(), "tenant-1".to_owned());
            });
        },
        &["queue `karpenter-base` serves cluster `tenant-1`"],
    ),
    (
        "a queue that has lost the tag of its cluster",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.remove(CLUSTER);
            });
        },
        &[],
    ),
    (
        "another's target on a rule that stays",
        |b| {
            b.rule(SPOT, |r| {
                r.enabled = false;
                r.foreign_targets.insert("theirs".to_owned());
            });
        },
        &[],
    ),
    (
        "another's target on a rule that goes",
        |b| rebalance(b, &["theirs"]),
        &["rule `kibus-rebalance-recommendation` has targets that kibus does not manage: `theirs`"],
    ),
    ("a rule that goes, with our target alone", |b| rebalance(b, &[]), &[]),
    (
        "a newer router",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.10.0", "bb")),
        &["the function has router 0.10.0, which is newer than 0.2.0"],
    ),
    (
        "an older router",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.1.9", "bb")),
        &[],
    ),
    (
        "a newer router that was changed behind its back",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.code = Code::of_archive("0.3.0", "bb");
                f.settings.code.live = "cc".to_owned();
            });
        },
        &["the function has router 0.3.0, which is newer than 0.2.0"],
    ),
    (
        "this router, changed behind its back",
        |b| b.function("kibus-router", |f| f.settings.code.live = "cc".to_owned()),
        &[],
    ),
    (
        "what led to a release of this router",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.code = Code::of_archive("0.2.0-rc.1", "bb")
            })
        },
        &[],
    ),
    (
        "what leads to a later release",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.code = Code::of_archive("0.2.1-rc.1", "bb")
            })
        },
        &["the function has router 0.2.1-rc.1, which is newer than 0.2.0"],
    ),
    (
        "a function that Lambda has given up",
        |b| b.function("kibus-router", |f| f.failed = Some("the role is gone".to_owned())),
        &["function `kibus-router` failed in Lambda and cannot be updated: the role is gone"],
    ),
    (
        "a function whose last update failed",
        |b| {
            b.function("kibus-router", |f| {
                f.failed_update = Some("the role is gone".to_owned())
            })
        },
        &[],
    ),
    (
        "a controller that would run as the router",
        |b| b.role = Some(ROLE.parse().unwrap()),
        &["role `kibus-router-us-west-2` is the router's role: a controller with this role could read the hub queue"],
    ),
    (
        "a router of another build, with other memory",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.code = Code::of_archive("0.2.0", "bb");
                f.settings.memory = 1;
            });
        },
        &[],
    ),
];

/// A bus that has the optional rule, which is no longer desired.
fn rebalance(b: &mut Bench, foreign_targets: &[&str]) {
    let before = HubOptions {
        rebalance: Some(true),
        ..HubOptions::default()
    };
    let after = std::mem::replace(&mut b.options, before);
    for resource in b.wanted().resources() {
        b.see(resource.clone());
    }
    b.options = after;
    b.rule(REBALANCE, |r| {
        r.foreign_targets = foreign_targets.iter().map(|id| (*id).to_owned()).collect();
    });
}

#[test]
fn a_resource_of_another_tool_is_refused_by_name() {
    for (name, edit, expected) in CHANGED {
        let mut bench = Bench::new();
        edit(&mut bench);
        let mut refusals: Vec<String> = check(&bench.scope, &bench.plan(), &bench.observed)
            .iter()
            .map(ToString::to_string)
            .collect();
        let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        refusals.sort();
        expected.sort();
        assert_eq!(refusals, expected, "{name}");
    }
}

#[test]
fn a_resource_of_another_tool_is_not_deleted() {
    let mut bench = Bench::new();
    assert_eq!(check(&bench.scope, &bench.teardown(), &bench.observed), []);
    bench.queue("kibus-probe", |q| disown(&mut q.tags));
    bench.rule(SPOT, |r| disown(&mut r.tags));
    bench.role_policy(CONTROLLER, |p| p.document = statement("Theirs"));
    bench.answer("log-group", "/aws/lambda/kibus-router", Reading::Absent);
    let refused = check(&bench.scope, &bench.teardown(), &bench.observed);
    assert_eq!(refused.len(), 3, "{refused:?}");
}

/// Bus `a` with cluster `us-west-2-x` and bus `a-us-west-2` with cluster `x` name their policies alike.
#[test]
fn the_policy_of_another_bus_is_neither_updated_nor_deleted() {
    let [first, second] = [("a", "us-west-2-x"), ("a-us-west-2", "x")].map(|(bus, cluster)| {
        let mut scope = scope();
        scope.bus = bus.parse().unwrap();
        let prefix = format!("{bus}-q-").parse().unwrap();
        let role = Some("shared".parse().unwrap());
        let cluster = Cluster::new(&scope, &prefix, cluster.parse().unwrap(), role, Default::default());
        let desired = cluster.desired(&scope, &HubOptions::default());
        (scope, desired)
    });
    let policy = |desired: &Desired| {
        let policy = desired
            .resources()
            .find(|resource| matches!(resource, Resource::RolePolicy(_)));
        policy.cloned().unwrap()
    };
    let (scope, desired) = second;
    let theirs = policy(&first.1);
    assert_eq!(theirs.id(), policy(&desired).id());
    let mut observed: Observed = desired.ids().map(|id| (id.clone(), Reading::Absent)).collect();
    observed.insert(theirs.id(), Reading::Present(Box::new(theirs)));
    let refused = |desired: &Desired, observed: &Observed| {
        let refusals = check(&scope, &plan(&scope, desired, observed), observed);
        refusals.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = "role policy `shared/a-us-west-2-us-west-2-x` exists and grants another queue: \
                    `arn:aws:sqs:us-west-2:111122223333:a-q-us-west-2-x`";
    assert_eq!(refused(&desired, &observed), [expected]);
    let queue = desired
        .resources()
        .find(|resource| matches!(resource, Resource::Queue(_)));
    let queue = queue.cloned().unwrap();
    observed.insert(queue.id(), Reading::Present(Box::new(queue)));
    assert_eq!(refused(&Desired::default(), &observed), [expected]);
}

#[test]
fn drift_does_not_prevent_a_teardown() {
    let mut bench = Bench::new();
    bench.role = Some(ROLE.parse().unwrap());
    for resource in bench.wanted().resources() {
        bench.see(resource.clone());
    }
    bench.function("kibus-router", |f| f.failed = Some("the role is gone".to_owned()));
    assert_eq!(check(&bench.scope, &bench.teardown(), &bench.observed), []);
}

#[test]
fn a_cluster_cannot_take_a_name_of_the_hub() {
    let bench = Bench::new();
    for (prefix, cluster, taken) in [
        ("", "kibus-hub", false),
        ("", "kibus-hub-dlq", false),
        ("kibus-", "probe", false),
        ("karpenter-", "kibus-hub", true),
        ("", "kibus", true),
    ] {
        let cluster: ClusterName = cluster.parse().unwrap();
        let queue = bench.scope.cluster_queue(&prefix.parse().unwrap(), &cluster);
        let checked = check_queue_name(&bench.scope, &cluster, &queue).map_err(|refusal| refusal.to_string());
        let refusal = format!("the queue of cluster `{cluster}` would be `{queue}`, which is a queue of the hub");
        assert_eq!(checked, if taken { Ok(()) } else { Err(refusal) });
    }
}

#[test]
fn the_prefix_stays_while_clusters_are_registered() {
    let prefix = |prefix: Option<&str>| HubOptions {
        queue_prefix: prefix.map(|prefix| prefix.parse().unwrap()),
        ..HubOptions::default()
    };
    for (name, before, after, clusters, taken) in [
        ("no cluster", None, Some("x-"), vec![], true),
        ("a cluster", None, Some("x-"), vec!["base", "a"], false),
        ("the default by name", None, Some("karpenter-"), vec!["base"], true),
        ("to none", Some("x-"), Some(""), vec!["base"], false),
        ("back to the default", Some("x-"), None, vec!["base"], false),
        ("the same", Some("x-"), Some("x-"), vec!["base"], true),
    ] {
        let registered: BTreeSet<ClusterName> = clusters.iter().map(|name| name.parse().unwrap()).collect();
        let checked = check_prefix(&prefix(before), &prefix(after), registered);
        assert_eq!(checked.is_ok(), taken, "{name}");
        if let Err(refusal) = checked {
            assert!(refusal.to_string().contains("`base`"), "{name}: {refusal}");
        }
    }
}

#[test]
fn the_prefix_is_empty_only_where_tags_tell_queues_apart() {
    for (region, prefix, taken) in [
        ("us-west-2", "", true),
        ("eu-south-1", "", true),
        ("eu-south-2", "", false),
        ("ap-south-2", "", false),
        ("eu-south-2", "karpenter-", true),
    ] {
        let checked = check_empty_prefix(&scope_in("aws", region), &prefix.parse().unwrap());
        assert_eq!(checked.is_ok(), taken, "{region} `{prefix}`");
    }
}

#[test]
fn only_a_downgrade_can_be_allowed() {
    let mut bench = Bench::new();
    bench.function("kibus-router", |f| f.settings.code = Code::of_archive("0.3.0", "bb"));
    bench.queue("kibus-hub", |q| disown(&mut q.tags));
    let left = |downgrade| {
        let refusals = check_allowing(&bench.scope, &bench.plan(), &bench.observed, Allowed { downgrade });
        refusals.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let foreign = "queue `kibus-hub` exists and is not part of bus `kibus`";
    assert_eq!(
        left(false),
        [foreign, "the function has router 0.3.0, which is newer than 0.2.0"]
    );
    assert_eq!(left(true), [foreign]);
}

type Back = (&'static str, fn(&mut FunctionSettings), &'static [&'static str]);

/// Rollbacks: the settings of the version, and the reason to refuse it.
const BACK: &[Back] = &[
    ("older code", |s| s.code = Code::of_archive("0.1.0", "bb"), &[]),
    (
        "of another size",
        |s| {
            s.memory = 512;
            s.timeout = 5;
        },
        &[],
    ),
    (
        "which sends to other queues",
        |s| s.handler = "kibus/x-".to_owned(),
        &["version 1 of the router was published with other settings: `handler`"],
    ),
    ("published by 0.1.0", |s| by_0_1_0(s, "karpenter-"), &[]),
    (
        "published by 0.1.0, which sends to other queues",
        |s| by_0_1_0(s, "x-"),
        &[
            "version 1 of the router was published with other settings: `environment.KIBUS_BUS`, \
          `environment.KIBUS_QUEUE_PREFIX`, `handler`",
        ],
    ),
    (
        "published by 0.1.0, with another variable",
        |s| {
            by_0_1_0(s, "karpenter-");
            s.environment.insert("RUST_LOG".to_owned(), "trace".to_owned());
        },
        &["version 1 of the router was published with other settings: `environment.RUST_LOG`"],
    ),
    (
        "which somebody had put into a network",
        |s| {
            s.extras.network.insert("subnet-1".to_owned());
        },
        &["version 1 of the router was published with other settings: `network`"],
    ),
    (
        "which runs as another role, and knows no prefix",
        |s| {
            s.role.push('x');
            s.handler = "bootstrap".to_owned();
        },
        &["version 1 of the router was published with other settings: `handler`, `role`"],
    ),
];

/// Settings as kibus 0.1.0 published them: in environment variables.
fn by_0_1_0(settings: &mut FunctionSettings, prefix: &str) {
    settings.handler = "bootstrap".to_owned();
    settings.environment = [("KIBUS_BUS", "kibus"), ("KIBUS_QUEUE_PREFIX", prefix)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
}

#[test]
fn a_rollback_from_a_version_in_a_network_is_allowed() {
    let mut bench = Bench::new();
    bench.alias(LIVE, |a| {
        a.version = Some(2);
        a.settings.extras.network.insert("subnet-1".to_owned());
    });
    let plan = bench.plan();
    assert!(plan.changes[0].touches("network"), "{:?}", plan.changes);
    assert_eq!(check(&bench.scope, &plan, &bench.observed), []);
}

#[test]
fn a_rollback_must_not_change_where_events_go() {
    for (name, edit, expected) in BACK {
        let mut bench = Bench::new();
        bench.alias(LIVE, |a| {
            a.version = Some(2);
            a.history.before = vec![1];
        });
        let live = bench.observed.resources().find_map(|resource| match resource {
            Resource::Alias(alias) => Some(alias.clone()),
            _ => None,
        });
        let live = live.unwrap();
        let mut settings = live.settings.clone();
        edit(&mut settings);
        let back = Resource::Alias(live.rolled_back(1, settings));
        let only = Observed::from_iter([(back.id(), Reading::Present(Box::new(Resource::Alias(live))))]);
        let plan = plan(&bench.scope, &Desired::from_iter([back]), &only);
        assert!(plan.changes[0].touches(Alias::ROLLBACK), "{name}");
        let refusals = check(&bench.scope, &plan, &bench.observed);
        let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        assert_eq!(refusals, *expected, "{name}");
    }
}
