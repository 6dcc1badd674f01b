//! The law of interruption, for every account that commands can leave behind, every next command, every step at which
//! it can be interrupted, and every kind of interruption.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kibus::model::{
    ClusterRecord, Document, HubOptions, Maker, Moment, Queue, Record, Resource, ResourceId, RolePolicy, Scope, Tags,
    tags::DELETING,
};
use kibus::plan::{Action, Change, Plan};
use proptest::prelude::*;
use serde_json::json;

use super::account::{Account, Basis, Interruption, Trouble, halves};
use super::command::{Command, RoleFlag, plan_if_allowed};
pub(super) use crate::permissions::{scope, typed};
use Command::{AddCluster, Adopt, BootstrapHub, External, RemoveCluster, Retag, Rollback, RouterLatest, Teardown};
use RoleFlag::{NotGiven, Role};

pub(super) type Desired = BTreeMap<ResourceId, Resource>;

/// A hub with these options.
pub(super) fn hub_with(options: &str) -> Command {
    BootstrapHub(typed(options), "0.1.0")
}

pub(super) fn hub() -> Command {
    hub_with("")
}

const CHOOSY: &str = "--tag team=a --kms-key arn:aws:kms:us-west-2:111122223333:key/1 --retention 7200 --memory 512 --arch arm64 \
    --permissions-boundary arn:aws:iam::111122223333:policy/x --reserved-concurrency 5 --log-retention 30 --rebalance \
    --tag-conditions=false";

/// A hub with every option set.
pub(super) fn choosy_hub() -> Command {
    hub_with(&format!("{CHOOSY} --role-path /x/"))
}

/// A hub with a customer key.
pub(super) fn keyed() -> Command {
    BootstrapHub(typed("--kms-key arn:aws:kms:us-west-2:111122223333:key/1"), "0.2.0")
}

/// A hub with alarms, including those for its clusters.
pub(super) fn watched_hub() -> Command {
    hub_with("--alarms --reader-alarms")
}

/// The commands that lead to each account at the start of a law.
fn histories() -> Vec<Vec<Command>> {
    let base = AddCluster(vec!["base"], Role("a"));
    let one = AddCluster(vec!["one"], Role("b"));
    let two = AddCluster(vec!["two"], RoleFlag::None);
    vec![
        vec![],
        vec![hub()],
        vec![choosy_hub()],
        vec![hub(), base.clone()],
        vec![watched_hub(), base.clone()],
        vec![choosy_hub(), base.clone()],
        vec![hub(), base.clone(), one, two],
        vec![hub(), Adopt("old", Role("a"))],
        vec![watched_hub(), External("ext")],
        vec![hub(), base, External("base")],
    ]
}

fn commands() -> Vec<Command> {
    let changes = [
        "",
        // The path of a role cannot change.
        CHOOSY,
        "--tag team=b --tag x=y",
        "--tag x=y",
        "--tag none",
        "--tag x=y --kms-key none --memory 1024",
        "--kms-key none",
        "--kms-key arn:aws:kms:us-west-2:111122223333:key/1",
        "--kms-key arn:aws:kms:us-west-2:111122223333:key/2",
        "--retention 9000",
        "--permissions-boundary none",
        "--queue-name karpenter-{cluster}",
        "--reserved-concurrency none",
        "--rebalance=false",
        "--rebalance",
        "--reader-alarms=false",
        "--alarms --reader-alarms",
        "--tag-conditions=true",
    ];
    let others = [
        BootstrapHub(HubOptions::default(), "0.2.0"),
        AddCluster(vec!["base"], NotGiven),
        AddCluster(vec!["base"], RoleFlag::None),
        AddCluster(vec!["base", "two"], Role("r-{cluster}")),
        AddCluster(vec!["base"], Role("b")),
        Retag("base", &["team=c", "x=y"], &[]),
        Retag("base", &["x=z"], &["team"]),
        RemoveCluster(vec!["base"]),
        RemoveCluster(vec!["base", "one", "two", "never"]),
        Teardown,
    ];
    changes.map(hub_with).into_iter().chain(others).collect()
}

/// The commands about queues that exist before their clusters are recorded, or that change owners.
fn changes_of_owner() -> Vec<Command> {
    vec![
        Adopt("old", Role("a")),
        Adopt("old", Role("b")),
        Adopt("old", RoleFlag::None),
        External("ext"),
        Adopt("ext", Role("b")),
        External("base"),
        Adopt("base", Role("b")),
        External("old"),
        RemoveCluster(vec!["old", "ext"]),
    ]
}

/// Whether a command is not refused after these others: only a queue with the tags of its cluster can become external,
/// and only an existing queue can be adopted.
fn is_allowed_after(history: &[Command], command: &Command) -> bool {
    let is_recorded = |name: &str| {
        history.iter().any(|before| match before {
            AddCluster(names, _) => names.contains(&name),
            Adopt(one, _) => *one == name,
            _ => false,
        })
    };
    match command {
        External("base") | Adopt("base", _) => is_recorded("base"),
        External("old") => is_recorded("old"),
        _ => true,
    }
}

/// Resources that kibus does not manage, some of them with the names and the tags of the bus: queues with and without the tags of
/// their clusters, a cluster of Terraform, and a policy that no record explains.
pub(super) fn of_others() -> Desired {
    let hub = kibus::model::hub::Hub::new(
        &Scope { bus: "other".parse().unwrap(), ..scope() },
        HubOptions::default(),
        kibus::model::resource::Code::of_archive("9.0.0", "ff"),
    );
    let mut all: Vec<Resource> = hub.desired().resources().cloned().collect();
    let policy = |name: &str| {
        let (name, document) = (name.parse().unwrap(), Document::new(json!({"Statement": [{"Sid": "KibusX"}]})));
        Resource::RolePolicy(RolePolicy { role: "a".parse().unwrap(), name, document })
    };
    all.extend(["theirs", "kibus.us-west-2.gone"].map(policy));
    let mut record = record_of("tool");
    (record.made_by, record.external, record.since) = (Maker::Tool("terraform".to_owned()), true, None);
    let tagged = |cluster: &str| Tags::of_cluster(&scope().bus, &cluster.parse().unwrap());
    for (cluster, tags) in [
        ("theirs", Tags::default()),
        ("old", Tags::default().with("team", "a")),
        ("ext", tagged("ext")),
        ("tool", tagged("tool")),
    ] {
        all.push(Resource::Queue(queue_of_another_tool(cluster, tags)));
    }
    all.push(Resource::Record(Record { tags_of_new: Tags::default(), version: 1, ..Record::new(&scope(), record) }));
    all.into_iter().map(|resource| (resource.id(), resource)).collect()
}

fn record_of(cluster: &str) -> ClusterRecord {
    ClusterRecord::new(&scope(), &HubOptions::default(), cluster.parse().unwrap(), Moment(1_700_000_000))
}

/// The queue of a cluster, created by another tool long ago.
fn queue_of_another_tool(cluster: &str, tags: Tags) -> Queue {
    let desired = record_of(cluster).desired(&scope(), &HubOptions::default().into());
    let queue = desired.resources().find_map(Resource::as_queue).unwrap().clone();
    let policy = json!({
        "Version": "2012-10-17",
        "Id": "EC2InterruptionPolicy",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
            "Action": "sqs:SendMessage",
            "Resource": scope().queue_arn(&queue.name),
        }],
    });
    let (policy, created) = (Some(Document::new(policy)), 1_700_000_000);
    Queue { retention: 3600, redrive_allow: None, tags, policy, created, ..queue }
}

pub(super) fn wait<T>(run: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run)
}

/// The account that these commands leave behind, with foreign tags.
pub(super) fn account_after(history: &[Command]) -> Desired {
    let account = Account::new(&scope(), of_others());
    for command in history {
        command.completes(&account);
    }
    let mut desired = account.resources();
    for tags in desired.values_mut().filter_map(Resource::tags_mut) {
        tags.0.insert("cost-center".to_owned(), "7".to_owned());
    }
    desired
}

/// The state that the law compares: everything except times, and the numbers of versions and of writes of parameters.
pub(super) fn comparable(mut desired: Desired) -> Desired {
    for resource in desired.values_mut() {
        match resource {
            Resource::Alias(alias) => {
                alias.version = None;
                alias.versions.clear();
            }
            Resource::Parameter(parameter) => {
                parameter.version = 0;
                if let Ok(settings) = &mut parameter.settings {
                    settings.since = Moment::default();
                }
            }
            Resource::Record(record) => {
                record.version = 0;
                if let Ok(record) = &mut record.content {
                    record.since = None;
                }
            }
            Resource::Queue(queue) => queue.created = 0,
            _ => {}
        }
    }
    desired
}

/// Compares two accounts as the law does.
pub(super) fn assert_same(left: Desired, right: &Desired, name: impl FnOnce() -> String) {
    let left = comparable(left);
    if left != *right {
        let differs = |id: &&ResourceId| left.get(id) != right.get(id);
        let ids: BTreeSet<&ResourceId> = left.keys().chain(right.keys()).filter(differs).collect();
        let pairs: Vec<_> = ids.into_iter().map(|id| (left.get(id), right.get(id))).collect();
        panic!("{}: {pairs:#?}", name());
    }
}

/// A state in which a run was interrupted, and the plan of the next one.
struct Interrupted {
    left: Basis,
    /// After the next plan was made.
    planned: Account,
    again: Plan,
    /// The concurrency with which the rest was applied.
    repeated: Vec<usize>,
}

/// Interrupts a command at each step and in each way, repeats it, and compares the result with an uninterrupted run.
pub(super) fn may_be_interrupted(start: impl Fn() -> Account, command: &Command) {
    let account = start();
    let plan = wait(command.plan(&scope(), &account));
    let [alone, together] = [1, 8].map(|limit| {
        let account = account.copy().recording();
        let whole = wait(command.apply(plan.clone(), &account, limit, None));
        assert_eq!(account.breaches(), [""; 0], "{command:?}");
        assert!(whole.outcome.is_complete(), "{command:?}: {:?}", whole.outcome);
        account
    });
    let end = comparable(alone.resources());
    assert_same(together.resources(), &end, || format!("{command:?}, 8 at a time"));
    // A command does the same in the same state, so each state is run only once.
    let mut seen: Vec<Interrupted> = Vec::new();
    let mut unchanged: Vec<Basis> = Vec::new();
    for (limit, now) in interruptions(&alone.writes()) {
        let name = || format!("{command:?}, {limit} at a time, {now:?}");
        let account = if limit == 1 { &alone } else { &together }.fork(now.at);
        let first = wait(command.apply(plan.clone(), &account, limit, Some(now)));
        assert_eq!(account.breaches(), [""; 0], "{}", name());
        let left = account.basis();
        let known = seen.iter().position(|one| one.left == left).unwrap_or_else(|| {
            let again = wait(command.plan(&scope(), &account));
            seen.push(Interrupted { left, planned: account, again, repeated: Vec::new() });
            seen.len() - 1
        });
        let Interrupted { planned, again, repeated, .. } = &mut seen[known];
        if !repeated.contains(&limit) {
            repeated.push(limit);
            let account = planned.copy();
            let second = wait(command.apply(again.clone(), &account, limit, None));
            assert_eq!(account.breaches(), [""; 0], "{}, again", name());
            assert!(second.outcome.is_complete(), "{}, again: {:?}", name(), second.outcome);
            account.a_minute_passes();
            let basis = account.basis();
            if !unchanged.contains(&basis) {
                let third = wait(command.plan(&scope(), &account));
                assert!(third.is_empty(), "{}: the plan after it is {:?}", name(), third.changes);
                unchanged.push(basis);
            }
            assert_same(account.resources(), &end, name);
        }
        // SQS may still answer for a deleted queue.
        let is_made = |change: &&Change| change.action != Action::Delete || change.resource().as_queue().is_none();
        let done = first.outcome.done.iter().map(|at| &first.plan.changes[*at]);
        for done in done.filter(is_made) {
            let is_same = |change: &Change| (&change.id, &change.fields) == (&done.id, &done.fields);
            assert!(!again.changes.iter().any(is_same), "{}: {} was done before", name(), done.id);
        }
    }
}

/// Each interruption of these changes, with the number of concurrent steps.
fn interruptions(changes: &[Arc<Change>]) -> Vec<(usize, Interruption)> {
    let mut found = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        // With one step at a time, a call that does nothing leaves the same state as the lost answer of the previous one.
        let alone = [Trouble::AnswerLost].into_iter().chain(halves(change));
        let alone = alone.map(|trouble| (1, trouble, false));
        let together = [(8, Trouble::Nothing, true), (8, Trouble::Stop, false)];
        for (limit, trouble, killed) in alone.chain(together) {
            found.push((limit, Interruption { at, trouble, killed }));
        }
    }
    found
}

/// Interrupts every command in the accounts that these histories leave. Several tests share them, because they run at once.
fn any_command_may_be_interrupted(is_among: impl Fn(&[Command]) -> bool) {
    for history in histories().into_iter().filter(|history| is_among(history)) {
        let start = account_after(&history);
        let with_path = history.is_empty().then(choosy_hub);
        for command in commands().into_iter().chain(changes_of_owner()).chain(with_path) {
            if is_allowed_after(&history, &command) {
                may_be_interrupted(|| Account::new(&scope(), start.clone()), &command);
            }
        }
    }
}

#[test]
fn any_command_may_be_interrupted_and_repeated_without_a_cluster() {
    any_command_may_be_interrupted(|history| history.len() < 2);
}

#[test]
fn any_command_may_be_interrupted_and_repeated_with_a_cluster() {
    any_command_may_be_interrupted(|history| history.len() == 2);
}

#[test]
fn any_command_may_be_interrupted_and_repeated_with_several_clusters() {
    any_command_may_be_interrupted(|history| history.len() > 2);
}

/// A rollback, and what follows while the settings pin a version.
#[test]
fn a_rollback_may_be_interrupted_and_is_kept() {
    let new = || BootstrapHub(HubOptions::default(), "0.2.0");
    let latest = || RouterLatest(HubOptions::default(), "0.2.0");
    let base = || AddCluster(vec!["base"], Role("a"));
    let tagged = || BootstrapHub(typed("--tag x=y"), "0.2.0");
    let forward = || RouterLatest(typed("--memory 512"), "0.3.0");
    let is_pinned = |resources: &Desired| {
        let parameter = resources.get(&ResourceId::Parameter(scope().settings_parameter()));
        let settings = parameter.and_then(Resource::as_parameter).unwrap().settings();
        settings.unwrap().pinned_version.is_some()
    };
    for (history, before, commands) in [
        (vec![hub(), new()], false, vec![(Rollback, true), (latest(), false)]),
        (
            vec![hub(), new(), base(), Rollback],
            true,
            vec![
                (Rollback, true),
                (new(), true),
                (tagged(), true),
                (keyed(), true),
                (base(), true),
                (latest(), false),
                (forward(), false),
            ],
        ),
    ] {
        let start = account_after(&history);
        let account = || Account::new(&scope(), start.clone());
        assert_eq!(is_pinned(&start), before, "{history:?}");
        for (command, pins) in commands {
            let pinned = account();
            let run = wait(command.run(&scope(), &pinned, 1, None));
            assert_eq!(is_pinned(&pinned.resources()), pins, "{command:?}: {:?}", run.outcome);
            may_be_interrupted(account, &command);
        }
        may_be_interrupted(account, &Teardown);
    }
}

#[test]
fn a_create_with_a_lost_answer_is_done() {
    for history in histories() {
        let start = account_after(&history);
        for command in commands() {
            let whole = Account::new(&scope(), start.clone()).recording();
            let plan = wait(command.run(&scope(), &whole, 1, None)).plan;
            let end = comparable(whole.resources());
            let writes = whole.writes().into_iter().enumerate();
            for (at, created) in writes.filter(|(_, change)| change.action == Action::Create) {
                let account = whole.fork(at);
                let now = Interruption { at, trouble: Trouble::AskedTwice, killed: false };
                // One at a time, so that the write at this place is this step's.
                let run = wait(command.apply(plan.clone(), &account, 1, Some(now)));
                let name = format!("{command:?} after {history:?}, {}", created.id);
                assert_eq!(account.breaches(), [""; 0], "{name}");
                assert!(run.outcome.is_complete(), "{name}: {:?}", run.outcome);
                assert_same(account.resources(), &end, || name);
            }
        }
    }
}

#[test]
fn a_teardown_leaves_the_account_as_it_was() {
    for history in histories() {
        let account = Account::new(&scope(), account_after(&history));
        Teardown.completes(&account);
        let left: BTreeSet<_> = account.resources().into_keys().collect();
        let mut expected: BTreeSet<_> = of_others().into_keys().collect();
        let queue = |cluster: &str| ResourceId::Queue(format!("karpenter-{cluster}").parse().unwrap());
        for command in &history {
            match command {
                Adopt(cluster, _) => assert!(expected.remove(&queue(cluster))),
                External(cluster) => drop(expected.insert(queue(cluster))),
                _ => {}
            }
        }
        assert_eq!(left, expected, "after {history:?}");
    }
}

/// The opposite commands, and the start of each pair.
fn opposites() -> Vec<(Vec<Command>, Command, Command)> {
    let base = || AddCluster(vec!["base"], Role("a"));
    let old = || AddCluster(vec!["old"], Role("a"));
    vec![
        (vec![hub(), base()], RemoveCluster(vec!["base"]), base()),
        (vec![hub(), base()], Teardown, hub()),
        (vec![hub()], base(), RemoveCluster(vec!["base"])),
        (vec![], hub(), Teardown),
        (vec![hub()], Adopt("old", Role("a")), RemoveCluster(vec!["old"])),
        (vec![hub(), Adopt("old", Role("a"))], RemoveCluster(vec!["old"]), old()),
        (vec![hub()], External("ext"), RemoveCluster(vec!["ext"])),
        (vec![hub(), External("ext")], RemoveCluster(vec!["ext"]), External("ext")),
        (vec![hub(), base()], External("base"), Adopt("base", Role("a"))),
        (vec![hub(), base(), External("base")], Adopt("base", Role("a")), External("base")),
    ]
}

/// S9: interrupts a command that creates or deletes queues at any write, and immediately runs the opposite one.
/// Everything that the second command leaves behind stays.
#[test]
fn s9_the_opposite_command_may_follow_at_once() {
    for (history, first, second) in opposites() {
        let start = account_after(&history);
        for ghost_reads in [0, 1, 3] {
            let whole = Account::new(&scope(), start.clone()).with_ghosts(ghost_reads).recording();
            let plan = wait(first.run(&scope(), &whole, 1, None)).plan;
            for (at, change) in whole.writes().iter().enumerate() {
                let mut ways = vec![(Trouble::AnswerLost, true), (Trouble::Nothing, true), (Trouble::Stop, false)];
                ways.extend(halves(change).into_iter().map(|half| (half, true)));
                for (trouble, killed) in ways {
                    let now = Interruption { at, trouble, killed };
                    let name = format!("{first:?} {now:?} then {second:?}, {ghost_reads} reads of a ghost");
                    let account = whole.fork(at);
                    wait(first.apply(plan.clone(), &account, 1, Some(now)));
                    let run = wait(second.run(&scope(), &account, 8, None));
                    assert_eq!(account.breaches(), [""; 0], "{name}");
                    assert!(run.outcome.is_complete(), "{name}: {:?}", run.outcome);
                    let left = account.resources();
                    account.a_minute_passes();
                    let plan = wait(second.plan(&scope(), &account));
                    assert!(plan.is_empty(), "{name}: the plan after it is {:?}", plan.changes);
                    for id in run.plan.changes.iter().filter(|change| change.after.is_some()) {
                        let tags = left.get(&id.id).map(|resource| resource.tags().cloned().unwrap_or_default());
                        assert!(tags.is_some_and(|tags| tags.get(DELETING).is_none()), "{name}: {} goes", id.id);
                    }
                }
            }
        }
    }
}

/// S9: someone who can tag queues marks all of them. Nothing is deleted, and the marks are removed.
#[test]
fn s9_no_mark_deletes_a_queue() {
    let base = AddCluster(vec!["base"], Role("a"));
    let end = account_after(&[hub(), base.clone()]);
    for mark in ["1799999999", "1800000000", "1800000001", "1", "x"] {
        let mut start = end.clone();
        let of_others = of_others();
        for (id, resource) in &mut start {
            if let Resource::Queue(queue) = resource
                && !of_others.contains_key(id)
            {
                queue.tags.0.insert(DELETING.to_owned(), mark.to_owned());
            }
        }
        let account = Account::new(&scope(), start);
        for command in [hub(), base.clone()] {
            let run = command.completes(&account);
            let deletes = run.plan.changes.iter().any(|change| change.action == Action::Delete);
            assert!(!deletes, "{mark}: {:?}", run.plan.changes);
        }
        assert_same(account.resources(), &comparable(end.clone()), || mark.to_owned());
    }
}

pub(super) fn trouble() -> impl Strategy<Value = Option<Interruption>> {
    let ways = vec![
        Trouble::Nothing,
        Trouble::AllButTags,
        Trouble::OnlyTags,
        Trouble::TagsRemoved,
        Trouble::AskedTwice,
        Trouble::AnswerLost,
        Trouble::Stop,
    ];
    let some = (0..20_usize, prop::sample::select(ways), any::<bool>());
    prop::option::weighted(0.7, some.prop_map(|(at, trouble, killed)| Interruption { at, trouble, killed }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Commands in any order, each interrupted a few times and repeated until it succeeds. Only commands about a queue
    /// with another owner may be refused.
    #[test]
    fn a_bus_survives_any_history(
        life in prop::collection::vec(
            (
                prop::sample::select([commands(), changes_of_owner()].concat()),
                prop::collection::vec(trouble(), 0..4),
                1..9_usize,
            ),
            1..6,
        ),
        ghost_reads in 0..4_usize,
    ) {
        let account = Account::new(&scope(), of_others()).with_ghosts(ghost_reads);
        let mut version = "0.1.0";
        let mut may_differ = BTreeSet::new();
        for (command, troubles, limit) in life {
            // Replacing a newer router with an older one is refused, which is another law.
            let command = match command {
                BootstrapHub(flags, offered) => {
                    version = version.max(offered);
                    BootstrapHub(flags, version)
                }
                other => other,
            };
            if let External(cluster) | Adopt(cluster, _) = command {
                may_differ.insert(ResourceId::Queue(format!("karpenter-{cluster}").parse().unwrap()));
            }
            let allowed = async || plan_if_allowed(&scope(), &account, &command.target()).await;
            for trouble in troubles.into_iter().chain([None]) {
                match wait(allowed()) {
                    Ok(plan) => drop(wait(command.apply(plan, &account, limit, trouble))),
                    Err(refusals) => {
                        let is_of_queue = matches!(command, AddCluster(..) | Retag(..) | External(_) | Adopt(..));
                        prop_assert!(is_of_queue, "{:?}: {:?}", command, refusals);
                    }
                }
            }
            prop_assert_eq!(account.breaches(), Vec::<String>::new());
            account.a_minute_passes();
            prop_assert!(wait(allowed()).is_ok_and(|plan| plan.is_empty()) || wait(allowed()).is_err(), "{:?}", command);
        }
        wait(Teardown.run(&scope(), &account, 8, None));
        prop_assert_eq!(account.breaches(), Vec::<String>::new());
        let without = |mut resources: Desired| {
            resources.retain(|id, _| !may_differ.contains(id));
            resources
        };
        prop_assert_eq!(without(account.resources()), without(of_others()));
    }
}
