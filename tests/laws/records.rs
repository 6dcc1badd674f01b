//! Records define which clusters a bus has: resources without a record, or that differ from their record, never change.
//! If two runs add a cluster, one records it.

use kibus::cloud::{FaultKind, Waiting, Write};
use kibus::model::{BadDocument, ClusterRecord, HubOptions, Maker, Moment, Queue, Resource, ResourceId, Tags, tags};
use kibus::plan::{Action, Change, Plan};

use super::account::Account;
use super::command::{Command, RoleFlag, applied, plan_if_allowed};
use super::interruption::{Desired, account_after, hub, keyed, scope, wait};
use Command::{AddCluster, Adopt, External, RemoveCluster, Retag, Teardown};

fn base(role: &'static str) -> Command {
    AddCluster(vec!["base"], RoleFlag::Role(role))
}

fn record() -> ResourceId {
    ResourceId::Record(scope().record_parameter(&"base".parse().unwrap()))
}

fn queue() -> ResourceId {
    ResourceId::Queue("karpenter-base".parse().unwrap())
}

fn policy(role: &str) -> ResourceId {
    scope().controller_policy_id(&"base".parse().unwrap(), &role.parse().unwrap())
}

/// What someone else does to a cluster.
type Damage = fn(&mut Desired);

fn change_record(all: &mut Desired, change: impl FnOnce(&mut ClusterRecord)) {
    let Some(Resource::Record(record)) = all.get_mut(&record()) else { panic!("no record") };
    change(record.content.as_mut().unwrap());
}

fn spoil_record(all: &mut Desired, bad: BadDocument) {
    let Some(Resource::Record(record)) = all.get_mut(&record()) else { panic!("no record") };
    record.content = Err(bad);
}

fn change_queue(all: &mut Desired, change: impl FnOnce(&mut Queue)) {
    let Some(Resource::Queue(queue)) = all.get_mut(&queue()) else { panic!("no queue") };
    change(queue);
}

/// Each leaves a queue that does not belong to kibus according to its record.
const OF_QUEUE: &[(&str, Damage)] = &[
    ("neither tags nor lock", |all| change_queue(all, |queue| (queue.tags, queue.policy) = (Tags::default(), None))),
    ("the tag of another bus", |all| {
        change_queue(all, |queue| drop(queue.tags.0.insert(tags::BUS.to_owned(), "other".to_owned())));
    }),
    ("the tag of another cluster", |all| {
        change_queue(all, |queue| drop(queue.tags.0.insert(tags::CLUSTER.to_owned(), "two".to_owned())));
    }),
    ("older than its record", |all| change_queue(all, |queue| queue.created -= 6)),
];

/// Each leaves no record of kibus for the queue.
const OF_RECORD: &[(&str, Damage)] = &[
    ("no record", |all| drop(all.remove(&record()))),
    ("a damaged record", |all| spoil_record(all, BadDocument::Damaged("x".to_owned()))),
    ("a record of a newer kibus", |all| spoil_record(all, BadDocument::Future(2))),
    ("a record of another queue", |all| {
        change_record(all, |record| record.queue = "karpenter-theirs".parse().unwrap());
    }),
    ("a record of another tool", |all| {
        change_record(all, |record| record.made_by = Maker::Tool("terraform".to_owned()));
    }),
];

/// The cloud in memory detects each kind of write that the laws forbid.
#[test]
fn a_write_that_breaks_a_law_is_a_breach() {
    let start = account_after(&[hub(), base("a")]);
    let whole = |_: &mut Desired| {};
    let [tool, ext] = ["tool", "ext"].map(|name| name.parse().unwrap());
    let settings = ResourceId::Parameter(scope().settings_parameter());
    let of_ext = ResourceId::Queue("karpenter-ext".parse().unwrap());
    let cases: [(&str, Damage, ResourceId, &str); 8] = [
        ("a record before its queue", whole, record(), "goes while"),
        ("the settings before a record", whole, settings, "goes while record"),
        ("a queue without tags", |all| change_queue(all, |queue| queue.tags = Tags::default()), queue(), "both tags"),
        ("a queue that was prepared", OF_QUEUE[3].1, queue(), "not managed"),
        ("a queue of a damaged record", OF_RECORD[1].1, queue(), "not managed"),
        ("a policy without a record", OF_RECORD[0].1, policy("a"), "not managed"),
        ("a record of a tool", whole, ResourceId::Record(scope().record_parameter(&tool)), "not managed"),
        ("a queue that has the tags alone", whole, of_ext, "not managed"),
    ];
    for (name, damage, id, breach) in cases {
        let mut start = start.clone();
        damage(&mut start);
        let delete = Change::delete(None, start[&id].clone());
        assert_breach(name, start, delete, breach);
    }
    let record = ClusterRecord::new(&scope(), &HubOptions::default(), ext, Moment(1));
    for wanted in
        record.desired(&scope(), &HubOptions::default().into()).resources().filter(|one| one.as_queue().is_some())
    {
        let mut start = start.clone();
        start.remove(&wanted.id());
        assert_breach("a queue before its record", start, Change::create(None, wanted.clone()), "no record");
    }
}

fn assert_breach(name: &str, start: Desired, change: Change, breach: &str) {
    let account = Account::new(&scope(), start);
    account.show(&Plan { changes: vec![change.clone()], unknown: Vec::new() }, None);
    let refused = wait(account.write(&change, Waiting::unattended()));
    let breaches = account.breaches();
    assert!(refused.is_err() && breaches.iter().any(|one| one.contains(breach)), "{name}: {breaches:?}");
}

#[test]
fn what_no_record_calls_kibus_s_own_never_changes() {
    let start = account_after(&[hub(), base("a"), AddCluster(vec!["two"], RoleFlag::None)]);
    let of_record = OF_RECORD.iter().map(|damage| (damage, [record(), queue(), policy("a")].to_vec()));
    let of_queue = OF_QUEUE.iter().map(|damage| (damage, vec![queue()]));
    for ((name, damage), stays) in of_record.chain(of_queue) {
        let mut start = start.clone();
        damage(&mut start);
        for command in [
            keyed(),
            base("b"),
            Retag("base", &["x=y"], &["team"]),
            External("base"),
            RemoveCluster(vec!["base"]),
            RemoveCluster(vec!["base", "two"]),
            Teardown,
        ] {
            // A queue with the tags of the cluster may be recorded as external.
            if *name == "no record" && matches!(command, External(_)) {
                continue;
            }
            let account = Account::new(&scope(), start.clone());
            if let Ok(plan) = wait(plan_if_allowed(&scope(), &account, &command.target())) {
                let run = wait(command.apply(plan, &account, 4, None));
                assert!(run.outcome.is_complete(), "{name}, {command:?}: {:?}", run.outcome);
            }
            assert_eq!(account.breaches(), [""; 0], "{name}, {command:?}");
            let left = account.resources();
            for id in &stays {
                assert_eq!(left.get(id), start.get(id), "{name}, {command:?}");
            }
        }
    }
}

/// A queue that is older than its hub, and anything with the tag of another bus.
#[test]
fn what_has_the_name_of_a_part_of_the_hub_and_is_none_never_changes() {
    let start = account_after(&[hub()]);
    let older = scope().hub_queues().map(|name| {
        let (mut start, id) = (start.clone(), ResourceId::Queue(name));
        let Some(Resource::Queue(queue)) = start.get_mut(&id) else { panic!("{id}") };
        queue.created -= 6;
        (start, id)
    });
    let of_bus = |resource: &Resource| resource.tags().is_some_and(|tags| tags.get(tags::BUS) == Some("kibus"));
    let parts = start.iter().filter(|(id, one)| of_bus(one) && !id.name().contains("karpenter-"));
    let tagged = parts.map(|(id, _)| {
        let mut start = start.clone();
        let tags = start.get_mut(id).and_then(Resource::tags_mut).unwrap();
        tags.0.insert(tags::BUS.to_owned(), "other".to_owned());
        (start, id.clone())
    });
    for (start, id) in older.into_iter().chain(tagged) {
        for command in [hub(), keyed(), Teardown] {
            let account = Account::new(&scope(), start.clone());
            if let Ok(plan) = wait(plan_if_allowed(&scope(), &account, &command.target())) {
                wait(command.apply(plan, &account, 4, None));
            }
            assert_eq!(account.breaches(), [""; 0], "{id}, {command:?}");
            assert_eq!(account.resources().get(&id), start.get(&id), "{id}, {command:?}");
        }
    }
}

#[test]
fn adopting_makes_a_queue_kibus_s_own_whatever_it_was() {
    let start = account_after(&[hub(), base("a")]);
    for (name, damage) in OF_QUEUE.iter().chain(&OF_RECORD[..1]) {
        let mut start = start.clone();
        damage(&mut start);
        let account = Account::new(&scope(), start);
        let run = Adopt("base", RoleFlag::Role("a")).completes(&account);
        let changes: Vec<_> = run.plan.changes.iter().map(|change| (change.action, &change.id)).collect();
        if *name == "no record" {
            assert_eq!(changes, [(Action::Create, &record())], "nothing else differs");
        }
        for command in [base("a"), Adopt("base", RoleFlag::Role("a"))] {
            assert!(wait(command.plan(&scope(), &account)).is_empty(), "{name}: {command:?}");
        }
        RemoveCluster(vec!["base"]).completes(&account);
        let left = account.resources();
        assert!([record(), queue(), policy("a")].iter().all(|id| !left.contains_key(id)), "{name}: {:?}", left.keys());
    }
}

/// Otherwise, anyone who can write records could give any role access to the queue at the next change of the key.
#[test]
fn a_change_of_the_key_gives_no_role_a_policy() {
    let mut start = account_after(&[hub(), base("a")]);
    start.remove(&policy("a"));
    let account = Account::new(&scope(), start);
    let run = keyed().completes(&account);
    assert!(run.plan.changes.iter().any(|change| change.id == queue()), "{:?}", run.plan.changes);
    assert!(!account.resources().contains_key(&policy("a")));
    let run = base("a").completes(&account);
    assert!(run.plan.changes.iter().any(|change| change.id == policy("a")), "{:?}", run.plan.changes);
}

#[test]
fn of_two_runs_that_add_a_cluster_one_records_it() {
    for (first, second, agrees) in [("a", "a", true), ("a", "b", false)] {
        let account = Account::new(&scope(), account_after(&[hub()]));
        let plan = wait(base(second).plan(&scope(), &account));
        base(first).completes(&account);
        let before = account.resources();
        let outcome = applied(&plan, &account);
        let failed: Vec<_> = outcome.failed.iter().map(|(at, fault)| (&plan.changes[*at].id, &fault.kind)).collect();
        let refused = [(&record(), &FaultKind::Exists)];
        assert_eq!(failed, if agrees { &[][..] } else { &refused[..] }, "{first} {second}");
        assert_eq!(outcome.is_complete(), agrees, "{outcome:?}");
        assert_eq!(account.resources(), before, "{first} {second}");
        // It plans again, on top of the first run.
        base(second).completes(&account);
        assert!(wait(base(second).plan(&scope(), &account)).is_empty());
    }
}

/// A page has ten records.
#[test]
fn a_teardown_removes_every_recorded_cluster() {
    let names: Vec<&'static str> = (0..23).map(|at| &*format!("c{at}").leak()).collect();
    let account = Account::new(&scope(), account_after(&[hub(), AddCluster(names, RoleFlag::None)]));
    Teardown.completes(&account);
    let left = account.resources().into_keys().filter(|id| id.name().contains("clusters/c")).count();
    assert_eq!(left, 0);
}
