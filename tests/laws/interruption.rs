//! The law of interruption, for every account that commands can leave, every next command, every step at which it can be
//! interrupted, and every kind of interruption.

use std::collections::BTreeMap;

use kibus::model::{
    Cluster, Document, GlobalOptions, Grant, HubOptions, OrNone, Resource, ResourceId, RolePolicy, Scope, Tags,
    UserTag, tags::DELETING,
};
use kibus::plan::{Action, Change, Plan};
use proptest::prelude::*;
use serde_json::json;

use super::account::{Account, Basis, Interruption, Trouble, halves};
use super::command::{Command, RoleFlag};
use Command::{AddCluster, Adopt, BootstrapHub, Granted, RemoveCluster, Rollback, RouterLatest, Teardown};
use RoleFlag::{NotGiven, Role};

pub(super) type Desired = BTreeMap<ResourceId, Resource>;

pub(super) fn scope() -> Scope {
    Scope {
        bus: "kibus".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: "us-west-2".parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    }
}

pub(super) fn options(choose: impl FnOnce(&mut HubOptions)) -> HubOptions {
    let mut options = HubOptions::default();
    choose(&mut options);
    options
}

fn tags(given: &[&str]) -> Option<Vec<OrNone<UserTag>>> {
    Some(given.iter().map(|tag| tag.parse().unwrap()).collect())
}

fn hub() -> Command {
    BootstrapHub(HubOptions::default(), "0.1.0")
}

/// A hub with every option set.
pub(super) fn choosy_hub() -> Command {
    choosy_hub_at(Some("/x/"))
}

fn choosy_hub_at(role_path: Option<&str>) -> Command {
    let chosen = options(|c| {
        c.tag = tags(&["team=a"]);
        c.kms_key = Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap());
        c.retention = Some("7200".parse().unwrap());
        c.permissions_boundary = Some("arn:aws:iam::111122223333:policy/x".parse().unwrap());
        c.role_path = role_path.map(|path| path.parse().unwrap());
        c.memory = Some("512".parse().unwrap());
        c.arch = Some("arm64".parse().unwrap());
        c.reserved_concurrency = Some("5".parse().unwrap());
        c.log_retention = Some("30".parse().unwrap());
        c.rebalance = Some(true);
        c.lock_queues = Some(false);
        c.tag_conditions = Some(false);
    });
    BootstrapHub(chosen, "0.1.0")
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
        vec![hub(), base, one, two],
        vec![hub(), Adopt("old", Role("a"), false)],
        vec![hub(), Granted(vec!["base"], Role("a"), Grant::QueuePolicy)],
    ]
}

/// A hub with alarms, also on its clusters.
pub(super) fn watched_hub() -> Command {
    let watched = |c: &mut HubOptions| {
        c.alarms = Some("true".parse().unwrap());
        c.reader_alarms = Some(true);
    };
    BootstrapHub(options(watched), "0.1.0")
}

/// The commands that are interrupted.
fn commands() -> Vec<Command> {
    let choose = |choose: fn(&mut HubOptions)| BootstrapHub(options(choose), "0.1.0");
    vec![
        hub(),
        // The path of a role cannot change.
        choosy_hub_at(None),
        BootstrapHub(HubOptions::default(), "0.2.0"),
        choose(|c| c.tag = tags(&["team=b", "x=y"])),
        choose(|c| c.tag = tags(&["x=y"])),
        choose(|c| c.tag = tags(&["none"])),
        choose(|c| {
            c.tag = tags(&["x=y"]);
            c.kms_key = Some("none".parse().unwrap());
            c.memory = Some("1024".parse().unwrap());
        }),
        choose(|c| c.kms_key = Some("none".parse().unwrap())),
        choose(|c| c.kms_key = Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap())),
        choose(|c| c.kms_key = Some("arn:aws:kms:us-west-2:111122223333:key/2".parse().unwrap())),
        choose(|c| c.retention = Some("9000".parse().unwrap())),
        choose(|c| c.permissions_boundary = Some("none".parse().unwrap())),
        choose(|c| c.queue_prefix = Some("karpenter-".parse().unwrap())),
        choose(|c| c.reserved_concurrency = Some("none".parse().unwrap())),
        choose(|c| c.rebalance = Some(false)),
        choose(|c| c.rebalance = Some(true)),
        choose(|c| c.reader_alarms = Some(false)),
        watched_hub(),
        choose(|c| c.lock_queues = Some(false)),
        choose(|c| c.lock_queues = Some(true)),
        choose(|c| c.tag_conditions = Some(true)),
        AddCluster(vec!["base"], NotGiven),
        AddCluster(vec!["base"], RoleFlag::None),
        AddCluster(vec!["base", "two"], Role("r-{cluster}")),
        Granted(vec!["base"], Role("b"), Grant::QueuePolicy),
        Granted(vec!["base"], Role("a"), Grant::RolePolicy),
        RemoveCluster(vec!["base"]),
        RemoveCluster(vec!["base", "one", "two", "never"]),
        Teardown,
    ]
}

/// The commands about a queue of another tool. In any order they could be refused: the queue keeps the key of its last hub.
fn adoptions() -> Vec<Command> {
    vec![
        Adopt("old", Role("a"), false),
        Adopt("old", Role("b"), true),
        Adopt("old", RoleFlag::None, true),
        RemoveCluster(vec!["old"]),
    ]
}

/// Resources that kibus does not manage, some of them with similar names.
pub(super) fn of_others() -> Desired {
    let hub = kibus::model::hub::Hub::new(
        &Scope { bus: "other".parse().unwrap(), ..scope() },
        HubOptions::default(),
        kibus::model::resource::Code::of_archive("9.0.0", "ff"),
    );
    let mut desired: Desired = hub.desired().resources().map(|resource| (resource.id(), resource.clone())).collect();
    let queue = desired.values().find(|resource| matches!(resource, Resource::Queue(_))).cloned();
    if let Some(Resource::Queue(mut queue)) = queue {
        queue.name = "karpenter-theirs".parse().unwrap();
        queue.tags = Tags::default();
        desired.insert(ResourceId::Queue(queue.name.clone()), Resource::Queue(queue));
    }
    let old = queue_of_another_tool();
    desired.insert(old.id(), old);
    let policy = RolePolicy {
        role: "a".parse().unwrap(),
        name: "theirs".parse().unwrap(),
        document: Document::new(json!({"Statement": []})),
    };
    let policy = Resource::RolePolicy(policy);
    desired.insert(policy.id(), policy);
    desired
}

/// The queue of cluster `old`, as another tool creates it.
fn queue_of_another_tool() -> Resource {
    let hub = HubOptions::default();
    let cluster = Cluster::new(&scope(), &hub.queue_prefix(), "old".parse().unwrap(), None);
    let desired = cluster.desired(&scope(), &hub.into());
    let mut queue = desired.resources().find_map(Resource::as_queue).unwrap().clone();
    queue.retention = 3600;
    queue.redrive_allow = None;
    queue.tags = [("team".to_owned(), "a".to_owned())].into_iter().collect();
    queue.policy = Some(Document::new(json!({
        "Version": "2012-10-17",
        "Id": "EC2InterruptionPolicy",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
            "Action": "sqs:SendMessage",
            "Resource": scope().queue_arn(&queue.name),
        }],
    })));
    Resource::Queue(queue)
}

pub(super) fn wait<T>(run: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run)
}

/// The account that these commands leave behind, with foreign tags.
pub(super) fn account_after(history: &[Command]) -> Desired {
    let account = Account::new(&scope(), of_others());
    for command in history {
        let run = wait(command.run(&scope(), &account, 4, None));
        assert!(run.outcome.is_complete(), "{command:?}: {:?}", run.outcome.failed);
    }
    assert_eq!(account.breaches(), [""; 0], "{history:?}");
    let mut desired = account.resources();
    for tags in desired.values_mut().filter_map(Resource::tags_mut) {
        tags.0.insert("cost-center".to_owned(), "7".to_owned());
    }
    desired
}

/// The state that the law compares: everything except the numbers of versions, and of writes of the settings.
pub(super) fn comparable(mut desired: Desired) -> Desired {
    for resource in desired.values_mut() {
        match resource {
            Resource::Alias(alias) => {
                alias.version = None;
                alias.versions.clear();
            }
            Resource::Parameter(parameter) => parameter.version = 0,
            _ => {}
        }
    }
    desired
}

/// Interrupts a command at each step and in each way, repeats it, and compares the result with an uninterrupted run.
pub(super) fn may_be_interrupted(start: impl Fn() -> Account, command: &Command) {
    let account = start();
    let whole = wait(command.run(&scope(), &account, 1, None));
    assert_eq!(account.breaches(), [""; 0], "{command:?}");
    assert!(whole.outcome.is_complete(), "{command:?}: {:?}", whole.outcome);
    let end = comparable(account.resources());
    // A command does the same where it finds the same, so what was seen once is not run again.
    let mut repeated: Vec<(usize, Basis, Plan)> = Vec::new();
    let mut unchanged: Vec<Basis> = Vec::new();
    for (limit, now) in interruptions(&whole.plan) {
        let name = || format!("{command:?}, {limit} at a time, {now:?}");
        let account = start();
        let first = wait(command.apply(whole.plan.clone(), &scope(), &account, limit, Some(now)));
        assert_eq!(account.breaches(), [""; 0], "{}", name());
        let left = account.basis();
        let seen = repeated.iter().position(|(at_once, basis, _)| (*at_once, basis) == (limit, &left));
        let seen = seen.unwrap_or_else(|| {
            let second = wait(command.run(&scope(), &account, limit, None));
            assert_eq!(account.breaches(), [""; 0], "{}, again", name());
            assert!(second.outcome.is_complete(), "{}, again: {:?}", name(), second.outcome);
            account.a_minute_passes();
            let basis = account.basis();
            if !unchanged.contains(&basis) {
                let third = wait(command.plan(&scope(), &account));
                assert!(third.is_empty(), "{}: the plan after it is {:?}", name(), third.changes);
                unchanged.push(basis);
            }
            assert_eq!(comparable(account.resources()), end, "{}", name());
            repeated.push((limit, left, second.plan));
            repeated.len() - 1
        });
        let again = &repeated[seen].2;
        // SQS may still answer for a deleted queue.
        let is_made = |change: &&Change| change.action != Action::Delete || change.resource().as_queue().is_none();
        let done = first.outcome.done.iter().map(|at| &first.plan.changes[*at]);
        for done in done.filter(is_made) {
            let is_same = |change: &Change| (&change.id, &change.fields) == (&done.id, &done.fields);
            assert!(!again.changes.iter().any(is_same), "{}: {} was done before", name(), done.id);
        }
    }
}

/// Each interruption of a plan, with how many steps are taken at a time.
fn interruptions(plan: &Plan) -> Vec<(usize, Interruption)> {
    let mut found = Vec::new();
    for (at, change) in plan.changes.iter().enumerate() {
        // One at a time, a call that does nothing leaves what the lost answer of the one before leaves.
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
        for command in commands().into_iter().chain(adoptions()).chain(with_path) {
            may_be_interrupted(|| Account::new(&scope(), start.clone()), &command);
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
    let tagged = || BootstrapHub(options(|c| c.tag = tags(&["x=y"])), "0.2.0");
    let forward = || RouterLatest(options(|c| c.memory = Some("512".parse().unwrap())), "0.3.0");
    let keyed = || {
        let key = "arn:aws:kms:us-west-2:111122223333:key/1";
        BootstrapHub(options(|c| c.kms_key = Some(key.parse().unwrap())), "0.2.0")
    };
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
            let account = Account::new(&scope(), start.clone());
            wait(command.run(&scope(), &account, 1, None));
            let end = comparable(account.resources());
            for (at, created) in account.creates() {
                let account = Account::new(&scope(), start.clone());
                let now = Interruption { at, trouble: Trouble::AskedTwice, killed: false };
                // One at a time, so that the write at this place is this step's.
                let run = wait(command.run(&scope(), &account, 1, Some(now)));
                let name = format!("{command:?} after {history:?}, {created}");
                assert_eq!(account.breaches(), [""; 0], "{name}");
                assert!(run.outcome.is_complete(), "{name}: {:?}", run.outcome);
                assert_eq!(comparable(account.resources()), end, "{name}");
            }
        }
    }
}

#[test]
fn a_teardown_leaves_the_account_as_it_was() {
    for history in histories() {
        let account = Account::new(&scope(), account_after(&history));
        let run = wait(Teardown.run(&scope(), &account, 8, None));
        assert!(run.outcome.is_complete(), "{history:?}: {:?}", run.outcome);
        let left: Vec<_> = account.resources().into_keys().collect();
        assert_eq!(left, of_others().into_keys().collect::<Vec<_>>(), "after {history:?}");
    }
}

/// The opposite commands, and the start of each pair.
fn opposites() -> Vec<(Vec<Command>, Command, Command)> {
    let base = || AddCluster(vec!["base"], Role("a"));
    vec![
        (vec![hub(), base()], RemoveCluster(vec!["base"]), base()),
        (vec![hub(), base()], Teardown, hub()),
        (vec![hub()], base(), RemoveCluster(vec!["base"])),
        (vec![], hub(), Teardown),
        (vec![hub()], Adopt("old", Role("a"), false), RemoveCluster(vec!["old"])),
        (vec![hub(), Adopt("old", Role("a"), false)], RemoveCluster(vec!["old"]), Adopt("old", Role("a"), true)),
    ]
}

/// S9: interrupts a command that creates or deletes queues at any write, and runs the opposite one at once. Everything that
/// the second command leaves stays.
#[test]
fn s9_the_opposite_command_may_follow_at_once() {
    for (history, first, second) in opposites() {
        let start = account_after(&history);
        let account = Account::new(&scope(), start.clone());
        let changes = wait(first.run(&scope(), &account, 1, None)).plan.changes;
        for (at, change) in changes.iter().enumerate() {
            let mut ways = vec![(Trouble::AnswerLost, true), (Trouble::Nothing, true), (Trouble::Stop, false)];
            ways.extend(halves(change).into_iter().map(|half| (half, true)));
            for (trouble, killed) in ways {
                for ghost_reads in [0, 1, 3] {
                    let now = Interruption { at, trouble, killed };
                    let name = format!("{first:?} {now:?} then {second:?}, {ghost_reads} reads of a ghost");
                    let account = Account::new(&scope(), start.clone()).with_ghosts(ghost_reads);
                    wait(first.run(&scope(), &account, 1, Some(now)));
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

/// S9: whoever may tag queues marks all of them. Nothing is deleted, and the marks go.
#[test]
fn s9_no_mark_deletes_a_queue() {
    let base = AddCluster(vec!["base"], Role("a"));
    let end = account_after(&[hub(), base.clone()]);
    for mark in ["1799999999", "1800000000", "1800000001", "1", "x"] {
        let mut start = end.clone();
        for resource in start.values_mut() {
            if let Resource::Queue(queue) = resource
                && queue.tags.belong_to(&scope().bus)
            {
                queue.tags.0.insert(DELETING.to_owned(), mark.to_owned());
            }
        }
        let account = Account::new(&scope(), start);
        for command in [hub(), base.clone()] {
            let run = wait(command.run(&scope(), &account, 4, None));
            assert!(run.outcome.is_complete(), "{mark}: {:?}", run.outcome);
            let deletes = run.plan.changes.iter().any(|change| change.action == Action::Delete);
            assert!(!deletes, "{mark}: {:?}", run.plan.changes);
        }
        assert_eq!(account.breaches(), [""; 0], "{mark}");
        assert_eq!(comparable(account.resources()), comparable(end.clone()), "{mark}");
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
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    /// Commands in any order, each interrupted a few times and repeated until it succeeds.
    #[test]
    fn a_bus_survives_any_history(
        life in prop::collection::vec(
            (prop::sample::select(commands()), prop::collection::vec(trouble(), 0..4), 1..9_usize),
            1..6,
        ),
        ghost_reads in 0..4_usize,
    ) {
        let account = Account::new(&scope(), of_others()).with_ghosts(ghost_reads);
        let mut version = "0.1.0";
        for (command, troubles, limit) in life {
            // An older router over a newer one is refused, which is another law.
            let command = match command {
                BootstrapHub(flags, offered) => {
                    version = version.max(offered);
                    BootstrapHub(flags, version)
                }
                other => other,
            };
            for trouble in troubles.into_iter().chain([None]) {
                wait(command.run(&scope(), &account, limit, trouble));
            }
            prop_assert_eq!(account.breaches(), Vec::<String>::new());
            account.a_minute_passes();
            prop_assert!(wait(command.plan(&scope(), &account)).is_empty(), "{:?}", command);
        }
        wait(Teardown.run(&scope(), &account, 8, None));
        prop_assert_eq!(account.breaches(), Vec::<String>::new());
        prop_assert_eq!(account.resources(), of_others());
    }
}
